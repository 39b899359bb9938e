"""Configures TLS: the server's certificate, and the authority for client certificates."""

from __future__ import annotations

import logging
import os
import ssl
from pathlib import Path

import attrs

from lance_namespace_client.errors import InvalidInputError

from ...core.errors import first_line

__all__ = ["Tls"]

logger = logging.getLogger("lance_namespace_impls.server")


@attrs.frozen(kw_only=True)
class Tls:
    """The files for TLS.

    Args:
        cert: the server's certificate and the chain up to its authority, in PEM format.
        key: the certificate's private key, in PEM format.
        client_ca: certificate authorities in PEM format; if set, clients must present a certificate
            issued by one of them.
    """

    cert: Path = attrs.field(converter=Path)
    key: Path = attrs.field(converter=Path)
    client_ca: Path | None = attrs.field(default=None, converter=attrs.converters.optional(Path))

    def context(self) -> ssl.SSLContext:
        """Create the TLS context for connections.

        Raises:
            InvalidInputError: code 13, the files cannot be read or do not match.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.cert, self.key)
            if self.client_ca is not None:
                context.load_verify_locations(self.client_ca)
                context.verify_mode = ssl.CERT_REQUIRED
        except (OSError, ValueError) as error:
            files = ", ".join(str(f) for f in (self.cert, self.key, self.client_ca) if f)
            raise InvalidInputError(
                f"TLS cannot be set up with {files}: {first_line(error)}"
            ) from error
        return context

    def marks(self) -> tuple[tuple[int, int, int] | None, ...]:
        """Return stamps of the files; they change whenever the certificate or the key changes."""
        return tuple(_mark(path) for path in (self.cert, self.key))

    def reload(self, context: ssl.SSLContext) -> None:
        """Reload the files for new connections; do nothing if the files are invalid."""
        try:
            self.context()
            context.load_cert_chain(self.cert, self.key)
        except (InvalidInputError, OSError) as error:
            logger.error("%s; the previous certificate remains in use", first_line(error))


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ctime_ns, found.st_size, found.st_ino
