"""Third-party classes, each checked in a separate interpreter."""

from __future__ import annotations

import sys

import pytest

from lance_namespace_impls.conformance import Options, check_class
from lance_namespace_impls.conformance.exchange import Step
from lance_namespace_impls.conformance.process_target import CouldNotStartError, ProcessTarget
from lance_namespace_impls.conformance.rows import plain

PYLANCE = "lance.namespace:DirectoryNamespace"
FRAGILE = '''
import os

class Namespace:
    """Ends its interpreter when a table is described."""

    def __init__(self, **properties):
        self.properties = properties

    def describe_table(self, request):
        os._exit(3)

    def list_namespaces(self, request):
        return object()
'''


@pytest.fixture(scope="module")
def pylance(tmp_path_factory):
    """One interpreter for all tests, since importing pylance takes long."""
    root = tmp_path_factory.mktemp("pylance")
    target = ProcessTarget(PYLANCE, {"root": str(root)}, sys.executable)
    yield target
    target.close()


def test_the_directory_class_of_pylance_is_checked(tmp_path):
    only = ("LN-TABLE-CREATE-00?", "LN-MISSING-*", "LN-ROWS-MERGE-*", "LN-QUERY-001")
    report = check_class(
        PYLANCE, {"root": str(tmp_path)}, Options(only=only), python=sys.executable
    )
    results = {entry["id"]: entry["result"] for entry in report["checks"]}
    assert results["LN-TABLE-CREATE-002"] == results["LN-MISSING-027"] == "pass"
    assert results["LN-ROWS-MERGE-003"] == results["LN-QUERY-001"] == "pass"
    assert results["LN-TABLE-CREATE-009"] == "fail"  # it creates a table in a missing namespace
    assert not [e["got"] for e in report["checks"] if "interpreter" in e["got"]]
    assert report["leftovers"] == []


def test_a_method_with_a_dict_parameter_receives_a_dict(pylance):
    reply = pylance.call(Step("DescribeTableVersion", {"id": ["gone"], "version": 1}))
    assert reply.broken is None, reply.outcome()


def test_an_answer_can_be_a_dict(pylance):
    assert pylance.call(Step("CreateTable", {"id": ["described"]}, plain(1))).succeeded
    reply = pylance.call(Step("DescribeTableVersion", {"id": ["described"], "version": 1}))
    assert (reply.answer or {})["version"]["version"] == 1, reply.outcome()


def test_a_request_rejected_by_the_official_model_is_code_13(pylance):
    reply = pylance.call(Step("ListTables", {"id": [], "limit": "many"}))
    assert reply.code == 13


def test_a_list_field_of_the_official_model_is_passed_as_a_list(pylance):
    assert pylance.call(Step("CreateTable", {"id": ["merged"]}, plain(1))).succeeded
    request = {"id": ["merged"], "on": "x", "when_not_matched_insert_all": True}
    reply = pylance.call(Step("MergeInsertIntoTable", request, plain(3)))
    assert reply.succeeded, reply.outcome()


def test_an_interpreter_that_exited_is_restarted(tmp_path, monkeypatch):
    (tmp_path / "fragile_namespace.py").write_text(FRAGILE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    target = ProcessTarget("fragile_namespace:Namespace", {})
    try:
        gone = target.call(Step("DescribeTable", {"id": ["t"]}))
        assert gone.broken == "the interpreter exited with status 3"
        after = target.call(Step("CreateTable", {"id": ["t"]}))
        assert after.no_route
        unreadable = target.call(Step("ListNamespaces", {"id": []})).broken
        assert unreadable is not None and "without a code" in unreadable
    finally:
        target.close()


def test_the_error_names_a_missing_interpreter():
    with pytest.raises(CouldNotStartError, match="--python /nowhere/python"):
        ProcessTarget(PYLANCE, {}, "/nowhere/python")


def test_the_error_names_a_missing_class():
    with pytest.raises(CouldNotStartError, match="--class json:Namespace: AttributeError"):
        ProcessTarget("json:Namespace", {})
