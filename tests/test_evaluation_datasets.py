from __future__ import annotations

import json
from pathlib import Path

import pytest

from minirag.errors import InputError
from minirag.evaluation.datasets import Dataset, Question, load_dataset
from minirag.records import Document

CORPUS = [
    {"id": "d1", "title": "Aylwin", "text": "Aylwin was directed by Henry Edwards."},
    {"id": "d2", "text": "Henry Edwards was born in Weston-super-Mare.", "metadata": {"year": 1882}},
]
QUESTIONS = [
    {
        "id": "q1",
        "question": "Where was the director of Aylwin born?",
        "answers": ["Weston-super-Mare", "Weston"],
        "gold_passage_ids": ["d1", "d2", "d1"],
        "type": "bridge",
        "level": "hard",
    },
    {"question": "Who directed Aylwin?", "answer": "Henry Edwards"},
]


def write(folder: Path, *, corpus: object = None, questions: object = None) -> Path:
    for name, entries in (("corpus", corpus), ("questions", questions)):
        if entries is not None:
            (folder / f"{name}.json").write_text(json.dumps(entries), encoding="utf-8")
    return folder


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "films"
    folder.mkdir()
    assert load_dataset(write(folder, corpus=CORPUS, questions=QUESTIONS)) == Dataset(
        name="films",
        documents=(
            Document("d1", "Aylwin was directed by Henry Edwards.", "Aylwin"),
            Document("d2", "Henry Edwards was born in Weston-super-Mare.", "", {"year": 1882}),
        ),
        questions=(
            Question(
                "q1",
                "Where was the director of Aylwin born?",
                ("Weston-super-Mare", "Weston"),
                ("d1", "d2"),
                "bridge",
            ),
            Question("2", "Who directed Aylwin?", ("Henry Edwards",)),
        ),
    )


def test_questions_alone_as_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    lines = [
        '{"id": 7, "question": "Who\u2028directed Aylwin?", "answers": ["Henry Edwards"], "gold_ids": [3]}',
        "",
        '{"question": "Where?", "answers": ["Weston"]}',
    ]
    path.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    dataset = load_dataset(str(path))
    assert (dataset.name, dataset.documents) == ("mine", ())
    assert dataset.questions == (
        Question("7", "Who\u2028directed Aylwin?", ("Henry Edwards",), ("3",)),
        Question("2", "Where?", ("Weston",)),
    )


def test_folder_of_questions_alone(tmp_path: Path) -> None:
    assert load_dataset(write(tmp_path, questions=QUESTIONS)).documents == ()


