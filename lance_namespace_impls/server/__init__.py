"""Serves any namespace over the Lance REST protocol.

>>> from lance_namespace_impls import connect
>>> from lance_namespace_impls.server import serve
>>> serve(connect("dir", {"path": "/data/lance"}))  # doctest: +SKIP

Source: the general specification, "Lance REST Namespace".
"""

try:
    from .app import create_app
    from .execution.context import CALLER
    from .execution.limits import Limits
    from .observability.observer import log_requests
    from .options import ServerOptions
    from .run import serve, serving
    from .security.authentication import Caller, CallerSource, Credentials
    from .security.confinement import Reach
    from .security.oidc import OidcIssuer
    from .security.origin import Access, AccessCheck
    from .security.policy import Policy, PolicyFile, ReadOnly, find_policy
    from .security.tls import Tls
    from .security.tokens import TokenFile, new_token
    from .security.vending import AssumeRole
except ModuleNotFoundError as error:
    package = (error.name or "").partition(".")[0]
    if package not in ("httptools", "joserfc", "prometheus_client", "starlette", "uvicorn"):
        raise
    raise ImportError(
        f"the server needs {package}: pip install 'lance-namespace-kit[server]'", name=package
    ) from error

__all__ = [
    "CALLER", "Access", "AccessCheck", "AssumeRole", "Caller", "CallerSource", "Credentials",
    "Limits", "OidcIssuer", "Policy", "PolicyFile", "ReadOnly", "Reach", "ServerOptions", "Tls", "TokenFile",
    "create_app", "find_policy", "log_requests", "new_token", "serve", "serving",
]  # fmt: skip
