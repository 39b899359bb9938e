"""What a server is started with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from .access import Access
from .limits import Limits
from .reach import Reach

__all__ = ["ServerOptions"]


def _identifiers(given: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(identifier) for name, identifier in given.items()}


@attrs.frozen(kw_only=True)
class ServerOptions:
    """How a namespace is served.

    Args:
        vend_storage_options: whether answers carry the secrets among the storage options.
        access: which requests are taken.
        reach: which storage options and locations callers may name.
        limits: how much of the server callers can use.
        lancedb_databases: identifiers of namespaces by the name of the database that LanceDB's
            remote clients connect to (``db://name``); empty is the root. Any other name is that of
            a namespace below the root.
    """

    vend_storage_options: bool = False
    access: Access = attrs.field(factory=Access)
    reach: Reach = attrs.field(factory=Reach)
    limits: Limits = attrs.field(factory=Limits)
    lancedb_databases: Mapping[str, tuple[str, ...]] = attrs.field(
        factory=dict, converter=_identifiers
    )
