"""The page of requirements is the one that the checks make."""

from __future__ import annotations

from pathlib import Path

from lance_namespace_impls.conformance.requirements import requirements_page

PAGE = Path(__file__).parents[2] / "docs" / "conformance" / "requirements.md"


def test_the_page_is_what_the_checks_make():
    assert PAGE.read_text(encoding="utf-8") == requirements_page()
