"""Compact results of runs on other implementations; the docs generate a page from them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

__all__ = ["compact_results"]

LONGEST = 160


def compact_results(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the results of runs as JSON with one line per deviation: ``[check, expected, got]``.

    Args:
        reports: the report of each target, keyed by the title of the target.
    """
    versions = {"pylance": version("pylance"), "gravitino": "2.0 (development build)"}
    targets = []
    for title, report in reports.items():
        counts = report["summary"]
        head = {
            "title": title,
            "passed": counts["pass"],
            "failed": counts["fail"],
            "skipped": counts["skip"],
        }
        failed = (entry for entry in report["checks"] if entry["result"] == "fail")
        rows = ",\n".join(
            _json([entry["id"], _short(entry["expected"]), _short(entry["got"])])
            for entry in failed
        )
        targets.append(f'{_json(head)[:-1]}, "deviations": [\n{rows}\n]}}')
    return f'{{"versions":{_json(versions)},"targets":[\n' + ",\n".join(targets) + "\n]}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(value: object) -> str:
    """Return a value on one line, with the random names and the paths of a run masked."""
    text = re.sub(r"lnkit[0-9a-f]{8}", "x", " ".join(str(value).split()))
    text = re.sub(r"(?<![\w.])(file:)?/{0,3}(?:tmp|root|home|work|var)/[^\s'\",;)]*", "/…/", text)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
