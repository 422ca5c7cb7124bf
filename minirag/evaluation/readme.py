"""The README's results, written from what was measured, so that no figure there is typed.

`python -m minirag.evaluation.readme README.md FOLDER` takes the files that `minirag.evaluation.measuring` left (or any
runs, bench and growth), keeps a summary of them in this package (`measured.json`), and writes the section between the
README's two marks. Without a FOLDER the section is written from the summary that is there; a test does the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from minirag.errors import InputError
from minirag.evaluation.encoders import STRATEGIES, find_runs
from minirag.evaluation.measuring import DATASETS, PARTS, READ, TRIPLES, WITH_TRIPLES
from minirag.evaluation.report.published import KIRAG, figure_of
from minirag.evaluation.results import DEPTHS, format_table
from minirag.evaluation.sections import Marks, write_both
from minirag.evaluation.speed_section import render_speed
from minirag.evaluation.summaries import COMPARED, NAMES, Summary, find_missing, find_run, summarise, tabulate
from minirag.evaluation.variants import Variant
from minirag.telling import Script

SUMMARY = Path(__file__).with_name("measured.json")
BEGIN = "<!-- measured: begin. Written by `python -m minirag.evaluation.readme`, do not edit -->"
END = "<!-- measured: end -->"
MARKS = Marks(BEGIN, END)


# --- the section ---------------------------------------------------------------------------------------------------


def render(measured: Summary) -> str:
    """The section's Markdown, without the marks."""
    parts = [_conditions(measured), _quality(measured), _parts(measured), _triples(measured), _encoders(measured)]
    return "\n\n".join(part for part in (*parts, *render_speed(measured)) if part)


def _conditions(measured: Summary) -> str:
    machine = (measured["bench"] or measured["scaling"] or {"machine": {}})["machine"]
    runs = [run for run in measured["runs"] if run["dataset"] in DATASETS]
    encoders = ", ".join(dict.fromkeys(run["encoder"] for run in runs))
    sizes = {NAMES[run["dataset"]]: (run["questions"], run["passages"]) for run in runs}
    told = ", ".join(f"{name} {count:,} over {passages:,} passages" for name, (count, passages) in sizes.items())
    where = f", on {machine['cores']} cores of an {machine['processor']}" if machine else ""
    return (
        f"All offline, with the encoder {encoders}{where}. Questions: {told}. Each cell is recall@"
        f"{' / '.join(map(str, DEPTHS))} in percent: the share of the gold passages among the first k, over all "
        "questions."
    )


def _quality(measured: Summary) -> str:
    table = tabulate(measured, READ, DATASETS, _recalls)
    theirs = " / ".join(f"{figure_of(name, 'KiRAG', 'recall@5'):g}" for name in DATASETS)
    answers = tabulate(measured, READ, DATASETS, _answers)
    return "\n\n".join(
        [
            table,
            f"{KIRAG} reports {theirs} at recall@5.",
            _differences(measured),
            "All gold passages among the first five, and the mean reciprocal rank of the first one, in percent:",
            tabulate(measured, READ, DATASETS, _all_gold),
            "Exact match / F1 of the offline reader, which is where an LLM belongs:",
            answers,
        ]
    )


def _differences(measured: Summary) -> str:
    rows = []
    for first, second in COMPARED:
        found = {each["dataset"]: each for each in measured["comparisons"] if each["of"] == second}
        if found:
            rows.append([f"`{second}` above `{first}`", *(_difference(found.get(name)) for name in DATASETS)])
    head = ["recall@5, points (95 % interval)", *(NAMES[name] for name in DATASETS)]
    return format_table(head, rows, left=len(head))


def _difference(found: Summary | None) -> str:
    if found is None:
        return "–"
    p = max(found["p_bootstrap"], found["p_t_test"] or 0.0)
    told = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"{100 * found['difference']:+.1f} ({100 * found['low']:+.1f} to {100 * found['high']:+.1f}), {told}"


def _parts(measured: Summary) -> str:
    rows = tabulate(measured, (("`kirag`", Variant("kirag")), *PARTS), DATASETS, _recalls)
    return f"What each part of `kirag` contributes (`--no-read`, with the options in the table):\n\n{rows}"


def _triples(measured: Summary) -> str:
    runs = [run for run in measured["runs"] if run["dataset"] == WITH_TRIPLES]
    if not runs:
        return ""
    rows = [(label, find_run(measured, WITH_TRIPLES, variant)) for label, variant in TRIPLES]
    table = format_table(["", "recall"], [[label, _recalls(run)] for label, run in rows], left=2)
    return (
        f"{runs[0]['questions']:,} questions of 2Wiki over {runs[0]['passages']:,} passages, some of which come with "
        "triples that an LLM extracted (a data set's `triples.json` takes the place of extraction):\n\n" + table
    )


