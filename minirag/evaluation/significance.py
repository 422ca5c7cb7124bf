"""Whether one run is better than another by more than chance: both over the same questions, compared in pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from minirag.errors import InputError
from minirag.evaluation.describing import describe_run, differing_conditions, is_same_variant
from minirag.evaluation.metrics import all_gold_at, mean, recall_at, reciprocal_rank
from minirag.evaluation.results import format_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from minirag.evaluation.results import QuestionResult, Run

COMPARISON_HEAD = ("data set", "run", "against", "by", "difference", "95 %", "p (bootstrap)", "p (t-test)")
FEWEST = 20  # questions, below which a p is not told
FEW = f"–: fewer than {FEWEST} questions, of which no p says anything"
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
        InputError: If the runs are of different data sets or scorings, or no question was scored by both.
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, not {rounds}")
    if first.dataset != second.dataset:
        raise InputError(f"a run over {first.dataset} and one over {second.dataset} have no questions in common")
    if first.scoring != second.scoring:
        rules = f"{first.scoring} and {second.scoring}"
        raise InputError(f"{first.dataset}: the runs are scored by different rules, {rules}, which compares the rules")
    mine, theirs = (_scores(run, metric) for run in (first, second))
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
    """Each run against the one that it is to be compared with, as a Markdown table; "" where there is none.

    By recall@5 where gold documents are known, and by F1 where answers were read. Differences are in points. Below
    `FEWEST` questions no p is given, which a note under the table says.
    """
    rows = comparison_rows(runs)
    if not rows:
        return ""
    table = format_table(COMPARISON_HEAD, rows, left=4)
    return f"{table}\n\n{FEW}." if any(is_without_p(row) for row in rows) else table


def comparison_rows(runs: Sequence[Run]) -> list[list[str]]:
    """The rows of `comparison_table`, under `COMPARISON_HEAD`.

    A run is compared with the first one that asked the same questions under the same conditions: models, prompts,
    encoder, who built the index, scoring. And with the first one of its own strategy and options under all but one of
    these (not another scoring), which their names then tell.
    """
    rows = []
    for number, second in enumerate(runs):
        for first in _compared_with(second, runs[:number]):
            for metric in ("recall@5", "f1"):
                if _have_in_common(first, second, metric):
                    rows.append(_row(first, second, compare(first, second, metric=metric), runs))
    return rows


def is_without_p(row: Sequence[str]) -> bool:
    """Whether a row has no p, for its questions are too few."""
    return row[-2] == "–"


def _compared_with(run: Run, earlier: Sequence[Run]) -> list[Run]:
    ids = {result.id for result in run.results}
    asked_alike = [
        other
        for other in earlier
        if (other.dataset, other.scoring) == (run.dataset, run.scoring) and {r.id for r in other.results} == ids
    ]
    differing = [(other, len(differing_conditions(run, other))) for other in asked_alike]
    alike = [other for other, count in differing if not count]
    nearly = [other for other, count in differing if count == 1 and is_same_variant(run, other)]
    return alike[:1] + nearly[:1]


def _have_in_common(first: Run, second: Run, metric: str) -> bool:
    mine, theirs = _scores(first, metric), _scores(second, metric)
    return any(score is not None and theirs.get(key) is not None for key, score in mine.items())


def _row(first: Run, second: Run, found: Comparison, runs: Sequence[Run]) -> list[str]:
    interval = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    names = [second.dataset, describe_run(second, runs), describe_run(first, runs), found.metric]
    is_enough = found.questions >= FEWEST
    ps = [_spell_p(p if is_enough else None) for p in (found.p_bootstrap, found.p_t_test)]
    return [*names, f"{100 * found.difference:+.1f}", interval, *ps]


def _spell_p(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


# --- scores --------------------------------------------------------------------------------------------------------


def _scores(run: Run, metric: str) -> dict[str, float | None]:
    """What each question of a run scores; None where the metric does not apply, or the run's scoring leaves it out."""
    score, is_of_gold = _score_by(metric), metric.partition("@")[0] in ("recall", "all_gold", "mrr")
    return {
        result.id: score(result) if run.counts_for_recall(result) or not is_of_gold else None for result in run.results
    }


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
