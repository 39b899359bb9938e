"""Columns in the names of folders, such as ``year=2020/month=1``, as Hive, Spark and pyarrow write
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias
from urllib.parse import unquote

import pyarrow as pa

from lance_namespace_client.errors import InvalidInputError

__all__ = [
    "FolderValues",
    "check_folder_columns",
    "folder_schema",
    "folder_values",
]

NULL = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|NaN|[+-]?Infinity")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?")

FolderValues: TypeAlias = tuple[tuple[str, str | None], ...]
"""Columns and values, the outermost first; None is null."""


class _Named(Protocol):
    """A file with the columns in the names of its folders."""

    @property
    def name(self) -> str: ...

    @property
    def folder_values(self) -> Sequence[tuple[str, str | None]]: ...


def folder_values(folders: Iterable[str]) -> FolderValues:
    """Return the columns and values in the names of folders; other folders have none.

    Percent-escaped characters are decoded, and Hive's null marker is null.
    """
    found = []
    for folder in folders:
        name, sign, value = folder.partition("=")
        if sign and name:
            found.append((unquote(name), None if value == NULL else unquote(value)))
    return tuple(found)


def check_folder_columns(files: Iterable[_Named]) -> None:
    """Reject files whose folders name different columns.

    Raises:
        InvalidInputError: code 13, the message names two files.
    """
    first: _Named | None = None
    for file in files:
        first = file if first is None else first
        names, expected = ([name for name, _ in each.folder_values] for each in (file, first))
        if names != expected:
            raise InvalidInputError(
                f"the folders of {first.name} have the columns {', '.join(expected) or 'none'}, "
                f"and those of {file.name} {', '.join(names) or 'none'}; import them separately"
            )
        if len(set(names)) < len(names):
            raise InvalidInputError(
                f"the folders of {file.name} name a column twice; rename one of the folders"
            )


def folder_schema(files: Sequence[_Named]) -> pa.Schema:
    """Return the columns encoded in folder names, with types that fit the values of all files.

    Integers are int32, int64 or decimal; further types are double, date32 and timestamp in
    microseconds. All other columns are text.
    """
    names = [name for name, _ in files[0].folder_values] if files else []
    columns = []
    for place, name in enumerate(names):
        texts = {file.folder_values[place][1] for file in files}
        columns.append((name, _type_of([text for text in texts if text is not None])))
    return pa.schema(columns)


def _type_of(texts: Sequence[str]) -> pa.DataType:
    if not texts:
        return pa.string()
    if all(map(_INTEGER.fullmatch, texts)):
        most = max(abs(int(text)) + (int(text) < 0) * -1 for text in texts)
        for kind, bits in ((pa.int32(), 31), (pa.int64(), 63)):
            if most < 1 << bits:
                return kind
        return pa.decimal128(38, 0) if most < 10**38 else pa.string()
    if all(map(_FLOAT.fullmatch, texts)):
        return pa.float64()
    if all(map(_DATE.fullmatch, texts)) and _parses(texts, pa.date32()):
        return pa.date32()
    moments = all(_DATE.fullmatch(text) or _TIMESTAMP.fullmatch(text) for text in texts)
    if moments and _parses(texts, pa.timestamp("us")):
        return pa.timestamp("us")
    return pa.string()


def _parses(texts: Sequence[str], kind: pa.DataType) -> bool:
    try:
        pa.array(texts).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
