"""EPUB, which is a zip archive of XHTML chapters: read by lxml, in the order of the book.

EbookLib would read it too, but is under the AGPL.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from lxml import etree, html

from minirag.errors import InputError
from minirag.loading.archives import check_archive
from minirag.loading.assembling import Assembly, Converted, Outline
from minirag.loading.markup import add_blocks

_CONTAINER = "META-INF/container.xml"
_RIGHTS = "META-INF/encryption.xml"
# Only fonts are obfuscated by these.
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_DC = "{http://purl.org/dc/elements/1.1/}"


def convert(path: Path) -> Converted:
    """All chapters, by the book's own order, below their headings.

    Raises:
        InputError: If it is encrypted, broken, or too large unpacked.
    """
    check_archive(path)
    with ZipFile(path) as archive:
        _check_rights(archive)
        package_name = _package_name(archive)
        package = _xml(archive, package_name)
        title = _about(package, "title")
        assembly, outline = Assembly(), Outline(title=title)
        for name in _chapters(package, posixpath.dirname(package_name), set(archive.namelist())):
            # By its bytes: a chapter says its own coding.
            root = html.document_fromstring(archive.read(name) or b"<p/>", parser=html.HTMLParser(encoding="utf-8"))
            add_blocks(root, assembly, outline)
    return assembly.finish(
        title=title,
        author=", ".join(_all_about(package, "creator")),
        created=_about(package, "date")[:10],
        language=_about(package, "language"),
        publisher=_about(package, "publisher"),
    )


def _check_rights(archive: ZipFile) -> None:
    if _RIGHTS in archive.namelist():
        methods = _xml(archive, _RIGHTS).iter("{*}EncryptionMethod")
        if any(method.get("Algorithm") not in _FONTS for method in methods):
            raise InputError("is encrypted (copy protection)")


def _package_name(archive: ZipFile) -> str:
    if _CONTAINER not in archive.namelist():
        raise InputError(f"is no EPUB: it has no {_CONTAINER}")
    found = next(_xml(archive, _CONTAINER).iter("{*}rootfile"), None)
    name = found.get("full-path") if found is not None else None
    if name not in archive.namelist():
        raise InputError(f"is broken: there is no package document {name!r} in it")
    return str(name)


def _xml(archive: ZipFile, name: str) -> Any:  # noqa: ANN401
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(archive.read(name), parser)
    if root is None:
        raise InputError(f"is broken: {name} in it is no XML")
    return root


def _chapters(package: Any, folder: str, names: set[str]) -> Iterator[str]:  # noqa: ANN401
    items = {item.get("id"): item for item in package.iter("{*}item")}
    for reference in package.iter("{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or "nav" in (item.get("properties") or "").split():
            continue
        name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or "")))
        if name in names:
            yield name


def _about(package: Any, name: str) -> str:  # noqa: ANN401
    return next(iter(_all_about(package, name)), "")


def _all_about(package: Any, name: str) -> list[str]:  # noqa: ANN401
    return [" ".join(element.text.split()) for element in package.iter(_DC + name) if (element.text or "").strip()]
