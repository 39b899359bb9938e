"""Implements the operations of a Spark SQL catalog by calls to the namespace.

The JVM's `LanceCatalog` sends them to `planner`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, frozen
from pyarrow import types as is_

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedError,
)

from ..catalog.changes import replacing
from ..core.identifiers import format_identifier
from ..distributed.columns import lance_schema, spark_arrow_schema
from ..distributed.failures import coded
from ..distributed.options import option_name
from ..distributed.target import Target, partitioned_target
from ..distributed.type_names import parse_type
from ..distributed.write_plan import check_schema
from ..registry import connect_config
from ..tables.lance_types import sql_type_name
from ..tables.schema import to_json_schema
from .catalog_table import CatalogTable, TableWrite, WriteKind, options_of_tables
from .datasource import FORMAT, require_unsigned, secrets_of
from .read_plan import pin, readable_schema
from .scan_plan import Source
from .table_options import TableOptions

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

    from ..catalog.namespace import Namespace
    from .read_plan import Pinned

__all__ = ["OPERATIONS", "Catalog", "Described", "call", "connected"]

_COMMENT = b"comment"
_TYPES = "types"
# Spark sets the owner itself, and the location and the provider are not stored as properties.
_NOT_STORED = frozenset(
    ("owner", "provider", "external", "is_managed_location", "table_type", "collation", _TYPES)
)
# SHOW CREATE TABLE omits a managed location, which CREATE TABLE cannot set.
_RESERVED = {"provider": FORMAT, "is_managed_location": "true"}
_PROVIDERS = frozenset((FORMAT, "lance", "parquet"))  # without a format, saveAsTable sets parquet


@frozen
class Catalog:
    """A namespace as a catalog.

    Args:
        namespace: the namespace.
        options: options for all readers and writers of its tables.
    """

    namespace: Namespace
    options: TableOptions


@frozen(kw_only=True)
class Described:
    """A loaded table.

    Attributes:
        source: the version; None if the table has no data.
        schema: its columns.
        more: the other fields of the response.
    """

    source: Source | None
    schema: StructType
    more: Mapping[str, Any]


Request = Mapping[str, Any]
Response = dict[str, Any] | Described


def call(operation: str, request: Request) -> Response:
    """Call an operation of a catalog.

    Args:
        operation: one of `OPERATIONS`.
        request: the catalog's options (``catalog``), the identifier (``id``) and its arguments.

    Raises:
        LanceNamespaceError: the errors of the namespace, with the code in the message.
    """
    options: dict[str, str] = dict(request["catalog"])
    words = operation.replace("_", " ")
    what = ".".join([request["name"], *request["id"]])
    with coded(f"{words} {what}", secrets_of(options)):
        catalog = connected(options)
        try:
            return OPERATIONS[operation](catalog, list(request["id"]), request)
        except LanceNamespaceError as error:
            if request["id"] and not _names(error.message, request["id"][-1]):
                raise type(error)(f"{what}: {error.message}") from error
            raise


def _names(message: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) is not None


def connected(options: Mapping[str, str]) -> Catalog:
    """Connect to a catalog.

    Args:
        options: properties of the namespace, and options for all readers and writers.

    Raises:
        InvalidInputError: code 13, an option or a property is invalid.
    """
    return _connected(tuple(sorted(options.items())))


@lru_cache(maxsize=64)
def _connected(options: tuple[tuple[str, str], ...]) -> Catalog:
    """Connect to a catalog; the result is cached, so that the catalog keeps its connections."""
    settings = dict(options)
    require_unsigned(settings)
    own = {
        key: value
        for key, value in settings.items()
        # `delimiter` is a property of the namespace.
        if option_name(TableOptions, key) not in (None, "delimiter")
    }
    properties = {key: value for key, value in settings.items() if key not in own}
    table_options = options_of_tables(own, "catalog: ")
    return Catalog(connect_config(properties), evolve(TableOptions(), **table_options))


# --- namespaces


def _list_namespaces(catalog: Catalog, id: list[str], request: Request) -> Response:
    return {"names": list(catalog.namespace.iter_namespaces(id))}


def _describe_namespace(catalog: Catalog, id: list[str], request: Request) -> Response:
    if not id:
        return {"properties": {}}
    found = catalog.namespace.describe_namespace({"id": id})
    return {"properties": found.properties or {}}


def _create_namespace(catalog: Catalog, id: list[str], request: Request) -> Response:
    properties = _stored(request["properties"])
    catalog.namespace.create_namespace({"id": id, "properties": properties or None})
    return {}


def _alter_namespace(catalog: Catalog, id: list[str], request: Request) -> Response:
    changes = {"set_properties": request["set"], "unset_properties": request["removed"]}
    catalog.namespace.alter_namespace({"id": id, **changes})
    return {}


def _drop_namespace(catalog: Catalog, id: list[str], request: Request) -> Response:
    behavior = "Cascade" if request["cascade"] else "Restrict"
    catalog.namespace.drop_namespace({"id": id, "behavior": behavior})
    return {}


# --- tables


def _list_tables(catalog: Catalog, id: list[str], request: Request) -> Response:
    return {"names": list(catalog.namespace.iter_tables(id))}


def _table_exists(catalog: Catalog, id: list[str], request: Request) -> Response:
    try:
        catalog.namespace.table_exists({"id": id})
    except (TableNotFoundError, NamespaceNotFoundError):
        return {"exists": False}
    return {"exists": True}


def _load_table(catalog: Catalog, id: list[str], request: Request) -> Response:
    from pyspark.sql.types import StructType

    table = _table(catalog, id)
    try:
        answer, storage = table.target.describe(check_declared=True)
    except TableNotFoundError:
        if partitioned_target(table.target) is None:
            raise
        raise UnsupportedError(
            f"{format_identifier(id)} is a partitioned namespace, which catalogs of Spark SQL do not "
            "contain; use spark.read.format, read_table and write_table"
        ) from None
    properties = {**(answer.properties or {}), **_RESERVED, "location": storage.location}
    more = {"table": table.to_option(), "properties": properties}
    if answer.is_only_declared:
        return Described(source=None, schema=StructType(), more=more)
    pinned = pin(table.target, storage=storage, **_version(request))
    schema = _with_comments(pinned, readable_schema(pinned))
    if special := _special_types(pinned, schema):
        properties[_TYPES] = special
    return Described(source=Source(pinned, table.options), schema=schema, more=more)


def _table(catalog: Catalog, id: Sequence[str]) -> CatalogTable:
    target = Target(namespace=catalog.namespace, table=tuple(id))
    return CatalogTable(target=target, options=evolve(catalog.options, table=target.name))


def _version(request: Request) -> dict[str, Any]:
    if moment := request.get("timestamp"):
        return {"timestamp": datetime.fromisoformat(moment)}
    version = request.get("version")
    return {"version": int(version) if version and version.isdecimal() else version}


def _with_comments(pinned: Pinned, schema: StructType) -> StructType:
    for field, stored in zip(schema, pinned.schema, strict=True):
        comment = (stored.metadata or {}).get(_COMMENT)
        if comment is not None:
            field.metadata = {**(field.metadata or {}), "comment": comment.decode()}
    return schema


def _special_types(pinned: Pinned, schema: StructType) -> str:
    """Return the option `types` that restores the types of the columns."""
    found = []
    for stored, plain in zip(pinned.schema, spark_arrow_schema(schema), strict=True):
        kind = stored.type
        if kind == plain.type or (is_.is_nested(kind) and not is_.is_fixed_size_list(kind)):
            continue
        name = f"{kind.value_type}[{kind.list_size}]" if is_.is_fixed_size_list(kind) else str(kind)
        name = name.replace("halffloat", "float16")
        try:
            if parse_type(name) == kind:
                found.append(f"{stored.name}:{name}")
        except InvalidInputError:
            continue  # such a column can only be created by other means
    return ", ".join(found)


def _create_table(catalog: Catalog, id: list[str], request: Request) -> Response:
    schema, properties = _definition(request)
    catalog.namespace.create_table(
        {"id": id, "mode": request["mode"], "properties": properties or None},
        schema.empty_table(),
    )
    return {}


def _stage_table(catalog: Catalog, id: list[str], request: Request) -> Response:
    _, properties = _definition(request)
    kind = WriteKind.CREATE if request["mode"] == "Create" else WriteKind.REPLACE
    if kind is WriteKind.REPLACE and any(_property_changes(catalog, id, request)):
        capabilities = catalog.namespace.capabilities
        if capabilities.reason("AlterTable"):
            raise capabilities.refusal("AlterTable")
    write = TableWrite(kind=kind, properties=properties)
    table = evolve(_table(catalog, id), write=write)
    types = request["properties"].get(_TYPES)
    return {"table": evolve(table, options=evolve(table.options, types=types)).to_option()}


def _set_properties(catalog: Catalog, id: list[str], request: Request) -> Response:
    """Set the properties of a table whose rows and columns were replaced."""
    if request["mode"] == "Create":
        return {}
    changed, removed = _property_changes(catalog, id, request)
    if changed or removed:
        catalog.namespace.alter_table(
            {"id": id, "set_properties": changed, "unset_properties": removed}
        )
    return {}


def _property_changes(
    catalog: Catalog, id: list[str], request: Request
) -> tuple[dict[str, str], list[str]]:
    """Return the properties to set, and the keys to remove, if a table is replaced."""
    _, wanted = _definition(request)
    try:
        current = catalog.namespace.describe_table({"id": id}).properties or {}
    except TableNotFoundError:
        return {}, []  # the write creates the table with its properties
    return replacing(current, wanted)


def _drop_table(catalog: Catalog, id: list[str], request: Request) -> Response:
    try:
        catalog.namespace.drop_table({"id": id})
    except (TableNotFoundError, NamespaceNotFoundError):
        return {"dropped": False}
    return {"dropped": True}


def _rename_table(catalog: Catalog, id: list[str], request: Request) -> Response:
    parent = list(request["new_namespace"])
    # Spark passes RENAME TO lake.db.t with the name of the catalog as the first level.
    if parent[:1] == [request["name"]] and not _is_namespace(catalog, parent[:1]):
        del parent[0]
    new = {"new_namespace_id": parent, "new_table_name": request["new_name"]}
    catalog.namespace.rename_table({"id": id, **new})
    return {}


def _is_namespace(catalog: Catalog, id: list[str]) -> bool:
    try:
        catalog.namespace.namespace_exists({"id": id})
    except (NamespaceNotFoundError, InvalidInputError):
        return False
    return True


# --- definitions


def _definition(request: Request) -> tuple[pa.Schema, dict[str, str]]:
    """Return the columns and properties of a new table.

    Raises:
        UnsupportedError: code 0, the definition contains something that Lance does not have.
    """
    from pyspark.sql.types import StructType

    if layout := request["partitions"]:
        raise UnsupportedError(
            f"Lance tables have no partitions ({', '.join(layout)}): omit PARTITIONED BY and "
            "CLUSTER BY; to avoid reading every row, create an index on the column"
        )
    settings = request["properties"]
    provider = settings.get("provider", FORMAT).lower()
    if provider not in _PROVIDERS:
        raise InvalidInputError(
            f"USING {provider}: the tables of this catalog are Lance tables; omit USING"
        )
    if "location" in settings:
        raise UnsupportedError(
            "LOCATION: the namespace chooses the location; omit LOCATION, or register an "
            "existing table with the namespace (register_table)"
        )
    for feature, instead in _NOT_IN_LANCE.items():
        if names := request["features"].get(feature):
            raise UnsupportedError(
                f"{', '.join(names)}: Lance tables do not support {feature}; {instead}"
            )
    columns = StructType.fromJson(json.loads(request["schema"]))
    for column in columns:
        _require_plain(column)
    schema = lance_schema(columns, settings.get(_TYPES))
    for number, column in enumerate(columns):
        schema = schema.set(number, _as_defined(schema.field(number), column))
    check_schema(schema, "the table")
    return schema, _stored(settings)


def _as_defined(field: pa.Field, column: StructField) -> pa.Field:
    if not column.nullable:
        field = field.with_nullable(False)
    if (comment := (column.metadata or {}).get("comment")) is not None:
        field = field.with_metadata({**(field.metadata or {}), _COMMENT: comment.encode()})
    return field


_NOT_IN_LANCE = {
    "GENERATED ALWAYS AS": "compute the column in the query that inserts the rows",
    "GENERATED AS IDENTITY": "compute the column in the query that inserts the rows",
    "DEFAULT": "specify the value in each INSERT",
    "constraints": "check the rows before you insert them",
}
# Parts of Spark's type names that restrict values or comparisons, which Lance cannot enforce.
_RULED = {
    "char(": "CHAR or VARCHAR; use STRING",
    " collate ": "COLLATE; use lower() or collate() in queries",
}


def _require_plain(column: StructField) -> None:
    for part, instead in _RULED.items():
        if part in column.dataType.simpleString():
            raise UnsupportedError(f"{column.name}: Lance tables do not support {instead}")


def _stored(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the properties that the namespace stores."""
    return {
        key: value
        for key, value in settings.items()
        if key not in _NOT_STORED and not key.startswith("option.")
    }


