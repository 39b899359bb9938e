"""Calls that capabilities and bounds forbid, warnings about unavailable storage, and clones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from attrs import evolve

from lance_namespace_client.models import DescribeTableRequest
from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.tables.drop import TableFolder
from tests.behaviour.memory import MemoryConfig, MemoryNamespace, Mixed, OneCatalog

from .memory import ROWS, code_of, connected

T = {"id": ["n", "t"]}
ANY = Capabilities(namespace_depth=None, cascade=True, rename_across=True)


def of(capabilities: Capabilities) -> type[MemoryNamespace]:
    """Return a catalog class with exactly these capabilities."""
    return type("Own", (MemoryNamespace,), {"capabilities": capabilities})


def filled(cls: type[MemoryNamespace], root: Path, **more: Any) -> MemoryNamespace:
    """Connect to a catalog with the namespaces ``n`` and ``m``, and a table in ``n``."""
    namespace = connected(cls, root, **more)
    for name in ("n", "m"):
        namespace.create_namespace({"id": [name], "properties": {"k": "v"}})
    namespace.create_table({**T, "properties": {"k": "v"}}, ROWS)
    return namespace


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[MemoryNamespace]:
    with filled(Mixed, tmp_path) as found:
        yield found


# --- permanent namespaces and unsupported changes


def test_a_permanent_namespace_cannot_be_dropped(tmp_path: Path) -> None:
    with filled(of(evolve(ANY, permanent=(("m",),))), tmp_path) as namespace:
        for call in (
            lambda: namespace.drop_namespace({"id": ["m"]}),
            lambda: namespace.drop_namespace({"id": ["m"], "mode": "Skip"}),
            lambda: namespace.drop_namespace({"id": ["m"], "behavior": "Cascade"}),
            lambda: namespace.create_namespace({"id": ["m"], "mode": "Overwrite"}),
        ):
            code, said = code_of(call)
            assert (code, "namespace m cannot be dropped or overwritten" in said) == (13, True)
        assert namespace.describe_namespace({"id": ["m"]}).properties == {"k": "v"}
        namespace.create_namespace({"id": ["m"], "mode": "ExistOk"})
        namespace.drop_table(T)
        namespace.drop_namespace({"id": ["n"]})
        assert list(namespace.iter_namespaces()) == ["m"]


RENAMES: list[tuple[Capabilities, list[str] | None, int | None, str]] = [
    (ANY, ["m"], None, ""),
    (ANY, [], None, ""),
    (ANY, ["none"], 1, "none"),
    (evolve(ANY, rename_across=False), ["m"], 0, "cannot move tables across namespaces"),
    (evolve(ANY, rename_across=False), ["n"], None, ""),
    (evolve(ANY, rename_across=False), None, None, ""),
    (evolve(ANY, rename_within=1), ["m"], 0, "cannot move a table out of n; register it in m"),
    (evolve(ANY, rename_within=1), ["n"], None, ""),
    (evolve(ANY, rename_within=1), ["n", "deep"], None, ""),
    (evolve(ANY, table_depth=1), [], None, ""),  # the root holds no tables: the parent stays
    (evolve(ANY, namespace_depth=1), ["n", "deep"], 13, "'n$deep' cannot hold tables"),
]


@pytest.mark.parametrize(("capabilities", "parent", "code", "said"), RENAMES)
def test_allowed_targets_of_a_rename(
    tmp_path: Path,
    capabilities: Capabilities,
    parent: list[str] | None,
    code: int | None,
    said: str,
) -> None:
    with filled(of(capabilities), tmp_path) as namespace:
        if capabilities.namespace_depth is None:
            namespace.create_namespace({"id": ["n", "deep"]})
        request = {**T, "new_table_name": "u"}
        if parent is not None:
            request["new_namespace_id"] = parent
        if code is not None:
            assert (code_of(lambda: namespace.rename_table(request))[0]) == code
            assert said in code_of(lambda: namespace.rename_table(request))[1]
            assert namespace.count_table_rows(T).count == 3
            return
        namespace.rename_table(request)
        if parent is None or (parent == [] and capabilities.table_depth):
            parent = ["n"]
        assert namespace.count_table_rows({"id": [*parent, "u"]}).count == 3
        assert code_of(lambda: namespace.table_exists(T))[0] == 4


def test_overwrite_rejects_changes_of_immutable_properties(tmp_path: Path) -> None:
    with connected(OneCatalog, tmp_path) as namespace:
        namespace._catalog.namespaces[("c",)] = {}
        namespace.create_namespace({"id": ["c", "s"]})
        table = {"id": ["c", "s", "t"], "mode": "Overwrite"}
        namespace.create_table({**table, "properties": {"k": "v"}}, ROWS)
        for properties, named in (({"k": "w"}, "k"), ({"k": "v", "a": "b"}, "a"), ({}, "k")):
            code, said = code_of(
                lambda given=properties: namespace.create_table(
                    {**table, "properties": given}, ROWS.slice(1)
                )
            )
            assert (code, f"cannot change properties of the table ({named})" in said) == (0, True)
            assert namespace.count_table_rows({"id": table["id"]}).count == 3
        namespace.create_table({**table, "properties": {"k": "v"}}, ROWS.slice(1))
        assert namespace.count_table_rows({"id": table["id"]}).count == 2


def test_drop_and_deregister_return_the_location_and_properties(mixed: MemoryNamespace) -> None:
    own = {"k": "v", "storage.region": "here"}
    for name in ("a", "b"):
        mixed.create_table({"id": ["n", name], "properties": own}, ROWS)
    for name, leave in (("a", mixed.drop_table), ("b", mixed.deregister_table)):
        location = mixed.describe_table({"id": ["n", name]}).location
        gone: Any = leave({"id": ["n", name]})
        assert (gone.id, gone.location, gone.properties) == (["n", name], location, {"k": "v"})
    added = mixed.register_table({"id": ["n", "b"], "location": gone.location, "properties": own})
    assert (added.location, added.properties) == (gone.location, {"k": "v"})
    assert mixed.alter_table({"id": ["n", "b"], "set_properties": {"a": "b"}}).properties == {
        "k": "v", "a": "b",
    }  # fmt: skip


# --- locations and servers outside the bounds

PLACES = evolve(ANY, location_properties=("location",))
INSIDE, OUTSIDE = "s3://shared/a/x", "s3://elsewhere/x"
WITH_A_PLACE: dict[str, Callable[[MemoryNamespace, dict[str, str]], Any]] = {
    "create a namespace": lambda ns, p: ns.create_namespace({"id": ["new"], "properties": p}),
    "alter a namespace": lambda ns, p: ns.alter_namespace({"id": ["n"], "set_properties": p}),
    "declare a table": lambda ns, p: ns.declare_table({"id": ["n", "new"], "properties": p}),
    "create a table": lambda ns, p: ns.create_table({"id": ["n", "new"], "properties": p}, ROWS),
    "register a table": lambda ns, p: ns.register_table(
        {"id": ["n", "new"], "location": f"{ns.config.root}/x", "properties": p}
    ),
    "alter a table": lambda ns, p: ns.alter_table({**T, "set_properties": p}),
}


@pytest.mark.parametrize("name", WITH_A_PLACE)
def test_a_location_property_must_be_within_the_bounds(tmp_path: Path, name: str) -> None:
    bounds = {"confine_locations": True, "allow_locations": ("s3://shared/a",)}
    with filled(of(PLACES), tmp_path / "lake", **bounds) as namespace:
        code, said = code_of(lambda: WITH_A_PLACE[name](namespace, {"location": OUTSIDE}))
        assert (code, "outside the locations" in said) == (13, True)
        assert OUTSIDE not in str(namespace._catalog)
        WITH_A_PLACE[name](namespace, {"location": INSIDE})
    with filled(of(ANY), tmp_path / "free", **bounds) as namespace:
        # In a catalog without location properties, it is an ordinary property.
        WITH_A_PLACE[name](namespace, {"location": OUTSIDE})


def test_an_existing_location_property_does_not_prevent_other_changes(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with filled(of(PLACES), lake) as namespace:
        namespace.alter_table({**T, "set_properties": {"location": OUTSIDE}})
    with connected(of(PLACES), lake, confine_locations=True) as bounded:
        changed = bounded.alter_table({**T, "set_properties": {"k": "w"}})
        assert changed.properties == {"k": "w", "location": OUTSIDE}
        assert bounded.alter_table({**T, "unset_properties": ["location"]}).properties == {"k": "w"}


@pytest.mark.parametrize("name", [name for name in WITH_A_PLACE if "table" in name])
def test_credentials_are_not_sent_to_another_server(tmp_path: Path, name: str) -> None:
    storage = {"aws_secret_access_key": "hunter2hunter2", "region": "here"}
    with filled(Mixed, tmp_path, storage=storage) as namespace:
        elsewhere = {"storage.endpoint": "http://elsewhere"}
        code, said = code_of(lambda: WITH_A_PLACE[name](namespace, elsewhere))
        assert (code, "would send the namespace's credentials to another server" in said) == (
            13,
            True,
        )
        assert "http://elsewhere" not in str(namespace._catalog)
        WITH_A_PLACE[name](namespace, {"storage.region": "there"})


def test_storage_options_of_a_namespace_do_not_apply_to_its_tables(tmp_path: Path) -> None:
    storage = {"aws_secret_access_key": "hunter2hunter2"}
    with filled(Mixed, tmp_path, storage=storage) as namespace:
        properties = {"storage.endpoint": "http://elsewhere"}
        WITH_A_PLACE["create a namespace"](namespace, properties)
        assert namespace.describe_table(T).storage_options == storage


def test_alter_table_does_not_send_credentials_to_another_server(tmp_path: Path) -> None:
    """The check considers the resulting properties of the table, not only the changed ones."""
    storage = {"aws_secret_access_key": "hunter2hunter2"}
    own = {"storage.endpoint": "http://theirs", "storage.aws_secret_access_key": "theirs"}
    with filled(Mixed, tmp_path, storage=storage) as namespace:
        namespace.alter_table({**T, "set_properties": own})
        unset = {**T, "unset_properties": ["storage.aws_secret_access_key"]}
        assert (
            code_of(lambda: namespace.alter_table({**unset, "set_properties": {"a": "b"}}))[0] == 13
        )
        assert namespace.describe_table(T).storage_options == {
            "endpoint": "http://theirs", "aws_secret_access_key": "theirs",
        }  # fmt: skip


# --- unavailable storage


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Make every check of a folder fail, and record the storage options of each check."""
    options: list[dict[str, str]] = []

    def fail(self: TableFolder) -> Any:
        options.append(dict(self._storage.options))
        raise OSError("the network is down")

    monkeypatch.setattr(TableFolder, "is_occupied", property(fail))
    return options


