"""A table that exists during a whole listing is returned once, whatever changes between pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..behaviour.walks import check_walks
from ..servers.glue import GlueServer
from .subject import SUBJECTS


@pytest.mark.requirement("glue.list-tables.paging")
@pytest.mark.parametrize("levels", SUBJECTS)
def test_pages_while_tables_are_added_and_removed(
    levels: str, glue: GlueServer, tmp_path: Path
) -> None:
    check_walks(SUBJECTS[levels](glue, tmp_path / "root"), 6)
