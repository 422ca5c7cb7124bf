"""How an index is built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """How an index is built; fixed when it is created, and kept in the file.

    Attributes:
        passage_tokens: Window of a passage, at most the encoder's; None takes the encoder's.
        bridge_min_documents: A name bridges when at least so many documents share it, at least 2.
        bridge_max_documents: And at most so many: names that are everywhere say nothing.
        bridge_min_length: Shorter names do not bridge, in characters (two are enough for ideographs).
        bridge_facts_per_document: How many facts of each document a bridging call sees.
        bridge_within: A key of the metadata, such as "tenant": only documents that agree in it are bridged with each
            other, and no prompt holds texts of two groups. A filter by it then finds what an index of that group alone
            would. None bridges all.
        compact_at: The file is written afresh once what was appended and what died outgrow this many times what is
            alive in its base, above 0.
    """

    passage_tokens: int | None = None
    bridge_min_documents: int = 2
    bridge_max_documents: int = 10
    bridge_min_length: int = 3
    bridge_facts_per_document: int = 8
    bridge_within: str | None = None
    compact_at: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: When one of them is impossible.
        """
        if self.passage_tokens is not None and self.passage_tokens < 16:
            raise ValueError(f"passage_tokens must be at least 16, not {self.passage_tokens}")
        if not 2 <= self.bridge_min_documents <= self.bridge_max_documents:
            raise ValueError(
                "bridge_min_documents must be at least 2 and at most bridge_max_documents, not "
                f"{self.bridge_min_documents} of {self.bridge_max_documents}"
            )
        within = self.bridge_within
        if within is not None and not (isinstance(within, str) and within.strip()):
            raise ValueError(f"bridge_within must be a key of the metadata, not {within!r}")
        if self.compact_at <= 0:
            raise ValueError(f"compact_at must be above 0, not {self.compact_at}")
        if self.bridge_min_length < 1 or self.bridge_facts_per_document < 1:
            raise ValueError("bridge_min_length and bridge_facts_per_document must be at least 1")
