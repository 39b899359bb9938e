"""Wrong namespaces: versions, tags and branches."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from lance_namespace_impls.conformance.exchange import Reply, Step

from ..python import WrongTarget
from .asking import (
    READS,
    asked,
    changed_answer,
    habit,
    key_of,
    known,
    less,
    numbers_of,
    whole,
)

# --- versions


# BatchDeleteTableVersions: "Deletes every version of the table that lies in one of the given
# ranges".
@habit("only the first of several ranges is deleted", "BatchDeleteTableVersions")
def first_range(target: WrongTarget, step: Step) -> Reply | None:
    ranges = step.request.get("ranges")
    if isinstance(ranges, list) and len(ranges) > 1:
        return asked(target, step, ranges=ranges[:1])
    return None


# BatchDeleteTableVersions.deleted_count: "Number of versions that existed and were removed".
@habit("deleted_count is the length of the ranges", "BatchDeleteTableVersions")
def length_of_ranges(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    bounds = [(r["start_version"], r["end_version"]) for r in step.request.get("ranges") or ()]
    if not bounds or not all(0 < start <= end for start, end in bounds):
        return reply
    count = sum(end - start for start, end in bounds)
    return evolve(reply, answer={**(reply.answer or {}), "deleted_count": count})


# BatchCreateTableVersions: "all entries are committed or none".
@habit(
    "a batch of versions stops at the entry that fails and keeps those before",
    "BatchCreateTableVersions",
)
def keeps_before(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code in (4, 14):
        for entry in step.request.get("entries") or ():
            if not isinstance(entry, dict):
                break
            if not target.ask("CreateTableVersion", **entry).succeeded:
                break
    return reply


# RestoreTable: "the versions in between stay", "Only a manifest is written": their tags stay too.
@habit("RestoreTable removes the tags of later versions", "RestoreTable")
def later_tags(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded or step.request.get("branch"):
        return reply
    tags = known(target, "ListTableTags", id=step.request["id"]).get("tags") or {}
    for name, told in tags.items():
        if not told.get("branch") and told["version"] > step.request["version"]:
            target.ask("DeleteTableTag", id=step.request["id"], tag=name)
    return reply


# semantics.md, Paging: "Walking pages yields each name once".
@habit(
    "a later page of a descending listing begins with the version the last one ended with",
    "ListTableVersions",
)
def seen_twice(target: WrongTarget, step: Step) -> Reply | None:
    ended = target.memory.setdefault("ended", {})
    limit, token = step.request.get("limit"), step.request.get("page_token")
    if step.request.get("descending") is not True or not whole(limit) or limit < 2:
        return None
    if not isinstance(token, str | None):
        return None
    if token not in ended:
        reply = target.correct.call(step)
    else:
        reply = asked(target, step, limit=limit - 1)
        if reply.succeeded:
            rest = list((reply.answer or {})["versions"])
            reply = changed_answer(reply, versions=[ended[token], *rest])
    if reply.succeeded and (reply.answer or {}).get("page_token"):
        ended[(reply.answer or {})["page_token"]] = (reply.answer or {})["versions"][-1]
    return reply


# BatchDeleteTableVersions: "each range holds its `start_version` and not its `end_version`".
@habit("a range of versions to delete holds its end too", "BatchDeleteTableVersions")
def end_included(target: WrongTarget, step: Step) -> Reply | None:
    ranges = step.request.get("ranges")
    if not isinstance(ranges, list) or not all(isinstance(r, dict) for r in ranges):
        return None
    latest = max(numbers_of(target, step.request.get("id"), step.request.get("branch")), default=0)
    moved = []
    for span in ranges:
        start, end = span.get("start_version"), span.get("end_version")
        if whole(start) and whole(end) and start < end < latest:
            span = {**span, "end_version": end + 1}
        moved.append(span)
    return asked(target, step, ranges=moved)


# VersionRange.end_version: "-1 takes in every version from the start on".
@habit("an end of -1 deletes all old versions, whatever the start", "BatchDeleteTableVersions")
def open_end_takes_all(target: WrongTarget, step: Step) -> Reply | None:
    ranges = step.request.get("ranges")
    if not isinstance(ranges, list) or not all(isinstance(r, dict) for r in ranges):
        return None
    return asked(
        target, step,
        ranges=[{**r, "start_version": 0} if r.get("end_version") == -1 else r for r in ranges],
    )  # fmt: skip


# BatchDeleteTableVersionsRequest.ranges: "numbers in them that do not exist are passed over".
@habit(
    "a range that names a version that is gone deletes nothing: version not found",
    "BatchDeleteTableVersions",
)
def gaps_refused(target: WrongTarget, step: Step) -> Reply | None:
    ranges = step.request.get("ranges")
    if not isinstance(ranges, list) or not all(isinstance(r, dict) for r in ranges):
        return None
    there = numbers_of(target, step.request.get("id"), step.request.get("branch"))
    for span in ranges:
        start, end = span.get("start_version"), span.get("end_version")
        if not whole(start) or not whole(end) or not 0 < start < end or not there:
            return None
        if end <= max(there) and set(range(start, end)) - set(there):
            return Reply(step=step, code=11, message=f"no version between {start} and {end}")
    return None


# DescribeTableVersion: "A version that is not there, or was cleaned up, answers
# TableVersionNotFound".
@habit("a version that was once described is still described after it was deleted")
def described_from_cache(target: WrongTarget, step: Step) -> Reply | None:
    cache = target.memory.setdefault("described", {})
    if step.operation == "DescribeTableVersion":
        branch = step.request.get("branch")
        if not whole(step.request.get("version")) or not isinstance(branch, str | None):
            return None
        key = (key_of(step), step.request["version"], branch)
        if key not in cache:
            reply = target.correct.call(step)
            if reply.succeeded:
                cache[key] = reply.answer
            return reply
        return Reply(step=step, answer=cache[key])
    if step.operation in (
        "DropTable", "RenameTable", "DeregisterTable", "RegisterTable", "CreateTable",
        "DropNamespace", "DeleteTableBranch", "BatchCommitTables",
    ):  # fmt: skip
        cache.clear()
    return None


# DescribeTableVersionRequest.version: "Version number; the latest if left out", of `branch`.
@habit(
    "the latest version of a branch is that of the main branch's latest number",
    "DescribeTableVersion",
)
def latest_of_main(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("version") is not None or not step.request.get("branch"):
        return None
    if not numbers_of(target, step.request.get("id"), step.request["branch"]):
        return None
    main = numbers_of(target, step.request.get("id"))
    return asked(target, step, version=main[-1])


# RestoreTable: "the versions in between stay"; RestoreTableRequest: "adds a version and removes
# none".
@habit("RestoreTable takes away the versions that it goes back over", "RestoreTable")
def rolls_back(target: WrongTarget, step: Step) -> Reply | None:
    ident, branch = step.request.get("id"), step.request.get("branch")
    reply = target.correct.call(step)
    if reply.succeeded and whole(step.request.get("version")):
        now = numbers_of(target, ident, branch)[-1]
        start = step.request["version"] + 1
        if start < now:
            span = {"start_version": start, "end_version": now}
            more = {"branch": branch} if branch else {}
            target.ask("BatchDeleteTableVersions", id=ident, ranges=[span], **more)
    return reply


# RestoreTable: "by committing a new version that holds them"; "this adds a version".
@habit("RestoreTable of the version that is current adds no version", "RestoreTable")
def nothing_to_restore(target: WrongTarget, step: Step) -> Reply | None:
    now = numbers_of(target, step.request.get("id"), step.request.get("branch"))
    if now and step.request.get("version") == now[-1]:
        return Reply(step=step, answer={})
    return None


# DescribeTableResponse.version: "Version that was described"; "the latest by default", and a
# restore commits "a new version".
@habit("after a restore DescribeTable tells the number that was restored, until the next change")
def restored_number(target: WrongTarget, step: Step) -> Reply | None:
    restored = target.memory.setdefault("restored", {})
    request = step.request
    if step.operation == "DescribeTable":
        reply = target.correct.call(step)
        latest = all(request.get(k) is None for k in ("version", "tag", "branch"))
        if latest and key_of(step) in restored and (reply.answer or {}).get("version") is not None:
            return changed_answer(reply, version=restored[key_of(step)])
        return reply
    if step.operation == "RestoreTable" and not request.get("branch"):
        reply = target.correct.call(step)
        if reply.succeeded:
            restored[key_of(step)] = request["version"]
        return reply
    if not step.operation.startswith(READS):
        restored.pop(key_of(step), None)
    return None


# CreateTableVersion: "A server whose tables are managed by storage alone ... answers Unsupported";
# CreateTableVersionRequest: "Records a new version of a table".
@habit(
    "CreateTableVersion says that it recorded a version that it has nowhere to keep",
    "CreateTableVersion",
)
def records_nothing(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code not in (0, 19):
        return reply
    version = {k: step.request.get(k) for k in ("version", "manifest_path", "manifest_size")}
    return Reply(step=step, answer={"version": {k: v for k, v in version.items() if v is not None}})


# CommitTableOperation: "exactly one of its fields must be given, else the request is InvalidInput".
@habit(
    "of an entry with several operations BatchCommitTables carries out the first",
    "BatchCommitTables",
)
def first_operation(target: WrongTarget, step: Step) -> Reply | None:
    operations = step.request.get("operations")
    if not isinstance(operations, list) or not all(isinstance(o, dict) for o in operations):
        return None
    fields = (
        "declare_table", "create_table_version", "delete_table_versions", "deregister_table",
    )  # fmt: skip
    cut = []
    for each in operations:
        given = [field for field in fields if each.get(field) is not None]
        cut.append({given[0]: each[given[0]]} if len(given) > 1 else each)
    return asked(target, step, operations=cut) if cut != operations else None


# BatchCommitTablesRequest.operations: "The changes, applied in the order given".
@habit("BatchCommitTables declares all tables before it deregisters any", "BatchCommitTables")
def declares_first(target: WrongTarget, step: Step) -> Reply | None:
    operations = step.request.get("operations")
    if not isinstance(operations, list) or not all(isinstance(o, dict) for o in operations):
        return None
    order = sorted(range(len(operations)), key=lambda i: operations[i].get("declare_table") is None)
    reply = asked(target, step, operations=[operations[i] for i in order])
    if not reply.succeeded:
        return reply
    results: list[Any] = [None] * len(order)
    for place, result in zip(order, (reply.answer or {})["results"], strict=True):
        results[place] = result
    return changed_answer(reply, results=results)


# RenameTable: "The rows, versions and schema of the table stay as they are".
@habit("a rename takes only the latest version along", "RenameTable")
def only_latest_moves(target: WrongTarget, step: Step) -> Reply | None:
    request = step.request
    reply = target.correct.call(step)
    if reply.succeeded:
        parent = request.get("new_namespace_id")
        now = [*(request["id"][:-1] if parent is None else parent), request["new_table_name"]]
        target.ask(
            "BatchDeleteTableVersions", id=now, ranges=[{"start_version": 0, "end_version": -1}]
        )
    return reply


# --- tags


# UpdateTableTag.branch: "Branch the version belongs to; the main branch if left out".
@habit("a tag of a branch stays on it when it is moved without a branch", "UpdateTableTag")
def sticky_branch(target: WrongTarget, step: Step) -> Reply | None:
    if step.request.get("branch") or not step.request.get("tag"):
        return None
    told = known(target, "GetTableTagVersion", id=step.request.get("id"), tag=step.request["tag"])
    return asked(target, step, branch=told["branch"]) if told.get("branch") else None


# DropTable: "deletes its data on storage, all versions, indexes, tags and branches included".
@habit(
    "tags are kept by the table's name and come back with a new table", "DropTable", "CreateTable"
)
def tags_come_back(target: WrongTarget, step: Step) -> Reply | None:
    kept = target.memory.setdefault("kept", {})
    key = key_of(step)
    if step.operation == "DropTable":
        tags = known(target, "ListTableTags", id=step.request.get("id")).get("tags") or {}
        reply = target.correct.call(step)
        if reply.succeeded and tags:
            kept[key] = sorted(name for name, told in tags.items() if not told.get("branch"))
        return reply
    if key not in kept:
        return None
    reply = target.correct.call(step)
    if reply.succeeded:
        for name in kept.pop(key):
            target.ask("CreateTableTag", id=step.request["id"], tag=name, version=1)
    return reply


# UpdateTableTag: "A tag that is not there answers TableTagNotFound".
@habit("UpdateTableTag makes a tag that is not there", "UpdateTableTag")
def makes_tag(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code == 8:
        made = target.ask("CreateTableTag", **step.request)
        return evolve(made, step=step) if made.succeeded else reply
    return reply


# CreateTableTag: "the version is a whole number from 1 up, on the branch given or the main one".
@habit("the version of a tag on a branch must be one of the main branch, too", "CreateTableTag")
def checked_on_main(target: WrongTarget, step: Step) -> Reply | None:
    if not step.request.get("branch") or not whole(step.request.get("version")):
        return None
    main = numbers_of(target, step.request.get("id"))
    if main and step.request["version"] not in main:
        return Reply(step=step, code=11, message="no such version")
    return None


# ListTableTags: "Lists the tags of a table, page by page, each with the version it stands for".
@habit("tags that are on a branch are not listed", "ListTableTags")
def main_tags(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    tags = (reply.answer or {})["tags"]
    return changed_answer(reply, tags={n: t for n, t in tags.items() if not t.get("branch")})


# CreateTableTag: "Names a version of the table": the tag stays on that version.
@habit(
    "a tag of the latest version goes along with it",
    "CreateTableTag",
    "UpdateTableTag",
    "DeleteTableTag",
    "GetTableTagVersion",
    "ListTableTags",
)
def floats(target: WrongTarget, step: Step) -> Reply | None:
    floating = target.memory.setdefault("floating", set())
    ident, request = step.request.get("id"), step.request
    key = (key_of(step), request.get("tag"))
    if step.operation in ("CreateTableTag", "UpdateTableTag", "DeleteTableTag"):
        reply = target.correct.call(step)
        if reply.succeeded:
            floating.discard(key)
            on_main = step.operation != "DeleteTableTag" and not request.get("branch")
            if on_main and request["version"] == numbers_of(target, ident)[-1]:
                floating.add(key)
        return reply
    reply = target.correct.call(step)
    if not reply.succeeded:
        return reply
    if step.operation == "GetTableTagVersion":
        if key not in floating:
            return reply
        return changed_answer(reply, version=numbers_of(target, ident)[-1])
    tags = {}
    for name, told in (reply.answer or {})["tags"].items():
        moves = (key_of(step), name) in floating
        tags[name] = {**told, "version": numbers_of(target, ident)[-1]} if moves else told
    return changed_answer(reply, tags=tags)


# semantics.md, Paging: "each name once, in order, also when names are added or removed between
# pages".
@habit("a page token of the tags counts how many came before", "ListTableTags")
def counted_pages(target: WrongTarget, step: Step) -> Reply | None:
    limit, token = step.request.get("limit"), step.request.get("page_token")
    ours = target.memory.setdefault("offsets", {})
    if not whole(limit) or limit < 1 or not isinstance(token, str | None):
        return None
    if token and token not in ours:
        return None
    start, of = ours[token] if token else (0, key_of(step))
    if of != key_of(step):
        return Reply(step=step, code=13, message="the token is of another listing")
    reply = less(target, step, "limit", "page_token")
    if not reply.succeeded or (reply.answer or {}).get("page_token"):
        return reply
    tags = (reply.answer or {})["tags"]
    names = sorted(tags)
    answer: dict[str, Any] = {"tags": {n: tags[n] for n in names[start : start + limit]}}
    if start + limit < len(names):
        answer["page_token"] = f"page-{len(ours) + 1}"
        ours[answer["page_token"]] = (start + limit, of)
    return evolve(reply, answer=answer)


# --- branches


# CreateTableBranch.from_version: "Version number on that branch to start from".
@habit(
    "from_version is a version of the main branch, whatever from_branch says", "CreateTableBranch"
)
def version_of_main(target: WrongTarget, step: Step) -> Reply | None:
    source = step.request.get("from_branch")
    if not source or step.request.get("from_version") is None:
        return None
    branches = known(target, "ListTableBranches", id=step.request.get("id")).get("branches") or {}
    return less(target, step, "from_branch") if source in branches else None


# CreateTableBranch: a branch "starts from the latest version" at its creation, not at each read.
@habit("a branch that nothing was written to reads the main branch of the moment")
def lazy_branch(target: WrongTarget, step: Step) -> Reply | None:
    idle = target.memory.setdefault("idle", set())
    request = step.request
    if step.operation == "CreateTableBranch":
        reply = target.correct.call(step)
        if reply.succeeded and not request.get("from_branch") and not request.get("from_version"):
            idle.add((key_of(step), request["name"]))
        return reply
    branch = request.get("name") if step.operation == "DeleteTableBranch" else request.get("branch")
    if not isinstance(branch, str) or (key_of(step), branch) not in idle:
        return None
    if step.operation in ("QueryTable", "CountTableRows"):
        return less(target, step, "branch") if request.get("version") is None else None
    if not step.operation.startswith(("List", "Get", "Describe", "Explain", "Analyze")):
        idle.discard((key_of(step), branch))
    return None


# CreateTableBranch.from_version: "One that does not exist is TableNotFound (4)".
@habit("a branch from a missing version is branch not found", "CreateTableBranch")
def branch_version(target: WrongTarget, step: Step) -> Reply | None:
    reply = target.correct.call(step)
    if reply.code != 4 or step.request.get("from_version") is None:
        return reply
    if target.ask("TableExists", id=step.request.get("id")).succeeded:
        return evolve(reply, code=22)
    return reply
