"""A table that exists during a whole listing is returned once, whatever changes between pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.hive import shared

from ..hive.conftest import FORMS
from ..hive.conftest import parameters as forms
from ..hive.subject import hive_subject
from .subjects import SUBJECTS, parameters
from .walks import check_walks

pytestmark = pytest.mark.xdist_group("spread")

many = pytest.mark.parametrize("runs", [6, pytest.param(60, marks=pytest.mark.slow)])


@many
@pytest.mark.parametrize("name", parameters())
def test_pages_while_tables_are_added_and_removed(name: str, runs: int, tmp_path: Path) -> None:
    with SUBJECTS[name].start(tmp_path) as subject:
        check_walks(subject, runs)


@many
@pytest.mark.parametrize("where", forms(FORMS))
def test_pages_of_a_metastore(where: tuple[str, str], runs: int, tmp_path: Path) -> None:
    release, impl = where
    check_walks(hive_subject(shared(release), impl, tmp_path / "lake"), runs)
