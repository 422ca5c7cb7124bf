from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from tests.converted import only, reason
from tests.extras import need

pytestmark = pytest.mark.extra
docx = need("docx")


def test_headings_lists_and_tables(tmp_path: Path) -> None:
    document = docx.Document()
    document.core_properties.author = "Ann Bell"
    document.core_properties.created = datetime.datetime(2020, 1, 2)
    document.core_properties.modified = datetime.datetime(2021, 3, 4)
    document.add_heading("Handbook", 0)
    document.add_paragraph("How it is done.")
    document.add_heading("Install", 1)
    document.add_heading("Linux", 2)
    document.add_paragraph("Take it.", style="List Bullet")
    document.add_paragraph("Run it.", style="List Bullet")
    table = document.add_table(2, 2)
    for cell, text in zip(
        [*table.rows[0].cells, *table.rows[1].cells], ("Film", "Year", "Aylwin", "1920"), strict=True
    ):
        cell.text = text
    document.add_heading("Use", 1)
    document.add_paragraph("At last.")
    document.save(str(tmp_path / "a.docx"))

    found = only(tmp_path / "a.docx")
    assert found.text == (
        "Handbook\n\nHow it is done.\n\nInstall\n\nLinux\n- Take it.\n- Run it.\n\nFilm: Aylwin; Year: 1920\n\nUse\n\n"
        "At last."
    )
    assert [place.headings for place in found.places] == [("Install",), ("Install", "Linux"), ("Use",)]
    path = (tmp_path / "a.docx").as_posix()
    assert (found.title, found.metadata) == (
        "Handbook",
        {"author": "Ann Bell", "created": "2020-01-02", "modified": "2021-03-04", "path": path},
    )


def test_inserted_text_is_there_and_deleted_text_is_not(tmp_path: Path) -> None:
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    document = docx.Document()
    for content in (
        '<w:p {}><w:r><w:t xml:space="preserve">Kept </w:t></w:r><w:ins><w:r><w:t>new</w:t></w:r></w:ins>'
        "<w:del><w:r><w:delText>old</w:delText></w:r></w:del></w:p>",
        "<w:sdt {}><w:sdtContent><w:p><w:r><w:t>In a control</w:t></w:r></w:p></w:sdtContent></w:sdt>",
        '<w:sdt {}><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
        "<w:sdtContent><w:p><w:r><w:t>Contents ... 1</w:t></w:r></w:p></w:sdtContent></w:sdt>",
    ):
        document.element.body.insert(-1, parse_xml(content.format(nsdecls("w"))))
    document.save(str(tmp_path / "a.docx"))
    assert only(tmp_path / "a.docx").text == "Kept new\n\nIn a control"


def test_what_is_no_document_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"PK nothing")
    assert reason(path) == "is broken: .docx files are zip archives, and this is none (File is not a zip file)"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    assert reason(path) == "is encrypted, or of an old Office format. Save it anew, without a password"
    docx.Document().save(str(path))
    assert reason(path) == "has no text"
