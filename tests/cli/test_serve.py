"""Options that lance-ns serve passes to a server, which is not started, and lance-ns token."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from lance_namespace_impls import server
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.server import (
    Access,
    AssumeRole,
    Caller,
    Credentials,
    Limits,
    OidcIssuer,
    PolicyFile,
    Reach,
    ServerOptions,
    Tls,
    TokenFile,
)

from .lakes import Lake, run

ROLE = "arn:aws:iam::123456789012:role/tables"
ISSUER = ("--oidc-issuer", "https://issuer.example")


class Server:
    """A stand-in for the server that records its arguments and announces an address."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.logs = 0

    def serve(self, namespace: Any, host: str, port: int, **given: Any) -> None:
        self.given = {"impl": namespace.config.impl, "host": host, "port": port, **given}
        namespace.close()
        given["announce"]("http://127.0.0.1:7")

    def log(self) -> None:
        self.logs += 1

    @property
    def options(self) -> ServerOptions:
        options = self.given["options"]
        assert isinstance(options, ServerOptions)
        return options


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server()
    monkeypatch.setattr(server, "serve", found.serve)
    monkeypatch.setattr(server, "log_requests", found.log)
    return found


@pytest.fixture
def tokens(tmp_path: Path) -> str:
    made = run("token", "new", "ana", "--group", "writers", "--group", "all", "--days", "3")
    file = tmp_path / "tokens.toml"
    file.write_text(made.stdout)
    return str(file)


def test_without_options_it_is_the_default_server(started: Server, lake: Lake) -> None:
    said = lake.run("serve")
    assert started.options == ServerOptions()
    assert {key: started.given[key] for key in ("impl", "host", "port", "workers")} == {
        "impl": "dir", "host": "127.0.0.1", "port": 2333, "workers": 1,
    }  # fmt: skip
    path = lake.options[-1]
    assert said.stdout == f"Serving dir {path} on http://127.0.0.1:7 (stop with Ctrl-C)\n"
    assert said.stderr == ""
    assert lake.json("serve") == {"url": "http://127.0.0.1:7", "impl": "dir"}


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        (["--read-only"], {"read_only": True}),
        (["--insecure"], {"insecure": True}),
        (["--vend-storage-options"], {"vend_storage_options": True}),
        (["--open-metrics"], {"open_metrics": True}),
        (["--no-ui"], {"ui": False}),
        (["--limit", "queries=8"], {"limits": Limits(queries=8)}),
        (
            ["--limit", "queries=8", "--limit", "query_seconds=1.5"],
            {"limits": Limits(queries=8, query_seconds=1.5)},
        ),
        (["--allow-host", "a", "--allow-host", "b"], {"access": Access(allow_hosts=["a", "b"])}),
        (["--allow-storage-option", "aws_region"], {"reach": Reach(storage_options=["aws_region"])}),
        (["--allow-location", "/a", "--allow-location", "s3://b"],
         {"reach": Reach(locations=["/a", "s3://b"])}),
        (["--lancedb-database", "all="], {"lancedb_databases": {"all": ()}}),
        (["--lancedb-database", "a=x$y"], {"lancedb_databases": {"a": ("x", "y")}}),
        (["--tls-cert", "c", "--tls-key", "k"], {"tls": Tls(cert="c", key="k")}),
        (["--tls-cert", "c", "--tls-key", "k", "--tls-client-ca", "a"],
         {"tls": Tls(cert="c", key="k", client_ca="a")}),
    ],
)  # fmt: skip
def test_each_option_sets_a_server_option(
    started: Server, lake: Lake, arguments: list[str], changes: dict[str, Any]
) -> None:
    lake.run("serve", *arguments)
    assert started.options == attrs.evolve(ServerOptions(), **changes)


def test_the_address_and_the_number_of_workers(started: Server, lake: Lake) -> None:
    lake.run("serve", "--host", "::1", "--port", "0", "--workers", "3")
    assert [started.given[key] for key in ("host", "port", "workers")] == ["::1", 0, 3]
    for wrong in (("--port", "65536"), ("--port", "-1"), ("--workers", "0")):
        lake.error("serve", *wrong, status=Status.USAGE)


