"""Commands for running a server: serve and token."""

from __future__ import annotations

import datetime
import ipaddress
import logging
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ...core.identifiers import split_identifier
from ..choice import find_modules_here
from ..failures import UsageError, needs
from ..output import Output, Styled
from ..session import Session, key_values
from ..signals import bound_exit

if TYPE_CHECKING:
    from ...catalog.namespace import Namespace

__all__ = ["serve", "token"]

PORT = 2333


def serve(
    session: Session,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on; 0.0.0.0 is every network interface.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="NUMBER", min=0, max=65535, help="TCP port; 0 selects a free one."
        ),
    ] = PORT,
    tokens: Annotated[
        Path | None,
        typer.Option(
            "--tokens",
            metavar="FILE",
            help="Authenticate clients by the tokens in this file (TOML), which is reloaded "
            "when it changes. lance-ns token new creates tokens.",
        ),
    ] = None,
    oidc_issuer: Annotated[
        str | None,
        typer.Option(
            "--oidc-issuer",
            metavar="URL",
            help="Authenticate clients by tokens (JWT) from this OpenID Connect issuer.",
        ),
    ] = None,
    oidc_audience: Annotated[
        str | None,
        typer.Option(
            "--oidc-audience", metavar="NAME", help="Audience (aud) that tokens must contain."
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option("--tls-cert", metavar="FILE", help="TLS certificate with its chain (PEM)."),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option("--tls-key", metavar="FILE", help="Private key of the certificate (PEM)."),
    ] = None,
    tls_client_ca: Annotated[
        Path | None,
        typer.Option(
            "--tls-client-ca",
            metavar="FILE",
            help="Authenticate clients by certificates from these authorities (PEM).",
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Listen on other interfaces without authentication."),
    ] = False,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="Allow only what this file (TOML) grants. The file is reloaded when it changes. "
            "module:Class selects a custom policy class.",
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Reject all changes.")] = False,
    vend_storage_options: Annotated[
        bool,
        typer.Option(
            "--vend-storage-options",
            help="Send clients the secret storage options, with which they can read and write "
            "data themselves.",
        ),
    ] = False,
    vend_role: Annotated[
        str | None,
        typer.Option(
            "--vend-role",
            metavar="ARN",
            help="Send clients temporary S3 credentials of this role, limited to one table and to "
            "the permitted actions.",
        ),
    ] = None,
    allow_storage_option: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-storage-option",
            metavar="KEY",
            help="Storage option that clients may set, such as aws_region; repeatable.",
        ),
    ] = None,
    allow_location: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-location",
            metavar="PREFIX",
            help="Path or URI below which clients may store tables, in addition to the "
            "namespace's own locations; repeatable.",
        ),
    ] = None,
    allow_function: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-function",
            metavar="NAME",
            help="SQL function that clients may use in addition to those with a known cost; a "
            "request may then use any amount of time and memory. Repeatable.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="Host name of the server, in addition to localhost and --host; repeatable; * "
            "allows any.",
        ),
    ] = None,
    lancedb_database: Annotated[
        list[str] | None,
        typer.Option(
            "--lancedb-database",
            metavar="NAME=IDENTIFIER",
            help="Namespace that LanceDB's remote clients open as db://NAME; levels are joined by "
            "$, empty means the root; repeatable. Other names are namespaces below the root.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", metavar="NUMBER", min=1, help="Number of processes that share the port."
        ),
    ] = 1,
    open_metrics: Annotated[
        bool,
        typer.Option("--open-metrics", help="Allow unauthenticated access to /metrics."),
    ] = False,
    ui: Annotated[
        bool, typer.Option("--ui/--no-ui", help="Serve web pages at /ui and /docs.")
    ] = True,
    request_log: Annotated[
        bool,
        typer.Option(
            "--request-log/--no-request-log",
            help="Write an access log to standard error: one line of JSON per request, with "
            "caller, operation, outcome and duration.",
        ),
    ] = True,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="NAME=NUMBER",
            help="A limit of the server, such as queries=8 or query_seconds=60; repeatable. "
            "docs/serving/limits.md lists the names.",
        ),
    ] = None,
) -> None:
    """Serve the namespace over the Lance REST protocol.

    If no namespace is selected, the server uses a catalog in the SQLite file lance-catalog.db in
    the current folder. The file is created if necessary, and tables are stored next to it. On
    Ctrl-C or SIGTERM, the server finishes active requests and exits.
    """
    with needs("serve", "server"):
        from ...server import (
            Access,
            AssumeRole,
            CallerSource,
            Limits,
            OidcIssuer,
            Reach,
            ServerOptions,
            Tls,
            TokenFile,
            find_policy,
        )
        from ...server import serve as run_server
    if (tls_cert is None) != (tls_key is None) or (tls_client_ca and tls_cert is None):
        raise UsageError(
            "--tls-cert and --tls-key must be used together, and --tls-client-ca requires both"
        )
    if (oidc_issuer is None) != (oidc_audience is None):
        raise UsageError("--oidc-issuer and --oidc-audience must be used together")
    if vend_role is not None and vend_storage_options:
        raise UsageError("--vend-role and --vend-storage-options are mutually exclusive")
    if policy is not None and tokens is None and oidc_issuer is None and tls_client_ca is None:
        raise UsageError(
            "--policy requires authentication: --tokens, --oidc-issuer or --tls-client-ca"
        )
    callers: list[CallerSource] = []
    if tokens is not None:
        callers.append(TokenFile(tokens))
    if oidc_issuer is not None and oidc_audience is not None:
        callers.append(OidcIssuer(oidc_issuer, oidc_audience))
    if policy is not None:
        find_modules_here(policy)
    options = ServerOptions(
        callers=callers,
        tls=Tls(cert=tls_cert, key=tls_key, client_ca=tls_client_ca)
        if tls_cert is not None and tls_key is not None
        else None,
        insecure=insecure,
        policy=find_policy(policy) if policy is not None else None,
        read_only=read_only,
        vend_storage_options=vend_storage_options,
        vend_role=AssumeRole(vend_role) if vend_role is not None else None,
        access=Access(allow_hosts=allow_host or ()),
        reach=Reach(
            storage_options=allow_storage_option or (),
            locations=allow_location or (),
            functions=allow_function or (),
        ),
        limits=Limits.read(key_values(limit, "--limit")),
        open_metrics=open_metrics,
        ui=ui,
        lancedb_databases={
            name: split_identifier(identifier)
            for name, identifier in key_values(lancedb_database, "--lancedb-database").items()
        },
    )
    set_up_logs = partial(_set_up_logs, request_log=request_log)
    set_up_logs()
    if not _is_loopback(host) and not options.sources:
        if insecure:
            sys.stderr.write(
                f"warning: authentication is disabled; every client that reaches {host} can read "
                f"and change this namespace\n"
            )
    elif not _is_loopback(host) and options.tls is None:
        sys.stderr.write(
            "warning: tokens are sent unencrypted; pass --tls-cert and --tls-key unless "
            "a proxy terminates TLS\n"
        )
    if session.is_default:
        _create_catalog(session)
    namespace = session.connect(makes=True)

    def announce(address: str) -> None:
        if session.output.as_json:
            session.output.document({"url": address, "impl": session.impl})
        else:
            where = Styled(address, "bold cyan")
            session.output.line(
                "Serving ", _shown(session, namespace), " on ", where, " (stop with Ctrl-C)"
            )
        sys.stdout.flush()

    # Otherwise, a query that cannot be interrupted would keep the process from exiting.
    bound_exit()
    run_server(
        namespace,
        host,
        port,
        options=options,
        announce=announce,
        workers=workers,
        on_worker_start=set_up_logs,
    )


