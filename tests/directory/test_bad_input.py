"""Invalid input to a directory namespace returns a specific error code and changes nothing."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.directory import filesystem

ROWS = pa.table({"id": [1, 2, 3]})


def stream() -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, ROWS.schema) as writer:
        writer.write_table(ROWS)
    return sink.getvalue()


def snapshot(root: Path) -> dict[str, bytes | None]:
    """Return every file with its content and every folder below a root."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def namespace(root: Path) -> Iterator[Namespace]:
    """A directory with tables, other folders and files, which no test changes."""
    with connect("dir", {"path": str(root)}) as found:
        found.create_table({"id": ["t"], "properties": {"k": "v"}}, ROWS)
        found.declare_table({"id": ["declared"]})
        found.create_table({"id": ["gone"]}, ROWS)
        found.deregister_table({"id": ["gone"]})
        (root / "half" / "data").mkdir(parents=True)
        (root / "half" / "data" / "x.lance").write_text("not a data file")
        (root / "file.lance").write_text("a file")
        (root / "plain").write_text("a file")
        yield found


CASES: dict[str, tuple[int, Callable[[Namespace], Any]]] = {
    "empty name": (13, lambda ns: ns.declare_table({"id": [""]})),
    "no name": (13, lambda ns: ns.declare_table({"id": []})),
    "an identifier that is a string": (13, lambda ns: ns.declare_table({"id": "t"})),
    "a table too deep": (13, lambda ns: ns.declare_table({"id": ["a", "b"]})),
    "a child namespace": (13, lambda ns: ns.create_namespace({"id": ["ns"]})),
    "a child namespace, listed": (13, lambda ns: ns.list_tables({"id": ["ns"]})),
    "the root, created": (13, lambda ns: ns.create_namespace({"id": []})),
    "the root, dropped": (13, lambda ns: ns.drop_namespace({})),
    "up and out": (13, lambda ns: ns.declare_table({"id": [".."]})),
    "a path up": (13, lambda ns: ns.declare_table({"id": ["../x"]})),
    "a slash": (13, lambda ns: ns.create_table({"id": ["a/b"]}, ROWS)),
    "an absolute path": (13, lambda ns: ns.declare_table({"id": ["/etc"]})),
    "a NUL": (13, lambda ns: ns.declare_table({"id": ["a\0b"]})),
    "a hidden name": (13, lambda ns: ns.declare_table({"id": [".hidden"]})),
    "an underscore": (13, lambda ns: ns.declare_table({"id": ["_temporary"]})),
    "the suffix": (13, lambda ns: ns.declare_table({"id": ["x.lance"]})),
    "too long": (13, lambda ns: ns.declare_table({"id": ["ü" * 130]})),
    "a lone surrogate": (13, lambda ns: ns.declare_table({"id": ["\ud800"]})),
    "a name that leaves, renamed to": (
        13,
        lambda ns: ns.rename_table({"id": ["t"], "new_table_name": "../t"}),
    ),
    "another namespace, renamed to": (
        13,
        lambda ns: ns.rename_table(
            {"id": ["t"], "new_table_name": "u", "new_namespace_id": ["ns"]}
        ),
    ),
    "unknown mode of CreateTable": (
        13,
        lambda ns: ns.create_table({"id": ["new"], "mode": "Replace"}, ROWS),
    ),
    "unknown mode of InsertIntoTable": (
        13,
        lambda ns: ns.insert_into_table({"id": ["t"], "mode": "upsert"}, ROWS),
    ),
    "unknown mode of RegisterTable": (
        13,
        lambda ns: ns.register_table({"id": ["gone"], "location": "gone.lance", "mode": "ExistOk"}),
    ),
    "a property that is no text": (
        13,
        lambda ns: ns.declare_table({"id": ["new"], "properties": {"a": 1}}),
    ),
    "a key set and unset": (
        13,
        lambda ns: ns.alter_table(
            {"id": ["t"], "set_properties": {"k": "w"}, "unset_properties": ["k"]}
        ),
    ),
    "a token that is no version": (
        13,
        lambda ns: ns.list_table_versions({"id": ["t"], "page_token": "abc"}),
    ),
    "a limit of nothing": (13, lambda ns: ns.list_tables({"limit": 0})),
    "no Arrow stream": (13, lambda ns: ns.create_table({"id": ["new"]}, b"no stream")),
    "a truncated Arrow stream": (
        13,
        lambda ns: ns.create_table({"id": ["new"]}, stream()[:-40]),
    ),
    "a truncated Arrow stream, inserted": (
        13,
        lambda ns: ns.insert_into_table({"id": ["t"]}, stream()[:-40]),
    ),
    "a truncated Arrow stream, overwriting": (
        13,
        lambda ns: ns.create_table({"id": ["t"], "mode": "Overwrite"}, stream()[:-40]),
    ),
    "another location": (
        13,
        lambda ns: ns.declare_table({"id": ["new"], "location": "/somewhere/new"}),
    ),
    "registered from elsewhere": (
        13,
        lambda ns: ns.register_table({"id": ["new"], "location": "/somewhere/new"}),
    ),
    "registered from nothing": (
        13,
        lambda ns: ns.register_table({"id": ["new"], "location": "new.lance"}),
    ),
    "two of version, tag and branch": (
        13,
        lambda ns: ns.describe_table({"id": ["t"], "version": 1, "tag": "x"}),
    ),
    "an unknown version": (11, lambda ns: ns.describe_table({"id": ["t"], "version": 9})),
    "a table that is not there": (4, lambda ns: ns.describe_table({"id": ["nothing"]})),
    "a table that was deregistered": (4, lambda ns: ns.describe_table({"id": ["gone"]})),
    "dropped, but not there": (4, lambda ns: ns.drop_table({"id": ["nothing"]})),
    "a table that is there": (5, lambda ns: ns.declare_table({"id": ["t"]})),
    "created, but there": (5, lambda ns: ns.create_table({"id": ["t"]}, ROWS)),
    "a file in the way": (5, lambda ns: ns.declare_table({"id": ["file"]})),
    "renamed onto another": (
        5,
        lambda ns: ns.rename_table({"id": ["t"], "new_table_name": "declared"}),
    ),
    "renamed onto itself": (5, lambda ns: ns.rename_table({"id": ["t"], "new_table_name": "t"})),
    "a half-written directory, counted": (19, lambda ns: ns.count_table_rows({"id": ["half"]})),
    "a half-written directory, in detail": (
        19,
        lambda ns: ns.describe_table({"id": ["half"], "load_detailed_metadata": True}),
    ),
    "rows of another schema": (
        20,
        lambda ns: ns.insert_into_table({"id": ["t"]}, pa.table({"other": ["x"]})),
    ),
}


