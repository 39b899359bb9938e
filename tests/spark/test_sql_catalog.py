"""SQL on Spark 4 for tables of any namespace."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.spark import protocol_error_in, sql_catalog
from lance_namespace_impls.sql import initialize
from tests.clients.backends import BACKENDS, Backend, Home
from tests.spark.conftest import failure_of
from tests.spark.sql_script import LANCE_ONLY, SCRIPT, differences

pytestmark = [pytest.mark.xdist_group("spark two"), pytest.mark.usefixtures("pushing")]

_numbers = count()


class Sql:
    """A catalog of the session under a new name."""

    def __init__(self, spark: Any, impl: str, properties: dict[str, str]) -> None:
        self.spark = spark
        self.name = f"lake{next(_numbers)}"
        self.properties = properties
        sql_catalog(spark, self.name, impl, properties)
        self.namespace: Namespace = connect(impl, properties)  # type: ignore[call-overload]

    def __call__(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement, in which ``lake`` is the catalog, and return its rows in order."""
        rows = self.spark.sql(statement.replace("lake.", f"{self.name}.")).collect()
        return sorted(map(tuple, rows), key=str)

    def path(self, *table: str) -> str:
        """Return the location of a table."""
        return str(self.namespace.describe_table({"id": list(table)}).location)

    def files(self, *table: str) -> set[str]:
        """Return the names of the data files at the location of a table."""
        return {each.name for each in Path(self.path(*table), "data").iterdir()}

    def notes(self, *table: str) -> list[Path]:
        """Return the files in which unfinished writes record their data files.

        A task that ends after its job can create the job's folder again, without files in it.
        """
        return list(Path(self.path(*table), "_transactions").glob("*/*"))


@pytest.fixture
def sql(spark: Any, tmp_path: Path) -> Sql:
    """Return a directory catalog with namespaces, of which ``db`` exists."""
    found = Sql(spark, "dir", {"root": str(tmp_path / "lake"), "manifest": "true"})
    found("CREATE NAMESPACE lake.db")
    return found


@contextmanager
def _database(folder: Path, managed: str) -> Iterator[Home]:
    root = str(folder / "tables")
    properties = {"uri": str(folder / "catalog.db"), "root": root, "managed": managed}
    initialize(properties)
    with connect("sql", properties) as namespace:  # type: ignore[arg-type]
        namespace.create_namespace({"id": ["db"]})
        yield Home(namespace, "sql", "sql", properties, ("db",), True)


HOMES: dict[str, Backend] = {
    **BACKENDS,
    "sql": lambda folder: _database(folder, "false"),
    "sql-managed": lambda folder: _database(folder, "true"),
}
FAST = ("dir", "manifest", "sql", "sql-managed")


@pytest.mark.parametrize(
    "backend",
    [pytest.param(each, marks=[] if each in FAST else pytest.mark.slow) for each in sorted(HOMES)],
)
def test_a_script_has_the_same_rows_on_every_backend(
    spark: Any, tmp_path: Path, backend: str
) -> None:
    with HOMES[backend](tmp_path) as home:
        found = Sql(spark, home.impl, home.properties)
        namespace = ".".join((found.name, *home.identifier))
        for script in (SCRIPT, LANCE_ONLY):
            assert list(differences(spark, script, namespace, "t", 1)) == []


# --- namespaces and tables


def test_namespaces_are_nested(sql: Sql) -> None:
    sql("CREATE NAMESPACE lake.db.inner COMMENT 'within' WITH DBPROPERTIES ('a' = 'b')")
    assert sql("SHOW NAMESPACES IN lake.db") == [("db.inner",)]
    described = dict(sql("DESCRIBE NAMESPACE EXTENDED lake.db.inner"))
    assert described["Comment"] == "within"
    assert "(a,b)" in described["Properties"]
    sql("ALTER NAMESPACE lake.db.inner SET DBPROPERTIES ('a' = 'c')")
    sql("CREATE TABLE lake.db.inner.t AS SELECT 1 AS id")
    assert sql("SELECT id FROM lake.db.inner.t") == [(1,)]
    stored = sql.namespace.describe_namespace({"id": ["db", "inner"]}).properties
    assert stored == {"a": "c", "comment": "within"}
    sql("DROP NAMESPACE lake.db.inner CASCADE")
    assert sql("SHOW NAMESPACES IN lake.db") == []


