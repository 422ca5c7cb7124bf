"""The model card of a trained encoder, from what its making left behind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minirag.output import write_text

_CARD = """# {name}

A bi-encoder for minirag: questions, reasoning chains, passages, facts and triples in one space, so that it is both
retriever and Aligner (KiRAG, arXiv 2502.18397). Open it with `Index(..., encoder="{folder}")`.

## From what

| | |
|---|---|
| base | {base} |
| question sets | {sources} |
| questions to learn from, to choose by | {questions} |
| lessons | {lessons} |

The licence is the base's; say here what the licences of the question sets ask for.

## How

`minirag train` with these settings (see `minirag.training.settings`):

```
{settings}
```

Of the difference between trained weights and base, {share} is taken: the share that did best on the dev questions.

## Measured on the dev questions

Mean reciprocal rank of the right text, by kind of text, for bare questions and questions with a chain; recall@5 of bare
questions among the passages of all dev questions. Least cosine between torch and the float export: {parity}.

| | {columns} |
|---|{lines}|
{rows}
"""


def write_card(folder: Path, name: str, settings: Mapping[str, Any], report: Mapping[str, Any]) -> None:
    """Write the card beside the encoder's files.

    Args:
        folder: Where the encoder was made; its `model` gets README.md.
        name: The encoder's.
        settings: Of the training.
        report: Of its steps.

    Raises:
        OutputError: When the disk refuses.
    """
    scores: Mapping[str, Mapping[str, Any]] = report["scores"]
    columns = list(scores)
    rows = [("mean", [scores[column]["dev"] for column in columns])]
    for part, prefix in (("mrr", "MRR, "), ("recall@5", "recall@5, ")):
        for group in scores[columns[0]][part]:
            rows.append((prefix + group, [scores[column][part][group] for column in columns]))
    text = _CARD.format(
        name=name,
        folder=folder.name + "/model",
        base=settings["base"],
        sources=", ".join(report.get("sources", ["unknown"])),
        questions=", ".join(str(count) for count in report.get("questions", ["unknown"])),
        lessons=report.get("lessons", "unknown"),
        settings="\n".join(f"{key} = {value!r}" for key, value in settings.items()),
        share=report.get("share", 1.0),
        parity=report["parity"],
        columns=" | ".join(columns),
        lines="|".join("---" for _ in columns),
        rows="\n".join(f"| {label} | {' | '.join(f'{value:.3f}' for value in values)} |" for label, values in rows),
    )
    write_text(folder / "model" / "README.md", text)
