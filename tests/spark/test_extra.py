"""Without PySpark, the Spark package can be imported, and its functions name the missing extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect, spark
from lance_namespace_impls.catalog.namespace import Namespace

NOBODY: Any = None
CALLS: dict[str, Callable[[Namespace], object]] = {
    "write_table": lambda namespace: spark.write_table(NOBODY, namespace, "t"),
    "read_table": lambda namespace: spark.read_table(NOBODY, namespace, "t"),
    "add_columns": lambda namespace: spark.add_columns(NOBODY, namespace, "t", {"a": "1"}),
    "local_session": lambda _: spark.local_session("tests"),
    "sql_catalog": lambda _: spark.sql_catalog(NOBODY, "lake", "memory"),
}


@pytest.fixture(scope="module")
def namespace() -> Iterator[Namespace]:
    with connect("memory", {}) as found:
        yield found


@pytest.mark.parametrize("name", CALLS)
def test_without_pyspark_the_error_names_the_extra_to_install(
    name: str, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_spec
    known = "lance_namespace_impls.spark.extra.find_spec"
    monkeypatch.setattr(known, lambda wanted: None if wanted == "pyspark" else found(wanted))
    with pytest.raises(InvalidInputError, match=r"pip install 'lance-namespace-kit\[spark\]'"):
        CALLS[name](namespace)


def test_every_name_is_loaded_from_its_module() -> None:
    packages = ("spark", "ingest", "maintenance", "distributed")
    for name in spark.__all__:
        assert getattr(spark, name).__module__.split(".")[1] in packages
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        spark.nothing  # noqa: B018
