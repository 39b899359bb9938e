"""Reads the mapping of an import from TOML, and validates it completely before any data is read."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import Factory, fields, frozen

from lance_namespace_client.errors import InvalidInputError

from ..core.identifiers import (
    DEFAULT_DELIMITER,
    Identifier,
    format_identifier,
    parse_identifier,
    split_identifier,
)
from ..core.modes import parse_mode
from ..distributed.write_plan import Mode

__all__ = ["TableSource", "read_mapping"]

SOURCES = ("files", "spark_table", "query", "jdbc")
_FROM_ENVIRONMENT = re.compile(r"env:(\w+)")


@frozen(kw_only=True)
class TableSource:
    """A table of an import and the source of its rows.

    Attributes:
        table: identifier of the table.
        files: files, folders and patterns.
        format: format of the files; defaults to the format of the file extensions.
        options: options for reading the files, as for `import_files`.
        spark_table: a table or view of Spark's own catalog.
        query: a query in Spark SQL.
        jdbc: options of Spark's source ``jdbc``: ``url``, ``dbtable`` or ``query``, and others.
        mode: ``create``, ``append``, ``overwrite`` or ``exist_ok``.
        types: Arrow types of columns of a new table.
    """

    table: Identifier
    files: Sequence[str] = ()
    format: str | None = None
    options: Mapping[str, str] = Factory(dict)
    spark_table: str | None = None
    query: str | None = None
    jdbc: Mapping[str, str] = Factory(dict)
    mode: str = "create"
    types: str | None = None

    @property
    def needs_spark(self) -> bool:
        """Whether only Spark can read the source."""
        return not self.files

    def shown(self) -> str:
        """Return the source as text, without secrets."""
        if self.files:
            return ", ".join(self.files)
        if self.jdbc:
            what = self.jdbc.get("dbtable") or self.jdbc.get("query")
            place = re.split(r"[?;]", re.sub(r"//[^/@]*@", "//", self.jdbc["url"]))[0]
            return f"{what} of {place}"
        return str(self.spark_table or self.query)

    def jdbc_options(self) -> dict[str, str]:
        """Return the options of the source ``jdbc``, with environment variables resolved.

        Raises:
            InvalidInputError: code 13, a variable is not set.
        """
        found = {}
        for key, value in self.jdbc.items():
            match = _FROM_ENVIRONMENT.fullmatch(value)
            if match is not None and match[1] not in os.environ:
                raise InvalidInputError(
                    f"table {format_identifier(self.table)}: jdbc.{key} refers to the environment "
                    f"variable {match[1]}, which is not set"
                )
            found[key] = value if match is None else os.environ[match[1]]
        return found


def read_mapping(
    mapping: Path | Mapping[str, Any], delimiter: str = DEFAULT_DELIMITER
) -> list[TableSource]:
    """Return the tables of a mapping, in order.

    Args:
        mapping: a TOML file, or its content: ``[[table]]`` for each table, and ``[defaults]``.
        delimiter: separator of the levels in an ``id`` that is a string.

    Raises:
        InvalidInputError: code 13, the file cannot be read, a key is unknown or has an invalid
            value, or a table occurs twice.
    """
    if isinstance(mapping, Path):
        try:
            mapping = tomllib.loads(mapping.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"mapping: {error}") from error
    _only(mapping, ("table", "defaults"), "mapping")
    defaults = mapping.get("defaults", {})
    tables = mapping.get("table", [])
    if not isinstance(tables, list) or not tables:
        raise InvalidInputError("mapping: [[table]] is missing; add one for each table")
    found = [
        _table(each, defaults, number, delimiter) for number, each in enumerate(tables, start=1)
    ]
    names = [each.table for each in found]
    if twice := {format_identifier(name) for name in names if names.count(name) > 1}:
        raise InvalidInputError(
            f"mapping: {', '.join(sorted(twice))} occurs more than once; use "
            "one [[table]] for each table"
        )
    return found


def _table(
    entry: Mapping[str, Any], defaults: Mapping[str, Any], number: int, delimiter: str
) -> TableSource:
    what = f"mapping, table {number}"
    accepted = [field.name for field in fields(TableSource)]
    _only(entry, ["id", *accepted[1:]], what)
    _only(defaults, ("mode", "format"), "mapping, defaults")
    merged = {**defaults, **entry}
    name = merged.pop("id", None)
    if not name:
        raise InvalidInputError(f"{what}: id is missing; specify the identifier of the table")
    table = split_identifier(name, delimiter) if isinstance(name, str) else parse_identifier(name)
    what = f"mapping, table {format_identifier(table)}"
    sources = [source for source in SOURCES if merged.get(source)]
    if len(sources) != 1:
        raise InvalidInputError(f"{what}: specify one of {', '.join(SOURCES)}")
    if sources != ["files"]:
        if entry.get("format") or entry.get("options"):
            raise InvalidInputError(f"{what}: format and options apply only to files")
        merged.update(format=None, options={})
    if isinstance(merged.get("files"), str):
        merged["files"] = [merged["files"]]
    if sources == ["jdbc"] and not (
        isinstance(merged["jdbc"], dict)
        and "url" in merged["jdbc"]
        and len({"dbtable", "query"} & set(merged["jdbc"])) == 1
    ):
        raise InvalidInputError(f"{what}: jdbc requires url and either dbtable or query")
    for key in ("options", "jdbc"):
        merged[key] = {name: _text(value) for name, value in merged.get(key, {}).items()}
    parse_mode(str(merged.get("mode", "create")), Mode.CREATE)
    if merged["options"].get("types") and merged.get("types"):
        raise InvalidInputError(
            f"{what}: types is set twice; remove it from options or from the table"
        )
    return TableSource(table=table, **merged)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _only(entry: Any, accepted: Sequence[str], what: str) -> None:
    if not isinstance(entry, Mapping):
        raise InvalidInputError(f"{what}: it is not a TOML table")
    if unknown := sorted(set(entry) - set(accepted)):
        raise InvalidInputError(
            f"{what}: {', '.join(unknown)} is not known; the accepted keys are "
            f"{', '.join(accepted)}"
        )
