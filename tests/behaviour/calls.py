"""Random calls: requests that are valid in the current state of the catalog, and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from attrs import define
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.conformance.oracle import (
    DATA_OPERATIONS,
    STORAGE,
    Call,
    Rows,
    Tree,
    data_call,
    value_of,
)

from .subject import PROPERTIES, STORAGE_OPTIONS, Identifier, Subject

__all__ = [
    "GENERATED",
    "World",
    "calls",
    "weighted",
]

NOTE, OPTION = STORAGE_OPTIONS
Draw: TypeAlias = Callable[[SearchStrategy[Any]], Any]


@define
class World:
    """The state that calls are drawn from."""

    subject: Subject
    tree: Tree
    names: tuple[str, ...]
    """The names of this run. They are few, so that calls often use the same ones."""
    refused_names: tuple[str, ...]
    table: Identifier | None = None
    """The table of the last call. The next call often uses it again."""
    namespace: Identifier | None = None
    """The namespace of the last call."""

    def remember_call(self, call: Call) -> None:
        """Remember the table or namespace of a call."""
        identifier = call.request.get("id")
        if not isinstance(identifier, list) or not identifier:
            return
        is_table = OPERATIONS[call.operation].path.startswith("/v1/table/{id}")
        self.table = tuple(identifier) if is_table else None
        self.namespace = tuple(identifier[:-1] if is_table else identifier)


def weighted(**weights: int) -> SearchStrategy[str]:
    return st.sampled_from([choice for choice, weight in weights.items() for _ in range(weight)])


def _rarely(draw: Draw, times: int) -> bool:
    """Return True once in `times` draws; shrunk examples use False."""
    return bool(draw(st.integers(1, times)) == times)


LIMITS = st.sampled_from((None, None, None, 1, 1, 2, 3, 1000, 0, -1))
GARBAGE_TOKENS = st.sampled_from(("garbage", "%%%", "W10", "ünï", "e30", "bnVsbA"))
CREATE_MODES = ("Create", "ExistOk", "Overwrite")
REGISTER_MODES = ("Create", "Overwrite")
INSERT_MODES = ("append", "overwrite")
DROP_MODES = ("Fail", "Skip")
BEHAVIORS = ("Restrict", "Cascade")
UNKNOWN_MODES = ("sometimes", "", "create overwrite", "Create ")


@st.composite
def calls(draw: Draw, world: World, operation: str) -> Call:
    """Draw one call of an operation."""
    if _rarely(draw, 40):
        return _malformed(draw, world, operation)
    return GENERATED[operation](draw, world)


# --- identifiers


def _name(draw: Draw, world: World) -> str:
    kind = draw(weighted(usual=18, refused=1, empty=1))
    if kind == "refused" and world.refused_names:
        return str(draw(st.sampled_from(world.refused_names)))
    return "" if kind == "empty" else str(draw(st.sampled_from(world.names)))


def _any_namespace(draw: Draw, world: World, depth: int) -> Identifier:
    """Draw a namespace of the given depth, usually below an existing one."""
    start: Identifier = ()
    if depth > 0 and not _rarely(draw, 10):
        parents = sorted(ns for ns in [(), *world.tree.namespaces] if len(ns) < depth)
        start = draw(st.sampled_from(parents[-6:] if draw(st.booleans()) else parents))
    return (*start, *(_name(draw, world) for _ in range(depth - len(start))))


def _existing(draw: Draw, namespaces: Iterable[Identifier]) -> Identifier | None:
    found = sorted(namespaces)
    return draw(st.sampled_from(found)) if found else None


def _namespace(draw: Draw, world: World, *, there: int = 12, fresh: int = 3) -> Identifier:
    """Draw the identifier for a namespace operation.

    `there` and `fresh` are the weights of existing and of new namespaces.
    """
    deepest = world.subject.deepest
    if world.namespace and draw(weighted(elsewhere=2, again=1)) == "again":
        return world.namespace
    kind = draw(weighted(there=there, fresh=fresh, deep=1))
    if kind == "there":
        found = list(world.tree.namespaces)
        if draw(st.booleans()):
            found = [ns for ns in found if world.tree.is_empty(ns)] or found
        if found:
            return draw(st.sampled_from(sorted(found)))  # type: ignore[no-any-return]
    if kind == "deep" or deepest == 0:
        too_deep = world.subject.capabilities.namespace_depth
        depth = 0 if draw(st.booleans()) or too_deep is None else too_deep + 1
    else:
        given = world.subject.capabilities.configured_depth
        depth = draw(st.integers(1 if _rarely(draw, 10) else given + 1, deepest))
    return _any_namespace(draw, world, depth)


def _table_namespace(draw: Draw, world: World) -> Identifier:
    """Draw a namespace that can hold tables."""
    subject = world.subject
    again = world.namespace
    if again and subject.holds_tables(len(again)) and draw(weighted(other=2, again=1)) == "again":
        return again
    fit = [ns for ns in [(), *world.tree.namespaces] if subject.holds_tables(len(ns))]
    if fit and not _rarely(draw, 12):
        return _existing(draw, fit) or ()
    depths = [depth for depth in range(subject.deepest + 1) if subject.holds_tables(depth)]
    return _any_namespace(draw, world, draw(st.sampled_from(depths)))


def _table(draw: Draw, world: World, *, new: bool = False) -> list[str]:
    """Draw the identifier of a table operation."""
    if world.table and draw(weighted(elsewhere=2, again=1)) == "again":
        return list(world.table)
    there, gone = (3, 2) if new else (14, 2)
    kind = draw(weighted(there=there, gone=gone, fresh=12 if new else 3, wrong=1))
    tree = world.tree
    if kind == "there" and (found := _existing(draw, tree.tables)):
        return list(found)
    if kind == "gone" and (
        found := _existing(draw, [*tree.deregistered.values(), *tree.namespaces])
    ):
        return list(found)
    if kind == "wrong":
        deepest = world.subject.capabilities.namespace_depth
        depths = [0] if deepest is None else [0, deepest + 2]
        return list(_any_namespace(draw, world, draw(st.sampled_from(depths))))
    parent = _table_namespace(draw, world)
    free = [name for name in world.names if not tree.is_taken((*parent, name))]
    if new and free and not _rarely(draw, 6):
        return [*parent, draw(st.sampled_from(free))]
    return [*parent, _name(draw, world)]


def _optional(draw: Draw, request: dict[str, Any], **values: SearchStrategy[Any]) -> dict[str, Any]:
    """Add fields to a request; each is often left out."""
    for key, strategy in values.items():
        if draw(st.booleans()):
            request[key] = draw(strategy)
    return request


def _mode(modes: tuple[str, ...]) -> SearchStrategy[str | None]:
    """Draw a mode in any spelling, no mode, or an unknown mode."""
    spellings = [
        spelling
        for mode in modes
        for spelling in (mode, mode.upper(), mode.lower(), _with_underscores(mode))
    ]
    return st.sampled_from((*spellings, None, *UNKNOWN_MODES[: len(modes)]))


def _with_underscores(mode: str) -> str:
    """Write ``ExistOk`` as ``EXIST_OK``."""
    return "".join(f"_{c}" if c.isupper() and i else c.upper() for i, c in enumerate(mode))


def _table_properties() -> SearchStrategy[dict[str, str]]:
    storage: SearchStrategy[dict[str, str]] = st.sampled_from(({}, {f"{STORAGE}{NOTE}": "mine"}))
    return st.builds(lambda plain, stored: plain | stored, PROPERTIES, storage)


# --- namespaces


def _list_operations(draw: Draw, world: World) -> Call:
    return Call("ListOperations", {})


def _root_forms(identifier: Identifier, draw: Draw, *, optional: bool) -> dict[str, Any]:
    """Return the request fields for an identifier; the root has several spellings."""
    if identifier or not optional:
        return {"id": list(identifier)}
    return dict(draw(st.sampled_from(({"id": []}, {"id": None}, {"id": ""}, {}))))


def _list_namespaces(draw: Draw, world: World) -> Call:
    request = _root_forms(_namespace(draw, world), draw, optional=True)
    return Call("ListNamespaces", _page_fields(draw, world, request, "ListNamespaces"))


def _page_fields(
    draw: Draw, world: World, request: dict[str, Any], operation: str
) -> dict[str, Any]:
    _optional(draw, request, limit=LIMITS)
    kind = draw(weighted(none=9, own=8, other=1, garbage=1))
    tokens = world.tree.tokens
    if kind == "garbage":
        request["page_token"] = draw(GARBAGE_TOKENS)
    elif kind == "other" and tokens:
        request["page_token"] = draw(st.sampled_from(tokens)).text
    elif kind == "own" and (own := [t for t in tokens if t.listing[0] == operation]):
        token = draw(st.sampled_from(own[-8:]))
        request["page_token"] = token.text
        if operation != "ListAllTables":
            request["id"] = list(token.listing[1])
        if operation != "ListNamespaces":
            request["include_declared"] = token.listing[-1]
    return request


def _describe_namespace(draw: Draw, world: World) -> Call:
    identifier = _namespace(draw, world)
    return Call("DescribeNamespace", _root_forms(identifier, draw, optional=True))


def _namespace_exists(draw: Draw, world: World) -> Call:
    identifier = _namespace(draw, world)
    return Call("NamespaceExists", _root_forms(identifier, draw, optional=True))


def _create_namespace(draw: Draw, world: World) -> Call:
    identifier = _namespace(draw, world, there=8, fresh=10)
    request: dict[str, Any] = {"id": list(identifier)}
    refused = world.subject.refused_properties(len(identifier))
    if refused is not None and _rarely(draw, 10):
        return Call(
            "CreateNamespace", request | {"properties": draw(refused)}, refused_properties=True
        )
    request["mode"] = draw(_mode(CREATE_MODES))
    _optional(draw, request, properties=world.subject.namespace_properties(len(identifier)))
    return Call("CreateNamespace", request)


def _drop_namespace(draw: Draw, world: World) -> Call:
    request: dict[str, Any] = {"id": list(_namespace(draw, world, there=8, fresh=7))}
    request["mode"] = draw(_mode(DROP_MODES))
    _optional(draw, request, behavior=_mode(BEHAVIORS))
    return Call("DropNamespace", request)


def change_namespace(draw: Draw, world: World) -> Call:
    identifier = _namespace(draw, world)
    request = {"id": list(identifier)}
    refused = world.subject.refused_properties(len(identifier))
    if refused is not None and _rarely(draw, 10):
        request["set_properties"] = draw(refused)
        return Call("AlterNamespace", request, refused_properties=True)
    known = world.subject.namespace_properties(len(identifier))
    return Call("AlterNamespace", _changes(draw, request, known))


def _changes(
    draw: Draw, request: dict[str, Any], known: SearchStrategy[dict[str, str]]
) -> dict[str, Any]:
    changed = draw(known)
    removed = sorted(draw(known))
    if not _rarely(draw, 6):
        removed = [key for key in removed if key not in changed]
    if changed or draw(st.booleans()):
        request["set_properties"] = changed
    if removed or draw(st.booleans()):
        request["unset_properties"] = removed
    return request


# --- tables


def _list_tables(draw: Draw, world: World) -> Call:
    identifier = _namespace(draw, world) if _rarely(draw, 6) else _table_namespace(draw, world)
    request = _root_forms(identifier, draw, optional=True)
    _optional(draw, request, include_declared=st.booleans())
    return Call("ListTables", _page_fields(draw, world, request, "ListTables"))


def _list_all_tables(draw: Draw, world: World) -> Call:
    request: dict[str, Any] = {}
    _optional(draw, request, include_declared=st.booleans())
    _page_fields(draw, world, request, "ListAllTables")
    if len(world.subject.delimiters) > 1 and draw(st.booleans()):
        request["context"] = {"delimiter": draw(st.sampled_from(world.subject.delimiters))}
    return Call("ListAllTables", request)


def _declare_table(draw: Draw, world: World) -> Call:
    identifier = _table(draw, world, new=True)
    request: dict[str, Any] = {"id": identifier}
    _optional(draw, request, properties=_table_properties())
    if _rarely(draw, 6):
        request["location"] = draw(st.sampled_from(_locations(world, identifier)))
    return Call("DeclareTable", request)


def _locations(world: World, identifier: list[str]) -> list[str]:
    """Return locations to request: the default one, those of other tables, and unused ones."""
    subject, tree = world.subject, world.tree
    parent = tree.namespaces.get(tuple(identifier[:-1]), {})
    found = ["", "/nowhere/at/all"]
    found += sorted(tree.datasets)
    if identifier and "" not in identifier:
        default = subject.location(tuple(identifier), parent)
        found += [default, f"{default}/"] if default is not None else []
    if subject.elsewhere is not None:
        found += [subject.elsewhere("one"), subject.elsewhere("two words")]
        found.remove("/nowhere/at/all")
    return found


def _register_table(draw: Draw, world: World) -> Call:
    tree = world.tree
    known = {identifier: table.location for identifier, table in tree.tables.items()}
    known |= {identifier: location for location, identifier in tree.deregistered.items()}
    if draw(st.booleans()) and (found := _existing(draw, known)):
        request: dict[str, Any] = {"id": list(found), "location": known[found]}
    else:
        identifier = _table(draw, world, new=draw(st.booleans()))
        request = {
            "id": identifier,
            "location": draw(st.sampled_from(_locations(world, identifier))),
        }
    _optional(draw, request, properties=_table_properties(), mode=_mode(REGISTER_MODES))
    return Call("RegisterTable", request)


def _rows(draw: Draw, world: World, *, fits: tuple[str, ...] = ()) -> Rows:
    columns = fits if fits and not _rarely(draw, 5) else (draw(st.sampled_from(("x", "x", "z"))),)
    values = draw(st.lists(st.integers(0, 9), max_size=3))
    held = {name: tuple(value_of(name, value) for value in values) for name in columns}
    fault = draw(weighted(none=14, truncated=2, not_arrow=1)).replace("_", " ")
    if fault == "none" or (fault == "truncated" and not world.subject.cuts_streams):
        return Rows(held)
    return Rows(held, fault)


def _create_table(draw: Draw, world: World) -> Call:
    request: dict[str, Any] = {"id": _table(draw, world, new=True)}
    _optional(
        draw,
        request,
        mode=_mode(CREATE_MODES),
        properties=_table_properties(),
        storage_options=st.just({OPTION: "1"}),
    )
    return Call("CreateTable", request, _rows(draw, world))


def _describe_table(draw: Draw, world: World) -> Call:
    request: dict[str, Any] = {"id": _table(draw, world)}
    flag = st.booleans()
    _optional(draw, request, with_table_uri=flag, load_detailed_metadata=flag, check_declared=flag)
    if _rarely(draw, 6):
        request["version"] = draw(st.integers(1, 4))
        if _rarely(draw, 6):
            request["tag"] = "v1"
    return Call("DescribeTable", request)


def _table_exists(draw: Draw, world: World) -> Call:
    request: dict[str, Any] = {"id": _table(draw, world)}
    if _rarely(draw, 6):
        request["version"] = draw(st.integers(1, 4))
    return Call("TableExists", request)


def _deregister_table(draw: Draw, world: World) -> Call:
    return Call("DeregisterTable", {"id": _table(draw, world)})


def remove_table_and_data(draw: Draw, world: World) -> Call:
    return Call("DropTable", {"id": _table(draw, world)})


def move_table(draw: Draw, world: World) -> Call:
    request: dict[str, Any] = {"id": _table(draw, world), "new_table_name": _name(draw, world)}
    kind = draw(weighted(absent=4, same=1, other=3, wrong=1))
    if kind == "same":
        request["new_namespace_id"] = request["id"][:-1]
    elif kind == "other":
        request["new_namespace_id"] = list(_table_namespace(draw, world))
    elif kind == "wrong":
        request["new_namespace_id"] = list(_namespace(draw, world))
    if "" in request.get("new_namespace_id", ()):
        del request["new_namespace_id"]
    return Call("RenameTable", request)


def change_table(draw: Draw, world: World) -> Call:
    return Call("AlterTable", _changes(draw, {"id": _table(draw, world)}, _table_properties()))


def _insert_into_table(draw: Draw, world: World) -> Call:
    request: dict[str, Any] = {"id": _table(draw, world)}
    _optional(draw, request, mode=_mode(INSERT_MODES))
    table = world.tree.tables.get(tuple(request["id"]))
    dataset = world.tree.datasets.get(table.location) if table is not None else None
    return Call(
        "InsertIntoTable", request, _rows(draw, world, fits=dataset.columns if dataset else ())
    )


def _count_table_rows(draw: Draw, world: World) -> Call:
    request: dict[str, Any] = {"id": _table(draw, world)}
    if _rarely(draw, 6):
        request["version"] = draw(st.integers(1, 4))
    return Call("CountTableRows", request)


GENERATED: dict[str, Callable[[Draw, World], Call]] = {
    "ListOperations": _list_operations,
    "ListNamespaces": _list_namespaces,
    "DescribeNamespace": _describe_namespace,
    "NamespaceExists": _namespace_exists,
    "CreateNamespace": _create_namespace,
    "DropNamespace": _drop_namespace,
    "AlterNamespace": change_namespace,
    "ListTables": _list_tables,
    "ListAllTables": _list_all_tables,
    "DeclareTable": _declare_table,
    "RegisterTable": _register_table,
    "CreateTable": _create_table,
    "DescribeTable": _describe_table,
    "TableExists": _table_exists,
    "DeregisterTable": _deregister_table,
    "DropTable": remove_table_and_data,
    "RenameTable": move_table,
    "AlterTable": change_table,
    "InsertIntoTable": _insert_into_table,
    "CountTableRows": _count_table_rows,
}
"""The function that draws the calls of each operation."""


def _on_data(operation: str) -> Callable[[Draw, World], Call]:
    def drawn(draw: Draw, world: World) -> Call:
        identifier = tuple(_table(draw, world))
        chance = draw(st.randoms(use_true_random=False))
        found = data_call(operation, world.tree, identifier, chance)
        return found or Call("CountTableRows", {"id": list(identifier)})

    return drawn


GENERATED |= {name: _on_data(name) for name in DATA_OPERATIONS if name not in GENERATED}


def _malformed(draw: Draw, world: World, operation: str) -> Call:
    """Draw a call with a field of the wrong JSON type."""
    call = GENERATED[operation](draw, world)
    row = OPERATIONS[call.operation]
    wrong: dict[str, Any] = {
        "id": "one string",
        "limit": "many",
        "mode": 1,
        "properties": {"key": 1},
        "set_properties": ["key"],
        "unset_properties": "key",
        "include_declared": "yes",
        "check_declared": 1,
        "version": "latest",
        "location": 5,
        "new_table_name": None,
        "identity": "me",
        "context": {"header.x": 1},
    }
    keys = sorted(set(wrong) & {wire.key for wire in row.request_type._wire})
    key = draw(st.sampled_from(keys))
    request = {**call.request, key: wrong[key]}
    return Call(call.operation, request, call.rows, malformed=True)
