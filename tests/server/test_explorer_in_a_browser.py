"""The pages in headless Chromium: by keyboard alone, in the dark, narrow, and for everybody.

``LANCE_NS_SHOW=FOLDER`` keeps the pictures, to be looked at.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server import serving

from .test_explorer import BAD, namespace

__all__ = ["namespace"]  # the fixture

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ATTACK = "<img src=x onerror=alert(1)>"
NOTES = "/ui/table?id=prod&id=notes"
PATHS = {
    "root": "/ui",
    "namespace": "/ui?id=prod",
    "table": NOTES,
    "search": f"{NOTES}&near=3",
    "attack": f"/ui/table?id=prod&id={quote(ATTACK)}",
    "docs": "/docs",
    "missing": "/ui/table?id=gone",
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
]


@pytest.fixture
def uri(namespace: Namespace) -> Iterator[str]:
    attacks = {
        BAD: [BAD],
        "text": ["\"><img src=x onerror=alert('x')>"],
        "x": ["javascript:alert(1)"],
    }
    namespace.table(["prod", ATTACK]).create(attacks)
    with serving(namespace) as uri:
        yield uri


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=[(1200, "light"), (1200, "dark"), (400, "light"), (400, "dark")], ids=str)
def page(request: pytest.FixtureRequest, chromium: Any) -> Iterator[Any]:
    width, scheme = request.param
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=False
    )
    found = context.new_page()
    found.alerts = []
    found.on("dialog", lambda dialog: (found.alerts.append(dialog.message), dialog.dismiss()))
    yield found
    assert found.alerts == []
    context.close()


def kept(page: Any, name: str) -> None:
    if folder := os.environ.get("LANCE_NS_SHOW"):
        size = page.viewport_size["width"]
        dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        page.screenshot(path=Path(folder) / f"{name}-{size}-{'dark' if dark else 'light'}.png")


@pytest.mark.parametrize("name", PATHS)
def test_no_serious_finding_of_axe(uri: str, page: Any, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.goto(uri + PATHS[name])
    kept(page, name)
    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.evaluate(fits), "the page is wider than its window"
    found = Axe().run(page).response["violations"]
    serious = [
        (each["id"], each["help"], [node["html"] for node in each["nodes"][:3]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.innerText || document.activeElement.name"))


def tab_to(page: Any, text: str) -> None:
    """Press the tabulator until the element with a text has the focus, and it is seen to have it."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if focused(page).strip() == text:
            break
    assert focused(page).strip() == text
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none", f"{text} does not show its focus"


def test_from_the_tree_to_rows_by_keyboard(uri: str, page: Any) -> None:
    page.goto(uri + "/ui")
    tab_to(page, "prod")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui?id=prod")
    tab_to(page, "notes")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/table?id=prod*")
    tab_to(page, "where")
    page.keyboard.type("id = 7")
    page.keyboard.press("Enter")
    page.wait_for_url("**where=id*")
    kept(page, "query")
    text = page.inner_text("body")
    assert "word7" in text
    assert "word8" not in text


@pytest.mark.parametrize("name", ["namespace", "table", "attack"])
def test_nothing_that_is_shown_runs(uri: str, page: Any, name: str) -> None:
    outside: list[str] = []
    page.on("request", lambda request: outside.append(request.url))
    page.goto(uri + PATHS[name])
    page.wait_for_load_state("networkidle")
    assert "<" in page.inner_text("body")
    assert page.evaluate("document.querySelectorAll('script, [onerror], [onclick]').length") == 0
    links = page.evaluate("[...document.querySelectorAll('a')].map(a => a.protocol)")
    assert "javascript:" not in links
    assert all(url.startswith((uri, "data:")) for url in outside)
