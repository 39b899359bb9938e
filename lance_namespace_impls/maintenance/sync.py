"""Synchronizes the tables of one catalog with another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableNotFoundError,
    UnsupportedError,
)

from ..core.concurrent import ordered_map
from ..core.identifiers import format_identifier
from ..distributed.failures import protocol_error
from ..distributed.target import Target
from .difference import (
    ALTER,
    COPY,
    CREATE_NAMESPACE,
    DECLARE,
    DEREGISTER,
    KEEP,
    MOVE,
    NOTHING,
    REFUSE,
    REGISTER,
    Mirror,
    SyncRow,
    describe,
    difference,
    portable_properties,
)
from .inventory import MAX_CONCURRENCY
from .results import Rows

if TYPE_CHECKING:
    from ..catalog.namespace import Namespace

__all__ = ["Mirror", "SyncRow", "sync"]

_SETTLED = (NOTHING, KEEP)


def sync(
    source: Namespace,
    target: Namespace,
    mirror: Mirror | None = None,
    *,
    accept_losses: bool = False,
    dry_run: bool = False,
    max_concurrency: int = MAX_CONCURRENCY,
    progress: Callable[[int, int], None] | None = None,
) -> Rows[SyncRow]:
    """Synchronize the tables of one catalog to another; return a row with each table's outcome.

    The job first computes the difference. If information would be lost, it changes nothing unless
    losses are accepted. After the changes, it compares both catalogs again in both directions. If
    a table fails, its row contains the problem, and the job continues with the others. A later run
    completes the remaining steps, so the job needs no state file. Data files are not touched unless
    copying them is requested.

    Args:
        source: catalog that contains the tables.
        target: catalog that receives the tables.
        mirror: selected tables and their names in the target; defaults to all tables, under the
            same names.
        accept_losses: whether to continue if information would be lost.
        dry_run: whether to stop after computing the difference.
        max_concurrency: maximum number of tables that are processed concurrently.
        progress: called with the number of finished steps and the total.

    Raises:
        NamespaceNotFoundError: code 1.
        InvalidInputError: code 13, information would be lost.
        LanceNamespaceError: a catalog cannot be listed.
    """
    mirror = mirror or Mirror()

    def compared() -> list[SyncRow]:
        return list(difference(source, target, mirror, max_concurrency=max_concurrency))

    rows = compared()
    if dry_run:
        return Rows(SyncRow, rows)
    if not accept_losses:
        _refuse_losses(rows)
    done: dict[tuple[str, ...], SyncRow] = {}
    steps = [row for row in rows if row.step not in (*_SETTLED, REFUSE)]

    def execute(row: SyncRow) -> SyncRow:
        try:
            _STEPS[row.step](source, target, row)
        except Exception as error:  # noqa: BLE001 the row reports it
            secrets = source.config.secrets() | target.config.secrets()
            return row.failed(
                protocol_error(error, f"sync of {format_identifier(row.id)}", secrets)
            )
        return evolve(row, done=True)

    # Create namespaces one at a time, parents first.
    above = [row for row in steps if row.step == CREATE_NAMESPACE]
    tables = [row for row in steps if row.step != CREATE_NAMESPACE]
    for row in (
        *map(execute, above),
        *ordered_map(tables, execute, max_concurrency=max_concurrency, wanted=None),
    ):
        done[row.id] = row
        if progress is not None:
            progress(len(done), len(steps))
    return Rows(SyncRow, _checked([done.get(row.id, row) for row in rows], compared()))


def _refuse_losses(rows: Sequence[SyncRow]) -> None:
    losing = [row for row in rows if row.lost and row.step not in (*_SETTLED, REFUSE)]
    if losing:
        first = losing[0]
        raise InvalidInputError(
            f"sync: {len(losing)} tables would lose information, such as the "
            f"{'; the '.join(first.lost)}; nothing was changed; check a dry run, then accept the "
            "losses"
        )


def _checked(rows: Sequence[SyncRow], after: Sequence[SyncRow]) -> list[SyncRow]:
    """Return the rows with their remaining differences, followed by rows for new differences."""
    left = {row.id: row for row in after if row.step not in _SETTLED}
    checked = []
    for row in rows:
        differs = left.pop(row.id, None)
        if differs is not None and row.problem is None:
            error = ConcurrentModificationError(
                f"it still differs from the source: {differs.problem or differs.step}"
            )
            row = evolve(row, done=False).failed(error)
        checked.append(row)
    return [*checked, *(_newer(row) for row in left.values())]


def _newer(row: SyncRow) -> SyncRow:
    if row.problem is not None:
        return row
    return row.failed(ConcurrentModificationError("it was changed concurrently; run the job again"))


def _create_namespace(source: Namespace, target: Namespace, row: SyncRow) -> None:
    properties: dict[str, str] = {}
    if row.source is not None:
        found = source.describe_namespace({"id": list(row.source)})
        places = {
            *source.capabilities.location_properties,
            *target.capabilities.location_properties,
        }
        found_properties = found.properties or {}
        properties = {key: value for key, value in found_properties.items() if key not in places}
    target.create_namespace(
        {"id": list(row.id), "mode": "ExistOk", "properties": properties or None}
    )


def _request(source: Namespace, target: Namespace, row: SyncRow) -> dict[str, Any]:
    """Return the request that adds a table to the target as it currently is in the source."""
    assert row.source is not None
    entry = describe(source, row.source, with_state=False)
    if entry is None:
        raise TableNotFoundError(f"table {format_identifier(row.source)} was dropped concurrently")
    properties = portable_properties(entry, source, target)
    return {"id": list(row.id), "location": entry.location, "properties": properties or None}


def _declare(source: Namespace, target: Namespace, row: SyncRow) -> None:
    request = _request(source, target, row)
    if target.capabilities.storage_only:
        del request["location"]
    target.declare_table(request)


def _register(source: Namespace, target: Namespace, row: SyncRow) -> None:
    target.register_table(_request(source, target, row))


def _move(source: Namespace, target: Namespace, row: SyncRow) -> None:
    target.register_table({**_request(source, target, row), "mode": "Overwrite"})


def _alter(source: Namespace, target: Namespace, row: SyncRow) -> None:
    request = _request(source, target, row)
    try:
        target.alter_table({"id": list(row.id), "set_properties": request["properties"]})
    except UnsupportedError:
        existing = describe(target, row.id, with_state=False)
        location = request["location"] if existing is None else existing.location
        kept = {} if existing is None else existing.properties
        properties = {**kept, **(request["properties"] or {})}
        target.register_table(
            {**request, "location": location, "properties": properties, "mode": "Overwrite"}
        )


def _deregister(source: Namespace, target: Namespace, row: SyncRow) -> None:
    target.deregister_table({"id": list(row.id)})


def _copy(source: Namespace, target: Namespace, row: SyncRow) -> None:
    """Copy the latest version, including its indices, to the location that the target assigns."""
    assert row.source is not None
    request = _request(source, target, row)
    ours, theirs = (
        Target(namespace=source, table=row.source),
        Target(namespace=target, table=row.id),
    )
    declared = False
    try:
        storage, has_data = theirs.locate()
    except TableNotFoundError:
        target.declare_table({"id": request["id"], "properties": request["properties"]})
        declared = True
        storage, has_data = theirs.locate()
    if has_data:
        raise InvalidTableStateError(f"{theirs.name} already has data; drop it to copy it again")
    dataset = ours.open(ours.storage())
    try:
        dataset.deep_clone(
            storage.location, int(dataset.version), storage_options=storage.lance_options()
        )
        copied = theirs.open(storage)
        if copied.count_rows() != dataset.count_rows() or copied.schema != dataset.schema:
            raise InvalidTableStateError(f"{theirs.name} differs from {ours.name} after the copy")
    except BaseException as error:
        if declared:
            try:
                target.drop_table({"id": list(row.id)})
            except LanceNamespaceError as second:
                error.add_note(f"The copied data could not be rolled back: {second}")
        raise


_STEPS: dict[str, Callable[[Namespace, Namespace, SyncRow], None]] = {
    CREATE_NAMESPACE: _create_namespace,
    DECLARE: _declare,
    REGISTER: _register,
    COPY: _copy,
    ALTER: _alter,
    MOVE: _move,
    DEREGISTER: _deregister,
}
