"""Checks for the dependencies of the extra ``[spark]``."""

from __future__ import annotations

from importlib.util import find_spec

from lance_namespace_client.errors import InvalidInputError

__all__ = ["require_pyspark"]


def require_pyspark() -> None:
    """Raise an error if PySpark is not installed.

    Raises:
        InvalidInputError: code 13, PySpark is not installed; the message contains the install
            command.
    """
    if find_spec("pyspark") is None:
        raise InvalidInputError("Spark jobs need pyspark: pip install 'lance-namespace-kit[spark]'")
