"""Reloads files when they change."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from lance_namespace_client.errors import InvalidInputError, LanceNamespaceError

from ...core.errors import first_line

__all__ = ["Watched"]

logger = logging.getLogger("lance_namespace_impls.server")

T = TypeVar("T")

POLL_SECONDS = 1.0


class Watched(Generic[T]):
    """A value parsed from a file; the file is checked for changes at most once a second.

    If the file becomes unreadable or invalid, the last value remains in use and the problem is
    logged.

    Args:
        path: the file.
        read: parses the file's text, or raises a `ValueError` that describes the problem.
        what: description of the file, for messages.

    Raises:
        InvalidInputError: code 13, the initial read of the file fails.
    """

    def __init__(self, path: str | os.PathLike[str], read: Callable[[str], T], what: str) -> None:
        self._path = Path(path)
        self._read = read
        self._what = what
        self._lock = threading.Lock()
        self._loaded_mark = self._mark()
        self._value = self._load()
        self._next = time.monotonic() + POLL_SECONDS

    def __reduce__(self) -> tuple[Any, ...]:
        return Watched, (self._path, self._read, self._what)

    def get(self) -> T:
        """Return the current value."""
        if time.monotonic() >= self._next and self._lock.acquire(blocking=False):
            try:
                self._reload()
            finally:
                self._next = time.monotonic() + POLL_SECONDS
                self._lock.release()
        return self._value

    def _reload(self) -> None:
        try:
            mark = self._mark()
            if mark == self._loaded_mark:
                return
            self._loaded_mark = mark
            self._value = self._load()
        except LanceNamespaceError as error:
            logger.error("%s; the previous content remains in use", error.message)

    def _mark(self) -> tuple[int, int, int]:
        try:
            found = self._path.stat()
        except OSError as error:
            raise self._unreadable(error) from error
        # The modification time may be unchanged after a program has replaced the file.
        return found.st_ctime_ns, found.st_size, found.st_ino

    def _load(self) -> T:
        try:
            text = self._path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreadable(error) from error
        try:
            return self._read(text)
        except ValueError as error:
            raise InvalidInputError(f"{self._what} {self._path}: {first_line(error)}") from error

    def _unreadable(self, error: Exception) -> InvalidInputError:
        return InvalidInputError(f"{self._what} {self._path} cannot be read: {first_line(error)}")
