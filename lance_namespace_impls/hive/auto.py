"""A Hive Metastore namespace that detects the metastore's release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import attrs
from thrift.Thrift import TException

from .base import HiveBase
from .client import Metastore
from .config import Hive2Config, Hive3Config, HiveConfig
from .errors import from_metastore
from .hive2 import Hive2Namespace
from .hive3 import Hive3Namespace
from .pool import UnreachableError

__all__ = ["HiveNamespace"]


class HiveNamespace(HiveBase, abstract=True):
    """The Lance tables in a Hive Metastore of any supported release.

    The release is detected when connecting: the result is a `Hive3Namespace` if the metastore has
    catalogs, and otherwise a `Hive2Namespace`.
    """

    @classmethod
    def from_properties(
        cls, properties: Mapping[str, Any], other_impls: Sequence[str] = ()
    ) -> Self:
        """Connect with string properties; keys may have the impl as a prefix.

        Raises:
            InvalidInputError: code 13, a property is unknown or has the wrong type.
            ServiceUnavailableError: code 17, the metastore is unreachable.
        """
        config = cls.config_type.from_properties(properties, other_impls)
        return cast("Self", _connected(config))


def _connected(config: HiveConfig) -> HiveBase:
    metastore = Metastore(config, with_catalogs=False)
    try:
        has_catalogs = metastore.has_catalogs()
    except (TException, UnreachableError) as error:
        failure = from_metastore(
            error, "hive: the metastore's release cannot be determined; use impl hive2 or hive3"
        )
        raise failure or error from error
    finally:
        metastore.close()
    properties = attrs.asdict(config)
    if has_catalogs:
        return Hive3Namespace(Hive3Config(**properties))
    return Hive2Namespace(Hive2Config(**properties))
