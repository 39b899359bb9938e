"""Run every example in the help of every command.

Locations in an example (``/data/lance``, profiles, a bucket, a database) are replaced by those of
the test. The rest runs unchanged, in a folder that contains the files that the example names.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import typer
from pyarrow import fs
from typer.testing import CliRunner

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.server import serving
from lance_namespace_impls.sql import initialize
from tests.servers.certificates import Authority
from tests.servers.ours import first_line_of
from tests.servers.postgresql import PASSWORD, shared
from tests.servers.s3 import GuardedS3
from tests.servers.web import Answer, Asked, WebServer

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    example
    for command in typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    for example in (command.epilog or "").splitlines()
]
# Each of these examples runs the complete conformance kit.
SLOW = re.compile("lance-ns conformance --")

FLIGHTS = pa.table({"carrier": ["AA", "UA", "B6"], "delay": [75.0, None, -2.0]})
ORDERS = pa.table({"id": [1, 2], "item": ["tea", "ink"]})
NOTES = pa.table(
    {
        "id": range(4200),
        "text": ["a red apple", "a green pear", "a blue plum"] * 1400,
        "vector": pa.FixedSizeListArray.from_arrays(np.random.default_rng(1).random(8400, "f4"), 2),
    }
)
PARTS = [f"train-{number:05}-of-00003.parquet" for number in range(3)]
MAPPING = """
[[table]]
id = "orders"
files = ["orders/*.parquet"]
mode = "create"
"""

Around = Iterator[dict[str, str]]
"""Yields the replacements for parts of an example while it runs."""


def fill(namespace: Namespace) -> None:
    """Create the tables in the root namespace that the examples name."""
    flights = namespace.table("flights").create(FLIGHTS)
    flights.tags.create("before-import", flights.version)
    for _ in range(6):
        flights.add(FLIGHTS)
    namespace.table("notes").create(NOTES)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the catalogs and files of the examples; each example uses a copy."""
    folder = tmp_path_factory.mktemp("examples")
    with connect("dir", {"path": str(folder / "lake")}) as lake:
        fill(lake)
    for name in ("orders", "set"):
        (folder / name).mkdir()
        for part in PARTS:
            pyarrow.parquet.write_table(ORDERS, folder / name / part)
    pyarrow.parquet.write_table(FLIGHTS, folder / "flights.parquet")
    pyarrow.csv.write_csv(FLIGHTS, folder / "flights.csv")
    (folder / "tables.toml").write_text(MAPPING)
    for name in ("my.yaml", "upstream.yaml"):
        shutil.copy(ROOT / "rest.yaml", folder / name)
    return folder


