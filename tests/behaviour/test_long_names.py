"""Names and properties of every length are stored in full, or rejected without side effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import ErrorCode, LanceNamespaceError
from lance_namespace_impls.catalog.namespace import Namespace

from .catalogs import CATALOGS
from .subject import Identifier, Subject
from .subjects import SUBJECTS, parameters

pytestmark = pytest.mark.xdist_group("spread")

ROWS = pa.table({"a": [1, 2]})
QUICK = {
    "ascii-129": "n" * 129,
    "ascii-256": "n" * 256,
    "ascii-5000": "n" * 5000,
    "umlauts-200": "ü" * 200,
    "emoji-100": "\N{GRINNING FACE}" * 100,
}
SLOW = {
    **{f"ascii-{length}": "n" * length for length in (128, 200, 255, 257, 300, 1000)},
    **{f"umlauts-{length}": "ü" * length for length in (100, 128, 256)},
    **{f"emoji-{length}": "\N{GRINNING FACE}" * length for length in (60, 128, 200)},
}
texts = pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(text, id=id) for id, text in QUICK.items()),
        *(pytest.param(text, id=id, marks=pytest.mark.slow) for id, text in SLOW.items()),
    ],
)
ANSWERS = frozenset(
    {
        ErrorCode.UNSUPPORTED,
        ErrorCode.NAMESPACE_NOT_FOUND,
        ErrorCode.TABLE_NOT_FOUND,
        ErrorCode.INVALID_INPUT,
    }
)
"""Error codes that an operation on a too long name, or on a missing object, may return."""
BACKENDS = [
    *parameters(
        name
        for name in SUBJECTS
        if name == "memory-mixed" or not name.startswith(("memory", "rest-", "nessie"))
    ),
    *parameters(name for name in CATALOGS if name not in SUBJECTS),
]


@pytest.fixture(scope="module", params=BACKENDS)
def subject(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    name = request.param
    start = SUBJECTS[name].start if name in SUBJECTS else CATALOGS[name]
    with start(tmp_path_factory.mktemp("catalog")) as found:
        yield found


@pytest.fixture
def parents(subject: Subject) -> tuple[Namespace, list[Identifier]]:
    """Return a connection and an existing parent for each level of new namespaces."""
    given = subject.reset()
    namespace = subject.connect()
    allowed = subject.capabilities
    depth = allowed.configured_depth
    first = next((each for each in given if len(each) == depth), ())
    found = [first]
    for _ in range(depth, min(subject.deepest, max(allowed.table_depth, depth + 1))):
        found.append((*found[-1], "short"))
        namespace.create_namespace({"id": list(found[-1])})
    return namespace, found


def outcome(call: Callable[[Any], Any], request: Mapping[str, Any], *more: Any) -> bool:
    """Return whether a call succeeds; it may only fail with a code of `ANSWERS`."""
    try:
        call(request, *more)
    except LanceNamespaceError as error:
        assert error.code in ANSWERS, f"{call.__name__}: code {int(error.code)}: {str(error)[:600]}"
        assert len(str(error)) < 20_000
        return False
    return True


def children(namespace: Namespace, parent: Identifier) -> tuple[list[str], list[str]]:
    """Return the namespaces and the tables of a namespace."""
    found: list[list[str]] = []
    for call, field in (
        (namespace.list_namespaces, "namespaces"),
        (namespace.list_tables, "tables"),
    ):
        try:
            found.append(sorted(getattr(call({"id": list(parent)}), field)))
        except LanceNamespaceError as error:
            assert error.code in (ErrorCode.INVALID_INPUT, ErrorCode.UNSUPPORTED)
            found.append([])
    return found[0], found[1]


@texts
def test_long_namespace_name(
    parents: tuple[Namespace, list[Identifier]], subject: Subject, text: str
) -> None:
    namespace, levels = parents
    for parent in levels:
        if len(parent) >= subject.deepest:
            continue
        before = children(namespace, parent)
        long = [*parent, text]
        made = outcome(namespace.create_namespace, {"id": long})
        assert children(namespace, parent) == (
            (sorted([*before[0], text]), before[1]) if made else before
        )
        below = [*long, "child"]
        for id in (long, below):
            for call in (
                namespace.describe_namespace,
                namespace.namespace_exists,
                namespace.list_namespaces,
                namespace.list_tables,
                namespace.describe_table,
                namespace.table_exists,
            ):
                outcome(call, {"id": id})
            outcome(namespace.alter_namespace, {"id": id, "set_properties": {"owner": "me"}})
        inside = outcome(namespace.create_namespace, {"id": below})
        assert made or not inside
        table = [*below, "t"] if inside else [*long, "t"]
        for id in {tuple(table), (*long, "t")}:
            if outcome(namespace.create_table, {"id": list(id)}, ROWS):
                assert made
                assert namespace.count_table_rows({"id": list(id)}).count == 2
                namespace.drop_table({"id": list(id)})
        if inside:
            namespace.drop_namespace({"id": below})
        assert outcome(namespace.drop_namespace, {"id": long}) or not made
        assert children(namespace, parent) == before


@texts
def test_long_table_name(
    parents: tuple[Namespace, list[Identifier]], subject: Subject, text: str
) -> None:
    namespace, levels = parents
    parent = levels[-1]
    before = children(namespace, parent)
    long = [*parent, text]
    for call in (
        namespace.describe_table,
        namespace.table_exists,
        namespace.count_table_rows,
        namespace.drop_table,
        namespace.deregister_table,
        namespace.list_table_versions,
        namespace.list_table_tags,
        namespace.list_table_indices,
    ):
        assert not outcome(call, {"id": long})
    assert children(namespace, parent) == before
    for call, more in ((namespace.create_table, [ROWS]), (namespace.declare_table, [])):
        made = outcome(call, {"id": long}, *more)
        assert children(namespace, parent) == (
            (before[0], sorted([*before[1], text])) if made else before
        )
        if made:
            namespace.table_exists({"id": long})
            namespace.drop_table({"id": long})
    namespace.create_table({"id": [*parent, "brief"]}, ROWS)
    renamed = outcome(
        namespace.rename_table,
        {"id": [*parent, "brief"], "new_namespace_id": list(parent), "new_table_name": text},
    )
    name = text if renamed else "brief"
    assert children(namespace, parent) == (before[0], sorted([*before[1], name]))
    assert namespace.count_table_rows({"id": [*parent, name]}).count == 2
    namespace.drop_table({"id": [*parent, name]})


@texts
def test_long_properties(
    parents: tuple[Namespace, list[Identifier]], subject: Subject, text: str
) -> None:
    namespace, levels = parents
    parent = levels[-1]
    before = children(namespace, parent)
    for properties in ({text: "value"}, {"key": text}):
        if len(parent) < subject.deepest:
            id = [*parent, "with"]
            if outcome(namespace.create_namespace, {"id": id, "properties": properties}):
                assert namespace.describe_namespace({"id": id}).properties.items() >= (
                    properties.items()
                )
                namespace.drop_namespace({"id": id})
        if len(parent) > subject.capabilities.configured_depth:
            was = namespace.describe_namespace({"id": list(parent)}).properties
            if outcome(
                namespace.alter_namespace, {"id": list(parent), "set_properties": properties}
            ):
                now = namespace.describe_namespace({"id": list(parent)}).properties
                assert now.items() >= properties.items()
                namespace.alter_namespace(
                    {"id": list(parent), "unset_properties": list(properties)}
                )
            assert namespace.describe_namespace({"id": list(parent)}).properties == was
        id = [*parent, "with"]
        if outcome(namespace.create_table, {"id": id, "properties": properties}, ROWS):
            assert namespace.describe_table({"id": id}).properties.items() >= properties.items()
            namespace.drop_table({"id": id})
        assert children(namespace, parent) == before


@texts
def test_long_name_inside_a_table(
    parents: tuple[Namespace, list[Identifier]], subject: Subject, text: str
) -> None:
    namespace, levels = parents
    id = [*levels[-1], "t"]
    namespace.create_table({"id": id}, ROWS)
    if outcome(namespace.create_table_tag, {"id": id, "tag": text, "version": 1}):
        assert text in namespace.list_table_tags({"id": id}).tags
        namespace.delete_table_tag({"id": id, "tag": text})
    if outcome(namespace.create_table_branch, {"id": id, "name": text}):
        assert text in namespace.list_table_branches({"id": id}).branches
        namespace.delete_table_branch({"id": id, "name": text})
    if outcome(
        namespace.create_table_index,
        {"id": id, "column": "a", "index_type": "BTREE", "name": text},
    ):
        listed = namespace.list_table_indices({"id": id}).indexes
        assert [each.index_name for each in listed] == [text]
    outcome(
        namespace.alter_table_add_columns,
        {"id": id, "new_columns": [{"name": text, "expression": "1"}]},
    )
    assert namespace.count_table_rows({"id": id}).count == 2
    namespace.drop_table({"id": id})
