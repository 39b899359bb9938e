"""Random series of table operations, compared with a model after every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lance_namespace_client.errors import (
    LanceNamespaceError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
)
from lance_namespace_impls.catalog.namespace import Namespace
from tests.examples import examples
from tests.tables.model import Row, Snapshot, TableModel

SEQUENCES = 200
NO_SUCH_VERSION = 9999
TYPES = {"id": pa.int64(), "s": pa.string(), "n": pa.int64()}

ids = st.integers(0, 12)
texts = st.sampled_from(["a", "b", "it's", "ü", ""])
row_lists = st.lists(
    st.fixed_dictionaries({"id": ids, "s": texts, "n": st.integers(-5, 5)}),
    max_size=6,
    unique_by=lambda row: row["id"],
)
names = st.sampled_from(["one", "two"])


@pytest.fixture(scope="module", params=["dir", "rest"])
def namespace(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Namespace]:
    from lance_namespace_impls import connect

    path = str(tmp_path_factory.mktemp(request.param))
    with connect("dir", {"path": path}) as directory:
        if request.param == "dir":
            yield directory
            return
        from lance_namespace_impls.server import serving

        with serving(directory) as uri, connect("rest", {"uri": uri}) as remote:
            yield remote


def rows_table(columns: list[str], rows: list[Row]) -> pa.Table:
    schema = pa.schema([(name, TYPES.get(name, pa.int64())) for name in columns])
    return pa.Table.from_pylist([{n: row.get(n) for n in columns} for row in rows], schema=schema)


class Series:
    """One table, its model, and the steps that change both."""

    def __init__(self, namespace: Namespace, data: st.DataObject, rows: list[Row]) -> None:
        self.namespace = namespace
        self.data = data
        self.id = [f"t{uuid4().hex}"]
        created = namespace.create_table({"id": self.id}, rows_table(list(TYPES), rows))
        assert created.version is not None
        self.model = TableModel.created(list(TYPES), rows, created.version)

    def call(self, method: str, request: dict[str, Any], *data: Any) -> Any:
        return getattr(self.namespace, method)({"id": self.id, **request}, *data)

    def refused(
        self, kind: type[LanceNamespaceError], method: str, request: dict[str, Any], *data: Any
    ) -> None:
        with pytest.raises(kind):
            self.call(method, request, *data)

    def draw(self, strategy: st.SearchStrategy[Any], label: str) -> Any:
        return self.data.draw(strategy, label=label)

    def draw_branch(self) -> str | None:
        return self.draw(st.sampled_from(sorted(self.model.lines, key=str)), "branch")

    def new_head(self, branch: str | None) -> Snapshot:
        return self.model.lines[branch].head.copy()

    def commit(self, branch: str | None, version: int | None, head: Snapshot) -> None:
        assert version is not None
        self.model.commit(branch, version, head)

    def latest(self, branch: str | None) -> int:
        found = self.call("describe_table_version", {"branch": branch})
        return int(found.version.version)

    # --- steps

    def insert(self) -> None:
        branch = self.draw_branch()
        rows = self.draw(row_lists, "rows")
        mode = self.draw(st.sampled_from(["append", "Overwrite"]), "mode")
        head = self.new_head(branch)
        answer = self.call(
            "insert_into_table", {"branch": branch, "mode": mode}, rows_table(head.columns, rows)
        )
        assert answer.num_inserted_rows == len(rows)
        fresh = [{name: row.get(name) for name in head.columns} for row in rows]
        head.rows = fresh if mode == "Overwrite" else head.rows + fresh
        self.commit(branch, answer.version, head)

    def insert_other_schema(self) -> None:
        self.refused(
            TableSchemaValidationError, "insert_into_table", {}, pa.table({"other": ["x"]})
        )

    def merge(self) -> None:
        branch = self.draw_branch()
        head = self.new_head(branch)
        if len({row["id"] for row in head.rows}) != len(head.rows) or "id" not in head.columns:
            return  # the protocol does not specify which of two rows with one key is updated
        rows = self.draw(row_lists, "rows")
        how = self.draw(st.sampled_from(["upsert", "insert", "update", "replace"]), "how")
        flags = {
            "upsert": {"when_matched_update_all": True, "when_not_matched_insert_all": True},
            "insert": {"when_not_matched_insert_all": True},
            "update": {"when_matched_update_all": True},
            "replace": {
                "when_matched_update_all": True,
                "when_not_matched_insert_all": True,
                "when_not_matched_by_source_delete": True,
            },
        }[how]
        answer = self.call(
            "merge_insert_into_table",
            {"branch": branch, "on": "id", **flags},
            rows_table(head.columns, rows),
        )
        given_rows = {row["id"]: {n: row.get(n) for n in head.columns} for row in rows}
        kept = {row["id"]: row for row in head.rows}
        updated = [key for key in given_rows if key in kept] if how != "insert" else []
        inserted = [key for key in given_rows if key not in kept] if how != "update" else []
        deleted = [key for key in kept if key not in given_rows] if how == "replace" else []
        assert answer.num_updated_rows == len(updated)
        assert answer.num_inserted_rows == len(inserted)
        assert answer.num_deleted_rows == len(deleted)
        for key in deleted:
            del kept[key]
        for key in [*updated, *inserted]:
            kept[key] = given_rows[key]
        head.rows = list(kept.values())
        version = self.latest(branch)
        if version != self.model.lines[branch].latest:
            self.commit(branch, version, head)
        else:
            assert not updated and not inserted and not deleted

    def update(self) -> None:
        branch = self.draw_branch()
        head = self.new_head(branch)
        limit = self.draw(ids, "limit")
        if "n" not in head.columns:
            self.refused(
                TableColumnNotFoundError,
                "update_table",
                {"branch": branch, "updates": [["n", "1"]]},
            )
            return
        answer = self.call(
            "update_table",
            {"branch": branch, "updates": [["n", "id + 100"]], "predicate": f"id < {limit}"},
        )
        hit = [row for row in head.rows if row["id"] < limit]
        assert answer.updated_rows == len(hit)
        for row in hit:
            row["n"] = row["id"] + 100
        if answer.version != self.model.lines[branch].latest:
            self.commit(branch, answer.version, head)

    def delete(self) -> None:
        branch = self.draw_branch()
        head = self.new_head(branch)
        limit = self.draw(ids, "limit")
        answer = self.call("delete_from_table", {"branch": branch, "predicate": f"id >= {limit}"})
        head.rows = [row for row in head.rows if row["id"] < limit]
        if answer.version != self.model.lines[branch].latest:
            self.commit(branch, answer.version, head)

    def tag(self) -> None:
        name = self.draw(names, "tag")
        branch = self.draw_branch()
        version = self.draw(
            st.sampled_from([*sorted(self.model.lines[branch].versions), NO_SUCH_VERSION]),
            "version",
        )
        request = {"tag": name, "version": version, "branch": branch}
        if name in self.model.tags:
            self.refused(TableTagAlreadyExistsError, "create_table_tag", request)
            if version == NO_SUCH_VERSION:
                self.refused(TableVersionNotFoundError, "update_table_tag", request)
                return
            self.call("update_table_tag", request)
        else:
            self.refused(TableTagNotFoundError, "update_table_tag", request)
            if version == NO_SUCH_VERSION:
                self.refused(TableVersionNotFoundError, "create_table_tag", request)
                return
            self.call("create_table_tag", request)
        self.model.tags[name] = (branch, version)

    def untag(self) -> None:
        name = self.draw(names, "tag")
        if self.model.tags.pop(name, None) is None:
            self.refused(TableTagNotFoundError, "delete_table_tag", {"tag": name})
        else:
            self.call("delete_table_tag", {"tag": name})

    def branch(self) -> None:
        name = self.draw(names, "name")
        source = self.draw_branch()
        version = self.draw(st.sampled_from(sorted(self.model.lines[source].versions)), "version")
        request = {"name": name, "from_branch": source, "from_version": version}
        if name in self.model.lines:
            self.refused(TableBranchAlreadyExistsError, "create_table_branch", request)
            return
        self.call("create_table_branch", request)
        self.model.branch(name, source, version)

    def unbranch(self) -> None:
        name = self.draw(names, "name")
        if name not in self.model.lines:
            self.refused(TableBranchNotFoundError, "delete_table_branch", {"name": name})
            return
        if any(branch == name for branch, _ in self.model.tags.values()):
            return  # a tag refers to it
        parents = self.call("list_table_branches", {}).branches.values()
        if any(branch.parent_branch == name for branch in parents):
            return  # another branch started from it
        self.call("delete_table_branch", {"name": name})
        del self.model.lines[name]

    def restore(self) -> None:
        branch = self.draw_branch()
        line = self.model.lines[branch]
        version = self.draw(st.sampled_from([*sorted(line.versions), NO_SUCH_VERSION]), "version")
        request = {"branch": branch, "version": version}
        if version == NO_SUCH_VERSION:
            self.refused(TableVersionNotFoundError, "restore_table", request)
            return
        self.call("restore_table", request)
        self.commit(branch, self.latest(branch), line.versions[version].copy())

    def add_column(self) -> None:
        branch = self.draw_branch()
        head = self.new_head(branch)
        name = self.draw(st.sampled_from(["c1", "c2"]), "column")
        request = {"branch": branch, "new_columns": [{"name": name, "expression": "id * 2"}]}
        if name in head.columns:
            self.refused(TableSchemaValidationError, "alter_table_add_columns", request)
            return
        answer = self.call("alter_table_add_columns", request)
        head.columns.append(name)
        for row in head.rows:
            row[name] = row["id"] * 2
        self.commit(branch, answer.version, head)

    def rename_column(self) -> None:
        branch = self.draw_branch()
        head = self.new_head(branch)
        old, new = self.draw(st.permutations(["c1", "c2", "n"]), "columns")[:2]
        request = {"branch": branch, "alterations": [{"path": old, "rename": new}]}
        if old not in head.columns:
            self.refused(TableColumnNotFoundError, "alter_table_alter_columns", request)
            return
        if new in head.columns:
            self.refused(TableSchemaValidationError, "alter_table_alter_columns", request)
            return
        answer = self.call("alter_table_alter_columns", request)
        head.columns[head.columns.index(old)] = new
        for row in head.rows:
            row[new] = row.pop(old, None)
        self.commit(branch, answer.version, head)

    def drop_column(self) -> None:
        branch = self.draw_branch()
        head = self.new_head(branch)
        name = self.draw(st.sampled_from(["c1", "c2", "s"]), "column")
        request = {"branch": branch, "columns": [name]}
        if name not in head.columns:
            self.refused(TableColumnNotFoundError, "alter_table_drop_columns", request)
            return
        answer = self.call("alter_table_drop_columns", request)
        head.columns.remove(name)
        for row in head.rows:
            row.pop(name, None)
        self.commit(branch, answer.version, head)

    STEPS = (
        insert,
        insert_other_schema,
        merge,
        update,
        delete,
        tag,
        untag,
        branch,
        unbranch,
        restore,
        add_column,
        rename_column,
        drop_column,
    )

    # --- comparing

    def check(self) -> None:
        branch = self.draw_branch()
        line = self.model.lines[branch]
        version = self.draw(st.sampled_from([None, *sorted(line.versions)]), "read version")
        expected = line.head if version is None else line.versions[version]
        where = {"branch": branch, "version": version}
        found = self.call("query_table", {**where, "k": 0, "vector": None}).read_all()
        assert found.column_names == expected.columns
        rows = [tuple(row[name] for name in expected.columns) for row in found.to_pylist()]
        assert sorted(rows, key=repr) == expected.sorted_rows()
        assert self.call("count_table_rows", where).count == len(expected.rows)
        few = self.call("count_table_rows", {**where, "predicate": "id < 5"}).count
        assert few == sum(1 for row in expected.rows if row["id"] < 5)
        listed = self.call("list_table_versions", {"branch": branch}).versions
        assert [found.version for found in listed] == sorted(line.versions)
        tags = self.call("list_table_tags", {}).tags
        assert {n: (t.branch, t.version) for n, t in tags.items()} == self.model.tags
        branches = self.call("list_table_branches", {}).branches
        assert set(branches) == set(self.model.lines) - {None}


@pytest.mark.requirement("general-071")
@settings(
    max_examples=examples(SEQUENCES),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data(), rows=row_lists, steps=st.lists(st.sampled_from(Series.STEPS), max_size=12))
def test_table_contents_match_the_model(
    namespace: Namespace, data: st.DataObject, rows: list[Row], steps: list[Any]
) -> None:
    series = Series(namespace, data, rows)
    series.check()
    for step in steps:
        step(series)
        series.check()
    namespace.drop_table({"id": series.id})