def fill_prod(folder: Path) -> None:
    """Create the catalog of the profile prod in place: its tables have absolute locations."""
    properties = {"uri": str(folder / "prod.db"), "root": str(folder / "prod")}
    initialize(properties)
    with connect("sql", properties) as catalog:
        fill(catalog)
        for name in ("sales", "archive"):
            catalog.create_namespace({"id": [name], "properties": {"owner": "bo"}})
        for name in ("orders", "items", "orders_2024"):
            catalog.table(["sales", name]).create(ORDERS)


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working copy, with a configuration file that names its catalogs."""
    folder = shutil.copytree(prepared, tmp_path / "work")
    file = folder / "config" / "lance-ns" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        f'[prod]\nimpl = "sql"\nuri = "{folder}/prod.db"\nroot = "{folder}/prod"\n'
        f'[hive]\nimpl = "dir"\npath = "{folder}/lake"\n'
        f'[unity]\nimpl = "sql"\nuri = "{folder}/unity.db"\n'
    )
    initialize({"uri": str(folder / "unity.db")})
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return folder


def lance_ns(*arguments: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output


def chosen(folder: Path) -> Around:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANCE_NS_PROFILE", "prod")
        yield {}


def with_text_index(folder: Path) -> Around:
    lance_ns("index", "create", "notes", "text", "--type", "FTS", "--profile", "prod")
    yield {}


def with_properties(folder: Path) -> Around:
    lance_ns("properties", "set", "sales$orders", "owner=bo", "tier=gold", "--profile", "prod")
    yield {}


def without_sales(folder: Path) -> Around:
    with connect("sql", {"uri": "prod.db", "root": str(folder / "prod")}) as prod:
        prod.drop_namespace({"id": ["sales"], "behavior": "Cascade"})
    yield {}


def without_orders(folder: Path) -> Around:
    with connect("sql", {"uri": "prod.db", "root": str(folder / "prod")}) as prod:
        prod.drop_table({"id": ["sales", "orders"]})
    yield {}


def without_flights(folder: Path) -> Around:
    shutil.rmtree(folder / "lake" / "flights.lance")
    yield {}


def without_file(folder: Path) -> Around:
    (folder / "flights.parquet").unlink()
    yield {}


def answered(folder: Path) -> Around:
    yield {"lance-ns drop": "lance-ns drop --yes"}  # the question appears only on a terminal


def with_partition_folders(folder: Path) -> Around:
    for year in (2025, 2026):
        (folder / "events" / f"year={year}").mkdir(parents=True)
        part = folder / "events" / f"year={year}" / "part-0.parquet"
        pyarrow.parquet.write_table(ORDERS, part)
    yield {}


def with_partitions(folder: Path) -> Around:
    with contextmanager(with_partition_folders)(folder):
        lake = ("--impl", "dir", "-p", f"path={folder / 'lake'}", "-p", "manifest=true")
        lance_ns("import", "events", "events", "--partition-by", "year", *lake)
        yield {}


def with_manifest(folder: Path) -> Around:
    lance_ns("migrate", "--impl", "dir", "-p", f"path={folder / 'lake'}")
    yield {}


def in_s3(folder: Path) -> Around:
    with GuardedS3() as server:
        host = server.uri.removeprefix("http://")
        keys = {"access_key": "testing", "secret_key": "testing"}
        store = fs.S3FileSystem(endpoint_override=host, scheme="http", region="eu-west-1", **keys)
        fs.copy_files(str(folder / "set"), f"{server.bucket}/new", destination_filesystem=store)
        more = [f"-p storage.{key}={value}" for key, value in server.options().items()]
        yield {
            "s3://bucket": f"s3://{server.bucket}",
            "-p storage.aws_region=eu-west-1": " ".join(more),
        }


def on_the_web(folder: Path) -> Around:
    """Serve the files, and list them as the Hugging Face Hub does."""

    def respond(asked: Asked) -> Answer:
        if "/tree/" in asked.path:
            listed = [{"type": "file", "path": f"data/{part}", "size": 1} for part in PARTS]
            return Answer(body=listed)
        file = folder / "set" / asked.path.rpartition("/")[2]
        return Answer(body=file.read_bytes()) if file.exists() else Answer(status=404)

    with WebServer(respond) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", server.uri)
        yield {"https://example.com": server.uri}


def in_postgresql(folder: Path) -> Around:
    name = shared().new_database().rpartition("/")[2]
    yield {
        "postgresql://lance@db/lance": shared().uri(name, None),
        "password=…": f"password={PASSWORD}",
    }


def initialized(folder: Path) -> Around:
    initialize({"uri": "catalog.db"})
    yield {}


def to_a_backup(folder: Path) -> Around:
    yield {"/backup": str(folder / "backup")}


def on_loopback(folder: Path) -> Around:
    issued = Authority(folder).issue("c", "localhost")
    issued.key.rename("k.pem")
    done = CliRunner().invoke(app, ["token", "new", "ana"])
    (folder / "tokens.toml").write_text(done.stdout)
    yield {"0.0.0.0": "127.0.0.1", "--port 2333": "", " serve": " serve --port 0"}


def served(folder: Path) -> Around:
    with connect("dir", {"path": str(folder / "served")}) as namespace, serving(namespace) as uri:
        yield {"http://localhost:2333": uri}


def without_profiles(folder: Path) -> Around:
    (folder / "config" / "lance-ns" / "config.toml").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKEN", "secret")
        yield {}


def reported(folder: Path) -> Around:
    own = ("--impl", "dir", "-p", f"path={folder / 'new'}", "--only", "LN-NAMESPACE-CREATE-*")
    for name in ("ours.json", "theirs.json"):
        lance_ns("conformance", *own, "--report", name)
    yield {}


AROUND: dict[str, Callable[[Path], Around]] = {
    "lance-ns ls --all": chosen,
    "lance-ns query notes --vector '[": with_text_index,
    "lance-ns properties unset ": with_properties,
    "lance-ns create sales ": without_sales,
    "lance-ns create flights --data flights.parquet": without_flights,
    "lance-ns declare flights ": without_flights,
    "lance-ns declare 'sales$orders' ": without_orders,
    "lance-ns export flights flights.parquet": without_file,
    "lance-ns import flights ": without_flights,
    "lance-ns import t events/ ": with_partition_folders,
    "lance-ns import orders s3": in_s3,
    "lance-ns import cities 'https": on_the_web,
    "lance-ns import reviews 'hf": on_the_web,
    "lance-ns drop flights ": answered,
    "lance-ns migrate --to flat ": with_manifest,
    "lance-ns partitions ": with_partitions,
    "lance-ns sync sales ": to_a_backup,
    "lance-ns init sql -p uri=postgresql": in_postgresql,
    "lance-ns upgrade sql -p uri=catalog.db": initialized,
    "lance-ns serve": on_loopback,
    "lance-ns profiles add prod ": without_profiles,
    "lance-ns conformance --uri ": served,
    "lance-ns conformance compare ": reported,
}


def test_every_preparation_belongs_to_an_example() -> None:
    assert [start for start in AROUND if not any(each.startswith(start) for each in EXAMPLES)] == []


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(
            each,
            id=f"{each.split()[1]}-{number}",
            marks=[pytest.mark.slow] if SLOW.match(each) else [],
        )
        for number, each in enumerate(EXAMPLES)
    ],
)
def test_an_example_runs(
    example: str, folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        if " prod" in example or " --all" in example:
            fill_prod(folder)
        placed = example.replace("/data/lance", str(folder / "lake"))
        for start, around in AROUND.items():
            if example.startswith(start):
                for old, new in stack.enter_context(contextmanager(around)(folder)).items():
                    placed = placed.replace(old, new)
        command, _, behind = re.sub(r" (\||>>) ", "\0", placed, count=1).partition("\0")
        if " serve" in command:
            first_line_of(command, folder, os.environ)
            return
        capfd.readouterr()
        if SLOW.match(command):
            # A separate stderr: Lance may write warnings of the example's server in this process.
            alone = subprocess.run(shlex.split(command), stderr=subprocess.PIPE, check=True)
            assert alone.stderr == b""
            return
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        assert done.stdout.strip() != "" or "--report" in command
        assert done.stderr == "" or " token " in command
        assert capfd.readouterr().err == "", "pylance warns of nothing"
        if "--json" in command:
            json.loads(done.stdout)
        if behind.startswith("jq "):
            subprocess.run(shlex.split(behind), input=done.stdout, text=True, check=True)
