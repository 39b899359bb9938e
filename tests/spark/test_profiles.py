"""A namespace that Spark names by a profile of the configuration file."""

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
from lance_namespace_impls.spark import protocol_error_in

# A process of its own: Spark's workers have the environment that its Java was started with.
SCRIPT = """
import json, sys
from lance_namespace_impls.spark import local_session, protocol_error_in

def source(it, **options):
    return it.format("lance_namespace").options(**options)

def error_of(**options):
    try:
        source(spark.read, **options).load("db.t").count()
    except Exception as error:
        found = protocol_error_in(error)
        return [int(found.code), found.message, str(error)]

spark = local_session("profiles", cores=1)
lake = dict(profile="lake")
rows = spark.range(3)
source(rows.write, **lake).mode("append").save("db.t")
source(rows.write, **lake).mode("append").save("db.t")
read = source(spark.read, **lake).load("db.t")
numbers = sorted(row.id for row in read.where("id > 0").collect())
frame = source(spark.read).option("profile", "lake").option("filter", "id = 2").load("db.t")
source(frame.write, **lake).mode("overwrite").save("db.u")
answers = {
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


def test_an_error_of_a_class_of_its_own_keeps_its_code() -> None:
    """As that of a profile, or one of a third party."""
    with pytest.raises(InvalidInputError) as caught, coded("reading"):
        raise ProfileError("no such profile")
    # Spark shows the text of the traceback alone.
    shown = "".join(traceback.format_exception_only(caught.value))
    found = protocol_error_in(RuntimeError(shown))
    assert type(found) is InvalidInputError
    assert found.message == "no such profile"


def test_a_profile_is_read_and_written(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    with connect("dir", {"path": str(root), "manifest": "true"}) as namespace:
        namespace.create_namespace({"id": ["db"]})
    config = tmp_path / "config.toml"
    config.write_text(
        '[lake]\nimpl = "dir"\npath = "${LAKE}"\nmanifest = "true"\n'
        '[secret]\nimpl = "rest"\nuri = "http://127.0.0.1:9"\nauth_token = "${NO_SUCH}"\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "LANCE_NS_CONFIG": str(config), "LAKE": str(root)},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["numbers"] == [1, 1, 2, 2]
    assert found["copied"] == [2, 2]
    with connect("dir", {"path": str(root), "manifest": "true"}) as namespace:
        place = namespace.describe_table({"id": ["db", "t"]}).location
    assert place is not None
    assert sorted(lance.dataset(place).to_table()["id"].to_pylist()) == [0, 0, 1, 1, 2, 2]
    assert {name: found[name][0] for name in ("added", "missing", "both", "unset")} == {
        "added": 13,
        "missing": 13,
        "both": 13,
        "unset": 13,
    }
    assert "manifest" in found["added"][1]
    assert "has no profile 'gone'; it has lake, secret" in found["missing"][1]
    assert "'impl' and 'profile' each name a namespace" in found["both"][1]
    assert "environment variable NO_SUCH is not set" in found["unset"][1]