# --- changes to tables


def _alter_table(catalog: Catalog, id: list[str], request: Request) -> Response:
    changes = request["changes"]
    kinds = list(dict.fromkeys(_kind_of(each) for each in changes))
    if len(kinds) > 1:
        raise InvalidInputError(
            "these changes cannot be committed together; use a separate ALTER TABLE for each"
        )
    for kind in kinds:
        kind(catalog.namespace, id, changes)
    return {}


Change = Mapping[str, Any]
_Altering = Callable[["Namespace", list[str], Sequence[Change]], None]


def _kind_of(change: Change) -> _Altering:
    name = change["change"]
    if name not in _ALTERING:
        instead = _INSTEAD.get(name, "this change is not supported")
        raise UnsupportedError(f"ALTER TABLE on a Lance table: {instead}")
    return _ALTERING[name]


def _alter_properties(namespace: Namespace, id: list[str], changes: Sequence[Change]) -> None:
    changed = {each["property"]: each["value"] for each in changes if "value" in each}
    removed = [each["property"] for each in changes if "value" not in each]
    if _TYPES in (*changed, *removed):
        raise InvalidInputError(
            "the property 'types' applies only to new tables; use ALTER COLUMN ... TYPE"
        )
    namespace.alter_table({"id": id, "set_properties": changed, "unset_properties": removed})


