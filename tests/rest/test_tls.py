"""TLS certificates of client and server: connections with and without mutual trust."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError
from lance_namespace_impls import connect
from lance_namespace_impls.core import http
from lance_namespace_impls.server import ServerOptions, Tls, serving
from tests.servers.certificates import Authority
from tests.servers.echo import EchoNamespace

from .conftest import OpenClient

T = {"id": ["t"]}


class Place(NamedTuple):
    """Two servers with certificates of one authority; the second requires a client certificate."""

    open: str
    guarded: str
    files: dict[str, str]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("certificates")
    authority, other = Authority(folder), Authority(folder, "another authority")
    server, ana = authority.issue("server", "localhost"), authority.issue("ana", "ana")
    both = folder / "both.pem"
    both.write_bytes(ana.cert.read_bytes() + ana.key.read_bytes())
    paths = {
        "authority": authority.file, "other": other.file, "cert": ana.cert, "key": ana.key,
        "both": both, "folder": folder,
    }  # fmt: skip
    tls = Tls(cert=server.cert, key=server.key)
    guarded = Tls(cert=server.cert, key=server.key, client_ca=authority.file)
    with (
        serving(EchoNamespace(), ServerOptions(tls=tls)) as first,
        serving(EchoNamespace(), ServerOptions(tls=guarded)) as second,
    ):
        yield Place(first, second, {name: str(path) for name, path in paths.items()})


@pytest.mark.parametrize(
    ("server", "properties"),
    [
        ("open", {"ca_bundle": "authority"}),
        ("open", {"tls.ssl_ca_cert": "authority", "tls.verify": "true"}),
        ("open", {"tls_verify": "false"}),
        ("open", {"tls_verify": "false", "ca_bundle": "other"}),
        ("guarded", {"ca_bundle": "authority", "client_cert": "cert", "client_key": "key"}),
        ("guarded", {"ca_bundle": "authority", "tls.cert_file": "cert", "tls.key_file": "key"}),
        ("guarded", {"ca_bundle": "authority", "client_cert": "both"}),
        ("guarded", {"tls_verify": "false", "client_cert": "both"}),
    ],
    ids=str,
)
def test_a_trusted_peer_is_accepted(
    place: Place, open_client: OpenClient, server: str, properties: dict[str, str]
) -> None:
    given = {key: place.files.get(value, value) for key, value in properties.items()}
    open_client(getattr(place, server), max_retries="0", **given).table_exists(T)


@pytest.mark.parametrize(
    ("server", "properties", "reason"),
    [
        ("open", {}, "certificate verify failed"),
        ("open", {"ca_bundle": "other"}, "certificate verify failed"),
        ("open", {"ca_bundle": "folder"}, "certificate verify failed"),
        ("guarded", {"ca_bundle": "authority"}, "no response"),
    ],
    ids=str,
)
def test_an_untrusted_peer_is_rejected(
    place: Place, open_client: OpenClient, server: str, properties: dict[str, str], reason: str
) -> None:
    given = {key: place.files[value] for key, value in properties.items()}
    with pytest.raises(ServiceUnavailableError, match=reason) as refused:
        open_client(getattr(place, server), max_retries="0", **given).table_exists(T)
    assert refused.value.code == 17


@pytest.mark.parametrize("wrong", ["client_cert", "client_key", "ca_bundle"])
def test_a_file_without_a_certificate_is_rejected_immediately(place: Place, wrong: str) -> None:
    files = {"client_cert": "cert", "client_key": "key", "ca_bundle": "authority"}
    given = {key: place.files[file] for key, file in files.items()} | {wrong: __file__}
    with pytest.raises(InvalidInputError, match=r"the certificates .* cannot be loaded"):
        connect("rest", {"uri": place.open, **given})


def test_a_folder_of_authorities_is_loaded_as_a_folder(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def create(**given: Any) -> ssl.SSLContext:
        asked.append(given)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(http.ssl, "create_default_context", create)
    for bundle in ("authority", "folder"):
        connect("rest", {"uri": place.open, "ca_bundle": place.files[bundle]}).close()
    assert asked == [{"cafile": place.files["authority"]}, {"capath": place.files["folder"]}]
