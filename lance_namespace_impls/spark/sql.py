"""Provides Spark SQL on the tables of any namespace, with lance-spark and a server in the driver.

lance-spark reads and writes Lance tables from SQL. It looks up tables in a catalog, for example
over the Lance REST protocol. Therefore the driver serves the namespace on loopback, with the server
that `find_loopback_server` returns. Clients need a token that is created for this catalog and
expires with it.
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lance_namespace_client.errors import InvalidInputError

from ..catalog.loopback import find_loopback_server
from ..core.errors import first_line
from ..registry import open_namespace
from .extra import require_pyspark
from .jars import lance_spark_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..catalog.loopback import LoopbackServer
    from ..catalog.namespace import Namespace

__all__ = ["SqlCatalog", "sql_catalog"]

CATALOG_CLASS = "org.lance.spark.LanceNamespaceSparkCatalog"
EXTENSIONS = "org.lance.spark.extensions.LanceSparkSessionExtensions"
_CLASS_PATHS = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
_REDACTION = "spark.redaction.regex"
# Spark's default pattern does not match the header that contains the token.
_SECRET_KEYS = r"(?i)secret|password|token|access[.]?key|header[.]authorization"


class SqlCatalog:
    """A catalog of Spark SQL with its server; it closes at process exit at the latest."""

    def __init__(self, name: str, address: str, resources: ExitStack) -> None:
        self.name = name
        """First part of the names of its tables."""
        self.address = address
        """Address at which the driver serves the namespace."""
        self._resources = resources
        atexit.register(self.close)

    def close(self) -> None:
        """Stop the server; afterwards, Spark cannot access the tables."""
        atexit.unregister(self.close)
        self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def sql_catalog(
    spark: SparkSession | SparkSession.Builder,
    name: str,
    impl: str,
    properties: Mapping[str, Any] | None = None,
    *,
    jars: Sequence[str | Path] | None = None,
    settings: Mapping[str, str] | None = None,
) -> SqlCatalog:
    """Create a catalog of Spark SQL for the tables of a namespace.

    >>> builder = SparkSession.builder  # doctest: +SKIP
    >>> catalog = sql_catalog(builder, "lake", "dir", {"path": "/data/lance"})  # doctest: +SKIP
    >>> builder.getOrCreate().sql("SELECT * FROM lake.default.flights")  # doctest: +SKIP

    The driver serves the namespace on loopback, so only the driver sends catalog requests.
    Executors read and write the data directly, with the storage options of the namespace.

    Args:
        spark: a builder before the session is created, or a session that already has lance-spark on
            its class path.
        name: name of the catalog in Spark.
        impl: impl of the namespace, such as ``hive2``.
        properties: properties of the namespace, as for `connect`.
        jars: lance-spark and its dependencies; downloaded by default. They precede Spark's own
            jars, whose Arrow is too old for it, and must have the same paths on executors on other
            machines.
        settings: additional settings of the catalog, such as ``parent``.

    Returns:
        the catalog; close it when the session has ended.

    Raises:
        InvalidInputError: code 13, PySpark is missing or older than lance-spark, no installed
            package can serve a namespace, the name is invalid, a property is wrong, or the session
            lacks lance-spark.
        ServiceUnavailableError: code 17, lance-spark cannot be downloaded, or the server does not
            start.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    if not name.isidentifier():
        raise InvalidInputError(f"{name!r} cannot be the name of a catalog: use letters and digits")
    session = spark if isinstance(spark, SparkSession) else None
    if session is not None:
        _require_lance_spark(session)
    serve = find_loopback_server()
    paths = [] if session is not None else list(map(str, jars or lance_spark_jars()))
    resources = ExitStack()
    try:
        namespace = resources.enter_context(open_namespace(impl, properties or {}))
        server = resources.enter_context(serve(namespace, "spark"))
        given = _settings(name, namespace, server) | {
            f"spark.sql.catalog.{name}.{key}": value for key, value in (settings or {}).items()
        }
        if session is not None:
            for key, value in given.items():
                session.conf.set(key, value)
        else:
            _configure(spark, paths, given)
    except BaseException:
        resources.close()
        raise
    return SqlCatalog(name, server.address, resources)


def _settings(name: str, namespace: Namespace, server: LoopbackServer) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{name}"
    settings = {
        prefix: CATALOG_CLASS,
        f"{prefix}.impl": "rest",
        f"{prefix}.uri": server.address,
        f"{prefix}.header.Authorization": f"Bearer {server.token}",
    }
    if namespace.capabilities.namespace_depth == 0:
        # Spark requires a namespace above a table; for a flat catalog, its name is "default".
        settings[f"{prefix}.single_level_ns"] = "true"
    return settings


def _configure(builder: Any, jars: Sequence[str], settings: Mapping[str, str]) -> None:
    chosen: dict[str, str] = dict(getattr(builder, "_options", {}))
    for key in _CLASS_PATHS:
        before = chosen.get(key)
        builder.config(key, ":".join([*jars, *([before] if before else [])]))
    extensions = chosen.get("spark.sql.extensions")
    if EXTENSIONS not in (extensions or "").split(","):
        builder.config(
            "spark.sql.extensions", f"{extensions},{EXTENSIONS}" if extensions else EXTENSIONS
        )
    if _REDACTION not in chosen:
        builder.config(_REDACTION, _SECRET_KEYS)
    for key, value in settings.items():
        builder.config(key, value)


def _require_lance_spark(session: Any) -> None:
    try:
        session._jvm.java.lang.Class.forName(CATALOG_CLASS)
    except Exception as error:
        raise InvalidInputError(
            "the session runs without lance-spark: call sql_catalog with "
            "SparkSession.builder before the session is created "
            f"({first_line(error)[:100]})"
        ) from error
