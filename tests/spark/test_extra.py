"""What is there of Spark's part before Spark itself is, and what is said where PySpark is missing."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect, spark

NAMESPACE = connect("memory", {})
NOBODY: Any = None
CALLS: dict[str, Callable[[], object]] = {
    "write_table": lambda: spark.write_table(NOBODY, NAMESPACE, "t"),
    "read_table": lambda: spark.read_table(NOBODY, NAMESPACE, "t"),
    "add_columns": lambda: spark.add_columns(NOBODY, NAMESPACE, "t", {"a": "1"}),
    "local_session": lambda: spark.local_session("tests"),
    "sql_catalog": lambda: spark.sql_catalog(NOBODY, "lake", "memory"),
}


@pytest.mark.parametrize("name", CALLS)
def test_without_pyspark_the_way_to_install_it_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find_spec
    known = "lance_namespace_impls.spark.extra.find_spec"
    monkeypatch.setattr(known, lambda wanted: None if wanted == "pyspark" else found(wanted))
    with pytest.raises(InvalidInputError, match=r"pip install 'lance-namespace-kit\[spark\]'"):
        CALLS[name]()


def test_every_name_is_loaded_from_its_module() -> None:
    for name in spark.__all__:
        assert getattr(spark, name).__module__.startswith(spark.__name__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        spark.nothing  # noqa: B018
