"""Properties of the Hive backends; no server is contacted."""

from __future__ import annotations

import os

import pytest

from lance_namespace_client.errors import InvalidInputError, UnsupportedError
from lance_namespace_impls import connect
from lance_namespace_impls.hive import Hive2Config, Hive3Config, HiveConfig
from lance_namespace_impls.hive.client import Metastore
from lance_namespace_impls.hive.kerberos import server_principal


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


@pytest.mark.parametrize("cls", [HiveConfig, Hive2Config, Hive3Config])
@pytest.mark.parametrize("prefix", ["hive.", "", "hadoop.hive."])
def test_hive_s_own_names_of_logins(cls: type[HiveConfig], prefix: str) -> None:
    config = cls.from_properties(
        {
            f"{prefix}metastore.sasl.enabled": "true",
            f"{prefix}metastore.kerberos.principal": "hive/_HOST@REALM",
            f"{prefix}metastore.use.SSL": "true",
        }
    )
    assert (config.kerberos, config.tls) == (True, True)
    assert config.kerberos_principal == "hive/_HOST@REALM"
    assert cls.from_properties(config.to_properties()) == config


@pytest.mark.parametrize("cls", [HiveConfig, Hive2Config, Hive3Config])
def test_pyiceberg_s_names_of_logins(cls: type[HiveConfig]) -> None:
    config = cls.from_properties(
        {"hive.kerberos-authentication": "true", "hive.kerberos-service-name": "metastore"}
    )
    assert (config.kerberos, config.kerberos_principal) == (True, "metastore/_HOST")


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"user": "ann"}, "set both 'user' and 'password'"),
        ({"password": "secret"}, "set both 'user' and 'password'"),
        ({"user": "ann", "password": "a\0b"}, "zero character"),
        ({"user": "ann", "password": "secret", "kerberos": "true"}, "not both"),
        ({"kerberos": "true", "ugi": "ann"}, "'ugi' has no effect"),
        ({"kerberos_keytab": "/k"}, "'kerberos_keytab' has no effect without kerberos=true"),
        ({"kerberos_cache": "/k"}, "'kerberos_cache' has no effect without kerberos=true"),
        (
            {"kerberos": "true", "kerberos_keytab": "/k", "kerberos_cache": "/c"},
            "set 'kerberos_keytab' or 'kerberos_cache'",
        ),
        ({"kerberos": "true", "kerberos_principal": "ann@REALM"}, "client_principal is yours"),
        ({"kerberos": "true", "kerberos_protection": "much"}, "auth, auth-int, auth-conf"),
        ({"ca_bundle": "ca.pem"}, "'ca_bundle' has no effect without tls=true"),
        ({"hive.metastore.truststore.path": "/t.jks"}, "export the certificates as PEM"),
        ({"hive.metastore.kerberos.keytab.file": "/k"}, "set 'kerberos_keytab' to yours"),
    ],
)
def test_contradictory_logins_are_rejected(properties: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        HiveConfig.from_properties(properties)


def test_the_password_is_never_shown() -> None:
    config = HiveConfig.from_properties({"user": "ann", "password": "s3cr3t-word"})
    assert "s3cr3t-word" not in f"{config} {config.shown()} {config.access()}"


@pytest.mark.parametrize(
    ("configured", "host", "principal"),
    [
        ("hive/_HOST@R", "Meta.Example", "hive/meta.example@R"),
        ("hive/_HOST", "meta", "hive/meta"),
        ("hive/fixed@R", "meta", "hive/fixed@R"),
    ],
)
def test_the_host_in_a_principal(configured: str, host: str, principal: str) -> None:
    assert server_principal(configured, host) == principal