def _add_columns(namespace: Namespace, id: list[str], changes: Sequence[Change]) -> None:
    entries, comments = [], {}
    for each in changes:
        name = _path(each)
        if len(each["path"]) > 1:
            raise UnsupportedError(
                f"column {name}: Lance cannot add a field to a struct; add a top-level column "
                "instead"
            )
        if not each["nullable"] or each["default"] or each["positioned"]:
            raise UnsupportedError(
                f"column {name}: a new column is added at the end and contains nulls; omit NOT "
                "NULL, DEFAULT, FIRST and AFTER"
            )
        entries.append({"name": name, "expression": _nulls(name, each["type"])})
        if each["comment"] is not None:
            comments[name] = each["comment"]
    namespace.alter_table_add_columns({"id": id, "new_columns": entries})
    if comments:
        _set_comments(namespace, id, comments)


def _nulls(name: str, spark: str) -> str:
    """Return a SQL expression for a null of a type."""
    kind = _arrow_type(name, spark)
    try:
        quoted = sql_type_name(kind).replace("'", "''")
    except InvalidInputError as error:
        raise UnsupportedError(
            f"column {name}: Lance cannot add a null column of type {kind}; add the column with "
            "its values (lance_namespace_impls.spark.add_columns)"
        ) from error
    return f"arrow_cast(NULL, '{quoted}')"


