"""Properties of the Hive Metastore backends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

import attrs
from attrs import frozen

from lance_namespace_client.errors import InvalidInputError

from ..core.config import Config, Foreign, option, root_option, timeout_option
from ..core.options import shown

__all__ = ["Hive2Config", "Hive3Config", "HiveConfig", "Host"]

DEFAULT_PORT = 9083


@frozen
class Host:
    """Address of a metastore."""

    name: str
    port: int

    def __str__(self) -> str:
        name = f"[{self.name}]" if ":" in self.name else self.name
        return f"thrift://{name}:{self.port}"


def _host(uri: str) -> Host:
    parts = urlsplit(uri if "://" in uri else f"thrift://{uri}")
    try:
        port = parts.port or DEFAULT_PORT
    except ValueError:
        port = 0
    extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme != "thrift" or not parts.hostname or not port or extra:
        raise InvalidInputError(
            f"uri {shown(uri)!r} does not have the form thrift://host:port; separate several "
            "addresses with commas"
        )
    return Host(parts.hostname, port)


def _uris(uris: tuple[str, ...]) -> tuple[str, ...]:
    if not uris:
        raise InvalidInputError("uri is empty; it must have the form thrift://host:port")
    return tuple(str(_host(uri)) for uri in uris)


def _ugi(config: Any, attribute: attrs.Attribute[Any], value: str | None) -> None:
    if value is not None and not value.partition(":")[0].strip():
        raise InvalidInputError(f"ugi {value!r} does not have the form user or user:group1,group2")


@attrs.define(kw_only=True)
class HiveConfig(Config):
    """Properties of a Hive Metastore namespace.

    Source: the Hive 3.x specification, "Namespace Implementation Configuration Properties".
    """

    impl: ClassVar[str] = "hive"
    foreign: ClassVar[Mapping[str, Foreign]] = {
        "hadoop.": Foreign(
            "Hadoop configuration is not read; set the metastore's address as 'uri' and object "
            "store options as 'storage.*'"
        ),
    }

    root: str = root_option()

    uri: tuple[str, ...] = option(
        also=("hadoop.hive.metastore.uris",),
        default=(f"thrift://localhost:{DEFAULT_PORT}",),
        converter=_uris,
        doc="address of the metastore, thrift://host:port, or several addresses separated by "
        "commas; the first reachable one is used",
    )

    pool_size: int = option(
        name="client.pool-size",
        default=3,
        unit="connections",
        minimum=1,
        doc="maximum number of open connections to the metastore",
    )

    connect_timeout: float = timeout_option(
        "connect_timeout",
        default=10.0,
        doc="maximum time to connect to the metastore",
    )

    read_timeout: float = timeout_option(
        "read_timeout",
        default=60.0,
        doc="maximum time to wait for the next bytes of a response",
    )

    ugi: str | None = option(
        default=None,
        validator=_ugi,
        doc="user for calls to the metastore: user, or user:group1,group2",
    )

    locks: bool = option(
        default=True,
        doc="whether changes acquire the metastore's lock on the table or namespace; if false, "
        "concurrent changes by several processes can be lost",
    )

    def hosts(self) -> tuple[Host, ...]:
        """Return the metastores in the order in which connections to them are tried."""
        return tuple(_host(uri) for uri in self.uri)

    def user(self) -> tuple[str, list[str]] | None:
        """Return the user and the groups in the property ``ugi``."""
        if self.ugi is None:
            return None
        user, _, groups = self.ugi.partition(":")
        return user.strip(), [group.strip() for group in groups.split(",") if group.strip()]


@attrs.define(kw_only=True)
class Hive2Config(HiveConfig):
    """Properties of a two-level namespace, database and table."""

    impl: ClassVar[str] = "hive2"


@attrs.define(kw_only=True)
class Hive3Config(HiveConfig):
    """Properties of a three-level namespace, catalog, database and table."""

    impl: ClassVar[str] = "hive3"
