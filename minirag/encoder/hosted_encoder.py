"""An embedding model that a provider serves, called through minirag's LLM boundary."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag import loop
from minirag.encoder.batches import BATCH_TEXTS, NOTHING, Batches
from minirag.encoder.checking import at_unit_length
from minirag.encoder.loading import SHIPPED, load_tokenizer, read_config
from minirag.encoder.protocol import Role, replace_surrogates
from minirag.errors import EncoderError, LLMError, TextsRefusedError
from minirag.records import Ledger, running_ledger

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from minirag.llm import LLM, Price

Receive = Callable[[Sequence[int], "NDArray[np.float32]"], None]


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
            self.encode([NOTHING])
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
            TextsRefusedError: If it does not take some of the texts.
            BudgetExceededError: If the run that this is part of cannot pay for all of the texts; none was sent.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        parts: list[tuple[Sequence[int], NDArray[np.float32]]] = []
        self.encode_each(texts, lambda places, vectors: parts.append((places, vectors)), progress=progress)
        found = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for places, vectors in parts:
            found[places] = vectors
        return found

    def encode_each(
        self, texts: Sequence[str], receive: Receive, *, progress: Callable[[int], None] | None = None
    ) -> None:
        """`encode`, that gives the vectors of each batch as soon as it was answered, on minirag's own loop.

        What the provider does not take is found by halving its batch, and all else is received before that is raised.
        A run that ends meanwhile lets batches in flight come to their end.

        Args:
            texts: One at least.
            receive: Gets the places of a batch's texts, and their vectors of unit length, `(len(places), dimensions)`.
            progress: Told of batches.

        Raises:
            EncoderError: As for `encode`.
            TextsRefusedError: Likewise.
            BudgetExceededError: Likewise.
        """
        try:
            refused = loop.run(self._embed_all(texts, receive, progress))
        except LLMError as error:
            raise EncoderError(f"the encoder {error}") from error
        if refused:
            raise TextsRefusedError({texts[place]: str(refused[place]) for place in sorted(refused)})

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

    async def _embed_all(
        self, texts: Sequence[str], receive: Receive, progress: Callable[[int], None] | None
    ) -> dict[int, LLMError]:
        """The places of the texts that were refused, and why."""
        sendable = [replace_surrogates(text) if text.strip() else NOTHING for text in texts]
        client = self._open_client()
        ledger = running_ledger() or self.ledger
        client.check_budget(sendable if len(texts) > BATCH_TEXTS else [], ledger)  # a single call waits for its turn

        def take(places: Sequence[int], rows: Sequence[Sequence[float]]) -> None:
            receive(places, self._check(rows))

        batches = Batches(client, sendable, ledger, take, progress or (lambda _: None))
        await batches.send()
        return batches.refused

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
