"""Catalogs in which dropping a missing namespace succeeds are documented in rest.yaml and docs/."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lance_namespace_impls.catalog.catalog import CatalogNamespace
from lance_namespace_impls.registry import built_in, load

ROOT = Path(__file__).parents[2]
DOCUMENT = yaml.safe_load((ROOT / "rest.yaml").read_text("utf-8"))


@pytest.mark.parametrize("impl", built_in())
def test_a_catalog_with_idempotent_drops_is_documented(impl: str) -> None:
    kind = load(impl)
    # `hive` selects one of two classes when it connects. Each has its own parameter in this test.
    able = getattr(kind, "capabilities", None)
    can = able is not None and issubclass(kind, CatalogNamespace) and able.idempotent_drop
    operation = DOCUMENT["paths"]["/v1/namespace/{id}/drop"]["post"]["description"]
    mode = DOCUMENT["components"]["schemas"]["DropNamespaceRequest"]["properties"]["mode"]
    file = {"dir": "directory"}.get(impl, impl.rstrip("23"))
    page = " ".join((ROOT / "docs" / f"{file}.md").read_text("utf-8").split())
    for text, words in (
        (operation, f"In an {impl.title()} REST catalog a missing namespace is a success"),
        (mode["description"], f"An {impl.title()} REST catalog succeeds in either mode"),
        (page, "DropNamespace on a missing namespace succeeds in either mode"),
    ):
        assert (words in text) == can, words
