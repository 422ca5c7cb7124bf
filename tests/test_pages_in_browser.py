"""The pages in a real browser: opened from the disk, searched, clicked, by keyboard, dark, and on a narrow screen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minirag import Document, ask
from minirag.demo import load_documents
from tests.browser import browser, opened
from tests.extras import need
from tests.stored import make_documents, open_offline
from tests.test_pages import EVIL

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.extra
need("playwright")

NARROW = {"viewport": {"width": 360, "height": 740}, "has_touch": True}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pages of the demonstration's index: its graph, and an answer."""
    folder = tmp_path_factory.mktemp("pages")
    with open_offline(folder / "demo.usearch") as index:
        index.add(load_documents(), progress=False)
        index.draw(folder / "graph.html", progress=False)
        answer = ask("Who was the captain of the ship in which the Northern Ice Expedition sailed?", index)
    (folder / "answer.html").write_text(answer.to_html(), encoding="utf-8")
    return folder


def search(page: Page, text: str) -> None:
    page.keyboard.press("/")
    page.fill("#search", text)
    page.wait_for_selector("#results li")


def overflow(page: Page) -> int:
    """How many pixels of the page a narrow screen would have to be scrolled sideways for."""
    width: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return width


def test_search_click_and_back(chromium: Browser, pages: Path) -> None:
    with opened(chromium, pages / "graph.html") as page:
        assert page.inner_text(".panel h2") == "demo.usearch"
        assert page.inner_text(".legend .document") == "24 documents"
        search(page, "ottilie v")
        assert page.inner_text("#results li >> nth=0") == "shared name\nOttilie Vane"
        page.keyboard.press("Enter")
        page.wait_for_selector(".node.entity.selected")
        assert page.inner_text(".panel h2") == "Ottilie Vane"
        assert page.locator(".found").is_hidden()

        page.click(".panel .chip.document >> text=Matthias Orrin")
        assert page.inner_text(".panel .kind") == "document"
        assert "command of the Ottilie Vane" in page.inner_text(".panel .text")
        page.click(".panel .facts .fact >> nth=0")
        assert page.inner_text(".panel h2") == "Bridging fact"
        page.click(".panel .centre")
        page.wait_for_selector(".node.bridge.selected")
        page.go_back()
        page.wait_for_selector(".node.entity.selected")
        assert page.inner_text(".panel h2") == "Ottilie Vane"


def test_nodes_are_clicked_dragged_and_zoomed(chromium: Browser, pages: Path) -> None:
    with opened(chromium, pages / "graph.html", viewport={"width": 599, "height": 900}) as page:
        node = page.locator(".node.document").first
        name = str(node.get_attribute("aria-label"))
        node.locator("use").click()
        assert name.startswith(f"document: {page.inner_text('.panel h2')}")

        before: Any = node.bounding_box()
        page.mouse.move(500, 90)
        page.mouse.down()
        page.mouse.move(540, 120, steps=4)
        page.mouse.up()
        moved: Any = node.bounding_box()
        assert moved["x"] - before["x"] == pytest.approx(40, abs=1)
        assert page.locator(".node.selected").count() == 1

        shown = [page.locator(".node").count()]
        transform = node.get_attribute("transform")
        page.mouse.wheel(0, -400)
        page.click("#closer")
        assert node.get_attribute("transform") != transform
        page.click("#more")
        shown.append(page.locator(".node").count())
        page.click("#fewer")
        shown.append(page.locator(".node").count())
        assert shown[0] == shown[2] < shown[1]


