"""The same calls on a directory with a manifest return the same codes here and in pylance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lance
import lance_namespace as official
import pytest

from lance_namespace_impls import connect

from .lakes import ROWS, Peer, ipc

RETRIES = {"commit_retries": "1000"}


def scenario(namespace: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield calls that depend on one another, each with a description."""

    def call(method: str, request: str, *rows: bytes, **fields: Any) -> Callable[[], Any]:
        made = getattr(official, f"{request}Request")(**fields)
        return lambda: getattr(namespace, method)(made, *rows)

    table, through = ["w", "t"], {"namespace_client": namespace, "table_id": ["w", "through"]}
    yield "a namespace", call("create_namespace", "CreateNamespace", id=["w"])
    yield "it again", call("create_namespace", "CreateNamespace", id=["w"])
    yield "one in it", call("create_namespace", "CreateNamespace", id=["w", "c"])
    yield "one in none", call("create_namespace", "CreateNamespace", id=["x", "c"])
    yield "a table", call("create_table", "CreateTable", ipc(ROWS), id=table)
    yield "no rows", call("create_table", "CreateTable", b"", id=["w", "e"])
    yield "no name", call("create_table", "CreateTable", ipc(ROWS), id=[])
    yield "it exists", call("table_exists", "TableExists", id=table)
    yield "another does not", call("table_exists", "TableExists", id=["w", "no"])
    yield "nor is described", call("describe_table", "DescribeTable", id=["w", "no"])
    yield "not empty", call("drop_namespace", "DropNamespace", id=["w"])
    yield "the root", call("describe_namespace", "DescribeNamespace", id=[])
    yield "it stays", call("drop_namespace", "DropNamespace", id=[])
    for location in ("s3://b/x", "/abs/x", "../x"):
        yield (
            f"a table at {location}",
            call("register_table", "RegisterTable", id=["w", "r"], location=location),
        )
    yield "inside", call("register_table", "RegisterTable", id=["w", "r"], location="ext.lance")
    yield "out of it", call("deregister_table", "DeregisterTable", id=table)
    yield "then gone", call("describe_table", "DescribeTable", id=table)
    yield "declared", call("declare_table", "DeclareTable", id=["w", "d"])
    yield "twice", call("declare_table", "DeclareTable", id=["w", "d"])
    yield (
        "at a place",
        call("declare_table", "DeclareTable", id=["w", "p"], location="/elsewhere/x"),
    )
    yield "dropped", call("drop_table", "DropTable", id=["w", "d"])
    yield "dropped twice", call("drop_table", "DropTable", id=["w", "d"])
    yield "an empty one", call("drop_namespace", "DropNamespace", id=["w", "c"])
    for mode in ("create", "append", "overwrite"):
        yield mode, lambda mode=mode: lance.write_dataset(ROWS, mode=mode, **through)  # type: ignore[misc]
    yield "read", lambda: lance.dataset(**through).to_table()
    yield "counted", call("count_table_rows", "CountTableRows", id=["w", "through"])
    yield (
        "a branch",
        call("create_table_branch", "CreateTableBranch", id=["w", "through"], name="b"),
    )
    yield (
        "gone again",
        call("delete_table_branch", "DeleteTableBranch", id=["w", "through"], name="b"),
    )

    def many() -> None:
        def one(number: int) -> None:
            call("create_table", "CreateTable", ipc(ROWS), id=["w", f"m{number}"])()
            call("drop_table", "DropTable", id=["w", f"m{number}"])()

        with ThreadPoolExecutor(10) as pool:
            list(pool.map(one, range(10)))

    yield "ten at once", many


def codes(namespace: Any) -> dict[str, int | None]:
    """Run the calls; return the error code of each call by its description, or None."""
    found: dict[str, int | None] = {}
    for what, call in scenario(namespace):
        try:
            call()
            found[what] = None
        except Exception as error:  # noqa: BLE001 any failure is compared
            found[what] = int(getattr(error, "code", -1))
    return found


@pytest.mark.parametrize(
    "properties",
    [{}, {"dir_listing_enabled": "false"}, {"table_version_tracking_enabled": "true"}],
    ids=["listed", "manifest alone", "managed"],
)
def test_codes_are_the_same_as_in_pylance(tmp_path: Path, properties: dict[str, str]) -> None:
    theirs = Peer.at(f"file://{tmp_path}/theirs", **properties, **RETRIES).namespace
    given = {"root": f"file://{tmp_path}/ours", "manifest": "true", **properties, **RETRIES}
    with connect("dir", given) as ours:
        expected = codes(theirs)
        assert codes(ours) == expected
    assert list(expected.values()).count(None) >= 17
