"""ListOperations, and the operations that a target claims."""

from __future__ import annotations

from lance_namespace_client.operations import OPERATIONS

from ...lab import Failed, Lab
from ...requirement import check, observed
from ...sample_calls import missing_object_call

_GENERAL = "general specification, Namespace Operations"
_UNASKED = ("BatchCreateTableVersions", "BatchCommitTables", "ListOperations")


@check(
    "LN-OPERATIONS-001",
    "ListOperations returns only operations of the protocol, each once.",
    _GENERAL,
    "ListOperations",
    changes=False,
)
def names_known(lab: Lab) -> None:
    names = list(lab.ok("ListOperations").get("operations") or ())
    lab.same(sorted(names), sorted(set(names)), "the operations")
    older = {alias for row in OPERATIONS.values() for alias in row.aliases}
    unknown = [n for n in names if n not in OPERATIONS and n not in older and "V" not in n]
    lab.same(unknown, [], "the names that are not operations of the protocol")


@check(
    "LN-OPERATIONS-002",
    "An operation that ListOperations returns is supported: it does not fail with code 0.",
    _GENERAL,
    "ListOperations",
)
def claimed_work(lab: Lab) -> None:
    lab.ok("ListOperations")
    for operation in OPERATIONS:
        if operation in (lab.claimed or ()) and operation not in _UNASKED:
            reply = missing_object_call(lab, operation)
            if reply.code == 0:
                raise Failed(f"{operation} not to fail with code 0", reply.outcome(), reply)


@check(
    "LN-OPERATIONS-003",
    "An operation that ListOperations does not return fails with code 0 or has no route.",
    "rest.yaml, ListOperations: operations that are not listed result in Unsupported",
    "ListOperations",
)
def unclaimed_refused(lab: Lab) -> None:
    lab.ok("ListOperations")
    for operation in OPERATIONS:
        if operation not in (lab.claimed or ()) and operation not in _UNASKED:
            reply = missing_object_call(lab, operation)
            # Code 13 is also correct if the catalog cannot hold the identifier.
            if reply.code not in (0, 13):
                raise Failed(f"{operation} to fail with code 0", reply.outcome(), reply)


observed(
    "LN-OPERATIONS-004",
    "An operation that ListOperations returns succeeds at least once if it is called with valid requests.",
    _GENERAL,
)


@check("LN-OPERATIONS-005", "An unused name is not reported as taken.",
       'protocol semantics, "Errors": codes 2 and 5 are for existing objects',
       "CreateNamespace")  # fmt: skip
def fresh(lab: Lab) -> None:
    for reply in (lab.shape.no_namespace, lab.shape.no_table):
        if reply is not None and reply.code in (2, 3, 5, 9, 14, 23):
            raise Failed("an unused name to be available", reply.outcome(), reply)