@pytest.mark.parametrize(("code", "call"), CASES.values(), ids=CASES)
def test_invalid_input_has_its_code_and_changes_nothing(
    namespace: Namespace, root: Path, code: int, call: Callable[[Namespace], Any]
) -> None:
    before = snapshot(root)
    with pytest.raises(LanceNamespaceError) as refused:
        call(namespace)
    assert refused.value.code == code, refused.value
    message = str(refused.value)
    assert "\n" not in message
    after = snapshot(root)
    # A failed insert leaves data files that no version references; a later cleanup deletes them.
    orphans = {p for p in after if p.startswith("t.lance/data/") and p not in before}
    assert {p: c for p, c in after.items() if p not in orphans} == before


@pytest.mark.parametrize("name", ["file", "plain"])
@pytest.mark.parametrize(
    "call",
    [
        lambda ns, name: ns.declare_table({"id": [name]}),
        lambda ns, name: ns.create_table({"id": [name]}, ROWS),
        lambda ns, name: ns.create_table({"id": [name], "mode": "ExistOk"}, ROWS),
        lambda ns, name: ns.create_table({"id": [name], "mode": "Overwrite"}, ROWS),
        lambda ns, name: ns.rename_table({"id": ["t"], "new_table_name": name}),
    ],
    ids=["declare", "create", "create if missing", "overwrite", "rename"],
)
def test_a_file_at_the_path_of_a_table_is_reported_and_kept(
    namespace: Namespace, root: Path, call: Callable[[Namespace, str], Any], name: str
) -> None:
    before = snapshot(root)
    with pytest.raises(LanceNamespaceError, match=rf"{name}(\.lance)? is a file") as refused:
        call(namespace, name)
    assert refused.value.code == 5
    assert snapshot(root) == before


def test_a_half_written_directory_is_still_a_table(namespace: Namespace) -> None:
    assert "half" in list(namespace.iter_tables())
    assert "half" not in list(namespace.iter_tables(include_declared=False))
    namespace.table_exists({"id": ["half"]})


def test_a_full_disk_leaves_no_partial_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.declare_table({"id": ["there"]})
        before = snapshot(tmp_path)
        monkeypatch.setattr(filesystem, "open", full, raising=False)
        monkeypatch.setattr(filesystem.os, "replace", full)
        for properties in ({}, {"k": "v"}):
            with pytest.raises(LanceNamespaceError, match="No space left"):
                namespace.declare_table({"id": ["new"], "properties": properties})
        with pytest.raises(LanceNamespaceError, match="No space left"):
            namespace.alter_table({"id": ["there"], "set_properties": {"k": "v"}})
        assert snapshot(tmp_path) == before


@pytest.mark.parametrize("properties", [{}, {"path": ""}, {"pth": "x"}, {"path": "a", "root": "b"}])
def test_invalid_properties_are_rejected(properties: dict[str, str]) -> None:
    with pytest.raises(LanceNamespaceError) as refused:
        connect("dir", properties)
    assert refused.value.code == 13


def test_a_root_that_is_a_file_is_rejected(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.write_text("a file")
    with connect("dir", {"path": str(root)}) as namespace:
        for call in (
            lambda: namespace.list_tables({}),
            lambda: namespace.namespace_exists({}),
            lambda: namespace.declare_table({"id": ["t"]}),
            lambda: namespace.create_table({"id": ["t"]}, ROWS),
            lambda: namespace.describe_table({"id": ["t"]}),
        ):
            with pytest.raises(LanceNamespaceError, match="is a file") as refused:
                call()
            assert refused.value.code == 13
    assert root.read_text() == "a file"