def test_a_catalog_without_namespaces_has_tables_below_its_name(spark: Any, tmp_path: Path) -> None:
    sql = Sql(spark, "dir", {"path": str(tmp_path)})
    sql("CREATE TABLE lake.t AS SELECT 1 AS id")
    assert sql(f"SHOW TABLES IN {sql.name}") == [("", "t", False)]
    assert sql(f"SHOW NAMESPACES IN {sql.name}") == []
    assert failure_of(lambda: sql("CREATE NAMESPACE lake.db")).code == 13
    spark.sql(f"USE {sql.name}")
    try:
        assert sql("SHOW TABLES") == [("", "t", False)]
        assert spark.catalog.tableExists("t")
        assert spark.table("t").count() == 1
    finally:
        spark.sql("USE spark_catalog")


@pytest.mark.parametrize("name", ["My Table", "a.b", "ünï", "SELECT", "0", "tick`ed", "It's"])
def test_names_are_quoted(sql: Sql, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    sql(f"CREATE NAMESPACE lake.{quoted}")
    sql(f"CREATE TABLE lake.{quoted}.{quoted} AS SELECT 1 AS `a b`, 2 AS `Ab`")
    sql(f"INSERT INTO lake.{quoted}.{quoted} VALUES (3, 4)")
    sql(f"UPDATE lake.{quoted}.{quoted} SET `a b` = 5 WHERE ab = 2")
    assert sql(f"SELECT * FROM lake.{quoted}.{quoted}") == [(3, 4), (5, 2)]
    assert sql(f"SHOW TABLES IN lake.{quoted}")[0][1] == name
    assert sql.namespace.table_exists({"id": [name, name]}) is not None
    sql(f"DROP TABLE lake.{quoted}.{quoted}")


def test_show_create_table_creates_the_table_again(sql: Sql) -> None:
    sql(
        "CREATE TABLE lake.db.t (id BIGINT NOT NULL COMMENT 'the key', v ARRAY<FLOAT>, s STRING) "
        "COMMENT 'all' TBLPROPERTIES ('types' = 'v:float32[2], s:large_string', 'a' = 'b')"
    )
    schema = lance.dataset(sql.path("db", "t")).schema
    assert schema.field("v").type == pa.list_(pa.float32(), 2)
    assert not schema.field("id").nullable
    ((statement,),) = sql("SHOW CREATE TABLE lake.db.t")
    sql("DROP TABLE lake.db.t")
    sql(statement)
    assert lance.dataset(sql.path("db", "t")).schema.equals(schema, check_metadata=True)
    described = sql.namespace.describe_table({"id": ["db", "t"]})
    assert described.properties == {"a": "b", "comment": "all"}


def test_an_overwrite_keeps_the_types_of_columns(sql: Sql) -> None:
    sql("CREATE TABLE lake.db.t (v ARRAY<FLOAT>) TBLPROPERTIES ('types' = 'v:float16[2]')")
    sql("INSERT OVERWRITE lake.db.t VALUES (array(1F, 2F))")
    assert lance.dataset(sql.path("db", "t")).schema.field("v").type == pa.list_(pa.float16(), 2)
    sql("UPDATE lake.db.t SET v = array(3F, 4F)")
    assert sql("SELECT v FROM lake.db.t") == [([3.0, 4.0],)]
    assert lance.dataset(sql.path("db", "t")).schema.field("v").type == pa.list_(pa.float16(), 2)
    error = failure_of(lambda: sql("INSERT INTO lake.db.t VALUES (array(1F))"))
    assert error.code == 20


def test_properties_are_changed(sql: Sql) -> None:
    sql("CREATE TABLE lake.db.t (id INT) TBLPROPERTIES ('a' = '1', 'b' = '2')")
    sql("ALTER TABLE lake.db.t SET TBLPROPERTIES ('a' = '3', 'c' = '4')")
    sql("ALTER TABLE lake.db.t UNSET TBLPROPERTIES ('b')")
    stored = sql.namespace.describe_table({"id": ["db", "t"]}).properties
    assert stored == {"a": "3", "c": "4"}
    sql("CREATE OR REPLACE TABLE lake.db.t TBLPROPERTIES ('d' = '5') AS SELECT 1 AS id")
    stored = sql.namespace.describe_table({"id": ["db", "t"]}).properties
    assert stored == {"d": "5"}


def test_a_table_is_renamed_with_or_without_the_catalog(sql: Sql) -> None:
    sql("CREATE TABLE lake.db.a AS SELECT 1 AS id")
    sql("ALTER TABLE lake.db.a RENAME TO lake.db.b")
    sql("ALTER TABLE lake.db.b RENAME TO db.c")
    assert sql("SHOW TABLES IN lake.db") == [("db", "c", False)]


def test_frames_are_written_to_tables(sql: Sql, spark: Any) -> None:
    t = f"{sql.name}.db.t"
    frame = spark.range(3)
    frame.write.saveAsTable(t)
    frame.write.mode("append").saveAsTable(t)
    assert spark.table(t).count() == 6
    frame.write.mode("overwrite").saveAsTable(t)
    frame.write.insertInto(t)
    assert spark.table(t).count() == 6
    frame.writeTo(t).append()
    frame.limit(1).writeTo(t).option("rows_per_file", "1").append()
    assert spark.table(t).count() == 10
    spark.range(2).selectExpr("id AS other").writeTo(t).createOrReplace()
    assert spark.table(t).columns == ["other"]
    frame.writeTo(f"{t}2").tableProperty("a", "b").create()
    assert sql.namespace.describe_table({"id": ["db", "t2"]}).properties == {"a": "b"}
    listed = spark.catalog.listTables(f"{sql.name}.db")
    assert sorted(each.name for each in listed) == ["t", "t2"]


def test_the_tables_of_a_version_are_read(sql: Sql) -> None:
    sql("CREATE TABLE lake.db.t AS SELECT 1 AS id")
    sql("INSERT INTO lake.db.t VALUES (2)")
    ((moment,),) = sql("SELECT CAST(current_timestamp() AS STRING)")
    sql("ALTER TABLE lake.db.t ADD COLUMNS (more INT)")
    sql("DELETE FROM lake.db.t")
    sql.namespace.create_table_tag({"id": ["db", "t"], "tag": "first", "version": 1})
    assert sql("SELECT * FROM lake.db.t") == []
    assert sql("SELECT * FROM lake.db.t VERSION AS OF 2") == [(1,), (2,)]
    assert sql("SELECT * FROM lake.db.t VERSION AS OF 'first'") == [(1,)]
    assert sql(f"SELECT * FROM lake.db.t TIMESTAMP AS OF '{moment}'") == [(1,), (2,)]
    for version, code in (("VERSION AS OF 99", 11), ("VERSION AS OF 'no'", 8)):
        error = failure_of(lambda version=version: sql(f"SELECT * FROM lake.db.t {version}"))
        assert error.code == code
        assert "lake" in error.message or "t" in error.message
    early = "TIMESTAMP AS OF '2001-01-01'"
    assert failure_of(lambda: sql(f"SELECT * FROM lake.db.t {early}")).code == 11


def test_spark_options_of_a_read_choose_the_version(spark: Any, sql: Sql) -> None:
    sql("CREATE TABLE lake.db.t AS SELECT 1 AS id")
    sql("INSERT INTO lake.db.t VALUES (2)")
    ((moment,),) = sql("SELECT CAST(current_timestamp() AS STRING)")
    sql("DELETE FROM lake.db.t")
    t = f"{sql.name}.db.t"
    first = spark.read.option("versionAsOf", "1")
    assert [row.id for row in first.table(t).collect()] == [1]
    assert [row.id for row in first.option("batch_rows", "1").table(t).collect()] == [1]
    before = spark.read.option("timestampAsOf", moment).table(t)
    assert sorted(row.id for row in before.collect()) == [1, 2]


# --- errors


def test_an_error_of_the_caller_has_no_traceback(spark: Any, sql: Sql) -> None:
    sql("CREATE TABLE lake.db.t AS SELECT 1 AS id")
    source = spark.read.format("lance_namespace").options(impl="dir", root="/tmp", no_such="1")
    for act in (
        lambda: spark.read.option("root", "/tmp").table(f"{sql.name}.db.t").collect(),
        lambda: source.load("t"),
    ):
        with pytest.raises(Exception) as caught:
            act()
        assert "InvalidInputError" in str(caught.value)
        assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("SELECT * FROM lake.db.no", "TABLE_OR_VIEW_NOT_FOUND"),
        ("SELECT * FROM lake.no.no", "TABLE_OR_VIEW_NOT_FOUND"),
        ("INSERT INTO lake.db.no VALUES (1)", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER TABLE lake.db.no DROP COLUMN a", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER TABLE lake.db.no RENAME TO db.x", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER TABLE lake.db.t RENAME TO db.u", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("DROP TABLE lake.db.no", "TABLE_OR_VIEW_NOT_FOUND"),
        ("CREATE TABLE lake.db.t (id INT)", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("CREATE TABLE lake.no.t (id INT)", "SCHEMA_NOT_FOUND"),
        ("CREATE TABLE lake.db.t AS SELECT 1 AS id", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("REPLACE TABLE lake.db.no AS SELECT 1 AS id", "TABLE_OR_VIEW_NOT_FOUND"),
        ("CREATE NAMESPACE lake.db", "SCHEMA_ALREADY_EXISTS"),
        ("CREATE NAMESPACE lake.no.no", "SCHEMA_NOT_FOUND"),
        ("DROP NAMESPACE lake.db", "SCHEMA_NOT_EMPTY"),
        ("DROP NAMESPACE lake.no", "SCHEMA_NOT_FOUND"),
        ("SHOW TABLES IN lake.no", "SCHEMA_NOT_FOUND"),
        ("SHOW NAMESPACES IN lake.no", "SCHEMA_NOT_FOUND"),
        ("DESCRIBE NAMESPACE lake.no", "SCHEMA_NOT_FOUND"),
        ("ALTER TABLE lake.db.t DROP COLUMN no", "UNRESOLVED_COLUMN"),
    ],
)
def test_errors_have_the_conditions_of_spark(
    two_tables: Sql, statement: str, condition: str
) -> None:
    before = two_tables("SHOW TABLES IN lake.db")
    with pytest.raises(Exception) as caught:
        two_tables(statement)
    assert caught.value.getCondition().startswith(condition), caught.value
    assert two_tables("SHOW TABLES IN lake.db") == before


@pytest.fixture(scope="module")
def two_tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Sql:
    root = tmp_path_factory.mktemp("two") / "lake"
    found = Sql(spark, "dir", {"root": str(root), "manifest": "true"})
    found("CREATE NAMESPACE lake.db")
    found("CREATE TABLE lake.db.t (id INT, name STRING)")
    found("CREATE TABLE lake.db.u (id INT)")
    return found


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("CREATE TABLE lake.db.n (id INT, d DATE) PARTITIONED BY (d)", "index"),
        ("CREATE TABLE lake.db.n (id INT) CLUSTER BY (id)", "index"),
        ("CREATE TABLE lake.db.n (id INT, d INT GENERATED ALWAYS AS (id + 1))", "query"),
        ("CREATE TABLE lake.db.n (id BIGINT GENERATED ALWAYS AS IDENTITY)", "query"),
        ("CREATE TABLE lake.db.n (id INT DEFAULT 3)", "INSERT"),
        ("CREATE TABLE lake.db.n (id INT PRIMARY KEY)", "check the rows"),
        ("CREATE TABLE lake.db.n (name VARCHAR(3))", "STRING"),
        ("CREATE TABLE lake.db.n (name STRING COLLATE UTF8_LCASE)", "lower"),
        ("CREATE TABLE lake.db.n (id INT) USING csv", "omit USING"),
        ("CREATE TABLE lake.db.n (id INT) LOCATION '/elsewhere'", "register"),
        ("CREATE TABLE lake.db.n (v INT) TBLPROPERTIES ('types' = 'w:int8')", "no column w"),
        ("ALTER TABLE lake.db.t ADD COLUMN m MAP<STRING, INT>", "add_columns"),
        ("ALTER TABLE lake.db.t ADD COLUMN m INT FIRST", "FIRST"),
        ("ALTER TABLE lake.db.t ALTER COLUMN name FIRST", "SELECT"),
        ("ALTER TABLE lake.db.t SET TBLPROPERTIES ('types' = 'id:int8')", "TYPE"),
        ("ALTER TABLE lake.db.t REPLACE COLUMNS (id STRING)", "ALTER TABLE"),
    ],
)
def test_a_rejected_definition_names_an_alternative(
    two_tables: Sql, statement: str, named: str
) -> None:
    before = (two_tables("SHOW TABLES IN lake.db"), two_tables("DESCRIBE lake.db.t"))
    error = failure_of(lambda: two_tables(statement))
    assert error.code in (0, 12, 13)
    assert named in error.message
    assert (two_tables("SHOW TABLES IN lake.db"), two_tables("DESCRIBE lake.db.t")) == before


