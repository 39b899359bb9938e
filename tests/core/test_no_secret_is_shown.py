"""Put a marked secret into every possible setting, and check that no output contains it."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from lance_namespace_client.errors import InternalError, InvalidInputError, LanceNamespaceError
from lance_namespace_client.operations import OPERATIONS, Body
from lance_namespace_impls import connect, implementations
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.core.config import Config
from lance_namespace_impls.memory import MemoryNamespace
from lance_namespace_impls.registry import load, secrets_among
from lance_namespace_impls.server import serving
from tests.servers.web import Answer, Asked, WebServer

MARK = "zQ7-marked-secret"
ROWS = pa.table({"x": [1]})
URL = f"http://me:{MARK}@host.example:1/path?sig={MARK}#{MARK}"


def hidden(*said: object) -> None:
    """Fail if the text or the representation of an object contains the mark."""
    for each in said:
        assert MARK not in str(each), f"a secret is shown: {str(each)[:300]}"
        assert MARK not in repr(each), f"a secret is shown: {each!r:.300}"


def told(error: BaseException) -> list[Any]:
    """Return everything that an error exposes."""
    found: list[Any] = [str(error), repr(error), error.args, vars(error)]
    if isinstance(error, LanceNamespaceError):
        found += [error.message, error.detail, error.instance, error.to_dict()]
    return found


# --- properties of every backend, from their classes


def places() -> Iterator[Any]:
    for impl in implementations():
        config: type[Config] = load(impl).config_type
        for row in config.describe():
            if row["key"].endswith("*"):
                for key in (row["key"], *row["also"]):
                    name = key.replace("*", "x_token_of_mine")
                    yield pytest.param(impl, name, MARK, id=f"{impl}-{name}")
            elif row["secret"]:
                for key in (row["key"], *row["also"], f"{impl}.{row['key']}"):
                    yield pytest.param(impl, key, MARK, id=f"{impl}-{key}")
            elif row["type"] in ("text", "list"):
                yield pytest.param(impl, row["key"], URL, id=f"{impl}-{row['key']}-url")


def needed(impl: str) -> dict[str, str]:
    """Return the required properties of a backend."""
    values = {"uri": "http://127.0.0.1:9", "path": "/nowhere", "region": "eu-west-1"}
    rows = load(impl).config_type.describe()
    return {row["key"]: values.get(row["key"], "x") for row in rows if row["required"]}


@pytest.mark.parametrize(("impl", "key", "value"), list(places()))
def test_a_property_is_hidden(impl: str, key: str, value: str) -> None:
    given = {**needed(impl), key: value}
    config: type[Config] = load(impl).config_type
    assert any(MARK in each for each in secrets_among(impl, given))
    try:
        found = config.from_properties(given)
    except InvalidInputError as error:
        hidden(*told(error))
        return
    hidden(found, found.shown(), found.describe())
    assert any(MARK in each for each in found.secrets())
    assert MARK in str(found.to_properties())
    with pytest.raises(InvalidInputError) as unknown:
        config.from_properties({**given, "no_such_property": MARK})
    hidden(*told(unknown.value))


@pytest.mark.parametrize("impl", implementations())
def test_a_value_of_the_wrong_type_is_hidden(impl: str) -> None:
    config: type[Config] = load(impl).config_type
    for row in config.describe():
        for value in (MARK if row["secret"] else URL, object()):
            try:
                config.from_properties({**needed(impl), row["key"].replace("*", "x"): value})
            except InvalidInputError as error:
                hidden(*told(error))


def test_a_pickled_error_hides_secrets() -> None:
    with connect("memory", {"storage.token": MARK}) as namespace:
        found = namespace.translate(OSError(f"no answer to {MARK}"), "DescribeTable t")  # type: ignore[attr-defined]
    hidden(*told(found), pickle.dumps(found))


# --- a client whose server echoes everything that it receives


@pytest.fixture
def parrot() -> Iterator[WebServer]:
    """Start a server that echoes the whole request in its error."""

    def answer(asked: Asked) -> Answer:
        said = f"{asked.path} {asked.query} {asked.headers} {asked.content!r}"
        body = {"error": said, "detail": said, "instance": said, "code": 13}
        return Answer(status=400, body=body)

    with WebServer(answer) as web:
        yield web


SENT: dict[str, tuple[Mapping[str, str], Mapping[str, Any]]] = {
    "a token": ({"auth_token": MARK}, {}),
    "a header": ({"headers.X-Custom": MARK}, {}),
    "an api key of the request": ({}, {"identity": {"api_key": MARK}}),
    "a token of the request": ({}, {"identity": {"auth_token": MARK}}),
    "a header of the request": ({}, {"context": {"header.Authorization": f"Basic {MARK}"}}),
    "an option of a header of the request": ({}, {"context": {"header.x-api-key": MARK}}),
}


@pytest.mark.parametrize("place", SENT)
@pytest.mark.parametrize("name", ["DescribeTable", "ListTables", "CreateTable", "DropTable"])
def test_an_echoed_request_hides_secrets(
    parrot: WebServer, place: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    properties, more = SENT[place]
    caplog.set_level(logging.DEBUG)
    row = OPERATIONS[name]
    with connect("rest", {"uri": parrot.uri, **properties}) as namespace:
        data = [ROWS] if row.body is Body.ARROW else []
        with pytest.raises(InvalidInputError) as refused:
            getattr(namespace, row.method_name)({"id": ["t"], **more}, *data)
        hidden(namespace, namespace.namespace_id())
    hidden(*told(refused.value), caplog.text)


@pytest.mark.parametrize("field", ["storage_options", "properties"])
def test_options_of_a_new_table_are_hidden(
    parrot: WebServer, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    key = "secret_access_key" if field == "storage_options" else "storage.secret_access_key"
    caplog.set_level(logging.DEBUG)
    with (
        connect("rest", {"uri": parrot.uri}) as namespace,
        pytest.raises(InvalidInputError) as refused,
    ):
        namespace.create_table({"id": ["t"], field: {key: MARK}}, ROWS)
    hidden(*told(refused.value), caplog.text)


def test_an_unreachable_proxy_hides_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"http://me:{MARK}@127.0.0.1:9"
    for given in ({"proxy": proxy}, {}):
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.setenv("http_proxy", proxy)
        uri = "http://lance.example"
        with (
            connect("rest", {"uri": uri, "max_retries": "0", **given}) as namespace,
            pytest.raises(LanceNamespaceError) as refused,
        ):
            namespace.list_tables({})
        hidden(*told(refused.value), "".join(traceback.format_exception(refused.value)))


# --- a server whose namespace and callers have secrets


class Chatty(MemoryNamespace):
    """A namespace that puts its own secrets and those of its caller into its errors."""

    def describe_namespace(self, request: Any) -> Any:
        raise InternalError(f"cannot ask with {self.properties} for {request}")

    def list_tables(self, request: Any) -> Any:
        raise RuntimeError(f"cannot ask with {self.properties} for {request}")

    def table_exists(self, request: Any) -> Any:
        raise InvalidInputError(f"no such thing: {self.properties}")


CALLS: dict[str, Callable[[str, dict[str, str]], httpx.Response]] = {
    "a failure": lambda uri, h: httpx.post(f"{uri}/v1/namespace/$/describe", headers=h, json={}),
    "a bug": lambda uri, h: httpx.get(f"{uri}/v1/namespace/$/table/list", headers=h),
    "a refusal": lambda uri, h: httpx.post(f"{uri}/v1/table/t/exists", headers=h, json={}),
    "a description": lambda uri, h: httpx.post(f"{uri}/v1/table/t/describe", headers=h, json={}),
    "a declaration": lambda uri, h: httpx.post(f"{uri}/v1/table/u/declare", headers=h, json={}),
    "operations": lambda uri, h: httpx.post(f"{uri}/ListOperations", headers=h, json={}),
    "a wrong route": lambda uri, h: httpx.get(f"{uri}/v1/nothing?token={MARK}", headers=h),
    "the document": lambda uri, h: httpx.get(f"{uri}/openapi.json", headers=h),
    "its health": lambda uri, h: httpx.get(f"{uri}/health", headers=h),
    "metrics": lambda uri, h: httpx.get(f"{uri}/metrics", headers=h),
    "a page": lambda uri, h: httpx.get(f"{uri}/", headers={**h, "accept": "text/html"}),
}
CREDENTIALS = {
    "a bearer token": {"Authorization": f"Bearer {MARK}"},
    "an api key": {"x-api-key": MARK},
    "a cookie": {"Cookie": f"session={MARK}"},
    "none": {},
}


@pytest.fixture(scope="module")
def chatty() -> Iterator[str]:
    properties = {"storage.secret_access_key": MARK, "storage.proxy_url": f"http://me:{MARK}@p"}
    with Chatty.from_properties(properties) as namespace, serving(namespace) as uri:
        MemoryNamespace.declare_table(namespace, {"id": ["t"]})
        yield uri


@pytest.mark.parametrize("credentials", CREDENTIALS)
@pytest.mark.parametrize("call", CALLS)
def test_responses_and_log_of_a_server_hide_secrets(
    call: str, credentials: str, chatty: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    # The log of this test's client is not output of the server.
    for name in ("httpcore", "httpx", "hpack"):
        caplog.set_level(logging.WARNING, name)
    answer = CALLS[call](chatty, CREDENTIALS[credentials])
    hidden(answer.text, answer.headers)
    lines = [line for line in caplog.text.splitlines() if f"token={MARK}" not in line]
    hidden("\n".join(lines))


# --- the command line


@pytest.mark.parametrize(
    "args",
    [
        ["ls"],
        ["ls", "-t", "--json"],
        ["describe", "t"],
        ["describe", "t", "--json"],
        ["describe", "missing", "--debug"],
        ["operations"],
        ["operations", "--json"],
        ["backends"],
        ["no-such-command"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("way", ["option", "environment", "profile"])
def test_the_command_line(
    args: list[str], way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connect("dir", {"path": str(tmp_path / "lake")}) as namespace:
        namespace.declare_table({"id": ["t"]})
    properties = {
        "path": str(tmp_path / "lake"),
        "storage.secret_access_key": MARK,
        "storage.token_of_tomorrow": MARK,
    }
    for key in ("IMPL", "PROPERTIES", "PROFILE", "CONFIG"):
        monkeypatch.delenv(f"LANCE_NS_{key}", raising=False)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", MARK)
    more: list[str] = []
    if way == "option":
        more = ["--impl", "dir"]
        for key, value in properties.items():
            more += ["-p", f"{key}={value}"]
    elif way == "environment":
        monkeypatch.setenv("LANCE_NS_IMPL", "dir")
        monkeypatch.setenv("LANCE_NS_PROPERTIES", json.dumps(properties))
    else:
        file = tmp_path / "profiles.toml"
        rows = "".join(f'"{key}" = {json.dumps(value)}\n' for key, value in properties.items())
        file.write_text(f'[mine]\nimpl = "dir"\n{rows}', "utf-8")
        monkeypatch.setenv("LANCE_NS_CONFIG", str(file))
        monkeypatch.setenv("LANCE_NS_PROFILE", "mine")
    if args[0] in ("backends", "no-such-command"):
        more = []
    result = CliRunner().invoke(app, [*args, *more])
    hidden(result.output, result.stderr)
    with_more = CliRunner().invoke(app, [*args, *more, "-p", f"no_such_key={MARK}"])
    hidden(with_more.output, with_more.stderr)
    assert with_more.exit_code != 0


# --- conformance reports


def test_a_conformance_report_hides_secrets() -> None:
    from lance_namespace_impls.conformance.redact import Redactor

    redactor = Redactor()
    redactor.learn([MARK])
    said = {
        "uri": f"http://h/?token={MARK}",
        "headers": {"Authorization": f"Bearer {MARK}", "Cookie": MARK, "X-Other": f"a {MARK} b"},
        "body": [{"storage_options": {"secret_access_key": MARK}}, MARK],
    }
    hidden(
        redactor.text(f"asked with {MARK}"),
        redactor.value(said),
        Redactor().header_map({"Authorization": MARK, "x-api-key": MARK, "set-cookie": MARK}),
        Redactor().value({"secret_access_key": MARK, "auth_token": MARK, "password": MARK}),
    )
