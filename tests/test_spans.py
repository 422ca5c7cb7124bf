from __future__ import annotations

import pytest

from minirag.reasoner.questions import Kind
from minirag.reasoner.spans import Found, find_answer, life_terms

LIFE = "Ada Brook (Bergen, 12 June 1899 – 3 May 1970, Oslo, Norway) was a Norwegian-born director."


@pytest.mark.parametrize(
    ("kind", "sentence", "wanted", "text"),
    [
        ("date", LIFE, {"born"}, "12 June 1899"),
        ("date", LIFE, {"die"}, "3 May 1970"),
        ("year", LIFE, {"die"}, "1970"),
        ("place", LIFE, {"born"}, "Bergen"),
        ("place", LIFE, {"die"}, "Oslo, Norway"),
        ("place", "She studied in Oslo and was born in Bergen, Norway.", {"born"}, "Bergen, Norway"),
        ("number", "In all, 12 boats and three houses were sold.", {"hous"}, "three"),
        ("nation", "He was a Danish painter.", set(), "Danish"),
        ("cause", "He died in Oslo of pneumonia.", set(), "pneumonia"),
        ("person", "It was written by Tom Lake and directed by Jo Hill.", {"direct"}, "Jo Hill"),
        ("person", "Acme was founded in Kelso by Ann Roe.", {"found", "acm"}, "Ann Roe"),
        ("person", "Tides stars Jo Hill and was produced by Tom Lake.", {"star"}, "Jo Hill"),
    ],
)
def test_the_answer_stands_near_what_asks_for_it(kind: Kind, sentence: str, wanted: set[str], text: str) -> None:
    found = find_answer(kind, sentence, wanted, set())
    assert found is not None
    assert found.text == text


def test_what_the_question_names_is_no_answer() -> None:
    assert find_answer("person", "Tom Lake met Jo Hill.", set(), {"tom lake"}) == Found("Jo Hill", 1013.0)
    assert find_answer("person", "Ann Roe founded Acme in Kelso.", {"found", "acm"}, {"acme"}) == Found("Ann Roe", 17.0)
    assert find_answer("person", "Tom Lake left.", set(), {"tom lake"}) is None
    assert find_answer("date", "He left.", set(), set()) is None


def test_a_life_in_parentheses_speaks_of_birth_and_death() -> None:
    assert life_terms(LIFE) == {"born", "die"}
    assert life_terms("Ada Brook (born 1899) sang.") == frozenset()
