"""The report of a run as JSON with a published schema or as JUnit XML; and regressions."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from .redact import Redactor
from .requirement import TIME_UP, Result
from .runner import Finding, Outcome
from .scripts import Script, as_curl, as_json, as_python, exchange_text, login_of

__all__ = [
    "FORMAT",
    "document",
    "entry_of",
    "is_unreached",
    "junit",
    "read_report",
    "schema",
    "worse",
    "write_report",
]

FORMAT = 1
"""Version of the report's format."""


def schema() -> dict[str, Any]:
    """Return the JSON schema of a report."""
    text = resources.files(__package__).joinpath("report.schema.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def document(outcome: Outcome, connection: str, redactor: Redactor) -> dict[str, Any]:
    """Return a run as the JSON report, without secrets.

    Args:
        outcome: result of the run.
        connection: Python expression that connects to the target; for scripts.
        redactor: removes secrets.
    """
    from importlib.metadata import version

    counts = Counter(finding.result.value for finding in outcome.findings)
    found: dict[str, Any] = redactor.value(
        {
            "format": FORMAT,
            "target": outcome.target,
            "seed": outcome.seed,
            "version": version("lance-namespace-kit"),
            "seconds": round(outcome.seconds, 3),
            "more_seconds": round(outcome.more_seconds, 3),
            "operations": None if outcome.claimed is None else sorted(outcome.claimed),
            "summary": {result.value: counts.get(result.value, 0) for result in Result},
            "leftovers": [[kind, *identifier] for kind, identifier in outcome.leftovers],
            "checks": [entry_of(f, outcome.target, connection) for f in outcome.findings],
        }
    )
    return found


def entry_of(finding: Finding, target: str, connection: str) -> dict[str, Any]:
    """Return the report's entry for the result of a check, including secrets."""
    check = finding.check
    request, response = exchange_text(finding.reply.exchange if finding.reply else None)
    entry: dict[str, Any] = {
        "id": check.id,
        "level": check.level.value,
        "result": finding.result.value,
        "requirement": check.requirement,
        "source": check.source,
        "operations": list(check.operations),
        "expected": finding.expected,
        "got": finding.got,
        "request": request,
        "response": response,
        "script": None,
        "seconds": round(finding.seconds, 4),
    }
    if finding.result is Result.FAIL:
        decisive = finding.reply.step if finding.reply is not None else None
        login = login_of(finding.reply.exchange if finding.reply is not None else None)
        script = Script.of(finding.script, finding.setup, decisive)
        entry["script"] = {
            "json": as_json(script),
            "python": as_python(script, connection),
            "curl": as_curl(script, target, login) if "://" in target else None,
        }
    return entry


def junit(report: Mapping[str, Any]) -> str:
    """Return a report as JUnit XML: one test suite per area, one test case per check."""
    summary = report["summary"]
    root = ET.Element(
        "testsuites",
        name=f"Lance namespace conformance of {report['target']}",
        tests=str(len(report["checks"])),
        failures=str(summary["fail"]),
        errors=str(sum(map(is_unreached, report["checks"]))),
        time=str(report["seconds"]),
    )
    suites: dict[str, ET.Element] = {}
    for entry in report["checks"]:
        area = entry["id"].removeprefix("LN-").rpartition("-")[0]
        if area not in suites:
            suites[area] = ET.SubElement(root, "testsuite", name=area)
        case = ET.SubElement(
            suites[area],
            "testcase",
            classname=f"conformance.{area}",
            name=f"{entry['id']} {entry['requirement']}",
            time=str(entry["seconds"]),
        )
        if entry["result"] == "fail":
            failure = ET.SubElement(case, "failure", message=_clean_xml(_error_text(entry)))
            failure.text = _clean_xml(f"{entry['request']}\n\n{entry['response']}")
        elif is_unreached(entry):
            ET.SubElement(case, "error", message="not reached within the time limit")
        elif entry["result"] != "pass":
            ET.SubElement(case, "skipped", message=_clean_xml(f"{entry['result']}: {entry['got']}"))
    for area, suite in suites.items():
        cases = [
            e for e in report["checks"] if e["id"].removeprefix("LN-").rpartition("-")[0] == area
        ]
        suite.set("tests", str(len(cases)))
        suite.set("failures", str(sum(e["result"] == "fail" for e in cases)))
        suite.set("errors", str(sum(map(is_unreached, cases))))
        omitted = (e for e in cases if e["result"] not in ("pass", "fail") and not is_unreached(e))
        suite.set("skipped", str(sum(1 for _ in omitted)))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def is_unreached(entry: Mapping[str, Any]) -> bool:
    """Return whether a check of a report was not reached within the time limit."""
    return bool(entry["result"] == "not reached" and entry["got"] == TIME_UP)


def _error_text(entry: Mapping[str, Any]) -> str:
    return f"expected {entry['expected']}; got: {entry['got']}"


def _clean_xml(text: str) -> str:
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)


def write_report(path: Path, report: Mapping[str, Any]) -> None:
    """Write a report in the format of the file's extension.

    Raises:
        ValueError: the extension is none of ``.json``, ``.xml``, ``.html`` and ``.svg``.
    """
    if path.suffix == ".json":
        text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    elif path.suffix == ".xml":
        text = junit(report)
    elif path.suffix == ".html":
        from .page import page

        text = page([report])
    elif path.suffix == ".svg":
        from .page import badge

        text = badge(report)
    else:
        raise ValueError(f"--report {path.name}: the extension must be .json, .xml, .html or .svg")
    path.write_text(text, encoding="utf-8")


def read_report(path: Path) -> dict[str, Any]:
    """Return a report that was written as JSON.

    Raises:
        ValueError: the file is not a report.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"{path} is not a conformance report of format {FORMAT}")
    return found


def worse(report: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[str]:
    """Return the ids of checks that fail now but not in the baseline, or passed and are now lost.

    A check is lost if its prerequisite fails now, but not if the time limit prevented it.
    """
    before = {entry["id"]: entry["result"] for entry in baseline["checks"]}

    def is_worse(entry: Mapping[str, Any]) -> bool:
        was = before.get(entry["id"])
        lost = entry["result"] == "not reached" and not is_unreached(entry)
        return was == "pass" if lost else entry["result"] == "fail" and was != "fail"

    return [entry["id"] for entry in report["checks"] if is_worse(entry)]
