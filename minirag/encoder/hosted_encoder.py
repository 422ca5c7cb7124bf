"""An embedding model that a provider serves, called through minirag's LLM boundary."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag import loop
from minirag.encoder.checking import at_unit_length
from minirag.encoder.loading import SHIPPED, load_tokenizer, read_config
from minirag.encoder.protocol import Role, replace_surrogates
from minirag.errors import EncoderError, LLMError
from minirag.records import Ledger, running_ledger

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from minirag.llm import LLM, Price

# Texts of one request; below what providers accept, and few enough for the progress to be seen.
BATCH_TEXTS = 64
# Stands for blank texts, which providers refuse.
_NOTHING = "nothing"


class HostedEncoder:
    """A hosted embedding model. Opening calls nobody; `dimensions` or the first `encode` does.

    Passages are split as for the shipped encoder, by its tokenizer and to its window: hosted models read longer ones,
    but evidence is best in pieces of that size.

    Attributes:
        name: The LiteLLM name.
        fingerprint: Of the name; providers give their models no other identity.
        max_tokens: The shipped encoder's.
        ledger: Adds up what calls took, under "embed", that were part of no `add` or `ask`, which count their own.
    """

    def __init__(self, model: str, **options: Any) -> None:  # noqa: ANN401
        """Keep the name.

        Args:
            model: The LiteLLM name of an embedding model, such as "openai/text-embedding-3-small".
            options: For `minirag.llm.LLM`: `api_base`, `api_key`, `timeout`, `max_parallel`, `retries`,
                `prices`.

        Raises:
            ValueError: If the name is blank.
        """
        if not model.strip():
            raise ValueError("the encoder's name must not be blank; leave it out for the one that minirag ships")
        self.name = model
        self.fingerprint = hashlib.sha256(f"hosted {model}".encode()).hexdigest()[:16]
        self.max_tokens = read_config(SHIPPED).max_tokens
        self.ledger = Ledger()
        self._options = options
        self._client: LLM | None = None
        self._dimensions: int | None = None
        self._tokenizer: Tokenizer | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """The name; never a key."""
        return f"HostedEncoder({self.name!r})"

    @property
    def dimensions(self) -> int:
        """Length of a vector; the first time this costs a call.

        Raises:
            EncoderError: If the provider cannot be asked.
        """
        if self._dimensions is None:
            self.encode([_NOTHING])
        if self._dimensions is None:
            raise EncoderError(f"{self.name} gave no vector")
        return self._dimensions

    @property
    def tokenizer(self) -> Tokenizer:
        """The shipped encoder's tokenizer; not to be changed."""
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = load_tokenizer(SHIPPED)
            return self._tokenizer

    def encode(
        self,
        texts: Sequence[str],
        *,
        role: Role = "document",  # noqa: ARG002  hosted models read both alike
        progress: Callable[[int], None] | None = None,
    ) -> NDArray[np.float32]:
        """Vectors of unit length, `(len(texts), dimensions)`, in the order of the texts. See `Encoder.encode`.

        Blank texts are sent as "nothing". Requests overlap. Not to be called on minirag's own loop.

        Raises:
            EncoderError: If the provider fails, or its vectors are unusable.
            BudgetExceededError: If the run that this is part of cannot pay for all of the texts; none was sent.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        sendable = [replace_surrogates(text) if text.strip() else _NOTHING for text in texts]
        try:
            rows = loop.run(self._embed_all(sendable, progress))
        except LLMError as error:
            raise EncoderError(f"the encoder {error}") from error
        return self._check(rows)

    @property
    def price(self) -> Price | None:
        """Dollars per token; None where unknown."""
        return self._open_client().price

    def check_budget(self, ledger: Ledger) -> None:
        """See whether a run's budget can be kept with this encoder, before anything is spent on others.

        Raises:
            InputError: If there is a budget, and the price is unknown.
        """
        self._open_client().check_budget([], ledger)

    def close(self) -> None:
        """Close the connections; the next `encode` opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            loop.run_or_start(client.close())

    async def _embed_all(self, texts: Sequence[str], progress: Callable[[int], None] | None) -> list[list[float]]:
        client = self._open_client()
        ledger = running_ledger() or self.ledger
        client.check_budget(texts if len(texts) > BATCH_TEXTS else [], ledger)  # a single call waits for its turn

        async def embed(batch: Sequence[str]) -> list[list[float]]:
            vectors = await client.embed(batch, ledger=ledger)
            if progress is not None:
                progress(len(batch))
            return vectors

        batches = [texts[start : start + BATCH_TEXTS] for start in range(0, len(texts), BATCH_TEXTS)]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(embed(batch)) for batch in batches]
        except ExceptionGroup as errors:  # the first one cancelled the others
            raise errors.exceptions[0] from errors
        return [vector for task in tasks for vector in task.result()]

    def _open_client(self) -> LLM:
        from minirag.llm import LLM

        if self._client is None:
            self._client = LLM(self.name, **self._options)
        return self._client

    def _check(self, rows: Sequence[Sequence[float]]) -> NDArray[np.float32]:
        """At unit length, once they are of one length, finite and not zero."""
        lengths = {len(row) for row in rows} | ({self._dimensions} if self._dimensions else set())
        if len(lengths) != 1:
            raise EncoderError(f"{self.name} gave vectors of different lengths: {sorted(lengths)}")
        vectors = at_unit_length(np.asarray(rows, dtype=np.float32), self.name)
        self._dimensions = vectors.shape[1]
        return vectors
