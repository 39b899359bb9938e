"""Lookup of implementations: built-in, registered, from other packages, or by module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lance_namespace_impls
from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect, connect_config, implementations, register, registry
from lance_namespace_impls.directory import DirectoryNamespace

DIRECTORY = "lance_namespace_impls.directory:DirectoryNamespace"


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Discard the registrations of each test."""
    monkeypatch.setattr(registry, "_registered", {})


@pytest.fixture
def other_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Install a package that provides an implementation named ``acme``."""
    info = tmp_path / "acme_catalog-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-catalog\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[lance_namespace_impls.namespaces]\nacme = {DIRECTORY}\ndir = json:JSONDecoder\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return "acme"


@pytest.mark.parametrize("impl", [name for name, (_, extra) in registry._BUILT_IN.items() if extra])
def test_an_error_names_the_missing_extra_and_the_command(
    impl: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, extra = registry._BUILT_IN[impl]

    def absent(module: str) -> None:
        raise ModuleNotFoundError("No module named 'what_it_needs'", name="what_it_needs")

    monkeypatch.setattr(registry, "import_module", absent)
    with pytest.raises(InvalidInputError) as caught:
        connect(impl, {})
    assert caught.value.code == 13
    assert "needs what_it_needs" in str(caught.value)
    assert f"pip install 'lance-namespace-kit[{extra}]'" in str(caught.value)


def test_an_error_without_an_extra_names_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    register("mine", "not_there:Class")
    with pytest.raises(InvalidInputError) as caught:
        connect("mine", {})
    assert "not_there cannot be imported" in str(caught.value)
    assert "pip install" not in str(caught.value)


@pytest.mark.parametrize("config", [{}, {"impl": ""}, {"impl": None}])
def test_a_configuration_requires_an_impl(config: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=r"no 'impl'; set it to one of .*dir"):
        connect_config(config)


def test_the_configuration_is_not_modified(tmp_path: Path) -> None:
    config = {"impl": "dir", "dir.path": str(tmp_path)}
    connect_config(config).close()
    assert config == {"impl": "dir", "dir.path": str(tmp_path)}


def test_a_package_can_provide_an_implementation(other_package: str, tmp_path: Path) -> None:
    assert implementations()[other_package] == DIRECTORY
    with connect(other_package, {"path": str(tmp_path)}) as found:
        assert isinstance(found, DirectoryNamespace)


def test_a_package_cannot_replace_a_built_in_implementation(
    other_package: str, tmp_path: Path
) -> None:
    assert implementations()["dir"] == DIRECTORY
    with connect("dir", {"path": str(tmp_path)}) as found:
        assert isinstance(found, DirectoryNamespace)


def test_keys_of_packages_and_registered_implementations_are_ignored(
    other_package: str, tmp_path: Path
) -> None:
    register("mine", DIRECTORY)
    properties = {"path": str(tmp_path), "acme.region": "x", "mine.path": "/elsewhere"}
    with connect("dir", properties) as found:
        assert found.properties["path"] == str(tmp_path)
    with connect("dir", {"dir.path": str(tmp_path), "acme.region": "x"}) as found:
        assert found.properties["path"] == str(tmp_path)
    with pytest.raises(InvalidInputError, match=r"acne\.region"):
        connect("dir", {"path": str(tmp_path), "acne.region": "x"})


def test_known_implementations_do_not_scan_other_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow() -> None:
        raise AssertionError("all packages are looked at")

    monkeypatch.setattr(registry, "implementations", slow)
    register("mine", DIRECTORY)
    for key in ("path", "dir.path"):
        with connect("dir", {key: str(tmp_path), "rest.uri": "x", "mine.path": "y"}) as found:
            assert found.properties["path"] == str(tmp_path)


def test_a_registration_can_be_replaced(tmp_path: Path) -> None:
    register("mine", "json:Nothing")
    register("mine", DIRECTORY)
    assert implementations()["mine"] == DIRECTORY
    with connect("mine", {"path": str(tmp_path)}) as found:
        assert isinstance(found, DirectoryNamespace)


def test_connecting_loads_no_other_backend(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from lance_namespace_impls import connect\n"
        f"with connect('dir', {{'path': {str(tmp_path)!r}}}) as namespace:\n"
        "    assert list(namespace.iter_tables()) == []\n"
        "loaded = [m for m in sys.modules if m in ('lance', 'httpx', 'starlette', 'boto3', 'pyspark')]\n"
        "print(loaded)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_package_exports_exactly_its_public_names() -> None:
    for name in lance_namespace_impls.__all__:
        found = getattr(lance_namespace_impls, name)
        assert found.__name__ == name
        assert vars(lance_namespace_impls)[name] is found, "it is looked up once"
    with pytest.raises(AttributeError, match="'lance_namespace_impls' has no attribute 'conect'"):
        lance_namespace_impls.conect  # noqa: B018
