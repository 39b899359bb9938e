"""LanceDB's clone_table copies only tables that the caller is allowed to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server import Reach, ReadOnly, ServerOptions, serving
from lance_namespace_impls.server.lancedb.clone import CLONE_TABLE
from tests.servers.echo import EchoNamespace
from tests.servers.http_client import http_client

ROWS = pa.table({"id": [1, 2, 3]})
HEADER = {"x-lancedb-database": "mine"}


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[Namespace]:
    with connect("memory", {"root": str(tmp_path / "lake")}) as namespace:
        for name in ("mine", "other"):
            namespace.create_namespace({"id": [name]})
            namespace.create_table({"id": [name, "t"]}, ROWS)
        yield namespace


Ask = Callable[..., tuple[int, Any]]


@contextmanager
def serving_clones(namespace: Namespace, options: ServerOptions | None = None) -> Iterator[Ask]:
    """Yield a function that clones a location into ``mine.copy`` and returns the response."""
    with serving(namespace, options) as address, http_client(address) as http:

        def ask(source: str, **more: Any) -> tuple[int, Any]:
            body = {"source_location": source, "is_shallow": True, **more}
            answer = http.post("/v1/table/copy/clone", json=body, headers=HEADER)
            return answer.status_code, answer.json()

        yield ask


@pytest.fixture
def ask(namespace: Namespace) -> Iterator[Ask]:
    with serving_clones(namespace) as found:
        yield found


def place(namespace: Namespace, *identifier: str) -> str:
    location = namespace.describe_table({"id": list(identifier)}).location
    assert location is not None
    return location


@pytest.mark.parametrize("is_shallow", [True, False])
@pytest.mark.parametrize("near", ["mine", "other"])
def test_a_table_of_the_catalog_is_cloned(
    namespace: Namespace, ask: Ask, near: str, is_shallow: bool
) -> None:
    source = place(namespace, near, "t")
    status, answer = ask(source, is_shallow=is_shallow)
    assert (status, answer["version"]) == (200, 1)
    copy = ["mine", "copy"]
    assert answer["location"] == place(namespace, *copy) != source
    namespace.delete_from_table({"id": copy, "predicate": "id = 1"})
    assert namespace.count_table_rows({"id": copy}).count == 2
    assert namespace.count_table_rows({"id": [near, "t"]}).count == 3
    namespace.drop_table({"id": copy})
    assert lance.dataset(source).to_table() == ROWS


def test_a_version_or_a_tag_is_cloned(namespace: Namespace, ask: Ask) -> None:
    table = {"id": ["mine", "t"]}
    namespace.create_table_tag({**table, "tag": "first", "version": 1})
    namespace.delete_from_table({**table, "predicate": "id = 1"})
    source = place(namespace, "mine", "t")
    for chosen, rows in (({}, 2), ({"source_version": 1}, 3), ({"source_tag": "first"}, 3)):
        assert ask(source, **chosen)[0] == 200
        assert namespace.count_table_rows({"id": ["mine", "copy"]}).count == rows
        namespace.drop_table({"id": ["mine", "copy"]})
    for wrong, code in (
        ({"source_version": 9}, 11),
        ({"source_tag": "no"}, 8),
        ({"source_version": 1, "source_tag": "first"}, 13),
        ({"source_version": "1"}, 13),
    ):
        assert ask(source, **wrong)[1]["code"] == code
    assert namespace.list_tables({"id": ["mine"]}).tables == ["t"]


def test_a_clone_does_not_replace_an_existing_table(namespace: Namespace, ask: Ask) -> None:
    namespace.create_table({"id": ["mine", "copy"]}, ROWS.slice(0, 1))
    status, answer = ask(place(namespace, "mine", "t"))
    assert (status, answer["code"]) == (400, 5)
    assert namespace.count_table_rows({"id": ["mine", "copy"]}).count == 1


def test_other_locations_are_cloned_only_if_allowed(
    namespace: Namespace, ask: Ask, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    source = str(elsewhere / "t.lance")
    lance.write_dataset(ROWS, source)
    options = ServerOptions(reach=Reach(locations=[str(elsewhere)]))
    inside = place(namespace, "mine", "t")
    for wrong in (source, f"{inside}/../../../elsewhere/t.lance", inside[:-1], "", "s3://b/t"):
        status, answer = ask(wrong)
        assert (status, answer["code"]) == (403, 15), wrong
        assert "\n" not in answer["error"]
    assert namespace.list_tables({"id": ["mine"]}).tables == ["t"]
    with serving_clones(namespace, options) as ask_allowed:
        assert ask_allowed(source)[0] == 200
    assert namespace.count_table_rows({"id": ["mine", "copy"]}).count == 3


class OnlyMine:
    """A policy that allows everything in the namespace ``mine``, and nothing elsewhere."""

    def allows(self, caller: Any, action: Any, identifier: tuple[str, ...]) -> bool:
        return identifier[:1] == ("mine",)

    allows_all = allows

    def allows_some(self, caller: Any, action: Any, identifier: tuple[str, ...]) -> bool:
        return identifier[:1] in ((), ("mine",))


def test_a_policy_restricts_the_sources_of_clones(namespace: Namespace, tmp_path: Path) -> None:
    lance.write_dataset(ROWS, str(tmp_path / "free" / "t.lance"))
    options = ServerOptions(policy=OnlyMine(), reach=Reach(locations=[str(tmp_path)]))
    free = str(tmp_path / "free" / "t.lance")
    with serving_clones(namespace, options) as ask:
        for refused in (place(namespace, "other", "t"), free, "/nowhere"):
            status, answer = ask(refused)
            assert (status, answer["code"]) == (403, 15), refused
        assert ask(place(namespace, "mine", "t"))[0] == 200
    assert namespace.count_table_rows({"id": ["mine", "copy"]}).count == 3


def test_without_a_database_the_identifier_is_relative_to_the_root(namespace: Namespace) -> None:
    with serving(namespace) as address, http_client(address) as http:
        answer = http.post(
            "/v1/table/mine$copy/clone", json={"source_location": place(namespace, "other", "t")}
        )
    assert answer.status_code == 200
    assert namespace.count_table_rows({"id": ["mine", "copy"]}).count == 3


def test_a_third_party_namespace_cannot_clone() -> None:
    with serving(EchoNamespace()) as address, http_client(address) as http:
        answer = http.post("/v1/table/copy/clone", json={"source_location": "/t"})
    assert (answer.status_code, answer.json()["code"]) == (406, 0)
    assert "copy the rows" in answer.json()["error"]


@pytest.mark.parametrize(
    ("sent", "is_shallow"),
    [({}, True), ({"is_shallow": True}, True), ({"is_shallow": False}, False)],
)
def test_a_clone_is_shallow_by_default(sent: dict[str, Any], is_shallow: bool) -> None:
    request: Any = CLONE_TABLE.request_type.from_dict({"source_location": "/t", **sent})
    assert request.is_shallow is is_shallow and request.near == ()
    for wrong in ({"source_location": None}, {"source_version": 0}, {"source_location": 7}):
        with pytest.raises(InvalidInputError):
            CLONE_TABLE.request_type.from_dict({"source_location": "/t", **wrong})


def test_a_location_requires_a_policy_that_allows_everything(
    namespace: Namespace, tmp_path: Path
) -> None:
    source = str(tmp_path / "free" / "t.lance")
    lance.write_dataset(ROWS, source)
    reach = Reach(locations=[str(tmp_path)])
    for policy, status in ((Everything(), 200), (ReadOnly(), 403)):
        with serving_clones(namespace, ServerOptions(policy=policy, reach=reach)) as ask:
            assert ask(source)[0] == status


class Everything:
    """A policy that allows everything."""

    def allows(self, caller: Any, action: Any, identifier: tuple[str, ...]) -> bool:
        return True

    allows_some = allows_all = allows
