"""Which requests are looked at at all, before any of them reaches the namespace.

A page in a browser can make its reader's browser send requests to a server that only this machine
or network reaches. It cannot choose the headers that are looked at here: where a request comes
from (``Origin``, ``Sec-Fetch-Site``), which name it was sent to (``Host``), and what its body is
(``Content-Type``), of which a page sends three kinds without asking first.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

import attrs

from lance_namespace_client.errors import InvalidInputError, PermissionDeniedError
from lance_namespace_client.operations import Body
from lance_namespace_client.wire import STREAM_TYPE

from ..http.requests import JSON_TYPE, Headers
from ..http.routing import Endpoint

__all__ = ["ANY_HOST", "Access", "AccessCheck", "check_content_type", "is_loopback", "is_wildcard"]

ANY_HOST = "*"
MAX_KNOWN = 100
# What a page may send anywhere without asking; no client of the protocol does.
FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
# Two of one, and it would be a matter of taste to whom a request goes, or whose it is.
_SINGLE = frozenset({"authorization", "host", "origin", "x-api-key"})


def _names(hosts: Iterable[str]) -> frozenset[str]:
    return frozenset(_plain(host) for host in hosts)


class AccessCheck(Protocol):
    """Decides which requests are looked at."""

    def check(self, headers: Headers) -> None:
        """Return where a request may be looked at; it is called on the event loop and must not wait.

        Args:
            headers: its headers by lower-case name.

        Raises:
            LanceNamespaceError: it is refused.
        """


@attrs.frozen(kw_only=True)
class Access:
    """Which requests a server takes.

    Args:
        allow_hosts: names, without port, that callers may reach it by, beside those of this
            machine (``localhost``, ``127.0.0.1``, ``::1``); ``*`` is any.
    """

    allow_hosts: frozenset[str] = attrs.field(default=frozenset(), converter=_names)

    _known: set[str] = attrs.field(factory=set, init=False, repr=False, eq=False)
    """Names, with their ports, that were found to be the server's."""

    def check(self, headers: Headers) -> None:
        """Refuse what a page in a browser may have sent on its own.

        Raises:
            PermissionDeniedError: code 15, it comes from another site, or was sent to a name that
                is none of the server's.
            InvalidInputError: code 13, its type is one of a form, or a header that says where it goes
                or who sends it came twice.
        """
        for name in sorted(_SINGLE & headers.repeated):
            raise InvalidInputError(f"the header {name!r} was sent more than once; send it once")
        host = headers.get("host")
        if host is not None and not self._is_own(host):
            raise PermissionDeniedError(
                f"the server is not reached by the name {host[:100]!r}; start it with "
                "--allow-host NAME for each name that callers use"
            )
        site = headers.get("sec-fetch-site", "none").lower()
        origin = headers.get("origin")
        if site not in ("none", "same-origin") or (origin is not None and not _same(origin, host)):
            shown = f" ({origin[:100]})" if origin is not None else ""
            raise PermissionDeniedError(f"pages of other sites{shown} may not call this server")
        given = media_type(headers)
        if given in FORM_TYPES:
            raise InvalidInputError(
                f"a body of type {given} is not taken: set the header Content-Type to {JSON_TYPE} "
                f"or {STREAM_TYPE}"
            )

    def _is_own(self, host: str) -> bool:
        if ANY_HOST in self.allow_hosts:
            return True
        # Others' names are not kept: they are as many as someone likes to send.
        if host in self._known:
            return True
        if "@" in host:  # the name of a user, who has no place there
            return False
        try:
            name = _plain(urlsplit(f"//{host}").hostname or "")
        except ValueError:
            return False
        own = name in self.allow_hosts or is_loopback(name)
        if own and len(self._known) < MAX_KNOWN:
            self._known.add(host)
        return own


@lru_cache(1024)
def is_loopback(host: str) -> bool:
    """Return whether a host's name or address is one of this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_wildcard(host: str) -> bool:
    """Return whether an address to listen on stands for every network."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def _plain(host: str) -> str:
    return host.lower().strip("[]").rstrip(".")


def _same(origin: str, host: str | None) -> bool:
    """Return whether a page's origin is the server itself, by the name that it was asked by.

    The scheme may differ: a proxy in front may speak TLS.
    """
    _, separator, place = origin.partition("://")
    return bool(separator) and host is not None and place.lower() == host.lower()


def media_type(headers: Headers) -> str:
    """Return the type of a body without its parameters; ``""`` where none is named."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_from_a_page(headers: Headers) -> bool:
    """Return whether a browser sent it, which may leave the type out of what a page has it send."""
    return headers.get("origin") is not None or headers.get("sec-fetch-site") is not None


def check_content_type(endpoint: Endpoint, headers: Headers) -> None:
    """Refuse a body of another kind than the operation takes, or of none.

    Raises:
        InvalidInputError: code 13.
    """
    wanted = STREAM_TYPE if endpoint.operation.body is Body.ARROW else JSON_TYPE
    given = headers.get("content-type")
    if wanted == STREAM_TYPE and given is None and not _is_from_a_page(headers):
        return  # pylance 1 names no type of its rows
    if media_type(headers) != wanted:
        shown = f"not {given[:100]!r}" if given else "and say so"
        raise InvalidInputError(
            f"{endpoint.operation.name}: the body must be {wanted}, {shown}: "
            "set the header Content-Type"
        )
