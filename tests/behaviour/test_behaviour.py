"""The suite on every backend that needs no external service."""

from __future__ import annotations

from pathlib import Path

import pytest

from .machine import explore
from .subjects import SUBJECTS, parameters

pytestmark = pytest.mark.xdist_group("spread")


# The ignored warnings are about names that cannot be paths.
@pytest.mark.filterwarnings("ignore:.* cannot be (read|written to)")
@pytest.mark.parametrize("name", parameters())
def test_behaves_like_its_model(name: str, tmp_path: Path) -> None:
    with SUBJECTS[name].start(tmp_path) as subject:
        explore(subject, SUBJECTS[name].runs)