def _set_up_logs(request_log: bool) -> None:
    from ...server import log_requests

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    if request_log:
        log_requests()


def _create_catalog(session: Session) -> None:
    """If no namespace is selected, create the catalog to serve and report that."""
    with needs("serve without --impl", "sql"):
        from ...sql import initialize
    where = initialize(session.properties)
    sys.stderr.write(f"no namespace selected: serving the catalog in the {where}\n")


def _shown(session: Session, namespace: Namespace) -> str:
    """Describe the namespace without secrets."""
    given = [key.removeprefix(f"{session.impl}.") for key in session.properties]
    shown = namespace.config.shown()
    return " ".join([session.impl, *(f"{key}={shown[key]}" for key in given if key in shown)])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def token(
    output: Output,
    action: Annotated[Literal["new"], typer.Argument(metavar="new", help="Create a token.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the caller.")],
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME", help="A group of the caller; repeatable."),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option("--days", metavar="NUMBER", min=1, help="Lifetime of the token in days."),
    ] = None,
) -> None:
    """Create a token for a caller of lance-ns serve --tokens.

    The entry for the token file is written to standard output. The token itself is written to
    standard error, and is not stored anywhere.
    """
    from ...core.tokens import new_token

    expires = None
    if days is not None:
        now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        expires = now + datetime.timedelta(days=days)
    made = new_token(name, tuple(group or ()), expires)
    if output.as_json:
        output.document({"token": made.token, "entry": made.entry})
        return
    sys.stderr.write(f"token: {made.token}\n")
    sys.stdout.write(made.entry)
