"""Headers that are computed for each request: AWS signatures, and custom providers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest
from attrs import evolve
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lance_namespace_client.errors import (
    InvalidInputError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.core.request_auth import request_auth
from lance_namespace_impls.iceberg.namespace import IcebergConfig
from lance_namespace_impls.rest.asynchronous import AsyncRestNamespace
from tests.servers.web import Answer, Asked, WebServer

LISTING = {"namespaces": ["a"], "tables": ["t"]}
SECRETS = {f"AKIA{number}": f"secret {number}" for number in range(1, 9)}


class Tokens:
    """A provider that counts its calls, and sends them as tokens."""

    def __init__(self, prefix: str = "t") -> None:
        self.prefix = prefix
        self.calls: list[dict[str, str]] = []

    def provide_context(self, info: dict[str, str]) -> dict[str, str]:
        self.calls.append(info)
        if self.prefix == "failing":
            raise OSError("the token file is missing")
        if self.prefix == "two-lines":
            return {"headers.Authorization": "two\nlines"}
        text = f"Bearer {self.prefix}{len(self.calls)} {info['operation']} {info['object_id']}"
        return {"headers.Authorization": text.strip(), "other": "ignored"}


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer(lambda asked: Answer(body=LISTING)) as running:
        yield running


def provider(**arguments: str) -> dict[str, str]:
    properties = {"impl": f"{__name__}.Tokens", **arguments}
    return {f"dynamic_context_provider.{key}": value for key, value in properties.items()}


def authorizations(server: WebServer) -> list[str | None]:
    return [each.headers.get("authorization") for each in server.asked]


def test_a_provider_is_called_for_each_request(server: WebServer) -> None:
    with connect("rest", {"uri": server.uri, **provider()}) as namespace:
        namespace.list_tables({"id": ["a b", "c"]})
        namespace.list_namespaces({"id": []})
    assert authorizations(server) == ["Bearer t1 list_tables a b$c", "Bearer t2 list_namespaces $"]


def test_a_provider_is_called_for_asynchronous_requests(server: WebServer) -> None:
    async def call() -> None:
        properties = {"uri": server.uri, **provider(prefix="x")}
        async with AsyncRestNamespace.from_properties(properties) as namespace:
            await namespace.list_tables({"id": ["n"]})

    asyncio.run(call())
    assert authorizations(server) == ["Bearer x1 list_tables n"]


@pytest.mark.parametrize("impl", ["iceberg", "unity"])
def test_other_backends_call_a_provider(impl: str) -> None:
    with WebServer(lambda asked: Answer(status=403, body={})) as server:
        properties: dict[str, Any] = {"endpoint": server.uri, **provider()}
        with connect(impl, properties) as namespace, pytest.raises(PermissionDeniedError):
            namespace.list_tables({"id": ["c", "n"]})
    assert authorizations(server)[0] == "Bearer t1"


@pytest.mark.parametrize(
    ("prefix", "message"),
    [
        ("failing", "Tokens failed to provide headers: the token file is missing"),
        ("two-lines", "Tokens provided an invalid header"),
    ],
)
def test_a_provider_without_headers_is_code_16(
    server: WebServer, prefix: str, message: str
) -> None:
    properties = {"uri": server.uri, **provider(prefix=prefix)}
    with (
        connect("rest", properties) as namespace,
        pytest.raises(UnauthenticatedError, match=message),
    ):
        namespace.list_tables({"id": ["n"]})
    assert server.asked == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"impl": "nowhere.Provider"}, "nowhere.Provider cannot be created"),
        ({"impl": f"{__name__}.Missing"}, "cannot be created"),
        ({"unknown": "x"}, "unexpected keyword argument"),
        ({"impl": "Tokens"}, "must be a class, such as my_module.MyProvider"),
        ({"impl": "pathlib.Path"}, "has no method provide_context"),
    ],
)
def test_an_unusable_provider_is_rejected_when_connecting(
    arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        connect("rest", {"uri": "http://localhost:1", **provider(**arguments)})


# --- signatures


def is_signed(asked: Asked, uri: str, service: str, region: str) -> bool:
    """Return whether a request has the signature that AWS computes for it."""
    scheme, _, given = (asked.headers.get("authorization") or "").partition(" ")
    parts = dict(part.strip().split("=", 1) for part in given.split(","))
    key, _, scope = parts["Credential"].partition("/")
    assert scheme == "AWS4-HMAC-SHA256"
    assert scope.split("/")[1:] == [region, service, "aws4_request"]
    query = urlencode(asked.query, quote_via=quote)
    url = f"{uri}{asked.path}" + (f"?{query}" if query else "")
    signed = AWSRequest(method=asked.method, url=url, data=asked.content)
    for name in parts["SignedHeaders"].split(";"):
        if name != "host":
            signed.headers[name] = asked.headers[name]
    signed.context["timestamp"] = asked.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(key, SECRETS[key]), service, region)
    text = signer.string_to_sign(signed, signer.canonical_request(signed))
    return signer.signature(text, signed) == parts["Signature"]


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Return a function that configures credentials which are new for each request."""
    count = tmp_path / "count"
    count.write_text("0")
    script = tmp_path / "keys.py"
    script.write_text(
        "import datetime, json, pathlib\n"
        f"count = pathlib.Path({str(count)!r})\n"
        "n = int(count.read_text()) + 1\n"
        "count.write_text(str(n))\n"
        "end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=30)\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': f'AKIA{n}', 'SecretAccessKey': "
        "f'secret {n}', 'SessionToken': f'session {n}', 'Expiration': end.isoformat()}))\n"
    )
    (tmp_path / "config").write_text(
        f"[default]\nregion = eu-north-1\ncredential_process = {sys.executable} {script}\n"
    )
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    return lambda: monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


