"""The lexical half of an index: which words stand in which passages, and BM25 over them.

Statistics are not stored, they are counted over what is alive, so adding and deleting keep them exact.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.storage.tables import MultiMap, hash_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

K1 = 1.2
B = 0.75
_MOST = 255  # of one word in one passage; more of it says nothing more
_WORD = re.compile(r"\w+")
# Scripts that put no blank between words; their runs become pairs of characters.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a an and are as at be but by did do does for from had has have he her him his how i if in into is it its me "
        "my no not of on or our she so such than that the their them then there these they this those to was we were "
        "what when where which who whom whose why will with you your"
    )
)


def terms_of(text: str) -> list[str]:
    """The words of a text as they are indexed: NFKC, case-folded, English stop words out, English endings off.

    Languages that do not separate words give overlapping pairs of characters.
    """
    words: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if word.isascii():
            if word not in _STOP_WORDS:
                words.append(word)
        else:
            words.extend(_split_unspaced(word))
    stems: list[str] = _stemmer().stemWords(words)
    return stems


def _split_unspaced(word: str) -> Iterator[str]:
    end = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > end:
            yield word[end : run.start()]
        characters = run.group()
        yield from (characters[at : at + 2] for at in range(max(1, len(characters) - 1)))
        end = run.end()
    if end < len(word):
        yield word[end:]


@cache
def _stemmer() -> Any:  # noqa: ANN401  Stemmer has no types
    import Stemmer

    return Stemmer.Stemmer("english")


@dataclass(frozen=True, slots=True)
class Postings:
    """Of one segment.

    Attributes:
        passages: From the hash of a term to the rows of the passages that hold it.
        counts: How often, `(n,)`, beside `passages.rows`.
        lengths: Terms of each passage, `(passages,)`.
    """

    passages: MultiMap
    counts: NDArray[np.uint8]
    lengths: NDArray[np.uint32]

    @classmethod
    def build(cls, texts: Iterable[str]) -> Postings:
        """From the texts of the passages, in the order of their rows."""
        keys: list[int] = []
        rows: list[int] = []
        counts: list[int] = []
        lengths: list[int] = []
        hashes: dict[str, int] = {}
        for row, text in enumerate(texts):
            found = Counter(terms_of(text))
            lengths.append(found.total())
            for term, count in found.items():
                if term not in hashes:
                    hashes[term] = hash_key(term)
                keys.append(hashes[term])
                rows.append(row)
                counts.append(min(count, _MOST))
        hashed, row_column = np.array(keys, "<u8"), np.array(rows, "<u4")
        order = np.lexsort((row_column, hashed))
        return cls(MultiMap.build(hashed, row_column), np.array(counts, "u1")[order], np.array(lengths, "<u4"))

    def find(self, key: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Rows of the passages with a term, and how often each holds it."""
        start, end = self.passages.span(key)
        return self.passages.rows[start:end], self.counts[start:end]


def score_passages(
    postings: Sequence[Postings], alive: Sequence[NDArray[np.bool_] | None], query: str
) -> list[NDArray[np.float32]]:
    """BM25 of every passage (Robertson and Zaragoza 2009; k1 = 1.2, b = 0.75, an idf that is never negative).

    Args:
        postings: Of each segment.
        alive: Which of its passages count, None for all.
        query: A text; a term counts once however often it comes.

    Returns:
        Per segment `(passages,)`, 0 where no term occurs or the passage is dead.
    """
    scores = [np.zeros(len(each.lengths), np.float32) for each in postings]
    total, length = _extent(postings, alive)
    if total == 0:
        return scores
    for key in {hash_key(term) for term in terms_of(query)}:
        found = [_living(each.find(key), mask) for each, mask in zip(postings, alive, strict=True)]
        frequency = sum(len(rows) for rows, _ in found)
        weight = np.log1p((total - frequency + 0.5) / (frequency + 0.5))
        for each, score, (rows, counts) in zip(postings, scores, found, strict=True):
            often = counts.astype(np.float32)
            norm = K1 * (1 - B + B * each.lengths[rows] * (total / length))
            score[rows] += (weight * often * (K1 + 1) / (often + norm)).astype(np.float32)
    return scores


def _extent(postings: Sequence[Postings], alive: Sequence[NDArray[np.bool_] | None]) -> tuple[int, int]:
    """How many passages are alive, and how many terms they have, at least 1."""
    lengths = [each.lengths if mask is None else each.lengths[mask] for each, mask in zip(postings, alive, strict=True)]
    return sum(len(column) for column in lengths), max(1, sum(int(column.sum()) for column in lengths))


def _living(
    found: tuple[NDArray[np.uint32], NDArray[np.uint8]], mask: NDArray[np.bool_] | None
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    rows, counts = found
    if mask is None:
        return found
    kept = mask[rows]
    return rows[kept], counts[kept]
