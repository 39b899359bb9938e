"""The checks by area; importing a module registers its checks.

All checks of an area of ids, such as ``LN-TABLE-CREATE``, are in one module.
"""

from __future__ import annotations

from importlib import import_module

__all__ = ["MODULES", "load_all"]

MODULES = (
    "catalog.operations",
    "catalog.namespaces",
    "catalog.namespace_removal",
    "catalog.listings",
    "catalog.pagination",
    "catalog.identifiers",
    "catalog.properties",
    "tables.create",
    "tables.declare",
    "tables.register",
    "tables.describe",
    "tables.alter",
    "tables.rename",
    "tables.drop",
    "tables.storage",
    "tables.statistics",
    "rows.insert",
    "rows.update_delete",
    "rows.merge",
    "rows.types",
    "query.scan",
    "query.filters",
    "query.search",
    "query.combinations",
    "schema.columns",
    "schema.indices",
    "schema.metadata",
    "versions.versions",
    "versions.tags",
    "versions.branches",
    "versions.references",
    "versions.time_travel",
    "versions.managed",
    "versions.transactions",
    "http.routes",
    "http.identifiers",
    "http.bodies",
    "http.parameters",
    "http.errors",
    "http.equivalence",
    "errors.missing_objects",
    "errors.fields",
    "concurrency.races",
    "concurrency.serializability",
    "consistency.freshness",
    "consistency.agreement",
    "consistency.repetition",
    "consistency.request_fields",
    "consistency.side_effects",
    "consistency.random_sequences",
    "consistency.equivalence",
)
"""In the order of reports. `run_order` runs checks that send few calls first."""


def load_all() -> None:
    """Register all checks."""
    import_module("lance_namespace_impls.conformance.observe")
    for name in MODULES:
        import_module(f"{__name__}.{name}")
