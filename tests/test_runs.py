from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minirag import Document, Index, Prompts, __version__, ask
from minirag.encoder import SHIPPED
from minirag.errors import InputError, LLMSetupError
from minirag.evaluation.datasets import Dataset, Question, load_dataset
from minirag.evaluation.measured_files import find_measured
from minirag.evaluation.metrics import accuracy, exact_match, f1, gold_ranks
from minirag.evaluation.runs import build_index, evaluate, library_versions, save_run
from minirag.evaluation.scoring import Scoring, scorer
from minirag.evaluation.significance import compare
from minirag.llm import Retries
from minirag.records import AddReport
from tests.loopback import Loopback, Request, Served, honest, refusal, status

DEMO = load_dataset(Path(__file__).parents[1] / "minirag" / "demo")
MODEL = "openai/honest"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "demo.usearch"
    report = build_index(DEMO, path, model="offline", progress=False)
    assert (len(report.added), report.failed) == (24, ())
    return path


@pytest.fixture(scope="module")
def index(path: Path) -> Iterator[Index]:
    with Index(path, mode="r", model="offline") as index:
        yield index


# --- building ------------------------------------------------------------------------------------------------------


def test_a_whole_index_is_left_as_it_is(path: Path) -> None:
    before = path.read_bytes()
    report = build_index(DEMO, path, model="offline", progress=False)
    assert (report.added, report.updated, len(report.unchanged)) == ((), (), 24)
    assert path.read_bytes() == before


def test_an_index_gets_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "part.usearch"
    build_index(replace(DEMO, documents=DEMO.documents[:2]), path, model="offline", progress=False)
    report = build_index(replace(DEMO, documents=DEMO.documents[:3]), path, model="offline", progress=False)
    assert (report.added, len(report.unchanged)) == ((DEMO.documents[2].id,), 2)


def test_questions_alone_need_an_index(path: Path, tmp_path: Path) -> None:
    questions = replace(DEMO, documents=())
    assert build_index(questions, path, progress=False) == AddReport()
    with pytest.raises(InputError, match=r"demo has no corpus, and there is no index .*none\.usearch"):
        build_index(questions, tmp_path / "none.usearch", progress=False)


# --- offline -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["naive", "indexrag"])
def test_every_question_is_asked_and_scored(index: Index, strategy: str) -> None:
    run = evaluate(DEMO, index, strategy=strategy, progress=False)
    assert [result.id for result in run.results] == [question.id for question in DEMO.questions]
    assert (run.dataset, run.strategy, run.model, run.passages, run.failed) == ("demo", strategy, "offline", 24, ())
    assert run.index_bytes == index.path.stat().st_size
    for question, result in zip(DEMO.questions, run.results, strict=True):
        assert result.ranks == gold_ranks(result.documents, question.gold_ids)
        assert result.answer is not None
        assert result.em == (exact_match(result.answer, question.answers) if result.found else 0.0)
        assert result.f1 == (f1(result.answer, question.answers) if result.found else 0.0)
        assert result.accuracy == (accuracy(result.answer, question.answers) if result.found else 0.0)
        assert result.seconds is not None
        assert result.retrieval_seconds is not None
        assert min(result.seconds, result.retrieval_seconds) > 0
    assert run.usage.cost == 0.0
    recall = run.recall(10)
    assert recall is not None
    assert recall > 0.8


def test_retrieval_alone(index: Index) -> None:
    run = evaluate(DEMO, index, read=False, progress=False)
    read = evaluate(DEMO, index, progress=False)
    assert [result.ranks for result in run.results] == [result.ranks for result in read.results]
    entry = run.to_dict()
    assert [entry[key] for key in ("em", "f1", "accuracy", "seconds_per_question")] == [None] * 4
    assert entry["retrieval_seconds_per_question"] > 0


def test_it_asks_as_ask_does(index: Index) -> None:
    run = evaluate(DEMO, index, limit=1, read=False, progress=False)
    assert (run.strategy, ask(DEMO.questions[0].text, index).strategy) == ("kirag", "kirag")


