"""Import files from the web, from S3 and from the Hugging Face Hub."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs, parquet
from typer.testing import CliRunner

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableSchemaValidationError,
    UnauthenticatedError,
)
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.distributed.runners import SparkRunner
from lance_namespace_impls.ingest import downloads
from lance_namespace_impls.ingest.file_import import preview_files
from lance_namespace_impls.spark import ImportResult, import_files
from tests.servers.s3 import GuardedS3
from tests.servers.web import Answer, Asked, WebServer
from tests.spark.conftest import Lake

PARTS = 3


def part(number: int) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(pa.table({"n": [number * 2, number * 2 + 1]}), sink)
    return sink.getvalue()


def shard(number: int, split: str = "train") -> str:
    return f"data/{split}-{number:05}-of-{PARTS:05}.parquet"


@pytest.fixture
def site() -> Iterator[tuple[WebServer, dict[str, Answer]]]:
    """Start a web server; return it with its responses by path."""
    has: dict[str, Answer] = {}

    def respond(asked: Asked) -> Answer:
        return has.get(asked.path, Answer(status=404))

    with WebServer(respond) as server:
        yield server, has


Site = tuple[WebServer, dict[str, Answer]]


def bring(lake: Lake, *sources: str, **more: Any) -> ImportResult:
    properties = {**lake.properties, **more.pop("properties", {})}
    return import_files(
        None, impl="dir", properties=properties, table=["t"], sources=sources, cores=1, **more
    )


def numbers(lake: Lake) -> list[int]:
    return sorted(lake.dataset("t").to_table()["n"].to_pylist())


def test_import_of_a_web_file(quiet_lake: Lake, site: Site) -> None:
    server, has = site
    has["/a%20b.csv"] = Answer(body=b"n\n1\n2\n")
    told: list[tuple[str, int, int | None]] = []
    before = set(Path(gettempdir()).glob("lance-import-*"))
    done = bring(
        quiet_lake,
        f"{server.uri}/a%20b.csv?download=true",
        downloading=lambda *each: told.append(each),
    )
    assert (done.rows, done.files, numbers(quiet_lake)) == (2, 1, [1, 2])
    assert told == [("a b.csv", 6, 6)]
    assert len(server.asked) == 1
    assert set(Path(gettempdir()).glob("lance-import-*")) == before


def test_compressed_text_is_read_despite_its_content_encoding(quiet_lake: Lake, site: Site) -> None:
    import gzip

    server, has = site
    has["/a.csv.gz"] = Answer(body=gzip.compress(b"n\n7\n"), headers={"Content-Encoding": "gzip"})
    bring(quiet_lake, f"{server.uri}/a.csv.gz")
    assert numbers(quiet_lake) == [7]


@pytest.mark.parametrize("started", [False, True])
def test_local_spark_reads_downloads(
    lake: Lake, spark: Any, site: Site, started: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, has = site
    has["/a.csv"] = Answer(body=b"n\n1\n")
    ran: list[str] = []
    run = SparkRunner.run

    def noted(self: SparkRunner, name: str, *more: Any) -> list[str]:
        ran.append(name)
        return run(self, name, *more)

    monkeypatch.setattr(SparkRunner, "run", noted)
    assert numbers_of(lake, spark if started else lambda: spark, f"{server.uri}/a.csv") == [1]
    assert ran


def test_downloads_are_not_sent_to_a_cluster(quiet_lake: Lake, site: Site) -> None:
    """The workers of a cluster run on other machines, which do not have the files."""
    server, has = site
    has["/a.csv"] = Answer(body=b"n\n1\n")
    cluster = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://elsewhere:7077"))
    assert numbers_of(quiet_lake, cluster, f"{server.uri}/a.csv") == [1]


def numbers_of(lake: Lake, spark: Any, source: str) -> list[int]:
    """Import a file with Spark, whatever its size, and return the values in the table."""
    import_files(
        spark, impl="dir", properties=lake.properties, table=["t"], sources=[source], small_bytes=-1
    )
    return numbers(lake)


def test_a_numbered_set_of_files(quiet_lake: Lake, site: Site) -> None:
    server, has = site
    has.update({f"/{shard(number)}": Answer(body=part(number)) for number in range(PARTS)})
    done = bring(quiet_lake, f"{server.uri}/data/train-*-of-{PARTS:05}.parquet")
    assert (done.files, numbers(quiet_lake)) == (3, [0, 1, 2, 3, 4, 5])


@pytest.mark.parametrize("pattern", ["data/train-*.parquet", "data"])
def test_a_local_folder_of_splits(quiet_lake: Lake, tmp_path: Path, pattern: str) -> None:
    (tmp_path / "set" / "data").mkdir(parents=True)
    for number in range(PARTS):
        (tmp_path / "set" / shard(number)).write_bytes(part(number))
    (tmp_path / "set" / "data" / "test-00000-of-00001.parquet").write_bytes(part(9))
    bring(quiet_lake, str(tmp_path / "set" / pattern))
    assert numbers(quiet_lake) == [0, 1, 2, 3, 4, 5, *([18, 19] if pattern == "data" else [])]


def hub(server: WebServer, has: dict[str, Answer]) -> None:
    """Configure the server as a Hub with one data set whose listing has two pages."""
    tree, files = "/api/datasets/owner/name/tree/v1%2F2", [*map(shard, range(PARTS))]
    files += [shard(0, "test"), "README.md"]
    for at in ("", "/data"):
        listed = [
            {"type": "file", "path": file, "size": 1}
            for file in files
            if file.startswith(at.strip("/"))
        ]
        next_page = f"{server.uri}{tree}{at}/more"
        has[tree + at] = Answer(
            body=[{"type": "directory", "path": "data", "size": 0}, *listed[:2]],
            headers={"Link": f'<{next_page}>; rel="next"'},
        )
        has[f"{tree}{at}/more"] = Answer(body=listed[2:])
    for number, file in enumerate(files[:-1]):
        has[f"/datasets/owner/name/resolve/v1%2F2/{file}"] = Answer(
            status=302, headers={"Location": f"/cdn/{number}"}
        )
        has[f"/cdn/{number}"] = Answer(body=part(number))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/data/train-*.parquet", [0, 1, 2, 3, 4, 5]),
        ("/data/test-00000-of-00003.parquet", [6, 7]),
        ("/data", list(range(8))),
        ("", list(range(8))),
    ],
)
def test_a_hub_data_set(
    quiet_lake: Lake, site: Site, monkeypatch: pytest.MonkeyPatch, path: str, found: list[int]
) -> None:
    server, has = site
    hub(server, has)
    monkeypatch.setenv("HF_ENDPOINT", server.uri)
    monkeypatch.setenv("HF_TOKEN", "hunter2")
    bring(quiet_lake, f"hf://datasets/owner/name@v1%2F2{path}")
    assert numbers(quiet_lake) == found
    assert {each.headers.get("authorization") for each in server.asked} == {"Bearer hunter2"}


def test_the_hub_token_is_sent_only_to_the_hub(
    quiet_lake: Lake, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, has = site
    hub(server, has)
    monkeypatch.setenv("HF_ENDPOINT", server.uri)
    monkeypatch.setenv("HF_TOKEN", "hunter2")
    with WebServer(lambda asked: Answer(body=part(5))) as elsewhere:
        has[f"/datasets/owner/name/resolve/v1%2F2/{shard(0)}"] = Answer(
            status=302, headers={"Location": f"{elsewhere.uri}/file"}
        )
        bring(quiet_lake, f"hf://datasets/owner/name@v1%2F2/{shard(0)}")
        assert [each.headers.get("authorization") for each in elsewhere.asked] == [None]
    assert numbers(quiet_lake) == [10, 11]


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (Answer(status=404), InvalidInputError, "file not found (HTTP 404)"),
        (Answer(status=401), UnauthenticatedError, "the server returned HTTP 401"),
        (Answer(status=403), PermissionDeniedError, "the server returned HTTP 403"),
        (Answer(status=501), ServiceUnavailableError, "the server returned HTTP 501"),
        (Answer(body=part(1), cut=True), ServiceUnavailableError, "the download was interrupted"),
        (Answer(body=b"<html>not here</html>"), TableSchemaValidationError, "arquet"),
        (
            Answer(status=302, headers={"Location": "file:///etc/passwd"}),
            InvalidInputError,
            "the server redirects to file, which is not followed",
        ),
        (
            Answer(status=302, headers={"Location": "/a.parquet"}),
            InvalidInputError,
            "more than 10 redirects",
        ),
    ],
)
def test_unexpected_responses_are_reported(
    quiet_lake: Lake, site: Site, answer: Answer, kind: type[LanceNamespaceError], text: str
) -> None:
    server, has = site
    has["/a.parquet"] = answer
    address = f"{server.uri}/a.parquet"
    with pytest.raises(kind) as caught:
        bring(quiet_lake, f"{address}?v=hunter2")
    message = caught.value.message
    assert type(caught.value) is kind
    assert message.startswith(f"{address}: ")
    assert text in message
    assert "\n" not in message
    assert "hunter2" not in message
    assert not quiet_lake.root.joinpath("t.lance").exists()


@pytest.mark.parametrize(
    ("mark", "later", "found", "ranges"),
    [
        ('"1"', '"1"', [1, 2, 3], [None, "bytes=4-", "bytes=6-"]),
        ('"1"', '"2"', [4, 5, 6], [None, "bytes=4-"]),
        ('W/"1"', 'W/"1"', [4, 5, 6], [None, None]),
    ],
    ids=["the same", "changed", "not told"],
)
def test_an_interrupted_download_resumes(
    quiet_lake: Lake, mark: str, later: str, found: list[int], ranges: list[str | None]
) -> None:
    old, new = b"n\n1\n2\n3\n", b"n\n4\n5\n6\n"

    def respond(asked: Asked) -> Answer:
        given = asked.headers.get("range")
        if len(server.asked) == 1:
            return Answer(body=old, headers={"ETag": mark}, cut=True)
        if given is None or asked.headers["if-range"] != later:
            return Answer(body=new, headers={"ETag": later})
        start = int(given.removeprefix("bytes=").removesuffix("-"))
        return Answer(
            status=206,
            body=old[start:],
            headers={"ETag": later, "Content-Range": f"bytes {start}-7/8"},
            cut=len(server.asked) == 2,
        )

    with WebServer(respond) as server:
        bring(quiet_lake, f"{server.uri}/a.csv")
        assert [asked.headers.get("range") for asked in server.asked] == ranges
    assert numbers(quiet_lake) == found


def test_a_server_that_is_not_there(quiet_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with WebServer() as server:
        address = f"{server.uri}/a.csv"
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(ServiceUnavailableError, match="the server cannot be reached") as caught:
        bring(quiet_lake, address)
    assert caught.value.message.startswith(f"{address}: ")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("https://me:hunter2@host/a.csv", "contains credentials"),
        ("https://hunter2@host/a.csv", "contains credentials"),
        ("https://host/a.csv?v=1&X-Amz-Signature=hunter2", "contains credentials"),
        ("s3://key:hunter2@bucket/a.csv", "contains credentials"),
        ("https://host/data/train-*.parquet", "web servers do not list files"),
        ("https://host/data", "the file name has no known extension"),
        (
            "hf://owner/name/data",
            "a Hub address must have the form hf://datasets/OWNER/NAME",
        ),
    ],
)
def test_invalid_source_addresses_are_rejected(quiet_lake: Lake, source: str, text: str) -> None:
    with pytest.raises(InvalidInputError, match=text) as caught:
        bring(quiet_lake, source)
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("body", [b"n\n1\n2\n", b"n\n" + b"1\n" * 100])
def test_downloads_have_a_size_limit(
    quiet_lake: Lake, site: Site, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    server, has = site
    has["/a.csv"] = has["/b.csv"] = Answer(body=body)
    monkeypatch.setattr(downloads, "MAX_BYTES", 10)
    with pytest.raises(InvalidInputError, match="too large to download: the import has room"):
        bring(quiet_lake, f"{server.uri}/a.csv", f"{server.uri}/b.csv")


@pytest.fixture(scope="module")
def s3() -> Iterator[GuardedS3]:
    with GuardedS3() as server:
        options = {"access_key": "testing", "secret_key": "testing", "region": "us-east-1"}
        store = fs.S3FileSystem(
            endpoint_override=server.uri.removeprefix("http://"), scheme="http", **options
        )
        for number in range(PARTS):
            with store.open_output_stream(f"{server.bucket}/set/{shard(number)}") as file:
                file.write(part(number))
        yield server


def by_property(storage: dict[str, str]) -> dict[str, Any]:
    return {"properties": storage}


def by_option(storage: dict[str, str]) -> dict[str, Any]:
    other = {"storage.aws_endpoint": "http://127.0.0.1:1", "storage.allow_http": "true"}
    return {"options": storage, "properties": other}


@pytest.mark.parametrize("path", ["set", "set/data/train-*.parquet"])
@pytest.mark.parametrize("given", [by_property, by_option])
def test_files_in_s3(
    quiet_lake: Lake, s3: GuardedS3, path: str, given: Callable[[dict[str, str]], dict[str, Any]]
) -> None:
    storage = {f"storage.{key}": value for key, value in s3.options("reader").items()}
    s3.asked.clear()
    bring(quiet_lake, f"s3://{s3.bucket}/{path}", **given(storage))
    assert numbers(quiet_lake) == [0, 1, 2, 3, 4, 5]
    assert {each.access_key for each in s3.asked} == {"reader"}


def test_an_s3_rejection_is_reported_in_one_line(
    quiet_lake: Lake, s3: GuardedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "refuses", lambda asked: True)
    storage = {f"storage.{key}": value for key, value in s3.options("reader").items()}
    source = f"s3://{s3.bucket}/set"
    with pytest.raises(PermissionDeniedError) as caught:
        bring(quiet_lake, source, properties=storage)
    assert source in caught.value.message
    assert "\n" not in caught.value.message


def test_the_command_line_accepts_an_address(quiet_lake: Lake, site: Site) -> None:
    server, has = site
    has["/a.parquet"] = Answer(body=part(0))
    own = ["--impl", "dir", "-p", f"path={quiet_lake.root}"]
    done = CliRunner().invoke(app, ["import", "t", f"{server.uri}/a.parquet", *own])
    assert done.exit_code == Status.OK, done.output
    assert done.output.startswith("table t: 2 rows imported\n")
    lost = CliRunner().invoke(app, ["import", "u", f"{server.uri}/b.parquet", *own])
    assert lost.exit_code != Status.OK
    assert lost.output == (
        f"error 13 InvalidInput: {server.uri}/b.parquet: file not found (HTTP 404)\n"
    )


def test_a_preview_of_an_address(quiet_lake: Lake, site: Site) -> None:
    server, has = site
    has["/a.parquet"] = Answer(body=part(0))
    found = preview_files(
        impl="dir",
        properties=quiet_lake.properties,
        table=["t"],
        sources=[f"{server.uri}/a.parquet"],
    )
    assert (found.files, found.schema) == (1, pa.schema({"n": pa.int64()}))
