# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The base class of all models: attrs classes that convert to and from the protocol's JSON."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias, TypeVar

__all__ = ["Model", "RequestLike", "SupportsModelDump"]

T = TypeVar("T")
Decoder: TypeAlias = Callable[[Any, str], T]


class SupportsModelDump(Protocol):
    """An object that converts itself to a dict, such as a pydantic model or a pylance request."""

    def model_dump(self) -> dict[str, Any]:
        """Return the values of the fields by name."""


RequestLike: TypeAlias = Mapping[str, Any] | SupportsModelDump
"""Alternatives to the model of a request: a dict, or an object with ``model_dump()``."""


def _invalid(where: str, expected: str, value: Any) -> Exception:
    try:
        shown = repr(value)
    except RecursionError:
        shown = "a value that is nested too deeply"
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return _refused(f"{where} must be {expected}, not {shown}")


def _refused(message: str) -> Exception:
    from .errors import InvalidInputError

    return InvalidInputError(message)


def anything(value: Any, where: str) -> Any:
    """Return any JSON value unchanged."""
    return value


def string(value: Any, where: str) -> str:
    """Decode a JSON string."""
    if not isinstance(value, str):
        raise _invalid(where, "a string", value)
    return value


def text(min_length: int = 0, max_length: int | None = None) -> Decoder[str]:
    """Decode a JSON string with `min_length` to `max_length` characters."""

    def decode(value: Any, where: str) -> str:
        found = string(value, where)
        _check_size(
            len(found),
            min_length,
            max_length,
            "a string of {} characters",
            where,
            found,
        )
        return found

    return decode


def _check_size(
    size: int, least: int, most: int | None, expected: str, where: str, value: Any
) -> None:
    if size < least:
        raise _invalid(where, expected.format(f"{least} or more"), value)
    if most is not None and size > most:
        raise _invalid(where, expected.format(f"at most {most}"), value)


def boolean(value: Any, where: str) -> bool:
    """Decode a JSON boolean."""
    if not isinstance(value, bool):
        raise _invalid(where, "true or false", value)
    return value


