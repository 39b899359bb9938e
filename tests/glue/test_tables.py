"""Tables in databases."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    ForbiddenError,
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lance_namespace_impls.glue import GlueNamespace

from ..behaviour import cut_off
from ..behaviour.home import MakeTable, makes_tables
from ..servers.glue import GlueServer
from .conftest import LANCE, Connect
from .test_namespaces import DATABASE

# The bucket does not exist.
pytestmark = pytest.mark.filterwarnings("ignore:s3.* cannot be (read|written to)")

ROWS = pa.table({"x": [1, 2, 3]})


def read(client: Any, name: str, database: str = "db", **more: Any) -> dict[str, Any]:
    table: dict[str, Any] = client.get_table(DatabaseName=database, Name=name, **more)["Table"]
    return table


# --- declaring


@pytest.mark.requirement(
    "glue.mapping.table", "glue.mapping.table-location", "glue.declare-table.request"
)
def test_a_declared_table_is_an_external_lance_table(
    namespace: GlueNamespace, client: Any, database: str, glue: GlueServer
) -> None:
    answer = namespace.declare_table(
        {"id": ["db", "t"], "location": "s3://bucket/t/", "properties": {"a": "1"}}
    )
    assert answer.location == "s3://bucket/t"
    table = read(client, "t")
    assert table["TableType"] == "EXTERNAL_TABLE"
    assert table["Parameters"] == {"a": "1", "table_type": "lance"}
    assert table["StorageDescriptor"]["Location"] == "s3://bucket/t"


@pytest.mark.requirement(
    "glue.declare-table.parent", "glue.declare-table.no-parent", "glue.declare-table.exists"
)
def test_the_database_is_checked_before_a_table_is_declared(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    namespace.declare_table({"id": ["db", "one"]})
    glue.calls.clear()
    namespace.declare_table({"id": ["db", "two"]})
    asked = [call.operation for call in glue.calls]
    assert asked.index("GetDatabase") < asked.index("CreateTable")
    with pytest.raises(TableAlreadyExistsError, match=r"table db\$two already exists"):
        namespace.declare_table({"id": ["db", "two"]})
    made = glue.count("CreateTable")
    with pytest.raises(NamespaceNotFoundError):
        namespace.declare_table({"id": ["none", "t"]})
    assert glue.count("CreateTable") == made


def test_a_catalog_contains_no_tables(namespace: GlueNamespace, glue: GlueServer) -> None:
    glue.add_catalog("cat")
    with pytest.raises(InvalidInputError, match="cat is a catalog, which cannot contain tables"):
        namespace.declare_table({"id": ["cat", "t"]})
    with pytest.raises(TableNotFoundError):
        namespace.describe_table({"id": ["cat", "t"]})


# --- default location


def test_default_location_is_below_the_database(
    namespace: GlueNamespace, client: Any, glue: GlueServer
) -> None:
    client.create_database(DatabaseInput={"Name": "db", "LocationUri": "s3://bucket/place/"})
    assert namespace.declare_table({"id": ["db", "a b"]}).location == "s3://bucket/place/a%20b"


@pytest.mark.requirement("glue.declare-table.parse")
def test_default_location_is_below_root_otherwise(
    connected: Connect, database: str, glue: GlueServer, client: Any
) -> None:
    namespace = connected(root="s3://bucket/lake")
    assert namespace.declare_table({"id": ["db", "t"]}).location == "s3://bucket/lake/db/t"
    glue.add_catalog("cat")
    client.create_database(DatabaseInput={"Name": "in"}, CatalogId="cat")
    declared = namespace.declare_table({"id": ["cat", "in", "t"]})
    assert declared.location == "s3://bucket/lake/cat/in/t"


def test_a_table_without_any_location_is_rejected(
    connected: Connect, database: str, glue: GlueServer
) -> None:
    with pytest.raises(InvalidInputError, match="needs a location: its database has none"):
        connected(root=None).declare_table({"id": ["db", "t"]})
    assert glue.count("CreateTable") == 0
    declared = connected(root=None).declare_table({"id": ["db", "t"], "location": "/data/t"})
    assert declared.location == "/data/t"


# --- recognizing Lance tables

OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "no_parameters": ({"TableType": "EXTERNAL_TABLE"}, "it has no table_type=lance"),
    "iceberg": ({**LANCE, "Parameters": {"table_type": "ICEBERG"}}, "it has no table_type=lance"),
    "managed": ({**LANCE, "TableType": "MANAGED_TABLE"}, "its TableType is MANAGED_TABLE, not EXT"),
    "view": ({**LANCE, "TableType": "VIRTUAL_VIEW"}, "its TableType is VIRTUAL_VIEW, not EXTERNAL"),
    "no_type": ({"Parameters": {"table_type": "lance"}}, "it has no TableType=EXTERNAL_TABLE"),
}
"""Tables that are not Lance tables, and the reason for each."""


@pytest.mark.requirement("glue.identification.case", "glue.list-tables.filter")
def test_only_lance_tables_are_listed(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    loud = {**LANCE, "Parameters": {"table_type": "LANCE"}}
    others = {name: table for name, (table, _) in OTHERS.items()}
    glue.add_tables(database, {"small": LANCE, "loud": loud, **others})
    assert namespace.list_tables({"id": [database]}).tables == ["loud", "small"]
    assert namespace.describe_table({"id": [database, "loud"]}).location == "s3://bucket/t"


@pytest.mark.requirement(
    "glue.identification.both",
    "glue.describe-table.other",
    "glue.deregister-table.check",
    "glue.deregister-table.other",
)
@pytest.mark.parametrize("kind", OTHERS)
def test_other_tables_are_code_13(
    namespace: GlueNamespace, database: str, glue: GlueServer, kind: str
) -> None:
    table, why = OTHERS[kind]
    glue.add_tables(database, {kind: table})
    for operation, more in (
        ("describe_table", {}),
        ("table_exists", {}),
        ("deregister_table", {}),
        ("drop_table", {}),
        ("alter_table", {"set_properties": {"a": "1"}}),
        ("rename_table", {"new_table_name": "new"}),
    ):
        with pytest.raises(InvalidInputError, match=f"is not a Lance table: {why}"):
            getattr(namespace, operation)({"id": [database, kind], **more})
    with pytest.raises(TableAlreadyExistsError):
        namespace.declare_table({"id": [database, kind]})
    assert glue.count("DeleteTable") == glue.count("UpdateTable") == 0


def test_a_lance_table_without_a_location_is_code_19(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    glue.add_tables(database, {"t": {**LANCE, "StorageDescriptor": {}}})
    with pytest.raises(InvalidTableStateError, match="has no location"):
        namespace.describe_table({"id": [database, "t"]})


# --- describing


@pytest.mark.requirement(
    "glue.mapping.table-properties",
    "glue.describe-table.plain",
    "glue.describe-table.storage-options",
)
def test_describe_returns_location_and_storage_options(
    connected: Connect, database: str, glue: GlueServer
) -> None:
    parameters = {"table_type": "lance", "storage.region": "eu", "storage.own": "1", "note": "x"}
    glue.add_tables(database, {"t": {**LANCE, "Parameters": parameters}})
    namespace = connected(**{"storage.region": "us", "storage.all": "2"})
    answer = namespace.describe_table({"id": [database, "t"]})
    assert answer.location == "s3://bucket/t"
    assert answer.storage_options == {"region": "eu", "all": "2", "own": "1"}
    assert answer.properties == {"table_type": "lance", "note": "x"}
    assert (answer.version, answer.table_uri, answer.schema, answer.stats) == (None,) * 4


@pytest.mark.requirement("glue.describe-table.missing", "glue.deregister-table.missing")
def test_a_missing_table_or_database_is_code_4(namespace: GlueNamespace, database: str) -> None:
    for names in (["db", "none"], ["none", "t"], ["no", "such", "t"]):
        for operation, more in (
            ("describe_table", {}),
            ("table_exists", {}),
            ("deregister_table", {}),
            ("drop_table", {}),
            ("alter_table", {"set_properties": {"a": "1"}}),
            ("rename_table", {"new_table_name": "new"}),
            ("count_table_rows", {}),
        ):
            with pytest.raises(TableNotFoundError):
                getattr(namespace, operation)({"id": names, **more})


# --- rows and data


@pytest.mark.requirement("glue.identification.location")
def test_rows_are_written_to_the_tables_location(
    namespace: GlueNamespace, database: str, tmp_path: Path, client: Any
) -> None:
    created = namespace.create_table({"id": ["db", "t"], "properties": {"a": "1"}}, ROWS)
    assert created.location == str(tmp_path / "root" / "db" / "t")
    assert namespace.count_table_rows({"id": ["db", "t"]}).count == 3
    assert read(client, "t")["Parameters"] == {"a": "1", "table_type": "lance"}


@pytest.mark.requirement("glue.deregister-table.data")
def test_deregistering_keeps_the_data(
    namespace: GlueNamespace, database: str, tmp_path: Path
) -> None:
    namespace.create_table({"id": ["db", "t"]}, ROWS)
    gone = namespace.deregister_table({"id": ["db", "t"]})
    assert gone.location == str(tmp_path / "root" / "db" / "t")
    namespace.drop_namespace({"id": ["db"]})
    assert (tmp_path / "root" / "db" / "t" / "_versions").is_dir()
    namespace.create_namespace({"id": ["db"], "properties": DATABASE})
    namespace.register_table({"id": ["db", "again"], "location": gone.location})
    assert namespace.count_table_rows({"id": ["db", "again"]}).count == 3


def test_a_retried_deletion_that_took_effect_succeeds(
    connected: Connect, database: str, glue: GlueServer
) -> None:
    namespace = connected(max_retries=2)
    namespace.declare_table({"id": ["db", "t"]})
    glue.fail("DeleteTable", "InternalFailure", status=500, times=1, after_effect=True)
    namespace.deregister_table({"id": ["db", "t"]})
    assert glue.count("DeleteTable") == 2


# --- altering

WHOLE = {
    **LANCE,
    "Description": "kept",
    "Owner": "someone",
    "Retention": 3,
    "StorageDescriptor": {
        "Location": "s3://bucket/t",
        "Columns": [{"Name": "x", "Type": "bigint", "Comment": "kept"}],
        "SerdeInfo": {"SerializationLibrary": "none", "Parameters": {"k": "v"}},
        "Parameters": {"inner": "kept"},
    },
    "PartitionKeys": [{"Name": "p", "Type": "string"}],
    "Parameters": {"table_type": "lance", "a": "1", "b": "2", "storage.region": "eu"},
}


def test_altering_a_table_keeps_its_other_fields(
    namespace: GlueNamespace, database: str, glue: GlueServer, client: Any
) -> None:
    glue.add_tables(database, {"t": WHOLE})
    before = read(client, "t")
    answer = namespace.alter_table(
        {"id": ["db", "t"], "set_properties": {"c": "3"}, "unset_properties": ["a", "unknown"]}
    )
    assert answer.properties == {"table_type": "lance", "b": "2", "c": "3"}
    after = read(client, "t")
    changing = {"Parameters", "VersionId", "UpdateTime"}
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }
    kept = {"table_type": "lance", "b": "2", "c": "3", "storage.region": "eu"}
    assert after["Parameters"] == kept


def test_a_concurrent_change_is_code_14_and_not_lost(
    namespace: GlueNamespace, database: str, glue: GlueServer, client: Any
) -> None:
    glue.add_tables(database, {"t": WHOLE})
    theirs = {**WHOLE, "Name": "t", "Description": "theirs"}
    glue.before("UpdateTable", lambda given: glue.backend().update_table("db", "t", theirs))
    with pytest.raises(ConcurrentModificationError) as caught:
        namespace.alter_table({"id": ["db", "t"], "set_properties": {"c": "3"}})
    assert caught.value.code == 14
    assert read(client, "t")["Description"] == "theirs"
    namespace.alter_table({"id": ["db", "t"], "set_properties": {"c": "3"}})
    assert read(client, "t")["Description"] == "theirs"


def test_the_table_type_cannot_be_changed(namespace: GlueNamespace, database: str) -> None:
    namespace.declare_table({"id": ["db", "t"]})
    for change in ({"set_properties": {"table_type": "x"}}, {"unset_properties": ["table_type"]}):
        with pytest.raises(InvalidInputError, match="table_type must remain 'lance'"):
            namespace.alter_table({"id": ["db", "t"], **change})


# --- renaming


def test_renaming_changes_only_the_name(
    namespace: GlueNamespace, database: str, glue: GlueServer, client: Any
) -> None:
    glue.add_tables(database, {"t": WHOLE})
    before = read(client, "t")
    namespace.rename_table({"id": ["db", "t"], "new_table_name": "new"})
    assert namespace.list_tables({"id": ["db"]}).tables == ["new"]
    changing = {"Name", "VersionId", "CreateTime", "UpdateTime"}
    after = read(client, "new")
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }


@pytest.mark.requirement("glue.mapping.table-identifier")
def test_renaming_to_another_database_and_catalog(
    namespace: GlueNamespace, database: str, glue: GlueServer, client: Any
) -> None:
    glue.add_catalog("cat")
    client.create_database(DatabaseInput={"Name": "in"}, CatalogId="cat")
    namespace.create_table({"id": ["db", "t"]}, ROWS)
    namespace.rename_table(
        {"id": ["db", "t"], "new_table_name": "t", "new_namespace_id": ["cat", "in"]}
    )
    assert namespace.list_tables({"id": ["db"]}).tables == []
    assert namespace.count_table_rows({"id": ["cat", "in", "t"]}).count == 3
    assert read(client, "t", "in", CatalogId="cat")


def test_invalid_rename_targets(namespace: GlueNamespace, database: str, glue: GlueServer) -> None:
    glue.add_catalog("cat")
    for name in ("t", "taken"):
        namespace.declare_table({"id": ["db", name]})
    for new, error in (
        ({"new_table_name": "taken"}, TableAlreadyExistsError),
        ({"new_table_name": "t"}, TableAlreadyExistsError),
        ({"new_table_name": "new", "new_namespace_id": ["none"]}, NamespaceNotFoundError),
        ({"new_table_name": "new", "new_namespace_id": ["cat"]}, InvalidInputError),
    ):
        with pytest.raises(error):
            namespace.rename_table({"id": ["db", "t"], **new})
    assert namespace.list_tables({"id": ["db"]}).tables == ["t", "taken"]


def test_an_empty_target_namespace_means_the_same_namespace(
    namespace: GlueNamespace, database: str
) -> None:
    namespace.declare_table({"id": ["db", "t"]})
    namespace.rename_table({"id": ["db", "t"], "new_table_name": "new", "new_namespace_id": []})
    assert namespace.list_tables({"id": ["db"]}).tables == ["new"]


def test_a_concurrently_changed_table_is_not_renamed(
    namespace: GlueNamespace, database: str, glue: GlueServer, client: Any
) -> None:
    glue.add_tables(database, {"t": WHOLE})
    theirs = {**WHOLE, "Name": "t", "Description": "theirs"}
    glue.before("CreateTable", lambda given: glue.backend().update_table("db", "t", theirs))
    with pytest.raises(ConcurrentModificationError, match="was changed during the rename"):
        namespace.rename_table({"id": ["db", "t"], "new_table_name": "new"})
    assert namespace.list_tables({"id": ["db"]}).tables == ["t"]
    assert read(client, "t")["Description"] == "theirs"


def test_a_table_deleted_during_a_rename_is_not_recreated(
    namespace: GlueNamespace, database: str, glue: GlueServer
) -> None:
    glue.add_tables(database, {"t": WHOLE})
    glue.before("CreateTable", lambda given: glue.backend().delete_table("db", "t"))
    with pytest.raises(TableNotFoundError):
        namespace.rename_table({"id": ["db", "t"], "new_table_name": "new"})
    assert namespace.list_tables({"id": ["db"]}).tables == []


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        ({"code": "AccessDeniedException"}, ForbiddenError),
        ({"code": "ServiceUnavailableException", "status": 503}, ServiceUnavailableError),
        ({"code": "ServiceUnavailableException", "status": 503, "after_effect": True}, None),
    ],
    ids=["denied", "failed", "took effect"],
)
def test_a_failed_rename_removes_its_copy(
    namespace: GlueNamespace,
    database: str,
    glue: GlueServer,
    failure: dict[str, Any],
    error: type[Exception] | None,
) -> None:
    glue.add_tables("db", {"t": WHOLE})
    glue.fail("DeleteTable", **failure, times=1, when=lambda given: given["Name"] == "t")
    with pytest.raises(error) if error else nullcontext():
        namespace.rename_table({"id": ["db", "t"], "new_table_name": "new"})
    assert namespace.list_tables({"id": ["db"]}).tables == (["t"] if error else ["new"])


def test_no_table_is_lost_if_glue_fails_during_a_rename(
    namespace: GlueNamespace, database: str, glue: GlueServer, client: Any
) -> None:
    glue.add_tables("db", {"t": WHOLE})
    away = {"code": "ServiceUnavailableException", "status": 503}
    glue.before("DeleteTable", lambda given: glue.fail("*", **away))
    with pytest.raises(ServiceUnavailableError):
        namespace.rename_table({"id": ["db", "t"], "new_table_name": "new"})
    glue.heal()
    assert namespace.list_tables({"id": ["db"]}).tables == ["new", "t"]


# --- registering


def test_registering_over_another_table(
    namespace: GlueNamespace, database: str, client: Any
) -> None:
    namespace.register_table({"id": ["db", "t"], "location": "s3://b/one"})
    with pytest.raises(TableAlreadyExistsError):
        namespace.register_table({"id": ["db", "t"], "location": "s3://b/two"})
    namespace.register_table({"id": ["db", "t"], "location": "s3://b/two", "mode": "Overwrite"})
    assert read(client, "t")["StorageDescriptor"]["Location"] == "s3://b/two"
    with pytest.raises(NamespaceNotFoundError):
        namespace.register_table({"id": ["none", "t"], "location": "s3://b/one"})


def test_a_registered_table_is_replaced_atomically(
    namespace: GlueNamespace, database: str, client: Any, glue: GlueServer
) -> None:
    glue.add_tables(database, {"t": WHOLE})
    theirs = {**WHOLE, "Name": "t", "Description": "theirs"}
    glue.before("UpdateTable", lambda given: glue.backend().update_table("db", "t", theirs))
    request = {"id": ["db", "t"], "location": "s3://b/two", "mode": "Overwrite"}
    with pytest.raises(ConcurrentModificationError):
        namespace.register_table(request)
    assert read(client, "t")["Description"] == "theirs"
    namespace.register_table(request)
    table = read(client, "t")
    assert "Description" not in table
    assert table["Parameters"] == {"table_type": "lance"}
    assert glue.count("DeleteTable") == 0


# --- drops that are killed


@pytest.mark.parametrize("cut", cut_off.CUTS)
def test_data_is_kept_if_glue_deletes_a_table_after_a_killed_drop(
    namespace: GlueNamespace, database: str, client: Any, cut: str
) -> None:
    cut_off.check_data_is_kept(
        namespace, ["db", "t"], cut, lambda: client.delete_table(DatabaseName="db", Name="t")
    )


def test_a_killed_deletion_is_resumed(namespace: GlueNamespace, database: str, client: Any) -> None:
    cut_off.check_drop_is_resumed(
        namespace, ["db", "t"], lambda: client.delete_table(DatabaseName="db", Name="t")
    )


@makes_tables
@pytest.mark.parametrize("confined", [False, True], ids=["free", "confined"])
def test_the_parent_is_looked_up_once(
    connected: Connect, glue: GlueServer, database: str, make_table: MakeTable, confined: bool
) -> None:
    namespace = connected(confine_locations=confined)
    glue.calls.clear()
    make_table(namespace, [database, "t"])
    asked = {name: glue.count(name) for name in ("GetDatabase", "GetCatalog", "CreateTable")}
    assert asked == {"GetDatabase": 1, "GetCatalog": 1, "CreateTable": 1}
