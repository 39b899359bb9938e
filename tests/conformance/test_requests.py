"""The requests that the kit sends, and how it handles unusual answers.

A malformed request would be rejected for the wrong reason and prove nothing.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from attrs import evolve

from lance_namespace_client import models
from lance_namespace_client.errors import InvalidInputError
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.conformance.exchange import Reply
from lance_namespace_impls.conformance.http_target import HttpTarget
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.requirement import Result
from lance_namespace_impls.conformance.runner import Options, run
from lance_namespace_impls.conformance.scenarios.consistency import equivalence, side_effects
from lance_namespace_impls.server import serving
from tests.behaviour.memory import LEVELS, MemoryConfig

from .targets import memory
from .wrong.python import WrongTarget

REFUSED = [
    *((operation, request) for operation, _, request in side_effects._REFUSED),
    *((operation, request) for operation, _, request in equivalence._REFUSED),
    *((operation, request) for _, (operation, _, request) in equivalence._REFUSED_OF_NAMESPACES),
]


def dropped_keys(given: Any, read: Any) -> list[str]:
    """Return the keys of a request that its model drops."""
    if isinstance(given, dict) and isinstance(read, dict):
        lost = [key for key in given if key not in read]
        return lost + [
            key for each in given.keys() & read for key in dropped_keys(given[each], read[each])
        ]
    if isinstance(given, list) and isinstance(read, list):
        return [key for pair in zip(given, read, strict=True) for key in dropped_keys(*pair)]
    return []


def test_requests_that_must_be_rejected_use_existing_fields() -> None:
    for operation, request in REFUSED:
        model = getattr(models, OPERATIONS[operation].request)
        try:
            read = model.from_dict({"id": ["t"], **request}).to_dict()
        except InvalidInputError as wrong:  # a value of the wrong type in an existing field
            assert re.search("ranges.*start_version", wrong.message)
        else:
            assert dropped_keys(request, read) == [], (operation, request)


class Plain(LEVELS["mixed"]):  # type: ignore[misc, name-defined]
    """A catalog that rejects names with special characters."""

    def require_valid_name(self, identifier: Any) -> None:
        for name in identifier:
            if not re.fullmatch(r"[A-Za-z0-9_.$-]+", name):
                raise InvalidInputError(f"{name!r} has a character that cannot be in a name here")

    def declare_table(self, request: Any) -> Any:
        self.require_valid_name(models.DeclareTableRequest.coerce(request).id or [])
        return super().declare_table(request)


def test_a_server_may_reject_unusual_names(tmp_path: Any) -> None:
    with serving(Plain(MemoryConfig(root=str(tmp_path)))) as uri:
        target = HttpTarget(uri)
        outcome = run(target, Options(only=("LN-WIRE-ID-*",)))
        target.close()
    assert [(f.check.id, f.expected, f.got) for f in outcome.failed()] == []
    results = {f.check.id: f.result for f in outcome.findings}
    assert results["LN-WIRE-ID-010"] is Result.PASS


@pytest.mark.parametrize("answer", [{"tables": 5}, "text"], ids=["number", "text"])
def test_a_malformed_answer_is_reported_with_its_script_and_reply(
    tmp_path: Any, answer: Any
) -> None:
    def act(target: WrongTarget, step: Any) -> Reply | None:
        return Reply(step=step, answer=answer) if step.operation == "ListTables" else None

    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed"), "odd"), act)
    found = run(target, Options(only=("LN-PAGE-001", "LN-PAGE-007"))).failed()
    assert found
    for each in found:
        assert each.expected and each.got
        assert each.script and each.reply is not None


@pytest.mark.parametrize(
    "field",
    ["table", "namespace", "table_uri", "stats", "properties", "is_only_declared"],
)
def test_a_description_with_a_field_of_another_table_is_caught(tmp_path: Any, field: str) -> None:
    """One field has the value of the first described table, or `is_only_declared` is inverted."""
    seen: dict[str, Any] = {}

    def act(target: WrongTarget, step: Any) -> Reply | None:
        if step.operation != "DescribeTable" or not step.request.get("load_detailed_metadata"):
            return None
        reply = target.correct.call(step)
        told = dict(reply.answer or {})
        if field == "is_only_declared":
            told[field] = not told.get(field)
        elif told.get(field) is not None:
            told[field] = seen.setdefault(field, told[field])
        return evolve(reply, answer=told)

    target = WrongTarget(PythonTarget(memory(tmp_path, "mixed"), "mixed up"), act)
    found = run(target, Options(only=("LN-TABLE-DESCRIBE-017",))).failed()
    assert [each.check.id for each in found] == ["LN-TABLE-DESCRIBE-017"]
