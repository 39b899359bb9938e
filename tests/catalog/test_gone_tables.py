"""Operations on a table that is concurrently dropped, and responses that must be consistent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError, TableNotFoundError
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from lance_namespace_impls.sql import initialize

ROWS = pa.table({"id": [1, 2, 3]})
T = {"id": ["t"]}


LAKES = ["dir", "manifest", "sql", "memory", "rest"]


@pytest.fixture(params=LAKES)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A namespace with a table of two versions, a tag and a branch."""
    root = str(tmp_path / "lake")
    impl, settings = {
        "dir": ("dir", {"path": root}),
        "manifest": ("dir", {"path": root, "manifest": "true", "dir_listing_enabled": "false"}),
        "sql": ("sql", {"uri": str(tmp_path / "catalog.db"), "root": root}),
        "memory": ("memory", {"root": root}),
        "rest": ("dir", {"path": root}),
    }[request.param]
    if impl == "sql":
        initialize(settings)
    with ExitStack() as stack:
        namespace = stack.enter_context(connect(impl, settings))
        if request.param == "rest":
            uri = stack.enter_context(serving(namespace))
            namespace = stack.enter_context(connect("rest", {"uri": uri}))
        namespace.create_table(T, ROWS)
        namespace.insert_into_table(T, ROWS)
        namespace.create_table_tag({**T, "tag": "g", "version": 1})
        namespace.create_table_branch({**T, "name": "old"})
        yield namespace


CALLS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "make a branch": (
        "create_branch",
        lambda lake: lake.create_table_branch({**T, "name": "side"}),
    ),
    "move a tag": (
        "tags",
        lambda lake: lake.update_table_tag({**T, "tag": "g", "version": 2}),
    ),
    "make a tag": (
        "tags",
        lambda lake: lake.create_table_tag({**T, "tag": "new", "version": 1}),
    ),
    "make an index": (
        "create_scalar_index",
        lambda lake: lake.create_table_scalar_index({**T, "column": "id", "index_type": "BTREE"}),
    ),
    "delete": ("delete", lambda lake: lake.delete_from_table({**T, "predicate": "id = 1"})),
    "count": ("count_rows", lambda lake: lake.count_table_rows({**T, "predicate": "id = 1"})),
}


@pytest.mark.parametrize(
    ("lake", "what", "way"),
    [
        *(("dir", what, way) for what in CALLS for way in ("drop", "deregister")),
        *((name, "make a branch", "drop") for name in LAKES[1:]),
    ],
    indirect=["lake"],
)
def test_a_failure_on_a_concurrently_dropped_table_is_code_4(
    lake: Any, monkeypatch: pytest.MonkeyPatch, what: str, way: str
) -> None:
    member, call = CALLS[what]
    gone: list[bool] = []

    def late(*_: Any, **__: Any) -> Any:
        if not gone:
            gone.append(True)
            (lake.drop_table if way == "drop" else lake.deregister_table)(T)
        raise OSError("LanceError(IO): No such file or directory (os error 2) at path /t/.tmp")

    place = property(late) if member == "tags" else late
    with monkeypatch.context() as patch:
        patch.setattr(lance.LanceDataset, member, place)
        with pytest.raises(LanceNamespaceError) as caught:
            call(lake)
    assert gone
    assert isinstance(caught.value, TableNotFoundError), caught.value


def test_a_failure_on_an_existing_table_is_reported_unchanged(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError("LanceError(IO): disk full")

    with monkeypatch.context() as patch:
        patch.setattr(lance.LanceDataset, "create_branch", fail)
        with pytest.raises(LanceNamespaceError, match="disk full") as caught:
            lake.create_table_branch({**T, "name": "side"})
    assert caught.value.code == 18


@pytest.mark.parametrize("branch", [None, "old"])
def test_a_version_is_the_same_in_a_listing_and_alone(lake: Any, branch: str | None) -> None:
    lake.insert_into_table({**T, "branch": branch}, ROWS)
    listed = lake.list_table_versions({**T, "branch": branch}).versions
    assert len(listed) >= 2
    for each in listed:
        alone = lake.describe_table_version(
            {**T, "branch": branch, "version": each.version}
        ).version
        for name in ("version", "timestamp_millis", "manifest_path", "manifest_size", "e_tag"):
            assert getattr(alone, name) == getattr(each, name), name


def test_a_tag_and_a_branch_are_the_same_in_a_listing_and_alone(lake: Any) -> None:
    tag = lake.list_table_tags(T).tags["g"]
    alone = lake.get_table_tag_version({**T, "tag": "g"})
    assert (tag.version, tag.branch) == (alone.version, alone.branch)


def test_index_statistics_agree_with_the_listing(lake: Any) -> None:
    lake.create_table_scalar_index({**T, "column": "id", "index_type": "BTREE"})
    (listed,) = lake.list_table_indices(T).indexes
    alone = lake.describe_table_index_stats({**T, "index_name": listed.index_name})
    assert alone.index_type == listed.index_type
    assert alone.num_indexed_rows == listed.num_indexed_rows
