"""A session that `local_session` did not create, with a namespace from a profile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import lance
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.core.profiles import ProfileError
from lance_namespace_impls.distributed.failures import coded
from lance_namespace_impls.distributed.secrets import ENVIRONMENT
from lance_namespace_impls.spark import protocol_error_in
from lance_namespace_impls.spark.java import use_java

# A separate process, because Spark's workers inherit the environment of its Java process.
SCRIPT = """
import json, sys
from pyspark.sql import SparkSession
from lance_namespace_impls.spark import protocol_error_in

def source(it, **options):
    return it.format("lance_namespace").options(**options)

def error_of(**options):
    try:
        source(spark.read, **options).load("db.t").count()
    except Exception as error:
        found = protocol_error_in(error)
        return [int(found.code), found.message, str(error)]

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
lake = dict(profile="lake")
rows = spark.range(3)
source(rows.write, **lake).mode("append").save("db.t")
source(rows.write, **lake).mode("append").save("db.t")
read = source(spark.read, **lake).load("db.t")
numbers = sorted(row.id for row in read.where("id > 0").collect())
frame = source(spark.read).option("profile", "lake").option("filter", "id = 2").load("db.t")
source(frame.write, **lake).mode("overwrite").save("db.u")
own = {"impl": "dir", "root": sys.argv[1], "storage.aws_secret_access_key": "hidden"}
source(spark.range(10).write, **own).mode("append").save("t")
answers = {
    "own": source(spark.read, **own).load("t").filter("id > 2").count(),
    "numbers": numbers,
    "copied": [row.id for row in source(spark.read, **lake).load("db.u").collect()],
    "added": error_of(profile="lake", manifest="maybe"),
    "missing": error_of(profile="gone"),
    "both": error_of(profile="lake", impl="dir"),
    "unset": error_of(profile="secret"),
}
spark.stop()
print(json.dumps(answers))
"""


def test_an_error_of_a_custom_class_keeps_its_code() -> None:
    """Examples are errors of profiles and of third parties."""
    with pytest.raises(InvalidInputError) as caught, coded("reading"):
        raise ProfileError("no such profile")
    # Spark shows only the text of the traceback.
    shown = "".join(traceback.format_exception_only(caught.value))
    found = protocol_error_in(RuntimeError(shown))
    assert type(found) is InvalidInputError
    assert found.message == "no such profile"


def test_a_custom_session_finds_the_data_source_and_profiles_without_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_java()
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    root = tmp_path / "lake"
    with connect("dir", {"path": str(root), "manifest": "true"}) as namespace:
        namespace.create_namespace({"id": ["db"]})
    config = tmp_path / "config.toml"
    config.write_text(
        '[lake]\nimpl = "dir"\npath = "${LAKE}"\nmanifest = "true"\n'
        '[secret]\nimpl = "rest"\nuri = "http://127.0.0.1:9"\nauth_token = "${NO_SUCH}"\n'
    )
    variables = {
        "LANCE_NS_CONFIG": str(config),
        "LAKE": str(root),
        "PYSPARK_PYTHON": sys.executable,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "own")],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **variables},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["own"] == 7
    assert found["numbers"] == [1, 1, 2, 2]
    assert found["copied"] == [2, 2]
    with connect("dir", {"path": str(root), "manifest": "true"}) as namespace:
        place = namespace.describe_table({"id": ["db", "t"]}).location
    assert place is not None
    assert sorted(lance.dataset(place).to_table()["id"].to_pylist()) == [0, 0, 1, 1, 2, 2]
    assert {found[name][0] for name in ("added", "missing", "both", "unset")} == {13}
    assert "manifest" in found["added"][1]
    assert "has no profile 'gone'; it has lake, secret" in found["missing"][1]
    assert "'impl' and 'profile' each name a namespace" in found["both"][1]
    assert "environment variable NO_SUCH is not set" in found["unset"][1]
