"""Any namespace behind the Lance REST protocol.

>>> from lance_namespace_impls import connect
>>> from lance_namespace_impls.server import serve
>>> serve(connect("dir", {"path": "/data/lance"}))  # doctest: +SKIP

Source: the general specification, "Lance REST Namespace".
"""

try:
    from .access import Access, AccessCheck
    from .app import create_app
    from .call import CALLER
    from .callers import Caller, CallerSource, Credentials
    from .limits import Limits
    from .observer import log_requests
    from .oidc import OidcIssuer
    from .options import ServerOptions
    from .policy import Policy, PolicyFile, ReadOnly, find_policy
    from .reach import Reach
    from .run import serve, serving
    from .tls import Tls
    from .tokens import TokenFile, new_token
    from .vending import AssumeRole
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
