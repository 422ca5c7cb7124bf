from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from minirag.reasoner.offline import OfflineReasoner
from minirag.records import (
    BridgingFact,
    ContextItem,
    ExtractedFact,
    Extraction,
    Ledger,
    Passage,
    SharedEntity,
    SourcedFact,
)

# Pieces that rules look for, mixed with anything else, in scripts of every kind.
PIECES = st.sampled_from(
    [
        *(
            "A",
            "B.",
            "U.S.",
            "The",
            '"x"',
            "(born",
            "1",
            "May",
            "1900)",
            "–",
            "1999",
            "of",
            "de",
            "in",
            "Rome",
            ".",
            "!",
        ),
        *("。", "《书》", "的", "は", "カ", "가", "محمد", "को", "ไทย", "\n", "-", "<br>", "[1]", "\u0301", "İ", "ß"),
    ]
)
ANY_TEXT = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map(" ".join), st.lists(PIECES).map("".join))


def extract(text: str, title: str = "") -> Extraction:
    passage = Passage("p", "d", text, 0, len(text))
    return asyncio.run(OfflineReasoner().extract(passage, title=title))


def test_facts_stand_alone_and_name_their_entities() -> None:
    extraction = extract(
        "Aylwin is a 1920 British silent film directed by Henry Edwards. It starred Chrissie White.", "Aylwin (film)"
    )
    assert extraction.facts == (
        ExtractedFact(
            "Aylwin is a 1920 British silent film directed by Henry Edwards.",
            ("Aylwin", "Henry Edwards"),
        ),
        ExtractedFact("Aylwin starred Chrissie White.", ("Aylwin", "Chrissie White")),
    )
    assert extraction.triples == (
        ("Aylwin", "is", "a 1920 British silent film"),
        ("Aylwin", "directed by", "Henry Edwards"),
        ("Aylwin", "starred", "Chrissie White"),
    )


@settings(max_examples=300)
@given(ANY_TEXT, ANY_TEXT)
def test_any_text_is_extracted_the_same_way_twice(text: str, title: str) -> None:
    extraction = extract(text, title)
    assert extraction == extract(text, title)
    assert all(fact.text.strip() for fact in extraction.facts)
    assert all(name.strip() for fact in extraction.facts for name in fact.entities)
    assert all(part.strip() for triple in extraction.triples for part in triple)


@settings(max_examples=200)
@given(ANY_TEXT, st.lists(st.builds(ContextItem, ANY_TEXT, ANY_TEXT), max_size=5), st.lists(ANY_TEXT, max_size=2))
def test_any_context_is_read(question: str, context: list[ContextItem], chain: list[str]) -> None:
    reading = asyncio.run(OfflineReasoner().read(question, context, chain=chain))
    assert reading.text.strip()
    assert reading.found == bool(reading.items)
    assert len(set(reading.items)) == len(reading.items)
    assert set(reading.items) <= set(range(len(context)))
    thought = asyncio.run(OfflineReasoner().think(question, context, chain))
    assert thought.strip()


def test_documents_are_bridged_through_the_one_that_is_about_the_name() -> None:
    facts = (
        SourcedFact("Aylwin was directed by Henry Edwards.", "a1", "a", "Aylwin (film)"),
        SourcedFact("Henry Edwards was born in Weston-super-Mare.", "h1", "h", "Henry Edwards"),
        SourcedFact("Henry Edwards died in Chobham.", "h2", "h", "Henry Edwards"),
    )
    bridges = asyncio.run(OfflineReasoner().bridge([SharedEntity("Henry Edwards", facts)]))
    text = "Aylwin was directed by Henry Edwards. Henry Edwards was born in Weston-super-Mare."
    assert bridges == [(BridgingFact(text, (0, 1)),)]


def test_the_constructor_takes_the_best_candidate() -> None:
    reasoner = OfflineReasoner()
    assert asyncio.run(reasoner.extend("Who?", [], ["best", "next"])).choice == 0
    assert asyncio.run(reasoner.extend("Who?", [], [])).choice is None


def test_seconds_are_counted_by_task() -> None:
    ledger = Ledger()
    asyncio.run(OfflineReasoner(ledger).extract(Passage("p", "d", "One fact here.", 0, 14), title=""))
    assert list(ledger.by_task) == ["extract"]
    assert ledger.total().calls == 0
    assert ledger.total().cost == 0.0
    assert ledger.total().seconds > 0
