"""Compares the tables of two catalogs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from lance_namespace_client.errors import (
    ErrorCode,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
)

from ..catalog.entry import TABLE_TYPE
from ..core.concurrent import ordered_map
from ..core.identifiers import ROOT, Identifier, format_identifier, to_identifier
from ..core.storage import EXPIRES_AT_MILLIS
from ..distributed.target import Target
from ..tables import refs
from ..tables.dataset import table_uri
from .inventory import schema_hash
from .selection import Selection

if TYPE_CHECKING:
    from ..catalog.namespace import Namespace

__all__ = ["Entry", "Mirror", "SyncRow", "describe", "difference"]

NOTHING = "none"
CREATE_NAMESPACE = "create_namespace"
DECLARE = "declare"
REGISTER = "register"
COPY = "copy"
ALTER = "alter"
MOVE = "move"
DEREGISTER = "deregister"
KEEP = "only_at_target"
REFUSE = "refuse"


@frozen(kw_only=True)
class SyncRow:
    """A step that a sync needs for a table or namespace in the target catalog, and its outcome."""

    id: tuple[str, ...]
    """Identifier in the target catalog."""
    step: str
    """Step that the table or namespace needs.

    ``none`` (already in sync), ``create_namespace``, ``declare``, ``register``, ``copy``, ``alter``
    (properties), ``move`` (to the location in the source), ``deregister``, ``only_at_target``
    (kept) or ``refuse``.
    """
    source: tuple[str, ...] | None = None
    """Identifier of the source table or namespace."""
    location: str | None = None
    """Location in the source."""
    lost: tuple[str, ...] = ()
    """Casing, levels, properties, storage options, tags and branches that the target cannot keep.
    """
    done: bool = False
    """Whether the step was completed."""
    problem: str | None = None
    """Reason why the step was not completed, or the remaining difference."""
    code: int | None = None
    """Error code of the problem."""

    def failed(self, error: LanceNamespaceError) -> SyncRow:
        """Return the row with the failure."""
        return evolve(self, problem=error.message, code=int(error.code))


@frozen(kw_only=True)
class Mirror:
    """Mapping from the tables of a source to those of a target.

    Attributes:
        selection: tables of the source.
        into: namespace of the target that corresponds to the selection's namespace.
        flatten: separator for joining names if the target has fewer levels; with None, such tables
            are rejected.
        copy_data: whether tables with data are copied to the locations that the target assigns.
        prune: whether tables that the source lacks are removed from the target.
    """

    selection: Selection = field(factory=Selection)
    into: Identifier = field(default=ROOT, converter=to_identifier)
    flatten: str | None = None
    copy_data: bool = False
    prune: bool = False

    def __attrs_post_init__(self) -> None:
        if self.prune and self.flatten is not None:
            raise InvalidInputError(
                "sync: if names are flattened, tables that the source lacks cannot be determined: "
                "omit flatten or prune"
            )

    def shown(self) -> str:
        """Return the mapping as text."""
        return f"{self.selection.shown()} into={list(self.into)} flatten={self.flatten!r}"


@frozen(kw_only=True)
class Entry:
    """A catalog's description of a table."""

    location: str
    properties: Mapping[str, str]
    declared_only: bool
    storage_overrides: tuple[str, ...] = ()
    """Names of storage options that are specific to the table."""
    managed: bool = False
    """Whether the catalog manages the table's versions."""
    state: tuple[int, int, str] | None = None
    """Version, row count and schema hash of the data, if requested."""


def describe(namespace: Namespace, table: Identifier, *, with_state: bool) -> Entry | None:
    """Return a catalog's description of a table, or None if the table does not exist.

    Args:
        namespace: the catalog.
        table: the table.
        with_state: whether to open the dataset.

    Raises:
        LanceNamespaceError: the table cannot be read.
    """
    try:
        found = namespace.describe_table({"id": list(table), "check_declared": True})
    except (TableNotFoundError, NamespaceNotFoundError):
        return None
    options = found.storage_options or {}
    usual = namespace.config.storage
    own = [key for key, value in options.items() if usual.get(key) != value]
    state = None
    if with_state and not found.is_only_declared:
        target = Target(namespace=namespace, table=table)
        dataset = target.open(target.storage())
        state = (int(dataset.version), int(dataset.count_rows()), schema_hash(dataset.schema))
    return Entry(
        location=str(found.location),
        properties=dict(found.properties or {}),
        declared_only=bool(found.is_only_declared),
        # Temporary credentials come from the catalog, so options that contain them are not the
        # table's own.
        storage_overrides=() if EXPIRES_AT_MILLIS in options else tuple(sorted(own)),
        managed=bool(found.managed_versioning),
        state=state,
    )


def difference(
    source: Namespace, target: Namespace, mirror: Mirror, *, max_concurrency: int
) -> Iterator[SyncRow]:
    """Return a row for each missing namespace, each selected table, and each extra table.

    Raises:
        NamespaceNotFoundError: code 1, the source has no namespace of that name.
        LanceNamespaceError: a catalog cannot be listed.
    """
    rows = [_named(source, target, mirror, table) for table in mirror.selection.find(source)]
    times = Counter(row.id for row in rows if row.step != REFUSE)
    yield from _missing_namespaces(target, mirror, {row.id for row in rows if row.step != REFUSE})

    def compared(row: SyncRow) -> SyncRow | None:
        if row.step == REFUSE:
            return row
        if times[row.id] > 1:
            return _refused(row, f"{times[row.id]} tables would have this name in the target")
        try:
            return _compared(source, target, mirror, row)
        except LanceNamespaceError as error:
            return evolve(row, step=REFUSE).failed(error)

    yield from ordered_map(rows, compared, max_concurrency=max_concurrency, wanted=None)
    if mirror.flatten is None:
        yield from _extra(target, mirror, set(times))