@pytest.mark.parametrize(
    ("corpus", "questions", "message"),
    [
        (CORPUS, None, r"holds neither questions\.json nor questions\.jsonl"),
        (CORPUS, [], r"questions\.json: is empty"),
        (CORPUS, {}, r"questions\.json: is \{\}, not a list of objects"),
        (CORPUS, ["who?"], r'questions\.json, entry 1 is "who\?", not an object'),
        (CORPUS, [{"answers": ["x"]}], "entry 1: its question is missing, not a text"),
        (CORPUS, [{"question": " ", "answers": ["x"]}], 'entry 1: its question is " ", not a text'),
        (CORPUS, [QUESTIONS[0], {"question": "Who?"}], "entry 2: has no answers"),
        (CORPUS, [{"question": "Who?", "answers": []}], "entry 1: has no answers"),
        (CORPUS, [{"question": "Who?", "answers": ["x", 3]}], "entry 1: an answer is 3, not a text"),
        (CORPUS, [{"question": "Who?", "answers": ["x"], "gold_ids": "d1"}], 'its gold ids are "d1", not a list'),
        (
            CORPUS,
            [{"question": "Who?", "answers": ["x"], "gold_ids": ["d3"]}],
            r"question '1' \(\"Who\?\"\) names .* 'd3', not in",
        ),
        (CORPUS, [QUESTIONS[0], QUESTIONS[0]], r"questions\.json, entry 2: its id 'q1' is also that of entry 1"),
        ([{"id": "d1"}], QUESTIONS, "entry 1: its text is missing"),
        ([{"text": "x"}], QUESTIONS, "entry 1: its id is missing, not a string or a whole number"),
        ([{"id": True, "text": "x"}], QUESTIONS, "entry 1: its id is true"),
        ([{"id": "d1", "text": "x", "title": 5}], QUESTIONS, "entry 1: its title is 5, not a string"),
        ([{"id": "d1", "text": "x", "metadata": [1]}], QUESTIONS, r"entry 1: its metadata is \[1\], not an object"),
        ([CORPUS[0], CORPUS[0]], QUESTIONS, r"corpus\.json: id 'd1' stands there 2 times"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, corpus: object, questions: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_dataset(write(tmp_path, corpus=corpus, questions=questions))


def test_a_sample_takes_any_id(tmp_path: Path) -> None:
    questions = [{"id": "q\ud83d", "question": "Who?", "answers": ["x"]}, QUESTIONS[1]]
    dataset = load_dataset(write(tmp_path, corpus=CORPUS, questions=questions))
    assert {each.id for seed in range(20) for each in dataset.sample(1, seed=seed).questions} == {"q\ud83d", "2"}


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: there is no such file or folder"):
        load_dataset(tmp_path / "nowhere")


def test_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"question": "Who?", "answers": ["x"]}\n{"question"', encoding="utf-8")
    with pytest.raises(InputError, match=r"questions\.jsonl, line 2: is not JSON: "):
        load_dataset(tmp_path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"questions\.jsonl: cannot be read: "):
        load_dataset(tmp_path)


def many(count: int) -> Dataset:
    return Dataset("many", (), tuple(Question(f"q{n}", "Who?", ("x",)) for n in range(count)))


def test_sample_is_fixed_by_the_seed() -> None:
    # The very questions: a sample must be the same on every machine and Python.
    assert [question.id for question in many(10).sample(4).questions] == ["q0", "q4", "q5", "q6"]
    assert many(10).sample(4, seed=1) != many(10).sample(4, seed=2)


def test_samples_are_nested_and_keep_the_order() -> None:
    dataset = many(50)
    small, large = dataset.sample(7, seed=3).questions, dataset.sample(20, seed=3).questions
    assert set(small) < set(large)
    assert [q for q in dataset.questions if q in large] == list(large)
    assert dataset.sample(None) == dataset.sample(50) == dataset.sample(99) == dataset


def test_sample_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="limit must be at least 1, not 0"):
        many(3).sample(0)


def test_triples_made_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "corpus.json").write_text('[{"id": "a", "text": "A film."}]', encoding="utf-8")
    (tmp_path / "questions.json").write_text('[{"question": "Q?", "answers": ["x"]}]', encoding="utf-8")
    (tmp_path / "triples.json").write_text('[{"passage_id": "a", "triple": ["A", "is", "film"]}]', encoding="utf-8")
    assert load_dataset(tmp_path).triples == {"a": [("A", "is", "film")]}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('{"passage_id": "b", "triple": ["A", "is", "film"]}', "'b' is no document of the corpus"),
        ('{"passage_id": "a", "triple": ["A", " ", "film"]}', "triple must be three texts"),
    ],
)
def test_broken_triples(tmp_path: Path, entry: str, message: str) -> None:
    (tmp_path / "corpus.json").write_text('[{"id": "a", "text": "A film."}]', encoding="utf-8")
    (tmp_path / "questions.json").write_text('[{"question": "Q?", "answers": ["x"]}]', encoding="utf-8")
    (tmp_path / "triples.json").write_text(f"[{entry}]", encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_dataset(tmp_path)


# --- the corpus that stands beside the questions -------------------------------------------------------------------


def hotpot(identifier: str, facts: list[str], *context: tuple[str, list[str]]) -> dict[str, object]:
    facts_of = [[title, 0] for title in facts]
    return {"_id": identifier, "question": "Who?", "answer": "x", "supporting_facts": facts_of, "context": context}


def test_contexts_are_the_corpus(tmp_path: Path) -> None:
    path = tmp_path / "hotpot_dev_distractor_v1.json"
    entries = [
        hotpot("a", ["Green", "Aylwin"], ("Green", ["A colour."]), ("Aylwin", ["A film.", " By Edwards."])),
        hotpot("b", ["Green"], ("Green", ["An album."]), ("Aylwin", ["A film.", "By Edwards."])),
    ]
    path.write_text(json.dumps(entries), encoding="utf-8")
    dataset = load_dataset(path)
    green, aylwin, album = dataset.documents
    assert [(d.title, d.text) for d in dataset.documents] == [
        ("Green", "A colour."),
        ("Aylwin", "A film. By Edwards."),
        ("Green", "An album."),
    ]
    assert dataset.name == "hotpot_dev_distractor_v1"
    assert [question.gold_ids for question in dataset.questions] == [(green.id, aylwin.id), (album.id,)]
    assert (dataset.absent, green.id) == (frozenset(), "742fb00d3926e708")


def test_gold_that_no_context_holds_is_known_to_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "hotpot_dev_fullwiki_v1.json"
    entries = [
        hotpot("a", ["Green", "Aylwin", "Ada"], ("Green", ["A colour."])),
        hotpot("b", ["Aylwin"], ("Aylwin", ["A film."])),
    ]
    path.write_text(json.dumps(entries), encoding="utf-8")
    dataset = load_dataset(path)
    green, aylwin = (document.id for document in dataset.documents)
    assert [question.gold_ids for question in dataset.questions] == [(green, aylwin, "Ada"), (aylwin,)]
    assert dataset.absent == {"Ada"}


def test_gold_by_title_in_a_corpus_of_its_own(tmp_path: Path) -> None:
    questions = [hotpot("a", ["Aylwin", "Ada"], ("Aylwin", ["Another text."]))]
    dataset = load_dataset(write(tmp_path, corpus=CORPUS, questions=questions))
    assert dataset.questions[0].gold_ids == ("d1", "Ada")
    assert dataset.absent == {"Ada"}


def test_no_gold_where_any_passage_is_enough(tmp_path: Path) -> None:
    entry = {"question": "Who?", "answers": ["x"], "positive_ctxs": [{"title": "A", "text": "B"}]}
    dataset = load_dataset(write(tmp_path, questions=[entry]))
    assert (len(dataset.documents), dataset.questions[0].gold_ids) == (1, ())
