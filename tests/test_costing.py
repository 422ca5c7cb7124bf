from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, ask
from minirag.evaluation.costing import forecast
from minirag.evaluation.datasets import Dataset, load_dataset
from minirag.evaluation.runs import build_index, evaluate
from minirag.evaluation.variants import Variant
from minirag.records import Prompts, TaskPrompt
from minirag.splitting import count_tokens
from tests.loopback import Loopback, Request, Served, honest, refusal

DEMO = load_dataset(Path(__file__).parents[1] / "minirag" / "demo")
PRICED = "openai/gpt-4o-mini"
NAMED = {"model": PRICED, "api_key": "none", "progress": False}


def test_offline_is_free(tmp_path: Path) -> None:
    assert forecast(DEMO, tmp_path / "x.usearch", [Variant("kirag")], model="offline") == ()


def test_indexing_and_asking(tmp_path: Path) -> None:
    variants = [
        Variant("naive"),
        Variant("indexrag", k=1),
        Variant("kirag"),
        Variant("kirag", {"constructor": False}),
        Variant("ircot", {"steps": 3}),
    ]
    found = forecast(DEMO, tmp_path / "x.usearch", variants, limit=4, **NAMED)  # type: ignore[arg-type]
    assert [(each.what, each.calls) for each in found[1:]] == [
        ("4 questions by naive", 4),
        ("4 questions by indexrag (k=1)", 4),
        ("4 questions by kirag", 24),
        ("4 questions by kirag (constructor=no)", 4),
        ("4 questions by ircot (steps=3)", 12),
    ]
    assert found[0].what == "indexing 24 documents of demo"
    assert found[0].calls > 24
    assert all(each.cost is not None and 0 < each.cost < 0.1 for each in found)
    assert found[1].tokens > found[2].tokens
    assert list(tmp_path.iterdir()) == []


def test_retrieval_alone_by_no_model_is_free(tmp_path: Path) -> None:
    variants = [Variant("naive"), Variant("kirag")]
    found = forecast(DEMO, tmp_path / "x.usearch", variants, read=False, **NAMED)  # type: ignore[arg-type]
    assert [each.what for each in found[1:]] == ["10 questions by kirag"]


def test_an_unknown_price_is_said(tmp_path: Path) -> None:
    named = {**NAMED, "api_base": "http://127.0.0.1:1/v1"}
    found = forecast(DEMO, tmp_path / "x.usearch", [Variant("naive")], **named)  # type: ignore[arg-type]
    assert {each.cost for each in found} == {None}


def test_each_task_is_priced_by_its_own_model(tmp_path: Path) -> None:
    options = {"api_key": "none", "progress": False, "prices": {"openai/cheap": (1, 1), "openai/dear": (100, 100)}}
    dear, cheap = (
        forecast(DEMO, tmp_path / "x.usearch", [Variant("kirag")], model="openai/cheap", models=models, **options)[1]  # type: ignore[arg-type]
        for models in ({"read": "openai/dear"}, None)
    )
    assert (dear.calls, dear.tokens) == (cheap.calls, cheap.tokens)
    assert dear.cost is not None
    assert cheap.cost is not None
    assert dear.cost > 5 * cheap.cost > 0
    (alone,) = forecast(
        DEMO,
        tmp_path / "x.usearch",
        [Variant("kirag")],
        model=None,
        models={"read": "openai/dear"},
        **options,  # type: ignore[arg-type]
    )
    assert (alone.what, alone.calls) == ("10 questions by kirag", 60)  # a task goes with another of its time
    assert alone.cost is not None
    assert alone.cost > 0


def test_a_hosted_encoder_is_paid_for_offline_too(tmp_path: Path) -> None:
    """Nobody is called: there is no server."""
    options = {"model": "offline", "encoder": "openai/embedding", "progress": False}
    variants = [
        Variant("naive"),
        Variant("naive", {"mode": "lexical"}),
        Variant("kirag"),
        Variant("kirag", {"steps": 3}),
    ]
    unpriced = forecast(DEMO, tmp_path / "x.usearch", variants, **options)  # type: ignore[arg-type]
    assert [(each.what, each.calls) for each in unpriced[1:]] == [
        ("10 questions by naive", 10),
        ("10 questions by kirag", 20),
        ("10 questions by kirag (steps=3)", 30),
    ]
    assert {(each.cost, each.unpriced) for each in unpriced} == {(None, ("openai/embedding",))}
    priced = forecast(DEMO, tmp_path / "x.usearch", variants, prices={"openai/embedding": (5, 0)}, **options)  # type: ignore[arg-type]
    assert [each.cost for each in priced] == [each.tokens * 5e-6 for each in priced]
    assert priced[0].calls >= 1
    assert {each.unpriced for each in priced} == {()}


