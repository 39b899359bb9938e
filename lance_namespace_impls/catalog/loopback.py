"""Finds a server that serves a namespace on the loopback interface, for engines that need the REST
protocol.

Packages provide such a server as an entry point in the group ``lance_namespace_impls.loopback``;
the extra ``[server]`` installs the one in this distribution.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.metadata import entry_points
from typing import Any, Protocol

from attrs import field, frozen

from lance_namespace_client.errors import InvalidInputError

from .namespace import Namespace

__all__ = ["ENTRY_POINTS", "LoopbackServer", "ServeOnLoopback", "find_loopback_server"]

ENTRY_POINTS = "lance_namespace_impls.loopback"
_INSTALL = "pip install 'lance-namespace-kit[server]'"


@frozen
class LoopbackServer:
    """Address of a served namespace, and the ``Bearer`` token for its only client."""

    address: str
    token: str = field(repr=False)


class ServeOnLoopback(Protocol):
    """Serves a namespace on a free loopback port, only to clients with a newly created token."""

    def __call__(self, namespace: Namespace, caller: str) -> AbstractContextManager[LoopbackServer]:
        """Serve the namespace until the context ends; the namespace is not closed.

        Args:
            namespace: the namespace to serve, including its storage options.
            caller: name of the client in the server's log.

        Raises:
            ServiceUnavailableError: code 17, the server did not start.
        """


def find_loopback_server() -> ServeOnLoopback:
    """Return the installed server, or the first one by name if there are several.

    Raises:
        InvalidInputError: code 13, no server is installed or a dependency is missing; the message
            names the package to install.
    """
    points = sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    if not points:
        raise InvalidInputError(
            f"no installed package can serve a namespace on the loopback interface; run {_INSTALL}"
        )
    try:
        found: Any = points[0].load()
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(
            f"{points[0].value}, which serves a namespace on the loopback interface, cannot be "
            f"loaded: {error}; run {_INSTALL}"
        ) from error
    return found  # type: ignore[no-any-return]
