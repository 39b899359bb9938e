"""Fields of the operations on versions, tags and branches."""

from __future__ import annotations

from functools import partial
from typing import Any

from .entries import elsewhere
from .row import ROWS, Code, Row, Stage, nested


def prepare(stage: Stage) -> None:
    """Create a table with three versions, four branches and three tags."""
    stage.table()
    stage.branch()
    stage.direct.insert_into_table({"id": stage.id}, ROWS.slice(0, 1))
    stage.direct.insert_into_table({"id": stage.id}, ROWS.slice(0, 1))
    for name, version in (("a", 1), ("b", 2), ("c", 3)):
        stage.direct.create_table_tag({"id": stage.id, "tag": name, "version": version})
        stage.direct.create_table_branch({"id": stage.id, "name": f"line-{name}"})


def _restored(stage: Stage, request: dict[str, Any]) -> Any:
    prepare(stage)
    stage.call("RestoreTable", request)
    return [stage.x(), stage.x(branch="dev")]


_WHOLE = {
    "ListTableVersions": [1, 2, 3],
    "ListTableTags": ["a", "b", "c"],
    "ListTableBranches": ["dev", "line-a", "line-b", "line-c"],
}


def _page(answer: Any, of: str) -> list[Any]:
    if of == "ListTableVersions":
        return [each.version for each in answer.versions]
    return list(answer.tags if of == "ListTableTags" else answer.branches)