def test_who_has_no_price_is_named(tmp_path: Path) -> None:
    named = {"model": "openai/any", "models": {"read": "openai/gpt-4o-mini"}, "api_key": "none", "progress": False}
    found = forecast(DEMO, tmp_path / "x.usearch", [Variant("naive"), Variant("kirag")], **named)  # type: ignore[arg-type]
    assert [each.unpriced for each in found] == [("openai/any",), (), ("openai/any",)]
    assert [each.cost is None for each in found] == [True, False, True]


@pytest.mark.parametrize("own", [False, True])
def test_a_question_sends_what_was_forecast(tmp_path: Path, own: bool) -> None:
    """Before, neither the form of the reply nor the JSON around what is shown was counted, nor prompts of one's own."""
    prompts = Prompts(read=TaskPrompt(instructions="Answer in one word where one word does. " * 50)) if own else None
    path, variants, reply = tmp_path / "x.usearch", [Variant("naive"), Variant("indexrag")], 60
    with Loopback(honest) as server:
        options = {"model": "openai/any", "api_base": server.api_base, "api_key": "k"}
        with Index(path, model="offline", prompts=prompts) as index:
            index.add(DEMO.documents, progress=False)
        found = forecast(DEMO, path, variants, progress=False, **options)  # type: ignore[arg-type]
        with Index(path, **options) as index:  # type: ignore[arg-type]
            tokenizer = index.encoder.tokenizer
            for told, variant in zip(found, variants, strict=True):
                asked = len(server.requests)
                for question in DEMO.questions:
                    ask(question.text, index, strategy=variant.strategy)
                bodies = [request.body for request in server.requests[asked:]]
                texts = [message["content"] for body in bodies for message in body["messages"]]
                texts += [json.dumps({"response_format": body["response_format"]}) for body in bodies]
                sent = sum(count_tokens(tokenizer, text) for text in texts)
                assert sent <= told.tokens - reply * told.calls <= 1.15 * sent


def test_what_is_kept_is_not_paid_for_again(tmp_path: Path) -> None:
    """Neither indexing nor a question, unless the index would be another one by the time that it is asked."""
    path, folder = tmp_path / "x.usearch", tmp_path / "runs"
    folder.mkdir()
    variants = [Variant("naive"), Variant("indexrag", {"k_b": 1}), Variant("kirag")]

    def left(dataset: Dataset = DEMO, **given: Any) -> list[tuple[str, int]]:  # noqa: ANN401
        found = forecast(dataset, path, variants, **{"resume": folder, **NAMED, **named, **given})
        return [(each.what, each.calls) for each in found]

    def refuse(request: Request) -> Served:
        return refusal() if DEMO.questions[0].text in request.prompt else honest(request)

    with Loopback(refuse) as server:
        named: dict[str, Any] = {"model": "openai/any", "api_base": server.api_base, "api_key": "none"}
        assert [what for what, _ in left()][1:] == [
            *("10 questions by naive", "10 questions by indexrag (k_b=1)", "10 questions by kirag"),
        ]
        build_index(DEMO, path, progress=False, **named)
        with Index(path, mode="r", **named) as index:
            evaluate(DEMO, index, strategy="naive", resume=folder, progress=False)
            evaluate(DEMO, index, strategy="indexrag", limit=4, seed=7, resume=folder, progress=False, k_b=1)
        told = [("1 of 10 questions by naive", 1), ("6 of 10 questions by indexrag (k_b=1)", 6)]
        assert left()[:2] == told
        assert left(limit=4, seed=7)[-1:] == [("4 questions by kirag", 24)]
        assert ("10 questions by naive", 10) in left(resume=tmp_path / "elsewhere")
        assert ("10 questions by naive", 10) in left(model="openai/another")
        assert left(replace(DEMO, documents=()))[:2] == told
        moved = replace(DEMO, documents=(replace(DEMO.documents[0], metadata={"year": 1}), *DEMO.documents[1:]))
        assert left(moved)[0] == ("10 questions by naive", 10)
        more = replace(DEMO, documents=(*DEMO.documents, Document("new", "Oslo is a city.", "Oslo")))
        assert left(more)[1] == ("10 questions by naive", 10)
