"""Profiles of the configuration file, used from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect, connect_config
from lance_namespace_impls.core.profiles import ProfileError, config_path, read_profile

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


def test_properties_next_to_a_profile_take_precedence(tmp_path):
    config = {"profile": "prod", "path": f"{tmp_path}/other", "cache_mib": "8"}
    with connect_config(config) as namespace:
        assert namespace.properties["path"] == f"{tmp_path}/other"
        assert namespace.properties["cache_mib"] == "8"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"profile": "test"}, r"config.toml has no profile 'test'; it has prod"),
        ({"profile": "prod", "impl": "dir"}, "'impl' and 'profile' each name a namespace"),
        ({"profile": "prod", "wrong": "1"}, "'wrong' is unknown"),
        ({"path": "x"}, "has no 'impl'.*or set 'profile'"),
    ],
)
def test_what_cannot_be_meant(config, message):
    with pytest.raises(InvalidInputError, match=message):
        connect_config(config)


def test_properties_passed_with_a_profile_take_precedence(tmp_path):
    with connect(properties={"path": f"{tmp_path}/other"}, profile="prod") as namespace:
        assert namespace.properties["path"] == f"{tmp_path}/other"
        assert namespace.properties["storage.region"] == "eu-west-1"


def test_a_missing_file_is_rejected(file):
    file.unlink()
    with pytest.raises(InvalidInputError, match="cannot be read"):
        connect(profile="prod")


# --- the file


@pytest.mark.parametrize(
    ("named", "environment", "expected"),
    [
        ("/a/b.toml", {"LANCE_NS_CONFIG": "/c.toml"}, "/a/b.toml"),
        (None, {"LANCE_NS_CONFIG": "/c.toml", "XDG_CONFIG_HOME": "/x"}, "/c.toml"),
        (None, {"XDG_CONFIG_HOME": "/x"}, "/x/lance-ns/config.toml"),
        (None, {"XDG_CONFIG_HOME": ""}, "/home/ana/.config/lance-ns/config.toml"),
        (None, {}, "/home/ana/.config/lance-ns/config.toml"),
    ],
)
def test_where_the_file_is(monkeypatch, named, environment, expected):
    monkeypatch.setenv("HOME", "/home/ana")
    for name in ("LANCE_NS_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert config_path(named) == Path(expected)


def test_a_profile_is_flattened_and_its_variables_are_substituted(file):
    file.write_text(
        '[default]\nimpl = "dir"\ncache_mib = 8\nstrict = true\nlist = ["${PLACE}"]\n'
        '"a.b" = "${PLACE}/${PLACE}"\n[default.storage]\nregion = "x"\ndeep.er = "$PLACE"\n'
    )
    flat = {
        "impl": "dir", "cache_mib": 8, "strict": True, "list": ["${PLACE}"], "a.b": "lake/lake",
        "storage.region": "x", "storage.deep.er": "$PLACE",
    }  # fmt: skip
    assert read_profile(file, None) == read_profile(file, "default") == flat


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "prod", r"has no profile 'prod'; it has none"),
        ("[b]\n[a]\n", "prod", r"it has a, b$"),
        ("prod = 1\n", "prod", r"profile 'prod' must be a table that starts with \[prod\]"),
        ("default = 1\n", None, r"profile 'default' must be a table that starts with \[default\]"),
        ('[prod]\npath = "x"\n', "prod", r"profile 'prod' has no impl"),
        ('[prod]\nimpl = ""\n', "prod", r"profile 'prod' has no impl"),
        ('[prod]\nimpl = "dir"\nuri = "${NOT_SET}"\n', "prod",
         r"profile 'prod', uri: the environment variable NOT_SET is not set"),
        ("[prod\n", "prod", r"is not TOML"),
        ("\udcff", "prod", r"is not TOML"),
    ],
)  # fmt: skip
def test_an_invalid_file_is_rejected(file, monkeypatch, text, name, message):
    monkeypatch.delenv("NOT_SET", raising=False)
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ProfileError, match=message) as refused:
        read_profile(file, name)
    assert refused.value.code == 13
    assert str(file) in refused.value.message


def test_a_missing_default_profile_is_none(file):
    assert read_profile(file, None) is None
