"""A run's results on disk as they come, so that a stopped run goes on where it was and pays for nothing twice."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from minirag.errors import InputError, OutputError
from minirag.evaluation.datasets import Question
from minirag.evaluation.results import QuestionResult
from minirag.storage.lock import only_writer
from minirag.storage.replacing import write_all
from minirag.wording import cut_name, reason_of

HEAD = b'{"conditions": '
_ELSEWHERE = "which saves asking what both ask, or keep these elsewhere: --runs FOLDER (`resume` in Python)"
_UNFIT = re.compile(r"[^\w.=+-]+")  # for the name of a file


def log_in(path: str | Path, conditions: Mapping[str, Any]) -> Path:
    """The file for results: the path itself, or in a folder one that is named after what they depend on."""
    path = Path(path)
    return path / f"{name_run(conditions)}.jsonl" if path.is_dir() else path


def name_run(conditions: Mapping[str, Any]) -> str:
    """A name that tells the runs of a folder apart, for people and by a digest of the conditions."""
    options = [f"{name}={value}" for name, value in conditions["options"].items()]
    drawn = [f"{conditions['limit']}q"] if conditions.get("limit") else []
    told = [conditions["dataset"], conditions["strategy"], *options, conditions["model"], *drawn]
    digest = hashlib.sha256(json.dumps(conditions, sort_keys=True).encode()).hexdigest()[:8]
    return cut_name(_UNFIT.sub("_", "-".join(map(str, told))), most=150) + f"-{digest}"


class Unfinished(NamedTuple):
    """A question that a budget did not suffice for.

    Attributes:
        needed: Dollars that its next call might have brought it to, by an estimate that is rather high.
        spent: Dollars that it had spent.
    """

    needed: float
    spent: float


class ResultLog:
    """A file of JSON lines: first what the results depend on, then one result a line.

    A half-written last line, left by a kill, is overwritten. Questions that failed are not kept: they are asked again.
    What questions needed of a budget has lines of its own. One process writes it at a time; for so long, a lock lies
    beside it.

    Attributes:
        path: The file.
        done: Results by question id, as found on disk.
        needed: Dollars that questions needed, likewise.
        unfinished: Those that a budget did not suffice for, likewise.
    """

    def __init__(self, path: str | Path, *, conditions: Mapping[str, Any], questions: Sequence[Question]) -> None:
        """Open, or create, the file.

        Args:
            path: The file; its folder must exist.
            conditions: JSON values that the results depend on.
            questions: Those of this run. A result of a question that has changed since is asked again.

        Raises:
            InputError: If the file cannot be used, another process writes it, or it holds results under other
                conditions; the message names them.
            OutputError: If it cannot be written.
        """
        self.path = Path(path)
        self._digests = {question.id: _digest(question) for question in questions}
        self.done: dict[str, QuestionResult] = {}
        self.needed: dict[str, float] = {}
        self.unfinished: dict[str, Unfinished] = {}
        with ExitStack() as opening:
            opening.enter_context(only_writer(self.path, otherwise=_ELSEWHERE))
            lines, self._length = _read(self.path)
            if lines:
                self._check(lines[0], json.loads(json.dumps(conditions)))
                self._take(lines[1:])
            try:
                self._file = opening.enter_context(self.path.open("r+b" if lines else "wb", buffering=0))
                self._cut_off()
            except OSError as error:
                raise self._refused(error) from error
            if not lines:
                self._write({"conditions": conditions})
            self._open = opening.pop_all()

    def append(self, result: QuestionResult) -> None:
        """Keep a result, unless its question failed."""
        if result.error is None:
            self._write({"question": self._digests[result.id], "result": asdict(result)})

    def note_needed(self, question_id: str, dollars: float) -> None:
        """Keep what a question needed."""
        self._write({"question": self._digests[question_id], "id": question_id, "needed": dollars})

    def note_unfinished(self, question_id: str, found: Unfinished) -> None:
        """Keep how far a question came."""
        self._write({"question": self._digests[question_id], "id": question_id, "unfinished": found._asdict()})

    def __enter__(self) -> Self:
        """The log itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file, and let others write it."""
        self._open.close()

    def _write(self, entry: Mapping[str, Any]) -> None:
        """A line at the end; where the disk takes only some of it, none of it.

        Raises:
            OutputError: When the disk refuses.
        """
        line = json.dumps(entry, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        try:
            write_all(self._file, line)
        except OSError as error:
            with suppress(OSError):
                self._cut_off()
            raise self._refused(error) from error
        self._length += len(line)

    def _cut_off(self) -> None:
        """Be at the end of the last whole line, with nothing behind it."""
        self._file.truncate(self._length)
        self._file.seek(self._length)

    def _refused(self, error: OSError) -> OutputError:
        kept = ". What it holds is kept, and the same run goes on from there" if self.done or self._length else ""
        return OutputError(self.path, f"cannot be written: {reason_of(error)}{kept}")

    def _take(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Keep what concerns the questions of this run, as they are now."""
        for line in lines:
            name = line["result"]["id"] if "result" in line else line["id"]
            if self._digests.get(name) != line["question"]:
                continue
            if "result" in line:
                self.done[name] = QuestionResult.from_dict(line["result"])
            elif "needed" in line:
                self.needed[name] = line["needed"]
                self.unfinished.pop(name, None)
            else:
                self.unfinished[name] = Unfinished(**line["unfinished"])

    def _check(self, head: Mapping[str, Any], conditions: Mapping[str, Any]) -> None:
        found = head["conditions"]
        differing = sorted(key for key in {*found, *conditions} if found.get(key) != conditions.get(key))
        if differing:
            told = "; ".join(f"{key} {found.get(key)!r}, now {conditions.get(key)!r}" for key in differing)
            raise InputError(f"{self.path}: holds results of another run ({told}). Delete it, or give another file")


def find_answered(path: str | Path, questions: Sequence[Question]) -> frozenset[str]:
    """The ids of the questions, as they are now, that a log holds results of; it may be written meanwhile.

    Raises:
        InputError: If there is a file that is no log.
    """
    found = (line for line in _read(Path(path))[0][1:] if "result" in line)
    kept = {(line["result"]["id"], line["question"]) for line in found}
    return frozenset(question.id for question in questions if (question.id, _digest(question)) in kept)


def _read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole lines, and how many bytes they take."""
    if not path.exists():
        return [], 0
    if not path.is_file():  # of a device or a pipe there might be no end
        raise InputError(f"{path}: is no file of results that a run left, but a folder or a device")
    try:
        data = path.read_bytes()
        length = data.rfind(b"\n") + 1
        lines = [json.loads(line) for line in data[:length].split(b"\n")[:-1]]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: is no file of results that a run left: {error}") from error
    # Whatever else somebody keeps in the file is not cut off as a torn line.
    if data and not data.startswith(HEAD):
        raise InputError(f"{path}: is no file of results that a run left")
    return lines, length


def _digest(question: Question) -> str:
    return hashlib.sha256(json.dumps(asdict(question), sort_keys=True).encode()).hexdigest()[:16]
