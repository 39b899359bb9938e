"""Names in a directory, and their form on storage."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from lance_namespace_client.errors import InvalidInputError

from ..core.identifiers import Identifier

__all__ = [
    "BESIDE",
    "BESIDE_NOTE",
    "DATA",
    "DECLARED",
    "DELIMITER",
    "DEREGISTERED",
    "WRITE_LOCK",
    "IS_BESIDE",
    "MAX_FOLDER_BYTES",
    "MANIFEST",
    "PROPERTIES",
    "SUFFIX",
    "VERSIONS",
    "check_level",
    "check_name",
    "dump",
    "object_id",
]

SUFFIX = ".lance"
# pylance's directory namespace also reads and writes the first two.
DECLARED = ".lance-reserved"
DEREGISTERED = ".lance-deregistered"
PROPERTIES = ".lance-properties"
# In a table's directory named like `IS_BESIDE`: the table's own directory is occupied.
BESIDE = ".lance-beside"
# In the root, for each table that has, or had, such a directory.
BESIDE_NOTE = ".beside-"
DATA = "data"
VERSIONS = "_versions"
# Next to the table directories, while the first rows of one are written.
WRITE_LOCK = ".filling-"
MANIFEST = "__manifest"
DELIMITER = "$"
"""Separator of the levels of an identifier in the manifest."""
MAX_FOLDER_BYTES = 255
MAX_NAME_BYTES = MAX_FOLDER_BYTES - len(SUFFIX)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
IS_BESIDE = re.compile(rf"(.+)-[0-9a-f]{{8}}{re.escape(SUFFIX)}")


def object_id(identifier: Identifier) -> str:
    """Return an identifier in the manifest's form."""
    return DELIMITER.join(identifier)


def check_name(name: str) -> None:
    """Raise for a name that is invalid for a table directory (code 13)."""
    if "/" in name or "\0" in name or name in (".", ".."):
        raise InvalidInputError(f"table name {name!r} would be outside the directory")
    if _CONTROL.search(name):
        raise InvalidInputError(
            f"table name {name!r} has a control character, which Lance does not accept in a path"
        )
    if name.startswith((".", "_")):
        raise InvalidInputError(
            f"table name {name!r}: names that start with '.' or '_' are not tables"
        )
    if name.endswith(SUFFIX):
        raise InvalidInputError(
            f"table name {name!r}: the directory {name}/ is table {name.removesuffix(SUFFIX)!r}"
        )
    try:
        too_long = len(name.encode()) > MAX_NAME_BYTES
    except UnicodeEncodeError:
        raise InvalidInputError(f"table name {name!r} is not valid Unicode text") from None
    if too_long:
        raise InvalidInputError(
            f"table name {name[:40]!r}... is longer than {MAX_NAME_BYTES} bytes"
        )


def check_level(name: str) -> None:
    """Raise for a name that cannot be written in the manifest (code 13)."""
    if DELIMITER in name:
        raise InvalidInputError(
            f"name {name!r} contains {DELIMITER!r}, which joins the levels of an identifier "
            "in the manifest; use a name without it"
        )


def dump(properties: Mapping[str, str]) -> bytes:
    """Return properties in the format of their file."""
    return json.dumps(dict(properties), indent=1, sort_keys=True, ensure_ascii=False).encode()
