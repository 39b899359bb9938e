"""Creates a local Spark session that is ready for Lance tables."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace_client.errors import InvalidInputError

from ..distributed.frames import keeping_all_rows
from ..distributed.secrets import make_key, share_key
from .extra import require_pyspark
from .java import use_java
from .pushdown import pushdown_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["local_session"]

_SETTINGS = {
    # The driver and its workers communicate only on this machine.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    # Timestamps with a zone are shown in UTC, so they do not depend on the machine.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # With a lower limit, Spark measures the whole batch again for each row that it sends to Python.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    # Vectors are read into new memory; measurements were faster with huge pages.
    "spark.executorEnv.GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
    # The workers run on this machine, where Unix domain sockets are faster than TCP.
    "spark.python.unix.domain.socket.enabled": "true",
    # One machine has few cores: Spark's default of 200 shuffle partitions adds only overhead.
    "spark.sql.shuffle.partitions": "8",
}

# Spark checks nulls and lengths before it reads a value. Arrow need not repeat the checks for each
# number of a vector.
_UNCHECKED = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"


def local_session(
    app_name: str = "lance-namespace-kit",
    cores: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark in this process, with the data source ``lance_namespace`` registered.

    `lance_namespace_impls.spark.java` finds Java. If a session is already running, that session is
    returned with the data source registered and with those settings applied that can still change.
    Call this function in each thread that saves DataFrames: for `save`, Spark finds a data source
    only through the active session of the thread. The `createDataFrame` of the returned session
    keeps all rows of an Arrow table (see `frame_from_arrow`, which works with any session and also
    keeps the types).

    Args:
        app_name: name of the application in Spark.
        cores: number of concurrent worker processes; defaults to the number of cores.
        settings: Spark settings that override the defaults here, such as ``spark.driver.memory``.

    Raises:
        InvalidInputError: code 13, PySpark or Java is missing; the message names the package to
            install.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

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
        **_with_jar((settings or {}).get("spark.jars")),
    }
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # pylance warns about every fork, but this one is safe: the child immediately becomes the JVM.
        warnings.filterwarnings("ignore", message="lance is not fork-safe")
        session = builder.getOrCreate()
    _register(session)
    share_key(session)
    keeping_all_rows(session)
    _make_active(session)
    return session


def _register(session: SparkSession) -> None:
    """Register the Python data source, which also writes and streams for the jar's JVM class.

    Spark 4.0 rejects a name that a JVM class already has, and finds the data source by its module.
    """
    from pyspark.errors import AnalysisException

    from .datasource import LanceNamespaceDataSource

    try:
        session.dataSource.register(LanceNamespaceDataSource)
    except AnalysisException as error:
        if error.getErrorClass() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


def _with_jar(jars: str | None) -> dict[str, str]:
    """Return the setting that adds the jar for pushdown to other jars, if there is one."""
    try:
        return {"spark.jars": ",".join(filter(None, [jars, pushdown_jar()]))}
    except InvalidInputError as error:
        warnings.warn(error.message, stacklevel=3)
        return {}


def _make_active(session: SparkSession) -> None:
    """Activate a session for this thread; Spark finds the format of `save` only in that session."""
    java: Any = session
    java._jvm.SparkSession.setActiveSession(java._jsparkSession)
