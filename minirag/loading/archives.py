"""Files that are zip archives inside: Word, PowerPoint, Excel, EPUB. Nothing is ever unpacked to disk."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile, ZipFile

from minirag.errors import InputError

LARGEST_MARKUP = 200_000_000  # bytes, unpacked: parsers hold several times as much
LARGEST_ARCHIVE = 1_000_000_000  # pictures and films included
_OLE = b"\xd0\xcf\x11\xe0"
_MARKUP = (".xml", ".rels", ".html", ".htm", ".xhtml", ".opf", ".ncx", ".svg")


def check_archive(path: Path) -> None:
    """Make sure that a file is an archive, and that opening it does not fill the memory (a zip bomb).

    What an archive says of its sizes can be believed here: `zipfile` reads no more of a member than that.

    Raises:
        InputError: If it is none, is encrypted, or too large unpacked.
    """
    with path.open("rb") as file:
        if file.read(4) == _OLE:
            raise InputError("is encrypted, or of an old Office format. Save it anew, without a password")
    try:
        with ZipFile(path) as archive:
            members = archive.infolist()
    except BadZipFile as error:
        raise InputError(f"is broken: {path.suffix} files are zip archives, and this is none ({error})") from error
    markup = sum(member.file_size for member in members if member.filename.lower().endswith(_MARKUP))
    total = sum(member.file_size for member in members)
    if markup > LARGEST_MARKUP or total > LARGEST_ARCHIVE:
        raise InputError(
            f"is too large unpacked: {markup / 1e6:,.0f} MB of text in {total / 1e6:,.0f} MB, at most "
            f"{LARGEST_MARKUP / 1e6:,.0f} in {LARGEST_ARCHIVE / 1e6:,.0f} are read. Is it a zip bomb? Else split it"
        )
