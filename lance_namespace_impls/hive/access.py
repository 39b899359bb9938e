"""Access to a metastore: TLS and the login of a new connection."""

from __future__ import annotations

import socket
import ssl
from typing import Any, Protocol

from attrs import field, frozen
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from .hosts import Host
from .sasl import Mechanism, Plain, SaslTransport

__all__ = ["OPEN", "Access", "Login", "PlainLogin"]


class Login(Protocol):
    """How to log in; each connection gets a new login."""

    def mechanism(self, host: str) -> Mechanism:
        """Start a login at a host."""


@frozen
class PlainLogin:
    """A login with a user and a password."""

    user: str
    password: str = field(repr=False)

    def mechanism(self, host: str) -> Plain:
        """Start a login at a host."""
        return Plain(self.user, self.password)


@frozen(kw_only=True)
class Access:
    """TLS and login; by default, neither is used.

    Args:
        tls: context of TLS connections; None means connections without TLS.
        login: how to log in; None means connections without SASL.
    """

    tls: ssl.SSLContext | None = None
    login: Login | None = None

    def transport(self, opened: socket.socket, host: Host) -> Any:
        """Return a Thrift transport on a new connection, after the TLS handshake and the login.

        Raises:
            OSError: the TLS handshake fails.
            TTransportException: the connection breaks during the login.
            LanceNamespaceError: the login fails.
        """
        if self.tls is not None:
            opened = self.tls.wrap_socket(opened, server_hostname=host.name)
        handle = TSocket(host.name, host.port)
        handle.setHandle(opened)
        if self.login is None:
            return TBufferedTransport(handle)
        try:
            return SaslTransport(handle, self.login.mechanism(host.name))
        except BaseException:
            handle.close()
            raise

    def advice(self, error: BaseException) -> str:
        """Return advice on a new connection that breaks, to append to its message."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return (
                "; set 'ca_bundle' to the authority of the metastore's certificate, and 'uri' to a "
                "host name in the certificate"
            )
        if isinstance(error, ssl.SSLError):
            return (
                "; check that the metastore uses TLS (hive.metastore.use.SSL), and whether it "
                "requires 'client_cert'"
            )
        if isinstance(error, TTransportException | EOFError | ConnectionResetError):
            used = "uses SASL" if self.login is not None else "requires no login"
            tls = "uses TLS" if self.tls is not None else "does not use TLS"
            return f"; check that the metastore {used} and {tls}, as configured"
        return ""


OPEN = Access()
"""Access without TLS and login."""
