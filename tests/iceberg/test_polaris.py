"""Behavior of Apache Polaris, tested on a real server and on a double built from recordings of one."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from attrs import frozen

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from lance_namespace_impls.iceberg import IcebergNamespace
from tests.servers import real
from tests.servers.polaris import PolarisDouble
from tests.servers.web import Answer, Asked

pytestmark = pytest.mark.xdist_group("iceberg")

ROWS = pa.table({"x": [1, 2]})
NAMES = (
    "t", "50%", "a%20b", "a%2Eb", "%2F", "a+b", "+", "a b", "ü", "a$b", "a#b", "a?b", "a;b", "a:b",
    "a\\b", "a.b", "x%25y", "%zz",
)  # fmt: skip


@frozen
class Place:
    """A namespace of one test, and its folder."""

    catalog: IcebergNamespace
    id: list[str]
    folder: Path


@pytest.fixture
def double(tmp_path: Path) -> Iterator[PolarisDouble]:
    with PolarisDouble((tmp_path / "db").as_uri() + "/") as running:
        yield running


@pytest.fixture
def recorded(double: PolarisDouble, tmp_path: Path) -> Iterator[Place]:
    """A connection to the test double."""
    properties = {"endpoint": double.uri, "warehouses": "lake", "root": str(tmp_path / "unused")}
    with IcebergNamespace.from_properties(properties) as catalog:
        yield Place(catalog, ["lake", "db"], tmp_path / "db")


@pytest.fixture(params=["recorded", pytest.param("real", marks=pytest.mark.real("polaris"))])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """The double and the real server."""
    if request.param == "recorded":
        yield request.getfixturevalue("recorded")
        return
    with connected() as catalog:
        identifier = ["lake", f"n{uuid.uuid4().hex}"]
        made = catalog.create_namespace({"id": identifier}).properties
        assert made is not None
        yield Place(catalog, identifier, Path(made["location"].removeprefix("file://")))


def connected(**changes: str) -> IcebergNamespace:
    """Connect to the real server, without a root: tables are stored below their namespace."""
    server = real.running("polaris")
    given = {key: server.settings[key] for key in ("credential", "scope", "warehouse")}
    return IcebergNamespace.from_properties({"endpoint": server.uri, **given, **changes})


def test_namespace_changes_of_one_process_are_serialized(
    double: PolarisDouble, recorded: Place
) -> None:
    recorded.catalog.describe_namespace({"id": recorded.id})
    entered, answered = threading.Barrier(2), []
    respond = double.respond

    def note(asked: Asked) -> Answer:
        answered.append(asked.method)
        with suppress(threading.BrokenBarrierError):  # the other caller has to wait
            entered.wait(0.2)
        return respond(asked)

    double.respond = note  # type: ignore[method-assign]
    change = {"id": recorded.id, "set_properties": {"kept": "1"}, "unset_properties": ["gone"]}
    double.properties["gone"] = "1"
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(recorded.catalog.alter_namespace, [change, change]))
    assert ["gone" in (each.properties or {}) for each in found] == [False, False]
    # Each call reads, sets properties, removes one if it exists, and reads again.
    assert answered == ["GET", "POST", "POST", "GET", "GET", "POST", "GET"]


def test_set_and_unset_in_one_call(place: Place) -> None:
    place.catalog.alter_namespace(
        {"id": place.id, "set_properties": {"old": "1", "kept": "2", "changed": "a"}}
    )
    altered = place.catalog.alter_namespace(
        {
            "id": place.id,
            "set_properties": {"new": "3", "changed": "b"},
            "unset_properties": ["old", "never"],
        }
    ).properties
    assert altered == place.catalog.describe_namespace({"id": place.id}).properties
    assert altered is not None
    location = altered.pop("location")
    assert altered == {"kept": "2", "new": "3", "changed": "b"}
    assert location.rstrip("/") == f"file://{place.folder}"


@pytest.mark.parametrize(
    ("status", "error"), [(409, ConcurrentModificationError), (403, PermissionDeniedError)]
)
def test_a_half_rejected_change_changes_nothing(
    recorded: Place, double: PolarisDouble, status: int, error: type[Exception]
) -> None:
    before = double.properties | {"old": "1", "changed": "a"}
    double.properties = dict(before)
    double.failing_removals.append(Answer(status=status, body={"error": {"message": "no"}}))
    with pytest.raises(error):
        recorded.catalog.alter_namespace(
            {
                "id": recorded.id,
                "set_properties": {"new": "3", "changed": "b"},
                "unset_properties": ["old"],
            }
        )
    assert double.properties == before


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_found_by_its_name(place: Place, name: str) -> None:
    identifier = [*place.id, name]
    place.catalog.create_table({"id": identifier}, ROWS)
    assert place.catalog.list_tables({"id": place.id}).tables == [name]
    found = place.catalog.describe_table({"id": identifier})
    assert found.location is not None
    assert Path(found.location).parent == place.folder
    assert lance.dataset(found.location).count_rows() == 2
    place.catalog.drop_table({"id": identifier})
    assert place.catalog.list_tables({"id": place.id}).tables == []
    assert not Path(found.location).exists() or not list(Path(found.location).rglob("*.lance"))


def test_a_name_does_not_resolve_to_its_decoded_form(place: Place) -> None:
    for name in ("a b", "a+b", "a%20b"):
        place.catalog.declare_table({"id": [*place.id, name], "properties": {"is": name}})
    for name in ("a b", "a+b", "a%20b"):
        properties = place.catalog.describe_table({"id": [*place.id, name]}).properties
        assert properties is not None
        assert properties["is"] == name
    place.catalog.deregister_table({"id": [*place.id, "a+b"]})
    assert place.catalog.list_tables({"id": place.id}).tables == ["a b", "a%20b"]


@pytest.mark.parametrize("last", ["x y", "ü$", "%C3%BC%20", "a{1}"])
def test_a_location_that_is_a_uri(place: Place, last: str) -> None:
    identifier = [*place.id, "t"]
    declared = place.catalog.declare_table(
        {"id": identifier, "location": f"file://{place.folder}/{last}"}
    )
    opened = {"%C3%BC%20": "ü "}.get(last, last)
    assert declared.location == f"{place.folder}/{opened}"
    assert place.catalog.describe_table({"id": identifier}).location == declared.location
    place.catalog.insert_into_table({"id": identifier}, ROWS)
    # Lance itself interprets the URI in the same way.
    assert lance.dataset(f"file://{place.folder}/{last}").count_rows() == 2


def test_a_root_that_is_a_uri(tmp_path: Path) -> None:
    with PolarisDouble() as double:
        root = f"file://{tmp_path}/ü $ x"
        properties = {"endpoint": double.uri, "root": root}
        with IcebergNamespace.from_properties(properties) as catalog:
            created = catalog.create_table({"id": ["lake", "db", "a b"]}, ROWS)
            assert created.location == f"{tmp_path}/ü $ x/lake/db/a b"
            assert (
                catalog.describe_table({"id": ["lake", "db", "a b"]}).location == created.location
            )
            assert lance.dataset(created.location).count_rows() == 2
        assert double.tables["a b"]["location"] == f"file://{tmp_path}/ü%20$%20x/lake/db/a%20b"


@pytest.mark.real("polaris")
def test_a_used_or_outside_location_is_rejected() -> None:
    with connected() as catalog:
        identifier = ["lake", f"n{uuid.uuid4().hex}"]
        catalog.create_namespace({"id": identifier})
        first = catalog.declare_table({"id": [*identifier, "first"]})
        with pytest.raises(InvalidInputError, match="choose another location"):
            catalog.declare_table({"id": [*identifier, "second"], "location": first.location})
        with pytest.raises(PermissionDeniedError, match="allowed locations"):
            catalog.declare_table({"id": [*identifier, "second"], "location": "/elsewhere/t"})
        assert catalog.list_tables({"id": identifier}).tables == ["first"]


@pytest.mark.real("polaris")
def test_a_table_cannot_be_moved_out_of_its_location() -> None:
    with connected() as catalog:
        identifier = ["lake", f"n{uuid.uuid4().hex}"]
        catalog.create_namespace({"id": identifier})
        first = catalog.declare_table({"id": [*identifier, "first"]})
        second = {"id": [*identifier, "second"]}
        before = catalog.declare_table({**second, "properties": {"owner": "me"}})
        change = {**second, "mode": "Overwrite", "properties": {"owner": "you"}}
        for location in (first.location, f"{first.location}-2", "/elsewhere/t"):
            with pytest.raises(PermissionDeniedError, match="Invalid locations"):
                catalog.register_table({**change, "location": location})
        after = catalog.describe_table(second)
        assert after.location == before.location
        assert (after.properties or {})["owner"] == "me"
        deeper = f"{before.location}/deeper"
        assert catalog.register_table({**change, "location": deeper}).location == deeper


@pytest.mark.real("polaris")
def test_rename_keeps_the_location() -> None:
    with connected() as catalog:
        identifier = ["lake", f"n{uuid.uuid4().hex}"]
        catalog.create_namespace({"id": identifier})
        created = catalog.create_table({"id": [*identifier, "a%b"]}, ROWS)
        catalog.rename_table({"id": [*identifier, "a%b"], "new_table_name": "c+d"})
        assert catalog.list_tables({"id": identifier}).tables == ["c+d"]
        assert catalog.describe_table({"id": [*identifier, "c+d"]}).location == created.location


@pytest.mark.real("polaris")
def test_the_required_scope_is_named() -> None:
    with connected(scope="catalog") as catalog, pytest.raises(UnauthenticatedError) as refused:
        catalog.list_namespaces({"id": ["lake"]})
    assert "'catalog'; Apache Polaris requires PRINCIPAL_ROLE:ALL" in str(refused.value)


@pytest.mark.real("polaris")
def test_an_endpoint_with_the_version() -> None:
    with connected(endpoint=f"{real.running('polaris').uri}/v1/") as catalog:
        assert catalog.describe_namespace({"id": ["lake"]}).properties == {}


def test_a_table_without_a_location(recorded: Place, double: PolarisDouble) -> None:
    double.tables["t"] = {"properties": {"table_type": "lance"}}
    with pytest.raises(Exception, match="no location") as refused:
        recorded.catalog.describe_table({"id": [*recorded.id, "t"]})
    assert refused.value.code == 19  # type: ignore[attr-defined]
