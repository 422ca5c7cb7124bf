"""A headless Chromium that opens pages from the disk and says what went wrong in them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.extras import REQUIRED, need

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@contextmanager
def browser() -> Iterator[Browser]:
    """One browser, of those that are installed; without one the test is skipped, or fails where extras are required."""
    sync_api = need("playwright.sync_api")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        (pytest.fail if os.environ.get(REQUIRED) else pytest.skip)(f"no browser: none of {', '.join(NAMES)}")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@contextmanager
def opened(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:  # noqa: ANN401  Playwright's own
    """A page; at the end it must have asked no network for anything, and complained of nothing."""
    complaints: list[str] = []
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, "reduced_motion": "reduce"} | options)
    page = context.new_page()

    def look_at(request: Any) -> None:  # noqa: ANN401
        if not request.url.startswith(("file:", "data:")):
            complaints.append(request.url)

    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.on("console", lambda message: complaints.append(f"console: {message.text}"))
    page.on("request", look_at)
    page.goto(path.as_uri())
    yield page
    context.close()
    assert complaints == []
