"""Failures of a database have a code, and messages with the database's name and advice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    UnauthenticatedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.sql import SqlConfig, SqlNamespace, initialize, upgrade
from lance_namespace_impls.sql.database import Database
from lance_namespace_impls.sql.schema import REVISIONS

from ..servers.postgresql import PASSWORD, USER, PostgreSQL, shared


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An SQLite file that contains a catalog."""
    path = tmp_path / "catalog.db"
    initialize({"uri": str(path)})
    return path


@pytest.fixture
def own_server() -> Iterator[PostgreSQL]:
    """A server that a test may stop."""
    with PostgreSQL() as server:
        yield server


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"uri": "mysql://host/db"}, "databases of type 'mysql' are not supported"),
        ({"uri": ""}, "'uri' is empty"),
        ({"pool_size": "1"}, "'pool_size' must be 2 or more connections"),
        ({"transaction_days": "0"}, "'transaction_days' must be 1 or more days"),
        ({"lock_timeout": "0"}, "'lock_timeout' must be greater than 0 seconds"),
        ({"connect_timeout": "-1"}, "'connect_timeout' must be greater than 0 seconds"),
        ({"uri": "sqlite:///"}, "'uri' is empty"),
        ({"uri": "file:///"}, "'uri' is empty"),
        ({"url": "x.db"}, "did you mean 'uri'"),
    ],
)
def test_wrong_properties_are_refused(properties: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        connect("sql", properties)


def test_the_smallest_accepted_values() -> None:
    assert SqlConfig.from_properties({}).transaction_days == 30
    least = SqlConfig.from_properties({"pool_size": "2", "transaction_days": "1"})
    assert (least.pool_size, least.transaction_days) == (2, 1)


def test_a_database_without_a_catalog_is_reported() -> None:
    uri = shared().new_database()
    refused = pytest.raises(InvalidInputError, match=r"PostgreSQL database 'kit.*has no catalog")
    with SqlNamespace.from_properties({"uri": uri}) as catalog, refused:
        catalog.list_namespaces({})
    with pytest.raises(InvalidInputError, match="no catalog to upgrade"):
        upgrade({"uri": uri})


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    said = f"SQLite file {path} has no catalog: .*lance-ns init"
    refused = pytest.raises(InvalidInputError, match=said)
    with SqlNamespace.from_properties({"uri": str(path)}) as catalog, refused:
        catalog.list_namespaces({})
    assert not path.exists()
    with pytest.raises(InvalidInputError, match="has no catalog"):
        upgrade({"uri": str(path)})
    assert not path.exists()


def test_a_missing_folder_is_created_by_init_but_not_by_upgrade(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a" / "b" / "catalog.db"
    with pytest.raises(InvalidInputError, match="has no catalog"):
        upgrade({"uri": str(path)})
    assert list(tmp_path.iterdir()) == []
    assert initialize({"uri": str(path)}) == upgrade({"uri": str(path)}) == f"SQLite file {path}"
    assert path.exists()


def test_an_upgrade_creates_no_catalog_in_another_database(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table theirs (x)")
    before = path.read_bytes()
    with pytest.raises(InvalidInputError, match="no catalog to upgrade; run 'lance-ns init sql'"):
        upgrade({"uri": str(path)})
    assert path.read_bytes() == before


def test_a_file_that_is_not_a_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    path.write_text("not a database at all" * 100)
    with (
        SqlNamespace.from_properties({"uri": str(path)}) as catalog,
        pytest.raises(LanceNamespaceError, match=r"file is not a database: .*check 'uri'") as told,
    ):
        catalog.list_namespaces({})
    assert told.value.code == 18


def test_a_locked_file_is_unavailable(file: Path) -> None:
    properties = {"uri": str(file), "lock_timeout": "100ms"}
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("begin immediate")
    with SqlNamespace.from_properties(properties) as catalog:
        with pytest.raises(ServiceUnavailableError, match="database is locked: another process"):
            catalog.create_namespace({"id": ["ns"]})
        assert catalog.list_namespaces({}).namespaces == []  # readers do not wait
        holder.rollback()
        holder.close()
        catalog.create_namespace({"id": ["ns"]})


def test_a_file_that_cannot_be_written_is_denied(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is opened read-only, as SQLite itself does if permissions allow nothing else."""

    def read_only(database: Database) -> sqlite3.Connection:
        return sqlite3.connect(
            f"file:{file}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )

    monkeypatch.setattr(Database, "_open_file", read_only)
    with SqlNamespace.from_properties({"uri": str(file)}) as catalog:
        assert catalog.list_namespaces({}).namespaces == []
        with pytest.raises(PermissionDeniedError, match="change its permissions") as told:
            catalog.create_namespace({"id": ["ns"]})
        assert str(file) in str(told.value)


@pytest.mark.parametrize(
    ("user", "password", "database", "kind", "said"),
    [
        (USER, "wrong-secret", "postgres", UnauthenticatedError, "check the user in 'uri'"),
        ("nobody_such", PASSWORD, "postgres", UnauthenticatedError, "check the user in 'uri'"),
        (USER, PASSWORD, "missing", InvalidInputError, "create the database"),
    ],
)
def test_a_rejected_connection_is_explained(
    user: str, password: str, database: str, kind: type[LanceNamespaceError], said: str
) -> None:
    uri = f"postgresql://{user}@127.0.0.1:{shared().port}/{database}"
    with SqlNamespace.from_properties({"uri": uri, "password": password}) as catalog:
        with pytest.raises(kind, match=said) as told:
            catalog.list_namespaces({})
        assert "PostgreSQL database" in str(told.value)
        for secret in ("wrong-secret", PASSWORD):
            assert secret not in str(told.value) + repr(catalog)


def test_a_password_in_the_uri_is_not_shown() -> None:
    uri = shared().uri("missing", "wr0ng-secret")
    with SqlNamespace.from_properties({"uri": uri}) as catalog:
        with pytest.raises(UnauthenticatedError) as told:
            catalog.list_namespaces({})
        assert "wr0ng-secret" not in str(told.value) + repr(catalog) + catalog.namespace_id()
    with pytest.raises(UnauthenticatedError) as told:
        initialize({"uri": uri})
    assert "wr0ng-secret" not in str(told.value)


def test_a_missing_privilege_is_reported() -> None:
    server = shared()
    uri = server.new_database()
    initialize({"uri": uri})
    name = uri.rpartition("/")[2]
    server.execute("do $$ begin create role reader login password 'r'; exception when "
                   "duplicate_object then null; end $$")  # fmt: skip
    server.execute("grant select on all tables in schema public to reader", name)
    uri = f"postgresql://reader:r@127.0.0.1:{server.port}/{name}"
    with SqlNamespace.from_properties({"uri": uri}) as catalog:
        assert catalog.list_namespaces({}).namespaces == []
        with pytest.raises(PermissionDeniedError, match=r"permission denied .*: grant the user"):
            catalog.create_namespace({"id": ["ns"]})


def test_a_restarted_server_is_used_again(own_server: PostgreSQL) -> None:
    properties = {"uri": own_server.new_database(), "connect_timeout": "2s"}
    initialize(properties)
    with SqlNamespace.from_properties(properties) as catalog:
        catalog.create_namespace({"id": ["ns"]})
        own_server.stop()
        with pytest.raises(ServiceUnavailableError, match="PostgreSQL database 'kit1'"):
            catalog.create_namespace({"id": ["other"]})
        own_server.start()
        assert catalog.list_namespaces({}).namespaces == ["ns"]
        catalog.create_namespace({"id": ["other"]})


def test_a_read_that_loses_its_connection_twice_raises_the_second_error(
    properties: dict[str, str],
) -> None:
    lost = [
        OperationalError("select 1", {}, Exception(text), connection_invalidated=True)
        for text in ("first", "second")
    ]
    left = list(lost)

    def work(connection: Connection) -> None:
        raise left.pop(0)

    with SqlNamespace.from_properties(properties) as catalog:
        with pytest.raises(OperationalError) as caught:
            catalog._database.read(work)
        assert caught.value is lost[1] and not left


# --- migrations


def set_revision(uri: str, revision: str) -> None:
    """Change a catalog to an older or unknown revision."""
    from sqlalchemy import text

    database = Database(SqlConfig(uri=uri))
    with database.writing() as connection:
        if revision < "0003":
            connection.execute(text("drop index transactions_created"))
        if revision < "0002":
            connection.execute(text("drop table table_versions"))
            connection.execute(text("drop table transactions"))
            connection.execute(text("alter table objects drop column managed"))
        connection.execute(text("update alembic_version set version_num = :r"), {"r": revision})
    database.close()


@pytest.mark.parametrize("change", [initialize, upgrade])
def test_a_catalog_of_a_newer_release_is_rejected(
    properties: dict[str, str], change: Callable[[dict[str, str]], object]
) -> None:
    set_revision(properties["uri"], "0999")
    with pytest.raises(InvalidInputError, match=r"newer release .*upgrade lance-namespace-kit"):
        change(properties)


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_a_catalog_of_an_older_release_is_upgraded(
    properties: dict[str, str], revision: str
) -> None:
    with SqlNamespace.from_properties(properties) as catalog:
        catalog.create_namespace({"id": ["ns"]})
        catalog.declare_table({"id": ["ns", "t"]})
    set_revision(properties["uri"], revision)
    with (
        SqlNamespace.from_properties(properties) as catalog,
        pytest.raises(InvalidInputError, match=r"older release .*run 'lance-ns upgrade sql'"),
    ):
        catalog.list_namespaces({})
    with pytest.raises(InvalidInputError, match="older release"):
        initialize(properties)
    for _ in range(2):
        upgrade(properties)
    with SqlNamespace.from_properties(properties) as catalog:
        assert catalog.list_all_tables({}).tables == ["ns$t"]
        assert catalog.describe_table({"id": ["ns", "t"]}).managed_versioning is False


def test_the_migrations_create_the_tables_defined_in_the_code(properties: dict[str, str]) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    import lance_namespace_impls.sql as package
    from lance_namespace_impls.sql.schema import metadata

    database = Database(SqlConfig.from_properties(properties))
    with database.writing() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    database.close()
    scripts = ScriptDirectory(str(Path(package.__file__).with_name("migrations")))
    assert tuple(each.revision for each in scripts.walk_revisions())[::-1] == REVISIONS


def test_concurrent_initializations_create_one_catalog(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    for uri in (str(tmp_path / "catalog.db"), shared().new_database()):
        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(lambda _, uri=uri: initialize({"uri": uri}), range(4)))) == 1
        with SqlNamespace.from_properties({"uri": uri}) as catalog:
            assert catalog.list_namespaces({}).namespaces == []
