"""Builds a local Spark session that is ready for Lance tables."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..distributed.frames import keeping_all_rows
from ..distributed.secrets import make_key, share_key
from .extra import require_pyspark
from .java import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["local_session"]

_SETTINGS = {
    # The driver and its workers talk on this machine only.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    # A timestamp with a zone is a moment; shown in UTC it does not depend on the machine.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A lower limit has Spark measure the whole batch anew for each row that goes to Python.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    # Vectors are read into new memory, which took less time in large pages.
    "spark.executorEnv.GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
    # The workers are on this machine, where a socket file costs less than the network.
    "spark.python.unix.domain.socket.enabled": "true",
    # One machine has few cores: Spark's 200 shuffle partitions would be all overhead.
    "spark.sql.shuffle.partitions": "8",
}

# Spark looks for nulls and lengths before it asks Arrow for a value; Arrow need not look again, of
# each number of a vector.
_UNCHECKED = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"


def local_session(
    app_name: str = "lance-namespace-kit",
    cores: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark in this process, with the data source ``lance_namespace`` registered.

    Java is found by `lance_namespace_impls.spark.java`. If a session is running already, it is
    given back with the data source registered and those of the settings applied that can change.
    Call it in each thread that saves DataFrames: Spark finds a data source for `save` only through
    the session that is active in the thread. Its `createDataFrame` keeps all rows of an Arrow table
    (see `frame_from_arrow`, which works with any session and keeps the types too).

    Args:
        app_name: name of the application, as Spark shows it.
        cores: worker processes at once; as many as the machine has cores unless given.
        settings: Spark settings on top of the defaults here, such as ``spark.driver.memory``.

    Raises:
        InvalidInputError: code 13, PySpark or Java is missing; the message says what to install.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    from .datasource import LanceNamespaceDataSource

    make_key()
    if SparkSession.getActiveSession() is None:
        use_java()
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.appName(app_name).master(f"local[{cores or '*'}]")
    logging = Path(__file__).with_name("log4j2.properties").as_uri()
    warehouse = os.path.join(tempfile.gettempdir(), f"spark-warehouse-{os.getuid()}")
    chosen = {
        **_SETTINGS,
        "spark.sql.warehouse.dir": warehouse,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging} {_UNCHECKED}",
        **(settings or {}),
    }
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # pylance warns of every fork; the child here becomes the JVM at once.
        warnings.filterwarnings("ignore", message="lance is not fork-safe")
        session = builder.getOrCreate()
    session.dataSource.register(LanceNamespaceDataSource)
    share_key(session)
    keeping_all_rows(session)
    _make_active(session)
    return session


def _make_active(session: SparkSession) -> None:
    """Activate a session for this thread: Spark looks the format of `save` up in that one alone."""
    java: Any = session
    java._jvm.SparkSession.setActiveSession(java._jsparkSession)
