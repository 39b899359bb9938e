"""The command ``lance-ns import``, which imports files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ..completion import complete_id
from ..failures import UsageError, needs
from ..output import Progress, progress
from ..session import Session, key_values
from ..signals import deferred, handled, on_stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ...ingest.file_import import ImportPreview

__all__ = ["Cores", "UseSpark", "import_files", "lazy_spark"]

Cores = Annotated[
    int | None,
    typer.Option("--cores", metavar="NUMBER", min=1, help="Number of cores; defaults to all."),
]
UseSpark = Annotated[
    bool | None,
    typer.Option(
        "--spark/--no-spark",
        help="Whether to import the files with Spark, which is slower for files of up to 256 MiB "
        "in total.",
        show_default=False,
    ),
]


def import_files(
    session: Session,
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            autocompletion=complete_id,
            help="The table: its names, joined by the delimiter.",
        ),
    ],
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES...",
            help="CSV, JSON Lines, Parquet, ORC or Avro files, folders, patterns such as "
            "'data/*.csv', or the folder of a Delta or Iceberg table; paths, URIs such as "
            "s3://bucket/data (with the storage.* properties), https:// addresses, or "
            "hf://datasets/OWNER/NAME/data/train-*.parquet.",
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="csv, json, parquet, orc, avro, delta or iceberg; required if the file names do "
            "not show the format.",
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="create (fails if the table exists), append, overwrite (rows and columns, in "
            "one commit) or exist_ok (keeps an existing table).",
        ),
    ] = "create",
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="KEY=VALUE",
            help="Option for reading the files, such as delimiter=';', header=false, nulls=NA or "
            "types='zip: string', or a storage.* option for the object store that contains them; "
            "repeatable.",
        ),
    ] = None,
    partition_by: Annotated[
        list[str] | None,
        typer.Option(
            "--partition-by",
            metavar="FIELD",
            help="Import into a namespace that is partitioned by this field, such as year, "
            "'day(ts)' or 'bucket(16, id)'; repeatable, outermost field first.",
        ),
    ] = None,
    cores: Cores = None,
    use_spark: UseSpark = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Read the files and show the resulting columns, but change nothing."
        ),
    ] = False,
) -> None:
    """Import files into a table, large ones as a Spark job."""
    from ...ingest.file_import import SMALL_BYTES, preview_files
    from ...ingest.file_import import import_files as run_import

    identifier = session.identifier(id)
    name = session.written(identifier)
    chosen = key_values(options, "--option")
    with session.connect(makes=True) as namespace:  # errors are reported before Spark starts
        properties = namespace.properties
    if dry_run:
        with progress(f"scan {name}") as bar:
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
                downloading=lambda file, done, total: bar.update(done, total, f"download {file}"),
            )
        _show_preview(session, name, found)
        return
    if partition_by:
        if use_spark:
            raise UsageError("--spark and --partition-by are mutually exclusive")
        _import_partitioned(session, id, files, partition_by, format, mode, chosen, cores)
        return
    with (
        progress(f"import {name}") as bar,
        lazy_spark(bar, f"lance-ns import {name}", cores) as start,
    ):
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
            downloading=lambda file, done, total: bar.update(done, total, f"download {file}"),
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


def _import_partitioned(
    session: Session,
    id: str,
    files: list[str],
    partition_by: list[str],
    format: str | None,
    mode: str,
    options: dict[str, str],
    cores: int | None,
) -> None:
    from ...ingest.file_import import import_partitioned

    identifier = session.identifier(id)
    name = session.written(identifier)
    with session.connect(makes=True) as namespace, progress(f"import {name}") as bar:
        result = import_partitioned(
            namespace,
            identifier,
            sources=files,
            partition_by=partition_by,
            format=format,
            mode=mode,
            options=options,
            cores=cores,
            progress=lambda done, total, rows: bar.update(done, total, f"{rows:,} rows"),
            downloading=lambda file, done, total: bar.update(done, total, f"download {file}"),
        )
    if session.output.as_json:
        document = {"kind": "partitioned", "id": list(identifier), "rows": result.rows}
        session.output.document({**document, "partitions": result.partitions})
        return
    session.output.line(
        f"partitioned namespace {name}: {result.rows:,} rows imported into "
        f"{result.partitions:,} partitions"
    )


def _show_preview(session: Session, name: str, found: ImportPreview) -> None:
    from ...tables.schema import column_types

    columns = column_types(found.schema)
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
def lazy_spark(bar: Progress, name: str, cores: int | None) -> Iterator[Callable[[], SparkSession]]:
    """Yield a function that starts Spark; stop Spark at the end if the function was called.

    Args:
        bar: progress bar that shows that Spark is starting.
        name: name of the application.
        cores: number of cores; defaults to all.
    """
    with ExitStack() as running:

        def start() -> SparkSession:
            bar.update(0, None, "starting Spark")
            with needs("import", "spark"):
                import pyspark  # noqa: F401 - the module below reports its absence differently

                from ...spark.session import local_session
            return running.enter_context(_stopped_at_the_end(local_session, name, cores))

        yield start


@contextmanager
def _stopped_at_the_end(
    start: Callable[..., SparkSession], name: str, cores: int | None
) -> Iterator[SparkSession]:
    """Run Spark for the duration of the block.

    Signals are deferred until Spark has started. If PySpark is interrupted before that, it loses
    track of the Java process that it has launched, and this process then never exits. On the main
    thread, PySpark would handle Ctrl-C itself, by calling Java during another call.
    """
    from concurrent.futures import ThreadPoolExecutor

    with handled(), ExitStack() as running:
        try:
            with deferred(), ThreadPoolExecutor(1) as thread:
                spark = thread.submit(start, app_name=name, cores=cores).result()
                running.callback(spark.stop)
            with on_stop(_quiet_py4j):
                yield spark
                running.close()
        finally:
            logging.disable(logging.NOTSET)


def _quiet_py4j() -> None:
    """Suppress the long messages that py4j logs when a signal interrupts a call to Java."""
    logging.disable(logging.CRITICAL)
