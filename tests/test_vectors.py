import threading

import numpy as np
import pytest
from numpy.typing import NDArray
from usearch.index import Index

from minirag.storage.vectors import (
    Graph,
    build_graph,
    quantise,
    search_exact,
    search_valid,
    similarities,
    stored_matrix,
)

Vectors = NDArray[np.float32]


@pytest.fixture(scope="module")
def unit() -> Vectors:
    vectors = np.random.default_rng(1).normal(size=(2_000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def test_bytes_keep_the_cosine(unit: Vectors) -> None:
    rows, scores = search_exact(quantise(unit), quantise(unit[:1])[0], 2_000)
    assert rows[0] == 0
    off = np.abs(scores - (unit @ unit[0])[rows])
    assert float(off.mean()) < 0.001
    assert float(off.max()) < 0.003
    assert float(np.abs(similarities(quantise(unit[:50]), unit[0]) - unit[:50] @ unit[0]).max()) < 0.003


def test_zero_stays_zero() -> None:
    assert quantise(np.zeros((1, 4), np.float32)).tolist() == [[0, 0, 0, 0]]
    assert quantise(np.zeros((0, 4), np.float32)).shape == (0, 4)


def test_searching_nothing_finds_nothing() -> None:
    rows, scores = search_exact(np.empty((0, 4), np.int8), np.ones(4, np.int8), 5)
    assert (len(rows), len(scores)) == (0, 0)


def test_a_graph_holds_its_matrix_and_finds_most(unit: Vectors) -> None:
    matrix = quantise(unit)
    blob = build_graph(matrix)
    stored = stored_matrix(blob, rows=2_000, dimensions=384)
    assert stored is not None
    assert (stored == matrix).all()
    assert stored_matrix(blob, rows=1_999, dimensions=384) is None
    assert build_graph(matrix) == blob
    graph = Graph(memoryview(blob), 384, rows=len(matrix))
    found = [
        set(graph.search(row, 10)[0].tolist()) & set(search_exact(matrix, row, 10)[0].tolist()) for row in matrix[:50]
    ]
    assert sum(map(len, found)) > 400


def test_who_asks_a_graph_for_many_gets_nearly_all(unit: Vectors) -> None:
    """With no more rows in view than for ten, it would miss one in thirteen of these."""
    matrix = quantise(unit)
    graph = Graph(memoryview(build_graph(matrix)), 384, rows=len(matrix))
    found = [
        len({*graph.search(row, 80)[0].tolist()} & {*search_exact(matrix, row, 80)[0].tolist()}) for row in matrix[:30]
    ]
    assert sum(found) > 0.97 * 80 * 30
    assert [len(graph.search(matrix[0], k)[0]) for k in (1, 80, 2_000, 3_000)] == [1, 80, 2_000, 2_000]


def test_a_graph_is_worth_it_where_it_looks_at_few_of_its_rows(unit: Vectors) -> None:
    matrix = quantise(unit)
    graph = Graph(memoryview(build_graph(matrix)), 384, rows=len(matrix))
    assert [graph.is_worth_it(k) for k in (1, 12, 13, 2_000)] == [True, True, False, False]


def test_sixteen_threads_search_one_graph(unit: Vectors) -> None:
    matrix = quantise(unit)
    graph = Graph(memoryview(build_graph(matrix)), 384, rows=len(matrix))
    expected = [graph.search(row, 5)[0].tolist() for row in matrix[:40]]
    found: list[list[list[int]]] = []

    def search() -> None:
        found.append([graph.search(row, 5)[0].tolist() for row in matrix[:40]])

    threads = [threading.Thread(target=search) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 16


@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 0.9, 1.0])
def test_among_some_rows_the_nearest_are_found_exactly(unit: Vectors, share: float) -> None:
    matrix, query = quantise(unit), quantise(unit[7:8])[0]
    valid = np.random.default_rng(3).random(2_000) < share
    every, cosines = search_exact(matrix, query, 2_000)
    kept = valid[every]
    for k in (1, 10, 2_000):
        rows, found = search_valid(matrix, query, k, valid)
        assert rows.tolist() == every[kept][:k].tolist()
        assert found.tolist() == cosines[kept][:k].tolist()


@pytest.mark.slow
def test_a_large_graph_has_more_links_and_keeps_more_rows_in_view(unit: Vectors) -> None:
    """Rows of eight components, so that building takes seconds; usearch itself says what it was given."""
    small, large = quantise(unit), quantise(np.random.default_rng(2).normal(size=(50_001, 8)).astype(np.float32))
    told = []
    for matrix in (small, large):
        blob = memoryview(build_graph(matrix))
        graph = Graph(blob, matrix.shape[1], rows=len(matrix))
        restored = Index.restore(blob)
        assert restored is not None
        told.append((restored.connectivity, graph.rows_in_view))
    assert told == [(8, 256), (32, 768)]