def _alter_columns(namespace: Namespace, id: list[str], changes: Sequence[Change]) -> None:
    entries: list[dict[str, Any]] = []
    for each in changes:
        path = _path(each)
        entry: dict[str, Any] = {"path": path}
        if "name" in each:
            entry["rename"] = each["name"]
        if "type" in each:
            schema = to_json_schema(pa.schema([("c", _arrow_type(path, each["type"]))]))
            entry["data_type"] = schema.to_dict()["fields"][0]["type"]
        if "nullable" in each:
            entry["nullable"] = each["nullable"]
        entries.append(entry)
    namespace.alter_table_alter_columns({"id": id, "alterations": entries})


def _drop_columns(namespace: Namespace, id: list[str], changes: Sequence[Change]) -> None:
    namespace.alter_table_drop_columns({"id": id, "columns": list(map(_path, changes))})


def _alter_comments(namespace: Namespace, id: list[str], changes: Sequence[Change]) -> None:
    _set_comments(namespace, id, {_path(each): each["comment"] for each in changes})


def _set_comments(namespace: Namespace, id: list[str], comments: Mapping[str, str]) -> None:
    updates = [
        {"path": path, "metadata": {_COMMENT.decode(): comment}}
        for path, comment in comments.items()
    ]
    namespace.update_field_metadata({"id": id, "updates": updates})


def _path(change: Change) -> str:
    return ".".join(change["path"])


def _arrow_type(name: str, spark: str) -> pa.DataType:
    from pyspark.sql.types import StructType

    field = {"name": name, "type": json.loads(spark), "nullable": True, "metadata": {}}
    return lance_schema(StructType.fromJson({"type": "struct", "fields": [field]})).field(0).type


_ALTERING: Mapping[str, _Altering] = {
    "SetProperty": _alter_properties,
    "RemoveProperty": _alter_properties,
    "AddColumn": _add_columns,
    "RenameColumn": _alter_columns,
    "UpdateColumnType": _alter_columns,
    "UpdateColumnNullability": _alter_columns,
    "DeleteColumn": _drop_columns,
    "UpdateColumnComment": _alter_comments,
}
_INSTEAD = {
    "UpdateColumnPosition": "columns cannot be reordered; list them in SELECT in the desired order",
    "UpdateColumnDefaultValue": "column defaults are not supported; specify the value in each "
    "INSERT",
    "AddConstraint": "constraints are not supported; check the rows before you insert them",
    "ClusterBy": "clustering is not supported; create an index on the column",
}

OPERATIONS: Mapping[str, Callable[[Catalog, list[str], Request], Response]] = {
    "list_namespaces": _list_namespaces,
    "describe_namespace": _describe_namespace,
    "create_namespace": _create_namespace,
    "alter_namespace": _alter_namespace,
    "drop_namespace": _drop_namespace,
    "list_tables": _list_tables,
    "table_exists": _table_exists,
    "load_table": _load_table,
    "create_table": _create_table,
    "stage_table": _stage_table,
    "set_properties": _set_properties,
    "alter_table": _alter_table,
    "drop_table": _drop_table,
    "rename_table": _rename_table,
}
