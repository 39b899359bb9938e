"""The two-level form: databases and tables in one catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..catalog.capabilities import MANAGED_OPERATIONS, Capabilities
from .config import Hive2Config
from .records import (
    LOCATION,
)

if TYPE_CHECKING:
    pass

from .base import NOT_ATOMIC, HiveBase

__all__ = ["Hive2Namespace"]


class Hive2Namespace(HiveBase):
    """A namespace with two levels: the databases in the metastore's default catalog, and their
    tables.

    Source: the general specification, "Lance HMS Namespace".
    """

    config_type = Hive2Config
    config: Hive2Config
    with_catalogs = False
    capabilities = Capabilities(
        location_properties=(LOCATION,),
        namespace_depth=1,
        table_depth=1,
        lowercase_names=True,
        cascade=True,
        rename_across=True,
        permanent=(("default",),),
        unsupported=dict.fromkeys(MANAGED_OPERATIONS, NOT_ATOMIC),
    )
