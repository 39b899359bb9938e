"""Checks readiness: whether the catalog behind the server responds."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from concurrent.futures import Future

from lance_namespace_client.errors import ErrorCode, LanceNamespaceError
from lance_namespace_client.namespace import LanceNamespace

from ...core.errors import first_line

__all__ = ["Readiness"]

logger = logging.getLogger("lance_namespace_impls.server")

# Lifetime of a result, in seconds. It limits the rate of calls to the catalog, regardless of the
# number of clients.
KEPT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
# Errors that also prove that the catalog responds; its root just has no such listing.
_ANSWERS = frozenset(
    {
        ErrorCode.UNSUPPORTED,
        ErrorCode.NAMESPACE_NOT_FOUND,
        ErrorCode.INVALID_INPUT,
    }
)


class Readiness:
    """Checks readiness by requesting one entry of the root, in a thread outside the pools.

    Args:
        namespace: the served namespace.
    """

    def __init__(self, namespace: LanceNamespace) -> None:
        self._namespace = namespace
        self._check: Future[bool] | None = None
        self._at = 0.0

    async def get(self) -> bool:
        """Return whether the catalog responds."""
        check = self._check
        if check is None or (check.done() and time.monotonic() - self._at > KEPT_SECONDS):
            check = self._check = Future()
            # If the catalog hangs, this thread hangs as well; it must not delay the exit of the
            # process.
            threading.Thread(
                target=self._run_check, args=(check,), name="lance-ns-ready", daemon=True
            ).start()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.shield(asyncio.wrap_future(check))
        except TimeoutError:
            logger.warning("the catalog did not respond within %g seconds", ANSWER_SECONDS)
            return False

    def _run_check(self, check: Future[bool]) -> None:
        found = False
        try:
            for method in (self._namespace.list_namespaces, self._namespace.list_tables):
                self._request(method)
            found = True
        except BaseException as error:  # noqa: BLE001 - logged; the server is then not ready
            logger.warning("the catalog failed: %s", first_line(error))
        finally:
            self._at = time.monotonic()
            check.set_result(found)

    @staticmethod
    def _request(method: object) -> None:
        try:
            method({"id": [], "limit": 1})  # type: ignore[operator]
        except LanceNamespaceError as error:
            if error.code not in _ANSWERS:
                raise
