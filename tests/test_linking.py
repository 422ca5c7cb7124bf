from __future__ import annotations

import time

from minirag.reasoner.linking import link_documents
from minirag.records import BridgingFact, SharedEntity, SourcedFact


def fact(text: str, document: str, title: str = "") -> SourcedFact:
    return SourcedFact(text, f"{document}-1", document, title)


def test_what_is_about_the_name_explains_it_in_each_other_document() -> None:
    facts = (
        fact("Tides was shot by Jo Hill.", "a", "Tides"),
        fact("Jo Hill is a painter.", "b", "Jo Hill (painter)"),
        fact("Jo Hill was born in Vardø.", "b", "Jo Hill (painter)"),
        fact("Floes stars Jo Hill.", "c", "Floes"),
    )
    assert link_documents(SharedEntity("Jo Hill", facts)) == (
        BridgingFact("Tides was shot by Jo Hill. Jo Hill is a painter.", (0, 1)),
        BridgingFact("Floes stars Jo Hill. Jo Hill is a painter.", (3, 1)),
    )


def test_else_each_document_is_joined_with_the_next() -> None:
    facts = tuple(fact(f"Jo Hill wrote {title}.", title, title) for title in ("Ash", "Bay", "Cod"))
    assert link_documents(SharedEntity("Jo Hill", facts)) == (
        BridgingFact("Jo Hill wrote Ash. Jo Hill wrote Bay.", (0, 1)),
        BridgingFact("Jo Hill wrote Bay. Jo Hill wrote Cod.", (1, 2)),
    )


def test_what_many_documents_mention_and_none_explains_joins_nothing() -> None:
    facts = tuple(fact(f"Jo Hill wrote {title}.", title, title) for title in ("Ash", "Bay", "Cod", "Dun"))
    assert link_documents(SharedEntity("Jo Hill", facts)) == ()
    assert len(link_documents(SharedEntity("Jo Hill", facts), most_unexplained=4)) == 3


def test_the_fact_that_names_the_entity_is_chosen() -> None:
    facts = (
        fact("He left.", "a"),
        fact("Jo Hill left.", "a"),
        fact("Jo Hill came.", "b"),
        fact("Jo Hill came again.", "b"),
    )
    assert link_documents(SharedEntity("Jo Hill", facts)) == (BridgingFact("Jo Hill left. Jo Hill came.", (1, 2)),)


def test_the_same_words_twice_join_nothing() -> None:
    facts = (fact("Jo Hill left.", "a"), fact("Jo Hill left.", "b"))
    assert link_documents(SharedEntity("Jo Hill", facts)) == ()


def test_bridging_facts_fit_the_encoder() -> None:
    long = "Jo Hill " + "walked and walked " * 100
    (bridge,) = link_documents(SharedEntity("Jo Hill", (fact(long, "a"), fact("Jo Hill left.", "b"))))
    assert bridge.text.endswith(" … Jo Hill left.")
    assert len(bridge.text.split()) <= 100
    assert len(bridge.text) <= 610


def test_many_documents_take_linear_time_and_give_a_limited_number() -> None:
    facts = tuple(fact(f"Jo Hill wrote book {number}.", str(number)) for number in range(20_000))
    started = time.perf_counter()
    assert len(link_documents(SharedEntity("Jo Hill", facts), most_unexplained=20_000)) == 16
    assert time.perf_counter() - started < 5
