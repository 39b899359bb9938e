"""Translates failures of a database to protocol errors."""

from __future__ import annotations

import re

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from lance_namespace_client.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
)

from ..core.errors import first_line

__all__ = ["is_retryable", "recognized"]

_AGAIN = ("40001", "40P01")
_LOST = "the connection was lost; a change may have been applied: check before you repeat it"

# Prefixes of PostgreSQL's error codes, with the protocol errors that they represent and the
# remedies.
_STATES: tuple[tuple[str, type[LanceNamespaceError], str], ...] = (
    ("28", UnauthenticatedError, "check the user in 'uri', and 'password'"),
    ("3D", InvalidInputError, "create the database, or specify another one in 'uri'"),
    ("42501", PermissionDeniedError, "grant the user of 'uri' the required privilege"),
    ("25006", PermissionDeniedError, "the database is read-only: set 'uri' to its primary"),
    ("40", ConcurrentModificationError, "try again"),
    ("55P03", ConcurrentModificationError, "another transaction holds the lock; try again"),
    ("53300", ThrottlingError, "too many connections; try again, or lower pool_size"),
    (
        "53",
        ServiceUnavailableError,
        "the server lacks a resource, such as memory or disk space; free some",
    ),
    ("57", ServiceUnavailableError, _LOST),
    ("08", ServiceUnavailableError, _LOST),
    ("54", InvalidInputError, "a name or location is too long for PostgreSQL"),
    (
        "22",
        InvalidInputError,
        "PostgreSQL cannot store a string; remove NUL characters and surrogates",
    ),
)
# Failures without a code: messages of SQLite, and messages of libpq while it connects.
_TEXTS: tuple[tuple[str, type[LanceNamespaceError], str], ...] = (
    (r"database (table )?is locked", ServiceUnavailableError,
     "another process held a lock on the file for longer than lock_timeout; try "
        "again"),
    (r"readonly database|read-only", PermissionDeniedError,
     "the file or its folder cannot be written; change its permissions"),
    (r"unable to open database file", PermissionDeniedError,
     "it cannot be opened: check 'uri', and the permissions of the file and its folder"),
    (r"file is not a database|malformed", InternalError,
     "it is not an SQLite file, or it is damaged: check 'uri', or restore a backup"),
    (r"disk is full|disk I/O error", InternalError, "free disk space, or check the disk"),
    (r"authentication failed|no password supplied|no pg_hba.conf entry|role \S+ does not exist",
     UnauthenticatedError, "check the user in 'uri', and 'password'"),
    (r"database \S+ does not exist", InvalidInputError,
     "create the database, or specify another one in 'uri'"),
    (r"too many clients|connection slots", ThrottlingError,
     "too many connections; try again, or lower pool_size"),
    (r"cannot contain NUL|surrogates not allowed", InvalidInputError,
     "a database cannot store a string; remove NUL characters and surrogates"),
    (r"could not translate host|failed to resolve|Connection refused|timeout|timed out|"
     r"could not connect|connection failed|connection is bad", ServiceUnavailableError,
     "check that the server is running, and the host and port in 'uri'"),
    (r"server closed the connection|connection.* (closed|lost)|terminating connection",
     ServiceUnavailableError, _LOST),
)  # fmt: skip


def is_retryable(error: DBAPIError) -> bool:
    """Return whether a transaction had no effect and may succeed when retried."""
    return getattr(error.orig, "sqlstate", None) in _AGAIN


def recognized(error: Exception, what: str, database: str) -> LanceNamespaceError | None:
    """Return the protocol error for a failure of the database, or None for other failures.

    Args:
        error: the failure.
        what: the operation and its object, as the start of the message.
        database: description of the database for messages.
    """
    if isinstance(error, PoolTimeout):
        return ThrottlingError(
            f"{what}: {database}: all connections are in use; try again, or raise pool_size"
        )
    if not isinstance(error, SQLAlchemyError):
        return None
    # SQLAlchemy's own message would contain the statement and its values.
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    text = first_line(cause)
    state = getattr(cause, "sqlstate", None) or ""
    for start, kind, advice in _STATES:
        if state.startswith(start):
            return kind(f"{what}: {database}: {text}: {advice}")
    for pattern, kind, advice in _TEXTS:
        if re.search(pattern, text):
            return kind(f"{what}: {database}: {text}: {advice}")
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return ServiceUnavailableError(f"{what}: {database}: {text}: {_LOST}")
    return InternalError(f"{what}: {database}: {text}")
