"""lance-ns operations and backends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lance_namespace_client.errors import UnsupportedError
from lance_namespace_client.models import ListOperationsResponse
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect, registry
from lance_namespace_impls.cli.commands import browse
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.directory.namespace import DirectoryNamespace
from lance_namespace_impls.server import serving

from .lakes import FailingNamespace, Lake, NestedNamespace, impl_of, run


def test_ls_all_over_a_server_joins_names_with_the_delimiter(nested: Lake, tmp_path: Path) -> None:
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


@pytest.mark.requirement("general-037")
def test_operations_shows_every_operation(lake: Lake) -> None:
    row = OPERATIONS["DescribeTable"]
    found = {each["name"]: each for each in lake.json("operations")["operations"]}
    assert list(found) == list(OPERATIONS)
    assert found["CreateNamespace"]["supported"] is False
    assert found["DescribeTable"] == {
        "name": "DescribeTable",
        "supported": True,
        "tag": row.tag,
        "method": row.http_method,
        "path": row.path,
        "summary": row.summary,
        "codes": list(row.codes),
    }
    lines = [line.split(maxsplit=2) for line in lake.run("operations").stdout.splitlines()]
    assert lines[0] == ["Operation", "Supported", "Description"]
    assert len(lines) == len(OPERATIONS) + 1
    assert ["DescribeTable", "yes", row.summary] in lines
    assert ["CreateNamespace", "no", OPERATIONS["CreateNamespace"].summary] in lines
    supported = lake.run("operations", "--supported").stdout
    assert "DescribeTable" in supported and "CreateNamespace" not in supported
    routes = lake.run("operations", "--routes").stdout
    assert routes.splitlines()[0].endswith("  Route")
    assert "POST /v1/table/{id}/describe" in routes


def test_operations_of_a_server_that_does_not_report_them(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, request: object) -> None:
        raise UnsupportedError("ListOperations: not here")

    monkeypatch.setattr(DirectoryNamespace, "list_operations", refuse)
    found = lake.json("operations")["operations"]
    assert {row["supported"] for row in found} == {None} and len(found) == len(OPERATIONS)
    *lines, last = lake.run("operations").stdout.splitlines()
    assert last == "the server does not report its supported operations"
    assert {line.split()[1] for line in lines[1:]} == {"?"}
    lake.error("operations", "--supported", status=Status.UNSUPPORTED)


def test_operations_of_a_later_protocol(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ListOperationsResponse(operations=["Zip", "GetTable", "Archive"])
    monkeypatch.setattr(DirectoryNamespace, "list_operations", lambda self, request: answer)
    assert lake.json("operations")["unknown"] == ["Archive", "Zip"]
    shown = lake.run("operations", "--supported").stdout.splitlines()
    assert [line.split()[0] for line in shown[1:-1]] == ["DescribeTable"]
    assert shown[-1] == "not in this version of the protocol: Archive, Zip"


@pytest.mark.requirement("general-111", "general-112")
def test_backends_lists_properties() -> None:
    found = json.loads(run("backends", "--json").stdout)["backends"]
    assert {"dir", "rest"} <= set(found)
    keys = {row["key"]: row for row in found["dir"]["properties"]}
    assert keys["path"]["required"] is True
    text = run("backends", "dir").stdout.splitlines()
    assert text[0].startswith("dir  ")
    assert text[2].split()[:3] == ["path", "text", "required"]


def test_backends_shows_the_properties_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    target = impl_of(FailingNamespace)
    known = {"good": target, "bad": "no_such_module:Class"}
    monkeypatch.setattr(registry, "_registered", known)
    monkeypatch.setattr(registry, "implementations", lambda: known)
    found = json.loads(run("backends", "--json").stdout)["backends"]
    assert list(found) == ["bad", "good"]
    assert found["good"] == {
        "class": target, "properties": FailingNamespace.config_type.describe(), "error": None,
    }  # fmt: skip
    assert found["bad"]["class"] is found["bad"]["properties"] is None
    assert "no_such_module" in found["bad"]["error"]
    bad, empty, good, header, *rows = run("backends").stdout.splitlines()
    assert bad.startswith("bad  ") and "no_such_module" in bad
    assert (empty, good) == ("", f"good  {target}")
    assert header.split() == ["Property", "Type", "Default", "Description"]
    assert ["api_key", "text", "something to keep quiet about (secret)"] in [
        line.split(maxsplit=2) for line in rows
    ]


def test_the_display_of_a_property() -> None:
    row = {"key": "k", "type": "number", "unit": None, "required": False, "default": None,
           "doc": "What it is.", "secret": False}  # fmt: skip
    assert browse._property(row) == ("k", "number", "", "What it is.")
    changed = {**row, "unit": "seconds", "default": 5, "secret": True}
    assert browse._property(changed) == ("k", "number (seconds)", "5", "What it is. (secret)")
    assert browse._property({**row, "required": True})[2] == ("required", "yellow")
    for default, shown in ((False, "false"), (True, "true"), ("Text", "Text"), (0, "0")):
        assert browse._property({**row, "default": default})[2] == shown
    ordered = browse._required_first([row, {**row, "required": True}])
    assert [each["required"] for each in ordered] == [True, False]


def test_backends_rejects_an_unknown_name() -> None:
    assert "'nix' is unknown" in run("backends", "nix", status=Status.INVALID).stderr
