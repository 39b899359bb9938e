"""Rejects requests from web pages before they reach the namespace.

A page can make a visitor's browser send requests to a server that is reachable only from the
visitor's machine or network. The page cannot choose the headers that are checked here: the origin
of the request (``Origin``, ``Sec-Fetch-Site``), the host name to which it is sent (``Host``), and
the content type of its body (``Content-Type``). Without a preflight request, a page can send only
three content types.
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
# Content types that a page can send to any server without a preflight request; clients of the
# protocol use none of them.
FORM_TYPES = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
# Headers that must not be repeated: two values would make the destination or the caller ambiguous.
_SINGLE = frozenset({"authorization", "host", "origin", "x-api-key"})


def _names(hosts: Iterable[str]) -> frozenset[str]:
    return frozenset(_plain(host) for host in hosts)


class AccessCheck(Protocol):
    """Decides which requests are accepted."""

    def check(self, headers: Headers) -> None:
        """Return normally if a request is accepted; must not block the event loop.

        Args:
            headers: request headers by lower-case name.

        Raises:
            LanceNamespaceError: the request is rejected.
        """


@attrs.frozen(kw_only=True)
class Access:
    """The default check, based on the headers of a request.

    Args:
        allow_hosts: host names, without ports, that callers may use for the server, in addition to
            those of this machine (``localhost``, ``127.0.0.1``, ``::1``); ``*`` allows any name.
    """

    allow_hosts: frozenset[str] = attrs.field(default=frozenset(), converter=_names)

    _accepted: set[str] = attrs.field(factory=set, init=False, repr=False, eq=False)
    """Values of the Host header (names with ports) that have already been accepted."""

    def check(self, headers: Headers) -> None:
        """Reject a request that a web page may have sent without the user's knowledge.

        Raises:
            PermissionDeniedError: code 15, the request comes from another site, or was sent to a
                host name that is not the server's.
            InvalidInputError: code 13, the content type is that of a form, or a header that
                determines the destination or the caller occurs twice.
        """
        for name in sorted(_SINGLE & headers.repeated):
            raise InvalidInputError(f"the header {name!r} was sent more than once; send it once")
        host = headers.get("host")
        if host is not None and not self._is_own_host(host):
            raise PermissionDeniedError(
                f"the server does not accept the host name {host[:100]!r}; start it with "
                "--allow-host NAME for each name that clients use"
            )
        site = headers.get("sec-fetch-site", "none").lower()
        origin = headers.get("origin")
        if site not in ("none", "same-origin") or (origin is not None and not _same(origin, host)):
            shown = f" ({origin[:100]})" if origin is not None else ""
            raise PermissionDeniedError(f"pages from other sites{shown} may not call this server")
        given = media_type(headers)
        if given in FORM_TYPES:
            raise InvalidInputError(
                f"bodies of type {given} are not accepted: set the header Content-Type to "
                f"{JSON_TYPE} or {STREAM_TYPE}"
            )

    def _is_own_host(self, host: str) -> bool:
        if ANY_HOST in self.allow_hosts:
            return True
        # Do not cache rejected names, because a client could send any number of them.
        if host in self._accepted:
            return True
        if "@" in host:  # user information is not allowed in Host
            return False
        try:
            name = _plain(urlsplit(f"//{host}").hostname or "")
        except ValueError:
            return False
        own = name in self.allow_hosts or is_loopback(name)
        if own and len(self._accepted) < MAX_KNOWN:
            self._accepted.add(host)
        return own


@lru_cache(1024)
def is_loopback(host: str) -> bool:
    """Return whether a host name or address refers to this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_wildcard(host: str) -> bool:
    """Return whether a listen address is a wildcard that covers all networks."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return host == ""


def _plain(host: str) -> str:
    return host.lower().strip("[]").rstrip(".")


def _same(origin: str, host: str | None) -> bool:
    """Return whether a page's origin is the server itself, under the requested host name.

    The scheme may differ: a proxy in front of the server may use TLS.
    """
    _, separator, place = origin.partition("://")
    return bool(separator) and host is not None and place.lower() == host.lower()


def media_type(headers: Headers) -> str:
    """Return the content type of a body without its parameters, or ``""`` if there is none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _is_from_a_page(headers: Headers) -> bool:
    """Return whether a web page sent the request; browsers may then omit the content type."""
    return headers.get("origin") is not None or headers.get("sec-fetch-site") is not None


def check_content_type(endpoint: Endpoint, headers: Headers) -> None:
    """Reject a body whose content type is missing or not accepted by the operation.

    Raises:
        InvalidInputError: code 13.
    """
    wanted = STREAM_TYPE if endpoint.operation.body is Body.ARROW else JSON_TYPE
    given = headers.get("content-type")
    if wanted == STREAM_TYPE and given is None and not _is_from_a_page(headers):
        return  # pylance 1 sends rows without a content type
    if media_type(headers) != wanted:
        shown = f"not {given[:100]!r}" if given else "but the request does not specify its type"
        raise InvalidInputError(
            f"{endpoint.operation.name}: the body must be {wanted}, {shown}; set the header "
            "Content-Type"
        )
