"""Fields of the operations that change rows, columns and metadata."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from lance.dataset import MergeInsertBuilder

from .entries import elsewhere
from .row import ROWS, Code, Row, Stage, nested, spying

NEW = pa.table({"x": [3, 4], "s": ["C", "D"]})


def _both(stage: Stage) -> list[list[int]]:
    return [stage.x(), stage.x(branch="dev")]


def _inserted(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    stage.branch()
    stage.call("InsertIntoTable", request, NEW)
    return _both(stage)


def _merged(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    stage.branch()
    stage.call("MergeInsertIntoTable", request, NEW)
    return sorted((row["x"], row["s"]) for row in stage.rows())


def _merged_branch(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    stage.direct.create_table_branch({"id": stage.id, "name": "dev"})
    stage.call("MergeInsertIntoTable", request, NEW)
    return _both(stage)


def _merged_with(name: str, left: Sequence[int] = (1, 2, 3, 4)) -> Any:
    """Return a look that reports an argument of each call of pylance's merge builder.

    Args:
        name: the builder's method.
        left: the values of column x after the merge.
    """

    def look(stage: Stage, request: dict[str, Any]) -> Any:
        stage.table()
        stage.direct.create_table_index({"id": stage.id, "column": "x", "index_type": "BTREE"})
        with spying(MergeInsertBuilder, name, lambda args, more: args[1]) as seen:
            stage.call("MergeInsertIntoTable", request, NEW)
        assert stage.x() == [*left]
        return [str(each) for each in seen]

    return look


def _updated(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    stage.branch()
    stage.call("UpdateTable", request)
    return _both(stage)


def _update_properties(stage: Stage, request: dict[str, Any]) -> Any:
    _updated(stage, request)
    return dict(stage.described().properties)


def _deleted(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    stage.branch()
    stage.call("DeleteFromTable", request)
    return _both(stage)


def _names(stage: Stage) -> list[list[str]]:
    return [stage.schema().names, stage.schema("dev").names]


def _columns(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    stage.table()
    stage.branch()
    stage.call(of, request)
    return _names(stage)


def _added(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    stage.call("AlterTableAddColumns", request)
    return {key: value for key, value in stage.rows()[0].items() if key not in ("x", "s")}


def _altered(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    stage.call("AlterTableAlterColumns", request)
    return [(field.name, str(field.type), field.nullable) for field in stage.schema()]


def _metadata(schema: pa.Schema, name: str | None) -> dict[str, str]:
    found = schema.metadata if name is None else schema.field(name).metadata
    return {key.decode(): value.decode() for key, value in (found or {}).items()}


def _field_metadata(stage: Stage, request: dict[str, Any]) -> Any:
    kept = pa.field("x", pa.int64(), metadata={"old": "1", "gone": "2"})
    stage.table(pa.table([[1], ["a"]], schema=pa.schema([kept, pa.field("s", pa.string())])))
    stage.branch()
    answer = stage.call("UpdateFieldMetadata", request)
    found = {name: _metadata(stage.schema(), name) for name in ("x", "s")}
    if "branch" not in request:
        assert all(found[path] == metadata for path, metadata in answer.fields.items())
    return found


def _metadata_of_both(stage: Stage, request: dict[str, Any]) -> Any:
    return [_field_metadata(stage, request)["x"], _metadata(stage.schema("dev"), "x")]


def _schema_metadata(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table(ROWS.replace_schema_metadata({"old": "1"}))
    stage.branch()
    stage.call("UpdateTableSchemaMetadata", request)
    return [_metadata(stage.schema(), None), _metadata(stage.schema("dev"), None)]


_insert = partial(Row, "InsertIntoTable", look=_inserted)
_merge = partial(Row, "MergeInsertIntoTable", look=_merged)
_update = partial(Row, "UpdateTable", look=_updated)
_delete = partial(Row, "DeleteFromTable", look=_deleted)
_add = nested("AlterTableAddColumns", "AddColumnsEntry", lambda node: {"new_columns": [node]})
_alter = nested("AlterTableAlterColumns", "AlterColumnsEntry", lambda node: {"alterations": [node]})
_field = nested("UpdateFieldMetadata", "UpdateFieldMetadataEntry", lambda node: {"updates": [node]})
_ALL = {"when_matched_update_all": True}
_NEW = {"when_not_matched_insert_all": True}
_GONE = {"when_not_matched_by_source_delete": True}
_UPSERT = {"on": ["x"], **_ALL, **_NEW}
_BEFORE = [(1, "a"), (2, "b"), (3, "c")]
_SCHEMA = [("x", "int64", True), ("s", "string", True)]
_KEPT = {"x": {"old": "1", "gone": "2"}, "s": {}}

CHANGE_ROWS = [
    _insert("id", elsewhere, without=[[1, 2, 3, 3, 4], [1, 1, 2, 3]], having=Code(4, "none")),
    _insert("branch", "dev", without=[[1, 2, 3, 3, 4], [1, 1, 2, 3]],
            having=[[1, 2, 3], [1, 1, 2, 3, 3, 4]]),
    _insert("mode", "overwrite", without=[[1, 2, 3, 3, 4], [1, 1, 2, 3]],
            having=[[3, 4], [1, 1, 2, 3]]),
    _insert("mode", "replace", without=[[1, 2, 3, 3, 4], [1, 1, 2, 3]], having=Code(13, "mode")),
    _merge("id", elsewhere, given=_UPSERT, without=[*_BEFORE[:2], (3, "C"), (4, "D")],
           having=Code(4, "none")),
    _merge("branch", "dev", given=_UPSERT, look=_merged_branch, without=[[1, 2, 3, 4], [1, 2, 3]],
           having=[[1, 2, 3], [1, 2, 3, 4]]),
    _merge("on", ["x"], given={**_ALL, **_NEW}, without=Code(13, "on"),
           having=[*_BEFORE[:2], (3, "C"), (4, "D")]),
    _merge("on", ["s"], given={**_ALL, **_NEW}, instead=["x"],
           without=[*_BEFORE[:2], (3, "C"), (4, "D")],
           having=[*_BEFORE[:2], (3, "C"), (3, "c"), (4, "D")]),
    _merge("when_matched_update_all", True, given={"on": ["x"], **_NEW},
           without=[*_BEFORE, (4, "D")], having=[*_BEFORE[:2], (3, "C"), (4, "D")]),
    _merge("when_matched_update_all_filt", "target.x > 3", given=_UPSERT,
           without=[*_BEFORE[:2], (3, "C"), (4, "D")], having=[*_BEFORE, (4, "D")]),
    _merge("when_not_matched_insert_all", True, given={"on": ["x"], **_ALL},
           without=[*_BEFORE[:2], (3, "C")], having=[*_BEFORE[:2], (3, "C"), (4, "D")]),
    _merge("when_not_matched_by_source_delete", True, given=_UPSERT,
           without=[*_BEFORE[:2], (3, "C"), (4, "D")], having=[(3, "C"), (4, "D")]),
    _merge("when_not_matched_by_source_delete_filt", "x = 2", given={**_UPSERT, **_GONE},
           without=[(3, "C"), (4, "D")], having=[(1, "a"), (3, "C"), (4, "D")]),
    _merge("timeout", "90s", given={"on": ["x"], **_ALL},
           look=_merged_with("retry_timeout", [1, 2, 3]), without=[], having=["0:01:30"]),
    _merge("timeout", "soon", given={"on": ["x"], **_ALL},
           look=_merged_with("retry_timeout", [1, 2, 3]), without=[], having=Code(13, "soon")),
    _merge("use_index", True, given=_UPSERT, look=_merged_with("use_index"), without=["False"],
           having=["True"]),
    _update("id", elsewhere, given={"updates": [["x", "x + 10"]]},
            without=[[11, 12, 13], [1, 1, 2, 3]], having=Code(4, "none")),
    _update("branch", "dev", given={"updates": [["x", "x + 10"]]},
            without=[[11, 12, 13], [1, 1, 2, 3]], having=[[1, 2, 3], [11, 11, 12, 13]]),
    _update("predicate", "s = 'b'", given={"updates": [["x", "x + 10"]]},
            without=[[11, 12, 13], [1, 1, 2, 3]], having=[[1, 3, 12], [1, 1, 2, 3]]),
    _update("predicate", "s = 'b'", given={"updates": [["x", "10"]]},
            without=[[10, 10, 10], [1, 1, 2, 3]], having=[[1, 3, 10], [1, 1, 2, 3]]),
    _update("updates", [["x", "7"]], instead=[], without=Code(13, "nothing to update"),
            having=[[7, 7, 7], [1, 1, 2, 3]]),
    _update("properties", {"k": "v"}, given={"updates": [["x", "7"]]}, look=_update_properties,
            without={}, having={},
            why="an implementation that cannot keep properties of an update ignores them"),
    _delete("id", elsewhere, given={"predicate": "x = 1"}, without=[[2, 3], [1, 1, 2, 3]],
            having=Code(4, "none")),
    _delete("branch", "dev", given={"predicate": "x = 1"}, without=[[2, 3], [1, 1, 2, 3]],
            having=[[1, 2, 3], [2, 3]]),
    _delete("predicate", "x > 1", instead="x = 1", without=[[2, 3], [1, 1, 2, 3]],
            having=[[1], [1, 1, 2, 3]]),
    *(
        Row(operation=name, field=field, given=given, value=value, having=having,
            look=partial(_columns, of=name), without=without)
        for name, given, without, at_branch in (
            ("AlterTableAddColumns", {"new_columns": [{"name": "y", "expression": "x"}]},
             [["x", "s", "y"], ["x", "s"]], [["x", "s"], ["x", "s", "y"]]),
            ("AlterTableAlterColumns", {"alterations": [{"path": "s", "rename": "t"}]},
             [["x", "t"], ["x", "s"]], [["x", "s"], ["x", "t"]]),
            ("AlterTableDropColumns", {"columns": ["s"]},
             [["x"], ["x", "s"]], [["x", "s"], ["x"]]),
        )
        for field, value, having in (
            ("id", elsewhere, Code(4, "none")), ("branch", "dev", at_branch)
        )
    ),
    Row("AlterTableAddColumns", "new_columns", [{"name": "y", "expression": "x"}], look=_added,
        instead=[{"name": "z", "expression": "x"}], without={"z": 1}, having={"y": 1}),
    Row("AlterTableAlterColumns", "alterations", [{"path": "s", "rename": "t"}], look=_altered,
        instead=[], without=Code(13, "no column to alter"),
        having=[_SCHEMA[0], ("t", "string", True)]),
    Row("AlterTableDropColumns", "columns", ["x"], instead=["s"],
        look=partial(_columns, of="AlterTableDropColumns"), without=[["x"], ["x", "s"]],
        having=[["s"], ["x", "s"]]),
    _add("name", given={"expression": "x"}, value="y", instead="z", look=_added,
         without={"z": 1}, having={"y": 1}),
    _add("expression", given={"name": "y"}, value="x + 1", look=_added,
         without=Code(13, "exactly one"), having={"y": 2}),
    _add("computed", given={"name": "y"}, value="x + 1", look=_added,
         without=Code(13, "exactly one"), having=Code(0, "computed")),
    _add("virtual_column", given={"name": "y"}, look=_added, without=Code(13, "exactly one"),
         value={"input_columns": ["x"], "outputs": [], "image": "i", "udf": "u", "udf_name": "n",
                "udf_version": "1"}, having=Code(0, "virtual")),
    _alter("path", given={"rename": "t"}, value="s", instead="x", look=_altered,
           without=[("t", "int64", True), _SCHEMA[1]], having=[_SCHEMA[0], ("t", "string", True)]),
    _alter("data_type", given={"path": "x", "nullable": True}, value={"type": "int32"},
           look=_altered, without=_SCHEMA, having=[("x", "int32", True), _SCHEMA[1]]),
    _alter("rename", given={"path": "x", "nullable": True}, value="t", look=_altered,
           without=_SCHEMA, having=[("t", "int64", True), _SCHEMA[1]]),
    _alter("nullable", given={"path": "x", "rename": "x2"}, value=False, look=_altered,
           without=[("x2", "int64", True), _SCHEMA[1]],
           having=[("x2", "int64", False), _SCHEMA[1]]),
    _alter("virtual_column", given={"path": "x", "rename": "t"}, value={"udf": "u"}, look=_altered,
           without=[("t", "int64", True), _SCHEMA[1]], having=Code(0, "virtual")),
    Row("UpdateFieldMetadata", "id", elsewhere, look=_field_metadata,
        given={"updates": [{"path": "s", "metadata": {"k": "v"}}]},
        without={**_KEPT, "s": {"k": "v"}}, having=Code(4, "none")),
    Row("UpdateFieldMetadata", "branch", "dev", look=_metadata_of_both,
        given={"updates": [{"path": "x", "metadata": {"gone": None}}]},
        without=[{"old": "1"}, _KEPT["x"]], having=[_KEPT["x"], {"old": "1"}]),
    Row("UpdateFieldMetadata", "updates", [{"path": "s", "metadata": {"k": "v"}}],
        look=_field_metadata, instead=[], without=_KEPT, having={**_KEPT, "s": {"k": "v"}}),
    _field("path", given={"metadata": {"k": "v"}}, value="s", instead="x", look=_field_metadata,
           without={**_KEPT, "x": {"old": "1", "gone": "2", "k": "v"}},
           having={**_KEPT, "s": {"k": "v"}}),
    _field("metadata", given={"path": "x"}, value={"gone": None}, instead={"k": "v"},
           look=_field_metadata, without={**_KEPT, "x": {"old": "1", "gone": "2", "k": "v"}},
           having={**_KEPT, "x": {"old": "1"}}),
    _field("replace", given={"path": "x", "metadata": {"k": "v"}}, value=True,
           look=_field_metadata, without={**_KEPT, "x": {"old": "1", "gone": "2", "k": "v"}},
           having={**_KEPT, "x": {"k": "v"}}),
    Row("UpdateTableSchemaMetadata", "id", elsewhere, given={"metadata": {"k": "v"}},
        look=_schema_metadata, without=[{"old": "1", "k": "v"}, {"old": "1"}],
        having=Code(4, "none")),
    Row("UpdateTableSchemaMetadata", "branch", "dev", given={"metadata": {"k": "v"}},
        look=_schema_metadata, without=[{"old": "1", "k": "v"}, {"old": "1"}],
        having=[{"old": "1"}, {"old": "1", "k": "v"}]),
    Row("UpdateTableSchemaMetadata", "metadata", {"k": "v"}, look=_schema_metadata,
        without=[{"old": "1"}, {"old": "1"}], having=[{"old": "1", "k": "v"}, {"old": "1"}]),
]  # fmt: skip
