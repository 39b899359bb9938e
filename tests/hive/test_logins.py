"""Logins on real servers: Kerberos with a real KDC, passwords, and TLS."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_client.errors import (
    LanceNamespaceError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lance_namespace_impls import connect
from tests.servers.certificates import Authority
from tests.servers.hive import KERBERIZED, RELEASES, Metastore, kerberized, shared
from tests.servers.kerberos import PROGRAMS, Realm

RELEASE = f"3.1{KERBERIZED}"
DEFAULT = {"id": ["default"]}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group(f"hive {RELEASE}"),
    *[pytest.mark.needs(program) for program in PROGRAMS],
]


@pytest.fixture
def server() -> Metastore:
    return shared(RELEASE)


@pytest.fixture
def realm(server: Metastore) -> Realm:
    assert server.realm is not None
    return server.realm


def failure(properties: dict[str, str], **more: str) -> LanceNamespaceError:
    """Return the error of the first call with these properties."""
    with (
        connect("hive2", {**properties, **more}) as namespace,
        pytest.raises(LanceNamespaceError) as raised,
    ):
        namespace.namespace_exists(DEFAULT)
    assert "\n" not in str(raised.value)
    return raised.value


def with_cache(properties: dict[str, str], cache: Path) -> dict[str, str]:
    del properties["kerberos_keytab"]
    return {**properties, "kerberos_cache": f"FILE:{cache}"}


# --- Kerberos


@pytest.mark.parametrize("impl", ["hive2", "hive3", "hive"])
def test_kerberos_with_a_ticket_cache(
    impl: str, server: Metastore, realm: Realm, tmp_path: Path
) -> None:
    keytab = realm.add(f"cached-{impl}")
    properties = with_cache(server.properties(tmp_path), tmp_path / "cache")
    realm.kinit(keytab, f"cached-{impl}", tmp_path / "cache")
    with connect(impl, properties) as namespace:
        assert namespace.list_namespaces({}).namespaces


def test_a_keytab_renews_an_expired_ticket(server: Metastore, realm: Realm, tmp_path: Path) -> None:
    keytab = realm.add("brief", "-maxlife", "3seconds")
    properties = {**server.properties(tmp_path), "kerberos_keytab": str(keytab)}
    with connect("hive2", properties) as namespace:
        issued = tickets(realm, "brief")
        for _ in range(3):
            namespace.namespace_exists(DEFAULT)
            time.sleep(4)
        assert tickets(realm, "brief") - issued >= 3


def tickets(realm: Realm, client: str) -> int:
    """Return the number of tickets for the metastore that the KDC has issued to a client."""
    log = (realm.folder / "kdc.log").read_text()
    return sum(
        "TGS_REQ" in line and "ISSUE" in line and f"{client}@{realm.name} for hive/" in line
        for line in log.splitlines()
    )


def test_a_renewed_cache_is_used_and_an_expired_one_is_code_16(
    server: Metastore, realm: Realm, tmp_path: Path
) -> None:
    keytab, cache = realm.add("short", "-maxlife", "4seconds"), tmp_path / "cache"
    properties = with_cache(server.properties(tmp_path), cache)
    realm.kinit(keytab, "short", cache)
    with connect("hive2", properties) as namespace:
        namespace.namespace_exists(DEFAULT)
        time.sleep(5)
        with pytest.raises(
            UnauthenticatedError, match=r"Ticket expired; run 'kinit -c FILE:"
        ) as no:
            namespace.namespace_exists(DEFAULT)
        assert no.value.code == 16
        realm.kinit(keytab, "short", cache)
        namespace.namespace_exists(DEFAULT)


def test_a_wrong_principal_of_the_metastore(server: Metastore, tmp_path: Path) -> None:
    error = failure(server.properties(tmp_path), kerberos_principal="hive/elsewhere@KIT.TEST")
    assert error.code == 16
    assert "the KDC does not know hive/elsewhere@KIT.TEST; set 'kerberos_principal'" in str(error)


def test_a_principal_of_another_service(server: Metastore, realm: Realm, tmp_path: Path) -> None:
    """The KDC knows it, but the metastore does not have its key."""
    realm.add("http/localhost")
    error = failure(server.properties(tmp_path), kerberos_principal="http/_HOST@KIT.TEST")
    assert error.code == 16
    assert "rejects the Kerberos login" in str(error)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"kerberos_keytab": "/none.keytab"}, "the keytab /none.keytab does not exist"),
        ({"kerberos_client_principal": "bob@KIT.TEST"}, "no usable key of bob@KIT.TEST"),
        ({"kerberos_principal": "hive/x@NOWHERE.TEST"}, "krbtgt/NOWHERE.TEST@KIT.TEST not found"),
        ({"kerberos_protection": "auth-conf"}, "offers the protection auth, not auth-conf"),
    ],
    ids=["keytab", "client", "realm", "protection"],
)
def test_wrong_settings_are_code_16(
    properties: dict[str, str], message: str, server: Metastore, tmp_path: Path
) -> None:
    error = failure(server.properties(tmp_path), **properties)
    assert error.code == 16
    assert message in str(error)


def test_a_missing_ticket(server: Metastore, tmp_path: Path) -> None:
    error = failure(with_cache(server.properties(tmp_path), tmp_path / "none"))
    assert error.code == 16
    assert "run 'kinit -c" in str(error)


def test_a_changed_key_and_a_deleted_client(
    server: Metastore, realm: Realm, tmp_path: Path
) -> None:
    properties = {**server.properties(tmp_path), "kerberos_keytab": str(realm.add("carol"))}
    realm.admin("change_password -randkey carol")
    error = failure(properties)
    assert (error.code, "export a new keytab" in str(error)) == (16, True)
    realm.admin("delete_principal -force carol")
    error = failure(properties)
    assert (error.code, "the KDC does not know" in str(error)) == (16, True)


def test_an_unreachable_kdc_is_code_17_and_a_skewed_one_code_16(
    server: Metastore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Realm(folder=tmp_path) as other:
        properties = {**server.properties(tmp_path), "kerberos_keytab": str(other.add("ann2"))}
        monkeypatch.setenv("KRB5_CONFIG", other.client_environment()["KRB5_CONFIG"])
        other.stop()
        error = failure(properties)
        assert isinstance(error, ServiceUnavailableError)
        assert "Cannot contact any KDC" in str(error)
        other.clock_offset = 7200
        other.start()
        error = failure(properties)
        assert error.code == 16
        assert "synchronize the clock" in str(error)


def test_a_login_is_required(server: Metastore, tmp_path: Path) -> None:
    error = failure({"uri": server.uri, "root": str(tmp_path), "read_timeout": "5"})
    assert error.code == 17
    assert "requires no login" in str(error)


FORKED = """
import os, signal, sys, json
from lance_namespace_impls import connect

