"""Partition specs: the fields that partition a namespace, and the schema with the columns' ids.

Source: the format of partitioned namespaces; `schema` and `partition_spec_v<N>` are JSON strings in
the metadata of the manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve, field, frozen

from lance_namespace_client.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableColumnNotFoundError,
)

from ..core.imports import load
from ..tables.schema import check_columns, from_json_type, to_json_schema
from ..tables.sql_parser import Kind, Node, SqlError, parse
from .transforms import (
    TIME_PARTS,
    Bucket,
    Expression,
    Identity,
    MultiBucket,
    TimePart,
    Transform,
    Truncate,
    transform_from_json,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FIELD_COLUMN",
    "FIELD_ID",
    "SCHEMA_KEY",
    "SPEC_KEY",
    "NewField",
    "PartitionField",
    "PartitionSpec",
    "column_of",
    "column_path",
    "column_paths",
    "new_spec",
    "parse_field",
    "read_schema",
    "read_specs",
    "schema_json",
    "with_ids",
]

FIELD_ID = b"lance:field_id"
"""Key in the metadata of a field that contains the id of the column."""
SCHEMA_KEY = "schema"
SPEC_KEY = "partition_spec_v"
FIELD_COLUMN = "partition_field_"
"""Prefix of the manifest's columns that contain partition values."""
_NAME = re.compile(r"[^\W.`$/]+")
_NO_NAME = re.compile(r"[\W.`$/]")
"""Matches the characters of a column's name that the name of a partition field cannot contain."""


@frozen(kw_only=True)
class PartitionField:
    """One field of a spec."""

    id: str
    """Unique identifier among the fields of all specs; it is never changed or reused."""
    sources: tuple[int, ...]
    """Ids of the columns that the transform reads."""
    transform: Transform
    type: pa.DataType = field(eq=False)
    """Type of the partition values."""

    @property
    def column(self) -> str:
        """Name of the manifest's column that contains the values."""
        return FIELD_COLUMN + self.id

    def to_json(self) -> dict[str, object]:
        """Return the field in the JSON of the format."""
        how: dict[str, object]
        if isinstance(self.transform, Expression):
            how = {"expression": self.transform.sql}
        else:
            how = {"transform": self.transform.to_json()}
        pa = load("pyarrow")
        shown = to_json_schema(pa.schema([pa.field("x", self.type)])).fields[0].type.to_dict()
        return {"field_id": self.id, "source_ids": list(self.sources), **how, "result_type": shown}

    def shown(self, paths: Mapping[int, Sequence[str]]) -> str:
        """Return the transform as a string, with the current names of the columns."""
        names = [_shown(paths.get(source, (f"#{source}",))) for source in self.sources]
        return self.transform.shown(names)

    def values(
        self, rows: pa.RecordBatch | pa.Table, paths: Mapping[int, Sequence[str]]
    ) -> pa.Array:
        """Return the partition value of each row; a column that no longer exists counts as null.

        Raises:
            InvalidInputError: code 13, the transform cannot be applied to a column.
        """
        pa = load("pyarrow")
        columns = [
            column_of(rows, paths[source]) if source in paths else pa.nulls(rows.num_rows)
            for source in self.sources
        ]
        try:
            return self.transform.apply(columns, self.type)
        except pa.ArrowException as error:
            raise InvalidInputError(
                f"the partition values {self.shown(paths)} cannot be computed: {error}"
            ) from error


@frozen(kw_only=True)
class PartitionSpec:
    """One version of the way in which a namespace is partitioned."""

    id: int
    fields: tuple[PartitionField, ...]

    @property
    def namespace(self) -> str:
        """Name of the child namespace that contains the partitions of this spec."""
        return f"v{self.id}"

    def to_json(self) -> str:
        """Return the spec in the JSON of the format."""
        return json.dumps({"id": self.id, "fields": [each.to_json() for each in self.fields]})

    def shown(self, paths: Mapping[int, Sequence[str]]) -> list[str]:
        """Return the fields as strings."""
        return [each.shown(paths) for each in self.fields]


@frozen(kw_only=True)
class NewField:
    """A field to partition by, before its columns are looked up in a schema.

    Attributes:
        transform: the transform.
        columns: names of its columns, with dots between the levels of nested fields.
        id: identifier of the field; by default, it is derived from the columns and the transform.
    """

    transform: Transform
    columns: tuple[str, ...]
    id: str | None = None


def parse_field(text: str) -> NewField:
    """Parse a partition field.

    Args:
        text: a column, or one of ``identity(x)``, ``year(ts)``, ``month(ts)``, ``day(ts)``,
            ``hour(ts)``, ``bucket(16, user)``, ``multi_bucket(16, a, b)``, ``truncate(4, name)`` and
            ``expression('lower(col0)', name)``.

    Raises:
        InvalidInputError: code 13, the text has none of these forms.
    """
    try:
        node = parse(text)
    except SqlError as error:
        raise InvalidInputError(f"the partition field {text[:200]!r} {error}") from None
    if (column := _column(node)) is not None:
        return NewField(transform=Identity(), columns=(column,))
    found = _transform_of(node) if node.kind == Kind.CALL else None
    if found is None:
        raise InvalidInputError(
            f"{text[:200]!r} is not a partition field; use a column, identity(x), year(x), "
            "month(x), day(x), hour(x), bucket(16, x), multi_bucket(16, x, y), truncate(4, x) or "
            "expression('lower(col0)', x)"
        )
    return found


