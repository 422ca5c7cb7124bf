"""Whether one run is better than another by more than chance: both over the same questions, compared in pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.errors import InputError
from minirag.evaluation.metrics import all_gold_at, mean, recall_at, reciprocal_rank
from minirag.evaluation.results import describe_run, format_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.evaluation.results import QuestionResult, Run

COMPARISON_HEAD = ("data set", "run", "against", "by", "difference", "95 %", "p (bootstrap)", "p (t-test)")
_BLOCK = 2**22  # question numbers drawn at a time
_STEPS, _TINY = 300, 1e-300  # of the continued fraction


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two runs by one metric.

    Attributes:
        metric: Which, as `compare` names them.
        questions: How many both runs scored.
        first: The first run's mean over them.
        second: The second run's.
        low: Lower end of the 95 % confidence interval of second − first, by bootstrap percentiles.
        high: Upper end.
        p_bootstrap: Two-sided p of no difference, by the paired bootstrap (Efron and Tibshirani 1993, chapter 16).
        p_t_test: Two-sided p of the paired t-test, which KiRAG's paper reports; None for fewer than two questions.
    """

    metric: str
    questions: int
    first: float
    second: float
    low: float
    high: float
    p_bootstrap: float
    p_t_test: float | None

    @property
    def difference(self) -> float:
        """How much better the second is."""
        return self.second - self.first

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, with `difference`."""
        return {**asdict(self), "difference": self.difference}


def compare(first: Run, second: Run, *, metric: str = "recall@5", rounds: int = 10_000, seed: int = 0) -> Comparison:
    """Compare two runs question by question.

    Args:
        first: The run to compare with.
        second: The run that may be better.
        metric: "recall@K", "all_gold@K", "answer_hit@K", "mrr", "em", "f1" or "accuracy".
        rounds: Bootstrap samples, at least 1; the smallest p that they can show is 1 / (rounds + 1).
        seed: Of the samples.

    Raises:
        ValueError: On an unknown metric or fewer than one round.
        InputError: If the runs are of different data sets, or no question was scored by both.
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds}")
    if first.dataset != second.dataset:
        raise InputError(f"a run over {first.dataset} and one over {second.dataset} have no questions in common")
    score = _score_by(metric)
    mine, theirs = ({result.id: score(result) for result in run.results} for run in (first, second))
    pairs = [(a, b) for key, a in mine.items() if a is not None and (b := theirs.get(key)) is not None]
    if not pairs:
        raise InputError(f"{first.dataset}: the runs have no question in common that {metric} scores")
    differences = np.array([b - a for a, b in pairs])
    drawn = _bootstrap(differences, rounds, seed)
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return Comparison(
        metric=metric,
        questions=len(pairs),
        first=mean(a for a, _ in pairs),
        second=mean(b for _, b in pairs),
        low=low,
        high=high,
        p_bootstrap=_two_sided(drawn),
        p_t_test=paired_t_test(differences.tolist()),
    )


def paired_t_test(differences: list[float]) -> float | None:
    """The two-sided p of Student's paired t-test; None for fewer than two differences.

    Args:
        differences: One per pair.
    """
    count = len(differences)
    if count < 2:
        return None
    centre = mean(differences)
    variance = math.fsum((each - centre) ** 2 for each in differences) / (count - 1)
    if variance == 0:
        return 1.0 if centre == 0 else 0.0
    freedom = count - 1
    t_squared = centre**2 / (variance / count)
    return _incomplete_beta(freedom / (freedom + t_squared), freedom / 2, 0.5)


def comparison_table(runs: Sequence[Run]) -> str:
    """Each run against the first one over its data set, as a Markdown table; "" where there is nothing to compare.

    By recall@5 where gold documents are known, and by F1 where answers were read. Differences are in points.
    """
    rows = comparison_rows(runs)
    return format_table(COMPARISON_HEAD, rows, left=4) if rows else ""


def comparison_rows(runs: Sequence[Run]) -> list[list[str]]:
    """The rows of `comparison_table`, under `COMPARISON_HEAD`."""
    rows = []
    for second in runs:
        first = next(run for run in runs if run.dataset == second.dataset)
        for metric in ("recall@5", "f1"):
            if second is not first and _is_scored(first, metric) and _is_scored(second, metric):
                rows.append(_row(first, second, compare(first, second, metric=metric)))
    return rows


def _is_scored(run: Run, metric: str) -> bool:
    score = _score_by(metric)
    return any(score(result) is not None for result in run.results)


def _row(first: Run, second: Run, found: Comparison) -> list[str]:
    interval = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    names = [second.dataset, describe_run(second), describe_run(first), found.metric]
    ps = [_spell_p(found.p_bootstrap), _spell_p(found.p_t_test)]
    return [*names, f"{100 * found.difference:+.1f}", interval, *ps]


def _spell_p(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


# --- scores --------------------------------------------------------------------------------------------------------


def _score_by(metric: str) -> Callable[[QuestionResult], float | None]:
    """What a question scores; None where the metric does not apply to it."""
    name, _, depth = metric.partition("@")
    k = int(depth) if depth.isdecimal() else 0
    if name in ("em", "f1", "accuracy") and not depth:
        return lambda result: getattr(result, name)
    if name == "mrr" and not depth:
        return lambda result: reciprocal_rank(result.ranks) if result.ranks else None
    if k >= 1 and name == "recall":
        return lambda result: recall_at(result.ranks, k) if result.ranks else None
    if k >= 1 and name == "all_gold":
        return lambda result: all_gold_at(result.ranks, k) if result.ranks else None
    if k >= 1 and name == "answer_hit":
        return lambda result: recall_at((result.answer_rank,), k)
    raise ValueError(f"unknown metric {metric!r}; there are recall@K, all_gold@K, answer_hit@K, mrr, em, f1, accuracy")


# --- statistics ----------------------------------------------------------------------------------------------------


def _bootstrap(differences: NDArray[np.float64], rounds: int, seed: int) -> NDArray[np.float64]:
    """Means of samples drawn with replacement, `(rounds,)`."""
    dice, count = np.random.default_rng(seed), len(differences)
    block = max(1, _BLOCK // count)
    sizes = [min(block, rounds - done) for done in range(0, rounds, block)]
    return np.concatenate([differences[dice.integers(0, count, (size, count))].mean(axis=1) for size in sizes])


def _two_sided(drawn: NDArray[np.float64]) -> float:
    rounds = len(drawn)
    tail = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    return min(1.0, 2 * (tail + 1) / (rounds + 1))


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), from which Student's distribution follows."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # there the fraction converges slowly
        return 1 - _incomplete_beta(1 - x, b, a)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) / a / _continued_fraction(x, a, b)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """1 + d1 / (1 + d2 / (1 + …)), DLMF 8.17.22, by Lentz's method."""
    value, numerators, denominators = 1.0, 1.0, 0.0
    for step in range(1, _STEPS):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        numerators = 1 + term / numerators or _TINY
        denominators = 1 / (1 + term * denominators or _TINY)
        change = numerators * denominators
        value *= change
        if abs(change - 1) < 1e-15:
            break
    return value
