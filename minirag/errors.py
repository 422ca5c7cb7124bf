"""Everything that minirag raises, in one tree.

    MiniragError
    ├── InputError                 a document, file or setting that cannot be used
    ├── IndexFileError             about the file on disk; has `path`
    │   ├── IndexMissingError      nothing there, and the mode does not create
    │   ├── IndexCorruptError      damage; has `section`
    │   │   └── NotAnIndexError    a file in which nothing of minirag's is to be found
    │   ├── IndexVersionError      written by a newer minirag
    │   ├── IndexLockedError       another writer has it; has `holder` (a process id or None)
    │   ├── IndexReadOnlyError     a write on an index that was opened with mode="r"
    │   ├── IndexClosedError       used after close()
    │   ├── IndexWriteError        the disk refused: full, no permission, vanished folder
    │   └── EncoderMismatchError   the vectors in the file came from another encoder
    ├── UnknownIdError             no document or passage has such an id; a `KeyError`, too; has `id` and `near`
    ├── OutputError                a file to be written for people that could not be; has `path`
    ├── BudgetExceededError        the next call might cost more than is left of max_cost; has what was done
    ├── EncoderError               an encoder that cannot be loaded or run
    │   └── TextsRefusedError      texts that a hosted encoder's provider does not take; has `reasons`
    ├── TimeLimitError             no answer within the time that was set; has `seconds`
    └── LLMError                   about the model or its provider
        ├── LLMSetupError          ends a run at once: wrong key, unknown model, no credit
        ├── LLMUnavailableError    still failing after all retries
        └── LLMReplyError          a reply that cannot be used, after one repair attempt
            └── PromptTooLongError the prompt is more than the model reads

A wrong argument is a plain `ValueError`. Each message says what was found, what was expected and what to do;
the facts are attributes too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from minirag.redacting import one_line, redact
from minirag.wording import dollars

_SHOWN = 60  # characters of a text that is refused
_LONGEST = 1_500  # characters of what is told of a model


class MiniragError(Exception):
    """The root of the tree: catch this to catch all of minirag's own errors. They pickle, so pools pass them on."""

    def __reduce__(self) -> tuple[Callable[..., MiniragError], tuple[Any, ...]]:
        """By message and attributes: what an exception does by itself calls `__init__` with the message alone."""
        return _restore, (type(self), self.args, self.__dict__)


class InputError(MiniragError):
    """A document, file or setting that cannot be used. The message names it and says why."""


class UnknownIdError(MiniragError, KeyError):
    """No document or passage has such an id.

    Attributes:
        id: As it was given.
        near: Ids that are there and much like it; empty where there are too many to compare.
    """

    def __init__(self, kind: str, id: object, *, near: Sequence[str] = (), hint: str = "") -> None:
        """Say what was looked for, and what was perhaps meant."""
        self.id, self.near = id, tuple(near)
        meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
        super().__init__(f"no {kind} has the id {id!r}.{meant}{hint}")

    def __str__(self) -> str:
        """The message, not its `repr`, as a `KeyError` would have it."""
        return str(self.args[0])


class OutputError(MiniragError):
    """A page or an export that could not be written; what was there before is as it was.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path | str, message: str) -> None:
        """Put the path in front of the message."""
        self.path = Path(path)
        super().__init__(f"{self.path}: {message}")


class IndexFileError(MiniragError):
    """Something about an index file.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path | str, message: str) -> None:
        """Put the path in front of the message."""
        self.path = Path(path)
        super().__init__(f"{self.path}: {message}")


class IndexMissingError(IndexFileError):
    """There is no such file, and the mode does not create one."""


class IndexCorruptError(IndexFileError):
    """Bytes that no minirag wrote, or that changed since.

    Attributes:
        section: Which part of the file: "trailer", "table of contents", or a section's name.
    """

    def __init__(self, path: Path | str, section: str, message: str) -> None:
        """Name the damaged section."""
        self.section = section
        super().__init__(path, f"{section} is damaged: {message}")


class NotAnIndexError(IndexCorruptError):
    """A file that nobody would take for an index: empty, a text, a PDF; or one that lost all that minirag wrote."""

    def __init__(self, path: Path | str, message: str) -> None:
        """Say what it is instead."""
        super().__init__(path, "trailer", message)
        self.args = (f"{self.path}: is no minirag index{message}",)


class IndexVersionError(IndexFileError):
    """The file's format is newer than this minirag reads.

    Attributes:
        found: The file's format version.
        supported: The newest that this minirag reads.
    """

    def __init__(self, path: Path | str, *, found: int, supported: int) -> None:
        """Say which release to install."""
        self.found, self.supported = found, supported
        super().__init__(
            path,
            f"has format {found}, this minirag reads up to {supported}. Install a newer one: pip install -U minirag",
        )


