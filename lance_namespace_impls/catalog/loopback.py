"""Finds what serves a namespace on loopback to one caller, for engines that speak the protocol only.

An installed package offers it with an entry point of the group ``lance_namespace_impls.loopback``; the
extra ``[server]`` brings this distribution's own.
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
    """Where a namespace is served, and the token that its one caller sends as ``Bearer``."""

    address: str
    token: str = field(repr=False)


class ServeOnLoopback(Protocol):
    """Serve a namespace on a free port of this machine, to whoever has a token made for it."""

    def __call__(self, namespace: Namespace, caller: str) -> AbstractContextManager[LoopbackServer]:
        """Serve the namespace until the context ends; it is not closed then.

        Args:
            namespace: what is served, its storage options included.
            caller: name of the one caller, for the server's log.

        Raises:
            ServiceUnavailableError: code 17, the server did not start.
        """


def find_loopback_server() -> ServeOnLoopback:
    """Return what serves a namespace; of several installed, the first by name.

    Raises:
        InvalidInputError: code 13, nothing that does is installed, or what it needs is missing; the
            message says what to install.
    """
    points = sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name)
    if not points:
        raise InvalidInputError(f"nothing installed serves a namespace on loopback: {_INSTALL}")
    try:
        found: Any = points[0].load()
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(
            f"{points[0].value}, which serves a namespace on loopback, cannot be loaded: {error}; "
            f"{_INSTALL}"
        ) from error
    return found  # type: ignore[no-any-return]
