"""CreateTable and DropTable, killed at every step: a second attempt completes or reverts them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from attrs import frozen

from lance_namespace_client.errors import TableAlreadyExistsError, TableNotFoundError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.directory import sweep
from tests.behaviour.catalogs import CATALOGS
from tests.behaviour.home import make_home
from tests.behaviour.subject import Subject
from tests.schedule import on_server

from .killing import ROWS, Step, run_and_die

# --- a directory

FILL_STEPS = {
    "before the data is written": Step("write.create", "before"),
    "in the middle of the stream": Step("RowStream._each", "first"),
    "before the rows are committed": Step("write.commit_onto", "before"),
    "after the data was written": Step("write.create", "after"),
}
MARKER_STEPS = {
    "before the marker goes": Step("Directory.remove_marker", "before"),
    "after the marker went": Step("Directory.remove_marker", "after"),
}
FEW_STEPS = {
    "before the rows are written": Step("write.create_unshared", "before"),
    "after the rows were written": Step("write.create_unshared", "after"),
}
NAME_STEPS = {
    "before there is a place for the rows": Step("Directory.staged", "before"),
    "before the table gets its name": Step("Directory.move", "before"),
    "after the table got its name": Step("Directory.move", "after"),
}
CREATE_STEPS = {
    "fill": FILL_STEPS | MARKER_STEPS,
    "create": FILL_STEPS | NAME_STEPS,
    "create few": FEW_STEPS | NAME_STEPS,
}
DROP_STEPS = {
    "before the directory goes": Step("os.rename", "before"),
    "after the directory was renamed": Step("os.rename", "after"),
    "in the middle of deleting": Step("os.unlink", "after", nth=2),
    "after everything was deleted": Step("Directory.delete", "after"),
}


@pytest.mark.parametrize(
    ("operation", "step"),
    [
        pytest.param(operation, step, id=f"{operation}, {name}")
        for operation, steps in CREATE_STEPS.items()
        for name, step in steps.items()
    ],
)
def test_create_table_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, step: Step
) -> None:
    monkeypatch.setattr(sweep, "SWEEP_SECONDS", 0.0)
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        if operation == "fill":
            namespace.declare_table({"id": ["t"], "properties": {"k": "v"}})
        run_and_die(namespace, ["t"], operation.replace("fill", "create"), step)
        assert list(namespace.iter_tables()) == ["t"][: operation == "fill" or has_name(step)]
        ready = list(namespace.iter_tables(include_declared=False))
        if ready:
            assert namespace.count_table_rows({"id": ["t"]}).count == 10
            with pytest.raises(TableAlreadyExistsError):
                namespace.create_table({"id": ["t"]}, ROWS)
        else:
            created = namespace.create_table({"id": ["t"], "properties": {"k": "v"}}, ROWS)
            assert created.version == 1
        assert list(namespace.iter_tables(include_declared=False)) == ["t"]
        assert namespace.count_table_rows({"id": ["t"]}).count == 10
        assert namespace.describe_table({"id": ["t"]}).properties == {"k": "v"}
        namespace.drop_table({"id": ["t"]})
        assert list(namespace.iter_tables()) == []
    assert list(tmp_path.iterdir()) == []


def has_name(step: Step) -> bool:
    return step == NAME_STEPS["after the table got its name"]


@pytest.mark.parametrize("step", DROP_STEPS.values(), ids=DROP_STEPS)
def test_drop_table_killed(tmp_path: Path, step: Step) -> None:
    with connect("dir", {"path": str(tmp_path)}) as namespace:
        namespace.create_table({"id": ["t"]}, ROWS)
        run_and_die(namespace, ["t"], "drop", step)
        if list(namespace.iter_tables()):
            assert namespace.count_table_rows({"id": ["t"]}).count == 10
            namespace.drop_table({"id": ["t"]})
        with pytest.raises(TableNotFoundError):
            namespace.describe_table({"id": ["t"]})
        # The name is available again, and the next drop deletes everything the killed drop left.
        namespace.create_table({"id": ["t"]}, ROWS)
        assert namespace.count_table_rows({"id": ["t"]}).count == 10
        namespace.drop_table({"id": ["t"]})
    assert list(tmp_path.iterdir()) == []


# --- catalogs

# The step, and the operations tried after it; if there is one, both have the same result.
CATALOG_CREATE_STEPS = {
    "before the table is added": (Step("Namespace.add_table_for", "before"), ["drop"]),
    "after the table was added": (Step("Namespace.add_table_for", "after"), ["drop"]),
    "before the data is written": (Step("write.create", "before"), ["create"]),
    "in the middle of the stream": (Step("RowStream._each", "first"), ["create", "drop"]),
    "before the rows are committed": (Step("write.commit_onto", "before"), ["create", "drop"]),
    "after the data was written": (Step("write.create", "after"), ["drop"]),
}
CATALOG_DROP_STEPS = {
    "before the marker": (Step("TableFolder.write_drop_marker", "before"), ["drop"]),
    "before the table leaves": (Step("Namespace.remove_table", "before"), ["drop"]),
    "after the table left": (Step("Namespace.remove_table", "after"), ["create", "drop"]),
    "after the marker says so": (Step("TableFolder.mark_removed", "after"), ["create", "drop"]),
    "without manifests": (Step("TableFolder._delete_folder", "after"), ["create", "drop"]),
    "in the middle": (Step("TableFolder._delete_folder", "after", nth=2), ["create", "drop"]),
    "with the marker alone": (Step("TableFolder.remove_drop_marker", "before"), ["create", "drop"]),
    "after all was deleted": (Step("TableFolder.remove_drop_marker", "after"), ["drop"]),
}


ALL_STEPS = "unity"
"""The catalog that is killed at every step; most steps in a table's folder are common to all."""
EVERYWHERE = ("Namespace.", "RowStream.", "TableFolder.mark_removed")
"""Functions at which every catalog is killed, because its entry of the table differs after each."""


