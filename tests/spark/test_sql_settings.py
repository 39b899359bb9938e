"""The settings that `sql_catalog` adds to a builder, and those that it leaves unchanged."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.loopback import LoopbackServer
from lance_namespace_impls.spark import sql_catalog
from lance_namespace_impls.spark.sql import EXTENSIONS, OWN_CATALOG_CLASS, _configure, _settings

JARS = ["/jars/a.jar", "/jars/b.jar"]
REDACTION = "spark.redaction.regex"


class Builder:
    """A session builder that records its settings."""

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
def test_jars_precede_existing_jars(key: str) -> None:
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


def test_a_custom_redaction_pattern_is_kept() -> None:
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


@pytest.fixture
def jar(monkeypatch: pytest.MonkeyPatch) -> str:
    """Simulate an installation that has the jar, and return the jar's path."""
    monkeypatch.setattr("lance_namespace_impls.spark.sql.pushdown_jar", lambda: "/kit.jar")
    return "/kit.jar"


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, "/kit.jar"), ("/own.jar", "/own.jar,/kit.jar"), ("/kit.jar", "/kit.jar")],
)
def test_on_spark_4_a_builder_has_the_jar_and_the_properties(
    jar: str, before: str | None, after: str, tmp_path: Any
) -> None:
    builder = Builder(**({"spark_jars": before} if before else {}))
    properties = {"path": str(tmp_path), "manifest": True, "storage.api_key": "hidden"}
    catalog = sql_catalog(builder, "lake", "dir", properties, settings={"splits": "3"})  # type: ignore[arg-type]
    assert catalog.address is None
    found = dict(builder._options)
    assert found.pop("spark.jars") == after
    redacted = re.compile(found.pop(REDACTION))
    assert found == {
        "spark.sql.catalog.lake": OWN_CATALOG_CLASS,
        "spark.sql.catalog.lake.impl": "dir",
        "spark.sql.catalog.lake.path": str(tmp_path),
        "spark.sql.catalog.lake.manifest": "true",
        "spark.sql.catalog.lake.storage.api_key": "hidden",
        "spark.sql.catalog.lake.splits": "3",
    }
    assert [key for key in found if redacted.search(key)] == [
        "spark.sql.catalog.lake.storage.api_key"
    ]


@pytest.mark.parametrize(
    ("impl", "properties", "named"),
    [
        ("dir", {"no_such": "1"}, "no_such"),
        ("no_such", {}, "no_such"),
        ("dir", {"path": "/x", "version": "3"}, "VERSION AS OF"),
        ("dir", {"path": "/x", "splits": "0"}, "splits"),
        ("dir", {"path": "s3://key:secret@bucket/x"}, "storage"),
    ],
)
def test_on_spark_4_a_wrong_property_is_rejected(
    jar: str, impl: str, properties: dict[str, str], named: str
) -> None:
    builder = Builder()
    with pytest.raises(InvalidInputError, match=named):
        sql_catalog(builder, "lake", impl, properties)  # type: ignore[arg-type]
    assert builder._options == {}
