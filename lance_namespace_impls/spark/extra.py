"""What the extra ``[spark]`` brings."""

from __future__ import annotations

from importlib.util import find_spec

from lance_namespace_client.errors import InvalidInputError

__all__ = ["require_pyspark"]


def require_pyspark() -> None:
    """Refuse to go on without PySpark.

    Raises:
        InvalidInputError: code 13, PySpark is not installed; the message says how to install it.
    """
    if find_spec("pyspark") is None:
        raise InvalidInputError("Spark jobs need pyspark: pip install 'lance-namespace-kit[spark]'")
