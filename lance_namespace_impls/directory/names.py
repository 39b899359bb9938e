"""Names of tables and files in a directory, and the form in which they are stored."""

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
# pylance's directory namespace also reads and writes the first two files.
DECLARED = ".lance-reserved"
DEREGISTERED = ".lance-deregistered"
PROPERTIES = ".lance-properties"
# File in a directory whose name matches `IS_BESIDE`; it means that the table's usual directory is
# occupied.
BESIDE = ".lance-beside"
# File in the root for each table that has, or had, such a directory.
BESIDE_NOTE = ".beside-"
DATA = "data"
VERSIONS = "_versions"
# Directory next to the table directories; it exists while the first rows of a table are being
# written.
WRITE_LOCK = ".filling-"
MANIFEST = "__manifest"
DELIMITER = "$"
"""Separator between the levels of an identifier in the manifest."""
MAX_FOLDER_BYTES = 255
MAX_NAME_BYTES = MAX_FOLDER_BYTES - len(SUFFIX)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
IS_BESIDE = re.compile(rf"(.+)-[0-9a-f]{{8}}{re.escape(SUFFIX)}")


def object_id(identifier: Identifier) -> str:
    """Return an identifier in the form that the manifest uses."""
    return DELIMITER.join(identifier)


def check_name(name: str) -> None:
    """Reject a name that is invalid for a table directory (code 13)."""
    if "/" in name or "\0" in name or name in (".", ".."):
        raise InvalidInputError(
            f"table name {name!r} would refer to a path outside the directory; use another name"
        )
    if _CONTROL.search(name):
        raise InvalidInputError(
            f"table name {name!r} has a control character, which Lance does not accept in paths; "
            f"remove it"
        )
    if name.startswith((".", "_")):
        raise InvalidInputError(
            f"table name {name!r}: tables cannot have names that start with '.' or '_'; use "
            f"another name"
        )
    if name.endswith(SUFFIX):
        raise InvalidInputError(
            f"table name {name!r} must not end with {SUFFIX!r}: the directory {name}/ is table "
            f"{name.removesuffix(SUFFIX)!r}; use that name"
        )
    try:
        too_long = len(name.encode()) > MAX_NAME_BYTES
    except UnicodeEncodeError:
        raise InvalidInputError(
            f"table name {name!r} is not valid Unicode; use another name"
        ) from None
    if too_long:
        raise InvalidInputError(
            f"table name {name[:40]!r}... is longer than {MAX_NAME_BYTES} bytes; shorten it"
        )


def check_level(name: str) -> None:
    """Reject a name that the manifest cannot store (code 13)."""
    if DELIMITER in name:
        raise InvalidInputError(
            f"name {name!r} contains {DELIMITER!r}, which joins the levels of an identifier "
            "in the manifest; use a name without it"
        )


def dump(properties: Mapping[str, str]) -> bytes:
    """Serialize properties in the format of the properties file."""
    return json.dumps(dict(properties), indent=1, sort_keys=True, ensure_ascii=False).encode()
