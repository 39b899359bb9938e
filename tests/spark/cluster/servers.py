"""A standalone cluster on this machine: a master and workers on free ports of loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from lance_namespace_impls.spark.java import use_java

SECONDS = 300


@contextmanager
def started(name: str, folder: Path, *arguments: str) -> Iterator[Path]:
    """Run a class of Spark's ``deploy`` package and yield its log file."""
    import pyspark

    home = Path(pyspark.__file__).parent
    log = folder / f"{name}-{time.monotonic_ns()}.log"
    environment = {
        **os.environ,
        "JAVA_HOME": str(use_java()),
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    kind = f"org.apache.spark.deploy.{name}.{name.capitalize()}"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), kind, "--host", "127.0.0.1", *arguments],
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
        )
        try:
            yield log
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def told(log: Path, pattern: str) -> str:
    """Wait until a log matches a pattern, and return the group of the pattern."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if match := re.search(pattern, log.read_text("utf-8", "replace")):
            return match[1]
        time.sleep(0.1)
    raise AssertionError(f"{log.name} does not say {pattern}: {log.read_text()[-2000:]}")


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[str]:
    """Run a master and its workers; yield the master's address."""
    with ExitStack() as running:
        ports = ("--port", "0", "--webui-port", "0")
        log = running.enter_context(started("master", folder, *ports))
        master = told(log, r"Starting Spark master at (spark://\S+)")
        options = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"), *ports)
        for _ in range(workers):
            log = running.enter_context(started("worker", folder, *options, master))
            told(log, r"(Successfully registered with master)")
        yield master