def test_options_belong_to_the_catalog_or_the_query(spark: Any, two_tables: Sql) -> None:
    t = f"{two_tables.name}.db.t"
    assert spark.read.option("batch_rows", "10").table(t).count() == 0
    error = failure_of(lambda: spark.read.option("root", "/tmp").table(t).collect())
    assert error.code == 13
    assert "spark.sql.catalog" in error.message
    error = failure_of(lambda: spark.range(1).writeTo(t).option("root", "/tmp").append())
    assert error.code == 13
    with pytest.raises(InvalidInputError, match="no_such"):
        Sql(spark, "dir", {"no_such": "1"})


def test_secrets_are_not_shown(spark: Any, tmp_path: Path) -> None:
    hidden = "hunter2hunter2"
    properties = {"root": str(tmp_path), "storage.aws_secret_access_key": hidden}
    sql = Sql(spark, "dir", properties)
    sql("CREATE TABLE lake.t AS SELECT 1 AS id")
    sql("INSERT INTO lake.t VALUES (2)")
    shown = [
        sql("EXPLAIN EXTENDED SELECT * FROM lake.t WHERE id = 1"),
        sql("EXPLAIN EXTENDED INSERT INTO lake.t VALUES (3)"),
        sql("EXPLAIN EXTENDED UPDATE lake.t SET id = 3 WHERE id % 2 = 1"),
        sql("DESCRIBE EXTENDED lake.t"),
        sql("SHOW TBLPROPERTIES lake.t"),
        sql("SHOW CREATE TABLE lake.t"),
        sql(f"SET spark.sql.catalog.{sql.name}.storage.aws_secret_access_key"),
    ]
    for act in ("SELECT * FROM lake.t VERSION AS OF 99", "CREATE NAMESPACE lake.x"):
        with pytest.raises(Exception) as caught:
            sql(act)
        shown.append([(str(caught.value),)])
    assert hidden not in json.dumps(shown)