def test_authentication_and_authorization(
    started: Server, lake: Lake, tokens: str, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[grant]]\nto = ["group:all"]\nactions = ["read"]\non = [["**"]]\n')
    lake.run("serve", "--tokens", tokens, *ISSUER, "--oidc-audience", "me", "--policy", str(policy))
    file, issuer = started.options.callers
    assert isinstance(file, TokenFile) and isinstance(issuer, OidcIssuer)
    assert (issuer._issuer, issuer._audience) == ("https://issuer.example", "me")
    assert isinstance(started.options.policy, PolicyFile)
    for more in (
        (*ISSUER, "--oidc-audience", "me"),
        ("--tls-cert", "c", "--tls-key", "k", "--tls-client-ca", "a"),
    ):
        lake.run("serve", "--policy", str(policy), *more)
        assert isinstance(started.options.policy, PolicyFile)


def test_a_role_whose_credentials_are_vended(started: Server, lake: Lake) -> None:
    lake.run("serve", "--vend-role", ROLE)
    role = started.options.vend_role
    assert isinstance(role, AssumeRole) and role._role == ROLE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tls-cert", "c"], "--tls-cert and --tls-key must be used together"),
        (["--tls-key", "k"], "--tls-cert and --tls-key must be used together"),
        (["--tls-client-ca", "a"], "--tls-client-ca requires both"),
        ([*ISSUER], "--oidc-issuer and --oidc-audience must be used together"),
        (["--oidc-audience", "me"], "--oidc-issuer and --oidc-audience must be used together"),
        (["--vend-role", ROLE, "--vend-storage-options"], "are mutually exclusive"),
        (["--policy", "p.toml"], "--policy requires authentication"),
        (["--limit", "queries"], "--limit: value number 1 must have the form KEY=VALUE"),
        (["--lancedb-database", "all"], "--lancedb-database: value number 1 must have the form"),
    ],
)
def test_what_cannot_be_meant(started: Server, lake: Lake, arguments: list[str], said: str) -> None:
    assert said in lake.error("serve", *arguments, status=Status.USAGE)
    assert not started.given


OPEN = "warning: authentication is disabled; every client that reaches {} can read and change this"
CLEAR = "warning: tokens are sent unencrypted; pass --tls-cert and --tls-key unless a proxy"
TLS = ["--tls-cert", "c", "--tls-key", "k"]


@pytest.mark.parametrize(
    ("host", "with_tokens", "arguments", "said"),
    [
        ("0.0.0.0", False, ["--insecure"], OPEN.format("0.0.0.0")),
        ("lake.example", False, ["--insecure"], OPEN.format("lake.example")),
        ("0.0.0.0", False, ["--insecure", *TLS], OPEN.format("0.0.0.0")),
        ("0.0.0.0", False, [], ""),  # the server rejects it
        ("0.0.0.0", True, [], CLEAR),
        ("0.0.0.0", True, TLS, ""),
        ("127.0.0.1", True, [], ""),
        ("::1", True, [], ""),
        ("localhost", True, [], ""),
        ("localhost", False, ["--insecure"], ""),
    ],
)
def test_insecure_options_cause_a_warning(
    started: Server, lake: Lake, tokens: str,
    host: str, with_tokens: bool, arguments: list[str], said: str,
) -> None:  # fmt: skip
    given = ["--tokens", tokens] if with_tokens else []
    told = lake.run("serve", "--host", host, *given, *arguments).stderr
    assert told.startswith(said) if said else told == ""


def test_each_process_writes_the_request_log_unless_disabled(started: Server, lake: Lake) -> None:
    lake.run("serve")
    started.given["on_worker_start"]()
    assert started.logs == 2
    lake.run("serve", "--no-request-log")
    started.given["on_worker_start"]()
    assert started.logs == 2


def test_a_token_and_its_entry(tokens: str) -> None:
    made = json.loads(run("token", "new", 'b"n', "--json").stdout)
    Path(tokens).write_text(made["entry"])
    found = TokenFile(tokens).find(Credentials(tokens=(made["token"],)))
    assert found == Caller('b"n')
    said = run("token", "new", "ana", "--group", "a", "--group", "b", "--days", "3")
    assert said.stderr.startswith("token: lns_")
    assert 'groups = ["a", "b"]\n' in said.stdout
    expires = datetime.datetime.fromisoformat(said.stdout.partition("expires = ")[2].strip())
    left = expires - datetime.datetime.now(datetime.UTC)
    assert datetime.timedelta(days=2.9) < left <= datetime.timedelta(days=3)
    run("token", "new", "ana", "--days", "0", status=Status.USAGE)
    run("token", "new", "", status=Status.INVALID)
