"""Wrong namespaces: versions, tags, branches, columns, indices and transactions."""

from __future__ import annotations

import re
from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import asked, columns_of, habit, key_of, known, less, whole


def given(step: Step, field: str) -> list[Any]:
    value = step.request.get(field)
    return list(value) if isinstance(value, list) else []


def has_branch(target: WrongTarget, ident: Any, branch: Any) -> bool:
    """Return whether the branch exists."""
    found = names_of_map(target, "ListTableBranches", "branches", id=ident)
    return branch in found


def names_of_map(target: WrongTarget, operation: str, key: str, **request: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    token: str | None = None
    while True:
        page = known(target, operation, **request, **({"page_token": token} if token else {}))
        found.update(page.get(key) or {})
        token = page.get("page_token")
        if not token:
            return found


# --- versions


# rest.yaml, RestoreTable: "Makes the contents of an earlier version current again, by committing a
# new version that holds them"; the metadata of the schema belongs to a version too.
@habit("RestoreTable puts the newest schema metadata over the restored version's", "RestoreTable")
def metadata_stays(target: WrongTarget, step: Step) -> Reply | None:
    more = {"branch": step.request["branch"]} if step.request.get("branch") else {}
    ident = step.request.get("id")
    old = known(target, "DescribeTable", id=ident, load_detailed_metadata=True, **more).get(
        "metadata"
    )
    reply = target.correct.call(step)
    if reply.succeeded and old:
        now = known(target, "DescribeTable", id=ident, load_detailed_metadata=True, **more)
        if {**(now.get("metadata") or {}), **old} != (now.get("metadata") or {}):
            target.ask("UpdateTableSchemaMetadata", id=ident, metadata=old, **more)
    return reply


# --- tags


TAGS = "after-version:"


# semantics.md, Paging: "Walking pages yields each name once".
@habit("pages of tags go on after the last version, so that other tags of it are left out")
def after_version(target: WrongTarget, step: Step) -> Reply | None:
    token, limit = step.request.get("page_token"), step.request.get("limit")
    mine = isinstance(token, str) and token.startswith(TAGS)
    if step.operation != "ListTableTags":
        return Reply(step=step, code=13, message="another listing's token") if mine else None
    if (token and not mine) or (limit is not None and (not whole(limit) or limit < 1)):
        return None
    if not target.ask("TableExists", id=step.request.get("id")).succeeded:
        return None
    first = less(target, step, "page_token", "limit")
    if not first.succeeded:
        return first
    tags = names_of_map(target, "ListTableTags", "tags", id=step.request.get("id"))
    after = 0
    if mine:
        number, of = token[len(TAGS) :].split(":", 1)
        if of != key_of(step):
            return Reply(step=step, code=13, message="another listing's token")
        after = int(number)
    left = sorted((told["version"], name) for name, told in tags.items() if told["version"] > after)
    page = left if limit is None else left[:limit]
    cut = len(page) < len(left) and left[-1][0] > page[-1][0]
    more = {"page_token": f"{TAGS}{page[-1][0]}:{key_of(step)}"} if cut else {}
    return Reply(step=step, answer={"tags": {name: tags[name] for _, name in page}, **more})


# rest.yaml, UpdateTableTag: "Makes an existing tag stand for another version"; GetTableTagVersion:
# "Returns the version that a tag points to".
@habit("GetTableTagVersion remembers what a tag stood for, also when it is moved")
def tag_cache(target: WrongTarget, step: Step) -> Reply | None:
    cache = target.memory.setdefault("cache", {})
    key = (key_of(step), step.request.get("tag"))
    if step.operation in ("CreateTableTag", "DeleteTableTag"):
        cache.pop(key, None)
        return None
    if step.operation != "GetTableTagVersion":
        return None
    reply = target.correct.call(step)
    if reply.succeeded:
        return evolve(reply, answer=cache.setdefault(key, dict(reply.answer or {})))
    return reply


# --- branches


# rest.yaml, ListTableBranchesResponse: "One page of a table's branches, the main branch left out".
@habit("the main branch is listed among the branches", "ListTableBranches")
def main_listed(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded or (reply.answer or {}).get("page_token"):
        return reply
    found = dict((reply.answer or {})["branches"])
    limit = step.request.get("limit")
    if whole(limit) and len(found) >= limit:
        return reply
    told = known(target, "DescribeTableVersion", id=step.request.get("id"), version=1).get(
        "version"
    )
    made = (told or {}).get("timestamp_millis") or 0
    size = (told or {}).get("manifest_size") or 0
    found["main"] = {"parentVersion": 0, "createAt": made // 1000, "manifestSize": size}
    return evolve(reply, answer={**(reply.answer or {}), "branches": found})


# rest.yaml, BranchContents.parentVersion: "Version number of the parent at which the branch
# starts".
@habit("parentVersion of a branch is the newest version of its parent", "ListTableBranches")
def parent_now(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    found: dict[str, Any] = {}
    for name, told in (reply.answer or {})["branches"].items():
        more = {"branch": told["parentBranch"]} if told.get("parentBranch") else {}
        now = known(target, "DescribeTableVersion", id=step.request.get("id"), **more).get(
            "version"
        )
        found[name] = {**told, "parentVersion": (now or {}).get("version", told["parentVersion"])}
    return evolve(reply, answer={**(reply.answer or {}), "branches": found})


# --- columns and metadata


# rest.yaml, AlterTableAlterColumnsRequest.alterations: "The changes, one entry a column".
@habit("only the first of several alterations is made", "AlterTableAlterColumns")
def first_alteration(target: WrongTarget, step: Step) -> Reply | None:
    entries = given(step, "alterations")
    if len(entries) < 2:
        return None
    names = columns_of(target, step.request.get("id"))
    if not all(isinstance(e, dict) and e.get("path") in names for e in entries):
        return None
    return asked(target, step, alterations=entries[:1])


# rest.yaml, UpdateTableSchemaMetadataRequest.branch: "Branch of the table to work on".
@habit(
    "UpdateTableSchemaMetadata of a branch writes to the main branch", "UpdateTableSchemaMetadata"
)
def metadata_of_main(target: WrongTarget, step: Step) -> Reply | None:
    branch = step.request.get("branch")
    if branch and has_branch(target, step.request.get("id"), branch):
        return less(target, step, "branch")
    return None


# --- transactions


# rest.yaml, DescribeTransaction, AlterTransaction: "A transaction that the server does not know ...
# answers TransactionNotFound".
@habit(
    "a transaction's identifier that is no UUID is invalid",
    "DescribeTransaction",
    "AlterTransaction",
)
def must_be_uuid(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    ident = step.request.get("id")
    if reply.code != 10 or not isinstance(ident, list):
        return reply
    text = "".join(str(name) for name in ident)
    return reply if re.fullmatch(r"[0-9a-fA-F-]{36}", text) else evolve(reply, code=13)
