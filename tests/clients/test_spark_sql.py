"""Spark SQL on any catalog, through lance-spark and a server in the driver."""

from __future__ import annotations

import re
import subprocess
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import lance
import pytest

from lance_namespace_client.errors import InvalidInputError, ServiceUnavailableError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.loopback import find_loopback_server
from lance_namespace_impls.spark import sql_catalog
from lance_namespace_impls.spark.jars import lance_spark_jars
from lance_namespace_impls.spark.sql import _settings
from tests.servers.http_client import http_client

from .backends import Home, on_backends
from .outcomes import compare
from .spark_calls import CALLS, MAKE
from .spark_sql import OWN, run_sql


def _previous_location(home: Home, new: str) -> str:
    """Return the location of the table that a new one with the same name replaced."""
    if home.properties.get("manifest"):
        # Each table has its own directory with a random name.
        (found,) = (
            each.parent
            for each in Path(home.properties["path"]).glob("*_db$t/_versions")
            if each.parent.name != Path(new).name
        )
        return str(found)
    return re.sub(r"-[0-9a-f]{8}(?=(\.lance)?$)", "", new)


def _script(namespace: str) -> list[tuple[str, str]]:
    """Return the statements, each with the name of its call."""
    found = []
    for number, (name, call) in enumerate(CALLS.items()):
        names = {
            "catalog": "lake",
            "ns": namespace,
            "name": f"t{number}",
            "t": f"{namespace}.t{number}",
        }
        names["new"] = f"{namespace}.n{number}"
        statements = [MAKE, *call.statements] if call.on_table else call.statements
        found += [(name, statement.format(**names)) for statement in statements]
    return found


def _outcomes(
    script: list[tuple[str, str]], found: list[tuple[list[list[Any]] | None, str | None]]
) -> dict[str, str | None]:
    """Return the first failure of each call, or None."""
    outcomes: dict[str, str | None] = dict.fromkeys(CALLS)
    last: dict[str, list[list[Any]] | None] = {}
    for (name, _), (rows, failure) in zip(script, found, strict=True):
        outcomes[name] = outcomes[name] or failure
        last[name] = rows
    for name, call in CALLS.items():
        if outcomes[name] is None and call.rows not in (None, last[name]):
            outcomes[name] = f"gave {last[name]}"
    return outcomes


@cache
def _control() -> dict[str, str | None]:
    """Return the outcomes of lance-spark on its own directory catalog."""
    script = _script("lake.db")
    with TemporaryDirectory() as folder:
        made, *found = run_sql(
            OWN, {"root": folder}, ["CREATE NAMESPACE lake.db", *(each for _, each in script)]
        )
    assert made[1] is None
    return _outcomes(script, found)


@on_backends()
def test_sql_behaves_as_on_lance_sparks_directory(home: Home) -> None:
    """Both parts run in one session, because a session takes long to start."""
    namespace = ".".join(("lake", *(home.identifier or ("default",))))
    t, script = f"{namespace}.t", _script(namespace)
    statements = {
        f"CREATE TABLE {t} AS SELECT id, id * 2 AS x FROM range(5)": [],
        f"SELECT sum(x) FROM {t}": [[20]],
        f"INSERT INTO {t} VALUES (9, 9)": [],
        f"SELECT count(*) FROM {t} WHERE id > 3": [[2]],
        f"MERGE INTO {t} USING (SELECT 9L AS id, 90L AS x) AS s ON {t}.id = s.id "
        "WHEN MATCHED THEN UPDATE SET x = s.x": [],
        f"SELECT x FROM {t} WHERE id = 9": [[90]],
        f"UPDATE {t} SET x = 1 WHERE id = 0": [],
        f"DELETE FROM {t} WHERE id = 1": [],
        f"SELECT id, x FROM {t} ORDER BY id LIMIT 2": [[0, 1], [2, 4]],
        f"DROP TABLE {t}": [],
        f"CREATE TABLE {t} (id BIGINT)": [],
        f"SELECT count(*) FROM {t}": [[0]],
    }
    found = run_sql(home.impl, home.properties, [*statements, *(each for _, each in script)])
    for (statement, wanted), (rows, failure) in zip(statements.items(), found, strict=False):
        assert failure is None, f"{statement}: {failure}"
        assert rows == wanted or not wanted, statement
    assert home.namespace.count_table_rows({"id": [*home.identifier, "t"]}).count == 0
    # DROP TABLE removes the table from the catalog, but keeps its data.
    new = home.namespace.describe_table({"id": [*home.identifier, "t"]})
    assert new.location is not None
    place = _previous_location(home, new.location)
    assert place != new.location
    assert lance.dataset(place, storage_options=new.storage_options).count_rows() == 5
    outcomes = _outcomes(script, found[len(statements) :])
    compare("lance-spark", home.name, _control(), outcomes, set())


