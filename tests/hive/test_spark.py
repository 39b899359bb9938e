"""Spark SQL sees the tables declared here, and its own tables are not listed as Lance tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_client.errors import InvalidInputError

from .conftest import FORMS, Form, parameters

# Spark's client supports these releases; on the second one it uses the default catalog.
SEEN = [form for form in FORMS if form in [("2.3", "hive2"), ("3.1", "hive2")]]
TIMEOUT = 300


def spark_sql(form: Form, folder: Path, *statements: str) -> list[list[list[str]]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.hive.spark_session", form.metastore.uri, str(folder)],
        input=json.dumps(statements),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers: list[list[list[str]]] = json.loads(done.stdout.splitlines()[-1])
    return answers


@pytest.mark.requirement("hive3.declare-table.registered")
@pytest.mark.slow
@pytest.mark.parametrize("form", parameters(SEEN), indirect=True)
def test_spark_sees_our_tables_and_its_own_are_recognized(form: Form, tmp_path: Path) -> None:
    database = form.database()
    name = database[-1]
    declared = form.namespace.declare_table({"id": [name, "declared"], "properties": {"k": "v"}})
    form.namespace.create_table({"id": [name, "filled"]}, pa.table({"x": [1]}))
    shown, described, filled, *_ = spark_sql(
        form,
        tmp_path,
        f"SHOW TABLES IN {name}",
        f"DESCRIBE EXTENDED {name}.declared",
        f"DESCRIBE EXTENDED {name}.filled",
        f"CREATE TABLE {name}.plain (x INT) STORED AS PARQUET",
    )
    assert sorted(row[1] for row in shown) == ["declared", "filled"]
    details = {row[0]: row[1] for row in described}
    assert details["Type"] == "EXTERNAL"
    assert details["Location"] == f"file:{declared.location}"
    assert "table_type=lance" in details["Table Properties"]
    assert "k=v" in details["Table Properties"]
    assert {row[0]: row[1] for row in filled}["Type"] == "EXTERNAL"
    assert form.namespace.list_tables({"id": database}).tables == ["declared", "filled"]
    with pytest.raises(InvalidInputError, match="is not a Lance table") as raised:
        form.namespace.describe_table({"id": [name, "plain"]})
    assert raised.value.code == 13
