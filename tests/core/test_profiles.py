"""Profiles of the configuration file in Python."""

from __future__ import annotations

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect, connect_config

FILE = """
[prod]
impl = "dir"
path = "{folder}/${{PLACE}}"
storage.region = "eu-west-1"
"""


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    path = tmp_path / "config.toml"
    path.write_text(FILE.format(folder=tmp_path))
    monkeypatch.setenv("LANCE_NS_CONFIG", str(path))
    monkeypatch.setenv("PLACE", "lake")
    return path


def test_a_profile_connects(tmp_path):
    with connect(profile="prod") as namespace:
        assert namespace.properties["path"] == f"{tmp_path}/lake"
        assert namespace.properties["storage.region"] == "eu-west-1"


def test_properties_are_added_and_win(tmp_path):
    config = {"profile": "prod", "path": f"{tmp_path}/other", "cache_mib": "8"}
    with connect_config(config) as namespace:
        assert namespace.properties["path"] == f"{tmp_path}/other"
        assert namespace.properties["cache_mib"] == "8"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"profile": "test"}, r"config.toml has no profile 'test'; it has prod"),
        ({"profile": "prod", "impl": "dir"}, "'impl' and 'profile' each name a namespace"),
        ({"profile": "prod", "wrong": "1"}, "'wrong' is not known"),
        ({"path": "x"}, "has no 'impl'.*or name a 'profile'"),
    ],
)
def test_what_cannot_be_meant(config, message):
    with pytest.raises(InvalidInputError, match=message):
        connect_config(config)


def test_a_profile_and_an_implementation_are_not_both_given():
    with pytest.raises(InvalidInputError, match="'impl' and 'profile' each name a namespace"):
        connect("dir", {"path": "/x"}, profile="prod")
    with pytest.raises(InvalidInputError, match="has no 'impl'"):
        connect()


def test_properties_given_with_a_profile_win(tmp_path):
    with connect(properties={"path": f"{tmp_path}/other"}, profile="prod") as namespace:
        assert namespace.properties["path"] == f"{tmp_path}/other"
        assert namespace.properties["storage.region"] == "eu-west-1"


def test_a_variable_that_is_not_set(monkeypatch):
    monkeypatch.delenv("PLACE")
    with pytest.raises(InvalidInputError, match="the environment variable PLACE is not set"):
        connect(profile="prod")


def test_a_file_that_is_not_there(file):
    file.unlink()
    with pytest.raises(InvalidInputError, match="cannot be read"):
        connect(profile="prod")
