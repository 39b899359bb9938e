"""Properties of the Hive backends; no server is contacted."""

from __future__ import annotations

import os

import pytest

from lance_namespace_client.errors import InvalidInputError, UnsupportedError
from lance_namespace_impls import connect
from lance_namespace_impls.hive import Hive2Config, Hive3Config, HiveConfig
from lance_namespace_impls.hive.client import Metastore


@pytest.mark.requirement("hive3.config.pool-size.default", "hive3.config.root.default")
def test_no_property_is_required() -> None:
    config = Hive3Config.from_properties({})
    assert config.uri == ("thrift://localhost:9083",)
    assert config.pool_size == 3
    assert config.root == os.getcwd()
    assert config.storage == {}
    assert (config.connect_timeout, config.read_timeout) == (10.0, 60.0)
    assert config.user() is None


def test_the_properties_of_the_specification() -> None:
    config = Hive3Config.from_properties(
        {"client.pool-size": "7", "root": "s3://lake/", "storage.region": "us-west-2"}
    )
    assert (config.pool_size, config.root) == (7, "s3://lake")
    assert config.storage == {"region": "us-west-2"}


@pytest.mark.requirement("hive2.config-prefix")
@pytest.mark.parametrize("cls", [HiveConfig, Hive2Config, Hive3Config])
def test_keys_work_with_the_impl_as_prefix(cls: type[HiveConfig]) -> None:
    prefixed = {f"{cls.impl}.uri": "thrift://a:1", f"{cls.impl}.client.pool-size": 5}
    config = cls.from_properties(prefixed)
    assert (config.uri, config.pool_size) == (("thrift://a:1",), 5)


@pytest.mark.parametrize(
    ("text", "uris"),
    [
        ("thrift://a:1", ("thrift://a:1",)),
        ("a", ("thrift://a:9083",)),
        ("thrift://a", ("thrift://a:9083",)),
        ("thrift://a:1/", ("thrift://a:1",)),
        ("a:1, thrift://b:2,", ("thrift://a:1", "thrift://b:2")),
        ("thrift://[::1]:9", ("thrift://[::1]:9",)),
    ],
)
def test_uris(text: str, uris: tuple[str, ...]) -> None:
    config = HiveConfig.from_properties({"uri": text})
    assert config.uri == uris
    assert HiveConfig.from_properties(config.to_properties()) == config


@pytest.mark.parametrize(
    "uri",
    [
        "",
        ",",
        "http://a:1",
        "thrift://",
        "thrift://a:b",
        "thrift://a:99999",
        "thrift://u@a",
        "a/b",
        "thrift://a?b",
        "thrift://a#b",
    ],
)
def test_invalid_uris_are_rejected(uri: str) -> None:
    with pytest.raises(InvalidInputError, match="uri"):
        HiveConfig.from_properties({"uri": uri})


@pytest.mark.parametrize("key", ["client.pool-size", "connect_timeout", "read_timeout"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "inf"])
def test_numbers_must_be_positive(key: str, value: str) -> None:
    with pytest.raises(InvalidInputError, match=key):
        HiveConfig.from_properties({key: value})


@pytest.mark.parametrize(
    ("text", "user"),
    [
        ("ann", ("ann", [])),
        ("ann:", ("ann", [])),
        ("ann:staff, dev", ("ann", ["staff", "dev"])),
    ],
)
def test_ugi(text: str, user: tuple[str, list[str]]) -> None:
    assert HiveConfig.from_properties({"ugi": text}).user() == user


@pytest.mark.parametrize("text", ["", ":staff"])
def test_a_ugi_without_a_user_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match="user:group1,group2"):
        HiveConfig.from_properties({"ugi": text})


def test_an_unknown_key_suggests_a_similar_one() -> None:
    with pytest.raises(InvalidInputError, match=r"did you mean 'client\.pool-size'"):
        connect("hive2", {"client.pool_size": "3"})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("300", 300), ("300s", 300), ("300 sec", 300), ("5m", 300), (" 5 MIN ", 300), ("1h", 3600),
        ("2hour", 7200), ("1d", 86400), ("1day", 86400), ("1500ms", 1.5), ("1500us", 0.0015),
        ("1500ns", 0.0000015),
    ],
)  # fmt: skip
def test_durations_of_the_metastore(
    text: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Metastore, "_read", lambda *_: text)
    assert Metastore.__new__(Metastore).lock_seconds() == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "5 weeks", "-1s"])
def test_invalid_durations(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Metastore, "_read", lambda *_: text)
    with pytest.raises(UnsupportedError, match="is not a duration"):
        Metastore.__new__(Metastore).lock_seconds()
