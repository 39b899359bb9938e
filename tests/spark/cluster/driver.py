"""The driver of a small cluster in a separate process: ``driver.py MASTER ROOT SCENARIO SEEDS``.

It prints one line of JSON with the results for each seed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn
from urllib.request import urlopen

import lance
import psutil
import pyarrow as pa

from lance_namespace_client.errors import ConcurrentModificationError, LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.distributed import write_plan
from lance_namespace_impls.distributed.cache import cache_folder
from lance_namespace_impls.distributed.secrets import ENVIRONMENT, make_key
from lance_namespace_impls.spark import (
    add_columns,
    merge_into,
    pushdown_jar,
    read_table,
    write_table,
)
from lance_namespace_impls.spark.java import use_java
from lance_namespace_impls.spark.session import _SETTINGS
from tests.servers.ports import free_port

ROWS = 400
PARTS = 4


def session(master: str, more: dict[str, str]) -> Any:
    """Start a session on a cluster whose executors are processes on this machine.

    Args:
        master: the address of the master, or ``connect``.
        more: additional settings.
    """
    import pyspark
    from pyspark.sql import SparkSession

    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["SPARK_SCALA_VERSION"] = "2.13"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    if master == "connect":
        # The Spark Connect server runs in a separate process, and this process is its client.
        from pyspark.sql.connect.client.core import DefaultChannelBuilder

        os.environ.pop("SPARK_HOME")
        port = free_port()  # instead of the default, which all Spark Connect servers use
        DefaultChannelBuilder.default_port = staticmethod(lambda: port)
        remote = SparkSession.builder.remote("local[2]").appName("cluster")
        remote.config("spark.connect.grpc.binding.address", "127.0.0.1")
        remote.config("spark.connect.grpc.binding.port", str(port))
        remote.config("spark.jars", pushdown_jar())
        return remote.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    builder = SparkSession.builder.master(master).appName("cluster")
    settings = {
        **_SETTINGS,
        "spark.jars": pushdown_jar(),
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.speculation": "true",
        "spark.task.maxFailures": "8",
    }
    for key, value in {**settings, **more}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class Lake:
    """The tables of one seed."""

    def __init__(self, spark: Any, root: Path, seed: int) -> None:
        self.spark = spark
        self.seed = random.Random(seed)
        self.root = root / str(seed)
        self.namespace = connect("dir", {"path": str(self.root)})

    def base(self) -> None:
        rows = pa.table({"id": range(100), "s": ["base"] * 100})
        lance.write_dataset(rows, str(self.root / "t.lance"), max_rows_per_file=30)

    def frame(self, start: int, text: str) -> Any:
        """Return rows whose tasks take a short random time."""
        wait = self.seed.random() / 20

        def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                time.sleep(wait)
                yield batch

        rows = self.spark.range(start, start + ROWS, 1, PARTS)
        rows = rows.selectExpr("id", f"'{text}' AS s")
        return rows.mapInArrow(slowly, rows.schema)

    def rows(self) -> Counter[tuple[int, str]]:
        found = lance.dataset(str(self.root / "t.lance")).to_table().to_pylist()
        return Counter((row["id"], row["s"]) for row in found)


def failing(lake: Lake, act: Callable[[], None]) -> Any:
    """Return rows; one task's first attempt calls `act` in the middle or at the end of its rows."""
    victim, late = lake.seed.randrange(PARTS), lake.seed.random() < 0.5

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        mine = context is not None and (context.partitionId(), context.attemptNumber()) == (
            victim,
            0,
        )
        for batch in batches:
            for start in range(0, batch.num_rows, 10):
                yield batch.slice(start, 10)
                if mine and not late and start:
                    act()
        if mine:
            act()

    frame = lake.spark.range(0, ROWS, 1, PARTS).selectExpr("id", "'new' AS s")
    return frame.mapInArrow(rows, frame.schema)


def kill_executor() -> None:
    """Kill the executor of this worker: its JVM is the parent of the daemon of the workers."""
    for each in psutil.Process().parents():
        if "java" in each.name():
            each.send_signal(signal.SIGKILL)
            time.sleep(30)  # until the worker is killed, too
            return
    raise AssertionError("the executor was not found")


def fail() -> None:
    raise ValueError("the task fails")


def one_write(lake: Lake, act: Callable[[], None]) -> dict[str, Any]:
    """Write rows while one task fails once."""
    write_table(failing(lake, act), lake.namespace, "t", rows_per_file=20)
    whole = Counter((n, "new") for n in range(ROWS))
    return {"exact": lake.rows() == whole}


def kill_driver(*_: Any, **__: Any) -> NoReturn:
    """Kill the driver: its JVM and this process."""
    driver_jvm().kill()
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("the driver was not killed")


