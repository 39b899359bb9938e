"""Generates the pages on conformance: the requirements, and the deviations of other implementations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lance_namespace_impls.conformance.requirement import CHECKS
from lance_namespace_impls.conformance.scenarios import load_all

__all__ = ["deviations_page", "requirements_page"]

RESULTS = Path(__file__).parents[1] / "conformance" / "results.json"
# In search results, thousands of table rows would bury the guide.
NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"


def requirements_page() -> str:
    """Return the page with every requirement that the conformance kit checks, as Markdown."""
    load_all()
    checks = sorted(CHECKS.values(), key=lambda check: check.id)
    return NOT_SEARCHED + "\n".join(
        [
            "# Requirements\n",
            f"The {len(checks)} requirements that `lance-ns conformance` checks, with their "
            f"sources.\n",
            *table(
                ("Check", "Level", "Requirement", "Source"),
                (
                    (check.id, check.level.value, check.requirement, check.source)
                    for check in checks
                ),
            ),
            "",
        ]
    )


def deviations_page() -> str:
    """Return the page with the deviations of other implementations, as Markdown."""
    load_all()
    results: Mapping[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    parts = [
        "# Deviations\n",
        "The checks of `lance-ns conformance` that other implementations fail. "
        "[Requirements](requirements.md) lists the source of each check. "
        f"Tested versions: {versions}.\n",
    ]
    for target in results["targets"]:
        parts.append(f"## {target['title']}\n")
        parts.append(
            f"{target['passed']} passed, {target['failed']} failed, {target['skipped']} skipped.\n"
        )
        if target["deviations"]:
            rows = (
                (id, CHECKS[id].requirement if id in CHECKS else "", expected, got)
                for id, expected, got in target["deviations"]
            )
            parts += [*table(("Check", "Requirement", "Expected", "Got"), rows), ""]
    return NOT_SEARCHED + "\n".join(parts)


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    """Return the lines of a Markdown table from plain-text cells."""
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(_cell(cell) for cell in row)} |"


def _cell(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("{", "&#123;")
    return escaped.replace("|", "\\|")