def _named(source: Namespace, target: Namespace, mirror: Mirror, table: Identifier) -> SyncRow:
    """Return the row with the table's name in the target, or with the reason why there is none."""
    names = (*mirror.into, *table[len(mirror.selection.under) :])
    able, lost = target.capabilities, []
    if able.lowercase_names and any(name != name.lower() for name in names):
        lost.append(f"uppercase letters in {format_identifier(names)}")
        names = tuple(name.lower() for name in names)
    row = SyncRow(id=names, step=NOTHING, source=table)
    depth = able.namespace_depth
    if depth is not None and len(names) - 1 > depth:
        if mirror.flatten is None:
            return _refused(
                row,
                f"the target allows only {depth} namespace levels above a table; use "
                "flatten to join the levels",
            )
        lost.append(f"namespace levels of {format_identifier(names)}")
        names = (*names[:depth], mirror.flatten.join(names[depth:]))
    if len(names) - 1 < able.table_depth:
        return _refused(
            row,
            f"the target requires {able.table_depth} namespace levels above a table; specify into",
        )
    return evolve(row, id=names, lost=tuple(lost))


def _refused(row: SyncRow, why: str) -> SyncRow:
    return evolve(row, step=REFUSE, problem=why, code=int(ErrorCode.INVALID_INPUT))


def _missing_namespaces(
    target: Namespace, mirror: Mirror, tables: set[Identifier]
) -> Iterator[SyncRow]:
    able = target.capabilities
    needed = {table[:depth] for table in tables for depth in range(1, len(table))}
    for namespace in sorted(needed, key=lambda each: (len(each), each)):
        if len(namespace) <= able.configured_depth:
            continue
        try:
            target.namespace_exists({"id": list(namespace)})
        except NamespaceNotFoundError:
            source = None
            if mirror.flatten is None and len(namespace) > len(mirror.into):
                source = (*mirror.selection.under, *namespace[len(mirror.into) :])
            yield SyncRow(id=namespace, step=CREATE_NAMESPACE, source=source)


def _compared(source: Namespace, target: Namespace, mirror: Mirror, row: SyncRow) -> SyncRow | None:
    assert row.source is not None
    ours = describe(source, row.source, with_state=mirror.copy_data)
    if ours is None:
        return None  # it was dropped after it was listed
    theirs = describe(target, row.id, with_state=mirror.copy_data)
    lost = list(row.lost)
    wanted = portable_properties(ours, source, target)
    if dropped := sorted(set(ours.properties) - set(wanted) - {TABLE_TYPE}):
        lost.append(f"properties {', '.join(dropped)}")
    if ours.storage_overrides:
        lost.append(f"storage options {', '.join(ours.storage_overrides)}")
    row = evolve(row, location=ours.location, lost=tuple(lost))
    copies = mirror.copy_data and not ours.declared_only
    if ours.managed and not copies:
        return _refused(row, "the source catalog manages the table's versions; copy the data")
    settled = copies or (ours.declared_only and target.capabilities.storage_only)
    if target.capabilities.storage_only and not settled and theirs is None:
        return _refused(
            row, "a directory catalog contains only tables below its own path; copy the data"
        )
    if theirs is None:
        step = COPY if copies else DECLARE if ours.declared_only else REGISTER
        return evolve(row, step=step, lost=(*lost, *_uncopied(source, row, copies)))
    if copies and theirs.declared_only:
        return evolve(row, step=COPY, lost=(*lost, *_uncopied(source, row, copies)))
    if copies and theirs.state != ours.state and not _same_location(ours, theirs):
        return _refused(
            row,
            f"the target has version {theirs.state and theirs.state[0]} of a copy, but the source "
            f"has version {ours.state and ours.state[0]}: drop the table in the target to copy it "
            "again",
        )
    if not settled and not _same_location(ours, theirs):
        return evolve(row, step=MOVE)
    if any(theirs.properties.get(key) != value for key, value in wanted.items()):
        return evolve(row, step=ALTER)
    return row


def portable_properties(ours: Entry, source: Namespace, target: Namespace) -> dict[str, str]:
    """Return the user's properties of a table that another catalog can store."""
    places = {*source.capabilities.location_properties, *target.capabilities.location_properties}
    left_out = {TABLE_TYPE, *places}
    return {key: value for key, value in ours.properties.items() if key not in left_out}


def _uncopied(source: Namespace, row: SyncRow, copies: bool) -> Iterator[str]:
    """Yield the tags and branches that are not included in a copy of the latest version."""
    if not copies or row.source is None:
        return
    target = Target(namespace=source, table=row.source)
    dataset = target.open(target.storage())
    if tags := sorted(refs.tags(dataset)):
        yield f"tags {', '.join(tags)}"
    if branches := sorted(refs.branches(dataset)):
        yield f"branches {', '.join(branches)}"


def _same_location(one: Entry, other: Entry) -> bool:
    return table_uri(one.location).rstrip("/") == table_uri(other.location).rstrip("/")


def _extra(target: Namespace, mirror: Mirror, wanted: set[Identifier]) -> Iterator[SyncRow]:
    """Yield the selected tables of the target that the source lacks."""
    under = mirror.selection.under
    try:
        for table in Selection(under=mirror.into).find(target):
            named = (*under, *table[len(mirror.into) :])
            if table not in wanted and mirror.selection.matches(named):
                yield SyncRow(id=table, step=DEREGISTER if mirror.prune else KEEP)
    except NamespaceNotFoundError:
        return