class IndexLockedError(IndexFileError):
    """Another writer has the file.

    Attributes:
        holder: Its process id, if known.
    """

    def __init__(self, path: Path | str, holder: int | None) -> None:
        """Name the process that holds the lock."""
        self.holder = holder
        who = f"process {holder}" if holder is not None else "another process"
        super().__init__(path, f"{who} is writing it. Wait until it is done, or open with mode='r' to read meanwhile")


class IndexReadOnlyError(IndexFileError):
    """A write on an index that was opened with mode="r"."""


class IndexClosedError(IndexFileError):
    """The index was closed, or belongs to the parent of this forked process."""


class IndexWriteError(IndexFileError):
    """The disk refused a write; the index on disk is still its last commit.

    Attributes:
        needed: How many bytes the write needed, if known.
    """

    def __init__(self, path: Path | str, message: str, *, needed: int | None = None) -> None:
        """Keep how much was needed."""
        self.needed = needed
        super().__init__(path, message)


class EncoderMismatchError(IndexFileError):
    """The vectors in the file came from another encoder.

    Attributes:
        built_with: The encoder that the file remembers.
        given: The one it was opened with.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        built_with: str,
        given: str,
        remedy: str = "Open it with the first, or change it: minirag reembed FILE, or minirag.reembed(path, encoder)",
    ) -> None:
        """Say what to do about it."""
        self.built_with, self.given = built_with, given
        super().__init__(path, f"was built with encoder {built_with}, but opened with {given}. {remedy}")


class EncoderError(MiniragError):
    """An encoder that cannot be loaded or run."""


class TextsRefusedError(EncoderError):
    """Texts that a hosted encoder's provider does not take, by a filter or for their length; it takes others.

    Attributes:
        reasons: Why, by text.
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        """Tell the first; there is one at least."""
        self.reasons = dict(reasons)
        text, reason = next(iter(self.reasons.items()))
        others = f" and {len(self.reasons) - 1:,} more" if len(self.reasons) > 1 else ""
        super().__init__(f"the encoder {reason} (the text {one_line(text)[:_SHOWN]!r}{others})")

    def among(self, texts: Iterable[str]) -> TextsRefusedError | None:
        """The same of these texts alone; None where none is among them."""
        found = {text: self.reasons[text] for text in texts if text in self.reasons}
        return TextsRefusedError(found) if found else None


class BudgetExceededError(MiniragError):
    """A run stopped, as its next call might cost more than `max_cost` leaves. What was paid for is kept.

    Attributes:
        limit: Dollars that the run might spend.
        spent: Dollars that it spent.
        needed: Dollars that the next call, or question of an evaluation, might have cost, by an estimate that is rather
            high.
        usage: What the run took, a `minirag.Usage`.
        report: What an `add` or `delete` did, a `minirag.AddReport` or `DeleteReport`: what it names is in the index,
            or gone from it. Of an evaluation, how many questions were answered. None for other runs.
    """

    def __init__(self, *, limit: float, spent: float, needed: float, what: str = "call") -> None:
        """Say how far it came, and what did not fit; `end_run` adds what was done."""
        self.limit, self.spent, self.needed = limit, spent, needed
        self.usage: Any = None
        self.report: Any = None
        so_far = f"stopped at {dollars(spent)} of max_cost={dollars(limit)}"
        super().__init__(f"{so_far}: the next {what} may cost up to {dollars(needed)}")

    def end_run(self, usage: Any, report: Any = None) -> None:  # noqa: ANN401  records stand above errors
        """Keep what the run took and did, and say how to go on."""
        self.usage, self.report = usage, report
        if report is not None:
            self.args = (f"{self}. {report.how_to_go_on}",)


class TimeLimitError(MiniragError):
    """No answer within the time limit of the question.

    Attributes:
        seconds: The limit.
    """

    def __init__(self, seconds: float) -> None:
        """Say what can be done."""
        self.seconds = seconds
        super().__init__(
            f"no answer within time_limit={seconds:g} seconds. Allow more, or ask with a strategy of fewer calls "
            "(strategy='indexrag', or fewer steps=)"
        )


class LLMError(MiniragError):
    """Something about the model or its provider.

    Whoever raises it, its message is one line, of bounded length, without keys of the environment: it goes into
    reports, logs and index files.

    Attributes:
        model: The model's name, as it was given.
    """

    def __init__(self, model: str, message: str) -> None:
        """Put the model in front of the message."""
        self.model = model
        super().__init__(one_line(redact(f"{model}: {message}"), _LONGEST))


class LLMSetupError(LLMError):
    """No retry helps: a wrong key, an unknown model, no credit, nobody at the address, all requests refused.

    Ends a run at once.
    """


class LLMUnavailableError(LLMError):
    """The provider still failed after all retries."""


class LLMReplyError(LLMError):
    """A reply that cannot be used: refused, cut off, or no JSON of the right form even after one repair attempt."""


class PromptTooLongError(LLMReplyError):
    """A prompt that is more than the model reads, however little of the material is put into it."""


def _restore(kind: type[MiniragError], args: tuple[Any, ...], attributes: dict[str, Any]) -> MiniragError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error
