"""Vectors as 8-bit integers, and the exact and the graph search over them.

A unit vector is stored as signed bytes with its own scale, 127 over its largest component. Cosine similarity does not
see the scale, so it is not kept, and any usearch reads the matrix as it is. Against float32 the cosine is off by less
than 0.001 on average and 0.003 at most (`tests/test_vectors.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Found: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.float32]]"  # rows and their cosines, best first

# Measured (`minirag bench 2wiki --scaling FILE`, the README's table of growth): exact and graph search take 0.1 ms each
# over 873 units, 0.5 and 0.2 over 9,422, 6.6 and 2.4 over 99,446; the graph misses a neighbour in 200 or less. Up to
# some thousand units the exact pass costs a tenth of encoding the question at most, and misses nothing.
EXACT_LIMIT = 5_000
_EXPANSION_ADD = 128
# Links per row, and how many rows a search keeps in view. Few take little room, and lose their way in large graphs:
# of the ten nearest among 195,000 rows in clusters of 65, 16 links and 256 rows find 72 %, 32 and 768 99 %.
_CONNECTIVITY, _LARGE_CONNECTIVITY, _LARGE = 8, 32, 50_000
_EXPANSION_SEARCH, _LARGE_EXPANSION_SEARCH = 256, 768
# And for each row that is asked for, as a strategy asks for many: of the 80 nearest among 30,727 units of MuSiQue, 256
# rows in view find 97.5 %, 768 99.6 % (of the ten nearest 99.4 and 99.9 %), and `indexrag` a point more of recall@5.
_VIEWED_FOR_EACH = 10
# Where that is a sixteenth of all rows, looking at all takes hardly longer.
_MOST_VIEWED = 1 / 16


def quantise(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Unit vectors `(n, dim)` as bytes `(n, dim)`; a zero vector stays zero."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=1e-12)
    quantised: NDArray[np.int8] = np.rint(vectors * (127.0 / largest)).astype(np.int8)
    return quantised


def search_exact(matrix: NDArray[np.int8], query: NDArray[np.int8], k: int) -> Found:
    """The k nearest rows by cosine, best first.

    Args:
        matrix: `(n, dim)`, contiguous; n may be 0.
        query: `(dim,)`.
        k: How many at most, at least 1.

    Returns:
        Rows and their cosine similarities, both `(min(k, n),)`.
    """
    count = min(k, len(matrix))
    if count == 0:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    from usearch.compiled import MetricKind
    from usearch.index import search

    found = search(matrix, query, count, MetricKind.Cos, exact=True)
    return found.keys.astype(np.int64), 1.0 - found.distances.astype(np.float32)


def search_valid(matrix: NDArray[np.int8], query: NDArray[np.int8], k: int, valid: NDArray[np.bool_] | None) -> Found:
    """`search_exact` among the rows of a mask `(n,)`; None is all. Few are copied out, of most more are asked for."""
    if valid is None:
        return search_exact(matrix, query, k)
    rows = np.flatnonzero(valid)
    if 2 * len(rows) > len(matrix):
        return ask_for_more(lambda most: search_exact(matrix, query, most), k, valid)
    places, cosines = search_exact(matrix[rows], query, k)
    return rows[places], cosines


def best_of(found: Sequence[Found], k: int) -> Found:
    """The k best of what was found in several places, best first."""
    rows = np.concatenate([np.empty(0, np.int64), *(each for each, _ in found)])
    cosines = np.concatenate([np.empty(0, np.float32), *(each for _, each in found)])
    best = np.argsort(-cosines, kind="stable")[:k]
    return rows[best], cosines[best]


def ask_for_more(search: Callable[[int], Found], k: int, valid: NDArray[np.bool_]) -> Found:
    """Search until k of the rows found are in the mask `(n,)`, or no more are there."""
    asked, most = k, len(valid)
    while True:
        rows, cosines = search(asked)
        kept = valid[rows]
        if int(kept.sum()) >= k or asked >= most:
            return rows[kept][:k], cosines[kept][:k]
        asked = min(most, asked * 4)


def similarities(matrix: NDArray[np.int8], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosine of each row of `(n, dim)` with a unit vector `(dim,)`, for a handful of rows."""
    rows = matrix.astype(np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.asarray(rows @ query / np.maximum(norms, 1e-12), np.float32)


def build_graph(matrix: NDArray[np.int8]) -> bytes:
    """A serialised usearch index whose keys are the rows of the matrix `(n, dim)`; n may be 0.

    Built on one thread, so the same vectors give the same bytes and the rows lie in order (`stored_matrix`).
    """
    from usearch.index import Index

    graph = Index(
        ndim=matrix.shape[1],
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY if len(matrix) <= _LARGE else _LARGE_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_SEARCH,
    )
    if len(matrix):
        graph.add(np.arange(len(matrix), dtype=np.uint64), matrix, threads=1)
    blob: Any = graph.save()
    return bytes(blob)


def stored_matrix(blob: memoryview | bytes, *, rows: int, dimensions: int) -> NDArray[np.int8] | None:
    """The matrix inside a serialised usearch index, without a copy, or None where a usearch lays it out otherwise.

    usearch writes the numbers of rows and columns as two 32-bit integers, then the rows.
    """
    if len(blob) < 8 or tuple(np.frombuffer(blob, "<u4", 2)) != (rows, dimensions):
        return None
    return np.frombuffer(blob, np.int8, rows * dimensions, 8).reshape(rows, dimensions)


def rows_in_view(rows: int) -> int:
    """How many rows a search of a graph over so many keeps in view (usearch's expansion)."""
    return _EXPANSION_SEARCH if rows <= _LARGE else _LARGE_EXPANSION_SEARCH


class Graph:
    """Approximate search over a usearch index that lies in a mapped file.

    The buffer must stay mapped as long as this lives, and its checksum must have held: usearch crashes the process on
    a damaged graph.
    """

    def __init__(self, blob: memoryview, dimensions: int, *, rows: int) -> None:
        """View the bytes, a graph over so many rows; nothing is copied."""
        from usearch.index import Index

        self._blob, self._rows = blob, rows
        self._index: Any = Index(ndim=dimensions, metric="cos", dtype="i8", expansion_search=rows_in_view(rows))
        self._index.view(blob)

    def is_worth_it(self, k: int) -> bool:
        """Whether a search for so many looks at far fewer rows than there are."""
        return _VIEWED_FOR_EACH * k <= self._rows * _MOST_VIEWED

    @property
    def rows_in_view(self) -> int:
        """How many rows a search keeps in view, as usearch has it."""
        return int(self._index.expansion_search)

    def search(self, query: NDArray[np.int8], k: int) -> Found:
        """As `search_exact`, but a true neighbour may be missed now and then."""
        # As many rows are in view as usearch is asked for: its own setting is one for all threads.
        found = self._index.search(query, min(_VIEWED_FOR_EACH * k, self._rows))
        count = min(k, len(found))
        return found.keys[:count].astype(np.int64), 1.0 - found.distances[:count].astype(np.float32)