# --- changes of rows


@pytest.fixture
def numbers(sql: Sql) -> Sql:
    """Return a catalog with a table of three fragments: ids from 0 to 29, with nulls and NaN."""
    sql(
        "CREATE TABLE lake.db.t AS SELECT id, IF(id % 5 = 0, NULL, id % 3) AS a, "
        "IF(id % 7 = 0, double('NaN'), id / 2) AS f, concat('s', id) AS s FROM range(0, 30, 1, 3)"
    )
    return sql


@pytest.mark.parametrize(
    "condition",
    [
        "id < 12",
        "a = 1 OR f > 8",
        "NOT (a = 1)",
        "a IS NULL AND s LIKE 's1%'",
        "f <> 3.5",
        "s IN ('s1', 's22', NULL)",
        "id % 4 = 1",
        "length(s) = 2 AND a <> 0",
        "id > (SELECT avg(id) FROM lake.db.t)",
        "false",
    ],
)
def test_the_same_rows_are_deleted_as_selected(numbers: Sql, condition: str) -> None:
    kept = numbers(f"SELECT id FROM lake.db.t WHERE NOT coalesce({condition}, false)")
    numbers(f"DELETE FROM lake.db.t WHERE {condition}")
    assert numbers("SELECT id FROM lake.db.t") == kept
    assert numbers.notes("db", "t") == []


