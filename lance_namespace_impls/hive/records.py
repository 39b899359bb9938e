"""Converts between the metastore's records and properties.

Source: the Hive 3.x specification, "Object Mapping".
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pymetastore.hive_metastore.ttypes import (
    Catalog,
    Database,
    PrincipalType,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

from lance_namespace_client.errors import InvalidInputError, UnsupportedError

from ..catalog.entry import TABLE_TYPE, TableEntry, is_lance, with_lance_type
from ..core.identifiers import Identifier
from ..core.location import absolute, is_uri, stored_form

__all__ = [
    "NO_STATISTICS",
    "catalog_properties",
    "change_catalog",
    "change_database",
    "change_table",
    "database_properties",
    "dataset_location",
    "entry_of",
    "is_lance_table",
    "new_catalog",
    "new_database",
    "new_table",
    "plain_location",
    "requested_location",
    "stored_location",
]

DESCRIPTION = "database.description"
LOCATION = "database.location-uri"
OWNER = "database.owner"
OWNER_TYPE = "database.owner-type"
CATALOG_DESCRIPTION = "catalog.description"
CATALOG_LOCATION = "catalog.location-uri"

EXTERNAL = "EXTERNAL"
EXTERNAL_TABLE = "EXTERNAL_TABLE"
CHANGED = "transient_lastDdlTime"
# Without this parameter, the metastore lists a table's folder and stores the number and size of its
# files, which soon become outdated. The parameter is sent when a table is created, but is not
# stored.
NO_STATISTICS = "DO_NOT_UPDATE_STATS"
# These are internal to the metastore; users can neither set nor see them.
_BOOKKEEPING = (EXTERNAL, CHANGED, NO_STATISTICS)
_OWNER_TYPES: dict[str, int] = {name: n for n, name in PrincipalType._VALUES_TO_NAMES.items()}


# --- locations


def plain_location(location: str | None) -> str:
    """Return a location in this package's form: no scheme for local paths, no trailing slash."""
    text = location or ""
    if text.startswith("file:"):
        text = "/" + text.removeprefix("file:").lstrip("/")
    return text.rstrip("/") or text


def dataset_location(location: str | None) -> str:
    """Return a table's location in pylance's form; for S3, Hadoop uses other schemes."""
    return stored_form(plain_location(location))


def requested_location(location: str) -> str:
    """Return a requested location in the metastore's form; Hadoop uses ``s3a://``, Lance ``s3://``.

    Raises:
        InvalidInputError: code 13, the location is relative, or Lance and pyarrow would open
            different locations.
    """
    resolved = absolute(location)
    if not is_uri(location) and not location.startswith(("/", "~")):
        raise InvalidInputError(
            f"location {location!r} is neither a URI nor an absolute path; specify one or the other"
        )
    if not is_uri(resolved):
        return resolved
    return f"{location.partition(':')[0].lower()}:{resolved.partition(':')[2]}"


def stored_location(location: str, what: str) -> str:
    """Return a location with its scheme, because the metastore has its own default scheme.

    Args:
        location: a URI or an absolute path.
        what: the object with that location, as the start of the message.

    Raises:
        InvalidInputError: code 13, the location is neither of these.
    """
    if location.startswith("/"):
        return f"file://{location}"
    scheme, separator, _ = location.partition(":/")
    if not separator or not scheme or "/" in scheme or "\0" in location:
        raise InvalidInputError(
            f"{what}: location {location!r} is neither a URI nor an absolute path; specify one "
            "or the other"
        )
    return location


# --- catalogs


def new_catalog(name: str, properties: Mapping[str, str], location: str) -> Catalog:
    """Build a catalog.

    Args:
        name: name of the catalog.
        properties: ``catalog.description`` and ``catalog.location-uri``; no others are supported.
        location: default location.

    Raises:
        InvalidInputError: code 13, a property is not supported.
    """
    _check_catalog_keys(name, properties)
    place = properties.get(CATALOG_LOCATION) or location
    stored = stored_location(place, f"catalog {name}")
    return Catalog(name=name, description=properties.get(CATALOG_DESCRIPTION), locationUri=stored)


