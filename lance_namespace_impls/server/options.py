"""What a server is started with."""

from __future__ import annotations

import attrs

from .access import Access
from .limits import Limits
from .reach import Reach

__all__ = ["ServerOptions"]


@attrs.frozen(kw_only=True)
class ServerOptions:
    """How a namespace is served.

    Args:
        vend_storage_options: whether answers carry the secrets among the storage options.
        access: which requests are taken.
        reach: which storage options and locations callers may name.
        limits: how much of the server callers can use.
    """

    vend_storage_options: bool = False
    access: Access = attrs.field(factory=Access)
    reach: Reach = attrs.field(factory=Reach)
    limits: Limits = attrs.field(factory=Limits)
