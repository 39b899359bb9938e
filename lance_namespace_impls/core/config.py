"""Typed, strict configuration of backends.

A backend's properties are an attrs class derived from `Config`. Property keys are accepted with and
without the impl as a prefix (``unity.endpoint``, ``endpoint``).

Source: the general specification, "Configuring an Implementation Details".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

import attrs

from lance_namespace_client.errors import InvalidInputError

from .durations import UNITS, parse_duration
from .errors import scrub
from .location import absolute, absolute_or_current
from .options import HIDDEN, is_secret_option, redact, secret_parts, shown

__all__ = [
    "Config",
    "Foreign",
    "option",
    "prefix_option",
    "root_option",
    "timeout_option",
]


# A value outside these ranges is probably in the other unit, such as 10000 'seconds' or 10
# 'milliseconds'.
PLAUSIBLE = {"seconds": (0.0, 999.0), "milliseconds": (100.0, math.inf)}
OTHER_UNIT = {"seconds": "milliseconds", "milliseconds": "seconds"}
SUFFIXES = {"seconds": "s", "milliseconds": "ms"}


@attrs.frozen
class Foreign:
    """A setting of another package for which this package has no equivalent property."""

    instead: str
    """Advice on the alternative, which ends the message that rejects the setting."""
    harmless: Collection[str] = ()
    """Values, in lower case, that are accepted because they make no difference."""


def _hidden(value: Any) -> str:
    return repr(value and HIDDEN)


def _without_access(value: Any) -> str:
    if isinstance(value, tuple):
        return repr(tuple(shown(each) for each in value))
    return repr(shown(value) if isinstance(value, str) else value)


def option(
    *,
    name: str | None = None,
    also: Collection[str] = (),
    default: Any = attrs.NOTHING,
    unit: str | None = None,
    secret: bool = False,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    doc: str,
    **more: Any,
) -> Any:
    """Declare one property of a backend.

    Args:
        name: the property key, if it differs from the attribute (``client.pool-size``).
        also: other keys for the same property; a mapping also specifies the unit of each key.
        default: default value; if omitted, the property is required.
        unit: unit of the value, such as ``seconds``.
        secret: whether the value must not be shown.
        minimum: the lowest valid number.
        maximum: the highest valid number.
        above: an exclusive lower bound; valid numbers must also be finite.
        doc: a one-line description.
    """
    if (minimum, maximum, above) != (None, None, None):
        more["validator"] = _within(minimum, maximum, above)
    units = dict(also) if isinstance(also, Mapping) else {}
    metadata = {
        "name": name,
        "also": tuple(also),
        "units": units,
        "unit": unit,
        "secret": secret,
        "doc": doc,
    }
    more.setdefault("repr", _hidden if secret else _without_access)
    return attrs.field(default=default, metadata=metadata, **more)


def _within(minimum: float | None, maximum: float | None, above: float | None) -> Any:
    """Return a validator for the bounds of a number; None is valid."""

    def check(config: Config, attribute: attrs.Attribute[Any], value: float | None) -> None:
        if value is None:
            return
        valid = math.isfinite(value)
        if minimum is not None and maximum is not None:
            expected = f"between {minimum} and {maximum}"
            valid = valid and minimum <= value <= maximum
        elif minimum is not None:
            expected = f"{minimum} or more"
            valid = valid and value >= minimum
        else:
            expected = f"greater than {above}"
            valid = valid and above is not None and value > above
        if not valid:
            unit = f" {attribute.metadata['unit']}" if attribute.metadata["unit"] else ""
            raise InvalidInputError(
                f"{config.impl}: property {_key(attribute)!r} must be {expected}{unit}, not {value}"
            )

    return check


def timeout_option(
    name: str, *, default: float, unit: str = "seconds", doc: str, **more: Any
) -> Any:
    """Declare a timeout property; it accepts suffixes (``10s``) and has a second key in
    milliseconds.

    Args:
        name: the property key; the second key is ``{name}_millis``.
        default: default value, in `unit`.
        unit: unit of a number without a suffix, ``seconds`` or ``milliseconds``.
        doc: a one-line description.
        more: further arguments of `option`; by default, the value must be greater than 0.
    """
    also = {f"{name}_millis": "milliseconds"}
    if "minimum" not in more:
        more.setdefault("above", 0)
    return option(also=also, default=default, unit=unit, doc=doc, **more)


def _warn_of_unit(impl: str, key: str, value: Any, unit: str) -> None:
    """Warn if a number without a unit was probably intended to be in the other unit."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return  # the value has a unit, or is rejected later
    least, most = PLAUSIBLE[unit]
    if 0 < number < math.inf and not least <= number <= most:
        other = OTHER_UNIT[unit]
        warnings.warn(
            f"{impl}: property {key!r} is {number:g} {unit}; write "
            f"'{number:g}{SUFFIXES[other]}' for {other}, or '{number:g}{SUFFIXES[unit]}' to "
            "confirm",
            stacklevel=4,
        )