def test_by_keyboard_alone(chromium: Browser, pages: Path) -> None:
    with opened(chromium, pages / "graph.html") as page:
        page.keyboard.press("Tab")
        page.keyboard.type("tarn hill")
        page.wait_for_selector("#results li")
        page.keyboard.press("ArrowDown")
        assert page.get_attribute("#search", "aria-activedescendant") == "result-1"
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        page.wait_for_selector(".node.selected:focus")
        first = page.inner_text(".panel h2")
        for key in ("ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight"):
            page.keyboard.press(key)
        assert page.locator(".node.selected:focus").count() == 1
        page.keyboard.press("+")
        page.keyboard.press("0")
        page.keyboard.press("Enter")
        label = str(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        assert label.startswith(page.inner_text(".panel .kind"))
        assert first == "Tarn Hill Observatory"


def test_names_in_a_text_lead_on(chromium: Browser, pages: Path) -> None:
    with opened(chromium, pages / "graph.html") as page:
        search(page, "northern ice expedition")
        page.click("#results li:has(.kind-document) >> nth=0")
        page.click(".panel .text button >> text=Sigrid Aldane")
        assert page.inner_text(".panel .kind") == "shared name"
        assert page.inner_text(".panel h2") == "Sigrid Aldane"


def test_nothing_found(chromium: Browser, pages: Path) -> None:
    with opened(chromium, pages / "graph.html") as page:
        page.fill("#search", "zzz")
        page.locator(".count", has_text="0 matches").wait_for()
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        assert page.locator(".found").is_hidden()


@pytest.mark.parametrize("name", ["graph.html", "answer.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_light_and_dark(chromium: Browser, pages: Path, name: str, scheme: str) -> None:
    with opened(chromium, pages / name, color_scheme=scheme, **NARROW) as page:
        assert overflow(page) == 0
        ground, ink = page.evaluate("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
        brightness = [sum(map(int, colour.removeprefix("rgb(").rstrip(")").split(","))) for colour in (ground, ink)]
        assert (brightness[0] < brightness[1]) == (scheme == "dark")
        if name == "graph.html":
            page.fill("#search", "lighthouse")
            page.wait_for_selector("#results li")
            page.tap("#results li >> nth=0")
            boxes: list[Any] = [page.locator(part).bounding_box() for part in (".panel", "#graph")]
            assert boxes[0]["width"] == 360
            assert boxes[1]["height"] > 300


def test_texts_that_would_run(chromium: Browser, tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add(
            [Document(EVIL, f"{EVIL} Ada Brell spoke.", EVIL), Document("b", f"Ada Brell {EVIL}")], progress=False
        )
        index.draw(tmp_path / "graph.html", progress=False)
        answer = ask("Who spoke?", index)
    (tmp_path / "answer.html").write_text(answer.to_html(), encoding="utf-8")

    with opened(chromium, tmp_path / "graph.html") as page:
        search(page, "alert")
        page.keyboard.press("Enter")
        page.wait_for_selector(".node.selected")
        assert EVIL.split("{{")[0].strip() in page.inner_text(".panel")
        assert page.evaluate("document.querySelectorAll('img, script').length") == 2
    with opened(chromium, tmp_path / "answer.html") as page:
        assert page.evaluate("document.querySelectorAll('img, script').length") == 0


def test_the_answer_leads_to_its_sources(chromium: Browser, pages: Path) -> None:
    with opened(chromium, pages / "answer.html") as page:
        assert page.inner_text(".text strong") == "Matthias Orrin"
        page.click(".path a.chip >> nth=0")
        assert page.locator(".card:target").count() == 1
        assert page.inner_text(".card mark") == "Matthias Orrin"
        page.click("summary")
        assert page.locator(".evidence li").count() == 5


@pytest.mark.slow
def test_ten_thousand_nodes_open_and_answer_at_once(chromium: Browser, tmp_path: Path) -> None:
    with open_offline(tmp_path / "notes.usearch") as index:
        index.add(make_documents(40), progress=False)
        index.draw(tmp_path / "graph.html", progress=False)
    page_text = (tmp_path / "graph.html").read_text(encoding="utf-8")
    head, data, tail = _enlarge(page_text, documents=5_000)
    (tmp_path / "large.html").write_text(head + data + tail, encoding="utf-8")

    with opened(chromium, tmp_path / "large.html") as page:
        page.wait_for_selector(".node")
        assert page.evaluate("performance.timing.loadEventEnd - performance.timing.navigationStart") < 5_000
        taken = page.evaluate(
            """async () => {
              const started = performance.now();
              const box = document.getElementById("search");
              box.value = "person 2400 ";
              box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
              await new Promise((done) => setTimeout(done));
              return [document.querySelector(".panel h2").textContent, performance.now() - started];
            }"""
        )
        assert taken[0] == "Person 2400"
        assert taken[1] < 2_000


def _enlarge(page: str, *, documents: int) -> tuple[str, str, str]:
    """The page with other data in it: pairs of documents, each joined by a name and a fact, in one long chain."""
    mark = 'id="data">'
    start = page.index(mark) + len(mark)
    end = page.index("</script>", start)
    data = {
        "name": "large",
        "documents": [[f"d{n}", f"Text {n}", f"About person {n}. " * 20, False] for n in range(documents)],
        "entities": [f"Person {n}" for n in range(documents // 2)],
        "bridges": [[n, f"Person {n} and the next.", [2 * n, (2 * n + 3) % documents]] for n in range(documents // 2)],
        "left_out": 0,
    }
    return page[:start], json.dumps(data), page[end:]