def killed_driver(lake: Lake, act: Callable[[], None]) -> dict[str, Any]:
    """Kill the driver after all tasks have written their files and before the commit."""
    lake.base()
    write_plan.commit = kill_driver
    write_table(lake.frame(1000, "new"), lake.namespace, "t", "append", rows_per_file=20)
    return {}


def race(lake: Lake, *acts: Callable[[], object]) -> list[str]:
    """Run actions concurrently and return the outcome of each."""
    found = [""] * len(acts)

    def run(number: int) -> None:
        time.sleep(lake.seed.random() / 2)
        try:
            acts[number]()
            found[number] = "done"
        except ConcurrentModificationError:
            found[number] = "conflict"
        except LanceNamespaceError as error:
            found[number] = f"{int(error.code)} {error.message}"

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return found


Rows = Counter[tuple[int, str]]


def two_writes(lake: Lake, mode: str) -> tuple[Rows, Rows, Rows, list[str]]:
    """Write in a mode during an append; return the old rows, the rows of both, and the outcomes."""
    lake.base()
    one, other = lake.frame(1000, "one"), lake.frame(2000, "other")
    ends = race(
        lake,
        lambda: write_table(one, lake.namespace, "t", mode),
        lambda: write_table(other, lake.namespace, "t", "append"),
    )
    base = Counter((n, "base") for n in range(100))
    ones = Counter((1000 + n, "one") for n in range(ROWS))
    return base, ones, Counter((2000 + n, "other") for n in range(ROWS)), ends


def two_appends(lake: Lake, _: Any) -> dict[str, Any]:
    """Check that the table contains the rows of both appends."""
    base, one, other, ends = two_writes(lake, "append")
    return {"exact": lake.rows() == base + one + other, "ends": ends}


def overwrite_and_append(lake: Lake, _: Any) -> dict[str, Any]:
    """Check that the table equals the result of the successful writes in one of their orders."""
    base, over, added, ends = two_writes(lake, "overwrite")
    orders = {
        ("done", "done"): [over, over + added],
        ("done", "conflict"): [over],
        ("conflict", "done"): [base + added],
    }
    return {"exact": lake.rows() in orders.get((ends[0], ends[1]), []), "ends": ends}


def two_merges(lake: Lake, _: Any) -> dict[str, Any]:
    """Check that each key exists once, with the value of the merges in one of their orders."""
    lake.base()
    # 50 to 450 and 80 to 480: both update and insert, partly the same keys.
    one, other = lake.frame(50, "one"), lake.frame(80, "other")
    ends = race(
        lake,
        lambda: merge_into(one, lake.namespace, "t", "id"),
        lambda: merge_into(other, lake.namespace, "t", "id"),
    )
    done = [
        (start, text)
        for end, start, text in zip(ends, (50, 80), ("one", "other"), strict=True)
        if end == "done"
    ]
    orders = []
    for order in (done, done[::-1]):
        table = dict.fromkeys(range(100), "base")
        for start, text in order:
            table.update(dict.fromkeys(range(start, start + ROWS), text))
        orders.append(Counter(table.items()))
    return {"exact": bool(done) and lake.rows() in orders, "ends": ends}


def everyday(lake: Lake, _: Any) -> dict[str, Any]:
    """Append to a table, read it and maintain it."""
    from lance_namespace_impls.maintenance import IndexWish, Upkeep, maintain

    lake.base()
    write_table(lake.frame(1000, "new"), lake.namespace, "t", "append", rows_per_file=20)
    frame = read_table(lake.spark, lake.namespace, "t")
    upkeep = Upkeep(indices=[IndexWish(column="id", type="BTREE")])
    (row,) = maintain(lake.namespace, upkeep=upkeep, spark=lake.spark)
    return {
        "exact": frame.count() == 100 + ROWS and lake.rows().total() == 100 + ROWS,
        "compacted": row.compacted_fragments > 1 and row.indices_created == ("id",),
    }


def plain(lake: Lake, _: Any) -> dict[str, Any]:
    """Run queries on a DataFrame, and check that they are pushed down to Lance."""
    lake.base()
    reader = lake.spark.read.format("lance_namespace").options(impl="dir", root=str(lake.root))
    frame = reader.load("t")
    with redirect_stdout(StringIO()) as plan:
        frame.where("id < 10").select("s").explain()
    joined = frame.where("id < 10").join(frame.where("id >= 5"), "id")
    return {
        "exact": sorted(row.id for row in frame.collect()) == list(range(100))
        and frame.count() == 100
        and frame.where("id >= 90 AND s = 'base'").count() == 10
        and len(frame.select("s").limit(7).collect()) == 7
        and frame.selectExpr("max(id)").collect()[0][0] == 99
        and joined.count() == 5,
        "pushed": "Lance columns=[s] filter=(`id` < 10)" in plan.getvalue(),
    }


