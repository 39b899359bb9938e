"""HTML tables for notebooks: well-formed and complete, with all markup escaped."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from lance_namespace_impls.objects.html import LONGEST, as_html

ODD = '<b onclick="x">&amp;</b>'


@pytest.mark.parametrize("caption", ["", "a lake", ODD])
@pytest.mark.parametrize("rows", [[], [["x", 1]], [[ODD, None], [("a", "b"), 0.5]]], ids=len)
def test_a_table_shows_every_value_as_text(caption: str, rows: list[list[object]]) -> None:
    table = ElementTree.fromstring(as_html(["a", ODD], iter(rows), caption))
    assert table.tag == "table"
    assert [each.text for each in table.findall("caption")] == ([caption] if caption else [])
    assert [each.text for each in table.findall("thead/tr/th")] == ["a", ODD]
    cells = [[cell.text for cell in row.findall("td")] for row in table.findall("tbody/tr")]
    assert cells == [[str(value) for value in row] for row in rows]


@pytest.mark.parametrize("length", [1, LONGEST, LONGEST + 1, 10 * LONGEST])
def test_only_a_value_that_is_too_long_is_truncated(length: int) -> None:
    text = "".join(chr(ord("a") + place % 26) for place in range(length))
    (cell,) = ElementTree.fromstring(as_html(["a"], [[text]])).iter("td")
    shown = cell.text or ""
    assert len(shown) == min(length, LONGEST)
    assert shown == text if length <= LONGEST else shown == f"{text[: LONGEST - 1]}…"
