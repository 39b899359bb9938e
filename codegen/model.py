"""The data model of a specification: models, operations, error codes."""

from __future__ import annotations

import keyword
import re
from typing import Any

from attrs import define, evolve, field, frozen

# A field with one of these names would shadow a name in the annotations or methods of its model.
TAKEN = frozenset(
    {
        "bool",
        "bytes",
        "datetime",
        "dict",
        "float",
        "int",
        "list",
        "str",
        "coerce",
        "from_dict",
        "self",
        "to_dict",
    }
)


def snake(name: str) -> str:
    """Convert a name to snake_case; a Python keyword gets a trailing underscore."""
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name))
    text = re.sub(r"\W+", "_", text, flags=re.ASCII).lower()
    return text + "_" if keyword.iskeyword(text) else text


def attribute(key: str) -> str:
    """Return the attribute name of the field called `key`."""
    name = snake(key)
    return name + "_" if name in TAKEN else name


@frozen
class Type:
    """A field's type: its Python annotation and its JSON decoder."""

    annotation: str
    decoder: str
    decoders: frozenset[str]
    """Names of the functions that the decoder expression calls."""
    models: frozenset[str] = frozenset()
    nullable: bool = False

    @classmethod
    def plain(cls, annotation: str, decoder: str) -> Type:
        """Return a type without component types; `decoder` may be a call with arguments."""
        return cls(annotation, decoder, frozenset((decoder.partition("(")[0],)))

    @classmethod
    def of(cls, model: str) -> Type:
        """Return the type for a model."""
        return cls(model, f"model({model!r})", frozenset(("model",)), frozenset((model,)))

    def within(self, annotation: str, decoder: str) -> Type:
        """Wrap this type: it replaces ``{}`` in both `annotation` and `decoder`."""
        return evolve(
            self,
            annotation=annotation.format(self.annotation),
            decoder=decoder.format(self.decoder),
            decoders=self.decoders | {decoder.partition("(")[0]},
            nullable=False,
        )


ANYTHING = Type.plain("Any", "anything")


@define(kw_only=True)
class Field:
    """One field of a model."""

    key: str
    type: Type
    description: str
    required: bool
    default: Any = None
    optional_for_caller: bool = False
    """Whether the field is required on the wire but optional for callers, with a default."""

    @property
    def attribute(self) -> str:
        return attribute(self.key)

    @property
    def nullable(self) -> bool:
        return self.type.nullable

    @property
    def annotation(self) -> str:
        optional = (self.default is None and not self.required) or (self.required and self.nullable)
        return f"{self.type.annotation} | None" if optional else self.type.annotation


@define(kw_only=True)
class Model:
    """An attrs class."""

    name: str
    description: str
    fields: list[Field]

    @property
    def module(self) -> str:
        return snake(self.name)

    @property
    def models(self) -> list[str]:
        """Names of the other models in the types of the fields."""
        return sorted({name for each in self.fields for name in each.type.models} - {self.name})

    @property
    def decoders(self) -> list[str]:
        """Names of the functions that decode the fields."""
        return sorted({name for each in self.fields for name in each.type.decoders})

    @property
    def has_map_default(self) -> bool:
        """Whether a field is an empty map by default."""
        return any(each.default == {} for each in self.fields)

    def names(self, word: str) -> bool:
        """Return whether the annotation of any field contains `word`."""
        return any(re.search(rf"\b{word}\b", each.annotation) for each in self.fields)


@define(kw_only=True)
class QueryParameter:
    """A query parameter and the key of the request field that provides its value."""

    name: str
    key: str
    type: str
    required: bool


@define(kw_only=True)
class Operation:
    """An operation, with one or several routes."""

    name: str
    summary: str
    description: str
    tag: str
    http_method: str
    path: str
    request: str
    response: str
    path_fields: tuple[str, ...]
    query: list[QueryParameter]
    body: str
    body_field: str | None
    answer: str
    answer_field: str | None
    status: int
    success: str
    codes: tuple[int, ...]
    action: str
    repeatable: bool
    aliases: tuple[str, ...]

    @property
    def method_name(self) -> str:
        return snake(self.name)

    @property
    def constant(self) -> str:
        return snake(self.name).upper()

    @property
    def arguments(self) -> str:
        """The method's parameters after ``self``."""
        request = f"request: models.{self.request} | RequestLike"
        if self.http_method == "GET":  # a listing; it lists the root by default
            request += " | None = None"
        return f"{request}, data: ArrowData" if self.body == "ARROW" else request

    @property
    def returns(self) -> str:
        return "pa.RecordBatchReader" if self.answer == "ARROW" else f"models.{self.response}"

    @property
    def async_arguments(self) -> str:
        """The asynchronous method's parameters after ``self``."""
        return self.arguments.replace("ArrowData", "AsyncArrowData")

    @property
    def async_returns(self) -> str:
        return "AsyncRows" if self.answer == "ARROW" else self.returns


@define(kw_only=True)
class ErrorKind:
    """An entry of the error table."""

    code: int
    name: str
    status: int
    description: str
    extends: str | None = None
    code_name: str = field(default="")
    """Name of the basic error with the same code."""

    @property
    def class_name(self) -> str:
        return error_class(self.name)

    @property
    def constant(self) -> str:
        return snake(self.name).upper()

    @property
    def code_constant(self) -> str:
        return snake(self.code_name).upper()

    @property
    def base(self) -> str:
        return "LanceNamespaceError" if self.extends is None else error_class(self.extends)


def error_class(name: str) -> str:
    """Return the class name of an error."""
    return name if name.endswith("Error") else f"{name}Error"


@define(kw_only=True)
class Spec:
    """A complete specification."""

    version: str
    models: list[Model]
    operations: list[Operation]
    errors: list[ErrorKind]
    common_codes: tuple[int, ...]
    document: dict[str, Any]
