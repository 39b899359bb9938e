"""What a server is started with."""

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


def _sources(given: Iterable[CallerSource]) -> tuple[CallerSource, ...]:
    return tuple(given)


def _tuple(given: Iterable[Middleware]) -> tuple[Middleware, ...]:
    return tuple(given)


def _identifiers(given: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(identifier) for name, identifier in given.items()}


@attrs.frozen(kw_only=True)
class ServerOptions:
    """How a namespace is served.

    Args:
        callers: what knows who calls, such as `TokenFile`; a call of nobody that one of them knows is
            refused. With none, everybody may call, and `serve` listens on this machine alone.
        tls: certificate and key of `serve`; plain HTTP unless given.
        insecure: whether `serve` listens beyond this machine though it does not ask who calls.
        policy: what callers may do, such as `PolicyFile`; everything unless given.
        read_only: whether callers may only call what changes nothing.
        vend_storage_options: whether answers carry the secrets among the storage options.
        vend_role: a role whose credentials answers carry instead, for one table and what its caller
            may do with it.
        access: which requests are taken at all; `Access`, or an object of your own with its
            ``check(headers)``, which raises what a request is refused with.
        middleware: what requests to the application go through first, of Starlette or any ASGI
            middleware; the first is the outermost.
        reach: which storage options and locations callers may name.
        limits: how much of the server callers can use.
        open_metrics: whether everybody may read ``/metrics``; only those that may call unless given.
        ui: whether there are pages for people, at ``/ui`` and ``/docs``.
        lancedb_databases: identifiers of namespaces by the name of the database that LanceDB's
            remote clients connect to (``db://name``); empty is the root. Any other name is that of
            a namespace below the root.
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
        """All that decides what callers may do; None where everything is allowed."""
        parts = [ReadOnly()] if self.read_only else []
        found = (*([] if self.policy is None else [self.policy]), *parts)
        return Policies(found) if found else None

    @property
    def sources(self) -> tuple[CallerSource, ...]:
        """All that knows who calls, the certificates of callers included."""
        by_certificate = self.tls is not None and self.tls.client_ca is not None
        return (*self.callers, *([Certificates()] if by_certificate else []))
