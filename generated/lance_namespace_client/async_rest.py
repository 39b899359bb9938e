# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The asynchronous REST client: every operation over HTTP."""

from __future__ import annotations

from ._async_rows import AsyncRows
from ._async_transport import AsyncTransport
from .async_namespace import AsyncLanceNamespace

__all__ = ["AsyncRestNamespace", "AsyncRows"]


class AsyncRestNamespace(AsyncTransport, AsyncLanceNamespace):
    """A namespace behind a server with the REST protocol, for asynchronous programs.

    Requests and errors are the same as in `RestNamespace`, but use an ``httpx.AsyncClient``.
    Canceling a call closes its connection; whether the server executed the call is then unknown.
    """
