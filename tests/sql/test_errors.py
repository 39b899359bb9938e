"""Errors of a database have a code and advice, and a database of another release is never used."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.sql import SqlConfig, SqlNamespace, initialize
from lance_namespace_impls.sql.errors import is_retryable, recognized
from lance_namespace_impls.sql.schema import REVISIONS


class Said(Exception):
    """An error that a database driver raises."""

    def __init__(self, text: str, sqlstate: str | None = None) -> None:
        super().__init__(text)
        self.sqlstate = sqlstate


def failure(cause: Exception, *, lost: bool = False) -> DBAPIError:
    return OperationalError("select secret", {}, cause, connection_invalidated=lost)


# The states are named in PostgreSQL's manual; the texts are those of SQLite and libpq.
SAID: dict[str, tuple[Said, int, str]] = {
    "invalid_password": (Said("no", "28P01"), 16, "check the user"),
    "invalid_authorization": (Said("no", "28000"), 16, "check the user"),
    "invalid_catalog_name": (Said("no", "3D000"), 13, "create the database"),
    "insufficient_privilege": (Said("no", "42501"), 15, "grant the user"),
    "undefined_table": (Said("no", "42P01"), 18, "no$"),
    "read_only_sql_transaction": (Said("no", "25006"), 15, "to its primary"),
    "serialization_failure": (Said("no", "40001"), 14, "try again"),
    "deadlock_detected": (Said("no", "40P01"), 14, "try again"),
    "lock_not_available": (Said("no", "55P03"), 14, "holds the lock"),
    "too_many_connections": (Said("no", "53300"), 21, "lower pool_size"),
    "disk_full": (Said("no", "53100"), 17, "lacks a resource"),
    "out_of_memory": (Said("no", "53200"), 17, "lacks a resource"),
    "admin_shutdown": (Said("no", "57P01"), 17, "may have been applied"),
    "connection_failure": (Said("no", "08006"), 17, "may have been applied"),
    "program_limit_exceeded": (Said("no", "54000"), 13, "too long"),
    "untranslatable_character": (Said("no", "22P05"), 13, "cannot store"),
    "internal_error": (Said("no", "XX000"), 18, "no$"),
    "busy": (Said("database is locked"), 17, "longer than lock_timeout"),
    "busy table": (Said("database table is locked"), 17, "longer than lock_timeout"),
    "read-only": (Said("attempt to write a readonly database"), 15, "change its permissions"),
    "no folder": (Said("unable to open database file"), 15, "cannot be opened"),
    "other file": (Said("file is not a database"), 18, "restore a backup"),
    "damaged": (Said("database disk image is malformed"), 18, "restore a backup"),
    "full": (Said("database or disk is full"), 18, "free disk space"),
    "wrong password": (Said('password authentication failed for user "u"'), 16, "check the user"),
    "no password": (Said("fe_sendauth: no password supplied"), 16, "check the user"),
    "not let in": (Said('no pg_hba.conf entry for host "::1"'), 16, "check the user"),
    "no role": (Said('role "u" does not exist'), 16, "check the user"),
    "no database": (Said('database "d" does not exist'), 13, "create the database"),
    "clients": (Said("sorry, too many clients already"), 21, "lower pool_size"),
    "slots": (Said("remaining connection slots are reserved"), 21, "lower pool_size"),
    "nul": (Said("a string literal cannot contain NUL (0x00) characters."), 13, "cannot store"),
    "refused": (Said("connection failed: Connection refused"), 17, "check that the server is running"),
    "no host": (Said('could not translate host name "h"'), 17, "check that the server is running"),
    "slow": (Said("connection timeout expired"), 17, "check that the server is running"),
    "cut": (Said("server closed the connection unexpectedly"), 17, "may have been applied"),
    "anything": (Said("something new"), 18, "something new$"),
}  # fmt: skip


@pytest.mark.parametrize(("cause", "code", "advice"), SAID.values(), ids=SAID)
def test_an_error_of_a_database_has_a_code_and_advice(cause: Said, code: int, advice: str) -> None:
    found = recognized(failure(cause), "CreateNamespace ns", "PostgreSQL database 'd'")
    assert found is not None
    assert found.code == code
    assert found.message.startswith(f"CreateNamespace ns: PostgreSQL database 'd': {cause}")
    assert re.search(advice, found.message)
    assert "secret" not in found.message


def test_a_lost_connection_is_recognized_with_any_message() -> None:
    found = recognized(failure(Said("odd"), lost=True), "ListTables", "d")
    assert found is not None and found.code == 17
    assert "check before you repeat it" in found.message


def test_a_full_pool_is_throttling_and_wrong_use_is_internal() -> None:
    throttled = recognized(PoolTimeout("QueuePool limit"), "ListTables", "d")
    assert throttled is not None and throttled.code == 21
    wrong = recognized(ArgumentError("bad"), "ListTables", "d")
    assert wrong is not None and wrong.code == 18


@pytest.mark.parametrize(
    "error",
    [KeyError("database is locked"), ValueError("x"), OSError(28, "disk is full"), TimeoutError(),
     Said("database is locked", "40001")],
    ids=repr,
)  # fmt: skip
def test_errors_from_other_sources_are_not_recognized(error: Exception) -> None:
    assert recognized(error, "ListTables", "d") is None


@pytest.mark.parametrize("state", ["40001", "40P01", "40003", "55P03", "08006", None])
def test_only_failures_without_effect_are_retried(state: str | None) -> None:
    """With 40003, it is unknown whether the transaction was completed."""
    assert is_retryable(failure(Said("no", state))) is (state in ("40001", "40P01"))


# --- a database of another release, detected by the first call

FIRST: dict[str, Callable[[SqlNamespace], Any]] = {
    "list namespaces": lambda ns: ns.list_namespaces({}),
    "describe a namespace": lambda ns: ns.describe_namespace({"id": ["ns"]}),
    "namespace exists": lambda ns: ns.namespace_exists({"id": ["ns"]}),
    "create a namespace": lambda ns: ns.create_namespace({"id": ["new"]}),
    "alter a namespace": lambda ns: ns.alter_namespace({"id": ["ns"], "set_properties": {"a": "b"}}),
    "drop a namespace": lambda ns: ns.drop_namespace({"id": ["ns"]}),
    "list tables": lambda ns: ns.list_tables({"id": ["ns"]}),
    "describe a table": lambda ns: ns.describe_table({"id": ["ns", "t"]}),
    "declare a table": lambda ns: ns.declare_table({"id": ["ns", "new"]}),
    "register a table": lambda ns: ns.register_table({"id": ["ns", "new"], "location": "x.lance"}),
    "rename a table": lambda ns: ns.rename_table({"id": ["ns", "t"], "new_table_name": "u"}),
    "deregister a table": lambda ns: ns.deregister_table({"id": ["ns", "t"]}),
    "drop a table": lambda ns: ns.drop_table({"id": ["ns", "t"]}),
}  # fmt: skip


def dump(file: Path) -> list[str]:
    with sqlite3.connect(file) as connection:
        return list(connection.iterdump())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with a namespace and a table, for tests to copy."""
    folder = tmp_path_factory.mktemp("filled")
    properties = {"uri": str(folder / "catalog.db"), "root": str(folder / "tables")}
    initialize(properties)
    with SqlNamespace.from_properties(properties) as catalog:
        catalog.create_namespace({"id": ["ns"]})
        catalog.declare_table({"id": ["ns", "t"]})
    return folder / "catalog.db"


