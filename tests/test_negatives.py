import numpy as np

from minirag.training.lessons import ChainedQuestion, cut_chains
from minirag.training.negatives import Candidates, texts_to_encode
from minirag.training.silver import ReadPassage, SilverStep
from tests.test_silver import FILM, FIRST, MAN, OTHER, QUESTION, SECOND

FAR = ReadPassage("Far. Far away.", "Far", ("Far is away.", "Far is far."), ("Far is away",))
STEPS = (SilverStep(0, FIRST, None, ()), SilverStep(1, SECOND, None, (0,)))
ASKED = ChainedQuestion("q", "set", QUESTION, (FILM, MAN, OTHER), STEPS)
SECOND_ASKED = ChainedQuestion("r", "set", "How far?", (FAR,), (SilverStep(0, "Far is away.", None, ()),))
LOOSE = [
    ChainedQuestion(name, "loose", f"{name}?", (), (SilverStep(None, None, triple, ()),))
    for name, triple in (("a", "a is one"), ("b", "b is two"))
]
QUESTIONS = [ASKED, SECOND_ASKED, *LOOSE]


def vector(angle: float) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    return np.array([np.cos(angle), np.sin(angle)], np.float32)


VECTORS = {
    QUESTION: vector(0),
    "How far?": vector(1.5),
    FILM.text: vector(0.1),
    MAN.text: vector(0.2),
    FAR.text: vector(0.3),
    OTHER.text: vector(0.9),
    "a?": vector(0),
    "b?": vector(1),
    "a is one": vector(0.2),
    "b is two": vector(0.8),
}


def test_what_must_be_encoded() -> None:
    assert dict(texts_to_encode(QUESTIONS)) == {
        QUESTION: None,
        FILM.text: "passage",
        MAN.text: "passage",
        OTHER.text: "passage",
        "How far?": None,
        FAR.text: "passage",
        "a?": None,
        "a is one": "triple",
        "b?": None,
        "b is two": "triple",
    }


def test_passages_of_the_whole_set_stand_against_the_right_ones_nearest_first() -> None:
    candidates = Candidates(QUESTIONS, VECTORS)
    lesson = next(each for each in cut_chains([ASKED]) if each.kind == "passage")
    assert candidates.of(lesson) == (FAR.text, OTHER.text)


def test_facts_are_those_of_near_passages_gold_ones_left_out() -> None:
    candidates = Candidates(QUESTIONS, VECTORS)
    lesson = next(each for each in cut_chains([ASKED]) if each.kind == "fact")
    assert candidates.of(lesson) == (
        "Aylwin stars Chrissie White.",
        "Henry Edwards worked in film.",
        *FAR.facts,
        *OTHER.facts,
    )


def test_loose_triples_stand_against_each_other() -> None:
    candidates = Candidates(QUESTIONS, VECTORS)
    lessons = [each for each in cut_chains(QUESTIONS) if each.kind == "triple"]
    assert [candidates.of(lesson) for lesson in lessons] == [("b is two",), ("a is one",)]


def test_stand_ins_stand_against_stand_ins() -> None:
    steps = {name: SilverStep(None, None, f"{name} is one", stand_in=f"{name}. {name} is one.") for name in "abc"}
    asked = [ChainedQuestion(name, "loose", f"{name}?", (), (step,)) for name, step in steps.items()]
    vectors = {text: vector(number) for number, (text, _) in enumerate(texts_to_encode(asked))}
    lesson = next(each for each in cut_chains(asked) if each.stands_in and each.query == "a?")
    assert set(Candidates(asked, vectors).of(lesson)) == {"b. b is one.", "c. c is one."}
