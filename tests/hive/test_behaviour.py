"""The behavior suite on real metastores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.machine import explore
from tests.servers.hive import shared

from .conftest import FORMS, parameters
from .subject import hive_subject

RUNS = 8


@pytest.mark.requirement(
    "general-006",
    "general-056",
    "general-094",
    "general-095",
    "general-106",
    "hive3.list-namespaces.order",
    "hive3.describe-namespace.missing",
    "hive2.levels",
)
@pytest.mark.parametrize("where", parameters(FORMS))
def test_hive_behaves_like_the_model(where: tuple[str, str], tmp_path: Path) -> None:
    release, impl = where
    explore(hive_subject(shared(release), impl, tmp_path / "lake"), RUNS)