def test_a_condition_that_lance_supports_runs_no_job(numbers: Sql, spark: Any) -> None:
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("delete", "delete")
    try:
        numbers("DELETE FROM lake.db.t WHERE f > 3 AND s <> 's9'")
        assert tracker.getJobIdsForGroup("delete") == []
        numbers("DELETE FROM lake.db.t WHERE id % 2 = 0")
        assert tracker.getJobIdsForGroup("delete") != []
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_an_update_rewrites_only_its_rows(numbers: Sql) -> None:
    before = numbers.files("db", "t")
    numbers("UPDATE lake.db.t SET s = 'new' WHERE id % 10 = 3")
    new = numbers.files("db", "t") - before
    dataset = lance.dataset(numbers.path("db", "t"))
    used = {
        f.path: each.count_rows() for each in dataset.get_fragments() for f in each.data_files()
    }
    assert sum(used[name] for name in new) == 3
    assert numbers("SELECT count(*) FROM lake.db.t WHERE s = 'new'") == [(3,)]
    assert dataset.count_rows() == 30
    assert dataset.version == 2


def test_a_statement_without_rows_creates_no_version(numbers: Sql) -> None:
    numbers("UPDATE lake.db.t SET s = 'new' WHERE id % 10 = 11")
    numbers(
        "MERGE INTO lake.db.t t USING (SELECT 99L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
    )
    assert lance.dataset(numbers.path("db", "t")).version == 1
    assert numbers.notes("db", "t") == []


