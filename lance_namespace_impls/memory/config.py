"""Properties of a catalog in memory."""

from __future__ import annotations

import os
import uuid
from typing import ClassVar

import attrs

from ..core.config import Config, option

__all__ = ["MemoryConfig", "unique_name"]


def unique_name() -> str:
    """Return a name that is unique across processes."""
    return f"{os.getpid()}-{uuid.uuid4().hex[:12]}"


@attrs.define(kw_only=True)
class MemoryConfig(Config):
    """Properties of a catalog in memory."""

    impl: ClassVar[str] = "memory"

    name: str = option(
        default="",
        doc="name of the catalog: connections with the same name share a catalog; defaults to "
        "`root`; if neither is set, each connection has its own catalog",
    )

    managed: bool = option(
        default=False,
        doc="whether the catalog manages the versions of new tables, so that only commits "
        "through it are visible; a table's property managed_versioning overrides this",
    )

    def __attrs_post_init__(self) -> None:
        """Generate a name if no name is configured."""
        self.name = self.name or self.root or unique_name()
