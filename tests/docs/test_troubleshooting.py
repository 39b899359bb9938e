"""Every message on the troubleshooting page is reproduced exactly, and has advice.

A message without a reproduction fails, and so does a reproduction without a message.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_namespace_kit
from lance_namespace_client.errors import ErrorCode, LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server import ServerOptions, TokenFile, new_token, serving
from tests.catalog.staging import stage
from tests.servers.ports import free_port
from tests.servers.s3 import GuardedS3
from tests.servers.web import Answer, WebServer

PAGE = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text("utf-8")
BLOCK = re.compile(
    r"(?:^### (?P<code>\d+) \w+\n\n)?^```text\n(?P<text>.+)\n```\n\n(?P<advice>[\w`].*)",
    re.MULTILINE,
)
MESSAGES = list(BLOCK.finditer(PAGE))
ORDERS = ["sales", "orders"]
ROWS = pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]})


class Lake:
    """A directory with a table, and the resources that reproduce a failure."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        self.folder = folder
        self.patch = patch
        self.stack = stack

    def connect(self, impl: str, **properties: str) -> Namespace:
        return self.stack.enter_context(connect(impl, properties))

    @property
    def filled(self) -> Namespace:
        namespace = self.connect("dir", path=str(self.folder / "lake"), manifest="true")
        namespace.create_namespace({"id": ["sales"]})
        namespace.table(ORDERS).create(ROWS)
        return namespace

    def in_s3(self, impl: str, key: str) -> tuple[Namespace, GuardedS3]:
        store = self.stack.enter_context(GuardedS3())
        options = {f"storage.{name}": value for name, value in store.options().items()}
        namespace = self.connect(impl, **{key: f"s3://{store.bucket}/lake"}, **options)
        namespace.table("orders").create(ROWS)
        return namespace, store


Failing = Callable[[Lake], object]
REPRODUCED: dict[str, Failing] = {}


def reproduces(*starts: str) -> Callable[[Failing], Failing]:
    """Register a function that fails with the message of a code, or with a message by its start."""

    def register(failing: Failing) -> Failing:
        REPRODUCED.update(dict.fromkeys(starts, failing))
        return failing

    return register


def on_orders(operation: str, **request: Any) -> Failing:
    return lambda lake: getattr(lake.filled, operation)({"id": ORDERS, **request})


def twice(operation: str, **request: Any) -> Failing:
    def failing(lake: Lake) -> None:
        namespace = lake.filled
        for _ in range(2):
            getattr(namespace, operation)({"id": ORDERS, **request})

    return failing


REPRODUCED |= {
    "0": on_orders("refresh_materialized_view"),
    "1": lambda lake: lake.filled.describe_namespace({"id": ["sale"]}),
    "2": lambda lake: lake.filled.create_namespace({"id": ["sales"]}),
    "3": lambda lake: lake.filled.drop_namespace({"id": ["sales"]}),
    "4": lambda lake: lake.filled.describe_table({"id": ["sales", "order"]}),
    "5": lambda lake: lake.filled.table(ORDERS).create(ROWS),
    "6": on_orders("drop_table_index", index_name="id"),
    "7": twice("create_table_scalar_index", column="id", index_type="BTREE"),
    "8": on_orders("get_table_tag_version", tag="first"),
    "9": twice("create_table_tag", tag="first", version=1),
    "10": lambda lake: lake.connect("memory").describe_transaction({"id": ["2f6a"]}),
    "11": on_orders("describe_table", version=9, load_detailed_metadata=True),
    "12": on_orders("alter_table_drop_columns", columns=["nmae"]),
    "13": lambda lake: lake.filled.table(["sales", "a$b"]).create(ROWS),
    "20": lambda lake: lake.filled.insert_into_table({"id": ORDERS}, pa.table({"nmae": ["d"]})),
    "22": on_orders("delete_table_branch", name="trial"),
    "23": twice("create_table_branch", name="trial"),
    "dir: property": lambda lake: lake.connect("dir", paht="/data"),
}


