"""An index file and what goes with it: its encoders, its models, its settings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from minirag.encoder import aligner_of, close_encoder, describe_encoders, open_encoder
from minirag.errors import EncoderError, EncoderMismatchError
from minirag.filtering import Filter
from minirag.models import OFFLINE, AnyModel, Models
from minirag.prompting import check_prompts, keep_prompts, prompts_in
from minirag.records import Ledger, Prompts, Settings, Task, Usage, counting
from minirag.sharing import Shareable
from minirag.storage.accounts import usage_to_header
from minirag.storage.layout import aligner_in
from minirag.storage.store import Mode, Store, is_there
from minirag.wording import did_you_mean

if TYPE_CHECKING:
    from os import PathLike

    from minirag.encoder import Encoder
    from minirag.reasoner import Reasoner
    from minirag.storage.snapshot import Snapshot


_OF_MODELS = (
    *("api_base", "api_key", "max_parallel", "timeout", "router", "retries", "window", "prices"),
    *("requests_per_minute", "tokens_per_minute"),
)


class OpenFile(Shareable):
    """An index file that is open, with its encoders and with who thinks about it.

    Attributes:
        path: The file.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        model: AnyModel | None = None,
        models: Mapping[str, AnyModel] | None = None,
        encoder: str | Path | Encoder | None = None,
        mode: Mode = "a",
        settings: Settings | None = None,
        prompts: Prompts | None = None,
        **llm_options: Any,  # noqa: ANN401
    ) -> None:
        """Open an index, or start one.

        Args:
            path: The file, by convention `*.usearch`.
            model: Who thinks: a LiteLLM name, or "offline"; a LiteLLM `Router`, a function from messages to the text of
                the reply (asynchronous or not), an `LLM`, or a `Reasoner` of one's own. Else `MINIRAG_MODEL`, else
                "offline".
            models: Others for single tasks: `{"extract": cheap, "read": strong}`. Tasks are extract and bridge, while
                indexing, and read, think and extend, while asking. What is not named is done by `model`; without one
                by another model of the same time, else offline.
            encoder: None for the one that minirag ships, a folder with an ONNX model, or the LiteLLM name of a hosted
                embedding model; beside that, triples are encoded by the one that minirag ships. The file remembers it.
            mode: "a" creates the file where there is none; "r" never writes anything, not even a lock.
            settings: How to build it; only when it is created.
            prompts: Own instructions, languages, examples or whole prompts for a model. The file remembers them, and
                they replace those that it has; with mode="r" they are this object's alone.
            llm_options: For each `minirag.llm.LLM` that is called by name: `api_base`, `api_key`, `router`, `timeout`,
                `max_parallel`, and whatever the model takes (`max_tokens`, `seed`, …). `prices` are also those of a
                hosted encoder.

        Raises:
            IndexMissingError: When there is none and mode is "r", or its folder does not exist.
            IndexCorruptError: When the file is damaged or no index.
            IndexVersionError: When a newer minirag wrote it.
            EncoderMismatchError: When the file was built with another encoder or aligner than `encoder`. Without that,
                a file whose own encoder is not to be had opens all the same, for all that encodes nothing.
            ValueError: On a wrong mode, when `settings` differ from the file's own, or when `prompts` do not fit.
        """
        if mode not in ("a", "r"):
            raise ValueError(f"mode must be 'a' or 'r', not {mode!r}")
        _check_names(llm_options)
        self.path = Path(path)
        self._prompts = None if prompts is None else check_prompts(prompts)
        self._models = Models(model, llm_options, models)
        self._turns: dict[int, asyncio.Lock] = {}
        self._filter: Filter | None = None
        self._encoder: Encoder | None = None
        self._aligner: Encoder | None = None
        self._lacking: EncoderError | EncoderMismatchError | None = None
        prices = llm_options.get("prices")
        given = None if encoder is None else open_encoder(encoder, prices=prices)
        self._store = self._open_store(mode, given, encoder, settings)
        try:
            self._use_encoder(given or self._open_own(prices))
            self._check_encoders()
        except (EncoderError, EncoderMismatchError) as error:
            if given is not None:
                raise
            self._lacking = error
        if settings is not None and settings != self.settings:
            raise ValueError(
                f"{self.path} was built with {self._differing(settings)}: settings are fixed when it is created"
            )
        if self._prompts is not None and mode == "a":
            keep_prompts(self._store, self._prompts)

    def _open_store(
        self, mode: Mode, opened: Encoder | None, encoder: str | Path | Encoder | None, settings: Settings | None
    ) -> Store:
        if mode == "r" or is_there(self.path):
            return Store(self.path, mode=mode, normalise=normalise_name)
        header = new_header(opened or open_encoder(None), encoder, settings or Settings())
        return Store.create(self.path, header=header, normalise=normalise_name)

    def _open_own(self, prices: Mapping[str, Sequence[float]] | None) -> Encoder:
        """The encoder that the file names.

        Raises:
            EncoderError: When it cannot be loaded, or the file names none.
        """
        source = self._store.snapshot.header["encoder"].get("source")
        if source is not None and not (isinstance(source, str) and source.strip()):
            raise EncoderError(f"{self.path} names {source!r} as its encoder, which is no folder and no model's name")
        return open_encoder(source, prices=prices)

    def _use_encoder(self, encoder: Encoder) -> None:
        self._encoder, self._aligner, self._lacking = encoder, aligner_of(encoder), None

    def _check_encoders(self) -> None:
        header, encoder, aligner = self._store.snapshot.header, self.encoder, self.aligner
        known, known_aligner = header["encoder"], aligner_in(header)
        if encoder.fingerprint != known["fingerprint"]:
            raise EncoderMismatchError(self.path, built_with=known["name"], given=encoder.name)
        if aligner.fingerprint != known_aligner["fingerprint"]:
            remedy = "Its triples are to be encoded by the one that minirag ships: minirag repair OLD NEW does that"
            raise EncoderMismatchError(self.path, built_with=known_aligner["name"], given=aligner.name, remedy=remedy)

    def _differing(self, settings: Settings) -> str:
        own, given = asdict(self.settings), asdict(settings)
        return ", ".join(f"{name}={own[name]}, not {given[name]}" for name in own if own[name] != given[name])

    def __repr__(self) -> str:
        """Path and model."""
        return f"Index({str(self.path)!r}, model={self.model!r})"

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def __reduce__(self) -> NoReturn:
        """An open file cannot be copied to another process.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"{self!r} cannot be pickled or copied: pass its path, and open it there")

    def close(self) -> None:
        """Let go of the file and of connections; using the index afterwards is an `IndexClosedError`."""
        self._store.close()
        self._models.close()
        if self._encoder is not None:
            close_encoder(self._encoder)

    @property
    def encoder(self) -> Encoder:
        """Encodes passages, facts and bridging facts, and what is compared with them.

        Raises:
            EncoderMismatchError: When the file was built with another one than is to be had, as by an older minirag.
            EncoderError: When the one that the file names cannot be loaded.
        """
        return self._usable(self._encoder)

    @property
    def aligner(self) -> Encoder:
        """Encodes triples, and what is compared with them: the encoder, or beside a hosted one the one that ships.

        Raises:
            EncoderMismatchError: As for `encoder`.
            EncoderError: Likewise.
        """
        return self._usable(self._aligner)

    def _usable(self, encoder: Encoder | None) -> Encoder:
        if encoder is None or self._lacking is not None:
            raise self._lacking or EncoderError(f"{self.path} has no encoder")
        return encoder

    def require_encoder(self) -> None:
        """See whether texts can be encoded as those of the file were: what raises then raises when one is to be.

        Raises:
            EncoderMismatchError: As for `encoder`.
            EncoderError: Likewise.
        """
        self._usable(self._encoder)

    @property
    def model(self) -> str:
        """The model that thinks unless a call names another; the reader's where tasks have their own."""
        return self._models.default

    def model_of(self, task: Task) -> str:
        """The name of the model that does a task."""
        return self._models.name(None, task=task)

    def models_of(self, usage: Usage) -> tuple[str, ...]:
        """The names of the models by which a run took that, in the order of their first calls, encoders included."""
        names = [self.encoder.name if task == "embed" else self.model_of(task) for task in usage.tasks]
        return tuple(dict.fromkeys(names)) or (self.model,)

    @property
    def model_is_chosen(self) -> bool:
        """Whether the user named the model, by argument or by environment."""
        return self._models.chosen

    @property
    def built_by(self) -> str:
        """The name of the LLM that extracted what was added last; "" where rules did, or nothing was added."""
        name = str(self._store.snapshot.header.get("model") or "")
        return "" if name == OFFLINE else name

    def reasoner(
        self,
        model: AnyModel | None,
        ledger: Ledger,
        *,
        models: Mapping[str, AnyModel] | None = None,
        prompts: Prompts | None = None,
    ) -> Reasoner:
        """Who thinks: by rules for "offline", else the LLM of that name.

        Args:
            model: As for `Index`; None for the index's own.
            ledger: Gets what its calls take.
            models: Likewise, for single tasks.
            prompts: Prevail over the index's own, task by task.

        Raises:
            ValueError: If a name is blank, or a task unknown.
        """
        own = self.prompts if prompts is None else prompts.over(self.prompts)
        return self._models.reasoner(model, ledger, models=models, prompts=own)

    def check_prices(
        self,
        tasks: Sequence[Task],
        ledger: Ledger,
        *,
        model: AnyModel | None = None,
        models: Mapping[str, AnyModel] | None = None,
    ) -> None:
        """See whether a run's budget can be kept by the models of these tasks, before the first call.

        Raises:
            InputError: If there is a budget, and the price of one is unknown.
        """
        if ledger.budget is not None:
            self._models.check_prices(tasks, model, models=models)

    @property
    def settings(self) -> Settings:
        """How it is built."""
        return Settings(**self._store.snapshot.header["settings"])

    @property
    def prompts(self) -> Prompts:
        """What is special about its prompts: as given when it was opened, else as the file has it."""
        return self._prompts or prompts_in(self._store.snapshot.header)

    @property
    def snapshot(self) -> Snapshot:
        """The commit that reads see; hold it to see the same one in several reads."""
        return self._store.snapshot.through(self._filter)

    def refresh(self) -> bool:
        """Move to the newest commit, of this or another process; costs next to nothing when there is none.

        Returns:
            Whether there was a newer one.
        """
        return self._store.refresh()

    @property
    def _turn(self) -> asyncio.Lock:
        """Writers of this object take turns, others meet the lock on the file; a forked child starts its own turns."""
        return self._turns.setdefault(os.getpid(), asyncio.Lock())


def new_header(encoder: Encoder, source: str | Path | Encoder | None, settings: Settings) -> dict[str, Any]:
    """Of an empty index file; `source` is the encoder as it was given. A hosted one is asked for its dimensions."""
    ledger = Ledger()
    with counting(ledger):
        described = describe_encoders(encoder, source)
    return {
        **described,
        "settings": asdict(settings),
        "model": "",
        **usage_to_header(ledger.total()),
        "failed_passages": [],
        "failed_names": [],
    }


def normalise_name(name: str) -> str:
    """How entity names become keys; the rules are loaded when the first name is looked up."""
    from minirag.naming import names

    return names.normalise_name(name)


def _check_names(options: Iterable[str]) -> None:
    """Refuse what is nearly a name of our own: a model's parameters may have any other.

    Raises:
        TypeError: With the name that was meant.
    """
    own = [*signature(OpenFile.__init__).parameters, *_OF_MODELS]
    for name in options:
        if name not in own and (meant := did_you_mean(name, own, cutoff=0.85)):
            raise TypeError(f"Index() has no argument {name!r}.{meant}")
