"""A test whose server or program is missing is skipped, or fails if servers are required."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from .conftest import pytest_runtest_setup


def item(marker: str, *named: str) -> Any:
    """Return a stand-in for a test item that has a marker."""
    found = getattr(pytest.mark, marker)(*named).mark
    return SimpleNamespace(iter_markers=lambda name: [found] if name == found.name else [])


@pytest.fixture(autouse=True)
def nothing_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("UNITY", "MINIO"):
        monkeypatch.delenv(f"LANCE_NS_TEST_{name}", raising=False)
    monkeypatch.setenv("LANCE_NS_TEST_SERVERS", str(tmp_path))
    monkeypatch.setenv("LANCE_NS_TEST_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("marked", "said"),
    [
        (item("real", "unity"), "there is no unity server"),
        (item("real", "minio"), "there is no minio server"),
        (item("needs", "npm"), "npm is not installed"),
        (item("needs", "chromium", "chromium-browser"), "chromium or chromium-browser is not"),
    ],
    ids=["unity", "minio", "one program", "either program"],
)
def test_a_missing_server_or_program_skips_or_fails(
    marked: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LANCE_NS_REQUIRE_SERVERS", raising=False)
    with pytest.raises(pytest.skip.Exception, match=said):
        pytest_runtest_setup(marked)
    monkeypatch.setenv("LANCE_NS_REQUIRE_SERVERS", "1")
    with pytest.raises(pytest.fail.Exception, match=said):
        pytest_runtest_setup(marked)


def test_one_of_two_programs_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("LANCE_NS_REQUIRE_SERVERS", "1")
    program = tmp_path / "chromium-browser"
    program.touch(mode=0o755)
    pytest_runtest_setup(item("needs", "chromium", "chromium-browser"))
