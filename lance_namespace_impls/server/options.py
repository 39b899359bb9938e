"""The configuration of a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs
from starlette.middleware import Middleware

from .execution.limits import Limits
from .security.authentication import CallerSource, Certificates
from .security.confinement import Reach
from .security.origin import Access, AccessCheck
from .security.policy import Policies, Policy, ReadOnly
from .security.tls import Tls
from .security.vending import AssumeRole

__all__ = ["ServerOptions"]


def _sources(values: Iterable[CallerSource]) -> tuple[CallerSource, ...]:
    return tuple(values)


def _tuple(values: Iterable[Middleware]) -> tuple[Middleware, ...]:
    return tuple(values)


def _identifiers(values: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(identifier) for name, identifier in values.items()}


@attrs.frozen(kw_only=True)
class ServerOptions:
    """Options of a server.

    Args:
        callers: sources of callers, such as `TokenFile`; a request whose credentials no source
            recognizes is rejected. Without sources, every client has access, and `serve` listens
            only on this machine.
        tls: certificate and key for `serve`; defaults to plain HTTP.
        insecure: whether `serve` may listen beyond this machine without authentication.
        policy: permissions of callers, such as `PolicyFile`; by default, everything is allowed.
        read_only: whether to reject all operations that change something.
        vend_storage_options: whether responses include secret storage options.
        vend_role: a role that provides temporary credentials, which responses include instead; they
            are limited to one table and to the caller's rights on it.
        access: a check that every request must pass; `Access`, or a custom object with a method
            ``check(headers)`` that raises an error to reject a request.
        middleware: Starlette or other ASGI middleware around the application; the first one is the
            outermost.
        reach: storage options and locations that callers may specify.
        limits: limits on the server's resources.
        open_metrics: whether ``/metrics`` is public; by default, it requires an authenticated
            caller.
        ui: whether to serve the web pages ``/ui`` and ``/docs``.
        lancedb_databases: mapping of database names, to which LanceDB's remote clients connect
            (``db://name``), to identifiers of namespaces; an empty identifier is the root. Any
            other name refers to a namespace below the root.
    """

    callers: tuple[CallerSource, ...] = attrs.field(default=(), converter=_sources)
    tls: Tls | None = None
    insecure: bool = False
    policy: Policy | None = None
    read_only: bool = False
    vend_storage_options: bool = False
    vend_role: AssumeRole | None = None
    access: AccessCheck = attrs.field(factory=Access)
    middleware: tuple[Middleware, ...] = attrs.field(default=(), converter=_tuple)
    reach: Reach = attrs.field(factory=Reach)
    limits: Limits = attrs.field(factory=Limits)
    open_metrics: bool = False
    ui: bool = True
    lancedb_databases: Mapping[str, tuple[str, ...]] = attrs.field(
        factory=dict, converter=_identifiers
    )

    @property
    def policies(self) -> Policy | None:
        """All policies for callers, or None if everything is allowed."""
        parts = [ReadOnly()] if self.read_only else []
        found = (*([] if self.policy is None else [self.policy]), *parts)
        return Policies(found) if found else None

    @property
    def sources(self) -> tuple[CallerSource, ...]:
        """All sources of callers, including client certificates."""
        by_certificate = self.tls is not None and self.tls.client_ca is not None
        return (*self.callers, *([Certificates()] if by_certificate else []))
