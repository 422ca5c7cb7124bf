"""From what each step of a training was made: a folder is not taken for the training of other files or settings.

Kept in `stages.json` beside the results. Of folders that an older minirag made nothing is known, and nothing is asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xxhash

from minirag.errors import InputError
from minirag.output import write_text
from minirag.training.making import STAGES, Making, Stage, has_result, read_object
from minirag.training.settings import TrainingSettings

if TYPE_CHECKING:
    Origin = Mapping[str, Any]

ORIGINS = "stages.json"
_BLOCK = 1 << 20
_ALL = tuple(field.name for field in fields(TrainingSettings) if field.name != "max_tokens")
_PREFIXES = ("query_prefix", "document_prefix")
_WINDOWS = ("query_tokens", "unit_tokens", "passage_tokens")
_DEPENDS: Mapping[Stage, tuple[str, ...]] = {
    "chains": (),
    "negatives": ("base", "dev_share", "half", *_WINDOWS, *_PREFIXES),
    "train": _ALL,
    "export": ("max_tokens", *_PREFIXES),
    "evaluate": (),
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a training is begun with, apart from its settings.

    Attributes:
        files: Question sets.
        triples: By another extractor, or None.
        model: That reads the passages.
    """

    files: Sequence[Path]
    triples: Path | None
    model: str

    def described(self) -> dict[str, Any]:
        """For JSON: names by digests of contents."""
        files = {digest(path): path.name for path in self.files}
        triples = {digest(self.triples): self.triples.name} if self.triples else {}
        return {"files": files, "triples": triples, "model": self.model}


class Origins:
    """What is known of the results in a folder."""

    def __init__(self, making: Making, inputs: Inputs) -> None:
        """Read what the folder says, and look at the inputs.

        Raises:
            InputError: If the folder's file is damaged, or an input cannot be read.
        """
        self._making, self._inputs = making, inputs.described()
        known = read_object(making.folder / ORIGINS)
        self._made: dict[str, Origin] = known.get("made", {})
        self._outdated: set[str] = set(known.get("outdated", ()))

    def is_done(self, stage: Stage) -> bool:
        """Whether a step's result is there, and no step before it was done again since."""
        return stage not in self._outdated and has_result(self._making, stage)

    def check(self, wanted: Sequence[Stage]) -> None:
        """See that what is there, and is not made again, was made from what is given now.

        Args:
            wanted: The steps that the user named; none for all that are not done.

        Raises:
            InputError: If it was not.
        """
        places = [STAGES.index(stage) for stage in wanted]
        for place, stage in enumerate(STAGES):
            is_between = (
                bool(places) and place not in places and place < max(places) and has_result(self._making, stage)
            )
            if is_between and (stage in self._outdated or min(places) < place):
                raise InputError(
                    f"{self._making.folder}: the step {stage!r} must be done again, too, as one before it. "
                    f"Add --stage {stage}"
                )
        for stage in STAGES:
            if stage in self._made and stage not in wanted and self.is_done(stage):
                # Who names a step need not say again how those before it were made; from which files, he has to.
                names = ("files",) if wanted else None
                self._check(stage, names)

    def note(self, stage: Stage) -> None:
        """A step was done: results of the steps after it count no more.

        Raises:
            OutputError: When the disk refuses.
        """
        later = STAGES[STAGES.index(stage) + 1 :]
        self._made = {name: origin for name, origin in self._made.items() if name not in later}
        self._made[stage] = self._origin(stage)
        self._outdated = (self._outdated - {stage}) | {each for each in later if has_result(self._making, each)}
        outdated = [each for each in STAGES if each in self._outdated]
        content = json.dumps({"made": self._made, "outdated": outdated}, indent=2, ensure_ascii=False)
        write_text(self._making.folder / ORIGINS, content + "\n")

    def _origin(self, stage: Stage) -> Origin:
        if stage == "chains":
            return self._inputs
        settings = asdict(self._making.settings)
        return {name: settings[name] for name in _DEPENDS[stage]}

    def _check(self, stage: Stage, names: Sequence[str] | None) -> None:
        then, now = self._made[stage], self._origin(stage)
        differs = [
            f"{name} {_told(then[name])}, now {_told(now[name])}"
            for name in now
            if (names is None or name in names) and name in then and not _is_same(then[name], now[name])
        ]
        if differs:
            raise InputError(
                f"{self._making.folder} holds the result of the step {stage!r} with others than are given now: "
                f"{'; '.join(differs)}. Give another --out, or have it done again: "
                f"{' '.join(f'--stage {each}' for each in STAGES[STAGES.index(stage) :])}"
            )


def digest(path: Path) -> str:
    """Of a file's content.

    Raises:
        InputError: If it cannot be read.
    """
    state = xxhash.xxh3_128()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                state.update(block)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    return state.hexdigest()


def _is_same(then: object, now: object) -> bool:
    """Files are the same by their contents, wherever they lie."""
    if isinstance(then, dict) and isinstance(now, dict):
        return then.keys() == now.keys()
    return then == now


def _told(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} ({key[:8]})" for key, name in value.items()) or "none"
    return repr(value) if isinstance(value, str) else str(value)
