"""The reasoner by LLM: what reaches the model, and what of its replies reaches the pipeline."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from minirag.errors import LLMReplyError
from minirag.llm import LLM, Retries
from minirag.reasoner import Reasoner
from minirag.reasoner.by_llm import LLMReasoner
from minirag.reasoner.fitting import count_fitting, estimate_tokens, fit_entity, split_fitting
from minirag.reasoner.prompts import ANSWER_MARK
from minirag.records import (
    THINKING,
    BridgingFact,
    ContextItem,
    Extension,
    ExtractedFact,
    Extraction,
    Ledger,
    Passage,
    Reading,
    SharedEntity,
    SourcedFact,
)
from tests.loopback import Entry, Loopback, Request, Script, honest, refusal

HART = Passage("p1", "d1", "She wrote Grey Coast in 1921 and died in Oslo.", 0, 46)
CONTEXT = [ContextItem("Grey Coast was written by Lena Hart.", "Grey Coast"), ContextItem("Lena Hart died in Oslo.")]
FACTS = (
    SourcedFact("Lena Hart wrote Grey Coast.", "p1", "d1", "Lena Hart"),
    SourcedFact("Lena Hart died in Oslo.", "p1", "d1", "Lena Hart"),
    SourcedFact("Grey Coast is set in Bergen.", "p2", "d2", ""),
)
COAST, HARTS = SharedEntity("Grey Coast", FACTS), SharedEntity("Lena Hart", FACTS[:2] + FACTS[2:])
OF_DOCUMENTS = {"text": " Lena Hart wrote a book\nset in Bergen. ", "sources": [3, 1]}


def think_with(
    script: Script, use: Callable[[Reasoner], Awaitable[Any]], *, window: int | None = None
) -> tuple[Any, Loopback, Ledger]:
    """What `use` makes of a reasoner whose model answers by `script`."""

    async def use_and_close() -> Any:  # noqa: ANN401
        retries = Retries(attempts=2, first_wait=0.001)
        llm = LLM("openai/any", api_base=server.api_base, retries=retries, window=window)
        try:
            return await use(LLMReasoner(llm, ledger))
        finally:
            await llm.close()

    ledger = Ledger()
    with Loopback(script) as server:
        return asyncio.run(use_and_close()), server, ledger


def data_of(server: Loopback, place: int = 0) -> dict[str, Any]:
    """The data of a request, without the task's name."""
    data = json.loads(server.requests[place].prompt.split("\n", 1)[0])
    assert data.pop("task") in THINKING
    return dict(data)


# --- extract -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["", "Here is {the reply}: "])
def test_numbers_in_the_place_of_texts_are_read_without_asking_again(before: str) -> None:
    reading = {"found": True, "answer": 1921, "items": [1]}
    found, server, _ = think_with([before + json.dumps(reading)], lambda r: r.read("When?", CONTEXT))
    assert found == Reading("1921", found=True, items=(0,))
    triple = {"head": "Grey Coast", "relation": "was written in", "tail": 1921}
    fact = {"text": "Grey Coast was written in 1921.", "entities": ["Grey Coast", 1921]}
    extracted = {"nothing_to_extract": False, "facts": [fact], "triples": [triple]}
    found, server, _ = think_with([before + json.dumps(extracted)], lambda r: r.extract(HART, title="Lena Hart"))
    assert found == Extraction(
        (ExtractedFact("Grey Coast was written in 1921.", ("Grey Coast", "1921")),),
        (("Grey Coast", "was written in", "1921"),),
    )
    assert len(server.requests) == 1


