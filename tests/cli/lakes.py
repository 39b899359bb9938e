"""Namespaces for tests of lance-ns, and helpers that run lance-ns in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from typer.testing import CliRunner, Result

from lance_namespace_client.errors import error_for
from lance_namespace_client.models import ListNamespacesRequest, ListTablesRequest
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.core.config import option
from lance_namespace_impls.memory import MemoryConfig, MemoryNamespace

ROWS = pa.table({"carrier": ["AA", "B6", "UA"], "delay": [1.5, None, 12.0]})


SECRET = "s3cr3t-value"


def two_per_page(model: Any, request: Any) -> Any:
    return attrs.evolve(model.coerce(request), limit=2)


class NestedNamespace(MemoryNamespace):
    """A catalog with namespaces at any level, and with two names on each page."""

    def list_tables(self, request: Any) -> Any:
        return super().list_tables(two_per_page(ListTablesRequest, request))

    def list_namespaces(self, request: Any) -> Any:
        return super().list_namespaces(two_per_page(ListNamespacesRequest, request))

    def list_all_tables(self, request: Any) -> Any:
        return super().list_all_tables(two_per_page(ListTablesRequest, request))


@attrs.define(kw_only=True)
class FailingConfig(MemoryConfig):
    impl: ClassVar[str] = "failing"

    code: int | None = option(default=None, doc="error code of every listing")
    api_key: str | None = option(default=None, secret=True, doc="something to keep quiet about")


class FailingNamespace(MemoryNamespace):
    """A catalog in which every listing of tables fails."""

    config_type = FailingConfig
    config: FailingConfig

    def list_tables(self, request: Any) -> Any:
        if self.config.code is None:
            raise RuntimeError(f"first line\nsecond \x1b[31mline with {self.config.api_key}")
        raise error_for(self.config.code, f"refused: {self.config.api_key}")


def impl_of(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__name__}"


def run(*args: str, status: int = 0, env: dict[str, str] | None = None) -> Result:
    result = CliRunner().invoke(app, args, env=env)
    assert result.exit_code == status, result.output
    if status:
        assert len(result.stderr.splitlines()) == 1, result.stderr
    return result


class Lake:
    """A namespace for a test, with the command line options that select it."""

    def __init__(self, impl: str, **properties: str) -> None:
        self.options = ["--impl", impl]
        for key, value in properties.items():
            self.options += ["-p", f"{key}={value}"]

    def connect(self) -> Namespace:
        return connect(self.options[1], dict(each.split("=", 1) for each in self.options[3::2]))

    def run(self, *args: str, status: int = 0) -> Result:
        return run(*args, *self.options, status=status)

    def json(self, *args: str) -> Any:
        return json.loads(self.run(*args, "--json").stdout)

    def error(self, *args: str, status: int) -> str:
        result = self.run(*args, status=status)
        assert result.stdout == ""
        return result.stderr.strip()


def write_file(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