def test_requests_are_signed_with_renewed_credentials(
    server: WebServer, keys: Callable[..., None]
) -> None:
    keys()
    properties = {"uri": server.uri, "sigv4": "true", "rest.signing-name": "s3tables"}
    with connect("rest", properties) as namespace:
        namespace.list_tables({"id": ["a b", "ü%2F"], "limit": 5})
        namespace.table_exists({"id": ["a", "t"]})
    tokens = [each.headers["x-amz-security-token"] for each in server.asked]
    assert len(set(tokens)) == 2
    assert all(is_signed(each, server.uri, "s3tables", "eu-north-1") for each in server.asked)
    changed = evolve(server.asked[0], path=server.asked[0].path + "x")
    assert not is_signed(changed, server.uri, "s3tables", "eu-north-1")


def test_the_iceberg_backend_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRETS["AKIA1"])
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    with WebServer(lambda asked: Answer(status=403, body={})) as server:
        properties: dict[str, Any] = {
            "endpoint": server.uri,
            "rest.sigv4-enabled": "true",
            "rest.signing-name": "glue",
            "rest.signing-region": "us-west-2",
        }
        with connect("iceberg", properties) as namespace, pytest.raises(PermissionDeniedError):
            namespace.list_tables({"id": ["c", "n"]})
        assert server.asked
        assert all(is_signed(each, server.uri, "glue", "us-west-2") for each in server.asked)


def test_missing_credentials_are_code_16(server: WebServer, keys: Callable[..., None]) -> None:
    properties = {"uri": server.uri, "sigv4": "true", "sigv4_region": "eu-west-1"}
    with (
        connect("rest", properties) as namespace,
        pytest.raises(UnauthenticatedError, match="no AWS credentials found"),
    ):
        namespace.list_tables({"id": ["n"]})
    assert server.asked == []


def test_an_unknown_region_is_rejected_when_connecting(keys: Callable[..., None]) -> None:
    with pytest.raises(InvalidInputError, match="set 'sigv4_region' or AWS_REGION"):
        connect("rest", {"uri": "https://example.com", "sigv4": "true"})


@pytest.mark.parametrize(
    ("uri", "service"),
    [
        ("https://glue.us-east-1.amazonaws.com/iceberg", "glue"),
        ("https://s3tables.us-east-1.amazonaws.com/iceberg", "s3tables"),
    ],
)
def test_an_aws_endpoint_names_the_service(
    keys: Callable[..., None], uri: str, service: str
) -> None:
    keys()
    auth = request_auth(IcebergConfig(endpoint=uri, root="s3://bucket", sigv4=True), uri)
    assert auth is not None
    request = next(auth.auth_flow(httpx.Request("GET", f"{uri}/v1/config")))
    assert f"/eu-north-1/{service}/aws4_request" in request.headers["Authorization"]


def test_two_ways_to_authenticate_are_rejected() -> None:
    for more in ({"auth_token": "t"}, {"credential": "a:b"}):
        with pytest.raises(InvalidInputError, match=r"not both|not several"):
            connect("iceberg", {"endpoint": "http://localhost:1", "sigv4": "true", **more})
