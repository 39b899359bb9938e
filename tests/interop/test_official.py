"""The classes for programs written for the official Python interface."""

from __future__ import annotations

import inspect
import io
import pickle
from pathlib import Path
from typing import Any

import lance_namespace
import lance_namespace_urllib3_client.models as official
import pyarrow as pa
import pytest
from lance_namespace import errors

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect, implementations, interop, register, registry

T = {"id": ["t"]}
QUERY = {**T, "k": 2, "vector": {"single_vector": []}}


def stream(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.fixture
def namespace(tmp_path: Path) -> Any:
    found = interop.DirectoryNamespace(path=str(tmp_path))
    found.create_table(official.CreateTableRequest(**T), stream(pa.table({"x": [1, 2, 3]})))
    return found


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("ListTables", {"id": []}),
        ("DescribeTable", T),
        ("TableExists", T),
        ("CountTableRows", T),
        ("ListTableVersions", T),
        ("QueryTable", QUERY),
        ("ExplainTableQueryPlan", {**T, "query": QUERY}),
        ("AnalyzeTableQueryPlan", QUERY),
        ("DeclareTable", {"id": ["u"]}),
        ("DropTable", T),
    ],
)
def test_responses_have_the_declared_types(
    namespace: Any, name: str, fields: dict[str, Any]
) -> None:
    row = OPERATIONS[name]
    method = getattr(lance_namespace.LanceNamespace, row.method_name)
    declared = inspect.signature(method, eval_str=True).return_annotation
    if isinstance(declared, str):
        declared = getattr(official, declared)
    request = getattr(official, row.request).from_dict(fields)
    assert isinstance(getattr(namespace, row.method_name)(request), declared)


def test_rows_are_returned_as_a_file(namespace: Any) -> None:
    answer = namespace.query_table(official.QueryTableRequest.from_dict(QUERY))
    assert pa.ipc.open_file(answer.data).read_all().to_pydict() == {"x": [1, 2]}


def test_a_plan_is_text(namespace: Any) -> None:
    query = official.QueryTableRequest.from_dict(QUERY)
    explain = official.ExplainTableQueryPlanRequest(**T, query=query)
    assert "LanceRead" in namespace.explain_table_query_plan(explain)
    analyze = official.AnalyzeTableQueryPlanRequest.from_dict(QUERY)
    assert "metrics" in namespace.analyze_table_query_plan(analyze)


@pytest.mark.parametrize(
    "name", [target.rpartition(":")[2] for target in implementations().values()]
)
def test_every_implementation_has_a_class(name: str) -> None:
    found = getattr(interop, name)
    assert issubclass(found, lance_namespace.LanceNamespace)
    assert (found.__name__, found.__module__) == (name, interop.__name__)
    assert found is getattr(interop, name)
    assert implementations()[found.impl].endswith(f":{name}")
    assert repr(found.impl) in str(found.__doc__)


def test_every_operation_of_the_interface_exists_with_a_docstring() -> None:
    for row in OPERATIONS.values():
        if hasattr(lance_namespace.LanceNamespace, row.method_name):
            method = vars(interop.OfficialNamespace)[row.method_name]
            assert method.__name__ == row.method_name
            assert method.__doc__ == f"{row.summary}."
        else:
            assert not hasattr(interop.OfficialNamespace, row.method_name)


def test_a_registered_class_of_another_package_is_available(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    with pytest.raises(AttributeError, match=r"interop' has no attribute 'Mixed'"):
        interop.Mixed  # noqa: B018
    register("mixed", "tests.behaviour.memory:Mixed")
    try:
        found = interop.Mixed(root=str(tmp_path))
        assert found.list_tables(official.ListTablesRequest(id=[])).tables == []
    finally:
        vars(interop).pop("Mixed", None)


def test_identity_pickling_and_redaction(namespace: Any, tmp_path: Path) -> None:
    secret = {"storage.secret_access_key": "hunter2"}
    found = interop.DirectoryNamespace(path=str(tmp_path), **secret)
    with connect("dir", {"path": str(tmp_path), **secret}) as ours:
        assert found.namespace_id() == ours.namespace_id()
    assert repr(found) == f"<DirectoryNamespace {found.namespace_id()}>"
    assert "hunter2" not in repr(found)
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(found)
    assert again.namespace_id() == found.namespace_id()
    assert again.count_table_rows(official.CountTableRowsRequest(**T)).count == 3


def test_an_unknown_property_raises_the_official_error() -> None:
    with pytest.raises(errors.InvalidInputError, match=r"^Invalid input: dir: property 'pth'"):
        interop.DirectoryNamespace(pth="/x")