def test_two_source_rows_for_one_row_fail(numbers: Sql) -> None:
    before = numbers("SELECT * FROM lake.db.t")
    with pytest.raises(Exception) as caught:
        numbers(
            "MERGE INTO lake.db.t t USING (SELECT 3L AS id FROM range(2)) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET s = 'twice'"
        )
    assert caught.value.getCondition() == "MERGE_CARDINALITY_VIOLATION"
    assert str(numbers("SELECT * FROM lake.db.t")) == str(before)
    assert numbers.notes("db", "t") == []


def test_an_update_that_would_truncate_values_is_rejected(sql: Sql) -> None:
    sql(
        "CREATE TABLE lake.db.t (id INT, at TIMESTAMP_NTZ) "
        "TBLPROPERTIES ('types' = 'at:timestamp[ns]')"
    )
    rows = pa.table({"id": pa.array([1], pa.int32()), "at": pa.array([1], pa.timestamp("ns"))})
    lance.write_dataset(rows, sql.path("db", "t"), mode="append")
    error = failure_of(lambda: sql("UPDATE lake.db.t SET id = 2"))
    assert error.code == 0
    assert "spark.update" in error.message
    sql("DELETE FROM lake.db.t WHERE id % 2 = 0")
    assert lance.dataset(sql.path("db", "t")).to_table().equals(rows)


def test_rows_that_do_not_fit_fail_and_leave_nothing(numbers: Sql) -> None:
    numbers("CREATE TABLE lake.db.n (id BIGINT NOT NULL, a BIGINT)")
    numbers("INSERT INTO lake.db.n VALUES (1, 1)")
    files = numbers.files("db", "n")
    with pytest.raises(Exception, match=r"(?i)null"):
        numbers("UPDATE lake.db.n SET id = (SELECT max(a) FROM lake.db.t WHERE a > 9)")
    assert numbers("SELECT * FROM lake.db.n") == [(1, 1)]
    assert numbers.files("db", "n") == files


# --- other writers


@pytest.fixture
def during(spark: Any, tmp_path: Path) -> Callable[[Callable[[], None]], str]:
    """Return a function that registers a SQL function that runs an action once during a task."""

    def register(act: Callable[[], None]) -> str:
        name = f"during{next(_numbers)}"
        done = str(tmp_path / name)

        def once(value: int) -> int:
            try:
                os.mkdir(done)
            except FileExistsError:
                return value
            act()
            return value

        spark.udf.register(name, once, "bigint")
        return name

    return register


