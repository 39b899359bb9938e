"""Every Python snippet of the documentation runs; the snippets of a page form one script.

Directories and addresses are replaced by those of the test. Everything else runs unchanged. The
script of a page about a catalog uses the same server as the backend's own tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import field, frozen

from lance_namespace_impls import connect
from tests.servers.glue import REGION, glue_server
from tests.servers.hive import shared
from tests.servers.iceberg import IcebergFixture
from tests.servers.ours import server_process
from tests.servers.polaris_tables import PolarisTables
from tests.servers.unity import UnityDouble

from .snippets import ROOT, TUTORIALS, prints, read, snippets

pytestmark = pytest.mark.xdist_group("spread")

ROWS = "import pyarrow as pa\nrows = pa.table({'id': [1, 2, 3]})\n"
RAY = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
LETTERS = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})
PAGES = sorted({each.page for each in snippets("python") if each.is_run} - TUTORIALS.keys())


@frozen(kw_only=True)
class Around:
    """The replacements, additional code, environment and expected output of a page's script."""

    replaced: Mapping[str, str] = field(factory=dict)
    before: str = ""
    after_each: str = ""
    environment: Mapping[str, str] = field(factory=dict)
    prints: str = ""
    """Expected parts of the output in order, separated by …."""


Setting = Callable[[Path], Iterator[Around]]
SETTINGS: dict[str, Setting] = {}


def setting(page: str) -> Callable[[Setting], Setting]:
    """Register the function that prepares a page."""

    def register(make: Setting) -> Setting:
        SETTINGS[f"docs/{page}.md"] = make
        return make

    return register


def create_tables(folder: Path, *names: str) -> None:
    """Create tables in the directory that the snippets call /tmp/lake or /data/lance."""
    with connect("dir", {"path": str(folder / "lake")}) as namespace:
        for name in names:
            namespace.create_table({"id": [name]}, LETTERS)


def readme(folder: Path) -> Iterator[Around]:
    yield Around(
        environment=RAY,
        prints="['letters']…table nothing does not exist…[{'name': 'near'"
        "…[{'id': 2, 'name': 'b'}, {'id': 3, 'name': 'c'}]\n3\n3\n…3\n…|  3|   c|",
    )


SETTINGS["README.md"] = readme


@setting("README")
def home(folder: Path) -> Iterator[Around]:
    uri = shared("4.2").uri
    yield Around(replaced={"thrift://metastore:9083": uri}, prints="['letters']\n3\n")


@setting("filters")
def filters(folder: Path) -> Iterator[Around]:
    yield Around()


@setting("partitioned")
def partitioned(folder: Path) -> Iterator[Around]:
    yield Around(
        prints="id: [[1]]…{1: ['year(ts)', 'month(ts)', 'bucket(16, tenant)'], 2: ['year(ts)'"
    )


@setting("guide")
def guide(folder: Path) -> Iterator[Around]:
    create_tables(folder, "flights")
    lake = repr(str(folder / "lake"))
    # After the sections that work in memory, the page returns to its initial directory.
    yield Around(
        before=ROWS,
        replaced={
            "import lance\n": f"import lance\nnamespace = connect('dir', {{'path': {lake}}})\n"
        },
        prints="[1, 1, 1] ['id', 'name']\n2\n"
        "…'a red apple', '_distance': 0.0}…'a red car', '_distance': 25.0}"
        "…['id_idx', 'text_idx', 'vector_idx']\n…'id': 1…'id': 2…notes\n",
    )


def embedded_letters(rows: int) -> pa.Table:
    """Return letters with vectors and text; every tenth repeats the previous one."""
    numbers = [number - (number % 10 == 9) for number in range(rows)]
    flat = pa.array([(n * 37 + place * 11) % 101 / 101 for n in numbers for place in range(8)])
    vectors = pa.FixedSizeListArray.from_arrays(flat.cast(pa.float32()), 8)
    words = ("storm", "harbor", "winter", "bread", "candle")
    text = [f"letter {n * n} of the {words[n % 5]} and the {words[n % 3]}" for n in numbers]
    return pa.table({"id": range(rows), "text": text, "embedding": vectors})


@setting("spark")
def spark(folder: Path) -> Iterator[Around]:
    flights = pa.table({"day": [date(2024, 1, 1), date(2024, 1, 2)], "price": [5.0, 99.5]})
    with connect("dir", {"path": str(folder / "lake")}) as namespace:
        namespace.create_table({"id": ["flights"]}, flights)
        namespace.create_table({"id": ["letters"]}, embedded_letters(600))
    data = folder / "data"
    data.mkdir()
    (data / "flights-1.csv").write_text("id,name\n1,a\n2,b\n")
    yield Around(replaced={'table=["flights"]': 'table=["imported"]'})


@setting("howto/spark-in-an-hour")
def spark_in_an_hour(folder: Path) -> Iterator[Around]:
    yield Around(prints="10 10\n")


@setting("jobs")
def jobs(folder: Path) -> Iterator[Around]:
    create_tables(folder, "letters")
    yield Around()


