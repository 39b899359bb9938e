"""Fields of the operations on a table's entry in the catalog."""

from __future__ import annotations

from functools import partial
from typing import Any

from lance_namespace_impls import connect
from lance_namespace_impls.core.options import EXPIRES_AT_MILLIS
from lance_namespace_impls.server import ServerOptions, serving

from .row import ROWS, Code, Row, Stage

VENDING = ServerOptions(vend_storage_options=True)
_SECRET = {"storage.aws_secret_access_key": "s3cret", "storage.region": "eu"}


def elsewhere(stage: Stage) -> list[str]:
    """Return the identifier of a table that does not exist."""
    return [*stage.home, "none"]


def _other(stage: Stage) -> str:
    """Create a table with other rows, and return its location."""
    return str(stage.table(ROWS.slice(1), name="other").location)


def _registered(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("RegisterTable", request)
    return stage.x("t")


def _registered_over(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    return _registered(stage, request)


def _registered_at(stage: Stage, request: dict[str, Any]) -> Any:
    location = _other(stage)
    stage.call("RegisterTable", {**request, "location": location})
    return "named" in stage.tables()


def _register_properties(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("RegisterTable", request)
    return stage.described().properties


def _described(stage: Stage, request: dict[str, Any], *, what: str) -> Any:
    stage.table()
    stage.branch()
    stage.direct.insert_into_table({"id": stage.id}, ROWS)
    stage.direct.create_table_tag({"id": stage.id, "tag": "first", "version": 1})
    return getattr(stage.call("DescribeTable", request), what)


def _has_details(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    answer = stage.call("DescribeTable", request)
    return [answer.version, answer.stats is not None, answer.schema is not None]


def _is_declared(stage: Stage, request: dict[str, Any]) -> Any:
    stage.direct.declare_table({"id": stage.id})
    return stage.call("DescribeTable", request).is_only_declared


def _uri_of_table(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    uri = stage.call("DescribeTable", request).table_uri
    return uri and uri.startswith("file:///")


def vended(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    """Return the names of the storage options in a response of a server that vends them."""
    request = {"id": ["t"], **request}
    with connect("memory", _SECRET) as owner:
        if of == "DescribeTable":
            owner.declare_table({"id": ["t"]})
        if stage.namespace is stage.direct:
            return _vended(owner, request, of)
        with serving(owner, VENDING) as uri, connect("rest", {"uri": uri}) as far:
            return _vended(far, request, of)


def _vended(namespace: Any, request: dict[str, Any], of: str) -> Any:
    answer = namespace.declare_table(request) if of == "DeclareTable" else None
    options = (answer or namespace.describe_table(request)).storage_options
    return sorted(options)


def _vends(of: str) -> Row:
    both = ["aws_secret_access_key", "region"]

    def look(stage: Stage, request: dict[str, Any]) -> Any:
        found = vended(stage, request, of=of)
        if stage.namespace is not stage.direct:
            # Secrets that leave the server have an expiry time.
            return [key for key in found if key != EXPIRES_AT_MILLIS]
        # In process, nothing is sent: the caller already has the options.
        assert found == both
        return both if "vend_credentials" not in request else ["region"]

    return Row(
        operation=of,
        field="vend_credentials",
        value=False,
        look=look,
        without=both,
        having=["region"],
    )


def _found(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    stage.call("TableExists", request)
    return "found"


def _left(stage: Stage, request: dict[str, Any], *, of: str) -> Any:
    stage.table()
    stage.call(of, request)
    return stage.tables()


def _renamed(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    stage.direct.create_namespace({"id": [*stage.home, "sub"]})
    stage.call("RenameTable", request)
    moved = [*(request.get("new_namespace_id") or stage.home), request["new_table_name"]]
    assert stage.call("CountTableRows", {"id": moved}).count == 3
    below = stage.direct.list_tables({"id": [*stage.home, "sub"]}).tables
    return [stage.tables(), below]


def _created(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("CreateTable", request, ROWS.slice(1))
    return stage.x()


def _created_over(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table()
    return _created(stage, request)


def _created_as(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("CreateTable", request, ROWS)
    return stage.tables()


def _created_with(stage: Stage, request: dict[str, Any], *, what: str) -> Any:
    stage.call("CreateTable", request, ROWS)
    answer = stage.described()
    return dict(getattr(answer, what) or {})


def _declared(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("DeclareTable", request)
    return stage.tables()


def _declared_at(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("DeclareTable", request)
    return stage.described().location.rsplit("/", 1)[1]


def _declared_with(stage: Stage, request: dict[str, Any]) -> Any:
    stage.call("DeclareTable", request)
    return stage.described().properties


def _beside(stage: Stage) -> str:
    return str(stage.table(name="beside").location) + "_declared"


def _altered(stage: Stage, request: dict[str, Any]) -> Any:
    stage.table(properties={"old": "1", "kept": "2"})
    stage.call("AlterTable", request)
    return stage.described().properties


def _at_other(stage: Stage) -> dict[str, Any]:
    return {"location": _other(stage)}


_details = partial(Row, "DescribeTable")
_register = partial(Row, "RegisterTable")

ENTRY_ROWS = [
    _register("id", lambda s: [*s.home, "named"], given={"location": "replaced by the look"},
              look=_registered_at, without=False, having=True),
    _register("location", _other, instead="", look=_registered,
              without=Code(13, "location is empty"), having=[2, 3]),
    _register("mode", "Overwrite", given=_at_other, look=_registered_over, without=Code(5),
              having=[2, 3]),
    _register("mode", "ExistOk", given=_at_other, look=_registered_over, without=Code(5),
              having=Code(13, "mode")),
    _register("properties", {"k": "v"}, given=_at_other, look=_register_properties, without={},
              having={"k": "v"}),
    _details("id", elsewhere, look=partial(_described, what="table"), without="t",
             having=Code(4, "none")),
    _details("version", 1, look=partial(_described, what="version"), without=None, having=1),
    _details("tag", "first", look=partial(_described, what="version"), without=None, having=1),
    _details("tag", "first", given={"version": 1}, look=partial(_described, what="version"),
             without=1, having=Code(13, "version, tag")),
    _details("branch", "none", look=partial(_described, what="version"), without=None,
             having=Code(11, "none")),
    _details("branch", "dev", look=partial(_described, what="version"), without=None, having=2),
    _details("with_table_uri", True, look=_uri_of_table, without=None, having=True),
    _details("load_detailed_metadata", True, look=_has_details, without=[None, False, False],
             having=[1, True, True]),
    _details("check_declared", True, look=_is_declared, without=None, having=True),
    _vends("DescribeTable"),
    _vends("DeclareTable"),
    Row("TableExists", "id", elsewhere, look=_found, without="found", having=Code(4, "none")),
    Row("TableExists", "version", 9, look=_found, without="found", having=Code(4, "no version 9")),
    Row("TableExists", "version", 1, instead=2, look=_found, without=Code(4), having="found"),
    *(
        Row(operation=name, field="id", value=elsewhere, look=partial(_left, of=name), without=[],
            having=Code(4, "none"))
        for name in ("DropTable", "DeregisterTable")
    ),
    Row("RenameTable", "id", elsewhere, given={"new_table_name": "u"}, look=_renamed,
        without=[["u"], []], having=Code(4, "none")),
    Row("RenameTable", "new_table_name", "u", instead="v", look=_renamed, without=[["v"], []],
        having=[["u"], []]),
    Row("RenameTable", "new_namespace_id", lambda s: [*s.home, "sub"],
        given={"new_table_name": "u"}, look=_renamed, without=[["u"], []], having=[[], ["u"]]),
    Row("CreateTable", "id", lambda s: [*s.home, "named"], look=_created_as, without=["t"],
        having=["named"]),
    Row("CreateTable", "mode", "ExistOk", look=_created_over, without=Code(5), having=[1, 2, 3]),
    Row("CreateTable", "mode", "Overwrite", look=_created_over, without=Code(5), having=[2, 3]),
    Row("CreateTable", "properties", {"k": "v"}, look=partial(_created_with, what="properties"),
        without={}, having={"k": "v"}),
    Row("CreateTable", "storage_options", {"region": "eu"},
        look=partial(_created_with, what="storage_options"), without={}, having={"region": "eu"}),
    Row("DeclareTable", "id", lambda s: [*s.home, "named"], look=_declared, without=["t"],
        having=["named"]),
    Row("DeclareTable", "location", _beside, look=_declared_at, without="t",
        having="beside_declared"),
    Row("DeclareTable", "properties", {"k": "v"}, look=_declared_with, without={},
        having={"k": "v"}),
    Row("AlterTable", "id", elsewhere, given={"set_properties": {"new": "3"}}, look=_altered,
        without={"old": "1", "kept": "2", "new": "3"}, having=Code(4, "none")),
    Row("AlterTable", "set_properties", {"new": "3"}, given={"unset_properties": ["nil"]},
        look=_altered, without={"old": "1", "kept": "2"},
        having={"old": "1", "kept": "2", "new": "3"}),
    Row("AlterTable", "unset_properties", ["old"], given={"set_properties": {"new": "3"}},
        look=_altered, without={"old": "1", "kept": "2", "new": "3"},
        having={"kept": "2", "new": "3"}),
]  # fmt: skip
