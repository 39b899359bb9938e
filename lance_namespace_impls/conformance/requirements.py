"""The page of requirements, made from the checks."""

from __future__ import annotations

from .checks import load_all
from .requirement import CHECKS

__all__ = ["requirements_page"]


def requirements_page() -> str:
    """Return the page of every requirement that the kit checks, as Markdown."""
    load_all()
    lines = [
        "# Requirements",
        "",
        f"The {len(CHECKS)} requirements that `lance-ns conformance` checks, each with what it "
        "stands on.",
    ]
    lines += ["", "| Check | Level | Requirement | Source |", "|---|---|---|---|"]
    for check in sorted(CHECKS.values(), key=lambda check: check.id):
        cells = (check.id, check.level.value, check.requirement, check.source)
        escaped = [cell.replace("|", "\\|").replace("<", "&lt;") for cell in cells]
        lines.append("| " + " | ".join(escaped) + " |")
    return "\n".join(lines) + "\n"