# The revision is read by the first call, before anything that depends on the kind of the call.
@pytest.mark.parametrize(
    ("name", "revision", "said"),
    [
        *((name, REVISIONS[0], "upgrade sql") for name in FIRST),
        ("create a namespace", "0999", "newer release"),
        ("create a namespace", "", "init"),
    ],
)
def test_no_first_call_uses_a_database_of_another_release(
    tmp_path: Path, filled: Path, name: str, revision: str, said: str
) -> None:
    file = tmp_path / "catalog.db"
    shutil.copy(filled, file)
    properties = {"uri": str(file), "root": str(filled.with_name("tables"))}
    with sqlite3.connect(file) as connection:
        if revision:
            connection.execute("update alembic_version set version_num = ?", (revision,))
        else:
            connection.execute("drop table alembic_version")
    before = dump(file)
    with SqlNamespace.from_properties(properties) as catalog:
        for _ in range(2):
            with pytest.raises(InvalidInputError, match=said):
                FIRST[name](catalog)
    assert dump(file) == before


@pytest.mark.parametrize("start", ["", "sqlite:///", "file://"])
@pytest.mark.parametrize("name", ["catalog.db", "a:b.db", "postgresql", "postgresql:x.db"])
def test_a_file_is_specified_by_path_or_uri(tmp_path: Path, start: str, name: str) -> None:
    file = tmp_path / name
    config = SqlConfig(uri=f"{start}{file}")
    assert not config.is_postgresql
    assert config.file == file
    assert config.shown_database == f"SQLite file {file}"
    assert config.tables_root == str(file.with_suffix(".tables"))
    assert SqlConfig(uri=f"{start}{file}", root="/r").tables_root == "/r"


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_a_server_is_specified_by_uri_and_has_no_default_root(scheme: str) -> None:
    config = SqlConfig(uri=f"{scheme}://u:secret@h:5/d")
    assert config.is_postgresql
    assert config.shown_database == "PostgreSQL database 'd' at h"
    assert config.tables_root is None


def test_a_path_that_starts_with_postgresql_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for uri in ("postgresql:x.db", "postgresql", "sqlite:///relative.db"):
        initialize({"uri": uri})
        with SqlNamespace.from_properties({"uri": uri}) as catalog:
            assert catalog.list_namespaces({}).namespaces == []
    assert {each.name for each in tmp_path.glob("*.db")} == {"postgresql:x.db", "relative.db"}
