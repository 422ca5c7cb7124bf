from __future__ import annotations

import threading
from pathlib import Path

import pytest

from minirag import Index, ask
from minirag.records import Place
from tests.converted import make_pdf, only, reason
from tests.extras import need

pytestmark = pytest.mark.extra
need("pypdfium2")
need("reportlab")

FIRST = """Aylwin is a British silent film of 1920 that was made by the Hepworth company
and directed by Henry Edwards, who was a very well-known and inter-
esting man of his time.
It was shown everywhere."""
SECOND = """It has an English actor and director of films. Henry Edwards was born in
Weston-super-Mare. Later he lived in London for a long time with his whole family and a dog."""
THIRD = "The company that made the film was Hepworth Pictures, whose studio stood in Walton-on-Thames."


def test_pages_are_places_and_lines_become_paragraphs(tmp_path: Path) -> None:
    found = only(make_pdf(tmp_path / "a.pdf", FIRST, "", SECOND, title="A film"))
    pages = found.text.split("\n\n")
    assert pages == [
        "Aylwin is a British silent film of 1920 that was made by the Hepworth company and directed by Henry Edwards, "
        "who was a very well-known and interesting man of his time.\nIt was shown everywhere.",
        "It has an English actor and director of films. Henry Edwards was born in Weston-super-Mare. Later he lived in "
        "London for a long time with his whole family and a dog.",
    ]
    assert found.places == (Place(0, "page", 1), Place(len(pages[0]) + 2, "page", 3))
    assert (found.title, found.metadata["author"], found.metadata["pages"]) == ("A film", "Ann Bell", 3)
    assert set(found.metadata) == {"author", "pages", "created", "modified", "path"}
    assert only(make_pdf(tmp_path / "b.pdf", THIRD, title="Microsoft Word - x.docx")).title == "b"


def test_running_heads_stay_where_they_stand_first(tmp_path: Path) -> None:
    pages = [f"A text of its own with the name {name} in it.\n{THIRD}" for name in ("Ada", "Otto", "Mira", "Sven")]
    found = only(make_pdf(tmp_path / "a.pdf", *pages, footer="Yearly report, page"))
    assert found.text.count("Yearly report") == 1
    assert [found.text.count(name) for name in ("Ada", "Otto", "Mira", "Sven")] == [1, 1, 1, 1]


def test_what_cannot_be_read_is_named_and_stops_nothing(tmp_path: Path) -> None:
    whole = make_pdf(tmp_path / "whole.pdf", THIRD)
    cut = tmp_path / "cut.pdf"
    cut.write_bytes(whole.read_bytes()[:300])
    assert reason(make_pdf(tmp_path / "locked.pdf", THIRD, encrypted=True)) == (
        "is encrypted: it opens with a password only. Save it without one"
    )
    assert reason(make_pdf(tmp_path / "scanned.pdf", "", "")) == (
        "has no text on 2 pages: scanned? Recognise it first: ocrmypdf IN.pdf OUT.pdf"
    )
    assert reason(cut).startswith("is broken, or no PDF: ")
    with Index(tmp_path / "n.usearch", model="offline") as index:
        report = index.add(tmp_path, progress=False)
    assert report.added == (whole.as_posix(),)
    assert [Path(failure.id).name for failure in report.failed] == ["cut.pdf", "locked.pdf", "scanned.pdf"]


def test_citations_name_the_page(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", FIRST, SECOND, THIRD, title="A film")
    with Index(tmp_path / "n.usearch", model="offline") as index:
        index.add(path, progress=False)
        answer = ask("Where was Henry Edwards born?", index)
        text = index.document(path.as_posix()).text
        for citation in answer.citations:
            passage = index.passage(citation.passage_id)
            assert text[passage.start : passage.end] == passage.text
    assert [citation.location for citation in answer.citations] == ["pages 1–3"]
    assert "pages 1–3" in answer._repr_html_()
    with Index(tmp_path / "m.usearch", model="offline") as index:
        index.add(make_pdf(tmp_path / "long.pdf", FIRST * 8, SECOND * 8, THIRD * 8), progress=False)
        locations = {index.passage(hit.id).location for hit in index.search("film", kinds="passage")}
    assert locations == {"page 1", "page 2", "pages 2–3"}


def test_many_threads_read_at_once(tmp_path: Path) -> None:
    path = make_pdf(tmp_path / "a.pdf", FIRST, SECOND, THIRD)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(only(path).text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 8
    assert len(set(texts)) == 1