def test_settings_and_versions_are_kept(index: Index) -> None:
    run = evaluate(DEMO, index, strategy="indexrag", limit=3, seed=5, k=4, read=False, progress=False, k_b=1)
    assert run.settings == {
        "strategy": "indexrag",
        "model": "offline",
        "k": 4,
        "read": False,
        "options": {"k_b": 1},
        "dataset": "demo",
        "encoder": index.info().encoder,
        "encoder_fingerprint": index.encoder.fingerprint,
        "limit": 3,
        "seed": 5,
        "concurrency": 1,
        "scoring": "minirag",
        "index_model": "offline",
        "index": {
            "documents": 24,
            "passages": 24,
            "facts": index.info().facts,
            "bridges": index.info().bridges,
            "triples": index.info().triples,
            "content": index.snapshot.digest,
            "calls": 0,
            "tokens": 0,
            "cost": 0.0,
            "seconds": index.info().usage.seconds,
        },
    }
    assert run.versions == library_versions()
    assert {"python", "numpy", "onnxruntime", "usearch"} <= set(run.versions)
    assert run.versions["minirag"] == __version__  # not what some older installation says of itself
    assert [result.id for result in run.results] == [question.id for question in DEMO.sample(3, seed=5).questions]


def test_gold_documents_must_be_there(index: Index) -> None:
    lost = replace(DEMO.questions[0], gold_ids=("atlantis",))
    with pytest.raises(
        InputError, match=r"demo\.usearch: has no document 'atlantis', which question '.*' \(\".+\) needs"
    ):
        evaluate(replace(DEMO, questions=(lost,)), index, progress=False)


def test_wrong_arguments(index: Index) -> None:
    with pytest.raises(ValueError, match="concurrency must be at least 1, not 0"):
        evaluate(DEMO, index, concurrency=0, progress=False)
    with pytest.raises(ValueError, match="unknown strategy 'best'"):
        evaluate(DEMO, index, strategy="best", progress=False)


# --- with a model --------------------------------------------------------------------------------------------------


def open_with(server: Loopback, path: Path) -> Index:
    return Index(path, mode="r", model=MODEL, api_base=server.api_base, api_key="none")


def test_calls_are_counted_and_bounded(path: Path) -> None:
    with Loopback(lambda request: replace(honest(request), delay=0.2)) as server:
        with open_with(server, path) as index:
            run = evaluate(DEMO, index, concurrency=3, progress=False)
        assert server.tasks() == ["read"] * 10
        assert 2 <= server.most_parallel <= 3
    assert run.model == MODEL
    assert [result.id for result in run.results] == [question.id for question in DEMO.questions]
    entry = run.to_dict()
    assert (entry["calls_per_question"], entry["cost"]) == (1.0, None)
    assert entry["seconds_per_question"] >= 0.2
    assert entry["prompt_tokens_per_question"] > 100


