"""Random changes of a directory here, in pylance and in lancedb: all agree after each step."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Protocol

import lance
import lance_namespace as official
import lancedb
import pyarrow as pa
import pytest
from attrs import define, field
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls.catalog.namespace import Namespace

from .lakes import Peer, ipc, ours

FEW, MANY = 6, 200
STEPS = 14
NAMES = ("a", "b", "c")
MEMORY = "/dev/shm"
"""A folder in memory: every commit waits for the disk, which takes minutes if the disk is busy."""
Id = tuple[str, ...]


class Client(Protocol):
    """The operations that all three clients support."""

    def create_namespace(self, id: Id, properties: dict[str, str]) -> None: ...
    def drop_namespace(self, id: Id) -> None: ...
    def create_table(self, id: Id, rows: pa.Table) -> None: ...
    def drop_table(self, id: Id) -> None: ...
    def append(self, id: Id, rows: pa.Table) -> None: ...
    def tables(self, id: Id) -> list[str]: ...
    def namespaces(self, id: Id) -> list[str]: ...
    def properties(self, id: Id) -> dict[str, str]: ...
    def rows(self, id: Id) -> list[int]: ...


@define
class Ours:
    """This package."""

    namespace: Namespace

    def create_namespace(self, id: Id, properties: dict[str, str]) -> None:
        self.namespace.create_namespace({"id": list(id), "properties": properties})

    def drop_namespace(self, id: Id) -> None:
        self.namespace.drop_namespace({"id": list(id)})

    def create_table(self, id: Id, rows: pa.Table) -> None:
        self.namespace.create_table({"id": list(id)}, rows)

    def drop_table(self, id: Id) -> None:
        self.namespace.drop_table({"id": list(id)})

    def append(self, id: Id, rows: pa.Table) -> None:
        self.namespace.insert_into_table({"id": list(id)}, rows)

    def tables(self, id: Id) -> list[str]:
        return list(self.namespace.iter_tables(id, page_size=2))

    def namespaces(self, id: Id) -> list[str]:
        return list(self.namespace.iter_namespaces(id, page_size=1))

    def properties(self, id: Id) -> dict[str, str]:
        return self.namespace.describe_namespace({"id": list(id)}).properties or {}

    def rows(self, id: Id) -> list[int]:
        return sorted(self.namespace.open_table(list(id)).to_table()["x"].to_pylist())


@define
class Pylance:
    """The directory namespace of pylance."""

    peer: Peer

    def create_namespace(self, id: Id, properties: dict[str, str]) -> None:
        self.peer.create_namespace(list(id), properties)

    def drop_namespace(self, id: Id) -> None:
        self.peer.namespace.drop_namespace(official.DropNamespaceRequest(id=list(id)))

    def create_table(self, id: Id, rows: pa.Table) -> None:
        self.peer.create_table(list(id), rows)

    def drop_table(self, id: Id) -> None:
        self.peer.namespace.drop_table(official.DropTableRequest(id=list(id)))

    def append(self, id: Id, rows: pa.Table) -> None:
        request = official.InsertIntoTableRequest(id=list(id), mode="append")
        self.peer.namespace.insert_into_table(request, ipc(rows))

    def tables(self, id: Id) -> list[str]:
        return self.peer.tables(list(id))

    def namespaces(self, id: Id) -> list[str]:
        return self.peer.namespaces(list(id))

    def properties(self, id: Id) -> dict[str, str]:
        request = official.DescribeNamespaceRequest(id=list(id))
        return dict(self.peer.namespace.describe_namespace(request).properties or {})

    def rows(self, id: Id) -> list[int]:
        return sorted(self.peer.rows(list(id))["x"].to_pylist())


@define
class LanceDb:
    """lancedb's connection to a directory."""

    db: Any

    def create_namespace(self, id: Id, properties: dict[str, str]) -> None:
        self.db.create_namespace(list(id), properties=properties)

    def drop_namespace(self, id: Id) -> None:
        self.db.drop_namespace(list(id))

    def create_table(self, id: Id, rows: pa.Table) -> None:
        self.db.create_table(id[-1], rows, namespace_path=list(id[:-1]))

    def drop_table(self, id: Id) -> None:
        self.db.drop_table(id[-1], namespace_path=list(id[:-1]))

    def _open(self, id: Id) -> Any:
        return self.db.open_table(id[-1], namespace_path=list(id[:-1]))

    def append(self, id: Id, rows: pa.Table) -> None:
        self._open(id).add(rows)

    def tables(self, id: Id) -> list[str]:
        return sorted(self.db.list_tables(namespace_path=list(id), limit=1000).tables)

    def namespaces(self, id: Id) -> list[str]:
        return sorted(self.db.list_namespaces(namespace_path=list(id), limit=1000).namespaces)

    def properties(self, id: Id) -> dict[str, str]:
        return dict(self.db.describe_namespace(list(id)).properties or {})

    def rows(self, id: Id) -> list[int]:
        return sorted(self._open(id).to_arrow()["x"].to_pylist())


