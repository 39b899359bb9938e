"""lance-ns operations and backends."""

from __future__ import annotations

import json
from pathlib import Path

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.server import serving

from .lakes import Lake, NestedNamespace, impl_of, run


def test_ls_all_over_a_server_joins_names_as_told(nested: Lake, tmp_path: Path) -> None:
    nested.run("create", "a")
    nested.run("declare", "a$t")
    root = {"root": str(tmp_path / "nested")}
    with connect(impl_of(NestedNamespace), root) as namespace, serving(namespace) as url:
        remote = Lake("rest", uri=url)
        assert remote.run("ls", "--all").stdout == "a$t\n"
        assert remote.run("ls", "--all", "--delimiter", ".").stdout == "a.t\n"
        assert remote.json("describe", "a.t", "--delimiter", ".")["id"] == ["a", "t"]
        assert remote.json("describe", "a")["kind"] == "namespace"
        assert remote.error("describe", "x", status=Status.NOT_FOUND).startswith("error 4 ")


def test_operations_shows_the_whole_table(lake: Lake) -> None:
    found = lake.json("operations")["operations"]
    assert [row["name"] for row in found] == list(OPERATIONS)
    supported = {row["name"]: row["supported"] for row in found}
    assert supported["DescribeTable"] is True
    assert supported["CreateNamespace"] is False
    lines = lake.run("operations").stdout.splitlines()
    assert len(lines) == len(OPERATIONS) + 1
    assert lines[0].split()[:2] == ["Operation", "Supported"]


def test_operations_can_leave_out_the_unsupported(lake: Lake) -> None:
    text = lake.run("operations", "--supported").stdout
    assert "DescribeTable" in text
    assert "CreateNamespace" not in text
    assert "POST /v1/table/{id}/describe" in lake.run("operations", "--routes").stdout


def test_backends_lists_properties() -> None:
    found = json.loads(run("backends", "--json").stdout)["backends"]
    assert {"dir", "rest"} <= set(found)
    keys = {row["key"]: row for row in found["dir"]["properties"]}
    assert keys["path"]["required"] is True
    text = run("backends", "dir").stdout.splitlines()
    assert text[0].startswith("dir  ")
    assert text[2].split()[:3] == ["path", "text", "required"]


def test_backends_refuses_an_unknown_name() -> None:
    assert "'nix' is not known" in run("backends", "nix", status=Status.INVALID).stderr
