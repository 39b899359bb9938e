"""Properties of the Hive Metastore backends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

import attrs

from lance_namespace_client.errors import InvalidInputError

from ..core.config import Foreign, option, root_option, timeout_option
from ..core.options import shown
from ..core.tls import TlsConfig, tls_context
from .access import Access, Login, PlainLogin
from .hosts import Host
from .kerberos import PROTECTIONS, KerberosLogin, require_gssapi

__all__ = ["Hive2Config", "Hive3Config", "HiveConfig", "Host"]

DEFAULT_PORT = 9083
DEFAULT_PRINCIPAL = "hive/_HOST"
# Hadoop's names for the protection levels.
HADOOP_PROTECTIONS = {
    "authentication": "auth",
    "integrity": "auth-int",
    "privacy": "auth-conf",
}


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


def _hive_keys(name: str) -> tuple[str, ...]:
    """Return the keys of a setting of Hive; ``hive.`` is also the prefix of an impl."""
    return f"hive.{name}", name, f"hadoop.hive.{name}"


def _principal(principal: str) -> str:
    """Return the principal of the metastore; a service without a host has one on each host."""
    if "/" not in principal and "@" not in principal and principal:
        principal = f"{principal}/_HOST"
    service, _, host = principal.partition("@")[0].partition("/")
    if not service or not host:
        raise InvalidInputError(
            f"kerberos_principal {principal!r} does not have the form hive/_HOST@REALM; it is the "
            "metastore's principal, and kerberos_client_principal is yours"
        )
    return principal


def _protection(level: str | None) -> str | None:
    if level is None:
        return None
    level = HADOOP_PROTECTIONS.get(level.strip().lower(), level.strip().lower())
    if level not in PROTECTIONS:
        raise InvalidInputError(
            f"kerberos_protection {level!r} is unknown; use one of {', '.join(PROTECTIONS)}"
        )
    return level


@attrs.define(kw_only=True)
class HiveConfig(TlsConfig):
    """Properties of a Hive Metastore namespace.

    Source: the Hive 3.x specification, "Namespace Implementation Configuration Properties".
    """

    impl: ClassVar[str] = "hive"
    foreign: ClassVar[Mapping[str, Foreign]] = {
        "hadoop.": Foreign(
            "Hadoop configuration is not read; set the metastore's address as 'uri' and object "
            "store options as 'storage.*'"
        ),
        **dict.fromkeys(
            [*_hive_keys("metastore.kerberos.keytab.file"), *_hive_keys("metastore.keytab.file")],
            Foreign("it names the metastore's keytab; set 'kerberos_keytab' to yours"),
        ),
        **dict.fromkeys(
            [*_hive_keys("metastore.truststore.path"), *_hive_keys("metastore.keystore.path")],
            Foreign(
                "Java key stores are not read; export the certificates as PEM files and set "
                "'ca_bundle', 'client_cert' and 'client_key'"
            ),
        ),
        **dict.fromkeys(
            _hive_keys("metastore.client.auth.mode"),
            Foreign("set 'user' and 'password' for PLAIN, or 'kerberos'", ("notset",)),
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
        doc="user for calls to the metastore without a login: user, or user:group1,group2",
    )

    tls: bool = option(
        default=False,
        also=("ssl", *_hive_keys("metastore.use.SSL")),
        doc="whether connections to the metastore use TLS",
    )

    kerberos: bool = option(
        default=False,
        also=(
            *_hive_keys("metastore.sasl.enabled"),
            "hive.kerberos-authentication",
            "kerberos-authentication",
        ),
        doc="whether to log in with Kerberos (SASL GSSAPI)",
    )

    kerberos_principal: str = option(
        default=DEFAULT_PRINCIPAL,
        also=(
            *_hive_keys("metastore.kerberos.principal"),
            "hive.kerberos-service-name",
            "kerberos-service-name",
        ),
        converter=_principal,
        doc="principal of the metastore; _HOST is replaced by the host in uri",
    )

    kerberos_client_principal: str | None = option(
        default=None,
        also=_hive_keys("metastore.client.kerberos.principal"),
        doc="principal of this client; defaults to that of the keytab or the ticket cache",
    )

    kerberos_keytab: str | None = option(
        default=None,
        doc="file with the client's keys, which renews tickets; without it, the ticket cache is used",
    )

    kerberos_cache: str | None = option(
        default=None,
        doc="ticket cache, such as FILE:/tmp/krb5cc_1000; defaults to KRB5CCNAME or the system's",
    )

    kerberos_protection: str | None = option(
        default=None,
        also=("hadoop.rpc.protection", "hadoop.hadoop.rpc.protection"),
        converter=_protection,
        doc="required protection (QOP): auth, auth-int (integrity) or auth-conf (encryption); "
        "defaults to the strongest that the metastore offers",
    )

    login_user: str | None = option(
        name="user",
        default=None,
        also=_hive_keys("metastore.client.plain.username"),
        doc="user of a login with a password (SASL PLAIN), for example in LDAP",
    )

    password: str | None = option(default=None, secret=True, doc="password of user")

    locks: bool = option(
        default=True,
        doc="whether changes acquire the metastore's lock on the table or namespace; if false, "
        "concurrent changes by several processes can be lost",
    )

    def __attrs_post_init__(self) -> None:
        """Reject properties that contradict each other or have no effect (code 13)."""
        if (self.login_user is None) is not (self.password is None) or self.login_user == "":
            raise InvalidInputError(f"{self.impl}: set both 'user' and 'password', or neither")
        for key, value in (("user", self.login_user), ("password", self.password)):
            if value is not None and "\0" in value:
                raise InvalidInputError(f"{self.impl}: {key!r} must not contain a zero character")
        if self.kerberos and self.login_user is not None:
            raise InvalidInputError(f"{self.impl}: set 'kerberos' or 'user', not both")
        if self.ugi is not None and (self.kerberos or self.login_user is not None):
            raise InvalidInputError(
                f"{self.impl}: 'ugi' has no effect with a login, which determines the user; omit it"
            )
        for key in ("client_principal", "keytab", "cache", "protection"):
            if not self.kerberos and getattr(self, f"kerberos_{key}") is not None:
                raise InvalidInputError(
                    f"{self.impl}: 'kerberos_{key}' has no effect without kerberos=true"
                )
        if self.kerberos_keytab is not None and self.kerberos_cache is not None:
            raise InvalidInputError(
                f"{self.impl}: set 'kerberos_keytab' or 'kerberos_cache', not both"
            )
        for key in ("ca_bundle", "client_cert", "client_key"):
            if not self.tls and getattr(self, key) is not None:
                raise InvalidInputError(f"{self.impl}: {key!r} has no effect without tls=true")

    def access(self) -> Access:
        """Return TLS and login of connections.

        Raises:
            InvalidInputError: code 13, a certificate cannot be read, or gssapi is not installed.
        """
        return Access(tls=tls_context(self) if self.tls else None, login=self._login())

    def _login(self) -> Login | None:
        if self.login_user is not None and self.password is not None:
            return PlainLogin(self.login_user, self.password)
        if not self.kerberos:
            return None
        require_gssapi()
        return KerberosLogin(
            principal=self.kerberos_principal,
            client=self.kerberos_client_principal,
            keytab=self.kerberos_keytab,
            cache=self.kerberos_cache,
            protection=self.kerberos_protection,
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
