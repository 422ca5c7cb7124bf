from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from minirag.loading.archives import LARGEST_MARKUP
from minirag.loading.converting import LARGEST_FILE
from tests.converted import reason

BLOCKED = """
import sys
for name in ("pypdfium2", "trafilatura", "lxml", "docx", "pptx", "openpyxl"):
    sys.modules[name] = None
from minirag.loading import load
for item in load("."):
    print(item.id, "|", getattr(item, "reason", "read"))
"""


def test_without_the_extra_each_file_is_named_with_the_command(tmp_path: Path) -> None:
    for name in ("a.csv", "b.docx", "c.epub", "d.html", "e.pdf", "f.pptx", "g.txt", "h.xlsx"):
        (tmp_path / name).write_text("some text")
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    lines = dict(line.split(" | ") for line in done.stdout.splitlines())
    assert {name for name, told in lines.items() if told == "read"} == {"a.csv", "g.txt"}
    for name in ("b.docx", "c.epub", "d.html", "e.pdf", "f.pptx", "h.xlsx"):
        command = 'pip install "minirag[files]"'
        assert lines[name].startswith(f"needs what reads {Path(name).suffix} files: {command} ("), name


@pytest.mark.parametrize("name", ["a.txt", "a.json", "a.pdf", "a.md", "a.csv"])
def test_a_huge_file_is_named_and_not_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    assert reason(path).startswith("is too large: 256 MB, at most 256 are read at once. Split it")


@pytest.mark.extra
@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_a_zip_bomb_is_named_and_not_unpacked(name: str, tmp_path: Path) -> None:
    pytest.importorskip("lxml")
    path = tmp_path / name
    with ZipFile(path, "w", ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as member:
        for _ in range(LARGEST_MARKUP // 10_000_000 + 1):
            member.write(b" " * 10_000_000)
    assert path.stat().st_size < 1_000_000
    assert reason(path).startswith("is too large unpacked: 210 MB of text in 210 MB, at most 200 in 1,000 are read. ")
