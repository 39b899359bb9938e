"""Kerberos logins with a keytab or a ticket cache, through the system's GSSAPI library.

Sources: RFC 4752, "The Kerberos V5 (GSSAPI) SASL Mechanism"; the error codes of MIT Kerberos.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

from attrs import frozen
from thrift.transport.TTransport import TTransportException

from lance_namespace_client.errors import (
    InvalidInputError,
    LanceNamespaceError,
    ServiceUnavailableError,
    UnauthenticatedError,
)

from ..core.errors import first_line
from ..core.imports import load

__all__ = ["PROTECTIONS", "Gssapi", "KerberosLogin", "require_gssapi", "server_principal"]

PROTECTIONS: Mapping[str, int] = {"auth": 1, "auth-int": 2, "auth-conf": 4}
"""Levels of protection (QOP), each with its bit in the offer of the metastore."""
# The largest size that the negotiation can express. Java's server ignores it.
_RECEIVED = 0xFFFFFF
# The codes of MIT Kerberos start here.
_BASE = 0x96C73A00
_NO_CLIENT, _NO_SERVER, _REVOKED, _KEY_EXPIRED, _WRONG_KEY = 6, 7, 18, 23, 24
_EXPIRED, _SKEW, _NO_KDC, _UNREACHABLE, _NO_CREDENTIALS = 32, 37, 154, 156, 195
_MINOR = re.compile(r"Minor \(\d+\): (.*)", re.DOTALL)


def server_principal(principal: str, host: str) -> str:
    """Return the principal of the metastore at a host.

    Args:
        principal: the configured principal, such as ``hive/_HOST@REALM``.
        host: replaces ``_HOST``, in lower case; an IP address is replaced by its name.
    """
    if "/_HOST" not in principal:
        return principal
    try:
        ipaddress.ip_address(host)
    except ValueError:
        name = host
    else:
        try:
            name = socket.gethostbyaddr(host)[0]
        except OSError as error:
            raise UnauthenticatedError(
                f"_HOST in the principal {principal} cannot be replaced, because the address "
                f"{host} has no name ({first_line(error)}); set 'uri' to the metastore's host "
                "name, or write the name in 'kerberos_principal'"
            ) from error
    return principal.replace("/_HOST", f"/{name.lower()}")


@frozen(kw_only=True)
class KerberosLogin:
    """How to log in; each connection gets a new login.

    Args:
        principal: principal of the metastore; ``_HOST`` is replaced.
        client: principal of this client; None means that of the keytab or the ticket cache.
        keytab: file with the client's keys; tickets are requested with it when needed.
        cache: ticket cache; None means the default one of the system.
        protection: required level of protection; None means the strongest that is offered.
    """

    principal: str
    client: str | None = None
    keytab: str | None = None
    cache: str | None = None
    protection: str | None = None

    def mechanism(self, host: str) -> Gssapi:
        """Start a login at a host.

        Raises:
            UnauthenticatedError: code 16, there are no valid credentials.
            ServiceUnavailableError: code 17, the KDC cannot be reached.
        """
        return Gssapi(self, server_principal(self.principal, host))

    def credentials(self) -> Any:
        """Return the client's credentials; a keytab obtains a new ticket if the last one expires."""
        gssapi = require_gssapi()
        kerberos = gssapi.NameType.kerberos_principal
        return gssapi.Credentials(
            usage="initiate",
            name=None if self.client is None else gssapi.Name(self.client, kerberos),
            store=self._store(),
            mechs=[gssapi.MechType.kerberos],
        )

    def _store(self) -> dict[str, str] | None:
        if self.keytab is None:
            return None if self.cache is None else {"ccache": self.cache}
        if not os.access(self.keytab, os.R_OK):
            raise UnauthenticatedError(
                f"the keytab {self.keytab} does not exist or cannot be read; check the property "
                "'kerberos_keytab' and the file's permissions"
            )
        # Tickets are kept in memory, per thread: threads must not initialize a cache concurrently.
        mark = hash((self.keytab, self.client)) & 0xFFFFFFFFFFFFFFFF
        return {
            "client_keytab": f"FILE:{self.keytab}",
            "ccache": f"MEMORY:lance-{threading.get_ident():x}-{mark:x}",
        }

    def failure(self, error: Exception, server: str) -> LanceNamespaceError:
        """Return the protocol error for a failure of the GSSAPI library."""
        code = (getattr(error, "min_code", 0) & 0xFFFFFFFF) - _BASE
        found = _MINOR.search(str(error))
        text = first_line(Exception(found[1] if found else str(error)))
        kind = ServiceUnavailableError if code == _UNREACHABLE else UnauthenticatedError
        return kind(f"Kerberos login at {server}: {text}; {self._advice(code, server)}")

    def _advice(self, code: int, server: str) -> str:
        client = self.client or "the client"
        if self.keytab is not None:
            renew = f"export a new keytab to {self.keytab}"
            missing = f"list its keys with 'klist -k {self.keytab}'"
            if self.client is not None:
                missing = f"the keytab has no usable key of {self.client}; {missing}"
            else:
                missing = f"the keytab has no usable key; {missing}"
        else:
            command = " ".join(
                ["kinit", *(["-c", self.cache] if self.cache else []), self.client or "USER"]
            )
            renew = f"run '{command}', or set 'kerberos_keytab' for renewal without it"
            missing = renew
        return {
            _NO_CLIENT: f"the KDC does not know {client}; check 'kerberos_client_principal', or {renew}",
            _NO_SERVER: f"the KDC does not know {server}; set 'kerberos_principal' to the "
            "metastore's hive.metastore.kerberos.principal",
            _REVOKED: f"the account of {client} is locked or expired; contact the administrator",
            _KEY_EXPIRED: f"the password or key of {client} has expired; {renew}",
            _WRONG_KEY: f"the key of {client} has changed; {renew}",
            _EXPIRED: renew,
            _SKEW: "synchronize the clock of this machine with that of the KDC, for example with NTP",
            _NO_KDC: "add the realm to /etc/krb5.conf, or to the file that KRB5_CONFIG names",
            _UNREACHABLE: "check the realm's KDC in /etc/krb5.conf, and the network",
            _NO_CREDENTIALS: missing,
        }.get(code, missing)