def test_extract_drops_what_is_blank_or_doubled() -> None:
    reply = {
        "nothing_to_extract": False,
        "facts": [
            {"text": " Lena Hart wrote\nGrey Coast. ", "entities": ["Lena Hart", " ", "Grey  Coast", "Lena Hart"]},
            {"text": "Lena Hart wrote Grey Coast.", "entities": ["Lena Hart", "Grey Coast"]},
            {"text": " ", "entities": ["Oslo"]},
        ],
        "triples": [
            {"head": "Lena Hart", "relation": "wrote", "tail": "Grey Coast"},
            {"head": "Lena Hart ", "relation": "wrote", "tail": "Grey Coast"},
            {"head": "Lena Hart", "relation": "", "tail": "Oslo"},
        ],
    }
    extraction, server, ledger = think_with([reply], lambda r: r.extract(HART, title="Lena Hart"))
    assert extraction == Extraction(
        facts=(ExtractedFact("Lena Hart wrote Grey Coast.", ("Lena Hart", "Grey Coast")),),
        triples=(("Lena Hart", "wrote", "Grey Coast"),),
    )
    assert data_of(server) == {"title": "Lena Hart", "passage": HART.text}
    assert list(ledger.by_task) == ["extract"]
    assert ledger.by_task["extract"].calls == 1


def test_extract_takes_nothing_only_when_told_so() -> None:
    nothing: dict[str, Any] = {"nothing_to_extract": True, "facts": [], "triples": []}
    extraction, _, _ = think_with([nothing], lambda r: r.extract(HART, title=""))
    assert extraction == Extraction((), ())

    silent = {**nothing, "nothing_to_extract": False}
    blank = {**silent, "facts": [{"text": " ", "entities": []}]}
    with pytest.raises(LLMReplyError, match="facts is empty; either list the facts or set nothing_to_extract"):
        think_with([silent, blank], lambda r: r.extract(HART, title=""))
    with pytest.raises(LLMReplyError, match="There is no JSON object in it"):
        think_with(["This passage is about Lena Hart."] * 2, lambda r: r.extract(HART, title=""))


# --- bridge --------------------------------------------------------------------------------------------------------


def test_bridge_numbers_facts_through_the_call_and_names_documents() -> None:
    reply = {"entities": [{"entity": 2, "facts": []}, {"entity": 1, "facts": [OF_DOCUMENTS]}]}
    found, server, _ = think_with([reply], lambda r: r.bridge([COAST, HARTS]))
    assert found == [(BridgingFact("Lena Hart wrote a book set in Bergen.", (0, 2)),), ()]
    first, second = data_of(server)["entities"]
    assert first == {
        "n": 1,
        "name": "Grey Coast",
        "facts": [
            {"n": 1, "document": "A", "title": "Lena Hart", "text": FACTS[0].text},
            {"n": 2, "document": "A", "title": "Lena Hart", "text": FACTS[1].text},
            {"n": 3, "document": "B", "title": "", "text": FACTS[2].text},
        ],
    }
    assert [fact["n"] for fact in second["facts"]] == [4, 5, 6]


@pytest.mark.parametrize(
    ("sources", "kept"),
    [
        ([1, 3], (0, 2)),
        ([3, 99, 1, 3, 0, -2], (0, 2)),
        ([1, 2], None),
        ([3], None),
        ([], None),
        ([1, 6], None),
    ],
)
def test_bridge_keeps_only_what_joins_two_documents(sources: list[int], kept: tuple[int, ...] | None) -> None:
    facts = [{"text": "Joined.", "sources": sources}, {"text": " ", "sources": [1, 3]}]
    reply = {"entities": [{"entity": 1, "facts": facts}, {"entity": 2, "facts": []}]}
    found, _, _ = think_with([reply], lambda r: r.bridge([COAST, HARTS]))
    assert found == [(BridgingFact("Joined.", kept),) if kept else (), ()]


def test_bridge_asks_again_for_the_entities_that_were_left_out() -> None:
    script = [{"entities": [{"entity": 2, "facts": []}]}, {"entities": [{"entity": 1, "facts": [OF_DOCUMENTS]}]}]
    found, server, _ = think_with(script, lambda r: r.bridge([COAST, HARTS]))
    assert found == [(BridgingFact("Lena Hart wrote a book set in Bergen.", (0, 2)),), ()]
    assert [entity["name"] for entity in data_of(server, 1)["entities"]] == ["Grey Coast"]


