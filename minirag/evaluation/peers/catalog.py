"""Which peers are measured, and what each needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from minirag.errors import InputError
from minirag.version import __version__


@dataclass(frozen=True, slots=True)
class Peer:
    """One library, or one way of using it.

    Attributes:
        name: As `--peer` takes it, and as the table shows it.
        runner: The module of `minirag.evaluation.peers.runners` that drives it; two peers may share one.
        requirements: What pip installs for it; their size is the size of its installation.
        thinks: Whether an LLM is called while it indexes; it is then measured on the smaller corpus only.
        encodes: Whether it takes vectors from minirag's encoder.
    """

    name: str
    runner: str
    requirements: tuple[str, ...]
    thinks: bool = False
    encodes: bool = True


PACKAGE = Path(__file__).parents[2]  # this very minirag
_OURSELVES = "minirag"
# What minirag's encoder needs beside the package; not counted in a peer's size.
ENCODER_REQUIREMENTS = ("numpy", "onnxruntime", "tokenizers", "xxhash")
PEERS = (
    Peer("bm25s", "bm25s", ("bm25s", "PyStemmer"), encodes=False),
    Peer("chromadb", "chromadb", ("chromadb",)),
    Peer("lancedb", "lancedb", ("lancedb",)),
    # Many Pythons are built without what loads extensions into their SQLite.
    Peer("sqlite-vec", "sqlite_vec", ("sqlite-vec", "pysqlite3-binary; sys_platform == 'linux'")),
    Peer("minirag", "minirag", (_OURSELVES,)),
    Peer("minirag (LLM)", "minirag", (_OURSELVES,), thinks=True),
    Peer("lightrag-hku", "lightrag", ("lightrag-hku", "openai"), thinks=True),
    Peer("nano-graphrag", "nano_graphrag", ("nano-graphrag",), thinks=True),
    # With a newer sentencepiece, 0.0.5 does not import: they disagree on protobuf.
    Peer("fast-graphrag", "fast_graphrag", ("fast-graphrag", "sentencepiece<0.2.1"), thinks=True),
)


def find_peers(names: Sequence[str]) -> tuple[Peer, ...]:
    """The peers of these names, in the catalog's order; all of them for no name.

    Raises:
        InputError: If there is no peer of a name.
    """
    known = {peer.name: peer for peer in PEERS}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"there is no peer {unknown[0]!r}, only {', '.join(map(repr, known))}")
    return tuple(peer for peer in PEERS if not names or peer.name in names)


def pip_requirements(peer: Peer) -> list[str]:
    """What to tell pip: minirag is what this process runs, a checkout or the same version."""
    return [_this_minirag() if name == _OURSELVES else name for name in peer.requirements]


def _this_minirag() -> str:
    checkout = PACKAGE.parent
    return str(checkout) if (checkout / "pyproject.toml").exists() else f"minirag=={__version__}"
