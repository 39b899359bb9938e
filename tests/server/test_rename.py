"""A table cannot be renamed to a name that no route can contain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving


@pytest.fixture
def uri(tmp_path: Path) -> Iterator[str]:
    with connect("dir", {"path": str(tmp_path)}) as namespace, serving(namespace) as uri:
        namespace.declare_table({"id": ["t"]})
        yield uri


def tables(uri: str) -> list[str]:
    with connect("rest", {"uri": uri}) as namespace:
        return list(namespace.iter_tables())


def test_a_client_rejects_its_own_delimiter(uri: str) -> None:
    rename = {"id": ["t"], "new_table_name": "a$b"}
    with connect("rest", {"uri": uri}) as namespace:
        with pytest.raises(InvalidInputError, match="contains the delimiter") as refused:
            namespace.rename_table(rename)
        assert refused.value.code == 13
    with connect("rest", {"uri": uri, "delimiter": "::"}) as namespace:
        namespace.rename_table(rename)
        namespace.table_exists({"id": ["a$b"]})
        with pytest.raises(InvalidInputError):
            namespace.rename_table({"id": ["a$b"], "new_table_name": "a::b"})
    assert tables(uri) == ["a$b"]


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("", {"new_table_name": "a$b"}),
        ("", {"new_table_name": "u", "new_namespace_id": ["n$m"]}),
        ("?delimiter=.", {"new_table_name": "a.b"}),
    ],
)
def test_a_server_rejects_the_delimiter_of_a_request(
    uri: str, query: str, body: dict[str, str | list[str]]
) -> None:
    answer = httpx.post(f"{uri}/v1/table/t/rename{query}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, 13)
    assert "contains the delimiter" in answer.text
    assert tables(uri) == ["t"]


def test_a_request_by_operation_name_has_no_delimiter(uri: str) -> None:
    answer = httpx.post(f"{uri}/RenameTable", json={"id": ["t"], "new_table_name": "a$b"})
    assert answer.status_code == 200
    assert tables(uri) == ["a$b"]


@pytest.mark.parametrize(
    ("sent", "table"),
    [
        ({}, ["n", "u"]),
        ({"new_namespace_id": []}, ["u"]),
        ({"new_namespace_id": [], "context": {"a": "b"}}, ["u"]),
        # Java clients send these empty values for fields that are not set.
        ({"new_namespace_id": [], "context": {}}, ["n", "u"]),
        ({"new_namespace_id": ["n"], "context": {}}, ["n", "u"]),
    ],
)
def test_an_unset_namespace_is_the_tables_current_one(
    tmp_path: Path, sent: dict[str, Any], table: list[str]
) -> None:
    with (
        connect("dir", {"path": str(tmp_path), "manifest": "true"}) as namespace,
        serving(namespace) as uri,
    ):
        namespace.create_namespace({"id": ["n"]})
        namespace.declare_table({"id": ["n", "t"]})
        body = {"id": ["n", "t"], "new_table_name": "u", **sent}
        assert httpx.post(f"{uri}/v1/table/n$t/rename", json=body).status_code == 200
        assert list(namespace.list_all_tables({}).tables) == ["$".join(table)]
