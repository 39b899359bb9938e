"""The suite on every backend that needs nothing but this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from .machine import explore
from .subjects import SUBJECTS


@pytest.mark.parametrize("name", SUBJECTS)
def test_behaves_like_its_model(name: str, tmp_path: Path) -> None:
    start, runs = SUBJECTS[name]
    with start(tmp_path) as subject:
        explore(subject, runs)
