"""Rules that every answer must satisfy given its request: each wrong answer breaks one rule."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.invariants import broken_invariants
from tests.server.wire import ipc

MILLIS, SECONDS = 1_790_000_000_000, 1_790_000_000
UUID = "0b7a1c3e-35c7-4a1f-8a0f-2f6f0a8f9f6e"
ENTRY = {"version": 1, "manifest_path": "m", "timestamp_millis": MILLIS}
NEXT = {**ENTRY, "version": 2}
INDEX = {"index_name": "a", "index_uuid": UUID, "columns": ["x"], "status": "ready"}
T = {"id": ["n", "t"]}
SET = {"set_properties": {"a": "1"}, "unset_properties": ["b"]}
META = {"updates": [{"path": "x", "metadata": {"a": "1", "b": None}}]}
SAYS = {"version": 1, "metadata": {"a": "b"}}
TWO = {"entries": [{"version": 1}, {"version": 2}]}
ROWS = pa.table({"a": [1, 2], "b": [3, 4], "_rowid": [0, 1]})
KNN = {"k": 2, "columns": {"column_names": ["a", "b"]}}

# id of the broken rule (empty for a right answer), operation, request, answer
ANSWERS: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("", "ListTables", {}, {"tables": ["a", "b"]}),
    ("", "ListTables", {"limit": 2}, {"tables": ["a", "b"], "page_token": "b"}),
    ("", "ListTables", {"limit": 2}, {"tables": ["a"]}),
    ("", "ListTables", {"limit": 0}, {"tables": ["a"]}),
    ("001", "ListTables", {}, {"tables": [], "page_token": ""}),
    ("002", "ListTables", {"limit": 2}, {"tables": ["a", "b", "c"]}),
    ("002", "ListAllTables", {"limit": 2}, {"tables": ["a"], "page_token": "a"}),
    ("002", "ListNamespaces", {"limit": 1}, {"namespaces": ["a", "b"]}),
    ("002", "ListTableTags", {"limit": 1}, {"tags": {"a": {}, "b": {}}}),
    ("003", "ListNamespaces", {}, {"namespaces": ["a", "b", "a"]}),
    ("003", "ListTableVersions", {}, {"versions": [ENTRY, ENTRY]}),
    ("003", "ListTableIndices", {}, {"indexes": [INDEX, INDEX]}),
    ("", "DescribeTable", T, {"table": "t", "namespace": ["n"], "location": "x"}),
    ("", "DropTable", T, {"id": ["n", "t"]}),
    ("", "CreateTable", T, {"table": "other"}),
    ("004", "DescribeTable", T, {"table": "other"}),
    ("", "DescribeTable", T, {"namespace": []}),
    ("004", "DescribeTable", {**T, "load_detailed_metadata": True}, {"namespace": []}),
    ("004", "DropTable", T, {"id": []}),
    ("004", "DropTable", T, {"id": ["t"]}),
    ("004", "DeregisterTable", T, {"id": ["n", "u"]}),
    ("", "DescribeTableVersion", {"version": 1}, {"version": ENTRY}),
    ("", "DescribeTableVersion", {}, {"version": NEXT}),
    ("", "CreateTableVersion", SAYS, {"version": {**ENTRY, "metadata": {"a": "b"}}}),
    ("", "CreateTableVersion", SAYS, {"version": ENTRY}),
    ("005", "DescribeTableVersion", {"version": 2}, {"version": ENTRY}),
    ("005", "CreateTableVersion", {"version": 1}, {"version": {"version": 1}}),
    ("005", "CreateTableVersion", SAYS, {"version": {**ENTRY, "metadata": {"a": "c"}}}),
    ("005", "BatchCreateTableVersions", TWO, {"versions": [NEXT, ENTRY]}),
    ("", "BatchCreateTableVersions", TWO, {"versions": [ENTRY, NEXT]}),
    ("", "ListTableVersions", {"descending": True}, {"versions": [NEXT, ENTRY]}),
    ("006", "ListTableVersions", {"descending": True}, {"versions": [ENTRY, NEXT]}),
    ("006", "ListTableVersions", {}, {"versions": [{**ENTRY, "version": 0}]}),
    ("006", "ListTableVersions", {}, {"versions": [{**ENTRY, "manifest_path": ""}]}),
    ("006", "DescribeTableVersion", {}, {"version": {**ENTRY, "timestamp_millis": SECONDS}}),
    ("006", "ListTableVersions", {}, {"versions": [{**ENTRY, "timestamp_millis": MILLIS * 1000}]}),
    ("", "ListTableIndices", {}, {"indexes": [INDEX, {**INDEX, "index_name": "b"}]}),
    ("007", "ListTableIndices", {}, {"indexes": [{**INDEX, "index_name": "b"}, INDEX]}),
    ("007", "ListTableIndices", {}, {"indexes": [{**INDEX, "index_uuid": "x"}]}),
    *[("007", "ListTableIndices", {}, {"indexes": [{**INDEX, key: None}]}) for key in INDEX],
    ("", "InsertIntoTable", {}, {"num_inserted_rows": 3}),
    ("", "InsertIntoTable", {}, {}),
    ("008", "InsertIntoTable", {}, {"num_inserted_rows": 2}),
    ("", "AlterTable", SET, {"properties": {"a": "1", "c": "3"}}),
    ("", "AlterNamespace", SET, {}),
    ("010", "AlterTable", SET, {"properties": {"a": "2"}}),
    ("010", "AlterNamespace", SET, {"properties": {"a": "1", "b": "2"}}),
    ("010", "AlterNamespace", SET, {"properties": {}}),
    ("", "UpdateFieldMetadata", META, {"fields": {"x": {"a": "1"}}}),
    ("010", "UpdateFieldMetadata", META, {"fields": {"x": {"a": "1", "b": "2"}}}),
    ("010", "UpdateFieldMetadata", META, {"fields": {"x": {"a": "1"}, "y": {}}}),
    ("010", "UpdateFieldMetadata", META, {"fields": {}}),
    ("", "ListTableBranches", {}, {"branches": {"b": {"createAt": SECONDS, "manifestSize": 5}}}),
    ("", "ListTableTags", {}, {"tags": {"v1": {"version": 1}}}),
    ("011", "ListTableBranches", {}, {"branches": {"b": {"createAt": MILLIS}}}),
    ("011", "ListTableBranches", {}, {"branches": {"b": {"createAt": 5}}}),
    ("011", "ListTableTags", {}, {"tags": {"v1": {"manifestSize": 0}}}),
    ("011", "ListTableTags", {}, {"tags": {"": {}}}),
    ("", "ListOperations", {}, {"operations": ["ListTables", "Own"]}),
    ("012", "ListOperations", {}, {"operations": ["Own"]}),
    ("012", "ListOperations", {}, {"operations": []}),
    ("", "DescribeTransaction", {}, {"status": "SUCCEEDED"}),
    ("013", "DescribeTransaction", {}, {"status": ""}),
    ("013", "AlterTransaction", {}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "operation", "request_", "answer"), ANSWERS)
def test_a_wrong_answer_breaks_exactly_its_rule(
    rule: str, operation: str, request_: dict[str, Any], answer: dict[str, Any]
) -> None:
    data = ipc(3) if operation == "InsertIntoTable" else None
    found = list(broken_invariants(Reply(step=Step(operation, request_, data), answer=answer)))
    assert {id for id, _, _ in found} == ({f"LN-EACH-{rule}"} if rule else set())
    assert all(expected and got and expected != got for _, expected, got in found)


@pytest.mark.parametrize(
    ("rule", "request_", "rows"),
    [
        ("", KNN, ROWS),
        ("", {}, ROWS),
        ("", {"k": 0}, ROWS),
        ("", {"k": 1, "vector": {"multi_vector": [[1.0], [2.0]]}}, ROWS),
        ("", {"columns": {"column_names": ["a", "_rowid"]}}, ROWS.select(["a", "_rowid"])),
        ("LN-EACH-009", {"k": 1}, ROWS),
        ("LN-EACH-009", {"k": 1, "vector": {"single_vector": [1.0]}}, ROWS),
        ("LN-EACH-009", {"columns": {"column_names": ["b", "a"]}}, ROWS),
        ("LN-EACH-009", {"columns": {"column_names": ["a", "c"]}}, ROWS),
    ],
)
def test_rows_match_the_query(rule: str, request_: dict[str, Any], rows: pa.Table) -> None:
    reply = Reply(step=Step("QueryTable", request_), rows=rows)
    assert [id for id, _, _ in broken_invariants(reply)] == [rule] * bool(rule)