def prefix_option(
    prefix: str, *, also: Collection[str] = (), secret: bool = False, doc: str
) -> Any:
    """Declare a group of properties: a dict of all keys below `prefix`, without the prefix.

    Args:
        prefix: prefix of the keys.
        also: other prefixes for the same group.
        secret: whether all values of the group are hidden; otherwise, only harmless object store
            options are shown.
        doc: a one-line description.
    """
    metadata = {"prefixes": (prefix, *also), "doc": doc, "name": prefix, "secret": secret}
    return attrs.field(
        factory=dict, metadata=metadata, repr=lambda value: repr(_redacted_group(value, secret))
    )


def root_option(converter: Callable[[str], str] = absolute_or_current) -> Any:
    """Declare ``root`` for a catalog that stores tables below the current directory by default.

    Args:
        converter: returns the absolute form of a path or URI, and the current directory for an
            empty string.
    """
    return option(
        default="",
        converter=converter,
        doc="storage root for tables without an explicit location; defaults to the current "
        "directory",
    )


@attrs.define(kw_only=True)
class Config:
    """The properties that all backends accept; subclasses add the properties of one backend."""

    impl: ClassVar[str] = ""
    """Name of the implementation, which is also the prefix of its keys."""

    not_taken: ClassVar[Mapping[str, str]] = {}
    """Inherited properties that have no effect in this backend, each with the reason for rejecting
    it."""

    foreign: ClassVar[Mapping[str, Foreign]] = {
        "ops_metrics_enabled": Foreign(
            "the server counts calls at /metrics; clients use OpenTelemetry", ("false",)
        ),
        "dynamic_context_provider.": Foreign("this backend sends no requests to a REST API"),
    }
    """Settings of the official packages without an equivalent; a key that ends with a dot is a
    group.
    """

    root: str | None = option(
        default=None,
        converter=attrs.converters.optional(absolute),
        doc="storage root for tables without an explicit location",
    )

    storage: dict[str, str] = prefix_option(
        "storage.", doc="options for the object store that contains the tables"
    )

    cache_mib: int = option(
        default=256,
        unit="MiB",
        minimum=0,
        doc="maximum memory for the caches of open tables and their indices",
    )

    skip_unreadable: bool = option(
        default=False,
        doc="omit unreadable tables from listings with a warning, instead of failing",
    )

    confine_locations: bool = option(
        default=False,
        doc="reject table locations outside the namespace's own locations; servers always do this",
    )

    allow_locations: tuple[str, ...] = option(
        default=(),
        doc="additional paths and URIs at which tables are allowed, if confine_locations is true",
    )

    @classmethod
    def from_properties(
        cls, properties: Mapping[str, Any], other_impls: Collection[str] = ()
    ) -> Self:
        """Parse properties strictly.

        Args:
            properties: keys and values; a value is a string or already has the right type.
            other_impls: names of other implementations, whose prefixed keys are ignored.

        Raises:
            InvalidInputError: code 13, a key is unknown, missing or duplicated, or a value has the
                wrong type.
        """
        hints = get_type_hints(cls)
        by_key: dict[str, attrs.Attribute[Any]] = {}
        prefixes: dict[str, attrs.Attribute[Any]] = {}
        for attribute in _accepted_properties(cls):
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
            if key in by_key:
                attribute = by_key[key]
                unit = attribute.metadata.get("units", {}).get(key)
                if unit is None and key.endswith("timeout") and attribute.metadata["unit"] in UNITS:
                    _warn_of_unit(cls.impl, full_key, value, attribute.metadata["unit"])
                parsed = _parse(cls.impl, full_key, value, hints[attribute.name], attribute, unit)
                if attribute.name in values and values[attribute.name] != parsed:
                    raise InvalidInputError(
                        f"{cls.impl}: {given[attribute.name]!r} and {full_key!r} are keys of the "
                        "same property, but have different values; set only one of them"
                    )
                values[attribute.name] = parsed
                given[attribute.name] = full_key
                continue
            prefix = next((p for p in prefixes if key.startswith(p) and len(key) > len(p)), None)
            if prefix is not None:
                group = values.setdefault(prefixes[prefix].name, {})
                if group.setdefault(key[len(prefix) :], str(value)) != str(value):
                    raise InvalidInputError(
                        f"{cls.impl}: {full_key!r} is set under two keys that have different "
                        "values; set only one of them"
                    )
                continue
            foreign = cls._foreign_setting(key)
            if foreign is not None:
                if str(value).strip().lower() in foreign.harmless:
                    continue
                raise InvalidInputError(
                    f"{cls.impl}: property {full_key!r} is not supported here: {foreign.instead}"
                )
            if full_key.split(".", 1)[0] in other_impls and key == full_key and "." in full_key:
                continue
            if key in cls.not_taken:
                raise InvalidInputError(
                    f"{cls.impl}: property {full_key!r} has no effect here: {cls.not_taken[key]}"
                )
            raise InvalidInputError(_unknown(cls.impl, full_key, key, [*by_key, *prefixes]))
        missing = [
            _key(attribute)
            for attribute in _accepted_properties(cls)
            if attribute.default is attrs.NOTHING and attribute.name not in values
        ]
        if missing:
            doc = next(a for a in _accepted_properties(cls) if _key(a) == missing[0]).metadata[
                "doc"
            ]
            raise InvalidInputError(f"{cls.impl}: property {missing[0]!r} is required: {doc}")
        return cls(**values)

    @classmethod
    def _foreign_setting(cls, key: str) -> Foreign | None:
        """Return the setting of another package that has this key, or None if there is none."""
        for kind in cls.__mro__:
            for name, foreign in vars(kind).get("foreign", {}).items():
                if key == name or (name.endswith(".") and key.startswith(name)):
                    found: Foreign = foreign
                    return found
        return None

    def to_properties(self) -> dict[str, str]:
        """Return the properties that recreate this configuration, as strings."""
        out: dict[str, str] = {}
        for attribute in _accepted_properties(type(self)):
            value = getattr(self, attribute.name)
            if "prefixes" in attribute.metadata:
                prefix = attribute.metadata["prefixes"][0]
                out |= {prefix + key: text for key, text in value.items()}
            elif value is not None and (value != () or attribute.default != ()):
                out[_key(attribute)] = _text(value)
        return out

    def shown(self) -> dict[str, str]:
        """Return the properties with all secrets hidden.

        A value is shown only if it is known to be harmless: if its property is declared without
        ``secret``, or if it is a known object store option. In URLs, the password and the query are
        hidden.
        """
        secrets = self.secrets()
        out: dict[str, str] = {}
        for attribute in _accepted_properties(type(self)):
            value, hidden = getattr(self, attribute.name), attribute.metadata.get("secret", False)
            if "prefixes" in attribute.metadata:
                prefix = attribute.metadata["prefixes"][0]
                out |= {prefix + k: text for k, text in _redacted_group(value, hidden).items()}
            elif value is not None and (value != () or attribute.default != ()):
                out[_key(attribute)] = HIDDEN if hidden else shown(_text(value))
        return {key: scrub(text, secrets) for key, text in out.items()}

    def secrets(self) -> frozenset[str]:
        """Return the secret values, so that they can be removed from messages."""
        return self.secrets_among(self.to_properties())

    @classmethod
    def secrets_among(cls, properties: Mapping[str, Any]) -> frozenset[str]:
        """Return the secret values among known and unknown properties."""
        found: set[str] = set()
        hidden = cls._secret_keys(properties)
        for key, value in properties.items():
            text = str(value)
            found |= {text} if key in hidden else secret_parts(text)
        return frozenset(text for text in found if len(text) > 2 and text not in ("true", "false"))

    @classmethod
    def shown_among(cls, properties: Mapping[str, Any]) -> dict[str, str]:
        """Return known and unknown properties as text, with all secrets hidden; see `shown`."""
        hidden = cls._secret_keys(properties)
        return {
            key: HIDDEN if key in hidden else shown(_text(value))
            for key, value in properties.items()
        }

    @classmethod
    def _secret_keys(cls, properties: Mapping[str, Any]) -> frozenset[str]:
        """Return the keys, as written, of the properties whose whole value is secret."""
        by_key = {key: a for a in _accepted_properties(cls) for key in _keys(a)}

        def is_secret(key: str) -> bool:
            if (attribute := by_key.get(key)) is None:
                return _is_secret_in_group(cls, key)
            return bool(attribute.metadata.get("secret", False))

        prefix = f"{cls.impl}."
        return frozenset(key for key in properties if is_secret(key.removeprefix(prefix)))

    @classmethod
    def describe(cls) -> list[dict[str, Any]]:
        """Return one row per property.

        The columns are ``key``, ``also`` (other keys of the same property), ``type``, ``unit``,
        ``default``, ``required``, ``secret`` and ``doc``.
        """
        hints = get_type_hints(cls)
        rows = []
        for attribute in _accepted_properties(cls):
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


