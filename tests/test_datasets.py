"""The forms that data sets are published in, each in small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minirag.datasets import ContextPassage, Example, SubQuestion, read_examples
from minirag.errors import InputError

HOTPOTQA = {
    "_id": "5a8b57f25542995d1e6f1371",
    "question": "Were the director of Aylwin and Ada Brell born in one country?",
    "answer": "yes",
    "type": "comparison",
    "level": "hard",
    "supporting_facts": [["Aylwin (film)", 1], ["Ada Brell", 0], ["Aylwin (film)", 0]],
    "context": [
        ["Karsund", ["Karsund is a town.", " It has harbours."]],
        ["Aylwin (film)", ["Aylwin is a film.", " It was directed by Henry Edwards."]],
        ["Ada Brell", ["Ada Brell dug harbours."]],
    ],
}
AYLWIN = ContextPassage(
    "Aylwin (film)",
    "Aylwin is a film. It was directed by Henry Edwards.",
    ("Aylwin is a film.", " It was directed by Henry Edwards."),
    is_supporting=True,
    supporting_sentences=(0, 1),
)
KARSUND = ContextPassage("Karsund", "Karsund is a town. It has harbours.", ("Karsund is a town.", " It has harbours."))
ADA = ContextPassage("Ada Brell", "Ada Brell dug harbours.", ("Ada Brell dug harbours.",), True, (0,))

MUSIQUE = {
    "id": "3hop1__136129_87694_124169",
    "paragraphs": [
        {"idx": 0, "title": "Green", "paragraph_text": "Green is an album by Steve Hillage.", "is_supporting": True},
        {"idx": 1, "title": "Green", "paragraph_text": "Green is a colour.", "is_supporting": False},
        {"idx": 2, "title": "Steve", "paragraph_text": "Steve Hillage married Miquette.", "is_supporting": True},
    ],
    "question": "Who is the spouse of the Green performer?",
    "question_decomposition": [
        {"id": 1, "question": "Green >> performer", "answer": "Steve Hillage", "paragraph_support_idx": 0},
        {"id": 2, "question": "#1 >> spouse", "answer": "Miquette", "paragraph_support_idx": 2},
    ],
    "answer": "Miquette Giraudy",
    "answer_aliases": ["Miquette", "Miquette Giraudy"],
    "answerable": True,
}
DPR = {
    "dataset": "nq_dev_psgs_w100",
    "question": "who sings does he love me with reba",
    "answers": ["Linda Davis"],
    "positive_ctxs": [
        {"title": "Does He Love You", "text": "A duet with Linda Davis.", "score": 1000, "passage_id": "11828866"}
    ],
    "negative_ctxs": [{"title": "Cormac", "text": "Cormac was a king.", "score": 0, "passage_id": "1"}],
    "hard_negative_ctxs": [{"title": "Reba", "text": "Reba sings.", "score": 14, "passage_id": "2"}],
}


def read(folder: Path, entries: list[Any], name: str = "questions.json") -> list[Example]:
    path = folder / name
    lines = "\n".join(json.dumps(entry) for entry in entries)
    path.write_text(lines if name.endswith("l") else json.dumps(entries), encoding="utf-8")
    return list(read_examples(path))


def read_text(folder: Path, text: str, name: str) -> list[Example]:
    (folder / name).write_text(text, encoding="utf-8")
    return list(read_examples(folder / name))


# --- HotpotQA and 2WikiMultiHopQA ----------------------------------------------------------------------------------


def test_hotpotqa(tmp_path: Path) -> None:
    assert read(tmp_path, [HOTPOTQA], "hotpot_dev_distractor_v1.json") == [
        Example(
            id="5a8b57f25542995d1e6f1371",
            question="Were the director of Aylwin and Ada Brell born in one country?",
            answers=("yes",),
            type="comparison",
            passages=(KARSUND, AYLWIN, ADA),
            gold_titles=("Aylwin (film)", "Ada Brell"),
        )
    ]


def test_hotpotqa_fullwiki_names_articles_that_its_contexts_lack(tmp_path: Path) -> None:
    entry = {**HOTPOTQA, "context": HOTPOTQA["context"][:2]}
    (example,) = read(tmp_path, [entry])
    assert [passage.title for passage in example.passages if passage.is_supporting] == ["Aylwin (film)"]
    assert example.gold_titles == ("Aylwin (film)", "Ada Brell")


def test_hotpotqa_as_the_hugging_face_hub_has_it(tmp_path: Path) -> None:
    entry = {
        **HOTPOTQA,
        "supporting_facts": {"title": ["Aylwin (film)", "Ada Brell", "Aylwin (film)"], "sent_id": [1, 0, 0]},
        "context": {
            "title": [title for title, _ in HOTPOTQA["context"]],
            "sentences": [sentences for _, sentences in HOTPOTQA["context"]],
        },
    }
    assert read(tmp_path, [entry]) == read(tmp_path, [HOTPOTQA])


def test_2wikimultihopqa(tmp_path: Path) -> None:
    entry = {
        "_id": "8813f87c",
        "type": "compositional",
        "question": "Where was the director of Aylwin born?",
        "context": [["Aylwin", ["Aylwin is a film.", "It was directed by Henry Edwards."]]],
        "supporting_facts": [["Aylwin", 1]],
        "evidences": [["Aylwin", "director", "Henry Edwards"], ["Henry Edwards", "place of birth", "Weston"]],
        "evidences_id": [["Q1", "director", "Q2"]],
        "answer_id": "Q3",
        "answer": "Weston",
    }
    (example,) = read(tmp_path, [entry])
    assert example.triples == (
        ("Aylwin", "director", "Henry Edwards"),
        ("Henry Edwards", "place of birth", "Weston"),
    )
    # The sentences come without the space between them.
    assert example.passages[0].text == "Aylwin is a film. It was directed by Henry Edwards."
    assert example.passages[0].supporting_sentences == (1,)


def test_repeated_passages_are_one(tmp_path: Path) -> None:
    context = [["Tang Bin", ["A sport shooter."]], ["Karsund", ["A town."]], ["Tang Bin", ["A sport shooter."]]]
    (example,) = read(tmp_path, [{**HOTPOTQA, "context": context, "supporting_facts": [["Tang Bin", 0]]}])
    assert [(p.title, p.is_supporting) for p in example.passages] == [("Tang Bin", True), ("Karsund", False)]


def test_of_two_passages_with_one_title_the_one_that_has_the_sentence_supports(tmp_path: Path) -> None:
    context = [["Green", ["A colour."]], ["Green", ["An album.", "By Steve Hillage."]], ["Green", ["A.", "B."]]]
    (example,) = read(tmp_path, [{**HOTPOTQA, "context": context, "supporting_facts": [["Green", 1]]}])
    assert [p.supporting_sentences for p in example.passages] == [(), (1,), ()]
    assert [p.is_supporting for p in example.passages] == [False, True, False]


def test_a_fact_beyond_the_last_sentence_still_names_its_passage(tmp_path: Path) -> None:
    (example,) = read(tmp_path, [{**HOTPOTQA, "supporting_facts": [["Karsund", 7]]}])
    karsund = example.passages[0]
    assert (karsund.is_supporting, karsund.supporting_sentences) == (True, ())


# --- MuSiQue -------------------------------------------------------------------------------------------------------


def test_musique(tmp_path: Path) -> None:
    assert read(tmp_path, [MUSIQUE], "musique_ans_v1.0_dev.jsonl") == [
        Example(
            id="3hop1__136129_87694_124169",
            question="Who is the spouse of the Green performer?",
            answers=("Miquette Giraudy", "Miquette"),
            type="3hop1",
            passages=(
                ContextPassage("Green", "Green is an album by Steve Hillage.", is_supporting=True),
                ContextPassage("Green", "Green is a colour."),
                ContextPassage("Steve", "Steve Hillage married Miquette.", is_supporting=True),
            ),
            gold_titles=("Green", "Steve"),
            sub_questions=(
                SubQuestion("Green >> performer", "Steve Hillage", 0),
                SubQuestion("#1 >> spouse", "Miquette", 2),
            ),
        )
    ]


def test_hops_point_at_passages_whatever_was_left_out_before_them(tmp_path: Path) -> None:
    paragraphs = [{"idx": 9, "title": "Green", "paragraph_text": " "}, *reversed(MUSIQUE["paragraphs"])]  # type: ignore[call-overload]
    (example,) = read(tmp_path, [{**MUSIQUE, "paragraphs": paragraphs}])
    assert [hop.passage for hop in example.sub_questions] == [2, 0]


@pytest.mark.parametrize(
    ("named", "title"),
    [
        ({"document_id": "Green (Steve Hillage album)_0"}, "Green (Steve Hillage album)"),
        ({"document_id": "Green_Day_12"}, "Green_Day"),
        ({"title": "Green_0"}, "Green_0"),
        ({"document_id": 7}, None),
        ({}, None),
    ],
)
def test_hops_may_name_their_articles(tmp_path: Path, named: dict[str, object], title: str | None) -> None:
    step = {"question": "Green >> performer", "answer": "Steve Hillage", **named}
    (example,) = read(tmp_path, [{"id": "q", "question": "Who?", "answer": "Steve Hillage", "decomposition": [step]}])
    assert example.sub_questions == (SubQuestion("Green >> performer", "Steve Hillage", None, title),)


def test_unanswerable_questions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"entry 2: is not answerable, .* Take MuSiQue's answerable files"):
        read(tmp_path, [MUSIQUE, {**MUSIQUE, "id": "x", "answerable": False}])


# --- DPR, Bamboogle, one's own -------------------------------------------------------------------------------------


def test_dpr(tmp_path: Path) -> None:
    assert read(tmp_path, [DPR], "biencoder-nq-dev.json") == [
        Example(
            id="1",
            question="who sings does he love me with reba",
            answers=("Linda Davis",),
            passages=(
                ContextPassage("Does He Love You", "A duet with Linda Davis.", is_supporting=True),
                ContextPassage("Cormac", "Cormac was a king."),
                ContextPassage("Reba", "Reba sings."),
            ),
            gold_titles=("Does He Love You",),
            is_any_sufficient=True,
        )
    ]


@pytest.mark.parametrize("name", ["nq-test.qas.csv", "nq-test.qas.tsv"])
def test_dpr_questions_with_tabs(tmp_path: Path, name: str) -> None:
    text = (
        "who got the first nobel prize in physics\t['Wilhelm Conrad Röntgen']\n"
        'what is "quoted" here\t"[\'O\'\'Neill\', ""it\'s""]"\n'
        'which film\t["A", "B"]\n'
    ).replace("O''Neill", "ONeill")
    assert [(e.id, e.question, e.answers) for e in read_text(tmp_path, text, name)] == [
        ("1", "who got the first nobel prize in physics", ("Wilhelm Conrad Röntgen",)),
        ("2", 'what is "quoted" here', ("ONeill", "it's")),
        ("3", "which film", ("A", "B")),
    ]


@pytest.mark.parametrize("name", ["q.csv", "q.tsv"])
@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_line_breaks_end_rows(tmp_path: Path, mark: str, name: str) -> None:
    text = f"what {mark} is it\t['A']\r\nwho{mark}?\t['B']\n"
    assert [(e.question, e.answers) for e in read_text(tmp_path, text, name)] == [
        (f"what {mark} is it", ("A",)),
        (f"who{mark}?", ("B",)),
    ]
    text = f'question,answers\n"two\nlines{mark}",A\n'.replace(",", "\t" if name == "q.tsv" else ",")
    assert [e.question for e in read_text(tmp_path, text, name)] == [f"two\nlines{mark}"]


def test_a_quote_that_is_never_closed_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"q\.csv: is no table: field larger than field limit"):
        read_text(tmp_path, '"' + "x" * 2**24 + "\n" * 9, "q.csv")


def test_natural_questions_open(tmp_path: Path) -> None:
    (example,) = read(tmp_path, [{"question": "who sang it", "answer": ["Linda", "Linda Davis"]}], "NQ-open.dev.jsonl")
    assert (example.question, example.answers) == ("who sang it", ("Linda", "Linda Davis"))


def test_bamboogle(tmp_path: Path) -> None:
    asked = {"Question": "Who was president in 1810?", "Answer": "James Madison"}
    expected = [Example("1", "Who was president in 1810?", ("James Madison",))]
    assert read(tmp_path, [asked], "bamboogle.json") == expected
    text = "Question,Answer\nWho was president in 1810?,James Madison\n"
    assert read_text(tmp_path, text, "bamboogle.csv") == expected


def test_questions_of_ones_own(tmp_path: Path) -> None:
    entries = [
        {"id": "a", "question": "Who?", "answers": ["x", "y"], "gold_ids": ["d1", "d2", "d1"], "type": "bridge"},
        {"question": "Where?", "answer": "z"},
    ]
    assert read(tmp_path, entries, "mine.jsonl") == [
        Example("a", "Who?", ("x", "y"), "bridge", gold_ids=("d1", "d2")),
        Example("2", "Where?", ("z",)),
    ]


# --- what is wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": "text"}, 'its context is "text", not a list of titles with sentences'),
        ({"context": [["Aylwin", "A film."]]}, r'its context holds \["Aylwin", "A film."\], not a title with a list'),
        ({"supporting_facts": [["Aylwin"]]}, r'its supporting_facts are \[\["Aylwin"\]\], not titles with sentence'),
        ({"gold_titles": "Aylwin"}, 'its gold_titles are "Aylwin", not a list of strings'),
        ({"evidences": [["a", "b"]]}, r'triple must be three texts, not \["a", "b"\]'),
        ({"evidences": 3}, "its evidences is 3, not a list"),
        ({"question_decomposition": ["x"]}, 'its decomposition holds "x", not an object'),
        ({"question_decomposition": [{"question": "x"}]}, "its answer is missing, not a text"),
        ({"context": None, "paragraphs": [3]}, "its paragraphs holds 3, not an object"),
        ({"answer_aliases": "x"}, 'its answer_aliases are "x", not a list'),
        ({"_id": 1.5}, "its id is 1.5, not a string or a whole number"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=rf"questions\.json, entry 1: {message}"):
        read(tmp_path, [{**HOTPOTQA, **change}])


def test_rows_that_do_not_fit_their_head(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.tsv, line 2: has 1 columns, not 2 \(question, answers\)"):
        read_text(tmp_path, "who\t['x']\nwhere\n", "x.tsv")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json: there is no such file"):
        list(read_examples(tmp_path / "nowhere.json"))


def test_lines_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text('{"question": "Who?", "answer": "x"}\nnot JSON\n', encoding="utf-8")
    examples = read_examples(path)
    assert next(examples).question == "Who?"
    with pytest.raises(InputError, match=r"long\.jsonl, line 2: is not JSON: Expecting value \(column 1\)$"):
        next(examples)


def test_what_is_no_json_is_told_with_one_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: is not JSON: Expecting ',' delimiter \(column 10\)$"):
        read_text(tmp_path, '\n{"a": "b"\n', "x.jsonl")
    with pytest.raises(InputError, match=r"x\.json: is not JSON: Expecting value \(line 2, column 3\)$"):
        read_text(tmp_path, "[1,\n  x]", "x.json")
