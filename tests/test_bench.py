from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from minirag.errors import InputError, MiniragError
from minirag.evaluation.bench import QUICK, Bench, Effort, run_bench
from minirag.evaluation.fresh import peak_memory, run_fresh, run_yardstick, time_import
from minirag.evaluation.measurements import Measurement, compare_recall
from minirag.evaluation.results import QuestionResult, Run

SHIPPED = Path(__file__).parents[1] / "minirag" / "model"


def test_bounds() -> None:
    assert Measurement("x", 3.0, "×", 3.0).holds
    assert not Measurement("x", 3.01, "×", 3.0).holds
    assert Measurement("x", 60.0, "%", 60.0, "at least").holds
    assert not Measurement("x", 59.9, "%", 60.0, "at least").holds


def test_table_and_json() -> None:
    measurements = (
        Measurement("import", 1.234, "×", 3.0, details={"minirag_ms": 12.34, "rounds": 1100}),
        Measurement("inside onnxruntime", 55.0, "%", 60.0, "at least", {"peak_memory_mb": None}),
    )
    bench = Bench("films", Effort(), measurements, (), {"cores": 2})
    assert bench.table() == (
        "| what               | measured | limit           | holds | behind it                     |\n"
        "| ------------------ | -------- | --------------- | ----- | ----------------------------- |\n"
        "| import             | 1.23 ×   | at most 3.00 ×  | yes   | minirag_ms 12.3, rounds 1,100 |\n"
        "| inside onnxruntime | 55.0 %   | at least 60.0 % | no    | peak_memory_mb unknown        |"
    )
    assert bench.to_dict() == {
        "dataset": "films",
        "quick": False,
        "holds": False,
        "measurements": [
            {
                "what": "import",
                "measured": 1.234,
                "unit": "×",
                "limit": 3.0,
                "bound": "at most",
                "details": {"minirag_ms": 12.34, "rounds": 1100},
                "holds": True,
            },
            {
                "what": "inside onnxruntime",
                "measured": 55.0,
                "unit": "%",
                "limit": 60.0,
                "bound": "at least",
                "details": {"peak_memory_mb": None},
                "holds": False,
            },
        ],
        "runs": [],
        "machine": {"cores": 2},
    }


def test_of_a_quick_run_limits_do_not_count() -> None:
    bench = Bench("films", QUICK, (Measurement("import", 4.0, "×", 3.0),), (), {})
    assert bench.table().splitlines()[2] == "| import | 4.00 ×   | at most 3.00 × | not counted |           |"
    assert bench.to_dict()["quick"] is True


def run_of(strategy: str, *ranks: int | None) -> Run:
    results = tuple(QuestionResult(f"q{n}", ranks=(rank,)) for n, rank in enumerate(ranks))
    return Run("films", strategy, "offline", results, 1, 1)


def test_recall_is_compared() -> None:
    measurement = compare_recall(run_of("naive", 1, 10, 11, None), run_of("indexrag", 1, 2, 3, 11))
    assert measurement == Measurement(
        "recall@10: IndexRAG above naive",
        25.0,
        "points",
        0.0,
        "at least",
        {"naive_percent": 50.0, "indexrag_percent": 75.0},
    )
    without_gold = Run("films", "naive", "offline", (QuestionResult("q"),), 1, 1)
    assert compare_recall(without_gold, without_gold) is None


def test_a_fresh_process_that_fails_is_an_error() -> None:
    with pytest.raises(MiniragError, match=r"ended with status 1: [\s\S]*KeyError: 'nothing'"):
        run_fresh("nothing")
    with pytest.raises(MiniragError, match=r"ended with status 1: [\s\S]*No module named 'no_such_module'"):
        time_import("no_such_module")


def test_fresh_processes_are_timed() -> None:
    assert 0 < time_import("json") < 60
    assert 0 < run_yardstick(SHIPPED, "Where was Henry Edwards born?") < 60


def test_peak_memory() -> None:
    peak = peak_memory()
    if os.name == "posix":
        assert peak is not None
        assert 1_000_000 < peak < 1_000_000_000_000


def test_broken_data_set_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds neither questions"):
        run_bench(tmp_path, quick=True, progress=False)


@pytest.mark.slow
def test_quick_bench_of_the_demo() -> None:
    bench = run_bench(quick=True, progress=False)
    entry = json.loads(json.dumps(bench.to_dict()))
    assert (entry["dataset"], entry["quick"]) == ("demo", True)
    units = [measurement["unit"] for measurement in entry["measurements"]]
    assert units == ["×", "%", "MB", "×", "×", "×", "points", "×", "×", "×", "%", "×", "passages"]
    assert all(m["measured"] > 0 for m in entry["measurements"] if m["unit"] not in ("points", "passages"))
    assert entry["measurements"][-1]["measured"] == 0
    assert entry["measurements"][1]["details"]["passages_per_second"] > 0
    assert entry["measurements"][2]["details"]["passages"] == 24
    assert [(run["strategy"], run["questions"], run["passages"]) for run in entry["runs"]] == [
        ("naive", 5, 24),
        ("indexrag", 5, 24),
    ]
    assert entry["machine"]["cores"] == os.cpu_count()
    assert bench.table().count("\n") == 14
