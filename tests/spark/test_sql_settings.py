"""What `sql_catalog` adds to a builder's settings, and what it leaves as it is."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lance_namespace_impls import connect
from lance_namespace_impls.catalog.loopback import LoopbackServer
from lance_namespace_impls.spark.sql import EXTENSIONS, _configure, _settings

JARS = ["/jars/a.jar", "/jars/b.jar"]
REDACTION = "spark.redaction.regex"


class Builder:
    """A builder of a session that keeps what it is told."""

    def __init__(self, **options: str) -> None:
        self._options = {key.replace("_", "."): value for key, value in options.items()}

    def config(self, key: str, value: str) -> None:
        self._options[key] = value


def configured(builder: Builder, settings: dict[str, str] | None = None) -> dict[str, str]:
    _configure(builder, JARS, settings or {})
    return builder._options


def server() -> LoopbackServer:
    return LoopbackServer(address="http://127.0.0.1:1", token="hidden")


@pytest.mark.parametrize("key", ["spark.driver.extraClassPath", "spark.executor.extraClassPath"])
def test_jars_come_before_those_that_are_there(key: str) -> None:
    assert configured(Builder())[key] == "/jars/a.jar:/jars/b.jar"
    builder = Builder()
    builder.config(key, "/own.jar")
    assert configured(builder)[key] == "/jars/a.jar:/jars/b.jar:/own.jar"


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, EXTENSIONS), ("own.Ext", f"own.Ext,{EXTENSIONS}"), (EXTENSIONS, EXTENSIONS)],
)
def test_extensions_are_added_once(before: str | None, after: str) -> None:
    builder = Builder(**({"spark_sql_extensions": before} if before else {}))
    assert configured(builder)["spark.sql.extensions"] == after


def test_spark_hides_the_token_of_the_server(tmp_path: Any) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        settings = _settings("lance", namespace, server())
    found = configured(Builder(), settings)
    (secret,) = (key for key, value in found.items() if "hidden" in value)
    assert re.search(found[REDACTION], secret)
    for key in ("fs.s3a.secret.key", "db.password", "an.auth.token", "s3.access.key"):
        assert re.search(found[REDACTION], key), key
    assert not re.search(found[REDACTION], "spark.sql.catalog.lance.uri")


def test_what_a_user_has_spark_hide_stays() -> None:
    assert configured(Builder(spark_redaction_regex="mine"))[REDACTION] == "mine"


@pytest.mark.parametrize(("properties", "flat"), [({}, True), ({"manifest": "true"}, False)])
def test_a_flat_catalog_gets_a_namespace_for_spark(
    properties: dict[str, str], flat: bool, tmp_path: Any
) -> None:
    with connect("dir", {"path": str(tmp_path), **properties}) as namespace:
        settings = _settings("lance", namespace, server())
    assert settings.pop("spark.sql.catalog.lance.single_level_ns", None) == (
        "true" if flat else None
    )
    assert settings["spark.sql.catalog.lance.uri"] == "http://127.0.0.1:1"
    assert settings["spark.sql.catalog.lance.impl"] == "rest"
