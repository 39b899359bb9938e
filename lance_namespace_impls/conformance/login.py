"""Authentication and TLS of a server under test: the properties of the REST backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from ..core.oauth import client_credentials
from ..core.request_auth import request_auth
from ..core.tls import tls_context
from ..rest import RestConfig
from .http_target import HttpTarget
from .redact import Redactor

__all__ = ["ServerConfig", "logged_in"]

NOT_REPEATED = "the checks observe each response, so no request is repeated"
OWN_TIMEOUT = "the checks have their own timeout"


@attrs.define(kw_only=True)
class ServerConfig(RestConfig):
    """Properties of a server under test; those that would influence the checks are rejected."""

    not_taken: ClassVar[Mapping[str, str]] = {
        **RestConfig.not_taken,
        "storage": "the checks read no tables from object stores",
        "delimiter": "the checks choose delimiters",
        "connect_timeout": OWN_TIMEOUT,
        "read_timeout": OWN_TIMEOUT,
        "max_retries": NOT_REPEATED,
        "max_retry_wait": NOT_REPEATED,
        "max_connections": "the number of jobs limits the connections",
        "proxy": "set HTTP_PROXY or HTTPS_PROXY",
    }


def logged_in(
    uri: str,
    headers: Mapping[str, str],
    token: str | None,
    redactor: Redactor,
    properties: Mapping[str, Any],
) -> HttpTarget:
    """Return the target of a server that requires authentication.

    Args:
        uri: base address.
        headers: headers of every request.
        token: bearer token.
        redactor: learns the secret values.
        properties: properties of `ServerConfig`.

    Raises:
        InvalidInputError: code 13, a property is invalid.
    """
    sent = {f"headers.{name}": value for name, value in headers.items()}
    login = {} if token is None else {"auth_token": token}
    config = ServerConfig.from_properties({"uri": uri, **properties, **sent, **login})
    redactor.learn(config.secrets())
    key = {} if config.api_key is None else {"x-api-key": config.api_key}
    return HttpTarget(
        config.uri,
        {**key, **config.headers},
        config.auth_token,
        redactor,
        auth=client_credentials(config, config.uri) or request_auth(config, config.uri),
        tls=tls_context(config) if config.uri.startswith("https:") else None,
        can_stream=not config.sigv4 or config.uri.startswith("https:"),
    )
