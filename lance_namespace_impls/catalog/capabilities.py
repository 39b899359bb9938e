"""The capabilities of a backend, which it declares explicitly."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import field, frozen

from lance_namespace_client.errors import UnsupportedError

__all__ = ["MANAGED_OPERATIONS", "NO_COUNTERPART", "Capabilities"]

_STORAGE_MANAGED = (
    "the versions of its tables are managed by storage: commit to the table itself to create a "
    "version"
)
_NO_JOBS = "it runs no background jobs and stores no functions that compute data"
_NO_TRANSACTIONS = "it stores no transactions other than a table's versions"
MANAGED_OPERATIONS = ("CreateTableVersion", "BatchCreateTableVersions", "BatchCommitTables")
"""Operations of catalogs that manage the versions of tables."""
_TRANSACTIONS = ("DescribeTransaction", "AlterTransaction")
NO_COUNTERPART: Mapping[str, str] = {
    **dict.fromkeys(MANAGED_OPERATIONS, _STORAGE_MANAGED),
    "AlterTableBackfillColumns": _NO_JOBS,
    "CreateMaterializedView": _NO_JOBS,
    "RefreshMaterializedView": _NO_JOBS,
    **dict.fromkeys(_TRANSACTIONS, _NO_TRANSACTIONS),
}
"""Operations that neither the Lance format nor a catalog of storage-managed tables supports, each
with the reason.
"""


@frozen(kw_only=True)
class Capabilities:
    """The capabilities of a backend, which the base class, the server and the contract tests use."""

    namespace_depth: int | None
    """Number of levels in the identifier of the deepest namespace; 0 means only the root, None
    means unlimited.
    """

    table_depth: int = 0
    """Number of levels in the identifier of the shallowest namespace that holds tables."""

    lowercase_names: bool = False
    """Whether the catalog stores names in lower case; names with upper-case letters are
    rejected."""

    configured_depth: int = 0
    """Number of levels in the identifier of the deepest namespace that the configuration defines,
    such as the only catalog of a connection. Namespaces up to this depth cannot be created, changed
    or dropped (code 13).
    """

    closed: bool = False
    """Whether creating an object below a namespace that is not in the configuration fails with
    invalid input (code 13) instead of a missing parent (code 1).
    """

    storage_only: bool = False
    """Whether the catalog is the storage itself: a table's location follows from its name, and a
    deregistered table still occupies its name."""

    cascade: bool = False
    """Whether DropNamespace accepts the behavior Cascade."""

    idempotent_drop: bool = False
    """Whether DropNamespace of a missing namespace succeeds even in mode Fail."""

    rename_across: bool = False
    """Whether RenameTable can move a table to another namespace."""

    rename_within: int = 0
    """Number of leading names that RenameTable must preserve when it moves a table."""

    shown_delimiter: str = "$"
    """Separator between the levels of an identifier in messages, in the form that users of the
    catalog expect.
    """

    permanent: Collection[tuple[str, ...]] = ()
    """Namespaces that the catalog requires; dropping or overwriting one is invalid (code 13)."""

    location_properties: Collection[str] = ()
    """Properties of namespaces or tables that specify where the catalog stores data."""

    managed_versioning: bool = False
    """Whether the catalog can manage the versions of tables, so that a commit that bypasses the
    catalog has no effect. Otherwise, storage manages them. A class with this capability has a
    `version_store`.
    """

    unsupported: Mapping[str, str] = field(factory=dict)
    """Operations that the catalog cannot perform, each with the reason that the error (code 0)
    states."""

    def reason(self, operation: str) -> str | None:
        """Return why an operation is not supported, or None if it is supported.

        ListOperations, the errors with code 0 and the documentation all use this method.
        """
        return self.unsupported.get(operation) or self._built_in(operation)

    def refusal(self, operation: str) -> UnsupportedError:
        """Return the error (code 0) for an unsupported operation."""
        return UnsupportedError(f"{operation} is not supported: {self.reason(operation)}")

    def _built_in(self, operation: str) -> str | None:
        if self.managed_versioning and operation in (*MANAGED_OPERATIONS, *_TRANSACTIONS):
            return None
        return NO_COUNTERPART.get(operation)

    def holds_tables(self, depth: int) -> bool:
        """Return whether a namespace whose identifier has this many levels can hold tables."""
        return depth >= self.table_depth and self.has_namespaces(depth)

    def has_namespaces(self, depth: int) -> bool:
        """Return whether a namespace's identifier can have the specified number of levels."""
        return self.namespace_depth is None or depth <= self.namespace_depth
