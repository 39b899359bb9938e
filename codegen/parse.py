"""Converts a document to a `Spec`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import check
from .document import Document, Problem, SpecError
from .driver import drive, validate
from .model import ErrorKind, Spec
from .operations import OperationReader
from .schemas import SchemaReader

# Errors that the client itself raises, regardless of the specification.
NEEDED_ERRORS = {
    "Unsupported": 0,
    "InvalidInput": 13,
    "ConcurrentModification": 14,
    "PermissionDenied": 15,
    "Unauthenticated": 16,
    "ServiceUnavailable": 17,
    "Internal": 18,
    "Throttling": 21,
}


def parse(document: Document) -> Spec:
    """Parse a specification.

    Raises:
        SpecError: a part is invalid, missing, or unsupported.
    """
    for step in (check.missing_parts, validate, check.problems):
        if problems := list(step(document)):
            raise SpecError(problems)
    parsed = drive(document)
    schemas = SchemaReader(document, parsed.models)
    models = schemas.models()
    routes = OperationReader(document, parsed.endpoints, models)
    operations = routes.operations()
    if problems := [*schemas.problems, *routes.problems, *_wrong_errors(document)]:
        raise SpecError(problems)
    return Spec(
        version=str(document.data["info"]["version"]),
        models=models,
        operations=operations,
        errors=list(_errors(document)),
        common_codes=tuple(document.data["x-common-codes"]),
        document=document.data,
    )


def _rows(document: Document) -> Iterator[tuple[int, dict[str, Any]]]:
    yield from enumerate(document.data["x-error-codes"])


def _wrong_errors(document: Document) -> Iterator[Problem]:
    plain = {row["name"]: row["code"] for _, row in _rows(document) if "extends" not in row}
    names: set[str] = set()
    codes: set[int] = set()
    for index, row in _rows(document):
        place = ("x-error-codes", index)
        if row["name"] in names:
            yield document.problem((*place, "name"), f"error {row['name']} is defined twice")
        names.add(row["name"])
        if "extends" not in row:
            if row["code"] in codes:
                yield document.problem(
                    (*place, "code"), f"error code {row['code']} is defined twice"
                )
            codes.add(row["code"])
        elif row["extends"] not in plain:
            yield document.problem(
                (*place, "extends"),
                f"{row['extends']} is not an error that other errors can extend",
            )
        elif row["code"] not in plain.values():
            yield document.problem(
                (*place, "code"), f"{row['name']}: no basic error has code {row['code']}"
            )
    for index, code in enumerate(document.data["x-common-codes"]):
        if code not in codes:
            yield document.problem(("x-common-codes", index), f"no error has code {code}")
    for name, code in NEEDED_ERRORS.items():
        if plain.get(name) != code:
            yield document.problem(
                ("x-error-codes",), f"the client needs the error {name} with code {code}; add it"
            )


def _errors(document: Document) -> Iterator[ErrorKind]:
    """Return the basic errors by code, followed by the errors that extend one of them."""
    names = {row["code"]: row["name"] for _, row in _rows(document) if "extends" not in row}
    for _, row in sorted(
        _rows(document), key=lambda found: ("extends" in found[1], found[1]["code"])
    ):
        yield ErrorKind(
            code=row["code"],
            name=row["name"],
            status=row["status"],
            description=row["description"],
            extends=row.get("extends"),
            code_name=names.get(row["code"], row["name"]),
        )