def _each(steps: Mapping[str, tuple[Step, list[str]]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("subject", "step", "then"),
        [
            pytest.param(
                catalog,
                step,
                then,
                marks=on_server(catalog).marks,
                id=f"{catalog}, {name}, then {then}",
            )
            for catalog in KILLED
            for name, (step, tried) in steps.items()
            for then in tried
            if catalog == ALL_STEPS or step.function.startswith(EVERYWHERE)
        ],
        indirect=["subject"],
    )


# One of the two Hive catalogs is enough: they differ only in the levels above the table.
KILLED = {name: start for name, start in CATALOGS.items() if name != "hive2"}


@frozen
class Place:
    """A table to be created in one of the catalogs."""

    namespace: Namespace
    parent: list[str]
    location: str

    @property
    def table(self) -> list[str]:
        """Its identifier."""
        return [*self.parent, "t"]

    def tables(self, *, ready: bool) -> list[str]:
        """List the tables of the namespace; only tables with data if `ready`."""
        return list(self.namespace.iter_tables(self.parent, include_declared=not ready))

    def files(self) -> list[str]:
        """List the files at the table's location, except the catalog's own files."""
        files = [path for path in Path(self.location).rglob("*") if path.is_file()]
        found = [str(path.relative_to(self.location)) for path in files]
        return [name for name in found if not name.startswith("metadata/")]

    def is_whole(self) -> bool:
        """Return whether the table is ready; check that a ready table has all its rows."""
        ready = self.tables(ready=True) == ["t"]
        if not self.tables(ready=False):
            with pytest.raises(TableNotFoundError):
                self.namespace.describe_table({"id": self.table, "check_declared": True})
            assert not ready
            return False
        described = self.namespace.describe_table({"id": self.table, "check_declared": True})
        assert described.is_only_declared is not ready
        assert described.location == self.location
        if ready:
            assert self.namespace.open_table(self.table).to_table() == ROWS
        return ready


@pytest.fixture(scope="module")
def subject(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    with KILLED[request.param](tmp_path_factory.mktemp(request.param)) as started:
        yield started


@pytest.fixture
def place(subject: Subject) -> Iterator[Place]:
    with subject.connect() as namespace:
        home = make_home(subject, namespace)
        location = subject.location((*home, "t"), {})
        assert location is not None
        yield Place(namespace, list(home), location)


@_each(CATALOG_CREATE_STEPS)
def test_create_table_killed_in_a_catalog(place: Place, step: Step, then: str) -> None:
    namespace, request = place.namespace, {"id": place.table}
    run_and_die(namespace, place.table, "create", step)
    listed = place.tables(ready=False) == ["t"]
    if place.is_whole():
        with pytest.raises(TableAlreadyExistsError):
            namespace.create_table(request, ROWS)
    elif then == "create":
        assert namespace.create_table(request, ROWS).version == 1
        assert place.is_whole()
    elif not listed:
        with pytest.raises(TableNotFoundError):
            namespace.drop_table(request)
        assert place.files() == []
        return
    namespace.drop_table(request)
    assert place.tables(ready=False) == place.files() == []


@_each(CATALOG_DROP_STEPS)
def test_drop_table_killed_in_a_catalog(place: Place, step: Step, then: str) -> None:
    namespace, request = place.namespace, {"id": place.table}
    namespace.create_table(request, ROWS)
    old = set(place.files())
    run_and_die(namespace, place.table, "drop", step)
    if place.is_whole():
        with pytest.raises(TableAlreadyExistsError):
            namespace.create_table(request, ROWS)
    elif step.function == "Namespace.remove_table" and step.when == "after":
        # It is not known yet whether the drop or another tool removed the table: the data remains.
        assert place.tables(ready=False) == []
        if then == "create":
            created = namespace.create_table(request, ROWS)
            assert created.location != place.location
            namespace.drop_table(request)
        with pytest.raises(TableNotFoundError):
            namespace.drop_table(request)
        assert old <= set(place.files())
        namespace.register_table({**request, "location": place.location})
        assert place.is_whole()
    else:
        assert place.tables(ready=False) == []
        if then == "create":
            assert namespace.create_table(request, ROWS).version == 1
            assert place.is_whole()
            kept = {name for name in old & set(place.files()) if "_versions" not in name}
            assert kept == set()
        elif not place.files():
            with pytest.raises(TableNotFoundError):
                namespace.drop_table(request)
            return
    namespace.drop_table(request)
    assert place.tables(ready=False) == place.files() == []
