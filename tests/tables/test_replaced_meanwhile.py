"""A change to a table that is concurrently dropped or replaced does not affect any other table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lance
import pyarrow as pa
import pytest
from attrs import define

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.tables import lineage
from lance_namespace_impls.tables.lineage import LocationState, OpenedVersion
from tests.servers.s3 import GuardedS3
from tests.tables.calls import code_of

T = {"id": ["t"]}
OLD = pa.table(
    [[1, 2, 3], [4, 5, 6]],
    schema=pa.schema([("x", pa.int64()), pa.field("y", pa.int64(), metadata={"unit": "m"})]),
)
NEW = pa.table({"x": [7, 8], "y": [9, 9]})
PLACES = {"dir": {}, "dir-s3": {}, "memory": {}, "memory-managed": {"managed": "true"}}


@define
class Two:
    """A catalog, as seen by two processes."""

    one: Namespace
    others: Namespace

    def drop(self) -> None:
        self.others.drop_table(T)

    def make_again(self, versions: int = 1) -> None:
        location = self.others.describe_table(T).location
        self.drop()
        self.others.create_table(T, NEW)
        for number in range(1, versions):
            self.others.update_table_schema_metadata({**T, "metadata": {"n": str(number)}})
        assert self.others.describe_table(T).location == location

    def replace(self, versions: int) -> None:
        """Create the table again with this many versions, or only drop it if there are none."""
        if versions:
            self.make_again(versions)
        else:
            self.drop()

    def assert_replaced(self, versions: int) -> None:
        """Check that the new table is unmodified and can be changed, or that there is no table."""
        if versions:
            self.assert_new(versions)
        else:
            self.assert_gone()

    def assert_new(self, versions: int) -> None:
        assert self.others.open_table(["t"]).to_table() == NEW
        listed = self.others.list_table_versions(T).versions
        assert [each.version for each in listed] == list(range(1, versions + 1))
        self.one.insert_into_table(T, OLD)
        assert self.others.count_table_rows(T).count == 5

    def assert_gone(self) -> None:
        """Check that there is no table, and that a table with the same name can be created."""
        assert self.others.list_tables({"id": []}).tables == []
        assert self.others.create_table(T, NEW).version == 1
        assert self.others.open_table(["t"]).to_table() == NEW


@pytest.fixture(
    params=[p if p != "dir-s3" else pytest.param(p, marks=pytest.mark.s3) for p in PLACES]
)
def two(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Two]:
    properties = {"root": str(tmp_path), **PLACES[request.param]}
    if request.param == "dir-s3":
        s3: GuardedS3 = request.getfixturevalue("s3")
        options = {f"storage.{key}": value for key, value in s3.options().items()}
        properties = {"root": f"s3://{s3.bucket}/replaced", **options}
    impl = request.param.partition("-")[0]
    with connect(impl, properties) as one, connect(impl, properties) as others:
        one.create_table(T, OLD)
        one.insert_into_table(T, OLD)
        yield Two(one=one, others=others)


def apart(act: Callable[[], Any]) -> None:
    """Call a function in another thread, because pylance requests rows within its own runtime."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(act).result()


def arriving(others_do: Callable[[], Any]) -> pa.RecordBatchReader:
    """Return rows that arrive after other clients have done something."""

    def batches() -> Iterator[pa.RecordBatch]:
        apart(others_do)
        yield from OLD.to_batches()

    return pa.RecordBatchReader.from_batches(OLD.schema, batches())


def act_just_before_the_commit(
    monkeypatch: pytest.MonkeyPatch, others_do: Callable[[], Any]
) -> None:
    """Let other clients act once, after the rows are written and the location was checked."""
    state, left = OpenedVersion.state, [others_do]

    def looked(self: OpenedVersion) -> LocationState:
        found = state(self)
        if left:
            apart(left.pop())
        return found

    monkeypatch.setattr(OpenedVersion, "state", looked)


# The dropped table has two versions; the new one has fewer, as many, or more. With 0 versions, the
# table is only dropped.
VERSIONS = pytest.mark.parametrize("versions", range(4))


