"""Operations that capabilities reject, and the location properties of each catalog."""

from __future__ import annotations

import pytest

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.directory.namespace import DirectoryNamespace
from lance_namespace_impls.glue import GlueNamespace
from lance_namespace_impls.hive.hive2 import Hive2Namespace
from lance_namespace_impls.hive.hive3 import Hive3Namespace
from lance_namespace_impls.iceberg import IcebergNamespace
from lance_namespace_impls.memory import MemoryNamespace
from lance_namespace_impls.polaris import PolarisNamespace
from lance_namespace_impls.sql import SqlNamespace
from lance_namespace_impls.unity import UnityNamespace

LOCATIONS: dict[type[Namespace], tuple[str, ...]] = {
    DirectoryNamespace: (),
    MemoryNamespace: (),
    SqlNamespace: (),
    UnityNamespace: (),
    GlueNamespace: ("location",),
    Hive2Namespace: ("database.location-uri",),
    Hive3Namespace: ("database.location-uri", "catalog.location-uri"),
    PolarisNamespace: ("location", "default-base-location"),
    IcebergNamespace: (
        *("location", "default-base-location", "write.data.path", "write.metadata.path"),
        *("write.object-storage.path", "write.folder-storage.path"),
    ),
}


@pytest.mark.parametrize("kind", LOCATIONS, ids=lambda kind: kind.__name__)
def test_properties_that_contain_locations(kind: type[Namespace]) -> None:
    """A catalog that is confined to its root checks the locations in these properties."""
    assert kind.capabilities.location_properties == LOCATIONS[kind]


STORAGE, JOBS, TRANSACTIONS = (
    "managed by storage",
    "runs no background jobs",
    "stores no transactions",
)
WITHOUT_COUNTERPART = {
    "CreateTableVersion": STORAGE,
    "BatchCreateTableVersions": STORAGE,
    "BatchCommitTables": STORAGE,
    "DescribeTransaction": TRANSACTIONS,
    "AlterTransaction": TRANSACTIONS,
    "AlterTableBackfillColumns": JOBS,
    "CreateMaterializedView": JOBS,
    "RefreshMaterializedView": JOBS,
}


def test_operations_without_a_counterpart_are_rejected_with_a_reason() -> None:
    plain = Capabilities(namespace_depth=None)
    for operation in OPERATIONS:
        reason, wanted = plain.reason(operation), WITHOUT_COUNTERPART.get(operation)
        assert reason is None if wanted is None else wanted in str(reason), operation
        said = str(plain.refusal(operation))
        assert wanted is None or said == f"{operation} is not supported: {reason}"


def test_a_catalog_that_manages_versions_supports_all_but_jobs() -> None:
    managed = Capabilities(namespace_depth=None, managed_versioning=True)
    refused = {operation for operation in OPERATIONS if managed.reason(operation) is not None}
    assert refused == {name for name, why in WITHOUT_COUNTERPART.items() if why == JOBS}


def test_a_custom_reason_comes_first() -> None:
    for operation in ("CreateTable", "CreateTableVersion"):
        own = Capabilities(namespace_depth=0, unsupported={operation: "it is read-only"})
        assert own.reason(operation) == "it is read-only"


@pytest.mark.parametrize(
    ("table_depth", "namespace_depth", "holding", "having"),
    [(0, 0, {0}, {0}), (1, 1, {1}, {0, 1}), (2, None, {2, 3, 4}, {0, 1, 2, 3, 4}), (1, 2, {1, 2}, {0, 1, 2})],
)  # fmt: skip
def test_levels_that_hold_tables_and_namespaces(
    table_depth: int, namespace_depth: int | None, holding: set[int], having: set[int]
) -> None:
    found = Capabilities(table_depth=table_depth, namespace_depth=namespace_depth)
    assert {depth for depth in range(5) if found.holds_tables(depth)} == holding
    assert {depth for depth in range(5) if found.has_namespaces(depth)} == having