def test_an_entity_that_is_left_out_when_asked_alone_fails_alone() -> None:
    def serve(request: Request) -> dict[str, Any]:
        named = [entity["name"] for entity in json.loads(request.prompt.split("\n", 1)[0])["entities"]]
        return {
            "entities": [
                {"entity": n, "facts": [{"text": "Joined.", "sources": [n * 3 - 2, n * 3]}]}
                for n, name in enumerate(named, start=1)
                if name != "Grey Coast"
            ]
        }

    (coast, harts), server, _ = think_with(serve, lambda r: r.bridge([COAST, HARTS]))
    assert isinstance(coast, LLMReplyError)
    assert str(coast) == "openai/any: gave no bridging facts for Grey Coast, asked twice"
    assert harts == (BridgingFact("Joined.", (0, 2)),)
    assert len(server.requests) == 2


def test_what_one_entity_of_a_call_is_refused_for_the_others_do_not_lose() -> None:
    def serve(request: Request) -> Entry:
        named = [entity["name"] for entity in json.loads(request.prompt.split("\n", 1)[0])["entities"]]
        if "Grey Coast" in named:
            return refusal("I cannot help with that.")
        return {"entities": [{"entity": 1, "facts": [{"text": "Joined.", "sources": [1, 3]}]}]}

    (coast, harts), server, _ = think_with(serve, lambda r: r.bridge([COAST, HARTS]))
    assert isinstance(coast, LLMReplyError)
    assert "refused to answer" in str(coast)
    assert harts == (BridgingFact("Joined.", (0, 2)),)
    assert len(server.requests) == 3


# --- extend, think, read -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chain", "reply", "extension"),
    [
        ([], {"known": False, "answer": "", "next": [2, 1]}, Extension(choice=1)),
        ([], {"known": False, "answer": "", "next": [7, 0, 1]}, Extension(choice=0)),
        ([], {"known": False, "answer": "", "next": []}, Extension()),
        ([], {"known": True, "answer": "Oslo", "next": []}, Extension()),
        (["x"], {"known": True, "answer": " Oslo ", "next": []}, Extension(answer="Oslo")),
        (["x"], {"known": True, "answer": "Oslo", "next": [2]}, Extension(choice=1)),
        (["x"], {"known": True, "answer": " ", "next": []}, Extension()),
        (["x"], {"known": False, "answer": "Oslo", "next": []}, Extension()),
    ],
)
def test_extend(chain: list[str], reply: dict[str, Any], extension: Extension) -> None:
    found, server, _ = think_with([reply], lambda r: r.extend("Where?", chain, ["a", "b"]))
    assert found == extension
    candidates = [{"n": 1, "text": "a"}, {"n": 2, "text": "b"}]
    assert data_of(server) == {"question": "Where?", "chain": chain, "candidates": candidates}


def test_think() -> None:
    thought, server, _ = think_with(
        [{"thought": " So the answer is:\nOslo. "}], lambda r: r.think("Where?", CONTEXT, ["First."])
    )
    assert thought == "So the answer is: Oslo."
    assert thought.startswith(ANSWER_MARK)
    assert data_of(server)["thoughts"] == ["First."]
    with pytest.raises(LLMReplyError, match="thought is empty"):
        think_with([{"thought": " "}] * 2, lambda r: r.think("Where?", CONTEXT, []))


@pytest.mark.parametrize(
    ("reply", "reading"),
    [
        ({"found": True, "answer": " Oslo ", "items": [2, 1, 2, 9]}, Reading("Oslo", True, (1, 0))),
        ({"found": True, "answer": "Oslo", "items": [9]}, Reading("Oslo", True, ())),
        ({"found": False, "answer": "It does not say.", "items": [1]}, Reading("It does not say.", False, ())),
        ({"found": False, "answer": "", "items": []}, Reading("The context does not hold the answer.", False, ())),
    ],
)
def test_read(reply: dict[str, Any], reading: Reading) -> None:
    found, server, _ = think_with([reply], lambda r: r.read("Where?", CONTEXT, chain=["a"]))
    assert found == reading
    context = [{"n": 1, "title": "Grey Coast", "text": CONTEXT[0].text}, {"n": 2, "title": "", "text": CONTEXT[1].text}]
    assert data_of(server) == {"context": context, "chain": ["a"], "question": "Where?"}


