"""Operations that change several tables in one catalog transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lance_namespace_client import models
from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    UnsupportedError,
)

from ...core.identifiers import Identifier, format_identifier, parse_identifier
from ..backend import CatalogBase
from ..entry import TableEntry, plain_properties
from ..errors import table_not_found
from ..operation import operation
from ..services.bounds import Bounds
from ..services.managed import CommitPlan, ManagedVersions, Staged, branch_name, shown_version
from ..services.placement import Placement
from ..version_store import AddTable, RemoveTable, RemoveVersions, VersionStore

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        AlterTransactionAction,
        AlterTransactionRequest,
        AlterTransactionResponse,
        BatchCommitTablesRequest,
        BatchCommitTablesResponse,
        BatchDeleteTableVersionsRequest,
        CommitTableOperation,
        CommitTableResult,
        CreateTableVersionRequest,
        DeclareTableRequest,
        DeregisterTableRequest,
        DescribeTransactionRequest,
        DescribeTransactionResponse,
    )

__all__ = ["TransactionOperations"]

_STEPS = {
    "declare_table": "DeclareTable",
    "create_table_version": "CreateTableVersion",
    "delete_table_versions": "BatchDeleteTableVersions",
    "deregister_table": "DeregisterTable",
}
_ACTIONS = {
    "set_status_action": "setStatusAction",
    "set_property_action": "setPropertyAction",
    "unset_property_action": "unsetPropertyAction",
}
STATUSES = ("Queued", "Running", "Succeeded", "Failed", "Canceled")
_ON_PRESENT, _ON_ABSENT = ("overwrite", "fail", "skip"), ("skip", "fail")


class TransactionOperations(CatalogBase, abstract=True):
    """BatchCommitTables, and the transactions of the catalog."""

    @operation
    def batch_commit_tables(self, request: BatchCommitTablesRequest) -> BatchCommitTablesResponse:
        """Declare tables, create and delete versions, and deregister tables, all atomically."""
        # The contents of a new table's location must not change before an entry references the
        # location.
        declared = [step.declare_table for step in request.operations if step.declare_table]
        added = [parse_identifier(each.id) for each in declared]
        with self.sole_change(*added), ManagedVersions(self).committing() as plan:
            steps = [
                _Step(self, step, number, plan) for number, step in enumerate(request.operations)
            ]
        return models.BatchCommitTablesResponse(
            transaction_id=plan.transaction, results=[step.result() for step in steps]
        )

    @operation
    def describe_transaction(
        self, request: DescribeTransactionRequest
    ) -> DescribeTransactionResponse:
        """Return the status of a transaction."""
        found = self._store().transaction(_transaction_id(request.id))
        return models.DescribeTransactionResponse(
            status=found.status, properties=dict(found.properties)
        )

    @operation
    def alter_transaction(self, request: AlterTransactionRequest) -> AlterTransactionResponse:
        """Change a transaction's properties; its status cannot change once it has ended."""
        identifier = _transaction_id(request.id)
        if not request.actions:
            raise InvalidInputError(f"AlterTransaction {identifier}: specify at least one action")
        checked = [_checked(action, identifier) for action in request.actions]
        store = self._store()
        current = store.transaction(identifier)
        for action in request.actions:
            wanted = action.set_status_action and action.set_status_action.status
            if wanted and wanted.lower() != current.status.lower():
                raise ConcurrentModificationError(
                    f"AlterTransaction: transaction {identifier} has already ended with status "
                    f"{current.status}, which cannot be changed to {wanted}"
                )

        def change(properties: Mapping[str, str]) -> Mapping[str, str]:
            for each in checked:
                properties = each(properties)
            return properties

        found = store.change_transaction(identifier, change)
        return models.AlterTransactionResponse(
            status=found.status, properties=dict(found.properties)
        )

    def _store(self) -> VersionStore:
        if self.version_store is None:
            raise UnsupportedError("this catalog stores no transactions")
        return self.version_store


