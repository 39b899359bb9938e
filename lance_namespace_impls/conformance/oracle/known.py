"""What is known of a target, so that its answers can be told beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from ...catalog.capabilities import Capabilities

__all__ = ["Identifier", "Known"]

Identifier = tuple[str, ...]

ANY = Capabilities(namespace_depth=None, cascade=True, rename_across=True)
"""What a target might do of which nothing is known."""


def _as_given(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
    return properties


def _nothing(operation: str, request: Mapping[str, Any]) -> frozenset[int]:
    return frozenset()


@frozen(kw_only=True)
class Known:
    """What the model must know of a target to tell its answers."""

    capabilities: Capabilities = ANY

    in_full: bool = True
    """Whether every optional field is answered, places are told, and what the protocol leaves open
    is as this project does it; else such answers are taken either way."""

    may_refuse: Callable[[str, Mapping[str, Any]], frozenset[int]] = _nothing
    """Codes that are as good as an answer, from the operation and the request."""

    location: Callable[[Identifier, Mapping[str, str]], str | None] = (
        lambda identifier, properties: None
    )
    """Default location of a table, from its identifier and its namespace's properties; None where
    the catalog chooses it, and takes no location from outside (code 0)."""

    registers: bool = False
    """Where the catalog chooses the location of a new table: whether one can be registered at
    another all the same; a declared one cannot (code 13)."""

    moved: Callable[[str, Identifier], str] = lambda location, identifier: location
    """Location of a table after it was renamed, from the one before and the new identifier."""

    shared_locations: bool = True
    """Whether tables can be at the location of another; where not, it is refused (code 13)."""

    managed: bool = False
    """Whether the catalog keeps the versions of the tables."""

    takes_location: Callable[[Identifier, str, str | None], bool] = (
        lambda identifier, location, current: True
    )
    """Whether the catalog lets a table be at a location, from its identifier, the location and the
    one that it has, None for a new table; where not, it is denied (code 15)."""

    shown_namespace_properties: Callable[[Identifier, Mapping[str, str]], Mapping[str, str]] = (
        _as_given
    )
    """Takes what the catalog adds by itself out of a namespace's properties."""

    shown_table_properties: Callable[[Identifier, Mapping[str, str]], Mapping[str, str]] = _as_given
    """Takes what the catalog adds by itself out of a table's properties."""

    born_with: Callable[[Identifier], tuple[str, ...]] = lambda identifier: ()
    """Child namespaces that a new namespace comes with; while empty they count as nothing."""

    storage_options: Mapping[str, str] = field(factory=dict)
    """Storage options of every table."""

    delimiters: tuple[str, ...] = ("$", ".", "::")
    """Delimiters that ListAllTables can be asked for; the first is the default."""

    refusal_codes: Mapping[str, frozenset[int]] = field(factory=dict)
    """Codes that an operation answers here beside those of the protocol's table."""