def test_read_does_not_take_an_empty_answer() -> None:
    with pytest.raises(LLMReplyError, match="found is true but answer is empty"):
        think_with([{"found": True, "answer": " ", "items": [1]}] * 2, lambda r: r.read("Where?", CONTEXT))


# --- windows -------------------------------------------------------------------------------------------------------

LONG = [ContextItem(f"{n} " + "Grey Coast was written by Lena Hart. " * 10, f"Book {n}") for n in range(100)]
FOUND = {"found": True, "answer": "Oslo", "items": [1, 100]}


def sent_tokens(server: Loopback, place: int = 0) -> int:
    return sum(estimate_tokens(message["content"]) for message in server.requests[place].body["messages"])


@pytest.mark.parametrize(("window", "most"), [(None, 9_000), (4_000, 3_000), (64_000, 48_000)])
def test_the_window_bounds_the_context_and_the_first_items_stay(window: int | None, most: int) -> None:
    reading, server, _ = think_with([FOUND], lambda r: r.read("Where?", LONG, chain=["a"]), window=window)
    shown = data_of(server)["context"]
    assert shown == [{"n": n, "title": i.title, "text": i.text} for n, i in enumerate(LONG[: len(shown)], start=1)]
    assert most * 0.95 - 150 < sent_tokens(server) <= most or len(shown) == 100
    assert (len(shown) < 100) == (window != 64_000)
    assert reading.items == ((0, 99) if len(shown) == 100 else (0,))

    _, server, _ = think_with([{"thought": "x"}], lambda r: r.think("Where?", LONG, ["b"]), window=window)
    assert len(shown) - 3 <= len(data_of(server)["context"]) <= len(shown) + 3
    assert sent_tokens(server) <= most


def test_candidates_that_were_not_shown_cannot_be_chosen() -> None:
    candidates = [item.text for item in LONG]
    reply = {"known": False, "answer": "", "next": [100, 2]}
    found, server, _ = think_with([reply], lambda r: r.extend("Where?", ["a"], candidates), window=4_000)
    shown = data_of(server)["candidates"]
    assert shown == [{"n": n, "text": text} for n, text in enumerate(candidates[: len(shown)], start=1)]
    assert len(shown) < 100
    assert found == Extension(choice=1)
    assert sent_tokens(server) <= 3_000


def test_one_item_stays_however_small_the_window() -> None:
    _, server, _ = think_with([FOUND], lambda r: r.read("Where?", LONG), window=1)
    assert [item["n"] for item in data_of(server)["context"]] == [1]


def test_max_tokens_are_kept_free() -> None:
    assert LLM("openai/any", api_base="http://x", window=8_000).prompt_tokens == 6_000
    assert LLM("openai/any", api_base="http://x", window=8_000, max_tokens=3_000).prompt_tokens == 5_000
    assert LLM("openai/any", api_base="http://x", window=8_000, max_tokens=9_000).prompt_tokens == 4_000
    assert LLM("openai/any", api_base="http://x").prompt_tokens == 9_000
    with pytest.raises(ValueError, match="window must be at least 1, not 0"):
        LLM("openai/any", window=0)


def crowded(name: str, *, documents: int, facts: int) -> SharedEntity:
    return SharedEntity(
        name,
        tuple(
            SourcedFact(f"{name} is in document {d}, place {f}. " + "More of it. " * 9, f"p{d}", f"d{d}", f"Title {d}")
            for d in range(documents)
            for f in range(facts)
        ),
    )


