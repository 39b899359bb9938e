"""Fields of the operations on namespaces and listings."""

from __future__ import annotations

from functools import partial
from typing import Any

from .row import Code, Row, Stage

_at = {"id": lambda s: [*s.home, "a"]}
_GONE = [f"n{'0' * 12}", "gone"]


def _child(stage: Stage) -> dict[str, Any]:
    return {"id": [*stage.home, "a"]}


def _children(stage: Stage) -> list[str]:
    return stage.direct.list_namespaces({"id": stage.home}).namespaces


def _created(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("CreateNamespace", request)
    return _children(stage)


def _created_again(stage: Stage, request: dict[str, Any]) -> Any:
    stage.direct.create_namespace({**_child(stage), "properties": {"old": "1"}})
    return stage.call("CreateNamespace", request).properties


def _properties(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("CreateNamespace", request)
    return stage.direct.describe_namespace(_child(stage)).properties


def _altered(stage: Stage, request: dict[str, Any]) -> Any:
    stage.direct.create_namespace({**_child(stage), "properties": {"old": "1", "kept": "2"}})
    stage.call("AlterNamespace", request)
    return stage.direct.describe_namespace(_child(stage)).properties


def _altered_at(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("AlterNamespace", request)
    return stage.direct.describe_namespace({"id": stage.home}).properties


def _dropped(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("DropNamespace", request)
    return _children(stage)


def _dropped_with_a_child(stage: Stage, request: dict[str, Any]) -> Any:
    stage.direct.create_namespace(_child(stage))
    stage.direct.create_namespace({"id": [*stage.home, "a", "b"]})
    return _dropped(stage, request)


def _dropped_home(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("DropNamespace", request)
    return stage.home[0] in stage.direct.list_namespaces({}).namespaces


def _exists(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    stage.call(of, request)
    return "found"


def _make_children(stage: Stage) -> None:
    for name in "abc":
        stage.direct.create_namespace({"id": [*stage.home, name]})


def _make_tables(stage: Stage) -> None:
    for name in "ab":
        stage.table(name=name)
    stage.direct.declare_table({"id": [*stage.home, "c"]})


def _listed(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    if of == "ListNamespaces":
        _make_children(stage)
        return stage.call(of, request).namespaces
    _make_tables(stage)
    found = stage.call(of, request).tables
    # The list of all tables includes those of other tests.
    return [name.removeprefix(f"{stage.home[0]}$") for name in found]


def _own(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    return [name for name in _listed(stage, request, of=of) if len(name) == 1]


def _token(of: str, **more: Any) -> Any:
    """Return a function that lists one entry of this or another stage for its page token."""

    def make(stage: Stage) -> str:
        other = Stage(stage.namespace, stage.direct) if more.get("elsewhere") else stage
        _make_children(other) if of == "ListNamespaces" else _make_tables(other)
        request = {"id": other.home, "limit": 1, **more.get("request", {})}
        return str(stage.call(of, request).page_token)

    return make


def _paged(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    """List the entries; the request of a page token has already created them."""
    if "page_token" not in request:
        return _listed(stage, request, of=of)
    answer = stage.call(of, request)
    return answer.namespaces if of == "ListNamespaces" else answer.tables


def _paged_all(stage: Stage, request: dict[str, Any]) -> Any:
    """Read all tables in two pages, the first of which has one entry."""
    _make_tables(stage)
    if request.pop("page_token", None) is None:
        return "a whole listing" if stage.call("ListAllTables", request).page_token is None else ""
    first = stage.call("ListAllTables", {"limit": 1})
    rest = stage.call("ListAllTables", {"page_token": first.page_token}).tables
    everything = stage.call("ListAllTables", {}).tables
    return "the rest" if [*first.tables, *rest] == everything else [first.tables, rest]


def _home(stage: Stage) -> dict[str, Any]:
    return {"id": stage.home}


def _listing(of: str, whole: list[str], rest: list[str], other: str) -> list[Row]:
    row = partial(Row, of, given=_home, without=whole)
    listed, paged = partial(_listed, of=of), partial(_paged, of=of)
    another = Code(13, "another listing")
    return [
        row("limit", 2, look=listed, having=whole[:2]),
        row("limit", 0, look=listed, having=Code(13, "limit must be 1 or more")),
        row("page_token", _token(of), look=paged, having=rest),
        row("page_token", _token(of, elsewhere=True), look=paged, having=another),
        row("page_token", _token(other), look=paged, having=another),
        row("page_token", "a", look=listed, having=rest),
    ]


def _at_home(stage: Stage) -> list[str]:
    return stage.home


_create = partial(Row, "CreateNamespace", given=_child)
_drop = partial(Row, "DropNamespace", given=_child)
_alter = partial(Row, "AlterNamespace", look=_altered)
_tables = partial(Row, "ListTables")
_all = partial(Row, "ListAllTables")
_ABC = ["a", "b", "c"]
_OLD, _NEW = {"old": "1", "kept": "2"}, {"new": "3"}

NAMESPACE_ROWS = [
    Row("CreateNamespace", "id", _at["id"], look=_created, without=Code(13), having=["a"]),
    _create("mode", "ExistOk", look=_created_again, without=Code(2), having={"old": "1"}),
    _create("mode", "overwrite", look=_created_again, without=Code(2), having={}),
    _create("properties", {"k": "v"}, look=_properties, without={}, having={"k": "v"}),
    Row(
        "ListNamespaces",
        "id",
        _at_home,
        look=lambda s, request: s.home[0] in _listed(s, request, of="ListNamespaces"),
        without=True,
        having=False,
    ),
    *_listing("ListNamespaces", _ABC, ["b", "c"], "ListTables"),
    *(
        Row(of, "id", _GONE, look=partial(_exists, of=of), without="found", having=Code(1, "gone"))
        for of in ("DescribeNamespace", "NamespaceExists")
    ),
    Row("DropNamespace", "id", _at_home, look=_dropped_home, without=Code(13), having=False),
    _drop("mode", "Skip", look=_dropped, without=Code(1), having=[]),
    _drop("behavior", "Cascade", look=_dropped_with_a_child, without=Code(3), having=[]),
    Row(
        "AlterNamespace",
        "id",
        _at_home,
        given={"set_properties": {"k": "v"}},
        look=_altered_at,
        without=Code(13),
        having={"k": "v"},
    ),
    _alter(
        "set_properties",
        _NEW,
        given=lambda s: {**_child(s), "unset_properties": ["none"]},
        without=_OLD,
        having=_OLD | _NEW,
    ),
    _alter(
        "unset_properties",
        ["old"],
        given=lambda s: {**_child(s), "set_properties": _NEW},
        without=_OLD | _NEW,
        having={"kept": "2", "new": "3"},
    ),
    _tables("id", _at_home, look=partial(_own, of="ListTables"), without=[], having=_ABC),
    *_listing("ListTables", _ABC, ["b", "c"], "ListNamespaces"),
    _tables(
        "page_token",
        _token("ListTables"),
        given=lambda s: {**_home(s), "include_declared": False},
        look=partial(_paged, of="ListTables"),
        without=["a", "b"],
        having=Code(13, "another listing"),
    ),
    _tables(
        "include_declared",
        False,
        given=_home,
        look=partial(_listed, of="ListTables"),
        without=_ABC,
        having=["a", "b"],
    ),
    _all(
        "id",
        _at_home,
        look=partial(_own, of="ListAllTables"),
        without=_ABC,
        having=_ABC,
        why="its route names no namespace: it lists the whole catalog",
    ),
    _all(
        "limit",
        2,
        look=lambda s, request: len(_listed(s, request, of="ListAllTables")) == 2,
        without=False,
        having=True,
    ),
    _all("page_token", True, look=_paged_all, without="a whole listing", having="the rest"),
    _all(
        "page_token",
        _token("ListTables"),
        look=lambda s, request: bool(s.call("ListAllTables", request)),
        without=True,
        having=Code(13, "another listing"),
    ),
    _all(
        "include_declared",
        False,
        look=partial(_own, of="ListAllTables"),
        without=_ABC,
        having=["a", "b"],
    ),
]
