"""Formats HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["as_html"]

LONGEST = 80


def as_html(headers: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return an HTML table; values are escaped, and long values are truncated.

    Args:
        headers: names of the columns.
        rows: the values.
        caption: caption of the table.
    """
    lines = ["<table>"]
    if caption:
        lines.append(f"<caption>{escape(caption)}</caption>")
    lines.append(
        "<thead><tr>" + "".join(f"<th>{escape(h)}</th>" for h in headers) + "</tr></thead>"
    )
    lines.append("<tbody>")
    for row in rows:
        lines.append("<tr>" + "".join(f"<td>{escape(_short(cell))}</td>" for cell in row) + "</tr>")
    lines.append("</tbody></table>")
    return "\n".join(lines)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