UPDATE = "UPDATE lake.db.t SET s = concat('u', {f}(id)) WHERE id = 3"
MERGE = (
    "MERGE INTO lake.db.t t USING (SELECT {f}(id) AS id, a, f, s FROM "
    "(SELECT id, 1L AS a, 1D AS f, 'm' AS s FROM range(29, 31))) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
INSERT_ONLY = MERGE.replace("WHEN MATCHED THEN UPDATE SET * ", "")


@pytest.mark.parametrize(
    ("statement", "other", "wins"),
    [
        (UPDATE, "delete id = 3", False),
        (UPDATE, "delete id = 25", True),
        (UPDATE, "append", True),
        (MERGE, "delete id = 29", False),
        (MERGE, "append", False),
        (INSERT_ONLY, "append", False),
    ],
)
def test_a_concurrent_change_is_detected(
    numbers: Sql, during: Callable[..., str], statement: str, other: str, wins: bool
) -> None:
    path = numbers.path("db", "t")

    def change() -> None:
        import lance

        dataset = lance.dataset(path)
        if other == "append":
            dataset.insert(dataset.to_table(filter="id = 0"), mode="append")
        else:
            dataset.delete(other.removeprefix("delete "))

    text = statement.format(f=during(change))
    if wins:
        numbers(text)
        assert lance.dataset(path).version == 3
        assert numbers("SELECT count(*) FROM lake.db.t WHERE s = 'u3'") == [(1,)]
    else:
        error = failure_of(lambda: numbers(text))
        assert error.code == 14
        assert lance.dataset(path).version == 2
    used = {f.path for each in lance.dataset(path).get_fragments() for f in each.data_files()}
    assert numbers.files("db", "t") == used
    assert numbers.notes("db", "t") == []


@pytest.mark.parametrize("statement", [MERGE, INSERT_ONLY])
def test_a_killed_worker_changes_nothing(
    numbers: Sql, during: Callable[..., str], statement: str
) -> None:
    before = str(numbers("SELECT * FROM lake.db.t"))
    files = numbers.files("db", "t")
    name = during(lambda: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(Exception) as caught:
        numbers(statement.format(f=name))
    assert protocol_error_in(caught.value) is None
    assert str(numbers("SELECT * FROM lake.db.t")) == before
    assert numbers.files("db", "t") == files
    assert numbers.notes("db", "t") == []
    numbers(statement.format(f=name))
    assert numbers("SELECT count(*) FROM lake.db.t WHERE id = 30") == [(1,)]


@pytest.mark.parametrize("statement", [MERGE, INSERT_ONLY])
def test_concurrent_merges_insert_a_key_once(numbers: Sql, statement: str) -> None:
    failures: list[Exception] = []

    def merge() -> None:
        try:
            numbers(statement.format(f="bigint"))
        except Exception as error:  # noqa: BLE001 an outcome to compare
            failures.append(error)

    threads = [threading.Thread(target=merge) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert numbers("SELECT count(*) FROM lake.db.t WHERE id = 30") == [(1,)]
    for error in failures:
        found = protocol_error_in(error)
        assert found is not None, error
        assert found.code == 14


def test_a_cached_table_is_not_stale(numbers: Sql) -> None:
    numbers("CACHE TABLE lake.db.t")
    assert numbers("SELECT count(*) FROM lake.db.t") == [(30,)]
    numbers("INSERT INTO lake.db.t VALUES (30, 1, 1, 'x')")
    assert numbers("SELECT count(*) FROM lake.db.t") == [(31,)]
    numbers("UNCACHE TABLE lake.db.t")
    numbers("DELETE FROM lake.db.t WHERE id = 30")
    assert numbers("SELECT count(*) FROM lake.db.t") == [(30,)]


def test_a_table_is_read_and_written_by_one_statement(numbers: Sql) -> None:
    numbers("INSERT INTO lake.db.t SELECT id + 100, a, f, s FROM lake.db.t WHERE id < 2")
    assert numbers("SELECT count(*) FROM lake.db.t") == [(32,)]
    numbers("INSERT OVERWRITE lake.db.t SELECT * FROM lake.db.t WHERE id > 99")
    assert numbers("SELECT id FROM lake.db.t") == [(100,), (101,)]