def _column(node: Node) -> str | None:
    """Return the column that an expression names, or None if the expression is not a column.

    In SQL, `user` is a function that needs no parentheses, but here it can only be a column.
    """
    if node.kind == Kind.COLUMN:
        return node.name
    is_bare = node.kind == Kind.CALL and not node.args and node.value is not None
    return str(node.value) if is_bare else None


def _shown(path: Sequence[str]) -> str:
    """Return the path of a column in the form that `parse_field` accepts."""
    name = ".".join(path)
    try:
        if _column(parse(name)) == name:
            return name
    except SqlError:
        pass
    return ".".join("`" + part.replace("`", "``") + "`" for part in path)


def _transform_of(node: Node) -> NewField | None:
    name = node.name.lower()
    named = [(_column(each), each) for each in node.args]
    columns = tuple(column for column, _ in named if column is not None)
    others = [each for column, each in named if column is None]
    if name == "expression":
        if len(others) != 1 or others[0].kind != Kind.STRING or not columns:
            return None
        return NewField(transform=Expression(others[0].value), columns=columns)
    if name in ("bucket", "multi_bucket", "truncate"):
        if len(others) != 1 or others[0].kind != Kind.NUMBER or not others[0].value.isdigit():
            return None
        number = int(others[0].value)
        made = {"bucket": Bucket, "multi_bucket": MultiBucket, "truncate": Truncate}[name]
        return NewField(transform=made(number), columns=columns)
    if others or not columns:
        return None
    if name == "identity":
        return NewField(transform=Identity(), columns=columns)
    return NewField(transform=TimePart(name), columns=columns) if name in TIME_PARTS else None


# --- schemas


def with_ids(schema: pa.Schema) -> pa.Schema:
    """Return a schema in which each column, at any depth, has an id.

    Columns are numbered from 0, in the same order as Lance numbers them. Ids that the schema
    already contains are replaced.

    Raises:
        TableSchemaValidationError: code 20, Lance cannot store the schema.
    """
    pa = load("pyarrow")
    check_columns(schema)
    numbers = iter(range(1 << 31))
    return pa.schema([_with_id(each, numbers) for each in schema])


def _with_id(column: pa.Field, numbers: Iterable[int]) -> pa.Field:
    own = next(iter(numbers))
    if load("pyarrow").types.is_map(column.type):
        next(iter(numbers))  # Lance numbers the entries as well as their keys and values
    kind = _nested(column.type, lambda child: _with_id(child, numbers))
    metadata = {**(column.metadata or {}), FIELD_ID: str(own).encode()}
    return column.with_type(kind).with_metadata(metadata)


def _nested(kind: pa.DataType, change: Any) -> pa.DataType:
    """Return a type with changed nested fields."""
    pa = load("pyarrow")
    is_ = pa.types
    if is_.is_struct(kind):
        return pa.struct([change(child) for child in kind])
    if is_.is_fixed_size_list(kind):
        return kind  # Lance has no separate field for the items
    if is_.is_list(kind):
        return pa.list_(change(kind.value_field))
    if is_.is_large_list(kind):
        return pa.large_list(change(kind.value_field))
    if is_.is_map(kind):
        return pa.map_(change(kind.key_field), change(kind.item_field))
    return kind


def without_ids(schema: pa.Schema) -> pa.Schema:
    """Return a schema in the form that users see: without the ids, which Lance does not store."""
    pa = load("pyarrow")
    return pa.schema([_without_id(each) for each in schema])


def _without_id(column: pa.Field) -> pa.Field:
    metadata = {k: v for k, v in (column.metadata or {}).items() if k != FIELD_ID}
    return column.with_type(_nested(column.type, _without_id)).with_metadata(metadata or None)


def schema_json(schema: pa.Schema) -> str:
    """Return a schema in the JSON of the format."""
    return json.dumps(to_json_schema(schema).to_dict())


def column_paths(schema: pa.Schema) -> dict[int, tuple[str, ...]]:
    """Return the path of each column that a partition field can use, by its id."""
    found: dict[int, tuple[str, ...]] = {}

    def visit(column: pa.Field, above: tuple[str, ...]) -> None:
        text = (column.metadata or {}).get(FIELD_ID, b"").decode()
        path = (*above, column.name)
        if text.isdigit():
            found[int(text)] = path
        if load("pyarrow").types.is_struct(column.type):
            for child in column.type:
                visit(child, path)

    for each in schema:
        visit(each, ())
    return found


def column_path(schema: pa.Schema, name: str) -> tuple[int, pa.DataType]:
    """Return the id and the type of a column.

    Raises:
        TableColumnNotFoundError: code 12.
    """
    for id, path in column_paths(schema).items():
        if ".".join(path) == name:
            return id, type_at(schema, path)
    raise TableColumnNotFoundError(
        f"there is no column {name!r} to partition by; the columns are {', '.join(schema.names)}"
    )


