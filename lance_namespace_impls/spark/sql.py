"""Provides Spark SQL on the tables of any namespace.

On Spark 4, the package's jar contains a catalog, which calls the namespace. On Spark 3.5,
lance-spark reads and writes the tables. It looks them up over the Lance REST protocol, so the driver
serves the namespace on loopback, with the server that `find_loopback_server` returns. Clients need a
token that is created for this catalog and expires with it.
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
from .pushdown import has_pushdown, pushdown_jar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..catalog.loopback import LoopbackServer
    from ..catalog.namespace import Namespace

__all__ = ["SqlCatalog", "sql_catalog"]

OWN_CATALOG_CLASS = "io.github.lancenamespacekit.spark.LanceCatalog"
CATALOG_CLASS = "org.lance.spark.LanceNamespaceSparkCatalog"
EXTENSIONS = "org.lance.spark.extensions.LanceSparkSessionExtensions"
_CLASS_PATHS = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
_REDACTION = "spark.redaction.regex"
# Spark's default pattern matches neither the header that contains the token, nor every option of
# object stores.
_SECRET_KEYS = (
    r"(?i)secret|password|token|credential|(access|account|api)[._]?key|header[.]authorization"
)
_JARS = "spark.jars"


class SqlCatalog:
    """A catalog of Spark SQL; its server closes at process exit at the latest."""

    def __init__(self, name: str, address: str | None, resources: ExitStack) -> None:
        self.name = name
        """First part of the names of its tables."""
        self.address = address
        """Address at which the driver serves the namespace; None on Spark 4, which needs none."""
        self._resources = resources
        atexit.register(self.close)

    def close(self) -> None:
        """Stop the server; afterwards, Spark 3.5 cannot access the tables."""
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
    >>> builder.getOrCreate().sql("SELECT * FROM lake.flights")  # doctest: +SKIP

    On Spark 4, this sets ``spark.sql.catalog.<name>`` and adds the package's jar to a new session. On
    Spark 3.5, the driver serves the namespace on loopback for lance-spark, so only the driver sends
    catalog requests. Executors read and write the data directly, with the storage options of the
    namespace.

    Args:
        spark: a builder before the session is created, or a session that already has the package's
            jar, or lance-spark, on its class path.
        name: name of the catalog in Spark.
        impl: impl of the namespace, such as ``hive2``.
        properties: properties of the namespace, as for `connect`.
        jars: lance-spark and its dependencies, which are then used on any Spark; on Spark 3.5 they
            are downloaded by default. They precede Spark's own jars, whose Arrow is too old for it,
            and must have the same paths on executors on other machines.
        settings: additional settings of the catalog. On Spark 4, these are options of its readers
            and writers, such as ``batch_rows``; with lance-spark, for example ``parent``.

    Returns:
        the catalog; close it when the session has ended.

    Raises:
        InvalidInputError: code 13, PySpark is missing or its release has no catalog, no installed
            package can serve a namespace, the name is invalid, a property is wrong, or the session
            lacks the jar.
        ServiceUnavailableError: code 17, lance-spark cannot be downloaded, or the server does not
            start.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    if not name.isidentifier():
        raise InvalidInputError(f"{name!r} cannot be the name of a catalog: use letters and digits")
    if jars is None and _is_spark_4():
        return _own_catalog(spark, name, impl, {**(properties or {}), **(settings or {})})
    session = spark if isinstance(spark, SparkSession) else None
    if session is not None:
        _require_lance_spark(session)
    serve = find_loopback_server()
    paths = [] if session is not None else list(map(str, jars or lance_spark_jars()))
    resources = ExitStack()
    try:
        namespace = resources.enter_context(open_namespace(impl, properties or {}))
        server = resources.enter_context(serve(namespace, "spark"))
        values = _settings(name, namespace, server) | {
            f"spark.sql.catalog.{name}.{key}": value for key, value in (settings or {}).items()
        }
        if session is not None:
            for key, value in values.items():
                session.conf.set(key, value)
        else:
            _configure(spark, paths, values)
    except BaseException:
        resources.close()
        raise
    return SqlCatalog(name, server.address, resources)


def _is_spark_4() -> bool:
    import pyspark

    return int(pyspark.__version__.split(".")[0]) >= 4


def _own_catalog(spark: Any, name: str, impl: str, properties: Mapping[str, Any]) -> SqlCatalog:
    from .catalog_operations import connected

    values = {"impl": impl, **{key: _text(value) for key, value in properties.items()}}
    prefix = f"spark.sql.catalog.{name}"
    chosen = {prefix: OWN_CATALOG_CLASS} | {f"{prefix}.{key}": values[key] for key in values}
    is_session = hasattr(spark, "conf")
    # A Spark Connect client may be unable to reach the catalog, and cannot access the server's JVM.
    if not is_session or _has_jvm(spark):
        connected(values)
    if not is_session:
        _configure_own(spark, chosen)
        return SqlCatalog(name, None, ExitStack())
    if _has_jvm(spark):
        _require_own_jar(spark)
    for key, value in chosen.items():
        spark.conf.set(key, value)
    return SqlCatalog(name, None, ExitStack())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _configure_own(builder: Any, settings: Mapping[str, str]) -> None:
    chosen: dict[str, str] = dict(getattr(builder, "_options", {}))
    own, before = pushdown_jar(), chosen.get(_JARS)
    if own not in (before or "").split(","):
        builder.config(_JARS, f"{before},{own}" if before else own)
    if _REDACTION not in chosen:
        builder.config(_REDACTION, _SECRET_KEYS)
    for key, value in settings.items():
        builder.config(key, value)


def _has_jvm(session: Any) -> bool:
    from pyspark.errors import PySparkAttributeError

    try:
        return session._jvm is not None
    except PySparkAttributeError:
        return False


def _require_own_jar(session: Any) -> None:
    if not has_pushdown(session):
        raise InvalidInputError(
            "the session runs without the package's jar: call sql_catalog with "
            "SparkSession.builder before the session is created, or set spark.jars to "
            "pushdown_jar()"
        )


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
