"""The page of deviations: what it shows, and what it keeps to itself."""

from __future__ import annotations

from .deviations import deviations_page

ENTRY = {
    "id": "LN-TABLE-DROP-002",
    "result": "fail",
    "requirement": "DropTable of a missing table is code 4.",
    "expected": "DropTable to fail with code 4",
    "got": "code 18: {no <b>} | at /tmp/lns-abc/lake/t.lance, line 3 " + "x" * 300,
    "script": {"json": [{"operation": "DropTable", "request": {"id": ["lnkit0123abcd_7"]}}]},
}
PASSED = {**ENTRY, "id": "LN-TABLE-DROP-001", "result": "pass"}
SUMMARY = {"pass": 1, "fail": 1, "skip": 0}


def test_each_failure_is_a_row_with_its_rule_and_calls():
    found = deviations_page({"A server": {"summary": SUMMARY, "checks": [ENTRY, PASSED]}})
    assert "## A server\n\n1 passed, 1 failed, 0 skipped." in found
    (row,) = [line for line in found.splitlines() if line.startswith("| LN-")]
    assert row.startswith("| LN-TABLE-DROP-002 | DropTable of a missing table is code 4. |")
    assert '"id": ["x_7"]' in row
    assert row.replace("\\|", "").count("|") == 6
    assert "/tmp/" not in row and "<b>" not in row and "&#123;no" in row
    assert len(row) < 600


def test_a_server_without_failures_has_no_table():
    found = deviations_page({"A server": {"summary": {**SUMMARY, "fail": 0}, "checks": [PASSED]}})
    assert "0 failed" in found
    assert "| LN-" not in found
