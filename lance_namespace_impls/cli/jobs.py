"""The commands that run for a while: serve and import."""

from __future__ import annotations

import datetime
import ipaddress
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from ..core.identifiers import split_identifier
from .failures import UsageError, needs
from .output import Output, Styled, progress
from .session import Session, key_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..catalog.namespace import Namespace
    from ..spark.ingest import ImportPreview

__all__ = ["import_files", "serve", "token"]

PORT = 2333


def import_files(
    session: Session,
    id: Annotated[str, typer.Argument(metavar="ID", help="The table, its names joined.")],
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES...",
            help="CSV, JSON (an object a line) or Parquet files, folders, or patterns such as "
            "'data/*.csv'; paths or URIs.",
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", help="csv, json or parquet, where names do not tell."
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="create (fails where the table is there), append, overwrite (rows and columns, "
            "in one commit) or exist_ok (leaves it).",
        ),
    ] = "create",
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="KEY=VALUE",
            help="How to read the files, such as delimiter=';', header=false, nulls=NA or "
            "types='zip: string'; give it again for each.",
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            "--cores",
            metavar="NUMBER",
            min=1,
            help="Cores to use; all unless given.",
        ),
    ] = None,
    use_spark: Annotated[
        bool | None,
        typer.Option(
            "--spark/--no-spark",
            help="Whether to start Spark; for 256 MiB and less it is not worth it.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Read the files, show which columns they make, and change nothing."
        ),
    ] = False,
) -> None:
    """Import files into a table; large ones as a Spark job on this machine."""
    from ..spark.ingest import SMALL_BYTES, preview_files
    from ..spark.ingest import import_files as run_import

    identifier = session.identifier(id)
    name = session.written(identifier)
    chosen = key_values(options, "--option")
    with session.connect() as namespace:  # finds what is wrong with it before Spark starts
        properties = namespace.properties
    if dry_run:
        with progress(f"look at {name}") as bar:
            found = preview_files(
                impl=session.impl,
                properties=properties,
                table=identifier,
                sources=files,
                format=format,
                mode=mode,
                options=chosen,
                cores=cores,
                progress=lambda done, total, _: bar.update(done, total, "files inspected"),
            )
        _show_preview(session, name, found)
        return
    with progress(f"import {name}") as bar, ExitStack() as running:

        def start() -> SparkSession:
            bar.update(0, None, "starting Spark")
            with needs("import", "spark"):
                import pyspark  # noqa: F401 - the module below reports its absence in its own way

                from ..spark.session import local_session
            return running.enter_context(
                _stopped_at_the_end(local_session, f"lance-ns import {name}", cores)
            )

        result = run_import(
            None if use_spark is False else start,
            impl=session.impl,
            properties=properties,
            table=identifier,
            sources=files,
            format=format,
            mode=mode,
            options=chosen,
            cores=cores,
            small_bytes=-1 if use_spark else SMALL_BYTES,
            progress=lambda done, total, rows: bar.update(done, total, f"{rows:,} rows"),
        )
    if session.output.as_json:
        session.output.document(
            {
                "kind": "table",
                "id": list(identifier),
                "location": result.location,
                "version": result.version,
                "rows": result.rows,
                "files": result.files,
                "fragments": result.fragments,
                "seconds": round(result.seconds, 3),
            }
        )
        return
    session.output.line(f"table {name}: {result.rows:,} rows imported")
    session.output.fields(
        {
            "location": result.location,
            "version": str(result.version),
            "files read": f"{result.files:,}",
            "fragments": f"{result.fragments:,}",
            "seconds": f"{result.seconds:.1f}",
        }
    )


