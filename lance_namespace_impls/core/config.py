"""Typed, strict configuration of backends.

A backend's properties are an attrs class derived from `Config`. Property keys work bare
(``endpoint``) and with the impl as prefix (``unity.endpoint``).

Source: the general specification, "Configuring an Implementation Details".
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

import attrs

from lance_namespace_client.errors import InvalidInputError

from .durations import UNITS, parse_duration
from .location import absolute, absolute_or_current

__all__ = [
    "Config",
    "is_secret_key",
    "option",
    "prefix_option",
    "redact",
    "root_option",
    "timeout_option",
]

SECRET_KEY = re.compile(
    r"secret|token|password|credential|signature|sas|private|api[_.-]?key"
    r"|(access|account|customer|encryption)[_.-]?key|authorization|cookie",
    re.IGNORECASE,
)
HIDDEN = "***"


def is_secret_key(key: str) -> bool:
    """Say whether a property of that name holds something that must not be shown."""
    return SECRET_KEY.search(key) is not None


def redact(properties: Mapping[str, str]) -> dict[str, str]:
    """Give the properties with every secret value hidden."""
    return {key: HIDDEN if is_secret_key(key) else value for key, value in properties.items()}


def option(
    *,
    name: str | None = None,
    also: Collection[str] = (),
    default: Any = attrs.NOTHING,
    unit: str | None = None,
    secret: bool = False,
    doc: str,
    **more: Any,
) -> Any:
    """Declare one property of a backend.

    Args:
        name: the property key, where it differs from the attribute (``client.pool-size``).
        also: other keys for the same property; a mapping gives the unit of each.
        default: value where it is not given; without one the property is required.
        unit: unit of the value, such as ``seconds``.
        secret: whether the value must not be shown.
        doc: one line that says what it is.
    """
    units = dict(also) if isinstance(also, Mapping) else {}
    metadata = {
        "name": name,
        "also": tuple(also),
        "units": units,
        "unit": unit,
        "secret": secret,
        "doc": doc,
    }
    if secret:
        more.setdefault("repr", lambda value: repr(value and HIDDEN))
    return attrs.field(default=default, metadata=metadata, **more)


def timeout_option(
    name: str, *, default: float, unit: str = "seconds", doc: str, **more: Any
) -> Any:
    """Declare a wait, which takes a suffix (``10s``) and has a key in milliseconds too.

    Args:
        name: the property key; ``{name}_millis`` is the other one.
        default: value where it is not given, in `unit`.
        unit: unit of a number without a suffix, ``seconds`` or ``milliseconds``.
        doc: one line that says what it is.
    """
    also = {f"{name}_millis": "milliseconds"}
    return option(also=also, default=default, unit=unit, doc=doc, **more)


def prefix_option(prefix: str, *, also: Collection[str] = (), doc: str) -> Any:
    """Declare a group of properties: every key below `prefix`, as a dict without the prefix."""
    return attrs.field(
        factory=dict,
        metadata={"prefixes": (prefix, *also), "doc": doc, "name": prefix},
        repr=lambda value: repr(redact(value)),
    )


def root_option() -> Any:
    """Declare ``root`` for a catalog whose tables go below the current directory by default."""
    return option(
        default="",
        converter=absolute_or_current,
        doc="storage root of tables without a location; the current directory unless given",
    )


@attrs.define(kw_only=True)
class Config:
    """The properties that every backend takes; a backend adds its own."""

    impl: ClassVar[str] = ""
    """Name of the implementation, the prefix of its keys."""

    root: str | None = option(
        default=None,
        converter=attrs.converters.optional(absolute),
        doc="storage root below which tables without a location of their own are put",
    )

    storage: dict[str, str] = prefix_option(
        "storage.", doc="options for the object store that holds the tables"
    )

    cache_mib: int = option(
        default=256,
        unit="MiB",
        doc="memory for the caches of opened tables and their indices",
    )

    skip_unreadable: bool = option(
        default=False,
        doc="leave a table that cannot be read out of a listing, with a warning, instead of failing",
    )

    confine_locations: bool = option(
        default=False,
        doc="refuse locations outside the namespace's own places; a server does so in any case",
    )

    allow_locations: tuple[str, ...] = option(
        default=(),
        doc="paths and URIs below which tables may be too, where locations are confined",
    )

    @classmethod
    def from_properties(
        cls, properties: Mapping[str, Any], other_impls: Collection[str] = ()
    ) -> Self:
        """Read properties, strictly.

        Args:
            properties: keys and values; values are text, or already of the right type.
            other_impls: names of other implementations, whose prefixed keys are left alone.

        Raises:
            InvalidInputError: code 13; a key is unknown, missing or given twice, or a value is
                not of its type.
        """
        hints = get_type_hints(cls)
        by_key: dict[str, attrs.Attribute[Any]] = {}
        prefixes: dict[str, attrs.Attribute[Any]] = {}
        for attribute in attrs.fields(cls):
            if "prefixes" in attribute.metadata:
                prefixes |= dict.fromkeys(attribute.metadata["prefixes"], attribute)
                continue
            for key in (_key(attribute), *attribute.metadata.get("also", ())):
                by_key[key] = attribute
        values: dict[str, Any] = {}
        given: dict[str, str] = {}
        for full_key, value in properties.items():
            if value is None:
                continue
            key = full_key.removeprefix(f"{cls.impl}.")
            attribute = by_key.get(key)
            if attribute is not None:
                unit = attribute.metadata.get("units", {}).get(key)
                parsed = _parse(cls.impl, full_key, value, hints[attribute.name], attribute, unit)
                if attribute.name in values and values[attribute.name] != parsed:
                    raise InvalidInputError(
                        f"{cls.impl}: {given[attribute.name]!r} and {full_key!r} are one property "
                        "and have two values; give one"
                    )
                values[attribute.name] = parsed
                given[attribute.name] = full_key
                continue
            prefix = next((p for p in prefixes if key.startswith(p) and len(key) > len(p)), None)
            if prefix is not None:
                group = values.setdefault(prefixes[prefix].name, {})
                if group.setdefault(key[len(prefix) :], str(value)) != str(value):
                    raise InvalidInputError(
                        f"{cls.impl}: {full_key!r} is given under two keys and has two values; "
                        "give one"
                    )
                continue
            if full_key.split(".", 1)[0] in other_impls and key == full_key and "." in full_key:
                continue
            raise InvalidInputError(_unknown(cls.impl, full_key, key, [*by_key, *prefixes]))
        missing = [
            _key(attribute)
            for attribute in attrs.fields(cls)
            if attribute.default is attrs.NOTHING and attribute.name not in values
        ]
        if missing:
            doc = next(a for a in attrs.fields(cls) if _key(a) == missing[0]).metadata["doc"]
            raise InvalidInputError(f"{cls.impl}: property {missing[0]!r} is required: {doc}")
        return cls(**values)

    def to_properties(self) -> dict[str, str]:
        """Give the properties that build this configuration again, all as text."""
        out: dict[str, str] = {}
        for attribute in attrs.fields(type(self)):
            value = getattr(self, attribute.name)
            if "prefixes" in attribute.metadata:
                prefix = attribute.metadata["prefixes"][0]
                out |= {prefix + key: text for key, text in value.items()}
            elif value is not None and (value != () or attribute.default != ()):
                out[_key(attribute)] = _text(value)
        return out

    def secrets(self) -> frozenset[str]:
        """Give the values that must not be shown, to take them out of messages."""
        found: set[str] = set()
        for attribute in attrs.fields(type(self)):
            value = getattr(self, attribute.name)
            if "prefixes" in attribute.metadata:
                found |= {text for key, text in value.items() if is_secret_key(key)}
            elif attribute.metadata.get("secret") and value is not None:
                found.add(str(value))
        return frozenset(text for text in found if len(text) > 2)

    @classmethod
    def describe(cls) -> list[dict[str, Any]]:
        """Return the properties, a row each: ``key``, ``also`` (other keys of the same property),
        ``type``, ``unit``, ``default``, ``required``, ``secret`` and ``doc``."""
        hints = get_type_hints(cls)
        rows = []
        for attribute in attrs.fields(cls):
            group = "prefixes" in attribute.metadata
            default = attribute.default
            rows.append(
                {
                    "key": _key(attribute) + ("*" if group else ""),
                    "also": [f"{p}*" for p in attribute.metadata["prefixes"][1:]]
                    if group
                    else list(attribute.metadata["also"]),
                    "type": "text" if group else _type_name(hints[attribute.name]),
                    "unit": attribute.metadata.get("unit"),
                    "default": default if isinstance(default, str | int | float | bool) else None,
                    "required": default is attrs.NOTHING,
                    "secret": bool(attribute.metadata.get("secret")),
                    "doc": attribute.metadata["doc"],
                }
            )
        return rows


def _key(attribute: attrs.Attribute[Any]) -> str:
    return attribute.metadata.get("name") or attribute.name


def _bare(hint: Any) -> Any:
    """Take ``X`` out of ``X | None``."""
    inner = [arg for arg in get_args(hint) if arg is not type(None)]
    return inner[0] if type(None) in get_args(hint) and len(inner) == 1 else hint


def _type_name(hint: Any) -> str:
    bare = _bare(hint)
    if get_origin(bare) in (tuple, list):
        return "list"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}[bare]


def _parse(
    impl: str,
    key: str,
    value: Any,
    hint: Any,
    attribute: attrs.Attribute[Any],
    given_unit: str | None = None,
) -> Any:
    bare = _bare(hint)
    unit = attribute.metadata.get("unit")
    shown = HIDDEN if attribute.metadata.get("secret") else repr(value)
    wanted = _type_name(hint) + (f" ({given_unit or unit})" if unit else "")
    wanted += " or a text such as '10s' or '500ms'" if unit in UNITS else ""
    refused = InvalidInputError(f"{impl}: property {key!r} must be {wanted}, not {shown}")
    if get_origin(bare) in (tuple, list):
        items = value.split(",") if isinstance(value, str) else list(value)
        return tuple(str(item).strip() for item in items if str(item).strip())
    if bare is bool:
        text = str(value).strip().lower()
        if text not in ("true", "false"):
            raise refused
        return text == "true"
    if bare is str:
        if not isinstance(value, str):
            if isinstance(value, bool | int | float):
                return str(value)
            if hasattr(value, "__fspath__"):
                return str(value)
            raise refused
        return value
    if isinstance(value, bool):
        raise refused
    try:
        if unit in UNITS:
            return _in_unit(bare, value, unit, given_unit or unit)
        return bare(value)
    except (InvalidInputError, TypeError, ValueError):
        raise refused from None


def _in_unit(bare: type[int] | type[float], value: Any, unit: str, given_unit: str) -> int | float:
    """Convert a length of time to the unit of its property.

    Raises:
        ValueError: it is none, or not a whole number of a property's units where one is wanted.
    """
    if isinstance(value, str):
        # A sign or an exponent is a number's, which the property's own bounds judge.
        try:
            value = float(value)
        except ValueError:
            value = parse_duration(value, given_unit).total_seconds() / UNITS[given_unit]
    if given_unit != unit:
        value = value * UNITS[given_unit] / UNITS[unit]
    number = float(value)
    if not math.isfinite(number) or (bare is int and not number.is_integer()):
        raise ValueError(value)
    return bare(number)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ",".join(value)
    return str(value)


def _unknown(impl: str, full_key: str, key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else "known are " + ", ".join(sorted(known))
    return f"{impl}: property {full_key!r} is not known; {hint}"
