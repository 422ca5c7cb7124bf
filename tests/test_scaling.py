from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirag import Index
from minirag.errors import InputError
from minirag.evaluation.datasets import Dataset, load_dataset
from minirag.evaluation.querying import measure_queries
from minirag.evaluation.runs import build_index
from minirag.evaluation.scaling import ScalePoint, Scaling, read_scaling, run_scaling
from minirag.evaluation.synthetic import grow

DEMO = load_dataset(Path(__file__).parents[1] / "minirag" / "demo")
POINT = ScalePoint(
    1000, 990, 300, 1200, 2_500_000, 1.25, None, 0.01, 80_000_000, 0.004, *(0.001, 0.0002, 0.995), *[0.1] * 3
)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scaling") / "demo.usearch"
    build_index(DEMO, path, model="offline", progress=False)
    return path


def test_copies_stand_beside_the_real_index(real: Path, tmp_path: Path) -> None:
    with Index(real, mode="r", model="offline") as small:
        info, units = small.info(), small.snapshot.segments[0].unit_vectors.astype(float)
        found = small.search(DEMO.questions[0].text, k=3)
    whole = info.facts + info.bridges
    counts = grow(real, tmp_path / "large.usearch", 2 * whole + whole // 3)
    with Index(tmp_path / "large.usearch", mode="r", model="offline") as large:
        held = large.info()
        assert {name: getattr(held, name) for name in counts} == counts
        assert (held.segments, counts["documents"]) == (1, 55)
        assert 2.2 * whole < held.facts + held.bridges < 2.4 * whole
        # The real documents are as they were, and a copy's names are its own.
        assert large.document_ids()[: info.documents] == [document.id for document in DEMO.documents]
        assert large.document_ids()[info.documents] == f"{DEMO.documents[0].id}~1"
        assert held.bridge_entities > info.bridge_entities
        assert all(hit.id in {each.id for each in large.search(DEMO.questions[0].text, k=9)} for hit in found)
        copies = large.snapshot.segments[0].unit_vectors.astype(float)
        assert all(
            large.passage(p).document_id.endswith("~1")
            for p in large.snapshot.segments[0].bridge(info.bridges).passage_ids
        )
    first, second = copies[: info.facts], copies[info.facts : 2 * info.facts]
    assert np.array_equal(first, units[: info.facts])
    cosines = (first * second).sum(axis=1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    assert 0.8 < cosines.mean() < 0.86


def test_an_index_that_grows_verifies(real: Path, tmp_path: Path) -> None:
    grow(real, tmp_path / "large.usearch", 30)
    assert Index.verify(tmp_path / "large.usearch").whole


def test_queries_are_measured(real: Path) -> None:
    found = measure_queries(real, [question.text for question in DEMO.questions[:3]])
    assert found.pop("graph_recall") > 0.9
    assert all(0 < seconds < 10 for seconds in found.values())


def test_a_stopped_run_goes_on(real: Path, tmp_path: Path) -> None:
    output = tmp_path / "scaling.json"
    first = run_scaling(DEMO, output, index=real, sizes=[40], questions=2, progress=False)
    both = run_scaling(DEMO, output, index=real, sizes=[40, 80], questions=2, progress=False)
    assert both.points[0] == first.points[0]
    assert [point.asked for point in read_scaling(output).points] == [40, 80]
    assert both.points[1].units > both.points[0].units
    assert both.points[1].file_bytes > both.points[0].file_bytes
    assert [path.name for path in tmp_path.iterdir()] == ["scaling.json"]


def test_figures_of_something_else_are_not_mixed_in(real: Path, tmp_path: Path) -> None:
    """Neither of another data set, index, encoder or machine, nor of who knows what, as in files of before."""
    output, machine = tmp_path / "scaling.json", {"processor": "x", "minirag": "1"}
    given: dict[str, Any] = {"index": real, "sizes": [40], "questions": 2, "progress": False, "machine": machine}
    first = run_scaling(DEMO, output, **given)
    assert first.source.keys() == {"questions", "content", "encoder", "encoder_fingerprint"}
    kept = output.read_bytes()
    assert run_scaling(DEMO, output, **given) == first == read_scaling(output)
    small = tmp_path / "small.usearch"
    build_index(replace(DEMO, documents=DEMO.documents[:5]), small, model="offline", progress=False)
    others: list[tuple[Dataset, dict[str, Any], str]] = [
        (replace(DEMO, name="other"), {}, r"\(data set 'demo', now 'other'\)"),
        (replace(DEMO, questions=DEMO.questions[1:]), {}, r"\(questions '\w+', now '\w+'\)"),
        (DEMO, {"index": small}, r"\(content '\w+', now '\w+'\)"),
        (replace(DEMO, documents=DEMO.documents[:5]), {"index": None}, r"\(content '\w+', now '\w+'\)"),
        (
            DEMO,
            {"machine": {"processor": "y", "minirag": "1", "cores": 2}},
            r"\(processor 'x', now 'y'; cores None, now 2",
        ),
        (DEMO, {"machine": {"processor": "x", "minirag": "2"}}, r"\(minirag '1', now '2'\)"),
    ]
    for dataset, changed, told in others:
        for sizes in ([40], [40, 80]):
            with pytest.raises(InputError, match=rf"scaling\.json: holds figures of something else {told}"):
                run_scaling(dataset, output, **{**given, **changed, "sizes": sizes})
    assert output.read_bytes() == kept
    untold = json.loads(kept)
    del untold["scaling"]["source"]
    output.write_text(json.dumps(untold))
    with pytest.raises(InputError, match=r"\(questions None, now '\w+'\)"):
        run_scaling(DEMO, output, **given)


def test_what_cannot_grow(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="demo has no corpus to grow an index from"):
        run_scaling(replace(DEMO, documents=()), tmp_path / "x.json", progress=False)
    (tmp_path / "x.json").write_text('{"runs": []}')
    with pytest.raises(InputError, match=r"x\.json: is no file of scaling"):
        read_scaling(tmp_path / "x.json")


def test_table_and_json() -> None:
    found = Scaling("films", (POINT,), {"cores": 2})
    assert Scaling.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert [cell.strip() for cell in found.table().splitlines()[2].split("|")[1:-1]] == [
        *("990", "300", "1,200", "2.5", "1.2", "?", "10.0", "80", "4.00", "1.00", "0.20", "99.5 %"),
        *("100.00", "100.00", "100.00"),
    ]