with connect("hive2", json.loads(sys.argv[1])) as namespace:
    namespace.namespace_exists({"id": ["default"]})
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        namespace.namespace_exists({"id": ["default"]})
        os._exit(0)
    namespace.namespace_exists({"id": ["default"]})
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_logs_in_again(server: Metastore, tmp_path: Path) -> None:
    import json

    properties = json.dumps(server.properties(tmp_path))
    subprocess.run([sys.executable, "-c", FORKED, properties], check=True, timeout=240)


def test_a_peer_without_sasl_is_recognized(server: Metastore, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"thrift://localhost:{silent.getsockname()[1]}"
        error = failure(server.properties(tmp_path), uri=uri, read_timeout="1")
    assert error.code == 17
    assert "check that the metastore uses SASL" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protection", "level"), [("integrity", "auth-int"), ("privacy", "auth-conf")]
)
def test_protected_messages(
    protection: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Properties of 3 MB need several frames, because the metastore accepts 64 KiB in each."""
    settings: Any = {"hadoop.rpc.protection": protection}
    (tmp_path / "realm").mkdir()
    with Realm(folder=tmp_path / "realm") as realm:
        monkeypatch.setenv("KRB5_CONFIG", realm.client_environment()["KRB5_CONFIG"])
        with kerberized(RELEASES["2.3"], tmp_path, realm, **settings) as metastore:
            properties = metastore.properties(tmp_path / "lake")
            for number, required in enumerate(({}, {"kerberos_protection": level})):
                with connect("hive2", {**properties, **required}) as namespace:
                    database = {"id": [f"d{number}"]}
                    values = {f"k{n}": "x" * 3000 for n in range(1000)}
                    namespace.create_namespace({**database, "properties": values})
                    found = namespace.describe_namespace(database).properties or {}
                    assert values.items() <= found.items()
            error = failure(properties, kerberos_protection="auth")
            assert (error.code, "change 'kerberos_protection'" in str(error)) == (16, True)


# --- passwords


@pytest.fixture(scope="module")
def with_password(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    """A server that compares passwords with its own setting; with LDAP, the protocol is the same."""
    settings = {
        "hive.metastore.authentication": "CONFIG",
        "hive.metastore.execute.setugi": "false",
        "hive.metastore.authentication.config.username": "ann",
        "hive.metastore.authentication.config.password": "s3cr3t-word",
    }
    folder = tmp_path_factory.mktemp("password")
    client = {"user": "ann", "password": "s3cr3t-word"}
    with Metastore(RELEASES["4.2"], folder, settings=settings, client=client) as metastore:
        yield metastore


@pytest.mark.parametrize("impl", ["hive2", "hive3", "hive"])
def test_a_password(impl: str, with_password: Metastore, tmp_path: Path) -> None:
    with connect(impl, with_password.properties(tmp_path)) as namespace:
        assert namespace.list_namespaces({}).namespaces
        assert "s3cr3t-word" not in repr(namespace) + repr(namespace.config)


def test_a_wrong_password_is_code_16(with_password: Metastore, tmp_path: Path) -> None:
    error = failure(with_password.properties(tmp_path), password="w0rse-word")
    assert error.code == 16
    assert "check the properties 'user' and 'password'" in str(error)
    assert "w0rse-word" not in str(error)


# --- TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def with_tls(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    folder = tmp_path_factory.mktemp("tls")
    issued = authority.issue("metastore", "metastore")
    store = folder / "store.p12"
    subprocess.run(
        ["openssl", "pkcs12", "-export", "-in", issued.cert, "-inkey", issued.key, "-out", store,
         "-passout", "pass:changeit"],
        check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    settings = {
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(store),
        "hive.metastore.keystore.password": "changeit",
        "hive.metastore.keystore.type": "PKCS12",
    }
    client = {"tls": "true", "ca_bundle": str(authority.file)}
    with Metastore(RELEASES["4.2"], folder, settings=settings, client=client) as metastore:
        yield metastore


@pytest.mark.parametrize("impl", ["hive2", "hive3", "hive"])
def test_tls(impl: str, with_tls: Metastore, tmp_path: Path) -> None:
    with connect(impl, with_tls.properties(tmp_path)) as namespace:
        assert namespace.list_namespaces({}).namespaces


def test_a_wrong_authority_or_host_is_code_17(with_tls: Metastore, tmp_path: Path) -> None:
    properties = with_tls.properties(tmp_path)
    other = Authority(tmp_path, "other authority")
    error = failure(properties, ca_bundle=str(other.file))
    assert (error.code, "set 'ca_bundle'" in str(error)) == (17, True)
    uri = with_tls.uri.replace("127.0.0.1", "127.0.0.3")
    if os.uname().sysname == "Linux":
        with socket.socket() as probe:
            reachable = probe.connect_ex(("127.0.0.3", with_tls.port)) == 0
        error = failure(properties, uri=uri)
        assert error.code == 17
        assert ("host name in the certificate" in str(error)) is reachable
