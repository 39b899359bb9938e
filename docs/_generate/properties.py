"""Generates a ``TypedDict`` of the properties of each built-in implementation.

``python -m docs._generate.properties`` writes ``lance_namespace_impls/properties.py``; a test
checks that the file is current.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from lance_namespace_impls import registry
from lance_namespace_impls.core import options

TARGET = Path(registry.__file__).with_name("properties.py")
HEAD = '''"""The properties of each built-in implementation, as dicts for type checkers.

Generated from the configuration classes by ``python -m docs._generate.properties``.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TypeAlias, TypedDict

__all__ = [
{names}]

Text: TypeAlias = str | PathLike[str]
Number: TypeAlias = float | str
Flag: TypeAlias = bool | str
Texts: TypeAlias = str | Sequence[str]
'''
LINE = 100
# Secret object store options, which are not on the list of options known to be harmless.
CREDENTIALS = (
    "access_key_id", "account_key", "application_credentials", "aws_access_key_id", "aws_endpoint",
    "aws_region", "aws_secret_access_key", "aws_session_token", "azure_client_id",
    "azure_client_secret", "azure_storage_account_key", "azure_storage_account_name",
    "azure_storage_sas_token", "azure_tenant_id", "client_id", "client_secret",
    "google_application_credentials", "google_service_account", "google_service_account_key",
    "sas_token", "secret_access_key", "service_account", "service_account_key", "session_token",
)  # fmt: skip
TYPES = {
    "text": "Text",
    "whole number": "Number",
    "number": "Number",
    "true or false": "Flag",
    "list": "Texts",
}


def class_name(impl: str) -> str:
    """Return the name of an implementation's ``TypedDict``."""
    return f"{'Directory' if impl == 'dir' else impl.title()}Properties"


def keys(row: dict[str, Any]) -> list[str]:
    """Return the keys of a property; none for a group, whose names are not known in advance."""
    return [] if row["key"].endswith("*") else [row["key"], *row["also"]]


def typed_dict(name: str, fields: dict[str, str]) -> str:
    """Return the source code of a ``TypedDict``."""
    body = textwrap.wrap(
        " ".join(f'"{key}":~{type},' for key, type in fields.items()),
        LINE - 4,
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = "".join(f"    {line}\n" for line in body).replace("~", " ")
    return f'{name} = TypedDict("{name}", {{\n{lines}}}, total=False)\n'


def text() -> str:
    """Return the module."""
    impls = sorted(registry.built_in(), key=class_name)
    out = HEAD.replace("{names}", "".join(f'    "{class_name(impl)}",\n' for impl in impls))
    names = sorted({*options.KNOWN, *CREDENTIALS})
    out += "\n# fmt: off\n" + typed_dict("_Storage", {f"storage.{name}": "Text" for name in names})
    for impl in impls:
        fields = {
            each: TYPES[row["type"]]
            for row in registry.load(impl).config_type.describe()
            for key in keys(row)
            for each in (key, f"{impl}.{key}")
        }
        name = class_name(impl)
        out += typed_dict(f"_{name}", fields)
        out += f"\n\nclass {name}(_{name}, _Storage, total=False):\n"
        out += (
            f'    """The properties of ``{impl}``; a key may have the prefix ``{impl}.``."""\n\n\n'
        )
    return out.rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), "utf-8")