def integer(minimum: int | None = None, maximum: int | None = None) -> Decoder[int]:
    """Decode a whole number from `minimum` to `maximum`, both inclusive."""

    def decode(value: Any, where: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise _invalid(where, "a whole number", value)
        if minimum is not None and value < minimum:
            raise _invalid(where, f"{minimum} or more", value)
        if maximum is not None and value > maximum:
            raise _invalid(where, f"{maximum} or less", value)
        return value

    return decode


def number(value: Any, where: str) -> float:
    """Decode a JSON number."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _invalid(where, "a number", value)
    return value


def binary(value: Any, where: str) -> bytes:
    """Decode bytes, which are base64-encoded in JSON."""
    if isinstance(value, bytes):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise _invalid(where, "base64 text", value) from None


def timestamp(value: Any, where: str) -> datetime:
    """Decode an RFC 3339 timestamp."""
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _invalid(where, "an RFC 3339 timestamp", value) from None


def choice(*allowed: str) -> Decoder[Any]:
    """Decode a string that must be one of `allowed`."""

    def decode(value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise _invalid(where, "one of " + ", ".join(allowed), value)
        return value

    return decode


def array(
    item: Decoder[T],
    min_items: int = 0,
    max_items: int | None = None,
    *,
    unique: bool = False,
) -> Decoder[list[T]]:
    """Decode a JSON array of `min_items` to `max_items` items.

    Args:
        item: decodes an item.
        min_items: minimum number of items.
        max_items: maximum number of items; None for no maximum.
        unique: whether to reject an item that repeats an earlier one.
    """

    def decode(value: Any, where: str) -> list[T]:
        if not isinstance(value, list | tuple):
            raise _invalid(where, "an array", value)
        _check_size(
            len(value), min_items, max_items, "an array of {} items", where, value
        )
        found = [item(entry, f"{where}[{index}]") for index, entry in enumerate(value)]
        if unique:
            seen: set[str] = set()
            for entry in value:
                # A string is its own key: the text of other JSON values never starts like this.
                key = f"'{entry}" if isinstance(entry, str) else _json(entry)
                if key in seen:
                    raise _invalid(where, "an array without repeated items", entry)
                seen.add(key)
        return found

    return decode


def one_or_many(item: Decoder[T]) -> Decoder[list[T]]:
    """Decode a JSON array with at least one item, or a single item."""
    several = array(item, 1)

    def decode(value: Any, where: str) -> list[T]:
        return several(value if isinstance(value, list | tuple) else [value], where)

    return decode


def mapping(item: Decoder[T]) -> Decoder[dict[str, T]]:
    """Decode a JSON object as a dict."""

    def decode(value: Any, where: str) -> dict[str, T]:
        if not isinstance(value, Mapping):
            raise _invalid(where, "an object", value)
        return {
            string(key, where): item(entry, f"{where}.{key}")
            for key, entry in value.items()
        }

    return decode


def nullable(item: Decoder[T]) -> Decoder[T | None]:
    """Decode null, or a value that `item` decodes."""

    def decode(value: Any, where: str) -> T | None:
        return None if value is None else item(value, where)

    return decode


def model(name: str) -> Decoder[Any]:
    """Decode a JSON object as the model `name`, whose module is loaded on first use."""

    def decode(value: Any, where: str) -> Any:
        from . import models

        cls: type[Model] = getattr(models, name)
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise _invalid(where, f"an object with {_listed(cls)}", value)
        return cls.from_dict(value, where)

    decode.__dict__["model"] = name
    return decode


class Wire(NamedTuple):
    """The JSON representation of a model's field."""

    attribute: str
    key: str
    decode: Decoder[Any]
    default: Any = None
    required: bool = False
    nullable: bool = False
    optional_for_caller: bool = False
    """Whether callers may omit a required field; the default is then sent."""


def _encode(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [_encode(entry) for entry in value]
    if isinstance(value, Mapping):
        return {key: _encode(entry) for key, entry in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value


def _json(value: Any) -> str:
    return json.dumps(_encode(value), sort_keys=True)


class Model:
    """A request, a response, or a part of either.

    An absent optional field is ``None``, or the default that the specification defines.
    """

    __slots__ = ()

    _wire: ClassVar[tuple[Wire, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object as plain dicts, lists and scalars.

        Absent fields and fields with default values are omitted; required fields are always
        included.
        """
        out: dict[str, Any] = {}
        for attribute, key, _, default, required, *_ in self._wire:
            value = getattr(self, attribute)
            if required or (value is not None and value != default):
                out[key] = _encode(value)
        return out

    def model_dump(self) -> dict[str, Any]:
        """Return the result of `to_dict`; pylance calls this method.

        It calls it to request new storage options before the old ones expire.
        """
        return self.to_dict()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str | None = None) -> Self:
        """Build the model from a JSON object; unknown keys are ignored, null counts as absent.

        Args:
            data: the JSON object.
            where: name of the object in messages; defaults to its class name.

        Raises:
            InvalidInputError: code 13, a field is missing or has the wrong type, or fields are
                nested too deeply.
        """
        if where is not None:
            return cls._decoded(data, where)
        try:
            return cls._decoded(data, cls.__name__)
        except RecursionError:
            raise _refused(
                f"{cls.__name__} is nested too deeply; remove levels"
            ) from None

    @classmethod
    def _decoded(cls, data: Mapping[str, Any], where: str) -> Self:
        if not isinstance(data, Mapping):
            raise _invalid(where, "an object", data)
        values: dict[str, Any] = {}
        for attribute, key, decode, default, required, null_ok, _ in cls._wire:
            value = data.get(key)
            if value is not None:
                values[attribute] = decode(value, f"{where}.{key}")
            elif not required:
                values[attribute] = (
                    dict(default) if isinstance(default, dict) else default
                )
            elif null_ok and key in data:
                values[attribute] = None
            else:
                alternative = "; None is also allowed" if null_ok else ""
                raise _refused(f"{where}.{key} is required{alternative}")
        return cls(**values)

    @classmethod
    def coerce(cls, request: Self | RequestLike | None) -> Self:
        """Convert a request, which is this model, a dict, or an object with ``model_dump()``
        (pydantic).

        An ``id`` of ``""`` in a dict is the root, like an absent ``id``. An unknown key in a dict
        is an error, because it is probably a typo; additional fields in other tools' models are
        ignored.

        Raises:
            InvalidInputError: code 13, the request has another type, or a field is invalid or
                unknown.
        """
        if isinstance(request, cls):
            return request
        if request is None:
            return cls.from_dict({})
        if isinstance(request, Mapping):
            if request.get("id") == "":
                request = {key: value for key, value in request.items() if key != "id"}
            cls._refuse_unknown(request)
            return cls.from_dict(cls._filled(request))
        if isinstance(request, Model):
            raise _invalid("the request", f"a {cls.__name__}", request)
        dump: Callable[..., Any] | None = getattr(request, "model_dump", None)
        if dump is None:
            raise _invalid("the request", f"a {cls.__name__} or a dict", request)
        if hasattr(type(request), "model_fields"):
            return cls.from_dict(dump(by_alias=True, exclude_none=True))
        return cls.from_dict(dump())

    @classmethod
    def _filled(cls, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return a caller's dict with defaults for omitted fields, including nested dicts."""
        from . import models

        filled: dict[str, Any] = {
            w.key: w.default for w in cls._wire if w.optional_for_caller
        }
        filled.update(request)
        for wire in cls._wire:
            inner = vars(wire.decode).get("model")
            if inner is not None and isinstance(value := filled.get(wire.key), Mapping):
                filled[wire.key] = getattr(models, inner)._filled(value)
        return filled

    @classmethod
    def _refuse_unknown(cls, request: Mapping[str, Any]) -> None:
        known = [wire.key for wire in cls._wire]
        unknown = [key for key in request if key not in known]
        if not unknown:
            return
        from difflib import get_close_matches

        close = get_close_matches(str(unknown[0]).lower(), known, 1)
        advice = f"did you mean {close[0]!r}?" if close else f"it has {_listed(cls)}"
        raise _refused(f"{cls.__name__} has no field {unknown[0]!r}; {advice}")


def _listed(cls: type[Model]) -> str:
    """List the fields of a model."""
    return ", ".join(wire.key for wire in cls._wire)