def in_places(names: str, *cases: Iterable[tuple[Any, ...]]) -> pytest.MarkDecorator:
    """Return the cases of a test, each of which begins with one of `PLACES`."""
    return pytest.mark.parametrize(
        names,
        [
            pytest.param(*case, marks=[pytest.mark.s3] if "s3" in case[0] else [])
            for case in itertools.chain(*cases)
        ],
        indirect=["two"],
    )


@VERSIONS
@in_places(
    "two, mode",
    itertools.product(["dir", "memory", "memory-managed"], ["Append", "Overwrite"]),
    [("dir-s3", "Append")],
)
def test_rows_in_transit_are_not_written_to_a_later_table(
    two: Two, mode: str, versions: int
) -> None:
    rows = arriving(lambda: two.replace(versions))
    code = code_of(lambda: two.one.insert_into_table({**T, "mode": mode}, rows))
    assert code == (14 if versions else 4)
    two.assert_replaced(versions)


@VERSIONS
def test_rows_committed_to_a_later_table_are_reverted(
    two: Two, versions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    act_just_before_the_commit(monkeypatch, lambda: two.replace(versions))
    assert code_of(lambda: two.one.insert_into_table(T, OLD)) == (14 if versions else 4)
    two.assert_replaced(versions)


def act_when_opened(others_do: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other clients act once, after the next dataset has been opened."""
    opened, left = lineage.open_dataset, [others_do]

    def then_replaced(*args: Any, **more: Any) -> Any:
        found = opened(*args, **more)
        if left:
            left.pop()()
        return found

    monkeypatch.setattr(lineage, "open_dataset", then_replaced)


_MERGE = {**T, "on": ["x"], "when_matched_update_all": True, "when_not_matched_insert_all": True}
CHANGES: dict[str, Callable[[Namespace], Any]] = {
    "rename a column": lambda n: n.alter_table_alter_columns(
        {**T, "alterations": [{"path": "x", "rename": "z"}]}
    ),
    "drop a column": lambda n: n.alter_table_drop_columns({**T, "columns": ["y"]}),
    "set metadata": lambda n: n.update_table_schema_metadata({**T, "metadata": {"k": "v"}}),
    "set metadata of columns": lambda n: n.update_field_metadata(
        {
            **T,
            "updates": [
                {"path": "x", "metadata": {"k": "v"}},
                {"path": "y", "metadata": {"k": "v"}, "replace": True},
            ],
        }
    ),
    "change a column's type": lambda n: n.alter_table_alter_columns(
        {**T, "alterations": [{"path": "y", "data_type": {"type": "int32"}}]}
    ),
    "delete rows": lambda n: n.delete_from_table({**T, "predicate": "x = 1"}),
    # After this change no data file is left that would show whether the table was dropped.
    "delete all rows": lambda n: n.delete_from_table({**T, "predicate": "true"}),
    "update": lambda n: n.update_table({**T, "updates": [["x", "x + 1"]]}),
    "update two columns": lambda n: n.update_table({**T, "updates": [["x", "y"], ["y", "x"]]}),
    "add a column": lambda n: n.alter_table_add_columns(
        {**T, "new_columns": [{"name": "z", "expression": "x + 1"}]}
    ),
    "merge": lambda n: n.merge_insert_into_table(_MERGE, OLD),
    "make an index": lambda n: n.create_table_scalar_index(
        {**T, "column": "x", "index_type": "BTREE"}
    ),
    "restore": lambda n: n.restore_table({**T, "version": 1}),
}


# How a change is committed and detected depends on whether the catalog manages the versions, but
# not on the catalog or the storage, so a few changes are enough for the others.
@in_places(
    "two, name, versions",
    itertools.product(["dir", "memory-managed"], CHANGES, range(4)),
    itertools.product(["memory"], ["set metadata of columns", "update"], range(4)),
    itertools.product(["dir-s3"], ["set metadata of columns", "update"], range(2)),
)
def test_a_change_does_not_come_to_a_later_table(
    two: Two, name: str, versions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is replaced right after it has been opened."""
    act_when_opened(lambda: two.replace(versions), monkeypatch)
    assert code_of(lambda: CHANGES[name](two.one)) == (14 if versions else 4)
    monkeypatch.undo()
    two.assert_replaced(versions)


def test_only_the_commit_to_the_later_table_is_reverted(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other commit is version 3 of the dropped table; the new table has its own version 3."""
    second, left = lance.LanceDataset.update_field_metadata, [lambda: two.make_again(3)]

    def then_second(*args: Any, **more: Any) -> Any:
        if left:
            left.pop()()
        return second(*args, **more)

    monkeypatch.setattr(lance.LanceDataset, "update_field_metadata", then_second)
    assert code_of(lambda: CHANGES["change a column's type"](two.one)) == 14
    monkeypatch.undo()
    two.assert_new(3)


def test_an_update_without_matches_in_a_later_table_reverts_none_of_its_versions(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The update conflicts with version 3, and then looks for its rows in that version."""

    def make_again() -> None:
        two.make_again(2)
        two.others.update_table({**T, "updates": [["x", "x + 1"]]})

    act_when_opened(make_again, monkeypatch)
    change = {**T, "updates": [["x", "y"], ["y", "x"]], "predicate": "x = 1"}
    assert code_of(lambda: two.one.update_table(change)) == 14
    monkeypatch.undo()
    assert two.others.open_table(["t"]).to_table()["x"].to_pylist() == [8, 9]
    assert two.others.open_table(["t"]).version == 3


# A flat directory on an object store cannot rename tables.
@pytest.mark.parametrize("two", ["dir", "memory", "memory-managed"], indirect=True)
def test_a_table_renamed_after_its_change_keeps_the_change(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, left = OpenedVersion.state, [True, False]

    def renamed(self: OpenedVersion) -> LocationState:
        if not left.pop():
            return state(self)
        apart(lambda: two.others.rename_table({**T, "new_table_name": "u"}))
        return state(self)

    monkeypatch.setattr(OpenedVersion, "state", renamed)
    assert two.one.insert_into_table(T, OLD).version == 3
    assert two.others.count_table_rows({"id": ["u"]}).count == 9


def test_a_version_cleaned_up_concurrently_does_not_imply_another_table(two: Two) -> None:
    """Automatic cleanup does this when a table is written to after several weeks."""

    def clean_up() -> None:
        two.others.insert_into_table(T, OLD)
        two.others.create_table_tag({**T, "tag": "first", "version": 1})
        two.others.batch_delete_table_versions(
            {**T, "ranges": [{"start_version": 2, "end_version": 3}]}
        )

    assert two.one.insert_into_table(T, arriving(clean_up)).version == 4
    assert two.others.count_table_rows(T).count == 12


# --- failures to determine what happened to a table


def fail_to(monkeypatch: pytest.MonkeyPatch, method: str, failure: Exception) -> None:
    def fail(*_: Any) -> Any:
        raise failure

    monkeypatch.setattr(OpenedVersion, method, fail)


@pytest.mark.parametrize("two", ["dir", "memory"], indirect=True)
def test_a_change_succeeds_if_its_location_cannot_be_checked(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_to(monkeypatch, "state", OSError("the network is down"))
    assert two.one.insert_into_table(T, OLD).version == 3
    wrong = {**T, "updates": [["x", "no_such_column"]]}
    with pytest.raises(LanceNamespaceError, match="no_such_column"):
        two.one.update_table(wrong)
    monkeypatch.undo()
    assert two.others.count_table_rows(T).count == 9


@pytest.mark.parametrize("two", ["dir", "memory"], indirect=True)
@pytest.mark.parametrize("method", ["state", "misplaced"])
def test_an_unexpected_error_during_the_check_is_reported(
    two: Two, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    if method == "misplaced":
        act_when_opened(two.make_again, monkeypatch)
    fail_to(monkeypatch, method, AttributeError("no such thing"))
    with pytest.raises(LanceNamespaceError, match="no such thing") as caught:
        two.one.delete_from_table({**T, "predicate": "x = 1"})
    assert caught.value.code == 18


@pytest.mark.parametrize("two", ["dir", "memory"], indirect=True)
def test_a_commit_that_cannot_be_reverted_causes_a_warning(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    act_when_opened(two.make_again, monkeypatch)
    fail_to(monkeypatch, "misplaced", OSError("the network is down"))
    with pytest.warns(UserWarning, match=r"cannot be removed from t: .*the network is down"):
        assert code_of(lambda: two.one.delete_from_table({**T, "predicate": "x = 1"})) == 14
