"""Many threads use one namespace while the metastore is killed and restarted."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from tests.servers.hive import RELEASES, Metastore

from .sockets import open_sockets

pytestmark = pytest.mark.xdist_group("spread")

POOL_SIZE = 3


class Worker(threading.Thread):
    """Changes its own tables and checks every response.

    After a failed change, the state of the table is unknown until it is read again.
    """

    def __init__(
        self, namespace: Namespace, database: list[str], number: int, until: float
    ) -> None:
        super().__init__(name=f"worker-{number}", daemon=True)
        self.namespace = namespace
        self.database = database
        self.number = number
        self.until = until
        self.random = random.Random(number)
        self.tables: dict[str, bool | None] = {}
        self.codes: Counter[int] = Counter()
        self.wrong: list[str] = []
        self.done = 0
        self.longest = 0.0

    def run(self) -> None:
        while time.monotonic() < self.until:
            started = time.monotonic()
            try:
                self.step()
            except Exception as error:  # noqa: BLE001 - whatever it is, it should not be
                self.wrong.append(f"{type(error).__name__}: {error}")
            self.longest = max(self.longest, time.monotonic() - started)
            self.done += 1

    def step(self) -> None:
        name = f"w{self.number:02}_{self.random.randrange(3)}"
        identifier = {"id": [*self.database, name]}
        there = self.tables.get(name, False)
        step = self.random.choice(("look", "look", "list", "declare", "alter", "drop"))
        changed = {"declare": True, "drop": False}.get(step, there)
        try:
            if step == "look":
                found = self.namespace.describe_table(identifier)
                self.expect(found.table == name and str(found.location).endswith(f"/{name}"), found)
            elif step == "list":
                names = self.namespace.list_tables({"id": self.database}).tables
                for own, known in self.tables.items():
                    if known is not None:
                        self.expect((own in names) == known, f"list: {own} {known}")
                return
            elif step == "declare":
                self.namespace.declare_table(identifier)
            elif step == "alter":
                value = str(self.random.random())
                answer = self.namespace.alter_table({**identifier, "set_properties": {"v": value}})
                self.expect((answer.properties or {}).get("v") == value, answer)
            else:
                self.namespace.deregister_table(identifier)
        except LanceNamespaceError as error:
            self.codes[int(error.code)] += 1
            if error.code == 17:
                if step in ("declare", "drop"):
                    self.tables[name] = None
                time.sleep(0.05)
            elif error.code == 4:
                self.expect(step != "declare" and there is not True, f"{step}: {error}")
                self.tables[name] = False
            elif error.code == 5:
                self.expect(step == "declare" and there is not False, f"{step}: {error}")
                self.tables[name] = True
            elif error.code == 14:
                # A change of it was sent when the metastore was killed, so it is still locked.
                self.expect(step == "alter" and self.codes[17] > 0, f"{step}: {error}")
            else:
                self.wrong.append(f"{step}: code {error.code}: {error}")
        else:
            self.expect(there is not False or step == "declare", f"{step} of no table")
            self.tables[name] = True if there is None and step == "look" else changed
            if step == "alter":
                self.tables[name] = True

    def expect(self, right: bool, what: object) -> None:
        if not right:
            self.wrong.append(str(what))


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_threads_survive_restarts(release: str, tmp_path: Path) -> None:
    seconds, threads = 60.0, 32
    with Metastore(RELEASES[release], tmp_path) as metastore:
        above = ["hive"] if metastore.release.has_catalogs else []
        namespace = connect("hive", {"uri": metastore.uri, "root": str(tmp_path / "lake")})
        database = [*above, "restarts"]
        namespace.create_namespace({"id": database})
        until = time.monotonic() + seconds
        workers = [Worker(namespace, database, n, until) for n in range(threads)]
        most = 0
        kills = [until - seconds * 3 / 4, until - seconds * 3 / 8]
        for worker in workers:
            worker.start()
        restarting: threading.Thread | None = None
        while time.monotonic() < until:
            most = max(most, len(open_sockets(metastore.port)))
            if kills and time.monotonic() > kills[0]:
                kills.pop(0)
                metastore.kill()
                restarting = threading.Thread(target=_start_after_a_pause, args=[metastore])
                restarting.start()
            time.sleep(0.05)
        for worker in workers:
            worker.join(120)
        assert restarting is not None
        restarting.join()
        hanging = [worker.name for worker in workers if worker.is_alive()]
        codes: Counter[int] = sum((worker.codes for worker in workers), Counter())
        done = sum(worker.done for worker in workers)
        longest = max(worker.longest for worker in workers)
        wrong = [each for worker in workers for each in worker.wrong]
        print(
            f"\n{metastore.release.version}: {done} calls from {threads} threads in {seconds:g} s, "
            f"codes {dict(sorted(codes.items()))}, longest call {longest:.1f} s, most sockets {most}"
        )
        namespace.close()
    assert hanging == []
    assert wrong == []
    assert codes[17] > 0
    assert 0 < most <= POOL_SIZE


def _start_after_a_pause(metastore: Metastore) -> None:
    time.sleep(2)
    metastore.start()
