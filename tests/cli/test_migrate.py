"""lance-ns migrate: add a manifest to a directory, and remove it again."""

from __future__ import annotations

from pathlib import Path

from lance_namespace_impls.cli.failures import Status

from .lakes import Lake


def test_migration_to_a_manifest_and_back(lake: Lake, tmp_path: Path) -> None:
    manifest = tmp_path / "lake" / "__manifest"
    lake.run("declare", "a")
    lake.run("declare", "b")
    assert lake.run("migrate", "--dry-run").stdout == "a\nb\n2 tables would be migrated: manifest\n"
    assert not manifest.exists()
    assert lake.run("migrate").stdout == "2 tables migrated: manifest\n"
    assert manifest.exists()
    lake.run("create", "sales")
    refused = lake.error("migrate", "--to", "flat", status=Status.CONFLICT)
    assert "because only the manifest stores 'sales'" in refused
    lake.run("drop", "sales", "--namespace")
    assert lake.json("migrate", "--to", "flat") == {
        "to": "flat",
        "tables": ["a", "b"],
        "done": True,
    }
    assert not manifest.exists()
    assert lake.run("ls", "-t").stdout == "a\nb\n"


def test_only_a_directory_can_be_migrated(nested: Lake) -> None:
    assert "--impl dir" in nested.error("migrate", status=Status.USAGE)
