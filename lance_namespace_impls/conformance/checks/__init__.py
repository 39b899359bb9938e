"""The checks, one module per area; importing a module registers its checks."""

from __future__ import annotations

from importlib import import_module

__all__ = ["MODULES", "load_all"]

MODULES = (
    "safety",
    "operations",
    "namespaces",
    "drops",
    "listings",
    "paging",
    "tables",
    "create",
    "storage",
    "register",
    "removal",
    "names",
    "wire",
    "data",
    "query",
    "conditions",
    "values",
    "searches",
    "history",
    "managed",
    "owned",
    "structure",
    "wire_all",
    "wire_names",
    "wire_more",
    "branches",
    "references",
    "settings",
    "lasting",
    "living",
    "evolving",
    "whole",
    "agreeing",
    "stated",
    "repeating",
    "continuing",
    "texts",
    "together",
    "gone",
    "pages",
    "past",
    "combined",
    "counted",
    "replaced",
    "everywhere",
    "exact",
    "commits",
    "nulls",
    "objects",
    "contents",
    "lines",
    "answering",
    "schemas",
    "indices",
    "apart",
    "afterwards",
    "races",
    "orders",
    "sequences",
    "spaces",
    "alike",
)
"""In the order in which they run: prerequisites of other checks first, slow checks last."""


def load_all() -> None:
    """Register all checks."""
    import_module("lance_namespace_impls.conformance.observe")
    for name in MODULES:
        import_module(f"{__name__}.{name}")
