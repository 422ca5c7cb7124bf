"""Data set files as examples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from minirag.datasets.contexts import gold_titles, read_context
from minirag.datasets.entries import read_entries
from minirag.datasets.examples import Example
from minirag.datasets.fields import Entry, answers, first_of, gold_ids, identifier, sub_questions, text, triples
from minirag.errors import InputError


def read_examples(path: str | Path) -> Iterator[Example]:
    """Read the questions of a data set from its file, as published; what it is, the fields tell.

    HotpotQA (distractor and fullwiki; `.json`), 2WikiMultiHopQA (`.json`), MuSiQue's answerable questions (`.jsonl`),
    Natural Questions and WebQuestions in DPR's form (`.json` with `positive_ctxs`; `.csv` and `.tsv` of a question and
    a list of answers), Bamboogle (`.json` or `.csv` of `Question` and `Answer`), and any list of `{question, answers}`
    with optional `id`, `type` and `gold_ids` (or `gold_passage_ids`). `.jsonl` is read line by line, as it is consumed.

    Args:
        path: The file.

    Yields:
        The examples, in the file's order; one without an id is named by its place, from 1.

    Raises:
        InputError: If the file cannot be read, an entry is not of a known form, has no question or no answer, or an id
            stands there twice. The message names file, entry and what is wrong.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file. Give a file of questions")
    seen: dict[str, str] = {}
    for number, (where, entry) in enumerate(read_entries(path), start=1):
        example = read_example(entry, number, where)
        if example.id in seen:
            first = seen[example.id].removeprefix(f"{path}, ")
            raise InputError(f"{where}: its id {example.id!r} is also that of {first}")
        seen[example.id] = where
        yield example


def read_example(entry: Entry, number: int, where: str) -> Example:
    """One entry as an example.

    Args:
        entry: As the file has it.
        number: Its place in the file, from 1; its id where it has none.
        where: To complain about it.

    Raises:
        InputError: As `read_examples`.
    """
    own = first_of(entry, "id", "_id")
    example_id = identifier(number if own is None else own, where)
    context = read_context(entry, where)
    return Example(
        id=example_id,
        question=text(entry, "question", "Question", where=where),
        answers=answers(entry, where),
        type=_type(entry, example_id, where),
        passages=context.passages,
        gold_titles=gold_titles(entry, context.passages, where),
        gold_ids=gold_ids(entry, where),
        triples=triples(entry, where),
        sub_questions=sub_questions(entry, context.places, where),
        is_any_sufficient="positive_ctxs" in entry,
    )


def _type(entry: Entry, example_id: str, where: str) -> str | None:
    """The kind of question; MuSiQue writes it into the id ("3hop1__…")."""
    named = text(entry, "type", where=where, required=False)
    kind, _, rest = example_id.partition("__")
    return named or (kind if rest and kind[:1].isdigit() and "hop" in kind else None)
