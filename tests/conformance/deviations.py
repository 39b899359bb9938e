"""The page of what others' servers do otherwise, made from the reports of runs on them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

__all__ = ["deviations_page"]

LAST_CALLS = 3
LONGEST = 160
HEAD = """# Deviations

What `lance-ns conformance` finds in other servers, each with the rule of the check and the last calls
that lead to it; `x` stands for the random part of a name. [Requirements](requirements.md) has the source
of each check, and [Results](results.html) the whole scripts. pylance is {pylance}, Gravitino a
development build of 2.0. `nox -s conformance` makes this page anew.
"""


def deviations_page(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the page in Markdown.

    Args:
        reports: the report of each target, by what the target is called.
    """
    parts = [HEAD.format(pylance=version("pylance"))]
    for title, report in reports.items():
        counts = report["summary"]
        parts.append(f"## {title}\n")
        parts.append(
            f"{counts['pass']} passed, {counts['fail']} failed, {counts['skip']} skipped.\n"
        )
        failed = [entry for entry in report["checks"] if entry["result"] == "fail"]
        if failed:
            parts.append("| Check | Rule | Expected | Got | Calls |\n|---|---|---|---|---|")
            parts += [_row(entry) for entry in failed]
            parts.append("")
    return "\n".join(parts)


def _row(entry: Mapping[str, Any]) -> str:
    steps = ((entry["script"] or {}).get("json") or [])[-LAST_CALLS:]
    calls = "; ".join(_call(step) for step in steps)
    cells = (entry["id"], entry["requirement"], entry["expected"], entry["got"], calls)
    return "| " + " | ".join(_cell(str(cell)) for cell in cells) + " |"


def _call(step: Mapping[str, Any]) -> str:
    shown = step["raw"]["path"] if step.get("raw") else step["request"]
    return f"{step['operation']} {json.dumps(shown, ensure_ascii=False)}"


def _cell(text: str) -> str:
    text = re.sub(r"lnkit[0-9a-f]{8}", "x", " ".join(text.split()))
    text = re.sub(r"(?<![\w.])(file:)?/{0,3}(?:tmp|root|home|work|var)/[^\s'\",;)]*", "/…/", text)
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return (
        text.replace("&", "&amp;").replace("<", "&lt;").replace("{", "&#123;").replace("|", "\\|")
    )
