"""Versions of a managed table stay within it: no branch or path reaches another table's files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import lance
import pytest

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace

from .staging import ROWS, STORES, stage

WITH_SQL = {**STORES, "sql": {"managed": "true"}}
BRANCHES = ("../../{other}", "..", ".", "a/../../../{other}", "/a", "a//b", "a/", "a\\b", "a\0b")
PATHS = (
    "{other}/_versions/{name}",
    "{t}/../{o}/_versions/{name}",
    "{t}/tree/b/_versions/{name}",
    "etc/_versions/{name}",
    "_versions/{name}",
    "s3://bucket/{t}/_versions/{name}",
    "{t}/%2e%2e/{o}/_versions/{name}",
)


@pytest.fixture(params=WITH_SQL)
def managed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Namespace]:
    """A catalog that manages the versions of its tables, with the tables ``t`` and ``other``."""
    properties = {"root": str(tmp_path / "tables"), **WITH_SQL[request.param]}
    if request.param == "sql":
        from lance_namespace_impls.sql import initialize

        properties["uri"] = str(tmp_path / "catalog.db")
        initialize(properties)
    with connect(request.param, properties) as found:
        for name in ("t", "other"):
            found.create_table({"id": [name]}, ROWS)
        yield found


def location(namespace: Namespace, table: str) -> Path:
    return Path(str(namespace.describe_table({"id": [table]}).location))


def files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


def test_a_branch_name_cannot_reach_another_folder(managed: Namespace) -> None:
    other = location(managed, "other")
    (location(managed, "t") / "tree").mkdir(exist_ok=True)
    staged = stage(managed, "other")
    before = files(other)
    for branch in BRANCHES:
        name = branch.format(other=other.name)
        asked = {"id": ["t"], "branch": name}
        with pytest.raises(LanceNamespaceError):
            managed.describe_table_version(asked)
        with pytest.raises(LanceNamespaceError):
            managed.list_table_versions(asked)
        with pytest.raises(LanceNamespaceError):
            managed.describe_table_version({**asked, "version": 1})
        entry = {**staged, "id": ["t"], "branch": name}
        with pytest.raises(InvalidInputError, match="branch"):
            managed.create_table_version(entry)
        with pytest.raises(InvalidInputError, match="branch"):
            managed.batch_create_table_versions({"entries": [entry]})
        assert files(other) == before, name
    assert lance.dataset(str(other)).count_rows() == 3


def test_a_manifest_outside_the_versions_of_the_table_is_rejected(managed: Namespace) -> None:
    staged = stage(managed, "t")
    own, other = location(managed, "t"), location(managed, "other")
    places = {"t": str(own).lstrip("/"), "other": str(other).lstrip("/"), "o": other.name}
    name = staged["manifest_path"].rpartition("/")[2]
    for path in PATHS:
        request = {**staged, "manifest_path": path.format(**places, name=name)}
        with pytest.raises(InvalidInputError, match="not a valid manifest path"):
            managed.create_table_version(request)
        with pytest.raises(InvalidInputError, match="not a valid manifest path"):
            managed.batch_commit_tables({"operations": [{"create_table_version": request}]})
    assert managed.create_table_version(staged).version.version == 2
    assert managed.count_table_rows({"id": ["t"]}).count == 6


def test_a_manifest_path_can_be_absolute(managed: Namespace) -> None:
    staged = stage(managed, "t")
    path = "/" + staged["manifest_path"]
    managed.create_table_version({**staged, "manifest_path": path})
    kept = managed.describe_table_version({"id": ["t"]}).version
    assert kept.manifest_path == path.lstrip("/").partition(".manifest")[0] + ".manifest"


def test_a_link_to_the_root_is_the_same_location(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "link")
    with connect("memory", {"root": str(tmp_path / "link"), "managed": "true"}) as found:
        found.create_table({"id": ["t"]}, ROWS)
        staged = stage(found, "t")
        real = os.path.realpath("/" + staged["manifest_path"]).lstrip("/")
        assert found.create_table_version({**staged, "manifest_path": real}).version.version == 2
