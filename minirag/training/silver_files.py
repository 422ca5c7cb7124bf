"""Questions with their silver chains, in a file: what the first step of a training leaves for the others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import IO

from minirag.errors import InputError
from minirag.output import write_whole
from minirag.training.lessons import ChainedQuestion
from minirag.training.silver import ReadPassage, SilverStep


def write_questions(questions: Iterable[ChainedQuestion], path: Path) -> None:
    """Write JSON lines, a question in each; in ASCII, as texts may hold what ends a line, or half a character.

    Raises:
        OutputError: When the disk refuses; a file that was there is then as it was.
    """

    def write(file: IO[bytes]) -> None:
        for question in questions:
            file.write(json.dumps(asdict(question)).encode() + b"\n")

    write_whole(path, write)


def read_questions(path: Path) -> list[ChainedQuestion]:
    """Read what `write_questions` wrote.

    Raises:
        InputError: If the file is missing or of another form.
    """
    if not path.exists():
        raise InputError(f"{path} is missing: it is what the step 'chains' leaves. Run that step first")
    questions = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
                passages = tuple(_passage(each) for each in entry.pop("passages"))
                steps = tuple(SilverStep(**{**each, "needs": tuple(each["needs"])}) for each in entry.pop("steps"))
                questions.append(ChainedQuestion(**entry, passages=passages, steps=steps))
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{path}, line {number} is no question with its chain: {error}. Make the file anew: --stage chains"
                ) from error
    return questions


def _passage(entry: dict[str, object]) -> ReadPassage:
    lists = ("facts", "triples", "supporting")
    return ReadPassage(**{key: tuple(value) if key in lists else value for key, value in entry.items()})  # type: ignore[arg-type]  # checked by the caller's except