def _listed(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    if "page_token" not in request or len(request["page_token"]) < 10:
        prepare(stage)
    return _page(stage.call(of, request), of)


def _token(stage: Stage, *, of: str, **request: Any) -> str:
    """Return the token of the second page of a listing."""
    prepare(stage)
    return str(stage.call(of, {"limit": 1, **request}).page_token)


def _listing(of: str) -> list[Row]:
    whole = _WHOLE[of]
    other = "ListTableTags" if of != "ListTableTags" else "ListTableBranches"
    row = partial(Row, operation=of, look=partial(_listed, of=of), without=whole)
    return [
        row(field="id", value=elsewhere, having=Code(4, "none")),
        row(field="limit", value=2, having=whole[:2]),
        row(field="limit", value=0, having=Code(13, "1 or more")),
        row(field="page_token", value=partial(_token, of=of), having=whole[1:]),
        row(
            field="page_token", value=partial(_token, of=other), having=Code(13, "another listing")
        ),
    ]


def _version(stage: Stage, request: dict[str, Any]) -> Any:
    prepare(stage)
    return stage.call("DescribeTableVersion", request).version.version


def _deleted(stage: Stage, request: dict[str, Any]) -> Any:
    prepare(stage)
    for name in "abc":
        stage.direct.delete_table_tag({"id": stage.id, "tag": name})
        stage.direct.delete_table_branch({"id": stage.id, "name": f"line-{name}"})
    stage.direct.insert_into_table({"id": stage.id}, ROWS.slice(0, 1))
    stage.call("BatchDeleteTableVersions", request)
    of = "ListTableVersions"
    return [_page(stage.call(of, {}), of), _page(stage.call(of, {"branch": "dev"}), of)]


def _tag(stage: Stage, request: dict[str, Any]) -> Any:
    prepare(stage)
    return stage.call("GetTableTagVersion", request).version


def _tags(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    prepare(stage)
    stage.call(of, request)
    tags = stage.direct.list_table_tags({"id": stage.id}).tags
    return [(name, tag.version, tag.branch) for name, tag in tags.items()]


def _branched(stage: Stage, request: dict[str, Any]) -> Any:
    prepare(stage)
    stage.call("CreateTableBranch", request)
    return stage.x(branch=request.get("name"))


def _branches(stage: Stage, request: dict[str, Any]) -> Any:
    prepare(stage)
    stage.call("DeleteTableBranch", request)
    return list(stage.direct.list_table_branches({"id": stage.id}).branches)


_TAGS = [("a", 1, None), ("b", 2, None), ("c", 3, None)]
_range = nested("BatchDeleteTableVersions", "VersionRange", lambda node: {"ranges": [node]})
_restore = partial(Row, "RestoreTable", look=_restored)
_delete = partial(Row, "BatchDeleteTableVersions", look=_deleted)
_create = partial(Row, "CreateTableTag", look=partial(_tags, of="CreateTableTag"))
_update = partial(Row, "UpdateTableTag", look=partial(_tags, of="UpdateTableTag"))
_branch = partial(Row, "CreateTableBranch", look=_branched)

REF_ROWS = [
    _restore("id", elsewhere, given={"version": 1}, without=[[1, 2, 3], [1, 1, 2, 3]],
             having=Code(4, "none")),
    _restore("version", 2, instead=1, without=[[1, 2, 3], [1, 1, 2, 3]],
             having=[[1, 1, 2, 3], [1, 1, 2, 3]]),
    _restore("branch", "dev", given={"version": 1}, without=[[1, 2, 3], [1, 1, 2, 3]],
             having=[[1, 1, 1, 2, 3], [1, 2, 3]]),
    *_listing("ListTableVersions"),
    *_listing("ListTableTags"),
    *_listing("ListTableBranches"),
    Row("ListTableVersions", "branch", "none", look=partial(_listed, of="ListTableVersions"),
        without=[1, 2, 3], having=Code(4, "none")),
    Row("ListTableVersions", "branch", "dev", look=partial(_listed, of="ListTableVersions"),
        without=[1, 2, 3], having=[1, 2]),
    Row("ListTableVersions", "descending", True, look=partial(_listed, of="ListTableVersions"),
        without=[1, 2, 3], having=[3, 2, 1]),
    Row("ListTableVersions", "page_token", partial(_token, of="ListTableVersions"),
        given={"descending": True}, look=partial(_listed, of="ListTableVersions"),
        without=[3, 2, 1], having=Code(13, "another listing")),
    Row("ListTableVersions", "page_token", partial(_token, of="ListTableVersions", descending=True),
        given={"descending": True}, look=partial(_listed, of="ListTableVersions"),
        without=[3, 2, 1], having=[2, 1]),
    Row("ListTableVersions", "page_token", partial(_token, of="ListTableVersions"),
        given={"branch": "dev"}, look=partial(_listed, of="ListTableVersions"), without=[1, 2],
        having=Code(13, "another listing")),
    Row("DescribeTableVersion", "id", elsewhere, look=_version, without=3, having=Code(4, "none")),
    Row("DescribeTableVersion", "version", 2, look=_version, without=3, having=2),
    Row("DescribeTableVersion", "version", 9, look=_version, without=3, having=Code(11, "9")),
    Row("DescribeTableVersion", "branch", "dev", look=_version, without=3, having=2),
    _delete("id", elsewhere, given={"ranges": [{"start_version": 2, "end_version": 3}]},
            without=[[1, 3, 4], [1, 2]], having=Code(4, "none")),
    _delete("ranges", [{"start_version": 2, "end_version": 3}], instead=[],
            without=[[1, 2, 3, 4], [1, 2]], having=[[1, 3, 4], [1, 2]]),
    _delete("branch", "none", given={"ranges": [{"start_version": 2, "end_version": 3}]},
            without=[[1, 3, 4], [1, 2]], having=Code(4, "none")),
    _range("start_version", given={"end_version": 4}, value=2, instead=3, look=_deleted,
           without=[[1, 2, 4], [1, 2]], having=[[1, 4], [1, 2]]),
    _range("end_version", given={"start_version": 2}, value=3, instead=4, look=_deleted,
           without=[[1, 4], [1, 2]], having=[[1, 3, 4], [1, 2]]),
    Row("GetTableTagVersion", "id", elsewhere, given={"tag": "b"}, look=_tag, without=2,
        having=Code(4, "none")),
    Row("GetTableTagVersion", "tag", "b", instead="c", look=_tag, without=3, having=2),
    _create("id", elsewhere, given={"tag": "d", "version": 1}, without=[*_TAGS, ("d", 1, None)],
            having=Code(4, "none")),
    _create("tag", "e", given={"version": 1}, instead="d", without=[*_TAGS, ("d", 1, None)],
            having=[*_TAGS, ("e", 1, None)]),
    _create("version", 2, given={"tag": "d"}, instead=1, without=[*_TAGS, ("d", 1, None)],
            having=[*_TAGS, ("d", 2, None)]),
    _create("branch", "dev", given={"tag": "d", "version": 2}, without=[*_TAGS, ("d", 2, None)],
            having=[*_TAGS, ("d", 2, "dev")]),
    _update("id", elsewhere, given={"tag": "a", "version": 2}, without=[("a", 2, None), *_TAGS[1:]],
            having=Code(4, "none")),
    _update("tag", "b", given={"version": 3}, instead="a", without=[("a", 3, None), *_TAGS[1:]],
            having=[_TAGS[0], ("b", 3, None), _TAGS[2]]),
    _update("version", 3, given={"tag": "a"}, instead=2, without=[("a", 2, None), *_TAGS[1:]],
            having=[("a", 3, None), *_TAGS[1:]]),
    _update("branch", "dev", given={"tag": "a", "version": 2}, without=[("a", 2, None), *_TAGS[1:]],
            having=[("a", 2, "dev"), *_TAGS[1:]]),
    Row("DeleteTableTag", "id", elsewhere, given={"tag": "a"},
        look=partial(_tags, of="DeleteTableTag"), without=_TAGS[1:], having=Code(4, "none")),
    Row("DeleteTableTag", "tag", "b", instead="a", look=partial(_tags, of="DeleteTableTag"),
        without=_TAGS[1:], having=[_TAGS[0], _TAGS[2]]),
    _branch("id", elsewhere, given={"name": "new"}, without=[1, 1, 1, 2, 3],
            having=Code(4, "none")),
    _branch("name", "new", instead="dev", without=Code(23, "dev"), having=[1, 1, 1, 2, 3]),
    _branch("from_branch", "dev", given={"name": "new"}, without=[1, 1, 1, 2, 3],
            having=[1, 1, 2, 3]),
    _branch("from_version", 1, given={"name": "new"}, without=[1, 1, 1, 2, 3], having=[1, 2, 3]),
    Row("DeleteTableBranch", "id", elsewhere, given={"name": "dev"}, look=_branches,
        without=["line-a", "line-b", "line-c"], having=Code(4, "none")),
    Row("DeleteTableBranch", "name", "line-a", instead="dev", look=_branches,
        without=["line-a", "line-b", "line-c"], having=["dev", "line-b", "line-c"]),
]  # fmt: skip
