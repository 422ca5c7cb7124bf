"""Files of all kinds, made as their programs make them: small ones that hold the same story."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from minirag.loading import load
from minirag.records import Document, Failure

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)


def only(path: Path) -> Document:
    """The one document that a file comes to."""
    (found,) = load(path)
    assert isinstance(found, Document), found
    return found


def reason(path: Path) -> str:
    """Why a file comes to none."""
    (found,) = load(path)
    assert isinstance(found, Failure), found
    assert found.id == path.as_posix()
    return found.reason


def make_pdf(path: Path, *pages: str, title: str = "", encrypted: bool = False, footer: str = "") -> Path:
    """Each page's lines as they are given; a page without any holds a drawing only."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), encrypt="secret" if encrypted else None)
    if title:
        canvas.setTitle(title)
        canvas.setAuthor("Ann Bell")
    for number, page in enumerate(pages, start=1):
        lines = canvas.beginText(60, 780)
        lines.textLines(page)
        canvas.drawText(lines)
        if footer:
            canvas.drawString(60, 40, f"{footer} {number}")
        if not page:
            canvas.rect(100, 100, 200, 300, fill=1)
        canvas.showPage()
    canvas.save()
    return path


def make_epub(path: Path, chapters: dict[str, str], *, package: str | None = None, **members: str) -> Path:
    """A book of these chapters, in this order, by Ada Brell."""
    items = "".join(f'<item id="{name}" href="{name}"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    about = (
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Lamp</dc:title><dc:creator>Ada Brell'
        "</dc:creator><dc:language>en</dc:language><dc:date>1901-02-03T00:00:00Z</dc:date></metadata>"
    )
    whole = f"<package>{about}<manifest>{items}</manifest><spine>{spine}</spine></package>"
    with ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OEBPS/book.opf", package or whole)
        for name, chapter in chapters.items():
            archive.writestr(f"OEBPS/{name}", f"<html><body>{chapter}</body></html>")
        for name, content in members.items():
            archive.writestr(name, content)
    return path
