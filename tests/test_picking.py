"""Silver chains by a model: what it picks from the gold passages becomes the chain."""

from typing import Any

from minirag.datasets import Example
from minirag.training.picking import pick_chain
from minirag.training.silver import SilverStep
from tests.test_reasoner_by_llm import think_with
from tests.test_silver import FILM, FIRST, MAN, OTHER, QUESTION, SECOND

EXAMPLE = Example("q", QUESTION, ("Weston-super-Mare",))


def pick(number: int) -> dict[str, Any]:
    return {"known": False, "answer": "", "next": [number]}


def test_the_model_picks_from_the_gold_passages_until_it_knows_the_answer() -> None:
    script = [pick(1), pick(2), {"known": True, "answer": "Weston-super-Mare", "next": []}]
    chain, server, _ = think_with(script, lambda reasoner: pick_chain(EXAMPLE, [OTHER, FILM, MAN], reasoner))
    assert chain == (
        SilverStep(1, FIRST, "Aylwin director Henry Edwards", ()),
        SilverStep(2, SECOND, None, (0,)),
    )
    assert server.tasks() == ["extend"] * 3


def test_a_chain_that_does_not_say_the_answer_teaches_nothing() -> None:
    script = [pick(1), {"known": True, "answer": "Oslo", "next": []}]
    chain, _, _ = think_with(script, lambda reasoner: pick_chain(EXAMPLE, [FILM, MAN], reasoner))
    assert chain == ()


def test_without_gold_passages_nothing_is_asked() -> None:
    chain, server, _ = think_with([], lambda reasoner: pick_chain(EXAMPLE, [OTHER], reasoner))
    assert (chain, server.tasks()) == ((), [])
