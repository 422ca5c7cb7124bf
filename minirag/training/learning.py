"""The training loop: contrastive steps, checkpoints to go on from, the best encoder on the dev questions kept."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from minirag.errors import InputError
from minirag.records import Kind
from minirag.training.contrasting import contrastive_loss, pair
from minirag.training.lessons import Lesson
from minirag.training.negatives import Candidates
from minirag.training.settings import TrainingSettings
from minirag.training.states import States
from minirag.wording import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer
    from torch import Tensor

    from minirag.training.bert import BertEncoder
    from minirag.training.validating import Validation

CHECKPOINT = "checkpoint.pt"
LOG = "log.jsonl"
_SAVE_EVERY = 50  # steps
_HARDEST: Mapping[Kind, int] = {"passage": 24, "fact": 60, "triple": 60}  # negatives are drawn from so many candidates
_LEAST_RATE = 0.02  # of the highest, at the end


class Learning:
    """A training under way.

    Attributes:
        model: Being trained.
        step: How many steps are done.
        steps: How many there will be.
        best: The best score on the dev questions so far, and the weights that reached it.
    """

    def __init__(
        self,
        model: BertEncoder,
        tokenizer: Tokenizer,
        lessons: Sequence[Lesson],
        candidates: Candidates,
        settings: TrainingSettings,
        *,
        folder: Path,
        data: str,
    ) -> None:
        """Prepare, and go on from the folder's checkpoint if there is one.

        Args:
            model: The base.
            tokenizer: Its own.
            lessons: To be learnt.
            candidates: For hard negatives.
            settings: How.
            folder: For checkpoint and log.
            data: A digest of the questions and the base's weights: a checkpoint of others is refused.

        Raises:
            InputError: When the checkpoint is damaged, or was made with other settings, questions or weights.
        """
        self.model, self._settings, self._candidates, self._folder = model, settings, candidates, folder
        self._states = States(model, tokenizer, settings)
        self._groups = _group(lessons, settings)
        self._per_epoch = max(1, len(self._lessons_of(0)) // settings.batch)
        self.steps = max(1, round(self._per_epoch * settings.epochs))
        self.step = 0
        self.best: tuple[float, dict[str, Tensor]] | None = None
        matrices = [each for each in model.trained() if each.ndim > 1]
        others = [each for each in model.trained() if each.ndim == 1]
        groups = [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
        self._optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate)
        self._signature = json.dumps([asdict(settings), data])
        self._load()

    # --- steps -----------------------------------------------------------------------------------------------------

    def run(self, validation: Validation | None, *, progress: Callable[[int], None] | None = None) -> None:
        """Do all steps that are left; what was best on the dev questions ends up in the model.

        Args:
            validation: The dev questions; None keeps the last weights.
            progress: Told how many steps were done.

        Raises:
            InputError: When the loss, or its gradient, is no finite number any more. What was best so far is in the
                checkpoint.
        """
        every = max(1, self._per_epoch // self._settings.checks)
        if self.step == 0 and validation is not None:
            self._note({"step": 0, **validation.score(self.encode).as_dict()})
        while self.step < self.steps:
            began = time.perf_counter()
            loss = self._learn_or_stop()
            self.step += 1
            self._note({"step": self.step, "loss": round(loss, 5), "seconds": round(time.perf_counter() - began, 3)})
            if validation is not None and (self.step % every == 0 or self.step == self.steps):
                self._judge(validation)
            if self.step % _SAVE_EVERY == 0 or self.step == self.steps:
                self._save()
            if progress is not None:
                progress(1)
        if self.best is not None:
            self.model.load_state_dict(self.best[1], strict=False)

    def encode(self, texts: Sequence[str], kind: Kind | None) -> NDArray[np.float32]:
        """Vectors by the model as it is now; kind None is a question."""
        rows = self._states.encode(texts, kind)
        return np.asarray(rows.cpu().numpy(), dtype=np.float32)

    def _learn_or_stop(self) -> float:
        try:
            return self._learn()
        except _DivergedError as error:
            if self.best is not None:
                self._save()
            settings = self._settings
            kept = "The checkpoint keeps what was best so far" if self.best else "Nothing was tried before that"
            path = self._folder / CHECKPOINT
            place = f" in another folder, or once {path} is deleted," if path.exists() else ""
            raise InputError(
                f"the training diverged at step {self.step + 1} of {self.steps}: {error}. {kept}. Train again{place} "
                f"with a lower learning_rate (it was {settings.learning_rate:g}) or a higher temperature (it was "
                f"{settings.temperature:g})"
            ) from error

    def _learn(self) -> float:
        """One step; gives its loss. The weights stay as they were where it is no number.

        Raises:
            _DivergedError: If it is none.
        """
        epoch, place = divmod(self.step, self._per_epoch)
        start = place * self._settings.batch
        batch = self._lessons_of(epoch)[start : start + self._settings.batch]
        chance = random.Random(f"{self._settings.seed} step {self.step}")
        negatives = [self._draw(lesson, chance) for lesson in batch]
        pairing = pair([e.query for e in batch], [e.target for e in batch], negatives, [e.gold for e in batch])
        kinds = {text: e.kind for e, texts in zip(batch, negatives, strict=True) for text in (e.target, *texts)}
        queries = self._states.encode(pairing.queries, None, learn=True)
        texts = self._encode_kinds(pairing.texts, kinds)
        loss = contrastive_loss(queries, texts, pairing, temperature=self._settings.temperature)
        self._set_rate()
        self._optimizer.zero_grad()
        loss.backward()
        size = torch.nn.utils.clip_grad_norm_(self.model.trained(), 1.0)
        if not torch.isfinite(loss + size):
            raise _DivergedError(f"the loss is {float(loss.detach())}, its gradient's length {float(size)}")
        self._optimizer.step()
        return float(loss.detach())

    def _draw(self, lesson: Lesson, chance: random.Random) -> list[str]:
        wanted = self._settings.passage_negatives if lesson.kind == "passage" else self._settings.negatives
        hardest = self._candidates.of(lesson)[: _HARDEST[lesson.kind]] if wanted else ()
        return chance.sample(hardest, min(wanted, len(hardest)))

    def _encode_kinds(self, texts: Sequence[str], kinds: Mapping[str, Kind]) -> Tensor:
        places: list[int] = []
        parts: list[Tensor] = []
        for kind in _HARDEST:
            own = [place for place, text in enumerate(texts) if kinds[text] == kind]
            parts.append(self._states.encode([texts[place] for place in own], kind, learn=True))
            places += own
        return torch.cat(parts)[torch.tensor(np.argsort(places), device=parts[0].device)]

    def _lessons_of(self, epoch: int) -> list[Lesson]:
        """The lessons of an epoch in their order; of each group only so many as are wanted."""
        chance = random.Random(f"{self._settings.seed} epoch {epoch}")
        lessons: list[Lesson] = []
        for most, group in self._groups:
            lessons += chance.sample(group, min(most or len(group), len(group)))
        chance.shuffle(lessons)
        return lessons

    def _set_rate(self) -> None:
        """Linear warm-up, then linear decay."""
        rising = self._settings.warmup * self.steps
        falling = (self.steps - self.step) / max(1.0, self.steps - rising)
        factor = min((self.step + 1) / rising if rising else 1.0, max(_LEAST_RATE, falling), 1.0)
        for group in self._optimizer.param_groups:
            group["lr"] = self._settings.learning_rate * factor

    # --- dev questions, checkpoints, log ---------------------------------------------------------------------------

    def _judge(self, validation: Validation) -> None:
        score = validation.score(self.encode)
        self._note({"step": self.step, **score.as_dict()})
        if score.mean > (self.best[0] if self.best else 0.0):  # it is 0 where vectors are NaN: that is never best
            self.best = (score.mean, self._trained_state())

    def _trained_state(self) -> dict[str, Tensor]:
        trained = {name for name, value in self.model.named_parameters() if value.requires_grad}
        return {name: value.detach().clone() for name, value in self.model.state_dict().items() if name in trained}

    def _save(self) -> None:
        state: dict[str, Any] = {
            "signature": self._signature,
            "step": self.step,
            "weights": self._trained_state(),
            "optimizer": self._optimizer.state_dict(),
            "best": self.best,
        }
        path = self._folder / CHECKPOINT
        torch.save(state, path.with_suffix(".new"))
        path.with_suffix(".new").replace(path)

    def _load(self) -> None:
        path = self._folder / CHECKPOINT
        if not path.exists():
            (self._folder / LOG).write_text("", encoding="utf-8")
            return
        try:
            state = torch.load(path, weights_only=True)
            signature = state["signature"]
        except Exception as error:  # what torch raises on a damaged file is not said
            raise InputError(f"{path} is damaged: {one_line(str(error))}. Delete it to begin anew") from error
        if signature != self._signature:
            raise InputError(
                f"{path} is of a training with other settings, questions or base. Delete it to begin anew, "
                "or give another folder"
            )
        self.step, self.best = state["step"], state["best"]
        self.model.load_state_dict(state["weights"], strict=False)
        self._optimizer.load_state_dict(state["optimizer"])
        kept = [line for line in _lines(self._folder / LOG) if _step_of(line) <= self.step]
        (self._folder / LOG).write_text("".join(kept), encoding="utf-8")

    def _note(self, entry: Mapping[str, Any]) -> None:
        with (self._folder / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


class _DivergedError(Exception):
    """A loss or a gradient that is no finite number."""


def _group(lessons: Sequence[Lesson], settings: TrainingSettings) -> list[tuple[int, list[Lesson]]]:
    """What an epoch is drawn from: lessons that share a limit, with that limit; 0 is none."""
    passages: dict[str, list[Lesson]] = {}
    others: dict[str, list[Lesson]] = {"stand-in": [], "fact": [], "triple": []}
    for lesson in lessons:
        if lesson.kind == "passage" and not lesson.stands_in:
            passages.setdefault(lesson.source, []).append(lesson)
        else:
            others["stand-in" if lesson.stands_in else lesson.kind].append(lesson)
    limits = (0, settings.facts, settings.triples)
    return [*((settings.passages, group) for group in passages.values()), *zip(limits, others.values(), strict=True)]


def _step_of(line: str) -> float:
    """Of a line of the log; no step where the process was killed while it wrote the line."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, TypeError, KeyError):
        return math.inf


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        yield from path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
