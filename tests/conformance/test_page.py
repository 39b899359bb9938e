"""The HTML page of a report, checked as text."""

from __future__ import annotations

from html import escape
from typing import Any

from lance_namespace_impls.conformance.page import page

ENTRY: dict[str, Any] = {
    "id": "LN-WIRE-BODY-063", "requirement": "Rows may be megabytes.", "source": "none names a limit",
    "level": "MUST", "result": "fail", "expected": "200", "got": "413", "seconds": 0.1,
    "operations": ["CreateTable"], "request": None, "response": None, "script": None,
}  # fmt: skip


def shown(script: str) -> str:
    entry = {**ENTRY, "script": {"curl": script, "python": "pass"}}
    summary = {"pass": 0, "fail": 1, "skip": 0, "disabled": 0, "not reached": 0}
    report = {"target": "x", "version": "1", "seconds": 1.0, "summary": summary, "checks": [entry]}
    return page([report])


def test_a_large_body_is_shortened_and_the_rest_of_its_script_is_not() -> None:
    found = shown("curl " + "A" * 3_000_000 + " 'http://x/v1/table/t/create'\ncurl next")
    assert len(found) < 20_000
    assert "[2,996,000 more characters in the JSON report]" in found
    assert escape("'http://x/v1/table/t/create'\ncurl next") in found


def test_words_of_normal_length_are_not_shortened() -> None:
    script = f"curl {'A' * 4000} {'B' * 4000}"
    assert script in shown(script)
