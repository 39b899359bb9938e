"""Shared fixtures of the command line tests."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from .lakes import ROWS, Lake, NestedNamespace, impl_of


@pytest.fixture(autouse=True)
def _isolated_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IMPL", "PROPERTIES", "PROFILE", "CONFIG", "DELIMITER"):
        monkeypatch.delenv(f"LANCE_NS_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    (tmp_path / "lake").mkdir()
    return Lake("dir", path=str(tmp_path / "lake"))


@pytest.fixture
def nested(tmp_path: Path) -> Lake:
    return Lake(impl_of(NestedNamespace), root=str(tmp_path / "nested"))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(ROWS, path)
    return path
