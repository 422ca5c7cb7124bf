"""The passages beside a question, in the three forms that data sets have for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from minirag.datasets.entries import shorten
from minirag.datasets.examples import ContextPassage
from minirag.datasets.fields import Entry, first_of, objects, text
from minirag.errors import InputError

_DPR_CONTEXTS = ("positive_ctxs", "negative_ctxs", "hard_negative_ctxs")


class Context(NamedTuple):
    """Passages, and where the passage with each of MuSiQue's own numbers stands among them."""

    passages: tuple[ContextPassage, ...]
    places: Mapping[int, int]


def read_context(entry: Entry, where: str) -> Context:
    """The passages of an entry; none where it has none.

    Raises:
        InputError: If they are not of a known form.
    """
    if entry.get("context") is not None:
        facts = _supporting_facts(entry, where)
        return _once((None, passage) for passage in _in_sentences(_titled(entry["context"], where), facts))
    if entry.get("paragraphs") is not None:
        return _once(_paragraphs(entry, where))
    return _once((None, passage) for passage in _dpr_passages(entry, where))


def gold_titles(entry: Entry, passages: Iterable[ContextPassage], where: str) -> tuple[str, ...]:
    """The titles of what it takes, each once: as the file names them, else those of the supporting passages.

    Raises:
        InputError: If the file names something else than titles.
    """
    named = entry.get("gold_titles")
    if named is not None:
        if not isinstance(named, list) or not all(isinstance(title, str) for title in named):
            raise InputError(f"{where}: its gold_titles are {shorten(named)}, not a list of strings")
        return tuple(dict.fromkeys(named))
    facts = _supporting_facts(entry, where)
    supporting = (passage.title for passage in passages if passage.is_supporting)
    return tuple(dict.fromkeys(title for title, _ in facts)) or tuple(dict.fromkeys(supporting))


def joined(sentences: Sequence[str]) -> str:
    """Sentences as one text: HotpotQA's bring the space between them, 2WikiMultiHopQA's do not."""
    parts = [
        sentence if not number or sentence[:1].isspace() or sentences[number - 1][-1:].isspace() else f" {sentence}"
        for number, sentence in enumerate(sentences)
    ]
    return "".join(parts).strip()


# --- HotpotQA and 2WikiMultiHopQA ----------------------------------------------------------------------------------


def _titled(value: object, where: str) -> list[tuple[str, tuple[str, ...]]]:
    """The context as published (titles with sentences), as the Hugging Face hub has it (two lists), or as objects."""
    pairs: object = value
    if isinstance(value, dict):
        pairs = list(zip_longest(value.get("title") or [], first_of(value, "sentences", "content") or []))
    if not isinstance(pairs, list):
        raise InputError(f"{where}: its context is {shorten(value)}, not a list of titles with sentences")
    return [_pair(pair, where) for pair in pairs]


def _pair(pair: object, where: str) -> tuple[str, tuple[str, ...]]:
    if isinstance(pair, dict):
        pair = (pair.get("title"), pair.get("sentences"))
    if isinstance(pair, list | tuple) and len(pair) == 2:
        title, sentences = pair
        if isinstance(title, str) and isinstance(sentences, list) and all(isinstance(s, str) for s in sentences):
            return title, tuple(sentences)
    raise InputError(f"{where}: its context holds {shorten(pair)}, not a title with a list of sentences")


def _supporting_facts(entry: Entry, where: str) -> list[tuple[str, int]]:
    """Titles and sentence numbers, from 0."""
    value = entry.get("supporting_facts")
    if value is None:
        return []
    pairs = value
    if isinstance(value, dict):
        pairs = list(zip_longest(value.get("title") or [], value.get("sent_id") or []))
    if not isinstance(pairs, list) or not all(_is_fact(pair) for pair in pairs):
        raise InputError(f"{where}: its supporting_facts are {shorten(value)}, not titles with sentence numbers")
    return [(title, number) for title, number in pairs]


def _is_fact(pair: object) -> bool:
    return isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], int)


def _in_sentences(
    titled: Sequence[tuple[str, tuple[str, ...]]], facts: Sequence[tuple[str, int]]
) -> Iterable[ContextPassage]:
    """Passages, marked with the facts that name them.

    Of several with the title that a fact names, the first one that has such a sentence is meant; a fact whose sentence
    no passage has (HotpotQA has a few) still says that the passage is needed.
    """
    marked: dict[int, list[int]] = {}
    for title, number in facts:
        places = [place for place, (own, _) in enumerate(titled) if own == title]
        fitting = [place for place in places if 0 <= number < len(titled[place][1])]
        for place in (fitting or places)[:1]:
            marked.setdefault(place, []).extend([number] if fitting else [])
    for place, (title, sentences) in enumerate(titled):
        numbers = tuple(sorted(set(marked.get(place, ()))))
        yield ContextPassage(title, joined(sentences), sentences, place in marked, numbers)


# --- MuSiQue, DPR --------------------------------------------------------------------------------------------------


def _paragraphs(entry: Entry, where: str) -> Iterable[tuple[int | None, ContextPassage]]:
    for place, paragraph in enumerate(objects(entry["paragraphs"], "paragraphs", where)):
        number = paragraph.get("idx", place)
        content = text(paragraph, "paragraph_text", "text", where=where, required=False)
        title = text(paragraph, "title", where=where, required=False)
        yield number, ContextPassage(title, content.strip(), is_supporting=paragraph.get("is_supporting") is True)


def _dpr_passages(entry: Entry, where: str) -> Iterable[ContextPassage]:
    for name in _DPR_CONTEXTS:
        for passage in objects(entry.get(name), name, where):
            content = text(passage, "text", where=where, required=False).strip()
            title = text(passage, "title", where=where, required=False)
            yield ContextPassage(title, content, is_supporting=name == "positive_ctxs")


# --- the whole -----------------------------------------------------------------------------------------------------


def _once(numbered: Iterable[tuple[int | None, ContextPassage]]) -> Context:
    """Without blank passages, and those that repeat another word by word (2WikiMultiHopQA has some) joined with it."""
    passages: list[ContextPassage] = []
    found: dict[tuple[str, str], int] = {}
    places: dict[int, int] = {}
    for number, passage in numbered:
        if not passage.text:
            continue
        place = found.setdefault((passage.title, passage.text), len(passages))
        if place == len(passages):
            passages.append(passage)
        elif passage.is_supporting:
            both = {*passages[place].supporting_sentences, *passage.supporting_sentences}
            passages[place] = replace(passages[place], is_supporting=True, supporting_sentences=tuple(sorted(both)))
        if number is not None:
            places[number] = place
    return Context(tuple(passages), places)
