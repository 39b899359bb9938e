"""The behavior suite on Glue.

With ``LANCE_NS_TEST_GLUE=1`` it also runs against AWS, with the caller's own credentials, in a
database that it creates and deletes. ``LANCE_NS_TEST_GLUE_ROOT`` sets the location of the data.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from ..behaviour.machine import explore
from ..servers.glue import REGION, GlueServer
from .conftest import KEYS
from .subject import SUBJECTS, aws, real_account

RUNS = 8
RUNS_ON_AWS = 10
WHERE = ["the double", *(["AWS"] if real_account() is not None else [])]


@pytest.mark.requirement("general-056", "glue.declare-table.no-data")
@pytest.mark.parametrize(
    "levels",
    [
        pytest.param(each, marks=pytest.mark.slow) if each == "two levels" else each
        for each in SUBJECTS
    ],
)
def test_glue_behaves_like_the_model(levels: str, glue: GlueServer, tmp_path: Path) -> None:
    explore(SUBJECTS[levels](glue, tmp_path / "root"), RUNS)


@pytest.mark.parametrize("where", WHERE)
def test_one_database_behaves_like_the_model(
    where: str, glue: GlueServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = real_account()
    if where == "the double" or settings is None:
        settings = {"endpoint": glue.endpoint, "region": REGION, **KEYS}
    else:
        monkeypatch.undo()  # connect to AWS with the caller's configuration
    name = f"lance_ns_test_{uuid.uuid4().hex[:12]}"
    with aws(name, tmp_path / "root", **settings) as subject:
        explore(subject, RUNS_ON_AWS)
