"""Commands for a server: serve and token."""

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
            "--host", metavar="ADDRESS", help="Address to listen on; 0.0.0.0 is every network."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="NUMBER", min=0, max=65535, help="TCP port; 0 takes a free one."
        ),
    ] = PORT,
    tokens: Annotated[
        Path | None,
        typer.Option(
            "--tokens",
            metavar="FILE",
            help="Let only those call who have one of the tokens in this file (TOML); it is read "
            "again when it changes. lance-ns token new makes them.",
        ),
    ] = None,
    oidc_issuer: Annotated[
        str | None,
        typer.Option(
            "--oidc-issuer",
            metavar="URL",
            help="Let only those call who have a token (JWT) of this OpenID Connect issuer.",
        ),
    ] = None,
    oidc_audience: Annotated[
        str | None,
        typer.Option(
            "--oidc-audience", metavar="NAME", help="Whom the issuer's tokens have to be for."
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            "--tls-cert", metavar="FILE", help="Certificate to speak TLS with, and its chain (PEM)."
        ),
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
            help="Let only those call who have a certificate of these authorities (PEM).",
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Listen beyond this machine without asking who calls."),
    ] = False,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="Let callers do only what this file (TOML) grants them; it is read again when it "
            "changes. module:Class is a class that decides instead.",
        ),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Let callers change nothing.")
    ] = False,
    vend_storage_options: Annotated[
        bool,
        typer.Option(
            "--vend-storage-options",
            help="Send clients the secrets among the storage options, so that they can read and "
            "write the data themselves.",
        ),
    ] = False,
    vend_role: Annotated[
        str | None,
        typer.Option(
            "--vend-role",
            metavar="ARN",
            help="Send clients S3 credentials of this role instead, for the one table and what they "
            "may do with it.",
        ),
    ] = None,
    allow_storage_option: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-storage-option",
            metavar="KEY",
            help="Storage option that callers may set, such as aws_region; may be repeated.",
        ),
    ] = None,
    allow_location: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-location",
            metavar="PREFIX",
            help="Path or URI below which callers may put tables, beside the namespace's own "
            "places; may be repeated.",
        ),
    ] = None,
    allow_function: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-function",
            metavar="NAME",
            help="SQL function that callers may use besides those whose cost is known; one request "
            "may then use any amount of time and memory. May be repeated.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="Name that callers reach the server by, beside localhost and --host; may be "
            "repeated, and * is any.",
        ),
    ] = None,
    lancedb_database: Annotated[
        list[str] | None,
        typer.Option(
            "--lancedb-database",
            metavar="NAME=IDENTIFIER",
            help="Namespace that LanceDB's remote clients reach as db://NAME, levels joined by $, "
            "nothing for the root; may be repeated. Any other name is a namespace below the root.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", metavar="NUMBER", min=1, help="Processes that serve on the one port."
        ),
    ] = 1,
    open_metrics: Annotated[
        bool,
        typer.Option("--open-metrics", help="Let everybody read /metrics, not only callers."),
    ] = False,
    ui: Annotated[
        bool, typer.Option("--ui/--no-ui", help="Show pages for people at /ui and /docs.")
    ] = True,
    request_log: Annotated[
        bool,
        typer.Option(
            "--request-log/--no-request-log",
            help="Write one line of JSON to standard error for each request: who, what, how it "
            "ended, how long it took.",
        ),
    ] = True,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="NAME=NUMBER",
            help="A bound of the server, such as queries=8 or query_seconds=60; may be repeated. "
            "The names are in docs/serving/limits.md.",
        ),
    ] = None,
) -> None:
    """Serve the namespace over the Lance REST protocol.

    Where none is named, it is a catalog in the SQLite file lance-catalog.db in the current folder,
    which is created, with its tables beside it.

    Ctrl-C and SIGTERM end it, once the requests under way are answered.
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
        raise UsageError("--tls-cert and --tls-key belong together, and --tls-client-ca needs both")
    if (oidc_issuer is None) != (oidc_audience is None):
        raise UsageError("--oidc-issuer and --oidc-audience belong together")
    if vend_role is not None and vend_storage_options:
        raise UsageError("--vend-role and --vend-storage-options exclude each other")
    if policy is not None and tokens is None and oidc_issuer is None and tls_client_ca is None:
        raise UsageError(
            "--policy needs to know who calls: --tokens, --oidc-issuer or --tls-client-ca"
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
                f"warning: the server does no authentication: whoever reaches {host} can read "
                "and change this namespace\n"
            )
    elif not _is_loopback(host) and options.tls is None:
        sys.stderr.write(
            "warning: tokens travel in clear; give --tls-cert and --tls-key unless a proxy in front "
            "speaks TLS\n"
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

    # Otherwise, a query that cannot be interrupted would delay the exit of the process.
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
    """Create the catalog to serve if no namespace is named, and report it."""
    with needs("serve without --impl", "sql"):
        from ...sql import initialize
    where = initialize(session.properties)
    sys.stderr.write(f"no namespace is named: serving the catalog in the {where}\n")


def _shown(session: Session, namespace: Namespace) -> str:
    """Describe the namespace, without secrets."""
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
    action: Annotated[Literal["new"], typer.Argument(metavar="new", help="Make a new token.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token it is.")],
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME", help="A group of the caller; may be repeated."),
    ] = None,
    days: Annotated[
        int | None,
        typer.Option("--days", metavar="NUMBER", min=1, help="Days that it is good for."),
    ] = None,
) -> None:
    """Create a token for a caller of lance-ns serve --tokens.

    The entry for the file goes to standard output, and the token, which is kept nowhere, to
    standard error.
    """
    with needs("token", "server"):
        from ...server import new_token
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