@setting("serving/index")
def serving_page(folder: Path) -> Iterator[Around]:
    yield Around()


@setting("rest")
def rest(folder: Path) -> Iterator[Around]:
    create_tables(folder, "letters")
    with server_process({"impl": "dir", "path": str(folder / "lake")}) as (_, uri):
        yield Around(
            replaced={"http://localhost:2333": uri}, prints="10 described concurrently\n2\n"
        )


@setting("glue")
def glue(folder: Path) -> Iterator[Around]:
    with glue_server() as server:
        server.reset()
        yield Around(
            before=ROWS,
            replaced={"s3://my-bucket/lance": str(folder / "lake"), "eu-west-1": REGION},
            environment={
                "AWS_ENDPOINT_URL_GLUE": server.endpoint,
                "AWS_ACCESS_KEY_ID": "AKIATESTKEY",
                "AWS_SECRET_ACCESS_KEY": "not-a-real-secret",
                "AWS_CONFIG_FILE": str(folder / "none"),
                "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
            },
            prints="['orders']\n",
        )


@setting("hive")
def hive(folder: Path) -> Iterator[Around]:
    metastore = shared("4.2")
    sales = ["hive", f"sales_{folder.name}"]
    yield Around(
        before=ROWS,
        replaced={
            "thrift://metastore:9083": metastore.uri,
            "s3a://lake": str(folder / "lake"),
            '"sales"': f'"{sales[1]}"',
        },
        prints="['orders']\n",
    )


@setting("unity")
def unity(folder: Path) -> Iterator[Around]:
    with UnityDouble() as server:
        server.objects[("main",)] = {"properties": {}}
        yield Around(
            before=ROWS, replaced={"http://localhost:8080": server.uri}, prints="['orders']\n"
        )


@setting("iceberg")
def iceberg(folder: Path) -> Iterator[Around]:
    with IcebergFixture(folder=folder) as server:
        yield Around(
            before=ROWS,
            replaced={
                "http://localhost:8181/api": "http://localhost:8181/api",
                '"http://localhost:8181"': f'"{server.endpoint}"',
                '# "prefix"': '"prefix"',
                "s3://bucket/lance": str(folder / "lake"),
            },
            after_each="connect('iceberg', properties).close()\n",
            prints="['orders']\n",
        )


@setting("polaris")
def polaris(folder: Path) -> Iterator[Around]:
    with PolarisTables((folder / "lake").as_uri()) as server:
        yield Around(
            before=ROWS,
            replaced={
                "http://localhost:8181/api/catalog": server.uri,
                '    "credential": "id:secret",\n': "",
            },
            prints="['orders']\n",
        )


@setting("howto/tls-and-proxies")
def tls(folder: Path) -> Iterator[Around]:
    check = "from lance_namespace_impls.rest import RestConfig\n"
    yield Around(after_each=f"{check}RestConfig.from_properties(properties)\n")


@setting("howto/other-tools")
def other_tools(folder: Path) -> Iterator[Around]:
    yield Around(environment=RAY, prints="3\n")


@setting("howto/errors")
def errors(folder: Path) -> Iterator[Around]:
    yield Around(prints="TABLE_NOT_FOUND 4 ")


@setting("howto/workers")
def workers(folder: Path) -> Iterator[Around]:
    yield Around(environment=RAY, prints="499500\n[400, 400, 200]\n[10, 990]\n")


@setting("howto/object-stores")
def object_stores(folder: Path) -> Iterator[Around]:
    yield Around(prints="storage.secret_access_key=***")


@setting("howto/move-tables")
def move_tables(folder: Path) -> Iterator[Around]:
    yield Around(prints="3\n")


@setting("directory")
def directory(folder: Path) -> Iterator[Around]:
    yield Around(prints="['orders']\n")


@setting("memory")
def memory(folder: Path) -> Iterator[Around]:
    yield Around(prints="['orders']\n")


@setting("sql")
def sql(folder: Path) -> Iterator[Around]:
    yield Around(prints="['orders']\n")


@setting("extending")
def extending(folder: Path) -> Iterator[Around]:
    shutil.copy(ROOT / "examples" / "sqlite_catalog.py", folder)
    yield Around(prints="3\n")


def test_every_page_with_python_has_a_setting() -> None:
    assert set(PAGES) == SETTINGS.keys()


@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_of_a_page_run(page: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        around = stack.enter_context(contextmanager(SETTINGS[page])(tmp_path))
        blocks = [each.text for each in read(page, "python") if each.is_run]
        code = "\n".join([around.before, *(block + around.after_each for block in blocks)])
        lake = str(tmp_path / "lake")
        for old, new in {"/tmp/lake": lake, "/data/lance": lake, **around.replaced}.items():
            code = code.replace(old, new)
        script = tmp_path / "page.py"
        script.write_text(code)
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=tmp_path,
            env={**os.environ, **around.environment},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    assert " WARN " not in done.stderr, "Lance warns about an example"
    assert prints(done.stdout, around.prints), done.stdout