def change_catalog(catalog: Catalog, changed: Mapping[str, str], removed: Sequence[str]) -> None:
    """Change a catalog's record.

    Raises:
        InvalidInputError: code 13, a property is not supported, or the location would be removed.
        UnsupportedError: code 0, the description would be removed.
    """
    _check_catalog_keys(catalog.name, [*changed, *removed])
    if CATALOG_LOCATION in removed:
        raise InvalidInputError(f"catalog {catalog.name}: {CATALOG_LOCATION} cannot be removed")
    if CATALOG_DESCRIPTION in removed:
        catalog.description = _new_description(catalog, None)
    if CATALOG_DESCRIPTION in changed:
        catalog.description = _new_description(catalog, changed[CATALOG_DESCRIPTION])
    if CATALOG_LOCATION in changed:
        catalog.locationUri = stored_location(changed[CATALOG_LOCATION], f"catalog {catalog.name}")


def catalog_properties(catalog: Catalog) -> dict[str, str]:
    """Return a catalog's properties."""
    return _without_none(
        {
            CATALOG_DESCRIPTION: catalog.description,
            CATALOG_LOCATION: plain_location(catalog.locationUri),
        }
    )


def _check_catalog_keys(name: str, keys: Mapping[str, str] | Sequence[str]) -> None:
    unknown = sorted(set(keys) - {CATALOG_DESCRIPTION, CATALOG_LOCATION})
    if unknown:
        raise InvalidInputError(
            f"catalog {name}: a Hive catalog supports only the properties {CATALOG_DESCRIPTION} "
            f"and {CATALOG_LOCATION}, not {', '.join(unknown)}"
        )


# --- databases


def new_database(
    catalog: str | None, name: str, properties: Mapping[str, str], location: str
) -> Database:
    """Build a database.

    Args:
        catalog: catalog of the database; None means the default catalog.
        name: name of the database.
        properties: the four ``database.*`` properties, and parameters.
        location: default location.

    Raises:
        InvalidInputError: code 13, a property has a value that cannot be stored.
    """
    database = Database(name=name, catalogName=catalog, parameters={})
    change_database(database, {LOCATION: location, **properties}, [])
    return database


def change_database(database: Database, changed: Mapping[str, str], removed: Sequence[str]) -> None:
    """Change a database's record.

    Raises:
        InvalidInputError: code 13, a value cannot be stored, or the location would be removed.
        UnsupportedError: code 0, the description would be removed.
    """
    what = f"database {database.name}"
    if LOCATION in removed:
        raise InvalidInputError(f"{what}: {LOCATION} cannot be removed")
    parameters = dict(database.parameters or {})
    for key in removed:
        if key == DESCRIPTION:
            database.description = _new_description(database, None)
        elif key == OWNER:
            database.ownerName = None
        elif key == OWNER_TYPE:
            database.ownerType = PrincipalType.USER
        else:
            parameters.pop(key, None)
    for key, value in changed.items():
        if key == DESCRIPTION:
            database.description = _new_description(database, value)
        elif key == LOCATION:
            database.locationUri = stored_location(value, what)
        elif key == OWNER:
            database.ownerName = value
        elif key == OWNER_TYPE:
            database.ownerType = _owner_type(value, what)
        else:
            parameters[key] = value
    database.parameters = parameters


def database_properties(database: Database) -> dict[str, str]:
    """Return a database's properties."""
    owner_type = PrincipalType._VALUES_TO_NAMES.get(database.ownerType)
    # The metastore sets the type USER even if there is no owner, so the type alone does not mean
    # that there is one.
    has_owner = database.ownerName is not None or database.ownerType not in (
        None,
        PrincipalType.USER,
    )
    return dict(database.parameters or {}) | _without_none(
        {
            DESCRIPTION: database.description,
            LOCATION: plain_location(database.locationUri),
            OWNER: database.ownerName,
            OWNER_TYPE: owner_type if has_owner else None,
        }
    )


