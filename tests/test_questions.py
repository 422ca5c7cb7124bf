from __future__ import annotations

import pytest

from minirag.reasoner.questions import read_question, steps_of, terms_of


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Who directed Tides?", "person"),
        ("When was Ada Brook born?", "date"),
        ("In what year did it open?", "year"),
        ("Where did she die?", "place"),
        ("Which city is it in?", "place"),
        ("What nationality is the director?", "nation"),
        ("How many boats were there?", "number"),
        ("What is the cause of death of Tom Lake?", "cause"),
        ("Which film came out first, Tides or Floes?", "choice"),
        ("Are Tides and Floes from the same country?", "yes_no"),
        ("What is the motto of the school?", "thing"),
        ("鲁迅是谁？", "thing"),
        ("At what school is the painter who won the prize?", "thing"),
        ("In 1950, who owned the mill?", "person"),
    ],
)
def test_a_question_asks_for_a_kind_of_answer(text: str, kind: str) -> None:
    assert read_question(text).kind == kind


@pytest.mark.parametrize(
    ("text", "name", "steps"),
    [
        ("Where was the director of Tides born?", "Tides", ["director"]),
        ("Who is Jo Lake's paternal grandfather?", "Jo Lake", ["father", "father"]),
        ("Who is the wife of Jo Lake's mother's brother?", "Jo Lake", ["mother", "sibling", "spouse"]),
        ("Who is the mother of the composer of Tides?", "Tides", ["composer", "mother"]),
        ("Where is Tides set?", "Tides", []),
    ],
)
def test_relations_lead_from_the_name_to_what_is_asked(text: str, name: str, steps: list[str]) -> None:
    start = text.index(name)
    assert steps_of(text, start, start + len(name)) == steps


def test_words_that_say_the_same_are_one_term() -> None:
    assert terms_of("Her death") == terms_of("He died") == terms_of("they die")
    assert terms_of("live") == terms_of("lives") == terms_of("lived") == terms_of("living")
    assert terms_of("the film's director") == terms_of("movies directed")
    assert terms_of("作家鲁迅") == {"作家", "家鲁", "鲁迅"}
    assert read_question("Which Danish painter lived there?").types >= {"danish", "paint"}
