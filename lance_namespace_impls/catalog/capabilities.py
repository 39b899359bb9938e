"""What a backend can do, declared by the backend and never guessed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import field, frozen

from lance_namespace_client.errors import UnsupportedError

__all__ = ["MANAGED_OPERATIONS", "NO_COUNTERPART", "Capabilities"]

_STORAGE_MANAGED = (
    "its tables are managed by storage: a version is made by committing to the table itself"
)
_NO_JOBS = "it runs no background jobs and stores no functions for computed data"
_NO_TRANSACTIONS = "it keeps no transactions beyond a table's own versions"
MANAGED_OPERATIONS = ("CreateTableVersion", "BatchCreateTableVersions", "BatchCommitTables")
"""Operations of catalogs that keep the versions of tables."""
_TRANSACTIONS = ("DescribeTransaction", "AlterTransaction")
NO_COUNTERPART: Mapping[str, str] = {
    **dict.fromkeys(MANAGED_OPERATIONS, _STORAGE_MANAGED),
    "AlterTableBackfillColumns": _NO_JOBS,
    "CreateMaterializedView": _NO_JOBS,
    "RefreshMaterializedView": _NO_JOBS,
    **dict.fromkeys(_TRANSACTIONS, _NO_TRANSACTIONS),
}
"""Operations that neither the Lance format nor a catalog of storage-managed tables has, and why."""


@frozen(kw_only=True)
class Capabilities:
    """What a backend can do; the base class, the server and the contract tests go by it."""

    namespace_depth: int | None
    """Levels in the identifier of the deepest namespace; 0: the root alone, None: no end."""

    table_depth: int = 0
    """Levels in the identifier of the shallowest namespace that holds tables."""

    lowercase_names: bool = False
    """Whether the catalog stores names in lower case; a name that would not come back as it was
    given is refused."""

    configured_depth: int = 0
    """Levels in the identifier of the deepest namespace that is there by configuration, such as
    the one catalog of a connection; up to there none is made, changed or dropped (code 13)."""

    closed: bool = False
    """Whether making something below a namespace that is not among the configured ones is
    invalid (code 13) rather than a missing parent (code 1)."""

    storage_only: bool = False
    """Whether storage is all there is: a table is where its name says, and a table that was
    deregistered still occupies its name."""

    cascade: bool = False
    """Whether DropNamespace takes the behavior Cascade."""

    idempotent_drop: bool = False
    """Whether DropNamespace of a missing namespace succeeds even in mode Fail."""

    rename_across: bool = False
    """Whether RenameTable can move a table to another namespace."""

    rename_within: int = 0
    """How many of the first names must stay when RenameTable moves a table."""

    shown_delimiter: str = "$"
    """What joins the levels of an identifier in messages, where the catalog's users see another."""

    permanent: Collection[tuple[str, ...]] = ()
    """Namespaces that the catalog needs: dropping or overwriting one is invalid (code 13)."""

    location_properties: Collection[str] = ()
    """Properties of namespaces or tables that name a place where the catalog keeps something."""

    managed_versioning: bool = False
    """Whether the catalog can own a table's latest version, so that a commit behind its back does not
    show; else storage does. Such a class has a `version_store`."""

    unsupported: Mapping[str, str] = field(factory=dict)
    """Operations that the catalog has no way to do, each with the reason that code 0 gives."""

    def reason(self, operation: str) -> str | None:
        """Return why an operation is not supported; None where it is.

        ListOperations, the refusals with code 0 and the documentation all go by it.
        """
        return self.unsupported.get(operation) or self._built_in(operation)

    def refusal(self, operation: str) -> UnsupportedError:
        """Return the error, code 0, of an operation that is not supported."""
        return UnsupportedError(f"{operation} is not supported: {self.reason(operation)}")

    def _built_in(self, operation: str) -> str | None:
        if self.managed_versioning and operation in (*MANAGED_OPERATIONS, *_TRANSACTIONS):
            return None
        return NO_COUNTERPART.get(operation)

    def holds_tables(self, depth: int) -> bool:
        """Return whether a namespace with that many levels in its identifier can hold tables."""
        return depth >= self.table_depth and self.has_namespaces(depth)

    def has_namespaces(self, depth: int) -> bool:
        """Return whether a namespace can have that many levels in its identifier."""
        return self.namespace_depth is None or depth <= self.namespace_depth
