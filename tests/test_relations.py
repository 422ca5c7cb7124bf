from __future__ import annotations

import pytest

from minirag.reasoner.facts import read_sentences
from minirag.reasoner.relations import find_triples


def triples(text: str, title: str = "") -> list[tuple[str, str, str]]:
    return [triple for sentence in read_sentences(text, title) for triple in find_triples(sentence)]


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        (
            "Ada Brook (12 June 1929 – 4 May 1999) was a Norwegian painter.",
            "Ada Brook",
            [
                ("Ada Brook", "born", "12 June 1929"),
                ("Ada Brook", "died", "4 May 1999"),
                ("Ada Brook", "was", "a Norwegian painter"),
            ],
        ),
        (
            "Ada Brook (born 12 June 1929 in Oslo) is a painter.",
            "Ada Brook (painter)",
            [("Ada Brook", "born", "12 June 1929"), ("Ada Brook", "born in", "Oslo"), ("Ada Brook", "is", "a painter")],
        ),
        (
            "The film was written and directed by Tom Lake, Jo Hill and Kim Rye.",
            "Tides (film)",
            [
                ("Tides", "was written and directed by", "Tom Lake"),
                ("Tides", "was written and directed by", "Jo Hill"),
                ("Tides", "was written and directed by", "Kim Rye"),
            ],
        ),
        ("His father was Tom Lake.", "Jo Lake", [("Jo Lake", "father", "Tom Lake")]),
        (
            "She was the daughter of Tom Lake, mayor of Brimley.",
            "Jo Lake",
            [
                ("Jo Lake", "was", "the daughter of Tom Lake"),
                ("Jo Lake", "daughter of", "Tom Lake"),
                ("Tom Lake", "mayor of", "Brimley"),
            ],
        ),
        (
            "The station is operated by Northrail, which was founded in 1901.",
            "Brimley station",
            [("Brimley station", "is operated by", "Northrail"), ("Northrail", "was founded in", "1901")],
        ),
        ("Brimley Harbour was sold to Northrail.", "", [("Brimley Harbour", "was sold to", "Northrail")]),
        ("鲁迅出生于浙江绍兴。", "鲁迅", [("鲁迅", "出生于", "浙江绍兴")]),
        ("Nothing of note happened there.", "", []),
    ],
)
def test_rules_find_who_stands_in_what_relation_to_whom(
    text: str, title: str, expected: list[tuple[str, str, str]]
) -> None:
    assert triples(text, title) == expected


def test_a_sentence_has_a_limited_number_of_triples() -> None:
    (sentence,) = read_sentences("It starred Al Bo, Cy Do, Ed Fo, Gi Ho, Ik Jo, Ka Lo, Mi No and Ot Po.", "Tides")
    assert len(find_triples(sentence)) == 6
    assert find_triples(sentence, most=1) == [("Tides", "starred", "Al Bo")]
