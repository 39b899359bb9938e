"""The list of faults is long enough, deterministic, and matches the current code."""

from __future__ import annotations

import pytest

from .make import mutants_of
from .packages import PACKAGES, ROOT


@pytest.mark.parametrize("package", PACKAGES)
def test_the_faults_of_a_package_are_deterministic(package: str) -> None:
    found = mutants_of(package)
    assert [each.name for each in found] == [each.name for each in mutants_of(package)]
    assert len(found) >= PACKAGES[package].mutants
    assert all(each.old != each.new for each in found)
    for each in found:
        source = (ROOT / each.file).read_bytes()
        assert source[each.start : each.end].decode() == each.old
        compile(source[: each.start] + each.new.encode() + source[each.end :], each.file, "exec")


def test_the_number_of_faults_is_sufficient() -> None:
    assert sum(package.mutants for package in PACKAGES.values()) >= 300


@pytest.mark.parametrize("package", PACKAGES)
def test_the_tests_of_a_package_exist(package: str) -> None:
    assert all((ROOT / test).exists() for test in PACKAGES[package].tests)
