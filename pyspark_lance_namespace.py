"""Registers the data source ``lance_namespace`` with Spark automatically.

Spark looks for top-level modules whose names start with ``pyspark_`` and registers their
``DefaultSource``.

Source: PySpark's Python Data Source API.
"""

from lance_namespace_namesake import refuse_namesake

refuse_namesake()

from lance_namespace_impls.spark.datasource import LanceNamespaceDataSource as DefaultSource  # noqa: E402

__all__ = ["DefaultSource"]