SECRET = "hidden-6f1d2a"


def secrets(lake: Lake, _: Any) -> dict[str, Any]:
    """Search what Spark shows and logs for a secret in the properties of a namespace."""
    lake.base()
    context = lake.spark.sparkContext
    options = {"impl": "dir", "root": str(lake.root), "storage.aws_secret_access_key": SECRET}
    lake.namespace = connect("dir", {key: options[key] for key in options if key != "impl"})
    frame = read_table(lake.spark, lake.namespace, "t")
    source = lake.spark.read.format("lance_namespace").options(**options)
    loaded = source.load("t")
    plans = [each._jdf.queryExecution().toString() for each in (frame, loaded)]
    assert frame.count() == loaded.count() == 100
    write_table(lake.frame(1000, "new"), lake.namespace, "t", "append")
    merge_into(lake.frame(1200, "changed"), lake.namespace, "t", "id")
    add_columns(lake.spark, lake.namespace, "t", {"more": "id + 1"})
    loaded.write.format("lance_namespace").options(**options).mode("append").save("copy")
    stream = lake.spark.readStream.format("lance_namespace").options(**options).load("t")
    sink = stream.writeStream.format("lance_namespace").options(table="streamed", **options)
    sink = sink.option("checkpointLocation", str(lake.root / "checkpoint"))
    sink.trigger(availableNow=True).start().awaitTermination()
    failure = ""
    try:
        source.option("filter", "nothing = 1").load("t").count()
    except Exception as error:  # noqa: BLE001 its text is checked
        failure = str(error)
    shown = {"plans": "".join(plans), "failure": failure, **pages(context)}
    events = [
        path.read_text("utf-8", "replace")
        for path in lake.root.parent.rglob("*")
        if path.is_file() and "events" in str(path)
    ]
    shown["event log"] = "".join(events)
    saved = [
        path.read_text("utf-8", "replace")
        for path in (lake.root / "checkpoint").rglob("*")
        if path.is_file()
    ]
    shown["checkpoint"] = "".join(saved)
    return {
        "exact": lake.rows().total() == 100 + ROWS + 200,
        "empty": [name for name, text in shown.items() if not text],
        "leaks": [
            name
            for name, text in shown.items()
            if SECRET in text or os.environ[ENVIRONMENT] in text
        ],
    }


def closures(lake: Lake, _: Any) -> dict[str, Any]:
    """Search executors and files for a secret of a namespace, a data source and an import's files.

    The memory of the executors' JVMs must not contain the secret. All functions are sent as files
    here, so no file in Spark's folders may contain it, either.
    """
    from pyspark.sql.utils import is_remote

    from lance_namespace_impls.maintenance import IndexWish, Upkeep, maintain
    from lance_namespace_impls.spark import delete, import_files, update

    # The process that plans the data source has no session that provides a key.
    source_has_key = ENVIRONMENT in os.environ or cache_folder() is not None
    lake.base()
    spark, name = lake.spark, lake.root.name
    options = {"root": str(lake.root), "storage.aws_secret_access_key": SECRET}
    lake.namespace = connect("dir", options)
    assert read_table(spark, lake.namespace, "t").count() == 100
    write_table(lake.frame(1000, "new"), lake.namespace, "t", "append", rows_per_file=100)
    merge_into(lake.frame(1200, "changed"), lake.namespace, "t", "id")
    update(spark, lake.namespace, "t", {"s": "'twice'"}, "id < 10")
    delete(spark, lake.namespace, "t", "id < 5")
    add_columns(spark, lake.namespace, "t", same, types="same:int64", reads=["id"])
    keys = spark.range(2000).selectExpr("id", "id * 2 AS double")
    add_columns(spark, lake.namespace, "t", keys, on="id")
    upkeep = Upkeep(indices=[IndexWish(column="id", type="BTREE")])
    (row,) = maintain(lake.namespace, upkeep=upkeep, spark=spark)
    rows = lake.root.parent / f"{name}.csv"
    rows.write_text("a,b\n" + "1,x\n" * 1000)
    sources = [rows.as_uri()]
    imported = import_files(
        spark, impl="dir", properties=options, table=["i"], sources=sources, small_bytes=0
    )
    done = {"maintain": row.problem is None, "import": imported.rows == 1000}
    source = spark.read.format("lance_namespace").options(impl="dir", **options)
    if source_has_key and not is_remote():
        loaded = source.load("t")
        writer = loaded.write.format("lance_namespace").options(impl="dir", **options)
        writer.mode("append").save("copy")
        stream = spark.readStream.format("lance_namespace").options(impl="dir", **options)
        sink = stream.load("t").select("id").writeStream.format("lance_namespace")
        sink = sink.options(impl="dir", table="streamed", **options)
        sink = sink.option("checkpointLocation", str(lake.root / "checkpoint"))
        sink.trigger(availableNow=True).start().awaitTermination()
        done["load"] = loaded.count() == 695
        for table in ("copy", "streamed"):
            copied = lance.dataset(str(lake.root / f"{table}.lance")).count_rows()
            done[table] = copied == 695
    elif not is_remote():
        done["refusal"] = is_refused(source)
    memory = {str(process.pid): process for process in jvms_of_tasks()}
    done["processes"] = bool(memory)
    files = [path for path in lake.root.parent.rglob("*") if path.is_file()]
    return {
        "wrong": [name for name, is_right in done.items() if not is_right],
        # The search can find plain text in a plan; otherwise, finding no secret would prove nothing.
        "blind": [pid for pid, process in memory.items() if not holds(process, str(lake.root))],
        "leaks": [pid for pid, process in memory.items() if holds(process, SECRET)]
        + [str(path) for path in files if SECRET.encode() in path.read_bytes()],
    }