class Gssapi:
    """A Kerberos login on one connection, and the protection of its messages."""

    name = "GSSAPI"
    secrets: frozenset[str] = frozenset()

    def __init__(self, login: KerberosLogin, server: str) -> None:
        self._login = login
        self._server = server
        self._protection = 0
        self._expires = float("inf")
        self.is_complete = False
        self.max_piece: int | None = None
        gssapi = require_gssapi()
        self._error: type[Exception] = gssapi.raw.GSSError
        flags = gssapi.RequirementFlag
        try:
            self._context = gssapi.SecurityContext(
                name=gssapi.Name(server, gssapi.NameType.kerberos_principal),
                creds=login.credentials(),
                usage="initiate",
                mech=gssapi.MechType.kerberos,
                flags=[
                    flags.mutual_authentication,
                    flags.integrity,
                    flags.confidentiality,
                    flags.out_of_sequence_detection,
                ],
            )
        except self._error as error:
            raise login.failure(error, server) from error

    def respond(self, challenge: bytes) -> bytes:
        """Return the next token, or the choice of a protection once the login is established."""
        try:
            if not self._context.complete:
                token: bytes | None = self._context.step(challenge or None)
                if self._context.complete:
                    self._expires = time.time() + self._context.lifetime
                return token or b""
            return self._choose_protection(self._context.unwrap(challenge).message)
        except self._error as error:
            raise self._login.failure(error, self._server) from error

    def _choose_protection(self, offer: bytes) -> bytes:
        if len(offer) != 4:
            raise self.rejected("its offer of protections is invalid")
        offered, accepted = offer[0], int.from_bytes(offer[1:])
        wanted = self._login.protection
        if wanted is None:
            self._protection = max(
                bit for bit in (0, *PROTECTIONS.values()) if bit & offered == bit
            )
        else:
            self._protection = PROTECTIONS[wanted] & offered
        if not self._protection:
            names = ", ".join(name for name, bit in PROTECTIONS.items() if bit & offered) or "none"
            raise UnauthenticatedError(
                f"the metastore {self._server} offers the protection {names}, not "
                f"{wanted or 'one that is known'}; change 'kerberos_protection', or the "
                "metastore's hadoop.rpc.protection"
            )
        received = 0
        if self._protection != PROTECTIONS["auth"]:
            received = _RECEIVED
            encrypt = self._protection == PROTECTIONS["auth-conf"]
            self.max_piece = max(1, self._context.get_wrap_size_limit(accepted, encrypt))
        self.is_complete = True
        choice = bytes([self._protection]) + received.to_bytes(3)
        answer: bytes = self._context.wrap(choice, False).message
        return answer

    def has_expired(self) -> bool:
        """Return whether the ticket of this login has expired."""
        return time.time() >= self._expires

    def wrap(self, data: bytes) -> bytes:
        """Return data to send, protected as agreed."""
        if self._protection == PROTECTIONS["auth"]:
            return data
        encrypt = self._protection == PROTECTIONS["auth-conf"]
        try:
            wrapped: bytes = self._context.wrap(data, encrypt).message
        except self._error as error:
            raise _broken(error) from error
        return wrapped

    def unwrap(self, data: bytes) -> bytes:
        """Return received data, verified and decrypted as agreed."""
        if self._protection == PROTECTIONS["auth"]:
            return data
        try:
            found = self._context.unwrap(data)
        except self._error as error:
            raise _broken(error) from error
        if self._protection == PROTECTIONS["auth-conf"] and not found.encrypted:
            raise TTransportException(message="the metastore sent a message without encryption")
        message: bytes = found.message
        return message

    def rejected(self, message: str) -> LanceNamespaceError:
        """Return the error for a login that the metastore rejects with a message."""
        return UnauthenticatedError(
            f"the metastore {self._server} rejects the Kerberos login: {message}; check that "
            "'kerberos_principal' is its hive.metastore.kerberos.principal, and that its keytab and "
            "clock are current"
        )


def _broken(error: Exception) -> TTransportException:
    found = _MINOR.search(str(error))
    text = first_line(Exception(found[1] if found else str(error)))
    return TTransportException(message=f"the protection of a message cannot be verified: {text}")


def require_gssapi() -> Any:
    """Return the module gssapi.

    Raises:
        InvalidInputError: code 13, it is not installed, or its libraries are missing.
    """
    try:
        return load("gssapi")
    except ImportError as error:
        raise InvalidInputError(
            f"Kerberos needs gssapi ({first_line(error)}): "
            "pip install 'lance-namespace-kit[hive,hive-kerberos]'; on Linux, its build requires "
            "libkrb5-dev (Debian) or krb5-devel (Red Hat)"
        ) from error