@define
class Walk:
    """A directory and its expected contents."""

    root: Path
    ours: Ours
    clients: dict[str, Client]
    tables: dict[Id, list[int]] = field(factory=dict)
    namespaces: dict[Id, dict[str, str]] = field(factory=dict)

    @classmethod
    def at(cls, root: Path) -> Walk:
        mine = Ours(ours(root))
        others: dict[str, Client] = {
            "pylance": Pylance(Peer.at(root)),
            "lancedb": LanceDb(lancedb.connect(str(root))),
        }
        return cls(root, mine, {"ours": mine, **others})

    def step(self, data: st.DataObject) -> None:
        """Make one change through one of the three clients."""
        who = data.draw(st.sampled_from((*self.clients, "ours")), label="who")
        what = data.draw(st.sampled_from(self._choices(who)), label="what")
        parents = [(), *self.namespaces]
        parent = data.draw(st.sampled_from([p for p in parents if len(p) < 3]), label="parent")
        new = (*parent, data.draw(st.sampled_from(NAMES), label="name"))
        taken = new in self.tables or new in self.namespaces
        number = data.draw(st.integers(0, 99), label="number")
        client = self.clients[who]
        if what == "create namespace" and not taken:
            properties = {"k": str(number)} if number % 2 else {}
            self._create_namespace(client, new, properties)
        elif what == "create table" and not taken:
            client.create_table(new, pa.table({"x": [number]}))
            self.tables[new] = [number]
        elif what == "take a name that is taken" and taken:
            self._refused(lambda: self.ours.create_namespace(new, {}), 2)
            self._refused(lambda: self.ours.create_table(new, pa.table({"x": [1]})), 5)
        elif what == "drop namespace" and self.namespaces:
            old = data.draw(st.sampled_from(sorted(self.namespaces)), label="namespace")
            if any(each[: len(old)] == old and each != old for each in self._all()):
                self._refused(lambda: self.ours.drop_namespace(old), 3)
            else:
                client.drop_namespace(old)
                del self.namespaces[old]
        elif what in ("drop", "append", "rename", "alter", "deregister") and self.tables:
            self._with_table(data, client, what, new, number)

    def _choices(self, who: str) -> list[str]:
        both = ["create namespace", "create table", "create table", "append", "drop"]
        both += ["drop namespace", "take a name that is taken"]
        return [*both, "rename", "rename", "alter", "deregister"] if who == "ours" else both

    def _with_table(
        self, data: st.DataObject, client: Client, what: str, new: Id, number: int
    ) -> None:
        table = data.draw(st.sampled_from(sorted(self.tables)), label="table")
        request: dict[str, Any] = {"id": list(table)}
        mine = self.ours.namespace
        if what == "drop":
            self._drop(client, table)
        elif what == "append":
            client.append(table, pa.table({"x": [number]}))
            self.tables[table] = sorted([*self.tables[table], number])
        elif what == "rename":
            request |= {"new_namespace_id": list(new[:-1]), "new_table_name": new[-1]}
            if new in self._all():
                self._refused(lambda: mine.rename_table(request), 5)
                return
            mine.rename_table(request)
            self.tables[new] = self.tables.pop(table)
        elif what == "alter":
            mine.alter_table({**request, "set_properties": {"k": str(number)}})
            assert mine.describe_table(request).properties == {"k": str(number)}
            if len(table) > 1:  # pylance shows no properties of tables in the root
                described = Peer.at(self.root).describe(list(table))
                assert described.properties == {"k": str(number)}
        elif len(table) > 1:
            location = mine.deregister_table(request).location
            assert location is not None
            assert sorted(lance.dataset(location).to_table()["x"].to_pylist()) == self.tables[table]
            self.compare_without(table)
            mine.register_table({**request, "location": location})

    def _create_namespace(self, client: Client, new: Id, properties: dict[str, str]) -> None:
        try:
            client.create_namespace(new, properties)
        except Exception as error:
            # lancedb drops a table of the root and leaves its row, which pylance still considers.
            if client is self.ours or len(new) > 1 or "already exists" not in str(error).lower():
                raise
            self.ours.create_namespace(new, properties)
        self.namespaces[new] = properties

    def _drop(self, client: Client, table: Id) -> None:
        try:
            client.drop_table(table)
        except Exception as error:
            # pylance does not drop a table of the root without a row, as created by lancedb.
            if client is self.ours or len(table) > 1 or "not found" not in str(error).lower():
                raise
            self.ours.drop_table(table)
        del self.tables[table]

    def compare_without(self, table: Id) -> None:
        """Compare while a table is deregistered."""
        rows = self.tables.pop(table)
        self.compare()
        self.tables[table] = rows

    def _all(self) -> set[Id]:
        return {*self.tables, *self.namespaces}

    @staticmethod
    def _refused(call: Any, code: int) -> None:
        with pytest.raises(LanceNamespaceError) as caught:
            call()
        assert caught.value.code == code

    def compare(self) -> None:
        """Compare the results of all three clients with the expected contents."""
        for who, client in self.clients.items():
            for parent in [(), *self.namespaces]:
                tables = sorted(each[-1] for each in self.tables if each[:-1] == parent)
                assert client.tables(parent) == tables, (who, parent)
                below = sorted(each[-1] for each in self.namespaces if each[:-1] == parent)
                assert client.namespaces(parent) == below, (who, parent)
            for namespace, properties in self.namespaces.items():
                assert client.properties(namespace) == properties, (who, namespace)
            for table, rows in self.tables.items():
                assert client.rows(table) == rows, (who, table)
        for table in self.tables:
            theirs = Peer.at(self.root).describe(list(table)).location.removeprefix("file://")
            mine = self.ours.namespace.describe_table({"id": list(table)}).location
            assert theirs == mine, table


def walk(data: st.DataObject) -> None:
    root = Path(tempfile.mkdtemp(prefix="lns-walk-", dir=MEMORY if os.path.isdir(MEMORY) else None))
    try:
        one = Walk.at(root)
        for _ in range(STEPS):
            one.step(data)
            one.compare()
    finally:
        shutil.rmtree(root)


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        # A walk takes seconds, so shrinking one would take minutes without any output.
        phases=(Phase.generate,),
    )


@_settings(FEW)
@given(st.data())
def test_all_three_agree(data: st.DataObject) -> None:
    walk(data)


@pytest.mark.slow
@_settings(MANY)
@given(st.data())
def test_all_three_agree_on_many_walks(data: st.DataObject) -> None:
    walk(data)
