"""Registry of implementations by name.

Source: the general specification, "Configuring the Implementation".
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

from lance_namespace_client.errors import InvalidInputError

from .catalog.namespace import Namespace
from .core.config import Config
from .core.profiles import config_path, read_profile

if TYPE_CHECKING:
    from . import properties as typed
    from .objects.async_namespace import AsyncNamespace

__all__ = ["connect", "connect_async", "connect_config", "implementations", "register"]

ENTRY_POINTS = "lance_namespace_impls.namespaces"

# impl name -> ("module:Class", extra that installs the module's dependencies)
_BUILT_IN: dict[str, tuple[str, str | None]] = {
    "dir": ("lance_namespace_impls.directory:DirectoryNamespace", None),
    "memory": ("lance_namespace_impls.memory:MemoryNamespace", None),
    "rest": ("lance_namespace_impls.rest:RestNamespace", None),
    "hive": ("lance_namespace_impls.hive:HiveNamespace", "hive"),
    "hive2": ("lance_namespace_impls.hive:Hive2Namespace", "hive"),
    "hive3": ("lance_namespace_impls.hive:Hive3Namespace", "hive"),
    "glue": ("lance_namespace_impls.glue:GlueNamespace", "glue"),
    "sql": ("lance_namespace_impls.sql:SqlNamespace", "sql"),
    "unity": ("lance_namespace_impls.unity:UnityNamespace", "unity"),
    "polaris": ("lance_namespace_impls.polaris:PolarisNamespace", "polaris"),
    "iceberg": ("lance_namespace_impls.iceberg:IcebergNamespace", "iceberg"),
}
_registered: dict[str, str] = {}


def register(name: str, target: str) -> None:
    """Register an implementation in this process.

    To register one permanently, a package defines an entry point in the group
    ``lance_namespace_impls.namespaces``.

    Args:
        name: value for ``impl``.
        target: ``"module:Class"``; the class is a `Namespace`.

    Raises:
        InvalidInputError: code 13, the name is reserved, or the target is not of the form
        ``module:Class``.
    """
    if name in _BUILT_IN:
        raise InvalidInputError(f"impl {name!r} is built in; register under another name")
    if target.count(":") != 1 or not all(target.split(":")):
        raise InvalidInputError(
            f"register {name!r}: {target!r} does not have the form 'module:Class'"
        )
    _registered[name] = target


def built_in() -> tuple[str, ...]:
    """Return the names of the built-in implementations."""
    return tuple(_BUILT_IN)


def implementations() -> dict[str, str]:
    """Return all known implementations: a mapping of names to ``module:Class``."""
    from importlib.metadata import entry_points  # slow to import, and rarely needed

    found = {name: target for name, (target, _) in _BUILT_IN.items()}
    found |= {
        point.name: point.value
        for point in entry_points(group=ENTRY_POINTS)
        if point.name not in _BUILT_IN
    }
    return found | _registered


def load(impl: str) -> type[Namespace]:
    """Load the class of an implementation.

    Raises:
        InvalidInputError: code 13, the name is unknown or not a namespace; or a dependency is not
            installed, and the message states what to install.
    """
    target, extra = _BUILT_IN.get(impl, (None, None))
    if target is None:
        target = _registered.get(impl) or (impl if ":" in impl else implementations().get(impl))
    if target is None:
        known = ", ".join(sorted(implementations()))
        raise InvalidInputError(f"impl {impl!r} is unknown; use one of {known}, or 'module:Class'")
    module, _, name = target.partition(":")
    try:
        cls = getattr(import_module(module), name)
    except ImportError as error:
        if extra is not None:
            raise InvalidInputError(
                f"impl {impl!r} needs {error.name}: pip install 'lance-namespace-kit[{extra}]'"
            ) from error
        raise InvalidInputError(f"impl {impl!r}: {module} cannot be imported: {error}") from error
    except AttributeError as error:
        raise InvalidInputError(f"impl {impl!r}: {module} has no {name}") from error
    if not isinstance(cls, type) or not issubclass(cls, Namespace):
        raise InvalidInputError(f"impl {impl!r}: {target} is not a Namespace")
    return cls


@overload
def connect(
    impl: Literal["dir"], properties: typed.DirectoryProperties | None = None
) -> Namespace: ...
@overload
def connect(
    impl: Literal["memory"], properties: typed.MemoryProperties | None = None
) -> Namespace: ...
@overload
def connect(impl: Literal["rest"], properties: typed.RestProperties | None = None) -> Namespace: ...
@overload
def connect(impl: Literal["hive"], properties: typed.HiveProperties | None = None) -> Namespace: ...
@overload
def connect(
    impl: Literal["hive2"], properties: typed.Hive2Properties | None = None
) -> Namespace: ...
@overload
def connect(
    impl: Literal["hive3"], properties: typed.Hive3Properties | None = None
) -> Namespace: ...
@overload
def connect(impl: Literal["glue"], properties: typed.GlueProperties | None = None) -> Namespace: ...
@overload
def connect(impl: Literal["sql"], properties: typed.SqlProperties | None = None) -> Namespace: ...
@overload
def connect(
    impl: Literal["unity"], properties: typed.UnityProperties | None = None
) -> Namespace: ...
@overload
def connect(
    impl: Literal["polaris"], properties: typed.PolarisProperties | None = None
) -> Namespace: ...
@overload
def connect(
    impl: Literal["iceberg"], properties: typed.IcebergProperties | None = None
) -> Namespace: ...
@overload
def connect(*, profile: str) -> Namespace: ...
@overload
def connect(impl: str) -> Namespace: ...


def connect(
    impl: str | None = None,
    properties: Mapping[str, Any] | None = None,
    *,
    profile: str | None = None,
) -> Namespace:
    """Connect to a namespace.

    The properties of each built-in implementation are a ``TypedDict``, so type checkers report
    unknown keys. Use `connect_config`, which accepts any mapping, if the implementation is chosen
    at run time or is third-party, or if a key is user-defined (``headers.*``).

    Args:
        impl: ``dir``, ``rest``, a registered name, or ``module:Class``.
        properties: its properties, with the impl as a prefix (``dir.path``) or without it
            (``path``); they override those of a profile.
        profile: a profile of the configuration file, instead of `impl`. The file is
            ``~/.config/lance-ns/config.toml``, or the one in ``LANCE_NS_CONFIG``.

    Raises:
        InvalidInputError: code 13; the impl or a property is unknown, a required property is
            missing, a value has the wrong type, or the profile does not exist.
    """
    if impl is not None and profile is None:
        return open_namespace(impl, properties or {})
    return connect_config({**(properties or {}), "impl": impl, "profile": profile})


@overload
async def connect_async(
    impl: Literal["dir"], properties: typed.DirectoryProperties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["memory"], properties: typed.MemoryProperties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["rest"], properties: typed.RestProperties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["hive"], properties: typed.HiveProperties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["hive2"], properties: typed.Hive2Properties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["hive3"], properties: typed.Hive3Properties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["glue"], properties: typed.GlueProperties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["sql"], properties: typed.SqlProperties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["unity"], properties: typed.UnityProperties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["polaris"], properties: typed.PolarisProperties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(
    impl: Literal["iceberg"], properties: typed.IcebergProperties | None = None
) -> AsyncNamespace: ...
@overload
async def connect_async(*, profile: str) -> AsyncNamespace: ...
@overload
async def connect_async(impl: str) -> AsyncNamespace: ...


async def connect_async(
    impl: str | None = None,
    properties: Mapping[str, Any] | None = None,
    *,
    profile: str | None = None,
) -> AsyncNamespace:
    """Connect to a namespace whose operations and tables are awaited.

    The arguments are those of `connect`. A REST server is called on the event loop; the calls of all
    other implementations run on a bounded number of threads.

    Args:
        impl: ``dir``, ``rest``, a registered name, or ``module:Class``.
        properties: its properties; see `connect`.
        profile: a profile of the configuration file, instead of `impl`.

    Examples:
        >>> lake = await connect_async("dir", {"path": "/data/lance"})  # doctest: +SKIP
        >>> await lake.table("letters").count_rows()  # doctest: +SKIP

    Raises:
        InvalidInputError: code 13; see `connect`.
    """
    from .core.async_calls import in_thread

    def connected() -> Namespace:
        if impl is not None and profile is None:
            return open_namespace(impl, properties or {})
        return connect_config({**(properties or {}), "impl": impl, "profile": profile})

    return (await in_thread(connected)).asynchronous()


def open_namespace(impl: str, properties: Mapping[str, Any]) -> Namespace:
    """Connect to any implementation, like `connect`."""
    cls = load(impl)
    return cls.from_properties(properties, sorted(_prefixes(properties) - {impl}))


def secrets_among(impl: str, properties: Mapping[str, Any]) -> frozenset[str]:
    """Return the secret values among properties that may be invalid.

    Args:
        impl: see `connect`; if it is unknown, every value counts as secret.
        properties: see `connect`.
    """
    return _config_type(impl).secrets_among(properties)


def shown_among(impl: str, properties: Mapping[str, Any]) -> dict[str, str]:
    """Return properties that may be invalid as text, with all secrets hidden.

    Args:
        impl: see `connect`; if it is unknown, every value counts as secret.
        properties: see `connect`.
    """
    return _config_type(impl).shown_among(properties)


def _config_type(impl: str) -> type[Config]:
    try:
        return load(impl).config_type
    except InvalidInputError:
        return Config


def _prefixes(properties: Mapping[str, Any]) -> set[str]:
    """Return the names of implementations that may be used as key prefixes."""
    known = {*_BUILT_IN, *_registered}
    if any("." in key and key.split(".", 1)[0] not in known for key in properties):
        known |= implementations().keys()  # searches all installed packages
    return known


def connect_config(config: Mapping[str, Any]) -> Namespace:
    """Connect with a flat configuration whose key ``impl`` names the implementation.

    Args:
        config: ``impl`` and its properties; or ``profile``, a profile of the configuration file,
            and properties that override it.

    Examples:
        >>> connect_config({"impl": "dir", "dir.path": "/my/dir"})  # doctest: +SKIP

    Raises:
        InvalidInputError: code 13, see `connect`; also if there is neither ``impl`` nor
            ``profile``.
    """
    return open_namespace(*resolved(config))


def resolved(config: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the implementation and the properties that a configuration and its profile specify.

    Raises:
        InvalidInputError: code 13, see `connect_config`; the properties themselves are not
            validated.
    """
    properties = dict(config)
    profile, impl = properties.pop("profile", None), properties.pop("impl", None)
    if profile and impl:
        raise InvalidInputError("'impl' and 'profile' each name a namespace; set only one of them")
    if profile:
        saved = read_profile(config_path(), profile) or {}
        properties = {**saved, **properties}
        impl = properties.pop("impl")
    if not impl:
        known = ", ".join(sorted(implementations()))
        raise InvalidInputError(
            f"the configuration has no 'impl'; set it to one of {known}, or set 'profile'"
        )
    return str(impl), properties