@reproduces("14")
def overtaken(lake: Lake) -> None:
    namespace = lake.connect("memory", managed="true", root=str(lake.folder / "root"))
    namespace.table("orders").create(ROWS)
    first, second = (stage(namespace, "orders", ROWS) for _ in range(2))
    namespace.create_table_version(first)
    namespace.create_table_version(second)


@reproduces("15")
def rejected_by_the_store(lake: Lake) -> None:
    namespace, store = lake.in_s3("dir", "path")
    store.refuses = lambda asked: True
    namespace.table("orders").add(ROWS)


@reproduces("16")
def with_a_wrong_token(lake: Lake) -> None:
    file = lake.folder / "tokens.toml"
    file.write_text(new_token("ana").entry)
    options = ServerOptions(callers=[TokenFile(file)])
    uri = lake.stack.enter_context(serving(lake.connect("memory"), options))
    lake.connect("rest", uri=uri, auth_token="lns_other").list_tables()


@reproduces("17")
def without_a_server(lake: Lake) -> None:
    lake.connect("rest", uri=f"http://127.0.0.1:{free_port()}", max_retries="0").list_tables()


@reproduces("18")
def a_drop_that_cannot_delete(lake: Lake) -> None:
    namespace, store = lake.in_s3("memory", "root")
    store.refuses = lambda asked: asked.path.endswith("/data/.lance-reserved")
    namespace.drop_table({"id": ["orders"]})


@reproduces("19")
def without_data(lake: Lake) -> None:
    namespace = lake.filled
    namespace.declare_table({"id": ["later"]})
    namespace.count_table_rows({"id": ["later"]})


@reproduces("21")
def too_many_requests(lake: Lake) -> None:
    server = lake.stack.enter_context(WebServer(lambda asked: Answer(status=429)))
    lake.connect("rest", uri=server.uri, max_retries="0").list_tables()


@reproduces("lance-namespace-impls in")
def two_packages(lake: Lake) -> None:
    for name in ("lance_namespace_kit-1.0.0", "lance_namespace_impls-0.4.2"):
        (lake.folder / f"{name}.dist-info").mkdir()
    lake.patch.setattr(sys, "path", [str(lake.folder)])
    lance_namespace_kit.refuse_namesake()


@reproduces("cannot import name")
def a_package_without_its_first_file(lake: Lake) -> None:
    (lake.folder / "lance_namespace_impls").mkdir()
    code = f"import sys; sys.path = {[str(lake.folder)]}; from lance_namespace_impls import connect"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    raise ImportError(done.stderr.splitlines()[-1].removeprefix("ImportError: "))


@reproduces("impl 'glue' needs")
def without_an_extra(lake: Lake) -> None:
    for name in list(sys.modules):
        if name.startswith(("botocore", "lance_namespace_impls.glue")):
            lake.patch.delitem(sys.modules, name)
    lake.patch.setitem(sys.modules, "botocore", None)
    lake.connect("glue")


def key_of(message: re.Match[str]) -> str:
    """Return the key of a message in `REPRODUCED`: its code, or otherwise its start."""
    if message["code"]:
        return message["code"]
    return next((start for start in REPRODUCED if message["text"].startswith(start)), "")


@pytest.mark.parametrize("message", MESSAGES, ids=[each["text"][:30] for each in MESSAGES])
def test_a_message_is_reproduced_exactly(
    message: re.Match[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        ExitStack() as stack,
        monkeypatch.context() as patch,
        pytest.raises((LanceNamespaceError, ImportError)) as caught,
    ):
        REPRODUCED[key_of(message)](Lake(tmp_path, patch, stack))
    said = str(getattr(caught.value, "message", caught.value))
    assert re.fullmatch(".+".join(map(re.escape, message["text"].split("…"))), said), said
    if message["code"]:
        assert caught.value.code == int(message["code"])


def test_every_code_and_every_reproduction_has_a_message() -> None:
    codes = {str(int(code)) for code in ErrorCode}
    assert {each["code"] for each in MESSAGES} == {*codes, None}
    assert {key_of(each) for each in MESSAGES} == set(REPRODUCED)
    assert PAGE.count("```text") == len(MESSAGES), "a message without advice below it"