def test_a_table_is_declared_if_storage_is_unavailable(
    mixed: MemoryNamespace, away: list[dict[str, str]]
) -> None:
    with pytest.warns(
        UserWarning, match=r"rows that already exist there .*n\$d: .*network is down"
    ):
        location = mixed.declare_table({"id": ["n", "d"]}).location
    assert mixed.describe_table({"id": ["n", "d"]}).location == location
    assert away == [{"client_max_retries": "2"}]  # a short wait for the caller
    own = {"storage.client_max_retries": "7"}
    with pytest.warns(UserWarning, match=r"rows that already exist there"):
        mixed.declare_table({"id": ["n", "e"], "properties": own})
    assert away[1:] == [{"client_max_retries": "7"}]


@pytest.mark.filterwarnings("error")
def test_create_does_not_warn_about_unavailable_storage(
    mixed: MemoryNamespace, away: list[dict[str, str]]
) -> None:
    mixed.create_table({"id": ["n", "new"]}, ROWS)
    assert away == [{}]
    assert mixed.count_table_rows({"id": ["n", "new"]}).count == 3


def test_a_table_is_renamed_if_storage_is_unavailable(
    mixed: MemoryNamespace, away: list[dict[str, str]]
) -> None:
    with pytest.warns(
        UserWarning, match=r"cannot be written to: .*n\$t could be stored at the same location"
    ):
        mixed.rename_table({**T, "new_table_name": "u"})
    assert mixed.count_table_rows({"id": ["n", "u"]}).count == 3