class _Step:
    """One change of a BatchCommitTables, validated and added to the plan."""

    def __init__(
        self, namespace: CatalogBase, step: CommitTableOperation, number: int, plan: CommitPlan
    ) -> None:
        given = [name for name in _STEPS if getattr(step, name) is not None]
        if len(given) != 1:
            raise InvalidInputError(
                f"BatchCommitTables: operation {number} specifies "
                f"{' and '.join(given) or 'no change'}; specify exactly one of {', '.join(_STEPS)}"
            )
        self._namespace = namespace
        self._name = given[0]
        self._plan = plan
        self.staged: Staged | None = None
        request = getattr(step, self._name)
        namespace.check_identifier(_STEPS[self._name], request)
        getattr(self, f"_{self._name}")(request)

    def _declare_table(self, request: DeclareTableRequest) -> None:
        identifier = Bounds(self._namespace).check_declaration(request, "BatchCommitTables")
        properties = request.properties or {}
        location, has_remains = request.location, False
        if location is None:
            target = Placement(self._namespace).new_location(identifier, properties, declaring=True)
            location = target.location or self._namespace.default_location(identifier)
            has_remains = target.has_remains
        if location is None or has_remains:
            raise InvalidInputError(
                f"BatchCommitTables: table {format_identifier(identifier)} requires a location"
            )
        if request.location is not None:
            location = self._namespace.resolved_location(location)
        self.entry = self._namespace.entry_to_add(identifier, location.rstrip("/"), properties)
        self._plan.changes.append(
            AddTable(id=identifier, location=self.entry.location, properties=properties)
        )
        self._plan.added[identifier] = self.entry
        self._plan.removed.discard(identifier)

    def _create_table_version(self, request: CreateTableVersionRequest) -> None:
        self.entry = self._found(request)
        what = f"BatchCommitTables: {format_identifier(self.entry.id)}"
        self.staged = ManagedVersions(self._namespace).stage(self.entry, request, what, self._plan)

    def _delete_table_versions(self, request: BatchDeleteTableVersionsRequest) -> None:
        from ...tables.dataset import open_dataset
        from ...tables.versions import doomed

        self.entry = self._found(request)
        self._namespace.versions_of(self.entry)
        self._dataset = open_dataset(self._namespace.storage_of(self.entry), branch=request.branch)
        self._doomed = doomed(self._dataset, request.ranges, request.branch)
        self._plan.changes.append(
            RemoveVersions(
                table=self.entry, branch=branch_name(request.branch), versions=self._doomed
            )
        )

    def _deregister_table(self, request: DeregisterTableRequest) -> None:
        self.entry = self._found(request)
        self._plan.changes.append(RemoveTable(table=self.entry))
        self._plan.added.pop(self.entry.id, None)
        self._plan.removed.add(self.entry.id)

    def _found(self, request: Any) -> TableEntry:
        return _entry_in(self._namespace, self._plan, parse_identifier(request.id))

    def result(self) -> CommitTableResult:
        """Complete the change in storage and return the response."""
        entry = self.entry
        answer: Any
        if self._name == "declare_table":
            answer = models.DeclareTableResponse(
                location=entry.location,
                storage_options=dict(self._namespace.storage_of(entry).options) or None,
                properties=plain_properties(entry.properties),
                managed_versioning=entry.managed,
            )
        elif self.staged is not None:
            kept = ManagedVersions(self._namespace).publish(self.staged)
            answer = models.CreateTableVersionResponse(version=shown_version(kept))
        elif self._name == "delete_table_versions":
            from ...tables.versions import delete

            deleted = delete(self._dataset, self._doomed)
            answer = models.BatchDeleteTableVersionsResponse(deleted_count=deleted)
        else:
            answer = models.DeregisterTableResponse(
                id=list(entry.id),
                location=entry.location,
                properties=plain_properties(entry.properties),
            )
        return models.CommitTableResult(**{self._name: answer})


def _transaction_id(names: list[str] | None) -> str:
    if not names or len(names) != 1:
        raise InvalidInputError(
            f"{names!r} is not a transaction identifier; specify exactly one name"
        )
    return names[0]


_Change = Callable[[Mapping[str, str]], Mapping[str, str]]


def _checked(action: AlterTransactionAction, identifier: str) -> _Change:
    """Return a function that applies an action to the properties.

    Raises:
        InvalidInputError: code 13, zero or several actions are set, or the mode or status of the
            action is unknown.
    """
    what = f"AlterTransaction {identifier}"
    given = [shown for name, shown in _ACTIONS.items() if getattr(action, name) is not None]
    if len(given) != 1:
        raise InvalidInputError(
            f"{what}: an action specifies {' and '.join(given) or 'no field'}; specify exactly one "
            f"of {', '.join(_ACTIONS.values())}"
        )
    if (status := action.set_status_action) is not None:
        if (status.status or "").lower() not in {each.lower() for each in STATUSES}:
            raise InvalidInputError(
                f"{what}: unknown status {status.status!r}; use one of {', '.join(STATUSES)}"
            )
        return lambda properties: properties
    setting, unsetting = action.set_property_action, action.unset_property_action
    key = setting.key if setting is not None else unsetting.key if unsetting is not None else None
    if not key:
        raise InvalidInputError(f"{what}: an action has no property key; specify 'key'")
    if setting is not None:
        if setting.value is None:
            raise InvalidInputError(f"{what}: property {key!r} has no value; specify 'value'")
        mode = _mode(setting.mode, _ON_PRESENT, what)
        value = setting.value
        return lambda properties: _set(properties, key, value, mode, what)
    mode = _mode(unsetting.mode if unsetting is not None else None, _ON_ABSENT, what)
    return lambda properties: _unset(properties, key, mode, what)


def _mode(text: str | None, known: tuple[str, ...], what: str) -> str:
    mode = (text or known[0]).lower()
    if mode not in known:
        raise InvalidInputError(f"{what}: unknown mode {text!r}; use one of {', '.join(known)}")
    return mode


def _set(
    properties: Mapping[str, str], key: str, value: str, mode: str, what: str
) -> Mapping[str, str]:
    if key in properties and mode == "fail":
        raise ConcurrentModificationError(f"{what}: property {key!r} is already set")
    if key in properties and mode == "skip":
        return properties
    return {**properties, key: value}


def _unset(properties: Mapping[str, str], key: str, mode: str, what: str) -> Mapping[str, str]:
    if key not in properties and mode == "fail":
        raise ConcurrentModificationError(f"{what}: property {key!r} is not set")
    return {name: value for name, value in properties.items() if name != key}


def _entry_in(catalog: CatalogBase, plan: CommitPlan, identifier: Identifier) -> TableEntry:
    """Return a table as it will be after the changes planned so far."""
    if identifier in plan.added:
        return plan.added[identifier]
    if identifier in plan.removed:
        raise table_not_found(identifier)
    return catalog.find_table(identifier)