def _new_description(record: Catalog | Database, description: str | None) -> str | None:
    """Return a new description; reject a blank description, which the metastore would ignore."""
    if record.description and not (description or "").strip():
        raise UnsupportedError(
            f"{record.name}: Hive cannot remove a description; set another one instead"
        )
    return description


def _owner_type(text: str, what: str) -> int:
    number = _OWNER_TYPES.get(text.strip().upper())
    if number is None:
        raise InvalidInputError(
            f"{what}: {OWNER_TYPE} {text!r} is not one of {', '.join(sorted(_OWNER_TYPES))}"
        )
    return number


# --- tables


def new_table(
    catalog: str | None,
    database: str,
    name: str,
    location: str,
    properties: Mapping[str, str],
    owner: str | None,
) -> Table:
    """Build a Lance table. It is external: the metastore would delete the data of any other table.

    Raises:
        InvalidInputError: code 13, a property would change the kind of the table, or the location
            is neither a URI nor an absolute path.
    """
    what = f"table {database}.{name}"
    _check_keys(what, properties)
    return Table(
        catName=catalog,
        dbName=database,
        tableName=name,
        owner=owner,
        tableType=EXTERNAL_TABLE,
        parameters={**with_lance_type(properties), EXTERNAL: "TRUE", NO_STATISTICS: "true"},
        partitionKeys=[],
        sd=StorageDescriptor(
            location=stored_location(location, what),
            # The columns are in the dataset. Engines without Lance support expect these classes.
            cols=[],
            inputFormat="org.apache.hadoop.mapred.FileInputFormat",
            outputFormat="org.apache.hadoop.mapred.FileOutputFormat",
            serdeInfo=SerDeInfo(
                serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
                parameters={},
            ),
            parameters={},
            bucketCols=[],
            sortCols=[],
        ),
    )


def is_lance_table(table: Table) -> bool:
    """Return whether a table is an external table with ``table_type=lance``."""
    return table.tableType == EXTERNAL_TABLE and is_lance(table.parameters)


def entry_of(identifier: Identifier, table: Table) -> TableEntry:
    """Return a table's record as a table entry."""
    return TableEntry(
        id=identifier,
        location=dataset_location(table.sd.location),
        properties={k: v for k, v in table.parameters.items() if k not in _BOOKKEEPING},
    )


def change_table(
    table: Table, changed: Mapping[str, str], removed: Sequence[str]
) -> tuple[str, str] | None:
    """Change a table's parameters, and its time of the last change.

    The metastore stores this time in whole seconds. Each change increases it by at least one
    second, so that writers that read the record earlier can detect the change.

    Returns:
        the parameter, and the value that it must still have in the metastore when the record is
        stored.

    Raises:
        InvalidInputError: code 13, the record would no longer describe a Lance table.
    """
    what = f"table {table.dbName}.{table.tableName}"
    _check_keys(what, changed)
    if TABLE_TYPE in removed or EXTERNAL in removed:
        raise InvalidInputError(
            f"{what}: {TABLE_TYPE} and {EXTERNAL} mark a Lance table and cannot be removed"
        )
    parameters = {k: v for k, v in table.parameters.items() if k not in removed} | dict(changed)
    before = table.parameters.get(CHANGED)
    previous = int(before) if before and before.isdigit() else 0
    parameters[CHANGED] = str(max(int(time.time()), previous + 1))
    table.parameters = parameters
    return (CHANGED, before) if before else None


def _check_keys(what: str, properties: Mapping[str, str]) -> None:
    wrong = {
        key: value
        for key, value in properties.items()
        if (key == TABLE_TYPE and not is_lance(properties))
        or (key == EXTERNAL and value.upper() != "TRUE")
        or key == CHANGED
    }
    if wrong:
        key, value = next(iter(wrong.items()))
        raise InvalidInputError(
            f"{what}: {key}={value} cannot be set; Lance tables in Hive have {TABLE_TYPE}=lance "
            f"and {EXTERNAL}=TRUE, and {CHANGED} is set by the metastore"
        )


def _without_none(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in values.items() if value is not None}
