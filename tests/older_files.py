"""Files as format 1 had them: rows in plain lines, numbers of 32 bits, triples' vectors of 8."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

from minirag.naming.names import normalise_name
from minirag.storage.columns import PACKED
from minirag.storage.layout import TRAILER_SIZE, checksum, unpack_trailer
from minirag.storage.merging import merge, read_alive
from minirag.storage.segment_data import SegmentData
from minirag.storage.snapshot import Snapshot, open_snapshot
from minirag.storage.tables import Pages, decode_numbers
from minirag.storage.writing import Change, write_base


def encode_lines(rows: Iterable[object]) -> tuple[bytes, bytes]:
    """The lines, and where each starts."""
    lines = [
        json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        for row in rows
    ]
    return b"".join(lines), np.cumsum([0, *map(len, lines)]).astype("<u8").tobytes()


class OlderData(SegmentData):
    """A segment that is written as format 1 had it."""

    def to_sections(self, *, graph: bool) -> Iterator[tuple[str, bytes]]:
        newer = dict(super().to_sections(graph=graph))
        sizes = self.counts()
        lengths = {
            "document slices": sizes["documents"] + 1,
            "fact slices": sizes["passages"] + 1,
            "triple slices": sizes["passages"] + 1,
            "link slices": sizes["facts"] + 1,
            "passage lengths": sizes["passages"],
        }
        last = {"link names": 0}
        for name, data in newer.items():
            if f"{name} pages" in newer:
                lines, offsets = encode_lines(Pages(memoryview(data), np.frombuffer(newer[f"{name} pages"], "<u8")))
                yield name, lines
                yield f"{name} offsets", offsets
            elif name == PACKED:
                yield "triple vectors", self.triple_vectors.tobytes()
            elif name in lengths or name in last:
                numbers = decode_numbers(data, lengths.get(name, last.get(name, 0)))
                yield name, numbers.tobytes()
                if name == "link slices":
                    last["link names"] = int(numbers[-1])
            elif name.endswith(" starts"):
                starts = decode_numbers(data, len(newer[name.replace(" starts", " keys")]) // 8 + 1)
                yield name, starts.tobytes()
                last[name.replace(" starts", " rows")] = int(starts[-1])
            elif not name.endswith(" pages"):
                yield name, data


def make_older(path: Path) -> Snapshot:
    """Write an index afresh, in format 1; gives what it held before."""
    held = open_snapshot(path)
    merged = merge([read_alive(segment, normalise_name) for segment in held.segments])
    older = OlderData(*(getattr(merged, each.name) for each in fields(merged)))
    write_base(path, older, Change(held.header, held.pending), commit=held.contents.commit)
    data = bytearray(path.read_bytes())
    for place in _trailers(data):
        data[place + 8 : place + 12] = (1).to_bytes(4, "little")
        end = place + TRAILER_SIZE
        data[end - 8 : end] = checksum(bytes(data[place : end - 8])).to_bytes(8, "little")
    path.write_bytes(data)
    return held


def _trailers(data: bytearray) -> Iterator[int]:
    place = data.find(b"minirag\x00")
    while place >= 0:
        if unpack_trailer(bytes(data[place : place + TRAILER_SIZE])):
            yield place
        place = data.find(b"minirag\x00", place + 1)
