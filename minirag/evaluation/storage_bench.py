"""The storage's promises, measured: appending does not depend on what is there, opening not on the size.

`python -m minirag.evaluation.storage_bench` prints the figures, with `--quick` at small sizes.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import click
import numpy as np

from minirag.embedding import embed
from minirag.encoder import OnnxEncoder
from minirag.evaluation.measurements import Measurement
from minirag.index import Index
from minirag.naming.names import normalise_name
from minirag.records import Document, ExtractedFact, Extraction
from minirag.storage.segment import StoredDocument, StoredPassage
from minirag.storage.segment_data import SegmentData
from minirag.storage.snapshot import Snapshot, open_snapshot
from minirag.storage.store import Store
from minirag.storage.writing import Change, append_commit
from minirag.telling import Script

_ADDED = 10
_SEGMENTS = 10


def measure_appending(
    scratch: Path, *, sizes: tuple[int, int] = (100, 10_000), rounds: int = 7
) -> tuple[Measurement, Measurement]:
    """Adding ten documents to a large index against adding the same to a small one: bytes written, and seconds.

    Args:
        scratch: A folder for the files.
        sizes: Documents of the small and of the large index.
        rounds: How often each is done, on a copy of the same file; times are medians, by turns.
    """
    encoder = OnnxEncoder()
    encoder.encode(["loads the model"])
    sources = [_synthetic_index(scratch / f"{size}.usearch", size, encoder) for size in sizes]
    rows = [[_append_ten(source, encoder) for source in sources] for _ in range(rounds)]
    written, seconds = ([median(row[place][part] for row in rows) for place in (0, 1)] for part in (0, 1))
    of_bytes = {f"bytes_to_{size}": int(figure) for size, figure in zip(sizes, written, strict=True)}
    of_time = {f"ms_to_{size}": 1000 * figure for size, figure in zip(sizes, seconds, strict=True)}
    what = f"adding {_ADDED} documents to {sizes[1]:,}, against adding them to {sizes[0]:,}"
    return (
        Measurement(f"{what}: bytes written", written[1] / written[0], "×", 1.1, details=of_bytes),
        Measurement(f"{what}: time", seconds[1] / seconds[0], "×", 1.5, details=of_time),
    )


def _append_ten(source: Path, encoder: OnnxEncoder) -> tuple[int, float]:
    copy = source.with_suffix(".copy")
    shutil.copyfile(source, copy)
    documents = [
        Document(f"new{number}", f"Karsund has {number} harbours. They were dug by Ada Brell in {1900 + number}.")
        for number in range(_ADDED)
    ]
    with Index(copy, model="offline", encoder=encoder) as index:
        began = perf_counter()
        index.add(documents, progress=False)
        return copy.stat().st_size - source.stat().st_size, perf_counter() - began


def _synthetic_index(path: Path, size: int, encoder: OnnxEncoder) -> Path:
    """So many documents of one passage, one fact and one triple, with random vectors and names of their own."""
    with Index(path, model="offline", encoder=encoder):
        pass
    store = Store(path, mode="a", normalise=normalise_name)
    texts = [f"The ship Vessel{number} sank near Cape{number} in {1700 + number % 300}." for number in range(size)]
    documents = [
        _document(f"old{number}", text, Extraction((ExtractedFact(text, (text.split()[2],)),), (("It", "sank", text),)))
        for number, text in enumerate(texts)
    ]
    vectors = np.random.default_rng(0).integers(-127, 128, (3, size, encoder.dimensions), np.int8)
    none = np.empty((0, encoder.dimensions), np.int8)
    data = SegmentData(documents, [], vectors[0], vectors[1], vectors[2], none, normalise_name)
    with store.writing():
        store.commit(_change(store.snapshot, data))
    store.close()
    return path


def _document(document_id: str, text: str, extraction: Extraction) -> StoredDocument:
    return StoredDocument(document_id, "", {}, document_id, "", [StoredPassage(text, 0, "", document_id, extraction)])


def _change(snapshot: Snapshot, data: SegmentData) -> Change:
    return Change(snapshot.header, snapshot.pending, data)


def measure_opening_by_size(
    scratch: Path, *, megabytes: tuple[int, int] = (10, 1_000), rounds: int = 21
) -> Measurement:
    """Opening a large file against opening a small one, each with warm caches; the encoder is not loaded.

    Args:
        scratch: A folder for the files.
        megabytes: Of synthetic vectors, in the small and in the large file.
        rounds: How often each is opened; times are medians, by turns.
    """
    encoder = OnnxEncoder()
    paths = [_large_file(scratch / f"{size}mb.usearch", size, encoder) for size in megabytes]
    times = [[_time_opening(path, encoder) for path in paths] for _ in range(rounds)]
    small, large = (median(row[place] for row in times) for place in (0, 1))
    details = {f"{size}_mb_ms": 1000 * figure for size, figure in zip(megabytes, (small, large), strict=True)}
    what = f"opening {megabytes[1]:,} MB, against opening {megabytes[0]:,} MB"
    return Measurement(what, large / small, "×", 2.0, details=details)


def _time_opening(path: Path, encoder: OnnxEncoder) -> float:
    began = perf_counter()
    with Index(path, mode="r", model="offline", encoder=encoder) as index:
        seconds = perf_counter() - began
        assert len(index) > 0
        return seconds


def _large_file(path: Path, megabytes: int, encoder: OnnxEncoder) -> Path:
    """Ten segments, each one document with many triples."""
    with Index(path, model="offline", encoder=encoder):
        pass
    dice = np.random.default_rng(0)
    count = megabytes * 1_000_000 // _SEGMENTS // encoder.dimensions
    for number in range(_SEGMENTS):
        vectors = dice.integers(-127, 128, (count, encoder.dimensions), np.int8)
        document = _document(f"large{number}", "A text.", Extraction((), (("one", "and", "another"),) * count))
        none = vectors[:0]
        data = SegmentData([document], [], vectors[:1], none, vectors, none, normalise_name)
        snapshot = open_snapshot(path)
        append_commit(snapshot, _change(snapshot, data))
    return path


def measure_commits(documents: Sequence[Document], scratch: Path, *, rounds: int = 7) -> Measurement:
    """Writing a commit to the disk, synced, against encoding what is in it.

    Args:
        documents: What is committed, with all that is derived from it.
        scratch: A folder for the files.
        rounds: How often both are done; times are medians.
    """
    encoder = OnnxEncoder()
    source = scratch / "commits.usearch"
    with Index(source, model="offline", encoder=encoder) as index:
        index.add(documents, progress=False)
    held = Store(source, mode="r", normalise=normalise_name).read_all()
    committing, encoding = [], []
    for number in range(rounds):
        target = scratch / f"commit{number}.usearch"
        with Index(target, model="offline", encoder=encoder):
            pass
        began = perf_counter()
        data = embed(held.documents, held.bridges, encoder=encoder, aligner=encoder)
        encoding.append(perf_counter() - began)
        began = perf_counter()
        snapshot = open_snapshot(target)
        append_commit(snapshot, _change(snapshot, data))
        committing.append(perf_counter() - began)
    of_commit, of_encoding = median(committing), median(encoding)
    details = {
        "commit_ms_per_document": 1000 * of_commit / len(documents),
        "encoding_ms_per_document": 1000 * of_encoding / len(documents),
        "documents": len(documents),
    }
    return Measurement("one commit, against encoding it", 100 * of_commit / of_encoding, "%", 10.0, details=details)


def measure_storage(documents: Sequence[Document], *, quick: bool = False) -> list[Measurement]:
    """All of them, in a temporary folder that needs 2.5 GB, or with `quick` next to nothing."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if quick:
            appending = measure_appending(scratch, sizes=(20, 200), rounds=1)
            opening = measure_opening_by_size(scratch, megabytes=(1, 5), rounds=3)
            return [*appending, opening, measure_commits(documents, scratch, rounds=1)]
        appending = measure_appending(scratch)
        return [*appending, measure_opening_by_size(scratch), measure_commits(documents, scratch)]


@click.command(cls=Script)
@click.option("--quick", is_flag=True, help="At small sizes: shows that the bench runs, and no more.")
def main(*, quick: bool) -> None:
    """Measure the storage, and print a line for each figure."""
    documents = [
        Document(f"doc{n}", f"Vessel{n} was built in Karsund. It sank near Cape {n} in 1900.", f"Ship {n}")
        for n in range(200)
    ]
    for found in measure_storage(documents, quick=quick):
        details = ", ".join(f"{key} {value:,.1f}" for key, value in found.details.items() if value is not None)
        limit = f"{found.bound} {found.limit}: {'holds' if found.holds else 'DOES NOT HOLD'}"
        click.echo(f"{found.what}: {found.measured:.2f} {found.unit} ({limit}); {details}")


if __name__ == "__main__":
    main(prog_name="python -m minirag.evaluation.storage_bench")
