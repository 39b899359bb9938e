"""Formats the values of rows for a page."""

from __future__ import annotations

import base64
from typing import Any

import attrs

__all__ = ["Cell", "cell"]

LONGEST = 120
LARGEST_PICTURE = 256 << 10
WIDTH, HEIGHT, POINTS = 96, 24, 96
_PICTURES = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"GIF87a": "gif",
    b"GIF89a": "gif",
}


@attrs.frozen
class Cell:
    """A formatted value: text, an image, or a line chart of a vector."""

    text: str
    picture: str = ""
    """A ``data:`` URL."""
    points: str = ""
    """Points of the line chart, in SVG format."""
    is_null: bool = False


def cell(value: Any) -> Cell:
    """Format a value for a page: vectors as line charts, images as images, all others as text."""
    if value is None:
        return Cell("null", is_null=True)
    if isinstance(value, bytes):
        return _binary(value)
    if _is_vector(value):
        shown = ", ".join(f"{number:.4g}" for number in value[:3])
        return Cell(f"{len(value)} numbers: {shown}, …", points=_line(value))
    text = str(value)
    return Cell(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def _binary(value: bytes) -> Cell:
    kind = next((name for magic, name in _PICTURES.items() if value.startswith(magic)), None)
    if value[:4] == b"RIFF" and value[8:12] == b"WEBP":
        kind = "webp"
    if kind is None or len(value) > LARGEST_PICTURE:
        return Cell(f"{len(value):,} bytes: {value[:12].hex(' ')}{' …' if len(value) > 12 else ''}")
    encoded = base64.b64encode(value).decode("ascii")
    return Cell(f"{kind}, {len(value):,} bytes", picture=f"data:image/{kind};base64,{encoded}")


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 3
        and all(isinstance(each, int | float) and not isinstance(each, bool) for each in value)
    )


def _line(numbers: list[float]) -> str:
    """Return the points of a line chart, with at most `POINTS` of the numbers."""
    step = max(1, -(-len(numbers) // POINTS))
    chosen = [float(number) for number in numbers[::step]]
    finite = [number for number in chosen if number - number == 0]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    span = (high - low) or 1.0
    last = max(len(chosen) - 1, 1)
    return " ".join(
        f"{place * WIDTH / last:.1f},{HEIGHT - 1 - (number - low) / span * (HEIGHT - 2):.1f}"
        for place, number in enumerate(chosen)
        if number - number == 0
    )
