"""What codegen knows of a specification: models, operations, error codes."""

from __future__ import annotations

import keyword
import re
from typing import Any

from attrs import define, frozen


def snake(name: str) -> str:
    """Write a name in snake_case; a Python keyword gets a trailing underscore."""
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name))
    text = re.sub(r"\W+", "_", text).lower()
    return text + "_" if keyword.iskeyword(text) else text


@frozen
class Type:
    """A field's type: how Python names it and how it is read from JSON."""

    annotation: str
    decoder: str
    models: frozenset[str] = frozenset()
    nullable: bool = False

    @property
    def decoders(self) -> frozenset[str]:
        """Names of the functions that the decoder calls."""
        return (
            frozenset(re.findall(r"\b[a-z]+\b", re.sub(r'"[^"]*"|\w+=', "", self.decoder)))
            & DECODERS
        )

    @property
    def is_plain(self) -> bool:
        """Whether the value is a string, a number or a boolean."""
        return self.annotation in ("str", "int", "float", "bool")


DECODERS = frozenset(
    "anything string boolean integer number binary timestamp choice array mapping nullable model".split()  # noqa: SIM905
)


@define(kw_only=True)
class Field:
    """One field of a model."""

    key: str
    type: Type
    description: str
    required: bool
    default: Any = None

    @property
    def attribute(self) -> str:
        return snake(self.key)

    @property
    def nullable(self) -> bool:
        return self.type.nullable

    @property
    def annotation(self) -> str:
        optional = (self.default is None and not self.required) or (self.required and self.nullable)
        return f"{self.type.annotation} | None" if optional else self.type.annotation

    @property
    def default_code(self) -> str:
        return repr(self.default)

    @property
    def decoder(self) -> str:
        return self.type.decoder


@define(kw_only=True)
class Model:
    """One attrs class."""

    name: str
    description: str
    fields: list[Field]

    @property
    def module(self) -> str:
        return snake(self.name)


@define(kw_only=True)
class QueryParameter:
    name: str
    field: str
    type: str
    required: bool


@define(kw_only=True)
class Operation:
    """One operation, whatever the number of its routes."""

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
    repeatable: bool
    aliases: tuple[str, ...]

    @property
    def method_name(self) -> str:
        return snake(self.name)

    @property
    def constant(self) -> str:
        return snake(self.name).upper()

    @property
    def returns(self) -> str:
        return "pa.RecordBatchReader" if self.answer == "ARROW" else self.response


@define(kw_only=True)
class ErrorKind:
    """One row of the error table."""

    code: int
    name: str
    status: int
    description: str
    extends: str | None = None
    code_name: str = ""

    @property
    def class_name(self) -> str:
        return self.name if self.name.endswith("Error") else f"{self.name}Error"

    @property
    def constant(self) -> str:
        return snake(self.name).upper()

    @property
    def code_constant(self) -> str:
        return snake(self.code_name).upper()

    @property
    def base(self) -> str:
        if self.extends is None:
            return "LanceNamespaceError"
        return self.extends if self.extends.endswith("Error") else f"{self.extends}Error"


@define(kw_only=True)
class Spec:
    """A whole specification."""

    version: str
    models: list[Model]
    operations: list[Operation]
    errors: list[ErrorKind]
    common_codes: tuple[int, ...]
    document: dict[str, Any]
