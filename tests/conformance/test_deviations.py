"""The compact results, and the pages of the docs that are generated from them."""

from __future__ import annotations

import json
from typing import Any

from docs._generate import conformance
from lance_namespace_impls.conformance.requirement import CHECKS

from .deviations import compact_results

ENTRY = {
    "id": "LN-TABLE-DROP-002",
    "result": "fail",
    "requirement": "DropTable of a missing table fails with code 4.",
    "expected": "DropTable to fail with code 4",
    "got": "code 18: {no <b>} | at /tmp/lns-abc/lake/lnkit0123abcd_7, line 3 " + "x" * 300,
    "script": None,
}
PASSED = {**ENTRY, "id": "LN-TABLE-DROP-001", "result": "pass"}
SUMMARY = {"pass": 1, "fail": 1, "skip": 0}


def results(*entries: dict[str, Any]) -> Any:
    return json.loads(compact_results({"A server": {"summary": SUMMARY, "checks": entries}}))


def test_a_failed_check_is_a_deviation():
    (target,) = results(ENTRY, PASSED)["targets"]
    assert (target["title"], target["passed"], target["failed"]) == ("A server", 1, 1)
    ((id, expected, got),) = target["deviations"]
    assert (id, expected) == ("LN-TABLE-DROP-002", "DropTable to fail with code 4")
    assert got.startswith("code 18: {no <b>} | at /…/, line 3 x") and len(got) == 160


def test_a_target_without_failures_has_no_deviations():
    assert results(PASSED)["targets"][0]["deviations"] == []


def test_the_pages_list_every_requirement_and_every_deviation():
    pages = (conformance.requirements_page(), conformance.deviations_page())
    assert all("search:\n  exclude: true" in page for page in pages)
    assert pages[0].count("\n| LN-") == len(CHECKS)
    kept = json.loads(conformance.RESULTS.read_text("utf-8"))
    assert pages[1].count("\n| LN-") == sum(len(each["deviations"]) for each in kept["targets"])
    assert len(kept["targets"]) > 5


def test_cells_are_plain_text():
    (row,) = list(conformance.table(("a",), iter([("{x} <b> | &",)])))[2:]
    assert row == "| &#123;x} &lt;b> \\| &amp; |"
