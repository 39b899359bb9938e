"""The backends under test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .subject import Subject
from .subjects import SUBJECTS


@pytest.fixture(params=list(SUBJECTS))
def subject(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[Subject]:
    """Each backend in turn."""
    from pathlib import Path

    assert isinstance(tmp_path, Path)
    start, _ = SUBJECTS[request.param]
    with start(tmp_path) as found:
        yield found
