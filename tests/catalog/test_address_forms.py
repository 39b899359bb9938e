"""Create a table at every form of address on each backend.

Either pyarrow and Lance both find the same location, or the address is rejected. The results are
written to ``build/addresses.md``, with one line for each form.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

from lance_namespace_client.errors import (
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.spark import import_files
from lance_namespace_impls.sql import initialize
from tests.servers.glue import glue_server
from tests.servers.hive import RELEASES, Metastore, shared
from tests.servers.iceberg import IcebergFixture, shared_iceberg
from tests.servers.s3 import GuardedS3
from tests.servers.unity import UnityDouble

pytestmark = pytest.mark.s3

ROWS = pa.table({"x": [1, 2, 3]})
BUILD = Path(__file__).parents[2] / "build"


class Form(NamedTuple):
    """An address, in which `{at}` stands for a folder or a bucket."""

    text: str
    leads_to: str | None = None
    """The path below that folder or bucket; None if the address is rejected."""
    message: str = ""
    """A part of the expected error message."""


LOCAL = [
    Form("{at}/plain", "plain"),
    Form("{at}/trailing/", "trailing"),
    Form("{at}//doubled//slashes", "doubled/slashes"),
    Form("/{at}/two-at-the-start", "two-at-the-start"),
    Form("{at}/x/../dots", "dots"),
    Form("{at}/a b", "a b"),
    Form("{at}/a#b", "a#b"),
    Form("{at}/a?b", "a?b"),
    Form("{at}/a%20b", "a%20b"),
    Form("{at}/100%", "100%"),
    Form("{at}/größe/日本", "größe/日本"),
    Form("{at}/back\\slash", "back\\slash"),
    Form("{at}/a:b", "a:b"),
    Form("~/home", "home"),
    Form("relative/path", "relative/path"),
    Form("file:{at}/one-slash", "one-slash"),
    Form("file:/{at}/two-slashes", None, "is on the host"),
    Form("file://{at}/three-slashes", "three-slashes"),
    Form("file://localhost{at}/host", "host"),
    Form("file://elsewhere{at}/host", None, "is on the host 'elsewhere'"),
    Form("FILE://{at}/capitals", "capitals"),
    Form("file://{at}/e%20%23%3F", "e #?"),
    Form("file://{at}/a#b", None, "write %23"),
    Form("file://{at}/a?b", None, "write %3F"),
    Form("file://{at}/x/../dots", None, "'..' in a URI"),
    Form("file:relative", None, "write it as file:///path"),
    Form("{at}/nul\0", None, "contains a NUL"),
    Form("{at}/new\nline", None, "control character"),
    Form("{at}/" + "n" * 256, None, "shorten it"),
    Form("{at}" + "/n" * 2000, None, "shorten it"),
]
S3 = [
    Form("s3://{at}/plain", "plain"),
    Form("s3a://{at}/hadoop", "hadoop"),
    Form("s3n://{at}/old", "old"),
    Form("S3://{at}/capitals", "capitals"),
    Form("s3://{at}/trailing//", "trailing"),
    Form("s3://{at}/a b", "a b"),
    Form("s3://{at}/a%20b", "a b"),
    Form("s3://{at}/a%23b", "a#b"),
    Form("s3://{at}/a%3Fb", "a?b"),
    Form("s3://{at}/a%25b", "a%b"),
    Form("s3://{at}/a+b&c=d", "a+b&c=d"),
    Form("s3://{at}/größe/日本", "größe/日本"),
    Form("s3://{at}/back\\slash", "back\\slash"),
    Form("s3://{at}/~tilde", "~tilde"),
    Form("s3://{at}/a#b", None, "write %23"),
    Form("s3://{at}/a?versionId=1", None, "write %3F"),
    Form("s3://{at}/a//b", None, "double slash"),
    Form("s3://{at}//a", None, "double slash"),
    Form("s3://{at}/x/../dots", None, "'..' in a URI"),
    Form("s3://{at}/x/%2e%2e/dots", None, "'..' in a URI"),
    Form("s3://{at}:9000/port", None, "a bucket cannot have a port"),
    Form("s3://user:word@{at}/login", None, "user name or password"),
    Form("s3://", None, "contains no bucket"),
    Form("s3:///{at}/three", None, "contains no bucket"),
    Form("s3:{at}/none", None, "write it as s3://"),
    Form("s3:/{at}/one", None, "write it as s3://"),
    Form(" s3://{at}/space", None, "cannot start or end with spaces"),
    Form("s3://{at}/nul%00", None, "control character"),
    Form("s3://{at}/new%0Aline", None, "control character"),
    Form("s3://{at}/" + "n" * 1000, None, "shorten it"),
    Form("s3://no-such-bucket-{at}/t", None, "does not exist"),
    Form("nowhere://{at}/t", None, "does not support nowhere://"),
]

Reached = Callable[[str], AbstractContextManager[tuple[Any, list[str], str | None]]]
"""Yields a namespace for an address, the identifier of the table to create, and the location to
declare, or None if the root determines it."""


def _storage(s3: GuardedS3 | None) -> dict[str, str]:
    if s3 is None:
        return {}
    return {f"storage.{key}": value for key, value in s3.options().items()}


@contextmanager
def _directory(folder: Path, s3: GuardedS3 | None) -> Iterator[Reached]:
    @contextmanager
    def reach(address: str) -> Iterator[tuple[Any, list[str], str | None]]:
        with connect("dir", {"path": address, **_storage(s3)}) as namespace:
            yield namespace, ["t"], None

    yield reach


def _reach(impl: str, properties: Mapping[str, str], table: list[str]) -> Reached:
    @contextmanager
    def reach(address: str) -> Iterator[tuple[Any, list[str], str | None]]:
        with connect(impl, properties) as namespace:
            yield namespace, table, address

    return reach


@contextmanager
def _sql(folder: Path, s3: GuardedS3 | None) -> Iterator[Reached]:
    properties = {"uri": str(folder / "c.db"), "root": str(folder / "lake"), **_storage(s3)}
    initialize(properties)
    yield _reach("sql", properties, ["t"])


@contextmanager
def _glue(folder: Path, s3: GuardedS3 | None) -> Iterator[Reached]:
    with glue_server() as server:
        properties = {
            "endpoint": server.endpoint,
            "region": "us-east-1",
            "access_key_id": "testing",
            "secret_access_key": "testing",
            "default_namespace_type": "database",
            "root": str(folder / "lake"),
            **_storage(s3),
        }
        name = f"forms_{folder.name.replace('-', '_').lower()}"
        with connect("glue", properties) as namespace:
            namespace.create_namespace({"id": [name]})
        yield _reach("glue", properties, [name, "t"])


@contextmanager
def _unity(folder: Path, s3: GuardedS3 | None) -> Iterator[Reached]:
    with UnityDouble() as server:
        server.add_catalog("main", {})
        properties = {
            "endpoint": server.uri,
            "catalog": "main",
            "root": str(folder / "lake"),
            **_storage(s3),
        }
        with connect("unity", properties) as namespace:
            namespace.create_namespace({"id": ["main", "s"]})
        yield _reach("unity", properties, ["main", "s", "t"])


@contextmanager
def _iceberg(folder: Path, s3: GuardedS3 | None) -> Iterator[Reached]:
    with ExitStack() as stack:
        if s3 is None:
            server = shared_iceberg()
        else:
            (folder / "server").mkdir()
            server = stack.enter_context(IcebergFixture(folder=folder / "server", s3=s3))
        properties = {
            "endpoint": server.endpoint,
            "prefix": "",
            "warehouses": "wh",
            "root": str(folder / "lake"),
            "read_timeout": "600s",
            **_storage(s3),
        }
        name = f"forms_{folder.name.replace('-', '_')}"
        with connect("iceberg", properties) as namespace:
            namespace.create_namespace({"id": ["wh", name]})
        yield _reach("iceberg", properties, ["wh", name, "t"])


@contextmanager
def _hive(folder: Path, s3: GuardedS3 | None) -> Iterator[Reached]:
    with ExitStack() as stack:
        if s3 is None:
            server = shared("2.3")
        else:
            (folder / "server").mkdir()
            server = stack.enter_context(Metastore(RELEASES["2.3"], folder / "server", s3=s3))
        properties = {
            "uri": server.uri,
            "root": str(folder / "lake"),
            "read_timeout": "600s",
            **_storage(s3),
        }
        name = f"forms_{folder.name.replace('-', '_').lower()}"
        with connect("hive2", properties) as namespace:
            namespace.create_namespace({"id": [name]})
        yield _reach("hive2", properties, [name, "t"])


# A path relative to the current directory of this process means nothing to other clients of Hive.
REFUSED_BY = {("hive", "relative/path"): "is neither a URI nor an absolute path"}
BACKENDS = {
    "dir": _directory,
    "sql": _sql,
    "glue": _glue,
    "hive": _hive,
    "unity": _unity,
    "iceberg": _iceberg,
}


@pytest.fixture(scope="module")
def s3() -> Iterator[GuardedS3]:
    with GuardedS3() as running:
        yield running


@pytest.fixture(scope="module")
def results() -> Iterator[dict[tuple[str, str, str], str]]:
    """Collect the outcomes by store, form and backend, and write them to files at the end."""
    found: dict[tuple[str, str, str], str] = {}
    yield found
    path = BUILD / "addresses.json"
    path.parent.mkdir(exist_ok=True)
    known = json.loads(path.read_text()) if path.exists() else []
    merged = {tuple(key): value for key, value in known} | found
    path.write_text(json.dumps([[list(key), value] for key, value in merged.items()]))
    (BUILD / "addresses.md").write_text(as_markdown(merged))


def as_markdown(found: Mapping[tuple[str, ...], str]) -> str:
    """Return a table for each store: a row per form, and a column per backend and for files."""
    columns = [*BACKENDS, "import", "export"]
    lines = []
    for store, forms in (("Local storage", LOCAL), ("S3", S3)):
        lines += [f"## {store}", "", f"| Address | {' | '.join(columns)} | Message |"]
        lines += ["| --- " * (len(columns) + 2) + "|"]
        for form in forms:
            cells = [found.get((store, form.text, column), "-") for column in columns]
            by_message: dict[str, list[str]] = {}
            for column, cell in zip(columns, cells, strict=True):
                if cell not in ("works", "-"):
                    plain = re.sub(r"^\w+ \S*t: (?=address)", "", " ".join(cell.split()))
                    by_message.setdefault(plain[:220].replace("|", "\\|"), []).append(column)
            shown = [
                "works" if cell == "works" else "-" if cell == "-" else "rejected" for cell in cells
            ]
            text = repr(form.text.replace("{at}", "<at>"))[1:-1].replace("|", "\\|")
            text = text if len(text) < 60 else f"{text[:40]}... ({len(form.text)} characters)"
            message = "<br>".join(
                each if len(by_message) == 1 else f"{', '.join(names)}: {each}"
                for each, names in by_message.items()
            )
            lines.append(f"| `{text}` | {' | '.join(shown)} | {message} |")
        lines.append("")
    return "\n".join(lines)


@contextmanager
def _prepared(
    store: str, tmp_path: Path, s3: GuardedS3, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, Mapping[str, str], Callable[[], set[str]], list[Form]]]:
    """Yield the folder or bucket, its options, a function that lists its files, and the forms."""
    lake = tmp_path / "at"
    lake.mkdir()
    if store == "S3":
        s3.clear()
        yield s3.bucket, _storage(s3), s3.objects, S3
        return
    monkeypatch.chdir(lake)
    monkeypatch.setenv("HOME", str(lake))

    def files() -> set[str]:
        return {
            os.path.relpath(os.path.join(folder, name), lake)
            for folder, _, names in os.walk(lake)
            for name in names
        }

    yield str(lake), {}, files, LOCAL


# Hive and Iceberg open every location with Hadoop's client, which takes seconds for each form on S3.
SLOW_ON_S3 = ("hive", "iceberg")


@pytest.mark.parametrize(
    ("backend", "store"),
    [
        pytest.param(
            *(backend, store),
            marks=[pytest.mark.slow] if store == "S3" and backend in SLOW_ON_S3 else [],
        )
        for backend in BACKENDS
        for store in ("Local storage", "S3")
    ],
)
def test_a_table_at_every_form_of_address(
    backend: str,
    store: str,
    tmp_path: Path,
    s3: GuardedS3,
    results: dict[tuple[str, str, str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = []
    with ExitStack() as stack:
        at, _, files, forms = stack.enter_context(_prepared(store, tmp_path, s3, monkeypatch))
        reach = stack.enter_context(BACKENDS[backend](tmp_path, s3 if store == "S3" else None))
        for form in forms:
            before = files()
            address = form.text.replace("{at}", at)
            try:
                folders = _create_use_and_drop(reach, address, files)
            except LanceNamespaceError as error:
                outcome = re.sub(re.escape(at), "<at>", error.message)
                results[store, form.text, backend] = outcome
                refusal = form.message if form.leads_to is None else None
                refusal = REFUSED_BY.get((backend, form.text), refusal)
                if error.code != 13 or refusal is None or refusal not in outcome:
                    wrong.append((form.text[:80], int(error.code), outcome))
                if _listed(reach, at):
                    wrong.append((form.text[:80], "a rejected table is declared"))
            else:
                results[store, form.text, backend] = "works"
                if folders != {form.leads_to}:
                    wrong.append((form.text[:80], folders))
            # Iceberg does not delete its own metadata files from the table's location.
            endings = ("/", ".metadata.json", ".metadata.json.crc")
            if left := {each for each in files() - before if not each.endswith(endings)}:
                wrong.append((form.text[:80], "is not empty after the drop", sorted(left)[:3]))
    assert not wrong, "\n".join(map(str, wrong))


def _listed(reach: Reached, at: str) -> list[str]:
    try:
        with reach(f"s3://{at}/plain" if "/" not in at else f"{at}/plain") as (namespace, table, _):
            return list(namespace.iter_tables(table[:-1], include_declared=True))
    except LanceNamespaceError as error:
        return [error.message]


def _create_use_and_drop(reach: Reached, address: str, files: Callable[[], set[str]]) -> set[str]:
    """Create, use and drop a table; return the folders that contained its versions."""
    with reach(address) as (namespace, table, location):
        if location is not None:
            namespace.declare_table({"id": table, "location": location})
        try:
            namespace.create_table({"id": table}, ROWS)
        except LanceNamespaceError:
            if location is not None:
                namespace.deregister_table({"id": table})
            raise
        assert list(namespace.iter_tables(table[:-1], include_declared=False)) == ["t"]
        found = namespace.describe_table({"id": table, "load_detailed_metadata": True})
        assert found.version == 1
        namespace.insert_into_table({"id": table}, ROWS)
        assert namespace.count_table_rows({"id": table}).count == 6
        assert [each.version for each in namespace.list_table_versions({"id": table}).versions]
        assert namespace.open_table(table).to_table().num_rows == 6
        inside = "/t.lance/" if location is None else "/"
        folders = {
            name.partition(f"{inside}_versions/")[0]
            for name in files()
            if f"{inside}_versions/" in name
        }
        namespace.drop_table({"id": table})
        assert list(namespace.iter_tables(table[:-1], include_declared=True)) == []
    return folders


@pytest.mark.parametrize("store", ["Local storage", "S3"])
def test_files_at_every_form_of_address(
    store: str,
    tmp_path: Path,
    s3: GuardedS3,
    results: dict[tuple[str, str, str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An import reads the file at an address. An export writes it, but only to local storage."""
    wrong = []
    lake = str(tmp_path / "lake")
    with connect("dir", {"path": lake}) as namespace:
        namespace.create_table({"id": ["rows"]}, ROWS)
    with ExitStack() as stack:
        at, storage, _, forms = stack.enter_context(_prepared(store, tmp_path, s3, monkeypatch))
        for number, form in enumerate(forms):
            address = f"{form.text.replace('{at}', at).rstrip('/')}/{number}.csv"
            place = f"{form.leads_to}/{number}.csv"
            if form.leads_to is not None:
                if store == "S3":
                    s3.client().put_object(Bucket=at, Key=place, Body=b"x\n1\n2\n3\n")
                else:
                    (Path(at) / place).parent.mkdir(parents=True, exist_ok=True)
                    csv.write_csv(ROWS, Path(at) / place)
                if "/x/../" in address:
                    (Path(at) / "x").mkdir(exist_ok=True)
            try:
                import_files(
                    None,
                    impl="dir",
                    properties={"path": lake, **storage},
                    table=[f"t{number}"],
                    sources=[address],
                    cores=1,
                )
                results[store, form.text, "import"] = "works"
                if form.leads_to is None:
                    wrong.append((form.text[:80], "import", "works"))
            except LanceNamespaceError as error:
                results[store, form.text, "import"] = re.sub(re.escape(at), "<at>", error.message)
                if form.leads_to is not None or error.code != 13:
                    wrong.append((form.text[:80], "import", int(error.code), error.message))
            done = CliRunner().invoke(
                app,
                ["export", "--impl", "dir", "-p", f"path={lake}", "rows", address, "--overwrite"],
            )
            is_right = (done.exit_code == 0) is (form.leads_to is not None and store != "S3")
            output = re.sub(re.escape(at), "<at>", done.output)
            results[store, form.text, "export"] = "works" if done.exit_code == 0 else output
            if not is_right or (done.exit_code and not isinstance(done.exception, SystemExit)):
                wrong.append(
                    (form.text[:80], "export", done.exit_code, done.output, done.exception)
                )
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("backend", SLOW_ON_S3)
def test_failures_of_the_store_of_a_catalog_server_are_reported(
    backend: str, tmp_path: Path
) -> None:
    """Hive and Iceberg servers open a location themselves; their store's failures are reported."""
    with ExitStack() as stack:
        own = stack.enter_context(GuardedS3())
        address = f"s3://{own.bucket}/t"
        with BACKENDS[backend](tmp_path, own) as reach, reach(address) as reached:
            assert _create_use_and_drop(reach, address, own.objects) == {"t"}
            namespace, table, location = reached
            declaration = {"id": table, "location": location}
            own.refuses = lambda asked: True
            with pytest.raises(PermissionDeniedError, match=own.bucket):
                namespace.declare_table(declaration)
            stack.close()  # the store ends
            with pytest.raises(ServiceUnavailableError, match="Connect"):
                namespace.declare_table(declaration)
            assert list(namespace.iter_tables(table[:-1], include_declared=True)) == []