def same(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the values of a column under another name."""
    return pa.record_batch({"same": rows.column("id")})


def is_refused(source: Any) -> bool:
    """Return whether loading a table fails because its secrets cannot be sealed."""
    try:
        source.load("t").count()
    except Exception as error:  # noqa: BLE001 its text is checked
        return f"set the environment variable {ENVIRONMENT}" in str(error)
    return False


def jvms_of_tasks() -> list[psutil.Process]:
    """Return the JVMs of the executors, or the Spark Connect server, which runs tasks itself."""
    from pyspark.sql.utils import is_remote

    if is_remote():
        return [driver_jvm()]
    return [each for each in driver_jvm().children(recursive=True) if "java" in each.name()]


def driver_jvm() -> psutil.Process:
    """Return the JVM that this process started."""
    (found,) = [each for each in psutil.Process().children() if "java" in each.name()]
    return found


def holds(process: psutil.Process, text: str) -> bool:
    """Return whether the memory of a process contains a text."""
    wanted = text.encode()
    with (
        open(f"/proc/{process.pid}/maps") as maps,
        open(f"/proc/{process.pid}/mem", "rb", 0) as memory,
    ):
        for line in maps:
            place, rights, *_ = line.split()
            if not rights.startswith("rw"):
                continue
            start, end = (int(each, 16) for each in place.split("-"))
            with suppress(OSError):  # memory that is only reserved
                memory.seek(start)
                if wanted in memory.read(end - start):
                    return True
    return False


def pages(context: Any) -> dict[str, str]:
    """Return the pages and the JSON of Spark's UI by path."""
    base = context.uiWebUrl
    api = f"api/v1/applications/{context.applicationId}"
    paths = ["jobs/", "stages/", "environment/", "SQL/", "executors/", "StreamingQuery/"]
    paths += [
        f"{api}/{each}"
        for each in ("jobs", "stages", "environment", "sql?details=true&length=1000")
    ]
    found = {path: urlopen(f"{base}/{path}").read().decode() for path in paths}
    for query in json.loads(found[paths[-1]]):
        path = f"SQL/execution/?id={query['id']}"
        found[path] = urlopen(f"{base}/{path}").read().decode()
    return found


SCENARIOS: dict[str, tuple[Callable[..., dict[str, Any]], Callable[[], None]]] = {
    "executor-killed": (one_write, kill_executor),
    "task-fails": (one_write, fail),
    "driver-killed": (killed_driver, fail),
    "two-appends": (two_appends, fail),
    "overwrite-and-append": (overwrite_and_append, fail),
    "two-merges": (two_merges, fail),
    "everyday": (everyday, fail),
    "plain": (plain, fail),
    "secrets": (secrets, fail),
    "closures": (closures, fail),
}


def main() -> None:
    master, root, name, *seeds = sys.argv[1:]
    scenario, act = SCENARIOS[name]
    more = {}
    if name == "secrets":
        make_key()
        events = Path(root, "events")
        events.mkdir(parents=True)
        more = {
            "spark.ui.enabled": "true",
            "spark.ui.port": "0",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
            "spark.eventLog.rolling.enabled": "false",
        }
    if name == "closures":
        scratch = Path(root, "scratch")
        scratch.mkdir(parents=True)
        os.environ["SPARK_WORKER_DIR"] = str(scratch)
        more = {"spark.local.dir": str(scratch), "spark.broadcast.UDFCompressionThreshold": "1"}
    spark = session(master, more)
    for seed in map(int, seeds):
        lake = Lake(spark, Path(root), seed)
        print(json.dumps({"seed": seed, **scenario(lake, act)}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
