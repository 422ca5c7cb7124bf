"""Documents into passages that fit the encoder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from minirag.records import Document, Passage
from minirag.records.places import heading_starts, headings_above, location_of, titled
from minirag.storage.segment import passage_id

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from minirag.encoder import Encoder

_TITLE_SHARE = 4  # a title takes at most a quarter of the window
_SPECIAL_TOKENS = 2
_BLOCK = 20_000  # characters
_BOUNDARIES = ("\n\n", "\n", ". ", "。", "؟ ", "। ", " ")


def embedded_text(text: str, *, title: str) -> str:
    """What the encoder sees of a passage: its title leads, so that "He was born in …" is about somebody."""
    return f"{title}. {text}" if title else text


def split(document: Document, *, encoder: Encoder, max_tokens: int | None = None) -> list[Passage]:
    """Split at paragraphs, else sentences, else words, into passages that fit the encoder with the title in front.

    Where the document has headings, what stands below different ones is split there; short sections stay together as
    long as they fit. The headings above a passage are its context, as the title is.

    Args:
        document: Its text is not blank.
        encoder: Gives the tokenizer and the window.
        max_tokens: A smaller window than the encoder's, in tokens.

    Returns:
        At least one passage. They do not overlap, only white space lies between them, and each text is
        `document.text[start:end]` exactly.
    """
    window = min(encoder.max_tokens, max_tokens or encoder.max_tokens) - _SPECIAL_TOKENS
    tokenizer = encoder.tokenizer
    contexts = {titled(document.title, place.headings) for place in document.places}
    longest = max(contexts, key=lambda context: (len(context), context), default=document.title)
    title_tokens = count_tokens(tokenizer, f"{longest}. ") if longest else 0
    capacity = max(8, window - min(title_tokens, window // _TITLE_SHARE))
    return [
        _passage(document, position, start, text)
        for position, (start, text) in enumerate(_packed(document, tokenizer, capacity))
    ]


def _passage(document: Document, position: int, start: int, text: str) -> Passage:
    end = start + len(text)
    location = location_of(document.places, start, end)
    headings = headings_above(document.places, start, text)
    return Passage(passage_id(document.id, position, text), document.id, text, start, end, location, headings)


def _packed(document: Document, tokenizer: Tokenizer, capacity: int) -> Iterator[tuple[int, str]]:
    """The pieces of each section; following ones that fit together are one."""
    text = document.text
    starts = sorted({0, *heading_starts(document.places)})
    held = 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if start and not _fits(text[held:end].strip(), tokenizer, capacity):
            yield from _pieces_from(held, text[held:start], tokenizer, capacity)
            held = start
    yield from _pieces_from(held, text[held:], tokenizer, capacity)


def _pieces_from(offset: int, text: str, tokenizer: Tokenizer, capacity: int) -> Iterator[tuple[int, str]]:
    return ((offset + start, piece) for start, piece in _pieces(text, tokenizer, capacity))


def _fits(text: str, tokenizer: Tokenizer, capacity: int) -> bool:
    if len(text) <= capacity:
        return True
    return len(text) <= capacity * 16 and count_tokens(tokenizer, text) <= capacity


def _pieces(text: str, tokenizer: Tokenizer, capacity: int) -> Iterator[tuple[int, str]]:
    for start, block in _blocks(text):
        if _fits(block, tokenizer, capacity):
            yield start, block
            continue
        from semantic_text_splitter import TextSplitter

        splitter = TextSplitter.from_huggingface_tokenizer(tokenizer, capacity)
        yield from ((start + offset, piece) for offset, piece in splitter.chunk_indices(block))


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Stripped stretches of bounded length, with their starts: the splitter is slow on long ones."""
    start = 0
    while start < len(text):
        end = start + _BLOCK if len(text) - start > _BLOCK else len(text)
        if end < len(text):
            end = _best_cut(text, start + _BLOCK // 2, end)
        block = text[start:end]
        stripped = block.strip()
        if stripped:
            yield start + block.index(stripped), stripped
        start = end


def _best_cut(text: str, low: int, high: int) -> int:
    """Behind the last paragraph's, line's, sentence's or word's end between the two places, in this order."""
    for boundary in _BOUNDARIES:
        place = text.rfind(boundary, low, high)
        if place >= 0:
            return place + len(boundary)
    return high


def count_tokens(tokenizer: Tokenizer, text: str) -> int:
    """How many tokens a text has, without the special ones."""
    return len(tokenizer.encode(text, add_special_tokens=False).ids)
