"""The page in headless Chromium: its layout, filters and colors."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape

import pytest

from lance_namespace_impls.conformance import Options, check_class, check_impl
from lance_namespace_impls.conformance.page import page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
LOADS_SECONDS = 120

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium", "chromium-browser")]

MEASURE = """
const inside = document.querySelector('iframe').contentDocument;
const view = inside.defaultView;
const seen = query => [...inside.querySelectorAll(query)].filter(e => e.getClientRects().length);
const count = () => ({fail: seen('#matrix .r-fail').length, pass: seen('#matrix .r-pass').length,
                      skip: seen('#matrix .r-skip').length});
const all = count();
inside.querySelector('#c-pass').click();
const without_passed = count();
inside.querySelector('#c-pass').click();
const failure = inside.querySelector('details');
const closed = failure.getBoundingClientRect().height;
failure.open = true;
const color = name => view.getComputedStyle(inside.body).getPropertyValue(name);
document.title = JSON.stringify({
  all, without_passed, closed, open: failure.getBoundingClientRect().height,
  text: failure.innerText, width: view.innerWidth, needed: inside.documentElement.scrollWidth,
  headings: [...inside.querySelectorAll('#operations th')].map(e => e.innerText),
  link: inside.querySelector('#matrix a.fail').hash, id: failure.id,
  background: color('background-color'), foreground: color('color'),
});
"""


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    options = Options(only=("LN-TABLE-CREATE-00*", "LN-WIRE-*"))
    folder = tmp_path_factory.mktemp("targets")
    ours = check_impl("dir", {"path": str(folder / "ours")}, options)
    other = check_class("lance.namespace:DirectoryNamespace", {"root": str(folder)}, options)
    return page([ours, other], ["ours", "pylance"])


def measured(html, folder, width, *arguments):
    """Return the measurements of the page in a window with the given width in pixels."""
    frame = f'<iframe width={width} height=900 style="border:0" srcdoc="{escape(html)}"></iframe>'
    (folder / "frame.html").write_text(
        "<!doctype html><meta charset=utf-8><title></title>"
        f"{frame}<script>onload = () => {{{MEASURE}}}</script>"
    )
    found = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            "--disable-background-networking", f"--user-data-dir={folder / 'profile'}",
            *arguments, (folder / "frame.html").as_uri(),
        ],
        capture_output=True, text=True, timeout=LOADS_SECONDS, check=True,
    )  # fmt: skip
    title = re.search("<title>(.*?)</title>", found.stdout, re.DOTALL)
    assert title and title[1], found.stderr
    return json.loads(unescape(title[1]))


@pytest.fixture(scope="module")
def wide(html, tmp_path_factory):
    """The measurements of the page in a wide window, with the light color scheme."""
    return measured(html, tmp_path_factory.mktemp("wide"), 1200)


def test_the_page_fits_its_window(html, wide, tmp_path):
    for width, found in ((1200, wide), (400, measured(html, tmp_path, 400))):
        assert found["width"] == width
        assert found["needed"] <= width


def test_the_matrix_is_filtered_and_links_to_a_failure(wide):
    assert wide["headings"] == ["Operation", "ours", "pylance"]
    assert min(wide["all"].values()) > 0
    assert wide["without_passed"] == {**wide["all"], "pass": 0}
    assert wide["link"] == f"#{wide['id']}"
    assert wide["open"] > 2 * wide["closed"]
    assert "Expected: " in wide["text"] and "Python" in wide["text"]


def test_the_page_follows_the_color_scheme_of_the_system(html, wide, tmp_path):
    def brightness(color):
        return sum(map(int, re.findall(r"\d+", color)[:3]))

    dark = measured(html, tmp_path, 1200, "--force-dark-mode")
    for found, light in ((wide, True), (dark, False)):
        assert (brightness(found["background"]) > brightness(found["foreground"])) is light