def test_bridge_asks_in_several_prompts_when_one_is_too_small() -> None:
    def serve(request: Request) -> dict[str, Any]:
        data = json.loads(request.prompt.split("\n", 1)[0])
        return {
            "entities": [
                {"entity": e["n"], "facts": [{"text": e["name"], "sources": [e["facts"][0]["n"], e["facts"][-1]["n"]]}]}
                for e in data["entities"]
            ]
        }

    entities = [crowded(f"Name {n}", documents=2, facts=5) for n in range(6)]
    found, server, _ = think_with(serve, lambda r: r.bridge(entities), window=4_000)
    assert found == [(BridgingFact(entity.name, (0, 9)),) for entity in entities]
    assert 1 < len(server.requests) < 6
    assert max(sent_tokens(server, place) for place in range(len(server.requests))) <= 3_000


def test_bridge_drops_the_last_facts_of_each_document_of_a_crowded_entity() -> None:
    entity = crowded("Grey Coast", documents=4, facts=20)

    def serve(request: Request) -> dict[str, Any]:
        count = len(json.loads(request.prompt.split("\n", 1)[0])["entities"][0]["facts"])
        facts = [{"text": "Joined.", "sources": [1, count]}, {"text": "Unseen.", "sources": [1, 80]}]
        return {"entities": [{"entity": 1, "facts": facts}]}

    found, server, _ = think_with(serve, lambda r: r.bridge([entity]), window=4_000)
    shown = data_of(server)["entities"][0]["facts"]
    documents = Counter(fact["document"] for fact in shown)
    assert [fact["n"] for fact in shown] == list(range(1, len(shown) + 1))
    assert sorted(documents) == ["A", "B", "C", "D"]
    assert max(documents.values()) - min(documents.values()) <= 1
    last = 60 + documents["D"] - 1
    assert (shown[0]["text"], shown[-1]["text"]) == (entity.facts[0].text, entity.facts[last].text)
    assert found == [(BridgingFact("Joined.", (0, last)),)]
    assert sent_tokens(server) <= 3_000


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("Lena Hart wrote Grey Coast in 1921 and died in Oslo.", 12, 20),
        ("東京は日本の首都であり、世界最大の都市圏の一つです。", 26, 60),
        ("Москва является столицей России.", 8, 45),
        ("19211922" * 10, 27, 60),
        ("\ud800", 1, 3),
    ],
)
def test_estimated_tokens(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text) <= most


def test_what_fits() -> None:
    assert count_fitting([], 10) == 0
    assert count_fitting(["a"] * 5, 0) == 1
    assert count_fitting(["a"] * 5, 10_000) == 5
    assert fit_entity(COAST, 0) == (0, 2)
    assert fit_entity(COAST, 10_000) == (0, 1, 2)
    assert list(split_fitting("abcd", [1, 2, 9, 1], 3)) == [["a", "b"], ["c"], ["d"]]
    assert list(split_fitting([], [], 3)) == []


# --- all of it with the honest model -------------------------------------------------------------------------------


def test_the_honest_model_answers_every_prompt() -> None:
    async def all_five(reasoner: Reasoner) -> list[Any]:
        return [
            await reasoner.extract(HART, title="Lena Hart"),
            await reasoner.bridge([COAST]),
            await reasoner.extend("Where?", [], ["a", "b"]),
            await reasoner.think("Where?", CONTEXT, []),
            await reasoner.read("Where?", CONTEXT),
        ]

    answers, server, ledger = think_with(honest, all_five)
    assert answers == [
        Extraction(
            facts=(ExtractedFact(f"Lena Hart: {HART.text}", ("Lena Hart", "Grey Coast", "Oslo")),),
            triples=(("Lena Hart", "She", "wrote Grey Coast in 1921 and died in Oslo."),),
        ),
        [(BridgingFact("Lena Hart wrote Grey Coast. Grey Coast is set in Bergen.", (0, 2)),)],
        Extension(choice=0),
        CONTEXT[0].text,
        Reading(CONTEXT[0].text, True, (0,)),
    ]
    assert server.tasks() == ["extract", "bridge", "extend", "think", "read"]
    assert list(ledger.by_task) == ["extract", "bridge", "extend", "think", "read"]
