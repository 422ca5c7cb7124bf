"""Documents into passages that fit the encoder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from minirag.records import Document, Passage
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
    title_tokens = count_tokens(tokenizer, f"{document.title}. ") if document.title else 0
    capacity = max(8, window - min(title_tokens, window // _TITLE_SHARE))
    return [
        Passage(passage_id(document.id, position, text), document.id, text, start, start + len(text))
        for position, (start, text) in enumerate(_pieces(document.text, tokenizer, capacity))
    ]


def _pieces(text: str, tokenizer: Tokenizer, capacity: int) -> Iterator[tuple[int, str]]:
    for start, block in _blocks(text):
        if len(block) <= capacity or (len(block) <= capacity * 16 and count_tokens(tokenizer, block) <= capacity):
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
