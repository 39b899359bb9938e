"""The pages in headless Chromium: keyboard use, dark mode, narrow windows and accessibility.

``LANCE_NS_SHOW=FOLDER`` saves screenshots for review.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from lance_namespace_impls.server import serving
from tests.servers.process import wait_until

from .test_explorer import BAD, filled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ATTACK = "<img src=x onerror=alert(1)>"
ATTACKS = {
    BAD: [BAD],
    "text": ["\"><img src=x onerror=alert('x')>"],
    "address": ["javascript:alert(1)"],
}
TABLE = "/ui/table?id=prod&id=notes"
PATHS = {
    "root": "/ui",
    "namespace": "/ui?id=prod",
    "table": TABLE,
    "near": f"{TABLE}&near=3",
    "refused": f"{TABLE}&where={quote(ATTACK)}",
    "attack": f"/ui/table?id=prod&id={quote(ATTACK)}",
    "docs": "/docs",
    "missing": f"/ui/table?id={quote(ATTACK)}",
}
NARROW = (400, "dark")
in_light_windows = pytest.mark.parametrize(
    "page", [(1200, "light"), (400, "light")], indirect=True, ids=["wide", "narrow"]
)
in_a_narrow_window = pytest.mark.parametrize("page", [NARROW], indirect=True, ids=["narrow"])

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "chromium-browser")]


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with filled(tmp_path_factory.mktemp("root")) as namespace:
        namespace.table(["prod", ATTACK]).create(ATTACKS)
        with serving(namespace) as uri:
            yield uri


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(
    params=[(1200, "light"), (1200, "dark"), (400, "light"), NARROW],
    ids=["wide-light", "wide-dark", "narrow-light", "narrow-dark"],
)
def page(request: pytest.FixtureRequest, chromium: Browser, uri: str) -> Iterator[Page]:
    """Yield an empty page; fail the test if a script from a name or a value opens a dialog."""
    width, scheme = request.param
    context = chromium.new_context(
        base_url=uri, viewport={"width": width, "height": 900}, color_scheme=scheme
    )
    said: list[str] = []
    context.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    yield context.new_page()
    context.close()
    assert said == []


def keep(page: Page, name: str) -> None:
    if folder := os.environ.get("LANCE_NS_SHOW"):
        width = page.evaluate("innerWidth")
        dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        file = f"{name}-{width}-{'dark' if dark else 'light'}.png"
        page.screenshot(path=Path(folder) / file, full_page=True)


def brightness(page: Page, color: str) -> int:
    found = page.evaluate(f"getComputedStyle(document.body).{color}")
    return sum(map(int, re.findall(r"\d+", found)[:3]))


@pytest.mark.parametrize("name", PATHS)
def test_pages_fit_the_window_and_are_accessible(page: Page, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page.goto(PATHS[name])
    if name == "docs":
        page.click("summary")
    keep(page, name)
    needed, width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert needed <= width
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert (brightness(page, "color") > brightness(page, "backgroundColor")) is dark
    serious = [
        (found["id"], found["help"], [node["html"] for node in found["nodes"][:3]])
        for found in Axe().run(page).response["violations"]
        if found["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_a_placeholder_has_the_color_of_its_label(page: Page) -> None:
    """axe does not check placeholders."""
    page.goto(TABLE)
    hint, label = page.evaluate(
        "[getComputedStyle(document.querySelector('#where'), '::placeholder').color,"
        " getComputedStyle(document.querySelector('[for=where]')).color]"
    )
    assert hint == label


def tab_to(page: Page, text: str) -> None:
    """Press Tab until the element with a text or name has a visible focus."""
    for _ in range(50):
        page.keyboard.press("Tab")
        found = page.evaluate(
            "(({innerText, name}) => (innerText || name || '').trim())(document.activeElement)"
        )
        if found == text:
            break
    assert found == text
    outline, left = page.evaluate(
        "[getComputedStyle(document.activeElement).outlineStyle,"
        " document.activeElement.getBoundingClientRect().left]"
    )
    assert outline != "none" and left >= 0, f"nobody sees that {text} has the focus"


@in_light_windows
def test_tables_are_reached_and_filtered_by_keyboard(page: Page) -> None:
    page.goto("/ui")
    tab_to(page, "prod")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui?id=prod")
    tab_to(page, "notes")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{TABLE}")
    tab_to(page, "where")
    page.keyboard.type("id >= 7")
    tab_to(page, "text")
    page.keyboard.type("word7")
    page.keyboard.press("Enter")
    page.wait_for_url("**where=id*")
    keep(page, "query")
    assert page.locator("tbody tr td:first-child").all_inner_texts() == ["7"]


@in_light_windows
def test_the_menu_is_skipped_by_keyboard(page: Page) -> None:
    page.goto("/docs")
    tab_to(page, "Skip to content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    while not page.evaluate("document.activeElement.matches('summary')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1


@in_a_narrow_window
def test_wide_rows_are_scrolled_by_keyboard(page: Page) -> None:
    page.goto(TABLE)
    page.focus(".wide")
    page.keyboard.press("ArrowRight")
    # page.wait_for_function() evaluates text in the page, which its content security policy forbids.
    wait_until(lambda: page.evaluate("document.querySelector('.wide').scrollLeft > 0"))


@in_a_narrow_window
@pytest.mark.parametrize("name", PATHS)
def test_names_and_values_are_shown_as_text(page: Page, uri: str, name: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(PATHS[name], wait_until="networkidle")
    if name in ("attack", "refused", "missing"):
        assert ATTACK in page.inner_text("main")
    attributes = "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames())"
    assert not [each for each in page.evaluate(attributes) if each.startswith("on")]
    assert page.locator("script, style, iframe, object, base").count() == 0
    links = page.evaluate("[...document.querySelectorAll('a')].map(a => a.href)")
    assert links and all(link.startswith(f"{uri}/") for link in links)
    assert all(url.startswith((f"{uri}/", "data:")) for url in asked)
    assert page.evaluate("[...document.images].every(i => i.complete && i.naturalWidth)")


@in_a_narrow_window
@pytest.mark.parametrize(
    ("html", "directive"),
    [
        ("<img src=data:x onerror=alert(1)>", "script-src-attr"),
        ("<iframe srcdoc='<script>alert(1)</script>'></iframe>", "script-src-elem"),
        ("<iframe src='https://example.invalid'></iframe>", "frame-src"),
        ("<img src=https://example.invalid/x.png>", "img-src"),
        ("<p style='color: red'>", "style-src-attr"),
    ],
    ids=lambda value: value if "<" not in value else "",
)
def test_injected_markup_is_blocked(page: Page, html: str, directive: str) -> None:
    page.goto(TABLE)
    refused = page.evaluate(
        """html => new Promise(resolve => {
            const refused = event => resolve(event.effectiveDirective);
            document.addEventListener('securitypolicyviolation', refused);
            document.querySelector('main').insertAdjacentHTML('beforeend', html);
            const inside = document.querySelector('iframe');
            if (inside) inside.addEventListener('load', () =>
                inside.contentDocument?.addEventListener('securitypolicyviolation', refused));
        })""",
        html,
    )
    assert refused == directive
