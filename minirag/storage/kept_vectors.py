"""Vectors that a provider was paid for and that are not committed yet: kept beside the index until they are."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, NamedTuple, Self

import numpy as np
import xxhash

from minirag.storage.replacing import disk_errors, replace_file, write_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HEAD = struct.Struct("<4sIIQ")  # magic, how many texts, dimensions, checksum of what follows: keys, then vectors
_MAGIC = b"mvec"
_KEY = 16  # bytes


class _Row(NamedTuple):
    """Where a vector lies in the file, in bytes."""

    offset: int
    dimensions: int


class KeptVectors:
    """`<name>.vectors` beside the index: a block for each batch of texts, with its own checksum.

    A block is with the operating system as soon as `put` returns, so a killed process loses none. A torn or damaged one
    is ignored, with all behind it. The texts themselves are not in it. The caller holds the writer's lock.

    Attributes:
        path: The file.
    """

    def __init__(self, index_path: Path) -> None:
        """Read where an interrupted run left which; nothing is created before the first `put`."""
        self.path = _path(index_path)
        self._rows, self._end = _scan(self.path)
        self._used: set[bytes] = set()
        self._file: IO[bytes] | None = None
        self._is_closed = False

    def __enter__(self) -> Self:
        """Nothing to do."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Keep the file, and write to it no more: the lock is about to be given back."""
        self._is_closed = True
        self._close()

    def __len__(self) -> int:
        """How many vectors it keeps."""
        return len(self._rows)

    def get(self, encoder: str, text: str) -> NDArray[np.int8] | None:
        """The vector of a text by the encoder of a fingerprint, `(dim,)`, quantised; None also once it is closed."""
        key = _key(encoder, text)
        row = self._rows.get(key)
        if row is None or self._is_closed:
            return None
        self._used.add(key)
        with self._disk_errors():
            return np.frombuffer(self._read(row), np.int8)

    def holds(self, encoder: str, text: str) -> bool:
        """Whether it keeps the vector of a text; nothing is opened for it."""
        return _key(encoder, text) in self._rows

    def put(self, encoder: str, texts: Sequence[str], vectors: NDArray[np.int8]) -> None:
        """Keep the vectors of a batch, `(len(texts), dim)`; nothing happens once it is closed.

        Raises:
            IndexWriteError: When the disk refuses.
        """
        if self._is_closed:
            return
        keys = [_key(encoder, text) for text in texts]
        with self._disk_errors(vectors.nbytes):
            file = self._open()
            file.seek(self._end)
            write_all(file, _block(keys, vectors.tobytes()))
        rows, self._end = _rows_of(keys, vectors.shape[1], start=self._end)
        self._rows.update(rows)
        self._used.update(keys)

    def forget(self) -> None:
        """After a commit: let go of what it used; what a run that was stopped left for others stays.

        Raises:
            IndexWriteError: When the disk refuses.
        """
        if not self._used:
            return
        with self._disk_errors():
            left = {key: row for key, row in self._rows.items() if key not in self._used}
            if left:
                replace_file(self.path, lambda file: self._copy(left, file))
            else:
                self._close()
                self.path.unlink(missing_ok=True)
        self._used.clear()
        self._rows, self._end = _scan(self.path)

    def discard(self) -> None:
        """Let go of all, as what was deleted might be among it.

        Raises:
            IndexWriteError: When the disk refuses.
        """
        self._used = set(self._rows)
        self.forget()

    def _copy(self, rows: Mapping[bytes, _Row], file: IO[bytes]) -> None:
        for key, row in rows.items():
            write_all(file, _block([key], self._read(row)))
        self._close()

    def _read(self, row: _Row) -> bytes:
        file = self._open()
        file.seek(row.offset)
        return file.read(row.dimensions)

    def _open(self) -> IO[bytes]:
        if self._file is None:
            self._file = self.path.open("r+b" if self.path.exists() else "w+b", buffering=0)
            self._file.truncate(self._end)
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def _disk_errors(self, needed: int = 0) -> AbstractContextManager[None]:
        kept = "The vectors that it holds already are kept, and so is the index's last commit"
        return disk_errors(self.path, kept=kept, needed=lambda: needed)


def keeps_vectors(index_path: Path) -> bool:
    """Whether there are any beside an index; links are not followed."""
    path = _path(index_path)
    return path.is_file() and path.stat().st_size > _HEAD.size


def _path(index_path: Path) -> Path:
    return index_path.with_name(index_path.name + ".vectors")


def _key(encoder: str, text: str) -> bytes:
    return xxhash.xxh3_128_digest(f"{encoder}\x1f{text}".encode("utf-8", "surrogatepass"))


def _block(keys: Sequence[bytes], vectors: bytes) -> bytes:
    body = b"".join(keys) + vectors
    return _HEAD.pack(_MAGIC, len(keys), len(vectors) // len(keys), xxhash.xxh3_64_intdigest(body)) + body


def _rows_of(keys: Sequence[bytes], dimensions: int, *, start: int) -> tuple[dict[bytes, _Row], int]:
    """Where the vectors of a block lie that starts there, and where it ends."""
    first = start + _HEAD.size + _KEY * len(keys)
    rows = {key: _Row(first + place * dimensions, dimensions) for place, key in enumerate(keys)}
    return rows, first + dimensions * len(keys)


def _scan(path: Path) -> tuple[dict[bytes, _Row], int]:
    """Where each vector lies, and where the last whole block ends."""
    rows: dict[bytes, _Row] = {}
    end = 0
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return rows, end
    with file:
        size = path.stat().st_size
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            magic, count, dimensions, checksum = _HEAD.unpack(head)
            length = count * (_KEY + dimensions)
            if magic != _MAGIC or length > size - end:
                break
            body = file.read(length)
            if len(body) < length or xxhash.xxh3_64_intdigest(body) != checksum:
                break
            keys = [body[start : start + _KEY] for start in range(0, count * _KEY, _KEY)]
            found, end = _rows_of(keys, dimensions, start=end)
            rows.update(found)
    return rows, end