def _show_preview(session: Session, name: str, found: ImportPreview) -> None:
    columns = {column.name: str(column.type) for column in found.schema}
    if session.output.as_json:
        session.output.document(
            {
                "kind": "import",
                "id": list(found.table),
                "format": found.format,
                "read_with": dict(found.read_with),
                "files": found.files,
                "bytes": found.bytes,
                "columns": columns,
            }
        )
        return
    session.output.line(f"table {name}: nothing was imported (--dry-run)")
    session.output.fields(
        {
            "files": f"{found.files:,}",
            "bytes": f"{found.bytes:,}",
            "format": found.format,
            **found.read_with,
            **{f"column {column}": kind for column, kind in columns.items()},
        }
    )


@contextmanager
def _stopped_at_the_end(
    start: Callable[..., SparkSession], name: str, cores: int | None
) -> Iterator[SparkSession]:
    """Start Spark for the work inside, and stop it whatever happens.

    Ctrl-C waits until Spark has started: PySpark, interrupted before that, loses hold of the Java
    process that it has launched, which then never ends. On the main thread PySpark would answer
    Ctrl-C itself, with a call to Java in the middle of another.
    """
    waiting: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        with ThreadPoolExecutor(1) as thread:
            spark = thread.submit(start, app_name=name, cores=cores).result()
        signal.signal(signal.SIGINT, _interrupt)
        try:
            if waiting:
                raise KeyboardInterrupt
            yield spark
        finally:
            spark.stop()
    finally:
        signal.signal(signal.SIGINT, before)
        logging.disable(logging.NOTSET)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    logging.disable(logging.CRITICAL)  # py4j logs the call that is cut off, at length
    raise KeyboardInterrupt


def serve(
    session: Session,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; 0.0.0.0 is every network.")
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
            "The names are in docs/serving.md.",
        ),
    ] = None,
) -> None:
    """Serve the namespace over the Lance REST protocol.

    Ctrl-C and SIGTERM end it, once the requests under way are answered.
    """
    with needs("serve", "server"):
        from ..server import (
            Access,
            CallerSource,
            Limits,
            OidcIssuer,
            Reach,
            ServerOptions,
            Tls,
            TokenFile,
            find_policy,
        )
        from ..server import serve as run_server
    if (tls_cert is None) != (tls_key is None) or (tls_client_ca and tls_cert is None):
        raise UsageError("--tls-cert and --tls-key belong together, and --tls-client-ca needs both")
    if (oidc_issuer is None) != (oidc_audience is None):
        raise UsageError("--oidc-issuer and --oidc-audience belong together")
    if policy is not None and tokens is None and oidc_issuer is None and tls_client_ca is None:
        raise UsageError(
            "--policy needs to know who calls: --tokens, --oidc-issuer or --tls-client-ca"
        )
    callers: list[CallerSource] = []
    if tokens is not None:
        callers.append(TokenFile(tokens))
    if oidc_issuer is not None and oidc_audience is not None:
        callers.append(OidcIssuer(oidc_issuer, oidc_audience))
    options = ServerOptions(
        callers=callers,
        tls=Tls(cert=tls_cert, key=tls_key, client_ca=tls_client_ca)
        if tls_cert is not None and tls_key is not None
        else None,
        insecure=insecure,
        policy=find_policy(policy) if policy is not None else None,
        read_only=read_only,
        vend_storage_options=vend_storage_options,
        access=Access(allow_hosts=allow_host or ()),
        reach=Reach(storage_options=allow_storage_option or (), locations=allow_location or ()),
        limits=Limits.read(key_values(limit, "--limit")),
        open_metrics=open_metrics,
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
    namespace = session.connect()

    def announce(address: str) -> None:
        if session.output.as_json:
            session.output.document({"url": address, "impl": session.impl})
        else:
            where = Styled(address, "bold cyan")
            session.output.line(
                "Serving ", _shown(session, namespace), " on ", where, " (stop with Ctrl-C)"
            )
        sys.stdout.flush()

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
    from ..server import log_requests

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    if request_log:
        log_requests()


def _shown(session: Session, namespace: Namespace) -> str:
    """Write which namespace it is, without secrets."""
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
        from ..server import new_token
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