# --- clones


@pytest.mark.parametrize("is_shallow", [True, False])
def test_a_shallow_clone_reads_the_files_of_its_source(
    mixed: MemoryNamespace, is_shallow: bool
) -> None:
    source = mixed.describe_table(T).location or ""
    request = DescribeTableRequest(id=["n", "copy"])
    made = mixed.clone_table(request, source, is_shallow=is_shallow)
    assert mixed.open_table(["n", "copy"]).to_table() == ROWS
    files = list(Path(made.location or "").glob("data/*"))
    assert (not files) is is_shallow


def test_a_clone_requires_permission_to_read_the_source(
    mixed: MemoryNamespace, tmp_path: Path
) -> None:
    source = mixed.describe_table(T).location or ""
    request = DescribeTableRequest(id=["m", "copy"])
    free = str(tmp_path / "free" / "t.lance")
    lance.write_dataset(pa.table({"y": [1]}), free)
    refused = {"may_read": lambda identifier: False, "may_name": False}
    for location, more in ((source, refused), (free, refused), (f"{source}x", refused)):
        code, said = code_of(lambda at=location, more=more: mixed.clone_table(request, at, **more))
        assert (code, "that you are allowed to read" in said) == (15, True)
    assert list(mixed.iter_tables(["m"])) == []
    seen: list[tuple[str, ...]] = []
    mixed.clone_table(request, source, near=("m",), may_read=lambda id: not seen.append(id))  # type: ignore[func-returns-value]
    assert seen == [("n", "t")]
    mixed.clone_table(DescribeTableRequest(id=["m", "free"]), free)
    assert mixed.open_table(["m", "free"]).schema.names == ["y"]
    bounded = MemoryConfig(root=mixed.config.root, confine_locations=True)
    with Mixed(bounded) as namespace:
        again = DescribeTableRequest(id=["m", "again"])
        assert code_of(lambda: namespace.clone_table(again, free))[0] == 15


def test_a_catalog_that_creates_no_tables_clones_none(tmp_path: Path) -> None:
    capabilities = evolve(ANY, unsupported={"CreateTable": "it is read-only"})
    with connected(of(capabilities), tmp_path) as namespace:
        request = DescribeTableRequest(id=["copy"])
        code, said = code_of(lambda: namespace.clone_table(request, "/x"))
        assert (code, said) == (0, "CloneTable copy: it is read-only")