def _encoders(measured: Summary) -> str:
    """The shipped encoder beside others, as far as they were measured."""
    others = measured.get("encoders", [])
    if not others:
        return ""
    shipped = [run for run in measured["runs"] if run["dataset"] in DATASETS and not run["options"]]
    rows = []
    for strategy in STRATEGIES:
        of_it = [run for run in (*shipped, *others) if run["strategy"] == strategy]
        for encoder in dict.fromkeys(run["encoder"] for run in of_it):
            # Of the shipped one the copies, too, where they were measured: a copy's graph is made in one go.
            found = {run["dataset"]: run for run in of_it if run["encoder"] == encoder}
            rows.append([f"`{strategy}`, {encoder}", *(_recalls(found.get(name)) for name in DATASETS)])
    table = format_table(["", *(NAMES[name] for name in DATASETS)], rows, left=1 + len(DATASETS))
    return (
        "What the training of the encoder brings (`python -m minirag.evaluation.measuring DATA runs --part encoders "
        "--encoder FOLDER…`, over copies of the same indexes). `untrained` is the base; the others were trained as the "
        "shipped one but for what their names say (`minirag train … --set negatives=0 --set passage_negatives=0`, "
        "`--set chain_queries=false`). All 8-bit forms are rounded by the texts that the shipped one's training left "
        f"(`python -m minirag.training.export WEIGHTS FOLDER --texts texts.txt`):\n\n{table}"
    )


# --- cells ---------------------------------------------------------------------------------------------------------


def _recalls(run: Summary | None) -> str:
    if run is None or run["recall"]["5"] is None:
        return "–"
    return " / ".join(f"{100 * run['recall'][str(k)]:.1f}" for k in DEPTHS)


def _all_gold(run: Summary | None) -> str:
    if run is None or run["all_gold_at_5"] is None:
        return "–"
    return f"{100 * run['all_gold_at_5']:.1f} / {100 * run['mrr']:.1f}"


def _answers(run: Summary | None) -> str:
    return "–" if run is None or run["em"] is None else f"{100 * run['em']:.1f} / {100 * run['f1']:.1f}"


# --- the files -----------------------------------------------------------------------------------------------------


def replace_section(readme: str, section: str) -> str:
    """The README with another section between its marks.

    Raises:
        InputError: If it does not have each mark once.
    """
    return MARKS.replace(readme, section)


def _spell_summary(measured: Summary) -> str:
    """One run a line, so that a change shows what changed; figures in six digits."""
    rounded = json.loads(json.dumps(measured), parse_float=lambda text: float(f"{float(text):.6g}"))
    runs = ",\n".join(json.dumps(run, ensure_ascii=False) for run in rounded.pop("runs"))
    rest = json.dumps(rounded, ensure_ascii=False, indent=1)
    return f'{{"runs": [\n{runs}\n],{rest[1:]}\n'


def _summarise_all(sources: Sequence[Path], *, partial: bool) -> dict[str, Any]:
    files = [file for source in sources for file in (sorted(source.glob("*.json")) if source.is_dir() else [source])]
    by_encoder = [file for source in sources if source.is_dir() for file in find_runs(source)]
    measured = summarise(files, by_encoder)
    missing = [] if partial else find_missing(measured)
    if missing:
        where = ", ".join(map(str, sources))
        raise InputError(
            f"{where}: lacks what the section needs: {'; '.join(missing)}. Measure it "
            "(python -m minirag.evaluation.measuring), or leave its places empty by --partial"
        )
    return measured


@click.command(cls=Script)
@click.argument("readme", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("sources", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--summary", type=click.Path(dir_okay=False, path_type=Path), default=SUMMARY, help="Where it is kept.")
@click.option("--partial", is_flag=True, help="Write what was measured, though the section needs more.")
def main(readme: Path, sources: tuple[Path, ...], *, summary: Path, partial: bool) -> None:
    """Write the README's results; what cannot be written whole leaves both files as they were."""
    text = readme.read_text(encoding="utf-8")
    MARKS.check(text)
    new = _spell_summary(_summarise_all(sources, partial=partial)) if sources else None
    try:
        section = render(json.loads(summary.read_text(encoding="utf-8") if new is None else new))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{summary}: is no summary that this command wrote: {error!r}") from error
    write_both(readme, MARKS.replace(text, section), summary, new)


if __name__ == "__main__":
    main(prog_name="python -m minirag.evaluation.readme")