def _accepted_properties(cls: type[Config]) -> list[attrs.Attribute[Any]]:
    """Return the properties that a backend accepts."""
    return [each for each in attrs.fields(cls) if each.name not in cls.not_taken]


def _redacted_group(values: Mapping[str, str], secret: bool) -> dict[str, str]:
    return dict.fromkeys(values, HIDDEN) if secret else redact(values)


def _is_secret_in_group(cls: type[Config], key: str) -> bool:
    """Return whether a value below a prefix is secret; a key outside of all groups is secret."""
    for attribute in _accepted_properties(cls):
        for prefix in attribute.metadata.get("prefixes", ()):
            if key.startswith(prefix):
                return attribute.metadata["secret"] or is_secret_option(key[len(prefix) :])
    return True


def _keys(attribute: attrs.Attribute[Any]) -> tuple[str, ...]:
    if "prefixes" in attribute.metadata:
        return ()
    return (_key(attribute), *attribute.metadata.get("also", ()))


def _key(attribute: attrs.Attribute[Any]) -> str:
    return attribute.metadata.get("name") or attribute.name


def _bare(hint: Any) -> Any:
    """Return ``X`` for ``X | None``."""
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
    stated_unit: str | None = None,
) -> Any:
    bare = _bare(hint)
    unit = attribute.metadata.get("unit")
    seen = HIDDEN if attribute.metadata.get("secret") else _without_access(value)
    wanted = _type_name(hint) + (f" ({stated_unit or unit})" if unit else "")
    wanted += " or a string such as '10s' or '500ms'" if unit in UNITS else ""
    refused = InvalidInputError(f"{impl}: property {key!r} must be {wanted}, not {seen}")
    if get_origin(bare) in (tuple, list):
        if not isinstance(value, str | list | tuple):
            raise refused
        items = value.split(",") if isinstance(value, str) else value
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
            return _in_unit(bare, value, unit, stated_unit or unit)
        return bare(value)
    except (InvalidInputError, TypeError, ValueError):
        raise refused from None


def _in_unit(bare: type[int] | type[float], value: Any, unit: str, stated_unit: str) -> int | float:
    """Convert a duration to the unit of its property.

    Raises:
        ValueError: the value is not a duration, or the property is an integer and the value is not
            a whole number of units.
    """
    if isinstance(value, str):
        # Numbers with a sign or an exponent are validated by the property's own bounds.
        try:
            value = float(value)
        except ValueError:
            value = parse_duration(value, stated_unit).total_seconds() / UNITS[stated_unit]
    if stated_unit != unit:
        value = value * UNITS[stated_unit] / UNITS[unit]
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
    from difflib import get_close_matches  # slow to import and rarely needed

    close = get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else "known are " + ", ".join(sorted(known))
    return f"{impl}: property {full_key!r} is unknown; {hint}"
