"""How a command selects its namespace: options, environment and profiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lance_namespace_impls.cli.failures import Status

from .lakes import SECRET, Lake, run


def write_config(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_no_namespace_is_selected() -> None:
    assert "pass --impl NAME" in run("ls", status=Status.USAGE).stderr


@pytest.mark.requirement("general-115")
def test_environment(lake: Lake, tmp_path: Path) -> None:
    place = tmp_path / "with space"
    Lake("dir", path=str(place)).run("declare", "t")
    env = {"LANCE_NS_IMPL": "dir", "LANCE_NS_PROPERTIES": f"'path={place}' skip_unreadable=true"}
    assert run("ls", "-t", env=env).stdout == "t\n"
    # properties in the environment do not apply to a namespace that options select
    assert run("ls", "-t", *lake.options, env=env).stdout == ""


@pytest.mark.requirement("general-116")
def test_default_profile(tmp_path: Path, lake: Lake) -> None:
    lake.run("declare", "t")
    write_config(
        tmp_path / "config" / "lance-ns" / "config.toml",
        f'[default]\nimpl = "dir"\npath = "{tmp_path / "lake"}"\nstorage.region = "eu"\n',
    )
    assert run("ls", "-t").stdout == "t\n"
    assert json.loads(run("describe", "t", "--json").stdout)["storage_options"] == {"region": "eu"}
    (tmp_path / "other").mkdir()
    assert Lake("dir", path=str(tmp_path / "other")).run("ls").stdout == ""


@pytest.mark.requirement("general-034")
def test_named_profile(tmp_path: Path, lake: Lake) -> None:
    lake.run("declare", "t")
    (tmp_path / "other").mkdir()
    config = write_config(
        tmp_path / "ns.toml",
        f'[lake]\nimpl = "dir"\npath = "${{LAKE_HOME}}/lake"\n'
        f'[other]\nimpl = "dir"\npath = "{tmp_path}/other"\n',
    )
    env = {"LAKE_HOME": str(tmp_path)}
    options = ("--config", str(config))
    assert run("ls", "-t", *options, "--profile", "lake", env=env).stdout == "t\n"
    assert run("ls", *options, "--profile", "other", env=env).stdout == ""
    chosen = {**env, "LANCE_NS_CONFIG": str(config), "LANCE_NS_PROFILE": "lake"}
    assert run("ls", "-t", env=chosen).stdout == "t\n"
    assert run("ls", "-t", "-p", f"path={tmp_path}/other", env=chosen).stdout == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[default\n", "is not TOML"),
        ('[other]\nimpl = "dir"\n', "has no profile 'lake'; it has other"),
        ("lake = 3\n", "profile 'lake' must be a table"),
        ('[lake]\npath = "x"\n', "profile 'lake' has no impl"),
        ('[lake]\nimpl = "dir"\npath = "${NOT_SET_ANYWHERE}"\n', "NOT_SET_ANYWHERE is not set"),
    ],
)
def test_an_invalid_configuration_file(tmp_path: Path, text: str, message: str) -> None:
    config = write_config(tmp_path / "ns.toml", text)
    options = ("--config", str(config), "--profile", "lake")
    assert message in run("ls", *options, status=Status.USAGE).stderr


def test_impl_and_profile_are_mutually_exclusive() -> None:
    run("ls", "--impl", "dir", "--profile", "lake", status=Status.USAGE)


def test_unknown_property_and_impl(lake: Lake) -> None:
    assert "property 'pth' is unknown" in lake.error("ls", "-p", "pth=x", status=Status.INVALID)
    assert "impl 'nix' is unknown" in run("ls", "--impl", "nix", status=Status.INVALID).stderr


@pytest.mark.parametrize("given", [SECRET, f"={SECRET}"])
def test_a_property_without_key_is_not_repeated(lake: Lake, given: str) -> None:
    message = lake.error("ls", "-p", given, status=Status.USAGE)
    assert SECRET not in message
    assert "number 1 must have the form KEY=VALUE" in message


def test_a_property_passed_twice(lake: Lake) -> None:
    assert "path is set twice" in lake.error("ls", "-p", "path=/x", status=Status.USAGE)


def test_identifiers_with_an_empty_name(lake: Lake) -> None:
    assert "has an empty level" in lake.error("describe", "a$$b", status=Status.INVALID)
