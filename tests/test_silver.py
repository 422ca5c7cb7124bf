"""Which facts of which passages make a question's chain, in the three forms in which sets say it."""

from pathlib import Path

import pytest

from minirag.datasets import ContextPassage, Example, SubQuestion
from minirag.errors import InputError
from minirag.training.lessons import ChainedQuestion
from minirag.training.silver import ReadPassage, SilverStep, best_fact, build_chain, orders, supports_of
from minirag.training.silver_files import read_questions, write_questions

FILM = ReadPassage(
    "Aylwin. Aylwin is a 1920 film directed by Henry Edwards. It stars Chrissie White.",
    "Aylwin (film)",
    ("Aylwin is a 1920 film directed by Henry Edwards.", "Aylwin stars Chrissie White."),
    ("Aylwin director Henry Edwards",),
    is_gold=True,
    supporting=("Aylwin is a 1920 film directed by Henry Edwards.",),
)
MAN = ReadPassage(
    "Henry Edwards. Henry Edwards was born in Weston-super-Mare.",
    "Henry Edwards",
    ("Henry Edwards worked in film.", "Henry Edwards was born in Weston-super-Mare."),
    (),
    is_gold=True,
    supporting=("Henry Edwards was born in Weston-super-Mare.",),
)
OTHER = ReadPassage("Oslo. Oslo is a city.", "Oslo", ("Oslo is a city.",), ())
QUESTION = "Where was the director of the film Aylwin born?"
FIRST, SECOND = FILM.facts[0], MAN.facts[1]


def test_triples_name_their_passages_and_their_order() -> None:
    triples = (
        ("Aylwin", "director", "Henry Edwards"),
        ("Henry Edwards", "place of birth", "Weston-super-Mare"),
    )
    example = Example("q", QUESTION, ("Weston-super-Mare",), triples=triples)
    passages = [OTHER, MAN, FILM]
    assert build_chain(supports_of(example, passages), passages) == (
        SilverStep(2, FIRST, "Aylwin director Henry Edwards", ()),
        SilverStep(1, SECOND, "Henry Edwards place of birth Weston-super-Mare", (0,)),
    )


def test_triples_alone_are_a_chain_too() -> None:
    example = Example("q", QUESTION, ("x",), triples=(("a", "b", "c"), ("c", "d", "e"), ("f", "g", "h")))
    assert [(step.triple, step.needs) for step in build_chain(supports_of(example, ()), ())] == [
        ("a b c", ()),
        ("c d e", (0,)),
        ("f g h", ()),
    ]


def test_sub_questions_hold_earlier_answers() -> None:
    steps = (
        SubQuestion("Aylwin >> director", "Henry Edwards", 2),
        SubQuestion("Where was #1 born?", "Weston-super-Mare", 1),
    )
    example = Example("q", QUESTION, ("Weston-super-Mare",), sub_questions=steps)
    passages = [OTHER, MAN, FILM]
    assert [support.text for support in supports_of(example, passages)] == [
        "Aylwin director Henry Edwards",
        "Where was Henry Edwards born? Weston-super-Mare",
    ]
    assert build_chain(supports_of(example, passages), passages) == (
        SilverStep(2, FIRST, None, (), "Aylwin director"),
        SilverStep(1, SECOND, None, (0,), "Where was Henry Edwards born?"),
    )


def test_triples_take_the_questions_of_their_hops_where_there_are_as_many() -> None:
    triples = (("Aylwin", "director", "Henry Edwards"), ("Henry Edwards", "place of birth", "Weston-super-Mare"))
    asked = (SubQuestion("Who directed Aylwin?", "x"), SubQuestion("Where was Henry Edwards born?", "y"))
    for sub_questions, asks in ((asked, [each.question for each in asked]), (asked[:1], [None, None])):
        example = Example("q", QUESTION, ("x",), triples=triples, sub_questions=sub_questions)
        assert [step.asks for step in build_chain(supports_of(example, ()), ())] == asks


def test_without_passages_a_sub_question_with_its_answer_stands_for_a_triple() -> None:
    example = Example("q", QUESTION, ("x",), sub_questions=(SubQuestion("Aylwin >> director", "Henry Edwards"),))
    assert build_chain(supports_of(example, ()), ()) == (
        SilverStep(None, None, "Aylwin director Henry Edwards", (), "Aylwin director"),
    )


def test_of_two_gold_passages_the_one_that_the_question_names_comes_first() -> None:
    example = Example("q", QUESTION, ("Weston-super-Mare",), type="bridge")
    for passages in ([FILM, OTHER, MAN], [MAN, FILM]):
        steps = build_chain(supports_of(example, passages), passages)
        assert [(step.fact, step.needs) for step in steps] == [(FIRST, ()), (SECOND, (0,))]


def test_a_comparison_has_no_order() -> None:
    example = Example("q", "Which is older, Aylwin or Henry Edwards?", ("Aylwin",), type="comparison")
    steps = build_chain(supports_of(example, [FILM, MAN]), [FILM, MAN])
    assert [step.needs for step in steps] == [(), ()]
    assert list(orders(steps)) == [(0, 1), (1, 0)]


def test_orders_keep_what_is_needed_before() -> None:
    steps = [SilverStep(None, None, "a", ()), SilverStep(None, None, "b", ()), SilverStep(None, None, "c", (1,))]
    assert list(orders(steps, most=9)) == [(0, 1, 2), (1, 0, 2), (1, 2, 0)]


def test_the_fact_is_one_of_the_supporting_sentences() -> None:
    assert best_fact("Henry Edwards film", MAN) == SECOND
    unmarked = ReadPassage(MAN.text, MAN.title, MAN.facts, (), is_gold=True)
    assert best_fact("Henry Edwards film", unmarked) == MAN.facts[0]
    assert best_fact("x", ReadPassage("t", "t", (), ())) is None


def test_a_question_of_which_nothing_is_said_has_no_chain() -> None:
    example = Example("q", QUESTION, ("x",), passages=(ContextPassage("Oslo", "Oslo is a city."),))
    assert build_chain(supports_of(example, [OTHER]), [OTHER]) == ()


def test_a_hop_whose_article_is_named_has_a_stand_in_where_there_are_no_passages() -> None:
    hops = (
        SubQuestion("Who directed Aylwin?", "Henry Edwards", title="Aylwin (film)"),
        SubQuestion("#1 >> spouse", "x"),
    )
    example = Example("q", QUESTION, ("x",), sub_questions=hops)
    assert [step.stand_in for step in build_chain(supports_of(example, ()), ())] == [
        "Aylwin (film). Who directed Aylwin Henry Edwards.",
        None,
    ]
    assert [step.stand_in for step in build_chain(supports_of(example, [FILM]), [FILM])] == [None, None]


def test_questions_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Also where a text holds what some call the end of a line, or half a character, as JSON can."""
    odd = "one\u2028two\x85three\nfour \ud800 \x1c"
    passage = ReadPassage(odd, odd, (odd,), (odd,), is_gold=True, supporting=(odd,))
    question = ChainedQuestion("q", "set", odd, (passage,), (SilverStep(0, odd, odd, needs=(1, 2)),))
    write_questions([question, question], tmp_path / "chains.jsonl")
    assert read_questions(tmp_path / "chains.jsonl") == [question, question]


def test_a_line_that_is_no_question_is_named(tmp_path: Path) -> None:
    path = tmp_path / "chains.jsonl"
    write_questions([], path)
    assert read_questions(path) == []
    path.write_text('{"id": "q"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"chains\.jsonl, line 1 is no question with its chain: 'passages'"):
        read_questions(path)