@pytest.mark.parametrize("name", ["", "a.b", "a b"])
def test_an_invalid_catalog_name_is_rejected(name: str) -> None:
    from pyspark.sql import SparkSession

    with pytest.raises(InvalidInputError, match="cannot be the name of a catalog"):
        sql_catalog(SparkSession.builder, name, "dir", {"path": "unused"})


def test_only_the_session_reaches_the_server(tmp_path: Path) -> None:
    with ExitStack() as resources:
        namespace = resources.enter_context(connect("dir", {"path": str(tmp_path)}))
        server = resources.enter_context(find_loopback_server()(namespace, "spark"))
        token = server.token
        assert token not in repr(server)
        http = resources.enter_context(http_client(server.address))
        for given in ({}, {"authorization": "Bearer x"}, {"authorization": f"Bearer {token}x"}):
            answer = http.get("/v1/namespace/$/table/list", headers=given)
            assert (answer.status_code, answer.json()["code"]) == (401, 16)
            assert token not in answer.text
        given = {"authorization": f"Bearer {token}"}
        assert http.get("/v1/namespace/$/table/list", headers=given).json()["tables"] == []
        settings = _settings("lake", namespace, server)
        assert [key for key, value in settings.items() if token in value] == [
            "spark.sql.catalog.lake.header.Authorization"
        ]
        other = resources.enter_context(find_loopback_server()(namespace, "spark"))
        assert other.token != token


@pytest.mark.parametrize("coordinates", ["a", "a:b", "a:b:", ":::", "a:b:c:d"])
def test_invalid_coordinates_are_rejected(coordinates: str) -> None:
    with pytest.raises(InvalidInputError, match="not of the form group:artifact:version"):
        lance_spark_jars(coordinates)


def test_a_pyspark_version_without_lance_spark_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", "4.3.0")
    with pytest.raises(InvalidInputError, match=r"no lance-spark artifact for PySpark 4\.3\.0"):
        lance_spark_jars()


def test_a_pyspark_without_ivy_is_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("pyspark.__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(InvalidInputError, match="does not include Ivy"):
        lance_spark_jars("a:b:1")


NO_ANSWER = subprocess.TimeoutExpired("java", 1)
REFUSED = subprocess.CompletedProcess("java", 1, ":: UNRESOLVED DEPENDENCIES\nmore\n", ":: a#b;1")


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (NO_ANSWER, "a:b:1 was not downloaded in time"),
        (REFUSED, "a:b:1 cannot be fetched: :: UNR.*a#b;1"),
    ],
    ids=["slow", "refused"],
)
def test_a_failed_download_is_code_17_and_leaves_no_jars(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: Any, told: str
) -> None:
    def fetch(*_: Any, **__: Any) -> Any:
        if isinstance(end, Exception):
            raise end
        return end

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = "lance_namespace_impls.spark.jars"
    monkeypatch.setattr(f"{own}.use_java", lambda: tmp_path)
    monkeypatch.setattr(f"{own}.subprocess", SimpleNamespace(**vars(subprocess) | {"run": fetch}))
    with pytest.raises(ServiceUnavailableError, match=told) as caught:
        lance_spark_jars("a:b:1")
    assert "more" not in caught.value.message
    kept = tmp_path / "lance-namespace-kit" / "lance-spark"
    assert [each.name for each in kept.iterdir()] == ["b-1.lock"]
