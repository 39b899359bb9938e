"""Knowledge of a target from which the model predicts its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from ...catalog.capabilities import Capabilities

__all__ = ["Identifier", "Known"]

Identifier = tuple[str, ...]

ANY = Capabilities(namespace_depth=None, cascade=True, rename_across=True)
"""Capabilities of a target of which nothing is known."""


def _as_given(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
    return properties


def _nothing(operation: str, request: Mapping[str, Any]) -> frozenset[int]:
    return frozenset()


@frozen(kw_only=True)
class Known:
    """Knowledge of a target that the model needs to predict its answers."""

    capabilities: Capabilities = ANY

    in_full: bool = True
    """Whether answers contain all optional fields and locations, and the target does what this
    project does where the protocol is unspecified; if not, any such answer is accepted."""

    may_refuse: Callable[[str, Mapping[str, Any]], frozenset[int]] = _nothing
    """Codes that are also correct, from the operation and the request."""

    may_lack: Callable[[str, Identifier], bool] = lambda operation, identifier: False
    """Whether the target may be unable to hold an object with so many levels."""

    location: Callable[[Identifier, Mapping[str, str]], str | None] = (
        lambda identifier, properties: None
    )
    """Default location of a table, from its identifier and its namespace's properties; None if
    the catalog chooses it and accepts no location in requests (code 0)."""

    registers: bool = False
    """Whether a table can be registered at another location although the catalog chooses that of
    a new table; DeclareTable cannot specify one (code 13)."""

    moved: Callable[[str, Identifier], str] = lambda location, identifier: location
    """Location of a renamed table, from its previous location and the new identifier."""

    shared_locations: bool = True
    """Whether tables can share a location; if not, the request is rejected (code 13)."""

    managed: bool = False
    """Whether the catalog manages the versions of the tables."""

    takes_location: Callable[[Identifier, str, str | None], bool] = (
        lambda identifier, location, current: True
    )
    """Whether the catalog permits a location for a table, from its identifier, the location and
    the current one, None for a new table; if not, the request is denied (code 15)."""

    shown_namespace_properties: Callable[[Identifier, Mapping[str, str]], Mapping[str, str]] = (
        _as_given
    )
    """Removes properties that the catalog itself adds from those of a namespace."""

    shown_table_properties: Callable[[Identifier, Mapping[str, str]], Mapping[str, str]] = _as_given
    """Removes properties that the catalog itself adds from those of a table."""

    born_with: Callable[[Identifier], tuple[str, ...]] = lambda identifier: ()
    """Child namespaces of every new namespace; empty ones do not make it non-empty."""

    storage_options: Mapping[str, str] = field(factory=dict)
    """Storage options of every table."""

    delimiters: tuple[str, ...] = ("$", ".", "::")
    """Delimiters that ListAllTables accepts; the first is the default."""

    refusal_codes: Mapping[str, frozenset[int]] = field(factory=dict)
    """Codes that an operation returns here in addition to those in the protocol's table."""
