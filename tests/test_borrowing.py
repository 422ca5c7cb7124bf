"""Passages for questions without any, from the contexts of others."""

import pytest

from minirag.datasets import ContextPassage, Example, SubQuestion
from minirag.training.borrowing import borrow_passages, says

FILM = ContextPassage("Aylwin (film)", "Aylwin is a film directed by Henry Edwards.", is_supporting=True)
OTHER_PART = ContextPassage("Aylwin (film)", "Aylwin was shown in London.")
CITY = ContextPassage("Oslo", "Oslo is a city.", is_supporting=True)
LENDER = ("lenders", Example("l", "Who directed Aylwin?", ("Henry Edwards",), passages=(OTHER_PART, FILM, CITY)))
HOPS = (
    SubQuestion("Aylwin >> director", "henry edwards", title="aylwin (film)"),
    SubQuestion("Where was #1 born?", "Weston-super-Mare", title="Henry Edwards"),
    SubQuestion("#1 #9 >> film", "Aylwin", title="Aylwin (film)"),
)
BORROWER = ("borrowers", Example("b", "Where was Aylwin's director born?", ("Weston-super-Mare",), sub_questions=HOPS))


def test_hops_get_passages_that_say_their_answer() -> None:
    ((source, made),) = borrow_passages([BORROWER, LENDER])
    assert (source, made.id, made.question) == ("lenders", "b borrowed", "Where was Aylwin's director born?")
    assert [(hop.question, hop.passage) for hop in made.sub_questions] == [
        ("Aylwin >> director", 0),
        ("henry edwards #9 >> film", 1),
    ]
    assert [(passage.text, passage.is_supporting) for passage in made.passages] == [
        (FILM.text, True),
        (OTHER_PART.text, True),
        (CITY.text, False),
    ]


def test_one_with_passages_of_its_own_or_hops_that_nobody_answers_borrows_none() -> None:
    elsewhere = ("others", Example("e", "Where?", ("x",), sub_questions=(SubQuestion("Oslo >> river", "Akerselva"),)))
    wrong = ("others", Example("w", "Where?", ("x",), sub_questions=(SubQuestion("a", "Akerselva", title="Oslo"),)))
    assert borrow_passages([LENDER, elsewhere, wrong]) == []


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        ("Oslo lies in Norway.", "no", False),
        ("No, it does not.", "no", True),
        ("It has 17 of 21 rooms, 1.5 km and 1,000 trees.", "1", False),
        ("Of its rooms 1, or 2, are open.", "1", True),
        ("A film of Henry Edwards's.", "henry edwards", True),
        ("A film of “Henry\u00a0EDWARDS”.", "Henry Edwards", True),
        ("Strasse 5", "Straße 5", True),
        ("El Niño.", "Nin\u0303o", True),
        ("हिन्दी में लिखा", "हिन्द", False),
        ("हिन्दी में लिखा", "हिन्दी", True),
        ("他出生于东京都。", "东京", True),
        ("그는 서울에서 태어났다.", "서울", True),
        ("เขาเกิดที่กรุงเทพในปี", "กรุงเทพ", True),
        ("Anything.", "...", False),
    ],
)
def test_an_answer_stands_in_a_text_in_whole_words(text: str, answer: str, expected: bool) -> None:
    assert says(text, answer) is expected
