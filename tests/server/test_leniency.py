"""The server accepts variants of requests that third-party clients send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from lance_namespace_impls.server.http.routing import RouteTable
from tests.servers.echo import EchoNamespace

ROWS = pa.table({"x": [1]})
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
def test_a_trailing_slash_is_ignored(operation: Any) -> None:
    table = RouteTable()
    path = operation.path.replace("{id}", "a%24b").replace("{index_name}", "i")
    assert table.find(f"{path}/") == table.find(path) is not None
    for name in operation.names:
        assert table.find(f"/{name}/") == table.find(f"/{name}") is not None


def test_only_one_trailing_slash_is_ignored() -> None:
    assert RouteTable().find("/v1/table/t/describe//") is None
    assert RouteTable().find("/" * 100_000) is None


@pytest.mark.parametrize("body", [b"", b"  \n", b"null", b" null ", b"{}"])
@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/v1/table/t/describe", ["t"]),
        ("/v1/table/t/describe/", ["t"]),
        ("/v1/table/t/count_rows/", ["t"]),
        ("/v1/table/t/schema_metadata/update", ["t"]),
        ("/DescribeTable", None),
    ],
)
def test_missing_and_null_bodies_are_empty_requests(
    echo: EchoNamespace, http: httpx.Client, path: str, names: list[str] | None, body: bytes
) -> None:
    http.post(path, content=body, headers=JSON).raise_for_status()
    assert echo.requests[-1].id == names


@pytest.mark.parametrize(
    ("route", "names"),
    [
        ("a%24b", ["a$b"]),
        ("a%24b", ["a", "b"]),
        ("n%24a%24b", ["n", "a$b"]),
        ("n%24a%24b", ["n$a", "b"]),
        ("my+table", ["my table"]),
        ("my+table", ["my+table"]),
        ("my%20table", ["my table"]),
        ("n%24my+table%2B", ["n", "my table+"]),
        ("a%24%24b", ["a$", "b"]),
    ],
)
def test_an_id_in_the_body_that_matches_the_route_is_used(
    echo: EchoNamespace, http: httpx.Client, route: str, names: list[str]
) -> None:
    http.post(f"/v1/table/{route}/describe", json={"id": names}).raise_for_status()
    assert echo.requests[-1].id == names


@pytest.mark.parametrize(
    ("route", "names"),
    [
        ("a%24b", ["a", "c"]),
        ("a%24b", ["b"]),
        ("my%2Btable", ["my table"]),
        ("%24", ["", ""]),
        ("a%24b", ["a", 1]),
    ],
)
def test_an_id_in_the_body_that_differs_from_the_route_is_rejected(
    http: httpx.Client, route: str, names: list[Any]
) -> None:
    answer = http.post(f"/v1/table/{route}/describe", json={"id": names})
    assert (answer.status_code, answer.json()["code"]) == (400, 13)


def test_a_plus_in_a_route_without_a_body_is_a_plus(
    echo: EchoNamespace, http: httpx.Client
) -> None:
    http.post("/v1/table/a+b/describe").raise_for_status()
    assert echo.requests[-1].id == ["a+b"]


def test_a_name_is_a_valid_page_token(tmp_path: Path) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace, serving(namespace) as uri:
        for name in ("a", "b", "c"):
            namespace.create_table({"id": [name]}, ROWS)
            namespace.insert_into_table({"id": ["a"]}, ROWS)
            namespace.create_table_tag({"id": ["a"], "tag": name, "version": 1})

        def listed(method: str, path: str, key: str, token: str) -> list[Any]:
            answer = httpx.request(method, uri + path, params={"page_token": token})
            return list(answer.raise_for_status().json()[key])

        assert listed("GET", "/v1/namespace/$/table/list/", "tables", "a") == ["b", "c"]
        assert listed("GET", "/v1/table", "tables", "bb") == ["c"]
        assert listed("POST", "/v1/table/a/tags/list", "tags", "c") == []
        versions = listed("POST", "/v1/table/a/version/list", "versions", "3")
        assert [version["version"] for version in versions] == [4]
