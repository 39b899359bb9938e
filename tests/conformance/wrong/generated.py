"""Wrong namespaces made by rule: every required field of an answer, every code, every status."""

from __future__ import annotations

from lance_namespace_client import models
from lance_namespace_client.operations import COMMON_CODES, OPERATIONS, Body
from lance_namespace_impls.conformance.observe import STATUSES

from .python import Act, answer

__all__ = ["CODES", "FIELDS", "STATUS_CODES", "dropped", "of_another_type"]

FIELDS = [
    (operation.name, wire.key)
    for operation in OPERATIONS.values()
    if operation.answer is Body.JSON
    for wire in getattr(models, operation.response)._wire
    if wire.required
]
"""Every required field of an answer."""

CODES = [
    (operation.name, code, (code + 1) % 24)
    for operation in OPERATIONS.values()
    for code in operation.codes
    if (code + 1) % 24 not in {*COMMON_CODES, *operation.codes}
]
"""Every code of an operation and a neighbour that the operation may not answer."""

STATUS_CODES = sorted(STATUSES)


def dropped(operation: str, key: str) -> Act:
    return answer(operation, lambda a: {k: v for k, v in a.items() if k != key})


def of_another_type(operation: str, key: str) -> Act:
    return answer(operation, lambda a: {**a, key: {"not": "this"} if a[key] != {} else 5})
