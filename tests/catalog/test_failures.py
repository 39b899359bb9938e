"""Failures of every catalog become protocol errors, and secrets are removed from them."""

from __future__ import annotations

from typing import Any

import pytest

from lance_namespace_client.errors import InternalError, LanceNamespaceError
from lance_namespace_impls import extend
from lance_namespace_impls.extend import http
from lance_namespace_impls.memory import MemoryNamespace
from lance_namespace_impls.registry import implementations, load

SECRET = "s3cr3t-v4lue"
NEEDED = {
    "dir": {"path": "/data"},
    "hive": {"uri": "host:9083"},
    "hive2": {"uri": "host:9083"},
    "hive3": {"uri": "host:9083"},
    "iceberg": {"endpoint": "http://host"},
    "polaris": {"endpoint": "http://host"},
    "unity": {"endpoint": "http://host", "catalog": "main"},
}
CATALOGS = sorted(name for name in implementations() if issubclass(load(name), extend.CatalogBase))


def failures(impl: str) -> list[Exception]:
    """Return failures of the catalog's client and of storage whose messages contain a secret."""
    text = f"denied: {SECRET}"
    found: list[Exception] = [OSError(text), ValueError(text), RuntimeError(text)]
    if impl in ("iceberg", "polaris", "unity"):
        found += [
            http.HttpFailure("GET /x", status, "Kind", text) for status in (400, 403, 409, 500)
        ]
    elif impl.startswith("hive"):
        from pymetastore.hive_metastore import ttypes
        from thrift.Thrift import TException

        found += [TException(text), ttypes.MetaException(text)]
        found += [ttypes.InvalidObjectException(text), ttypes.InvalidInputException(text)]
    elif impl == "glue":
        from botocore.exceptions import ClientError

        for code in ("AccessDeniedException", "ThrottlingException", "EntityNotFoundException"):
            found.append(ClientError({"Error": {"Code": code, "Message": text}}, "GetTable"))
    return found


@pytest.mark.parametrize("impl", CATALOGS)
def test_no_secret_is_in_a_failure_of_the_catalog(impl: str) -> None:
    properties = {**NEEDED.get(impl, {}), "storage.secret_access_key": SECRET}
    cls: Any = load(impl)
    namespace = object.__new__(cls)
    namespace.config = cls.config_type.from_properties(properties)
    for failure in failures(impl):
        found = namespace.translate(failure, "DescribeTable t")
        assert SECRET not in f"{found} {found.message} {found.args}", failure
        assert "DescribeTable t" in found.message


def test_translate_cannot_be_overridden() -> None:
    body = {"translate": lambda self, error, what: InternalError(what)}
    with pytest.raises(TypeError, match=r"Own overrides translate\(\): .* recognize_failure\(\)"):
        type("Own", (MemoryNamespace,), body)


def test_a_custom_failure_is_recognized() -> None:
    class OutOfPaperError(Exception):
        pass

    class Own(MemoryNamespace):
        def load_table(self, identifier: extend.Identifier) -> extend.TableEntry:
            raise OutOfPaperError(f"out of paper, {SECRET}")

        def recognize_failure(self, error: Exception, what: str) -> LanceNamespaceError | None:
            return InternalError(f"{what}: {error}") if type(error) is OutOfPaperError else None

    with (
        Own.from_properties({"storage.secret_access_key": SECRET}) as namespace,
        pytest.raises(InternalError, match=r"^DescribeTable t: out of paper, \*\*\*$") as caught,
    ):
        namespace.describe_table({"id": ["t"]})
    assert isinstance(caught.value.__cause__, OutOfPaperError)