def test_a_stopped_run_goes_on(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with Loopback() as server, open_with(server, path) as index:
        part = evaluate(DEMO, index, limit=4, resume=log, progress=False)
        assert len(server.requests) == 4
        whole = evaluate(DEMO, index, resume=log, progress=False)
        assert len(server.requests) == 10
        again = evaluate(DEMO, index, resume=log, progress=False)
        assert len(server.requests) == 10
    assert set(part.results) < set(whole.results)
    assert again.results == whole.results


def test_a_failed_question_counts_as_wrong_and_is_asked_again(path: Path, tmp_path: Path) -> None:
    log, failing = tmp_path / "run.jsonl", DEMO.questions[3]

    def serve(request: Request) -> Served:
        return refusal("not this one") if failing.text in request.prompt else honest(request)

    with Loopback(serve) as server, open_with(server, path) as index:
        run = evaluate(DEMO, index, resume=log, progress=False)
    assert [failure.id for failure in run.failed] == [failing.id]
    assert run.failed[0].reason.startswith("LLMReplyError: openai/honest: ")
    result = run.results[3]
    assert (result.em, result.f1, result.accuracy, result.answer) == (0.0, 0.0, 0.0, None)
    with Loopback() as server, open_with(server, path) as index:
        assert evaluate(DEMO, index, resume=log, progress=False).failed == ()
        assert len(server.requests) == 1


RETRIEVED = ("ranks", "answer_rank", "documents")


@pytest.mark.parametrize("scoring", ["minirag", "kirag"])
@pytest.mark.parametrize("strategy", ["naive", "indexrag"])
def test_a_question_that_could_not_be_read_keeps_what_was_retrieved(
    path: Path, tmp_path: Path, strategy: str, scoring: Scoring
) -> None:
    """Retrieval asks no model there: its scores may not depend on whether the reader refuses a question."""
    refused = [question.text for question in DEMO.questions[::3]]

    def serve(request: Request) -> Served:
        return status(400, "content filter") if any(text in request.prompt for text in refused) else honest(request)

    arguments: dict[str, Any] = {"strategy": strategy, "scoring": scoring, "progress": False}
    with Loopback(serve) as server, open_with(server, path) as index:
        alone = evaluate(DEMO, index, read=False, **arguments)
        read = evaluate(DEMO, index, resume=tmp_path, **arguments)
        again = evaluate(DEMO, index, resume=tmp_path, **arguments)
    assert len(read.failed) == len(again.failed) == 4
    for run in (read, again):
        assert [run.to_summary()[key] for key in ("recall", "all_gold", "mrr", "answer_hit")] == [
            alone.to_summary()[key] for key in ("recall", "all_gold", "mrr", "answer_hit")
        ]
        for result, expected in zip(run.results, alone.results, strict=True):
            assert [getattr(result, name) for name in RETRIEVED] == [getattr(expected, name) for name in RETRIEVED]
            assert result.retrieval_seconds is not None
        assert [(result.em, result.f1) for result in run.results[::3]] == [(0.0, 0.0)] * 4
        found = compare(alone, run, metric="recall@5")
        assert (found.questions, found.difference, found.p_bootstrap, found.p_t_test) == (10, 0.0, 1.0, 1.0)


@pytest.mark.parametrize("task", ["extend", "read"])
def test_where_a_model_retrieves_only_what_it_came_to_counts(path: Path, task: str) -> None:
    failing = DEMO.questions[1]

    def serve(request: Request) -> Served:
        told = json.loads(request.prompt.partition("\n")[0])
        return status(503) if (told["task"], told["question"]) == (task, failing.text) else honest(request)

    retries = Retries(attempts=2, first_wait=0.01)
    with Loopback(serve) as server:
        reached: dict[str, Any] = {"model": MODEL, "api_base": server.api_base, "api_key": "none", "retries": retries}
        with Index(path, mode="r", **reached) as index:
            run = evaluate(replace(DEMO, questions=DEMO.questions[:2]), index, strategy="kirag", progress=False)
    assert [failure.id for failure in run.failed] == [failing.id]
    result = run.results[1]
    ranked = any(rank is not None for rank in result.ranks)
    assert (ranked, bool(result.documents)) == ((True, True) if task == "read" else (False, False))
    assert result.retrieval_seconds is None


def test_a_wrong_key_ends_the_run(path: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    with Loopback() as server, open_with(server, path) as index:
        evaluate(DEMO, index, limit=2, resume=log, progress=False)
    with (
        Loopback(lambda _: status(401, "wrong key", code="invalid_api_key")) as server,
        open_with(server, path) as index,
    ):
        with pytest.raises(LLMSetupError, match="wrong key"):
            evaluate(DEMO, index, resume=log, concurrency=2, progress=False)
        assert len(server.requests) <= 2
    assert len(log.read_text(encoding="utf-8").splitlines()) == 3


def test_runs_of_a_folder_are_files_of_their_own(index: Index, tmp_path: Path) -> None:
    for k_b in (0, 1):
        run = evaluate(DEMO, index, strategy="indexrag", limit=2, read=False, resume=tmp_path, progress=False, k_b=k_b)
        assert save_run(run, tmp_path) == save_run(run, tmp_path)
    names = sorted(re.sub(r"[0-9a-f]{8}(?=\.)", "DIGEST", path.name) for path in tmp_path.iterdir())
    assert names == [
        "demo-indexrag-k_b=0-offline-2q-DIGEST.json",
        "demo-indexrag-k_b=0-offline-DIGEST.jsonl",
        "demo-indexrag-k_b=1-offline-2q-DIGEST.json",
        "demo-indexrag-k_b=1-offline-DIGEST.jsonl",
    ]
    files = find_measured([tmp_path])
    assert files == sorted(tmp_path.glob("*.json"))
    assert find_measured([files[1]]) == [files[1]]
    demo = Path(__file__).parents[1] / "minirag" / "demo"
    assert find_measured([demo, demo / "questions.json"]) is None
    with pytest.raises(InputError, match="holds what was measured, and others are data sets"):
        find_measured([demo, files[0]])


def test_what_is_kept_is_scored_by_the_rules_asked_for(index: Index, tmp_path: Path) -> None:
    ours = evaluate(DEMO, index, resume=tmp_path, progress=False)
    theirs = evaluate(DEMO, index, resume=tmp_path, progress=False, scoring="indexrag")
    assert [result.answer for result in theirs.results] == [result.answer for result in ours.results]
    rules = scorer("indexrag")
    for question, result in zip(DEMO.questions, theirs.results, strict=True):
        assert result.f1 == (rules.f1(result.answer or "", question.answers) if result.found else 0.0)
    assert (ours.scoring, theirs.scoring) == ("minirag", "indexrag")


def test_hits_count_the_title_by_kirag_s_rules_alone_also_of_what_is_kept(tmp_path: Path) -> None:
    documents = (
        Document("film", "A film of 1920.", "Aylwin"),
        Document("war", "The war of 1939–1945.", "War"),
    )
    questions = (
        Question("q1", "Which film is of 1920?", ("Aylwin",)),
        Question("q2", "When did the war begin?", ("1939",)),
    )
    dataset = Dataset("films", documents, questions)
    build_index(dataset, tmp_path / "films.usearch", model="offline", progress=False)
    found = []
    with Index(tmp_path / "films.usearch", mode="r", model="offline") as index:
        for scoring in ("minirag", "kirag", "minirag"):  # the second and third take what the first has kept
            run = evaluate(dataset, index, scoring=scoring, resume=tmp_path, read=False, progress=False)
            found.append(run.answer_hit(10))
    assert found == [0.5, 1.0, 0.5]


def test_another_run_does_not_mix_in(index: Index, tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    evaluate(DEMO, index, limit=1, resume=log, progress=False)
    with pytest.raises(InputError, match=r"holds results of another run \(k None, now 5\)"):
        evaluate(DEMO, index, k=5, resume=log, progress=False)


def test_each_task_goes_to_its_own_model(path: Path) -> None:
    with Loopback() as server:
        models = {"think": "openai/thinker", "extract": "openai/extractor"}
        with Index(path, mode="r", model=MODEL, models=models, api_base=server.api_base, api_key="none") as index:
            run = evaluate(DEMO, index, strategy="ircot", limit=1, progress=False)
        assert {request.body["model"] for request in server.requests} == {"honest", "thinker"}
    assert (run.model, run.settings["models"]) == (MODEL, {"think": "openai/thinker"})


def test_runs_by_two_encoders_lie_side_by_side(index: Index, tmp_path: Path) -> None:
    run = evaluate(DEMO, index, strategy="naive", limit=1, read=False, progress=False)
    others: list[dict[str, Any]] = [
        {},
        {"encoder": "another"},
        {"encoder_fingerprint": "0" * 16},
        {"models": {"think": "x"}},
    ]
    others.append({"prompts": {"read": {"language": "French"}}})
    saved = [save_run(replace(run, settings={**run.settings, **other}), tmp_path) for other in others]
    assert len(set(saved)) == 5


# --- what results depend on ----------------------------------------------------------------------------------------


def logs_in(folder: Path) -> int:
    return len(list(folder.glob("*.jsonl")))


def test_results_of_another_encoder_of_that_name_are_not_taken(path: Path, tmp_path: Path) -> None:
    (tmp_path / "encoder").mkdir()
    for file in SHIPPED.iterdir():
        (tmp_path / "encoder" / file.name).write_bytes(file.read_bytes())
    config = json.loads((SHIPPED / "config.json").read_text(encoding="utf-8")) | {"fingerprint": "f" * 16}
    (tmp_path / "encoder" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    build_index(DEMO, tmp_path / "other.usearch", encoder=tmp_path / "encoder", model="offline", progress=False)
    runs = []
    for place in (path, tmp_path / "other.usearch"):
        with Index(place, mode="r", model="offline") as index:
            runs.append(evaluate(DEMO, index, limit=1, read=False, resume=tmp_path, progress=False))
    assert runs[0].settings["encoder"] == runs[1].settings["encoder"]
    assert runs[0].settings["index"]["content"] == runs[1].settings["index"]["content"]
    assert logs_in(tmp_path) == 2
    assert save_run(runs[0], tmp_path) != save_run(runs[1], tmp_path)


def test_results_are_of_what_the_index_holds_and_not_of_its_bytes(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.usearch"
    copy.write_bytes(path.read_bytes())

    def ask() -> tuple[int, str]:
        with Index(copy, mode="r", model="offline") as index:
            run = evaluate(DEMO, index, limit=1, read=False, resume=tmp_path, progress=False)
        return logs_in(tmp_path), run.settings["index"]["content"]

    _, first = ask()
    with Index(copy, model="offline") as index:
        index.add(Document("new", "Oslo is a city.", "Oslo"), progress=False)
    assert ask()[0] == 2
    with Index(copy, model="offline") as index:
        index.delete("new", progress=False)
    assert ask() == (2, first)
    with Index(copy, model="offline") as index:
        index.compact()
    assert ask() == (2, first)
    with Index(copy, model="offline") as index:
        index.add(replace(DEMO.documents[0], metadata={"year": 1920}), progress=False)
    assert ask()[0] == 3
    Index(copy, model="offline", prompts=Prompts.from_dict({"read": {"language": "French"}})).close()
    assert ask()[0] == 4


def test_a_passage_that_is_refused_each_time_does_not_begin_a_run_anew(tmp_path: Path) -> None:
    """Each indexing tries it again, and counts what that took."""
    path, refused = tmp_path / "demo.usearch", DEMO.documents[0]

    def serve(request: Request) -> Served:
        return refusal() if refused.text[:60] in request.prompt and '"extract"' in request.prompt else honest(request)

    with Loopback(serve) as server:
        reached: dict[str, Any] = {"model": MODEL, "api_base": server.api_base, "api_key": "none"}
        dataset = replace(DEMO, documents=DEMO.documents[:4], questions=DEMO.questions[:1])
        dataset = replace(dataset, questions=(replace(DEMO.questions[0], gold_ids=(refused.id,)),))
        sizes, segments, content = [], [], set()
        for _ in range(3):
            assert len(build_index(dataset, path, progress=False, **reached).failed) == 1
            with Index(path, mode="r", **reached) as index:
                run = evaluate(dataset, index, resume=tmp_path, progress=False)
                segments.append(index.snapshot.segments[-1].entry)
            sizes.append(run.index_bytes)
            content.add(run.settings["index"]["content"])
        assert server.tasks().count("read") == 1
    assert sizes[0] < sizes[1] < sizes[2]
    assert segments[0] == segments[1] == segments[2]
    assert (len(content), logs_in(tmp_path)) == (1, 1)


def test_two_runs_at_once_do_not_write_one_log(path: Path, tmp_path: Path) -> None:
    """The one that comes second is refused before it asks anything; afterwards it goes on from what the first paid."""
    message = r"demo-indexrag-.*\.jsonl: another run is writing its results there\. Wait until it is done"
    refused: list[Request] = []

    def serve(request: Request) -> Served:
        if not refused:
            with open_with(server, path) as second, pytest.raises(InputError, match=message):
                evaluate(DEMO, second, limit=3, seed=1, resume=tmp_path, progress=False)
            refused.append(request)
        return honest(request)

    with Loopback(serve) as server:
        with open_with(server, path) as index:
            evaluate(DEMO, index, limit=4, resume=tmp_path, concurrency=1, progress=False)
            assert len(server.requests) == 4
            evaluate(DEMO, index, resume=tmp_path, progress=False)
        assert len(server.requests) == 10
    assert len(refused) == 1
