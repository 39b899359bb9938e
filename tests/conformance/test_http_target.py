"""How calls are sent as HTTP requests."""

from __future__ import annotations

from lance_namespace_impls.conformance.exchange import Step
from lance_namespace_impls.conformance.requirement import Result
from lance_namespace_impls.conformance.runner import Options, run
from lance_namespace_impls.conformance.scripts import Script, as_curl

from .targets import correct


def test_a_list_in_the_query_is_repeated():
    step = Step("MergeInsertIntoTable", {"id": ["t"], "on": ["a", "b c"]}, b"")
    assert "on=a&on=b%20c" in as_curl(Script.of([step]), "http://localhost")


def test_several_key_columns_are_checked_over_http(tmp_path):
    with correct("rest-mixed", tmp_path) as target:
        outcome = run(target, Options(only=("LN-ROWS-MERGE-011",)))
    found = {f.check.id: f.result for f in outcome.findings}
    assert found["LN-ROWS-MERGE-011"] is Result.PASS
