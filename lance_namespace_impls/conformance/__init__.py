"""Contract tests for any Lance namespace: a REST server, a Python class or a bundled impl.

>>> from lance_namespace_impls import conformance
>>> report = conformance.check_url("http://localhost:2333")  # doctest: +SKIP
>>> conformance.require(report)  # raises AssertionError with the failures  # doctest: +SKIP

Source: rest.yaml, the protocol semantics and the specifications; each check names its source.
"""

from .api import check_class, check_impl, check_target, check_url, require
from .runner import CannotRunError, Options

__all__ = [
    "CannotRunError",
    "Options",
    "check_class",
    "check_impl",
    "check_target",
    "check_url",
    "require",
]
