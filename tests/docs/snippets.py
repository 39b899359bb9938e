"""The code blocks of the documentation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

__all__ = ["NOT_RUN", "PAGES", "ROOT", "TUTORIALS", "Snippet", "prints", "read", "snippets"]

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))),
)
FENCE = re.compile(
    r"(?:^ *<!-- (?P<mark>[^\n]*) -->\n\n?)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN = "not run: "
TUTORIALS = {
    "docs/getting-started.md": "table numbers does not exist\n",
    "docs/cookbook.md": "[{'city': 'Rome'}, {'city': 'Lima'}]\n",
}
"""Pages whose snippets run in order, and part of the output of their Python snippets."""


@frozen
class Snippet:
    """A code block of a page."""

    page: str
    line: int
    language: str
    text: str
    mark: str
    """The comment above it: ``not run: `` and the reason."""

    @property
    def is_run(self) -> bool:
        """Whether the block is meant to be run."""
        return not self.mark.startswith(NOT_RUN)


def snippets(*languages: str) -> Iterator[Snippet]:
    """Yield the code blocks of all pages in the selected languages."""
    for page in PAGES:
        yield from read(page, *languages)


def read(page: str, *languages: str) -> list[Snippet]:
    """Return the code blocks of a page in the selected languages; by default, all blocks."""
    text = (ROOT / page).read_text("utf-8")
    return [
        Snippet(
            page,
            text.count("\n", 0, found.start("language")) + 1,
            found["language"],
            textwrap.dedent(found["text"]),
            found["mark"] or "",
        )
        for found in FENCE.finditer(text)
        if not languages or found["language"] in languages
    ]


def prints(printed: str, expected: str) -> bool:
    """Return whether an output contains the expected parts, separated by …, in order."""
    parts = map(re.escape, expected.split("…"))
    return re.search(".*".join(parts), printed, re.DOTALL) is not None
