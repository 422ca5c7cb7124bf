from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minirag.encoder import Encoder, open_encoder
from minirag.records import Document
from minirag.splitting import embedded_text, split

PARAGRAPHS = "\n\n".join(
    " ".join(f"Sentence {s} of paragraph {p} says something about the harbour." for s in range(6)) for p in range(40)
)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return open_encoder(None)


def tokens(encoder: Encoder, text: str) -> int:
    return len(encoder.tokenizer.encode(text).ids)


def test_a_short_document_is_one_passage(encoder: Encoder) -> None:
    (passage,) = split(Document("a", "  Two words.\n"), encoder=encoder)
    assert (passage.text, passage.start, passage.end, passage.document_id) == ("Two words.", 2, 12, "a")


def test_a_long_document_is_cut_between_paragraphs(encoder: Encoder) -> None:
    document = Document("a", PARAGRAPHS, "Harbour")
    passages = split(document, encoder=encoder)
    assert len(passages) > 5
    assert all(passage.text.startswith("Sentence 0 of") for passage in passages)
    assert all(passage.text.endswith("harbour.") for passage in passages)
    assert max(tokens(encoder, embedded_text(p.text, title="Harbour")) for p in passages) <= encoder.max_tokens


def test_a_smaller_window(encoder: Encoder) -> None:
    passages = split(Document("a", PARAGRAPHS), encoder=encoder, max_tokens=40)
    assert max(tokens(encoder, passage.text) for passage in passages) <= 40


def test_ids_differ_and_follow_the_content(encoder: Encoder) -> None:
    first = [p.id for p in split(Document("a", PARAGRAPHS), encoder=encoder)]
    second = [p.id for p in split(Document("a", PARAGRAPHS.replace("39", "99")), encoder=encoder)]
    assert len(set(first)) == len(first)
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]


@pytest.mark.parametrize(
    "text",
    ["字" * 90_000, "x" * 90_000, "word " * 30_000, "مرحبا بالعالم. " * 6_000, "\u0301" * 50_000],
    ids=["ideographs", "one word", "no sentences", "Arabic", "combining marks"],
)
def test_huge_text_without_structure(encoder: Encoder, text: str) -> None:
    passages = split(Document("a", text), encoder=encoder)
    assert all(text[p.start : p.end] == p.text for p in passages)
    assert max(len(p.text) for p in passages) <= 20_000


@pytest.mark.slow
def test_five_megabytes(encoder: Encoder) -> None:
    text = (PARAGRAPHS + "\n\n") * (5_000_000 // len(PARAGRAPHS))
    passages = split(Document("a", text), encoder=encoder)
    assert sum(len(p.text) for p in passages) > 0.99 * len(text)


@settings(max_examples=60)
@given(st.text(min_size=1).filter(str.strip), st.text(max_size=40))
def test_offsets_are_exact_and_only_white_space_is_left_out(encoder: Encoder, text: str, title: str) -> None:
    passages = split(Document("a", text, title), encoder=encoder, max_tokens=16)
    assert all(text[p.start : p.end] == p.text and p.text.strip() for p in passages)
    ends = [0, *[p.end for p in passages]]
    starts = [*[p.start for p in passages], len(text)]
    gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    assert all(not gap.strip() for gap in gaps)
    assert all(one.end <= other.start for one, other in pairwise(passages))
