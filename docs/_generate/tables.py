"""Generates tables in Markdown: properties of backends, error codes, exit statuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lance_namespace_client import errors
from lance_namespace_client.errors import ErrorCode, LanceNamespaceError
from lance_namespace_impls.cli.failures import status_of
from lance_namespace_impls.core.config import Config

__all__ = ["cell", "error_block", "error_table", "properties", "spark_types", "table"]


def cell(text: str) -> str:
    """Escape text for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("[", "\\[")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def properties(config: type[Config]) -> str:
    """Return the table of a backend's properties: required ones first, those common to all backends last."""
    shared = {row["key"] for row in Config.describe()}
    rows = sorted(config.describe(), key=lambda row: (not row["required"], row["key"] in shared))
    return table(
        ("Property", "Type", "Default", "Description"),
        ((f"`{row['key']}`", _type(row), _default(row), _doc(row)) for row in rows),
    )


def spark_types() -> str:
    """Return the table that maps Arrow's types to those of Lance and Spark."""
    from lance_namespace_impls.spark.type_rules import type_rules

    return table(
        ("Arrow", "Lance", "Spark", "Rule"),
        (
            (
                f"`{cell(row.arrow)}`",
                "yes" if row.lance else "no",
                _spark_type(row.spark),
                row.rule.value,
            )
            for row in type_rules()
        ),
    )


def _spark_type(name: str | None) -> str:
    return "" if name is None else f"`{cell(name)}`"


def _type(row: dict[str, Any]) -> str:
    return row["type"] + (f", {row['unit']}" if row["unit"] else "")


def _default(row: dict[str, Any]) -> str:
    if row["required"]:
        return "**required**"
    value = row["default"]
    if value in (None, ""):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _doc(row: dict[str, Any]) -> str:
    also = f"; also `{'`, `'.join(row['also'])}`" if row["also"] else ""
    return cell(row["doc"]) + also + (" *(secret)*" if row["secret"] else "")


def error_classes() -> dict[str, type[LanceNamespaceError]]:
    """Return the error classes with a code, ordered by name."""
    return {
        name: each
        for name in errors.__all__
        if isinstance(each := getattr(errors, name), type)
        and issubclass(each, LanceNamespaceError)
        and each is not LanceNamespaceError
    }


def _classes_of(code: ErrorCode) -> list[type[LanceNamespaceError]]:
    return [each for each in error_classes().values() if each.code == code]


def error_name(code: ErrorCode) -> str:
    """Return the name of a code in the protocol's spelling."""
    return "".join(part.capitalize() for part in code.name.split("_")).removesuffix("Error")


def error_table() -> str:
    """Return the table of all codes with links to their sections."""
    rows = []
    for code in ErrorCode:
        for kind in _classes_of(code):
            anchor = f"#{int(code)}-{error_name(code).lower()}"
            rows.append(
                (
                    f"[{int(code)}]({anchor})",
                    f"[`{kind.__name__}`][lance_namespace_client.{kind.__name__}]",
                    str(kind.http_status),
                    str(status_of(code).value),
                )
            )
    return table(("Code", "Class", "HTTP status", "Exit status of `lance-ns`"), rows)


def error_block(code: ErrorCode) -> str:
    """Return the protocol's description of a code."""
    kinds = _classes_of(code)
    summary = " ".join(" ".join((kind.__doc__ or "").split()) for kind in kinds[:1])
    named = ", ".join(f"`{kind.__name__}` (HTTP {kind.http_status})" for kind in kinds)
    return f"{named}; exit status {status_of(code).value}\n{{ .code-facts }}\n\n{summary}\n"
