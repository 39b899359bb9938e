"""Writes the output of commands: styled on a terminal, plain columns in a pipe, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .failures import needs, one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

__all__ = ["Cell", "Output", "Progress", "Styled", "begun", "progress"]


class Styled(NamedTuple):
    """Text with a rich style; in a pipe, the style is omitted."""

    text: str
    style: str


Cell: TypeAlias = str | Styled
GAP = "  "
LEAST_TEXT = 20
"""Minimum width of a terminal column that has a cell with several words."""


class Output:
    """Writes the result of a command to stdout.

    Args:
        as_json: whether to write the result as one JSON document.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._console = _console(sys.stdout) if sys.stdout.isatty() and not as_json else None

    @property
    def on_terminal(self) -> bool:
        """Whether stdout is a terminal."""
        return self._console is not None

    def document(self, document: Mapping[str, Any]) -> None:
        """Write the JSON document."""
        sys.stdout.write(json.dumps(document, indent=2) + "\n")

    def listing(self, **entries: Any) -> None:
        """Write the JSON document, and any iterators in it item by item, one item per line.

        The first item of each iterator is read before anything is written, so that stdout remains
        empty if a listing fails immediately.
        """
        entries = {k: begun(v) if isinstance(v, Iterator) else v for k, v in entries.items()}
        separator = "{"
        for key, value in entries.items():
            sys.stdout.write(f"{separator}\n  {json.dumps(key)}: ")
            if isinstance(value, Iterator):
                _write_array(value)
            else:
                sys.stdout.write(json.dumps(value))
            separator = ","
        sys.stdout.write("\n}\n")

    def line(self, *cells: Cell) -> None:
        """Write a line without truncating or wrapping it."""
        if self._console is None:
            sys.stdout.write("".join(_plain(cell) for cell in cells) + "\n")
        else:
            text = self._text("").join(self._text(cell) for cell in cells)
            self._console.print(text, soft_wrap=True)

    def fields(self, fields: Mapping[str, Cell]) -> None:
        """Write pairs of names and values, one per line."""
        width = max(map(len, fields), default=0)
        for name, value in fields.items():
            self.line("  ", Styled(name.ljust(width), "cyan"), GAP, value)

    def table(
        self, headers: Sequence[str], rows: Sequence[Sequence[Cell]], *, nowrap: int = 1
    ) -> None:
        """Write a table; if the terminal is too narrow, write each row as a block of lines.

        No column is omitted and no word is broken. Cells with several words are wrapped, and other
        cells may be truncated with an ellipsis.

        Args:
            headers: names of the columns.
            rows: the cells.
            nowrap: number of columns, from the left, that are never wrapped.
        """
        if self._console is None:
            _write_columns([headers, *rows])
            return
        least = [max(map(_least_width, column)) for column in zip(headers, *rows, strict=True)]
        if sum(least) + len(GAP) + 3 * (len(least) - 1) > self._console.width:
            self._blocks(headers, rows)
            return
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for number, (header, width) in enumerate(zip(headers, least, strict=True)):
            fixed = number < nowrap
            table.add_column(header, overflow="ellipsis", no_wrap=fixed, min_width=width)
        for row in rows:
            table.add_row(*(self._text(cell) for cell in row))
        self._console.print(table)

    def _blocks(self, headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Write each row as a block with one or more lines per cell."""
        assert self._console is not None
        label = max(map(len, headers))
        room = max(self._console.width - label - len(GAP), LEAST_TEXT)
        for number, row in enumerate(rows):
            if number:
                self.line()
            for header, cell in zip(headers, row, strict=True):
                style = cell.style if isinstance(cell, Styled) else ""
                parts = wrap(_plain(cell), room, break_long_words=False, break_on_hyphens=False)
                for line, part in enumerate(parts or [""]):
                    name = "" if line else header
                    self.line(Styled(name.ljust(label), "bold"), GAP, Styled(part, style))

    def _text(self, cell: Cell) -> Text:
        from rich.text import Text

        return Text(_plain(cell), style=cell.style if isinstance(cell, Styled) else "")


def _plain(cell: Cell) -> str:
    text = cell.text if isinstance(cell, Styled) else cell
    return text if text.isprintable() else "".join(_escaped(c) for c in text)


def _least_width(cell: Cell) -> int:
    """Return the minimum column width for a cell; a cell with a single word must fit completely."""
    from rich.cells import cell_len

    text = _plain(cell)
    return max(min(cell_len(text), LEAST_TEXT), max(map(cell_len, text.split()), default=0))


def _escaped(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]


def _write_columns(rows: Sequence[Sequence[Cell]]) -> None:
    texts = [[_plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        sys.stdout.write(GAP.join(cells).rstrip() + "\n")


def begun(items: Iterator[Any]) -> Iterator[Any]:
    """Read the first item of an iterator, so that failures occur before anything is written."""
    for first in items:
        return chain([first], items)
    return iter(())


def _write_array(items: Iterable[Any]) -> None:
    separator = ""
    sys.stdout.write("[")
    for item in items:
        sys.stdout.write(f"{separator}\n    {json.dumps(item)}")
        separator = ","
    sys.stdout.write("\n  ]" if separator else "]")


def _console(stream: Any) -> Console:
    with needs("on a terminal", "cli"):
        from rich.console import Console

    return Console(file=stream, highlight=False)


class Progress:
    """A progress bar on stderr."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task

    def update(self, done: int, total: int | None, note: str) -> None:
        """Update the displayed progress.

        Args:
            done: completed units of work.
            total: total units of work; None if unknown.
            note: additional text, such as a number of rows.
        """
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, note=note)


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Show a progress bar while the block runs, but only on a terminal."""
    if not sys.stderr.isatty():
        yield Progress(None, None)
        return
    from rich import progress as rich_progress

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TaskProgressColumn(),
        rich_progress.TextColumn("{task.fields[note]}"),
        rich_progress.TimeElapsedColumn(),
    )
    with rich_progress.Progress(*columns, console=_console(sys.stderr), transient=True) as bar:
        yield Progress(bar, bar.add_task(one_line(what), total=None, note=""))
