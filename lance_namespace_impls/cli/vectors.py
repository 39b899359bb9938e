"""Parses a search vector from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .failures import UsageError

if TYPE_CHECKING:
    from ..objects.table import Table

__all__ = ["search_vector"]


def search_vector(table: Table, text: str, column: str | None) -> Any:
    """Return a search vector from a list of numbers, a file of numbers, or a row.

    Raises:
        UsageError: the text has none of these forms, or does not refer to exactly one row.
    """
    if text.startswith("id:"):
        return _vector_of_row(table, text[3:], column)
    path = Path(text)
    if path.suffix == ".npy":
        import numpy as np

        try:
            return np.load(path, allow_pickle=False)
        except OSError as error:
            raise _unreadable(path, error) from error
        except ValueError as error:
            raise UsageError(f"--vector: {path} is not a .npy file of numbers: {error}") from error
    try:
        if path.suffix == ".json":
            text = path.read_text("utf-8")
        found = json.loads(text)
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise UsageError("--vector must be a JSON list of numbers, a file, or id:SQL") from error
    if not isinstance(found, list):
        raise UsageError("--vector must be a JSON list of numbers, a file, or id:SQL")
    return found


def _unreadable(path: Path, error: OSError) -> UsageError:
    return UsageError(f"--vector: {path} cannot be read: {error.strerror or error}")


def _vector_of_row(table: Table, condition: str, column: str | None) -> Any:
    schema = table.schema
    names = [column] if column else [f.name for f in schema if hasattr(f.type, "list_size")]
    if len(names) != 1:
        raise UsageError(f"the table has {len(names)} vector columns; select one with --column")
    rows = table.search().where(condition).select(names).limit(2).to_arrow()
    if rows.num_rows != 1:
        found = "several rows match" if rows.num_rows else "no row matches"
        raise UsageError(
            f"--vector id:{condition}: {found} the condition; use a condition that matches exactly "
            "one row"
        )
    return rows[names[0]][0].as_py()
