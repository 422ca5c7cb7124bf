"""The passages of training questions, read as an index would read them: facts and triples of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from minirag.datasets import ContextPassage, Example
from minirag.encoder import replace_surrogates
from minirag.errors import LLMReplyError
from minirag.extraction import Extractor
from minirag.reasoner import Reasoner
from minirag.records import Extraction, Passage
from minirag.splitting import embedded_text
from minirag.storage.journal import Journal
from minirag.training.silver import ReadPassage

Triples = Mapping[tuple[str, str], Sequence[str]]


async def read_passages(
    examples: Sequence[Example],
    *,
    reasoner: Reasoner,
    triples: Triples | None = None,
    journal: Journal | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[tuple[ReadPassage, ...] | LLMReplyError]:
    """Extract facts and triples from the passages of all examples, from each passage once.

    Args:
        examples: Of one or more sets.
        reasoner: Extracts: by rules, or by a model that is paid for.
        triples: Of passages, by title and text, that somebody else extracted; they replace the reasoner's.
        journal: Keeps a model's replies, and has those of a run that was stopped.
        progress: Told how many passages were read.

    Returns:
        For each example its passages, in its order, or why one of them could not be read.

    Raises:
        LLMError: When the model cannot be called: if it does not answer for a passage, once all others were read.
    """
    distinct = list(dict.fromkeys((p.title, p.text) for example in examples for p in example.passages))
    texts = [(replace_surrogates(title), replace_surrogates(text)) for title, text in distinct]
    numbered = [(Passage(f"{n}#0", str(n), text, 0, len(text)), title) for n, (title, text) in enumerate(texts)]
    async with Extractor(reasoner, journal) as extractor:
        extracted = await extractor.extract_all(numbered, progress=progress or _tell_nobody)
    found: dict[tuple[str, str], Extraction] = {}
    failed: dict[tuple[str, str], LLMReplyError] = {}
    for passage, extraction in zip(distinct, extracted, strict=True):
        if isinstance(extraction, LLMReplyError):
            failed[passage] = extraction
        elif isinstance(extraction, Exception):
            raise extraction
        else:
            found[passage] = extraction
    return [_read_all(example, found, failed, triples or {}) for example in examples]


def _read_all(
    example: Example,
    found: Mapping[tuple[str, str], Extraction],
    failed: Mapping[tuple[str, str], LLMReplyError],
    given: Triples,
) -> tuple[ReadPassage, ...] | LLMReplyError:
    keys = [(passage.title, passage.text) for passage in example.passages]
    for key in keys:
        if key in failed:
            return failed[key]
    return tuple(_read(p, found[key], given.get(key)) for p, key in zip(example.passages, keys, strict=True))


def _tell_nobody(_: int) -> None:
    """No progress is wanted."""


def _read(passage: ContextPassage, extraction: Extraction, triples: Sequence[str] | None) -> ReadPassage:
    return ReadPassage(
        text=embedded_text(passage.text, title=passage.title),
        title=passage.title,
        facts=tuple(fact.text for fact in extraction.facts),
        triples=tuple(triples if triples is not None else (" ".join(triple) for triple in extraction.triples)),
        is_gold=passage.is_supporting,
        supporting=tuple(passage.sentences[number] for number in passage.supporting_sentences),
    )
