"""Runs the tasks of a job in Spark or in threads of this process."""

from __future__ import annotations

import os
import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from .failures import protocol_error, protocol_error_in
from .secrets import map_in_arrow, share_in_thread

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from lance_namespace_client.errors import LanceNamespaceError

__all__ = [
    "Count",
    "Runner",
    "ThreadRunner",
    "Work",
    "is_on_this_machine",
    "quietly",
    "spark_runner",
]

_POLL_SECONDS = 0.1
_WORKER_END_SECONDS = 3  # Spark waits up to 2 seconds for a Python worker to exit

Count = Callable[[int], None]
"""Callback that receives the number of rows that a task has written."""

Work = Callable[[str, Count], str]
"""Function that processes a task, which is a string, and returns the result as a string."""


def quietly(done: int, rows: int) -> None:
    """Ignore the reported progress."""


class Runner(ABC):
    """Runs tasks concurrently, and returns their results in task order.

    Attributes:
        cores: number of concurrent tasks.
    """

    cores: int

    @abstractmethod
    def run(
        self, name: str, tasks: Sequence[str], work: Work, report: Callable[[int, int], None]
    ) -> list[str]:
        """Return the results of all tasks, in task order.

        Args:
            name: name of the job, for messages.
            tasks: one string for each task.
            work: function that processes a task.
            report: called periodically on this thread with the number of finished tasks and of
                written rows. If it raises an error, the tasks are stopped and the error is raised
                again.

        Raises:
            InternalError: code 18, a task could not be run.
        """


class ThreadRunner(Runner):
    """Runs tasks in threads of this process, in which Arrow and Lance run in parallel.

    Args:
        cores: number of threads; defaults to the number of cores.
    """

    def __init__(self, cores: int | None = None) -> None:
        self.cores = cores or os.cpu_count() or 1

    def run(
        self, name: str, tasks: Sequence[str], work: Work, report: Callable[[int, int], None]
    ) -> list[str]:
        """Return the results of all tasks, in task order."""
        stopped = threading.Event()
        lock = threading.Lock()
        rows = 0

        def count(more: int) -> None:
            nonlocal rows
            if stopped.is_set():
                raise InterruptedError(f"{name} was stopped")
            with lock:
                rows += more

        with ThreadPoolExecutor(self.cores, "lance-import") as pool:
            futures = [pool.submit(work, task, count) for task in tasks]
            try:
                waiting = set(futures)
                while waiting:
                    done, waiting = wait(waiting, _POLL_SECONDS)
                    for future in done:
                        future.result()
                    report(len(futures) - len(waiting), rows)
            except BaseException:
                stopped.set()
                pool.shutdown(cancel_futures=True)
                raise
        return [future.result() for future in futures]


def spark_runner(spark: SparkSession) -> Runner:
    """Return a runner on the workers of a session, including sessions of Spark Connect."""
    from pyspark.errors import PySparkAttributeError

    try:
        return SparkRunner(spark.sparkContext)
    except PySparkAttributeError:
        return ConnectRunner(spark)


def is_on_this_machine(spark: SparkSession) -> bool:
    """Return whether the workers of a session are certain to run on this machine."""
    from pyspark.errors import PySparkAttributeError

    try:
        return (spark.sparkContext.master or "").startswith("local")
    except PySparkAttributeError:  # this is Spark Connect, whose server may run anywhere
        return False


class ConnectRunner(Runner):
    """Runs tasks through Spark Connect, which supports only DataFrames and reports no progress.

    Args:
        spark: the session.
    """

    cores = 16  # Spark Connect does not report the number of cores

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(
        self, name: str, tasks: Sequence[str], work: Work, report: Callable[[int, int], None]
    ) -> list[str]:
        """Return the results of all tasks, in task order."""

        def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            for batch in batches:
                for number in batch.column(0).to_pylist():
                    rows: list[int] = []
                    text = work(tasks[number], rows.append)
                    yield pa.record_batch(
                        {"number": [number], "answer": [text], "rows": [sum(rows)]}
                    )

        numbers = self._spark.range(0, len(tasks), 1, max(1, len(tasks)))
        frame = map_in_arrow(numbers, answer, "number bigint, answer string, rows bigint")
        tag = uuid.uuid4().hex
        self._spark.addTag(tag)
        try:
            found = frame.collect()
        except Exception as error:
            raise _failure(error, name) from error
        except BaseException:
            self._spark.interruptTag(tag)
            raise
        finally:
            self._spark.removeTag(tag)
        report(len(tasks), sum(row.rows for row in found))
        return [row.answer for row in sorted(found, key=lambda row: int(row.number))]


def _failure(error: Exception, name: str) -> LanceNamespaceError:
    return protocol_error_in(error) or protocol_error(error, f"{name}: Spark")


class SparkRunner(Runner):
    """Runs tasks on Spark's workers.

    Args:
        context: the Spark context.
    """

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self.cores = context.defaultParallelism

    def run(
        self, name: str, tasks: Sequence[str], work: Work, report: Callable[[int, int], None]
    ) -> list[str]:
        """Return the results of all tasks, in task order."""
        if not tasks:  # Spark would divide by the number of tasks
            report(0, 0)
            return []
        done, rows = self._context.accumulator(0), self._context.accumulator(0)

        def task(text: str) -> str:
            answer = work(text, rows.add)
            done.add(1)
            return answer

        job = _Job(self._context, name, tasks, task)
        for _ in job:
            report(done.value, rows.value)
        report(len(tasks), rows.value)
        return job.answers


class _Job:
    """A Spark job in a separate thread; the calling thread can monitor and stop it.

    Args:
        context: the Spark context.
        name: description of the job in Spark's UI.
        tasks: one string for each task.
        work: function that a worker calls with a task.
    """

    def __init__(
        self, context: SparkContext, name: str, tasks: Sequence[str], work: Callable[[str], str]
    ) -> None:
        from pyspark import InheritableThread

        self.answers: list[str] = []
        self._context = context
        self._name = name
        self._tasks = tasks
        self._work = work
        self._group = uuid.uuid4().hex
        self._failure: Exception | None = None
        self._thread = InheritableThread(target=self._collect)

    def _collect(self) -> None:
        try:
            share_in_thread(self._context)
            self._context.setJobGroup(self._group, self._name, interruptOnCancel=True)
            tasks = self._context.parallelize(self._tasks, len(self._tasks))
            self.answers = tasks.map(self._work).collect()
        except Exception as error:  # noqa: BLE001 re-raised in the caller's thread
            self._failure = error

    def __iter__(self) -> Iterator[None]:
        """Run the job to its end, and yield periodically so that the caller can act.

        Raises:
            LanceNamespaceError: the error that a task raised through `coded`, or an error with code
                18 if Spark could not run the job.
        """
        self._thread.start()
        try:
            while self._thread.is_alive():
                yield
                self._thread.join(_POLL_SECONDS)
        except BaseException:
            self._context.cancelJobGroup(self._group)
            self._thread.join()
            # A worker may still be writing during this time.
            time.sleep(_WORKER_END_SECONDS)
            raise
        if self._failure is not None:
            raise _failure(self._failure, self._name) from self._failure
