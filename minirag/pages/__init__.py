"""Pages that people keep and pass on: one HTML file each, which opens from the disk and asks no network for anything.

A page is safe whatever stands in the texts that it shows: markup is made by `element`, which escapes, data lie in a
block that no browser runs, and the page's own policy names the hashes of the one style and the one script that it may
use. So no `style=` attribute works in it: use the classes of `style.css`, or SVG's own attributes.
"""

from __future__ import annotations

from minirag.pages.building import build_page, write_page
from minirag.pages.markup import Markup, element, join

__all__ = ["Markup", "build_page", "element", "join", "write_page"]