# --- the root and storage options


def _rooted(impl: str, folder: Path, root: str, storage: Mapping[str, str]) -> dict[str, str]:
    if impl == "dir":
        return {"path": root, **storage}
    properties = {"uri": str(folder / "c.db"), "root": root, **storage}
    initialize({"uri": properties["uri"]})
    return properties


@pytest.mark.parametrize("impl", ["dir", "sql"])
@pytest.mark.parametrize("operation", ["create", "declare"])
def test_a_create_in_a_missing_bucket_declares_nothing(
    impl: str, operation: str, tmp_path: Path, s3: GuardedS3
) -> None:
    """DeclareTable of the SQL catalog does not require the storage: it succeeds with a warning."""
    properties = _rooted(impl, tmp_path, f"s3://missing-{s3.bucket}/lake", _storage(s3))
    with connect(impl, properties) as namespace:
        if operation == "create":
            with pytest.raises(LanceNamespaceError, match="does not exist; create it") as refused:
                namespace.create_table({"id": ["t"]}, ROWS)
        elif impl == "sql":
            with pytest.warns(UserWarning, match="does not exist; create it"):
                namespace.declare_table({"id": ["t"]})
            return
        else:
            with pytest.raises(LanceNamespaceError) as refused:
                namespace.declare_table({"id": ["t"]})
        assert refused.value.code == 13
        if impl == "dir":
            with pytest.raises(LanceNamespaceError, match="does not exist; create it"):
                list(namespace.iter_tables())
        else:
            assert list(namespace.iter_tables()) == []


