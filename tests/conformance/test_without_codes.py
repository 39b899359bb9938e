"""A server whose only fault is errors without a code fails only checks that expect a code."""

from __future__ import annotations

import pytest
from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step
from lance_namespace_impls.conformance.locations import place_of
from lance_namespace_impls.conformance.observe import forbids_location
from lance_namespace_impls.conformance.oracle import local_path
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import Result
from lance_namespace_impls.conformance.runner import Options, run
from lance_namespace_impls.conformance.scenarios import load_all

from .targets import memory

load_all()
AREAS = ("LN-NAMESPACE-*", "LN-TABLE-D*", "LN-FRESH-*", "LN-NAME-*", "LN-ALIKE-6*", "LN-LIST-*")


class Uncoded(PythonTarget):
    """A target that reports every error like a bare ``ValueError`` without a code."""

    def call(self, step: Step) -> Reply:
        reply = super().call(step)
        if reply.code in (None, 0):
            return reply
        return evolve(reply, code=None, broken=f"ValueError without a code: {reply.message}")


def test_errors_without_a_code_fail_only_checks_that_expect_a_code(tmp_path):
    options = Options(only=(*AREAS, "LN-ERROR-005"))
    found = run(Uncoded(memory(tmp_path, "mixed"), "uncoded"), options).findings
    failed = {f.check.id: f.expected for f in found if f.result is Result.FAIL}
    assert {"LN-ERROR-005", "LN-TABLE-DESCRIBE-003", "LN-NAMESPACE-DROP-005"} <= set(failed)
    assert {id: due for id, due in failed.items() if "code" not in due} == {
        "LN-ERROR-005": "a readable response"
    }
    passed = {f.check.id for f in found if f.result is Result.PASS}
    assert {"LN-TABLE-DECLARE-003", "LN-NAMESPACE-CREATE-005", "LN-LIST-TABLES-001"} <= passed


@pytest.mark.parametrize("location", ["/a/b", "file:/a/b", "file:///a/b", "file://localhost/a/b"])
def test_every_form_of_a_local_location_is_the_same_path(location):
    assert local_path(location) == "/a/b"


@pytest.mark.parametrize(
    ("location", "uri"),
    [("/a$b%25/", "file:///a%24b%2525"), ("s3://b/a", "s3://b/a/"), ("file:/a", "file:///a")],
)
def test_a_location_and_its_uri_are_the_same_place(location, uri):
    assert place_of(location) == place_of(uri)


@pytest.mark.parametrize("location", ["s3://b/a", "file://elsewhere/a", "a/b", "files:/a"])
def test_a_location_that_is_not_local_is_unchanged(location):
    assert local_path(location) == location


@pytest.mark.parametrize(
    ("code", "request_", "forbidden"),
    [(15, {"location": "/a"}, True), (15, {"location": None}, False), (15, {}, False),
     (13, {"location": "/a"}, False)],
)  # fmt: skip
def test_only_code_15_forbids_a_location(code, request_, forbidden):
    reply = Reply(step=Step("RegisterTable", {"id": ["t"], **request_}, None), code=code)
    assert forbids_location(reply) is forbidden
