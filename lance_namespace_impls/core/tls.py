"""TLS for connections to catalogs: the properties, and the context that they describe."""

from __future__ import annotations

import os
import ssl

import attrs
import httpx

from lance_namespace_client.errors import InvalidInputError

from .config import Config, option
from .errors import first_line

__all__ = ["TlsConfig", "tls_context"]


@attrs.define(kw_only=True)
class TlsConfig(Config):
    """The properties that all backends with TLS connections accept."""

    tls_verify: bool = option(
        default=True, also=("tls.verify",), doc="whether to verify the server's certificate"
    )
    tls_verify_hostname: bool = option(
        default=True,
        also=("tls.assert_hostname",),
        doc="whether the certificate must match the server's host name",
    )
    ca_bundle: str | None = option(
        default=None,
        also=("tls.ssl_ca_cert",),
        doc="file or folder with the trusted certificate authorities",
    )
    client_cert: str | None = option(
        default=None, also=("tls.cert_file",), doc="file with the client certificate (mTLS)"
    )
    client_key: str | None = option(
        default=None,
        also=("tls.key_file",),
        doc="file with the private key of client_cert, if it is not in the same file",
    )


def tls_context(config: TlsConfig) -> ssl.SSLContext:
    """Return a context for TLS connections to a server.

    Raises:
        InvalidInputError: code 13, a certificate cannot be read.
    """
    try:
        if config.ca_bundle is None:
            context = httpx.create_ssl_context(verify=config.tls_verify)
        elif os.path.isdir(config.ca_bundle):
            context = ssl.create_default_context(capath=config.ca_bundle)
        else:
            context = ssl.create_default_context(cafile=config.ca_bundle)
        if not (config.tls_verify and config.tls_verify_hostname):
            context.check_hostname = False
        if not config.tls_verify:
            context.verify_mode = ssl.CERT_NONE
        if config.client_cert is not None:
            context.load_cert_chain(config.client_cert, config.client_key)
    except OSError as error:
        raise InvalidInputError(
            f"{config.impl}: the certificates (ca_bundle, client_cert, client_key) cannot be "
            f"loaded: {first_line(error)}"
        ) from error
    return context