def type_at(schema: pa.Schema, path: Sequence[str]) -> pa.DataType:
    """Return the type of a column."""
    kind = schema.field(path[0]).type
    for name in path[1:]:
        kind = kind.field(name).type
    return kind


def column_of(rows: pa.RecordBatch | pa.Table, path: Sequence[str]) -> pa.Array:
    """Return a column of rows as one array."""
    pa, pc = load("pyarrow"), load("pyarrow.compute")
    column = rows.column(path[0])
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return pc.struct_field(column, list(path[1:])) if len(path) > 1 else column


# --- reading and evolving


def read_schema(metadata: Mapping[str, str]) -> pa.Schema | None:
    """Return the schema in a manifest's metadata, or None if the namespace is not partitioned.

    Raises:
        InvalidTableStateError: code 19, the schema cannot be read.
    """
    if SCHEMA_KEY not in metadata or not any(_spec_id(key) for key in metadata):
        return None
    pa = load("pyarrow")
    try:
        fields = json.loads(metadata[SCHEMA_KEY])["fields"]
        return pa.schema([_read_field(each) for each in fields])
    except (ValueError, KeyError, TypeError, LanceNamespaceError) as error:
        raise InvalidTableStateError(f"the partitioned schema cannot be read: {error}") from error


def _read_field(data: Mapping[str, Any]) -> pa.Field:
    return load("pyarrow").field(
        data["name"],
        from_json_type(data["type"], f"column {data['name']}"),
        nullable=bool(data.get("nullable", True)),
        metadata=data.get("metadata"),
    )


def read_specs(metadata: Mapping[str, str]) -> dict[int, PartitionSpec]:
    """Return the specs in a manifest's metadata, by their ids.

    Raises:
        InvalidTableStateError: code 19, a spec cannot be read.
    """
    found = {}
    for key in metadata:
        if (number := _spec_id(key)) is None:
            continue
        try:
            data = json.loads(metadata[key])
            fields = tuple(
                _field(each, f"{key}: field {each['field_id']}") for each in data["fields"]
            )
        except (ValueError, KeyError, TypeError, AttributeError, LanceNamespaceError) as error:
            raise InvalidTableStateError(f"{key} cannot be read: {error}") from error
        found[number] = PartitionSpec(id=number, fields=fields)
    return dict(sorted(found.items()))


def _spec_id(key: str) -> int | None:
    text = key.removeprefix(SPEC_KEY)
    return int(text) if text != key and text.isascii() and text.isdigit() else None


def _field(data: Mapping[str, Any], what: str) -> PartitionField:
    if ("transform" in data) == ("expression" in data):
        raise InvalidInputError(f"{what} needs either a transform or an expression")
    transform: Transform
    if "expression" in data:
        transform = Expression(str(data["expression"]))
    else:
        transform = transform_from_json(data["transform"], what)
    return PartitionField(
        id=str(data["field_id"]),
        sources=tuple(int(source) for source in data["source_ids"]),
        transform=transform,
        type=from_json_type(data["result_type"], what),
    )


def new_spec(
    schema: pa.Schema, fields: Iterable[NewField], known: Mapping[int, PartitionSpec]
) -> PartitionSpec:
    """Return the next spec.

    A field that has the same sources and transform as an earlier field has the same identifier.

    Args:
        schema: the schema with ids.
        fields: the fields, the outermost first.
        known: the existing specs.

    Raises:
        TableColumnNotFoundError: code 12, a column does not exist.
        InvalidInputError: code 13, a transform does not fit its columns, or a field occurs twice.
    """
    earlier = [each for spec in known.values() for each in spec.fields]
    made: list[PartitionField] = []
    for new in fields:
        sources = [column_path(schema, name) for name in new.columns]
        found = PartitionField(
            id=new.id or _NO_NAME.sub("_", new.transform.field_name(new.columns)),
            sources=tuple(id for id, _ in sources),
            transform=new.transform,
            type=new.transform.result_type([kind for _, kind in sources]),
        )
        made.append(_identified(found, [*earlier, *made], given=new.id is not None))
    names = [each.id for each in made]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"the spec has the partition field {name!r} twice")
    return PartitionSpec(id=max(known, default=0) + 1, fields=tuple(made))


def _identified(
    new: PartitionField, others: Sequence[PartitionField], *, given: bool
) -> PartitionField:
    """Return a field with the identifier of an equal field, or else with an unused identifier."""
    for other in others:
        if (other.sources, other.transform) == (new.sources, new.transform):
            return evolve(new, id=other.id, type=other.type)
    taken = {each.id for each in others}
    if not _NAME.fullmatch(new.id):
        raise InvalidInputError(
            f"{new.id[:100]!r} is not a valid name of a partition field; use letters, digits, '_' "
            "and '-'"
        )
    if given and new.id in taken:
        raise InvalidInputError(f"another field has the name {new.id!r}; names are never reused")
    name, number = new.id, 1
    while name in taken:
        number += 1
        name = f"{new.id}_{number}"
    return evolve(new, id=name)
