"""CreateTable in a directory: other clients see the table with its rows, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from attrs import define

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.models import DescribeTableRequest
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.directory.manifest import Manifest
from tests.servers.s3 import GuardedS3

from .lakes import Peer

THEIRS, OURS = pa.table({"x": [7, 8]}), pa.table({"x": [1, 2, 3]})


@define
class Place:
    """A directory, with two connections through this package and one through pylance."""

    one: Namespace
    two: Namespace
    peer: Peer | None
    table: list[str]
    names: Callable[[], set[str]]
    """Returns the names in the root, including hidden directories."""

    def create(self, rows: Any, **more: Any) -> Any:
        return self.one.create_table({"id": self.table, **more}, rows)


@pytest.fixture(params=["flat", "root", "nested", pytest.param("nested-s3", marks=pytest.mark.s3)])
def place(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Place]:
    layout = request.param
    properties = {"root": str(tmp_path)}
    if layout == "nested-s3":
        s3: GuardedS3 = request.getfixturevalue("s3")
        options = {f"storage.{key}": value for key, value in s3.options().items()}
        properties = {"root": f"s3://{s3.bucket}/rows-first", **options}

    def names() -> set[str]:
        if layout == "nested-s3":
            return {key.split("/")[1] for key in s3.objects()} - {"__manifest", ""}
        return {path.name for path in tmp_path.iterdir()} - {"__manifest"}

    if layout != "flat":
        properties["manifest"] = "true"
    with connect("dir", properties) as one, connect("dir", properties) as two:
        if layout.startswith("nested"):
            one.create_namespace({"id": ["n"]})
        table = ["n", "t"] if layout.startswith("nested") else ["t"]
        peer = Peer.at(tmp_path) if layout == "nested" else None
        yield Place(one=one, two=two, peer=peer, table=table, names=names)


def while_read(do: Callable[[], None], batches: int = 3) -> pa.RecordBatchReader:
    """Return a stream of rows, which calls a function after the first row."""

    def rows() -> Iterator[pa.RecordBatch]:
        yield from pa.table({"x": [1]}).to_batches()
        do()
        for x in range(2, batches + 1):
            yield from pa.table({"x": [x]}).to_batches()

    return pa.RecordBatchReader.from_batches(OURS.schema, rows())


@pytest.mark.parametrize("mode", ["Create", "ExistOk", "Overwrite"])
def test_a_table_is_visible_only_with_its_rows(place: Place, mode: str) -> None:
    seen: list[list[str]] = []
    rows = while_read(lambda: seen.append(list(place.two.iter_tables(place.table[:-1]))))
    made = place.create(rows, mode=mode, properties={"k": "v"})
    assert (seen, made.version) == ([[]], 1)
    found = place.two.describe_table({"id": place.table, "check_declared": True})
    assert (found.properties, found.is_only_declared) == ({"k": "v"}, False)
    assert place.two.open_table(place.table).to_table() == OURS


@pytest.mark.parametrize("place", ["nested"], indirect=True)
def test_pylance_never_fills_a_table_that_is_being_created(place: Place) -> None:
    assert place.peer is not None
    peer = place.peer
    with pytest.raises(LanceNamespaceError) as caught:
        place.create(while_read(lambda: peer.create_table(place.table, THEIRS)))
    assert caught.value.code == 5
    dataset = place.two.open_table(place.table)
    assert (dataset.to_table(), dataset.version) == (THEIRS, 1)
    assert len(place.names()) == 1


@pytest.mark.parametrize(
    ("mode", "code"), [("Create", 5), ("ExistOk", None), ("Overwrite", 14)], ids=str
)
def test_a_stream_never_replaces_a_concurrent_table(
    place: Place, mode: str, code: int | None
) -> None:
    """A stream cannot be read again if another client created the table concurrently."""

    def other() -> None:
        place.two.create_table({"id": place.table}, THEIRS)

    try:
        place.create(while_read(other), mode=mode)
    except LanceNamespaceError as error:
        assert error.code == code
    else:
        assert code is None
    assert place.two.open_table(place.table).to_table() == THEIRS
    assert len(place.names()) == 1


def test_a_concurrently_declared_table_is_not_filled_with_the_rest_of_a_stream(
    place: Place,
) -> None:
    with pytest.raises(LanceNamespaceError, match="send the rows again") as caught:
        place.create(while_read(lambda: place.two.declare_table({"id": place.table})))
    assert caught.value.code == 14
    found = place.two.describe_table({"id": place.table, "check_declared": True})
    assert found.is_only_declared
    place.create(OURS)
    assert place.two.open_table(place.table).to_table() == OURS


def test_a_failed_stream_leaves_nothing(place: Place) -> None:
    def broken() -> None:
        raise RuntimeError("the source gave up")

    with pytest.raises(LanceNamespaceError, match="the source gave up"):
        place.create(while_read(broken))
    assert place.names() == set()
    assert list(place.two.iter_tables(place.table[:-1])) == []


@pytest.mark.parametrize("place", ["nested", "nested-s3"], indirect=True)
@pytest.mark.parametrize("call", ["create", "declare"])
def test_a_concurrently_dropped_namespace_leaves_nothing(
    place: Place, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = Manifest.change

    def late(self: Manifest, decide: Any) -> Any:
        monkeypatch.setattr(Manifest, "change", change)
        place.two.drop_namespace({"id": ["n"]})
        return self.change(decide)

    monkeypatch.setattr(Manifest, "change", late)
    calls: dict[str, Callable[[], Any]] = {
        "create": lambda: place.create(OURS),
        "declare": lambda: place.one.declare_table({"id": place.table}),
    }
    with pytest.raises(LanceNamespaceError) as caught:
        calls[call]()
    assert caught.value.code == 1
    assert place.names() == set()


@pytest.mark.parametrize("is_shallow", [False, True], ids=["deep", "shallow"])
def test_a_clone_is_visible_only_with_its_rows(
    place: Place, is_shallow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lance_namespace_impls.tables import clone as tables_clone

    source = [*place.table[:-1], "source"]
    place.one.create_table({"id": source}, OURS)
    clone, seen = tables_clone.clone, list[list[str]]()

    def look(*positional: Any, **named: Any) -> int:
        version = clone(*positional, **named)
        seen.append(list(place.two.iter_tables(place.table[:-1])))
        return version

    monkeypatch.setattr(tables_clone, "clone", look)
    location = place.one.describe_table({"id": source}).location
    assert location is not None
    place.one.clone_table(DescribeTableRequest(id=place.table), location, is_shallow=is_shallow)
    assert seen == [["source"]]
    assert place.two.open_table(place.table).to_table() == OURS