@pytest.mark.parametrize("impl", ["dir", "sql"])
def test_connect_rejects_plain_http_unless_it_is_allowed(
    impl: str, tmp_path: Path, s3: GuardedS3
) -> None:
    storage = {key: text for key, text in _storage(s3).items() if key != "storage.allow_http"}
    properties = _rooted(impl, tmp_path, f"s3://{s3.bucket}/lake", storage)
    s3.asked.clear()
    with pytest.raises(LanceNamespaceError, match="allow_http=true") as refused:
        connect(impl, properties)
    assert refused.value.code == 13
    assert s3.asked == []


def test_plain_http_for_a_single_table_is_rejected_and_declares_nothing(
    tmp_path: Path, s3: GuardedS3
) -> None:
    own = {key: text for key, text in _storage(s3).items() if key != "storage.allow_http"}
    properties = _rooted("sql", tmp_path, f"s3://{s3.bucket}/lake", {})
    with connect("sql", properties) as namespace:
        for make in (
            lambda: namespace.create_table({"id": ["t"], "properties": own}, ROWS),
            lambda: namespace.declare_table({"id": ["t"], "properties": own}),
        ):
            with pytest.raises(LanceNamespaceError, match="allow_http=true") as refused:
                make()
            assert refused.value.code == 13
            assert list(namespace.iter_tables()) == []


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"])
@pytest.mark.parametrize("manifest", ["true", "false"])
def test_a_store_that_only_the_environment_configures(
    name: str, manifest: str, s3: GuardedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listings, markers and drops use the same server and access key as reads and writes."""
    s3.clear()
    for key, text in {
        name: s3.uri,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "environment",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(key, text)
    with connect("dir", {"path": f"s3://{s3.bucket}/lake", "manifest": manifest}) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        assert list(namespace.iter_tables()) == ["t"]
        described = namespace.describe_table({"id": ["t"], "load_detailed_metadata": True})
        assert described.version == 1
        assert described.storage_options is None  # environment options are not returned
        assert namespace.open_table(["t"]).count_rows() == 3
        namespace.drop_table({"id": ["t"]})
        assert list(namespace.iter_tables()) == []
    assert {each.access_key for each in s3.asked} == {"environment"}
