from __future__ import annotations

import pytest

from minirag.reasoner.quoting import quote_answer
from minirag.records import ContextItem

CONTEXT = [
    ContextItem(
        "The Brook Institute is an institute in Vardø. It was founded in 1951 by Ada Brook. Its director is Tom Lake.",
        "Brook Institute",
    ),
    ContextItem(
        "Ada Brook (4 March 1899 – 3 February 1970) was a Norwegian engineer. She was born in Bergen and studied at "
        "the Sund School of Art.",
        "Ada Brook",
    ),
    ContextItem("Tom Lake is a geologist. He was born in Aarhus and knows the Orm.", "Tom Lake"),
    ContextItem("Nils Holm was a painter. He was born in Aarhus and won the Sund Rally in 1968.", "Nils Holm"),
    ContextItem(
        "Eva Holm (1901–1950) was a singer. She grew up in Sund. She studied economics at Sund College.", "Eva Holm"
    ),
    ContextItem("The Orm is a river. It is 612 kilometres long. Its valley is 40 m deep.", "Orm"),
    ContextItem("Vardø is a town. Its population was 2,100 in 2011.", "Vardø"),
    ContextItem("Sund is a village in Norway. It has 912 inhabitants.", "Sund"),
    ContextItem("Olga Sund wrote the novel Winter Road in 1903. Olga Sund was born in Ostwick.", "Winter Road"),
    ContextItem("Deep Water is a 1979 Norwegian film directed by Nils Holm.", "Deep Water"),
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who is the director of the Brook Institute?", "Tom Lake"),
        ("Who is the founder of the Brook Institute?", "Ada Brook"),
        ("In which town was Ada Brook born?", "Bergen"),
        ("How old was Ada Brook when she died?", "70"),
        ("At what age did Eva Holm die?", "48 or 49"),
        ("How long is the Orm?", "612 kilometres"),
        ("What is the population of Vardø?", "2,100"),
        ("What is the population of Sund?", "912"),
        ("Where does Sund lie?", "Norway"),
        ("Where did Eva Holm grow up?", "Sund"),
        ("What film did Nils Holm direct?", "Deep Water"),
        ("Who is the author of Winter Road?", "Olga Sund"),
        ("Where was the author of Winter Road born?", "Ostwick"),
    ],
)
def test_what_is_said_of_a_name_answers(question: str, answer: str) -> None:
    assert quote_answer(question, CONTEXT).text == answer


@pytest.mark.parametrize(
    "question",
    [
        "When was Tom Lake born?",
        "Where did Tom Lake study?",
        "Who is the wife of Tom Lake?",
        "Who is the mother of Nils Holm's father?",
        "What is the population of Aarhus?",
        "How old was Tom Lake when he died?",
    ],
)
def test_what_is_said_of_others_does_not(question: str) -> None:
    assert not quote_answer(question, CONTEXT).found
