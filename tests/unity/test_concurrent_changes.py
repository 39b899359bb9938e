"""Concurrent changes by several processes, which the server does not isolate."""

from __future__ import annotations

import time

import pytest

from lance_namespace_client.errors import ConcurrentModificationError
from lance_namespace_impls import connect
from lance_namespace_impls.unity import UnityNamespace
from lance_namespace_impls.unity.namespace import MIN_PAUSE, PAUSE_FACTOR
from tests.servers.web import Answer, Asked, WebServer
from tests.writers import CHANGES, Work, change_from_everywhere, processes

from .conftest import Unity

S = ["main", "s"]
ROUNDS = 20


@pytest.mark.slow
@pytest.mark.parametrize(("count", "threads"), [(1, 4), (2, 2), (4, 1)])
def test_one_machine_loses_no_change_in_many_rounds(
    main: UnityNamespace, unity: Unity, count: int, threads: int
) -> None:
    """Between machines the server itself loses some, because it answers reads during a change."""
    properties = {"endpoint": unity.uri, "catalog": "main"}
    lost: list[int] = []
    with processes(count) as pool:
        for round_ in range(ROUNDS):
            schema = ["main", f"s{round_}"]
            main.create_namespace({"id": schema})
            work = Work("unity", properties, "alter_namespace", schema, round_)
            changed = change_from_everywhere(pool, work, count=count, threads=threads)
            there = main.describe_namespace({"id": schema}).properties or {}
            lost.append(len(changed - set(there)))
    print(
        f"\n{type(unity).__name__}, namespace, {count} processes of {threads} threads: {ROUNDS} rounds of "
        f"{count * threads * CHANGES} acknowledged changes, lost {sum(lost)} {lost}"
    )
    getattr(unity, "differences", []).clear()  # the double's results differ in races
    assert lost == [0] * ROUNDS


class _Overtaken(WebServer):
    """A server on which another writer, which has read the old properties, writes last."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.properties = {"a": "old", "gone": "1"}
        self.times = times

    def respond(self, asked: Asked) -> Answer:
        if asked.method != "PATCH":
            return Answer(body={"properties": self.properties})
        before, self.properties = self.properties, asked.json["properties"]
        answer = Answer(body={"properties": self.properties})
        if self.times:
            self.times -= 1
            self.properties = {**before, "theirs": "1"}
        return answer


@pytest.mark.parametrize("times", [0, 1, 9])
def test_a_change_undone_by_another_client_is_retried(times: int) -> None:
    with (
        _Overtaken(times) as server,
        connect("unity", {"endpoint": server.uri, "catalog": "main"}) as namespace,
    ):
        changes = {"set_properties": {"a": "new", "b": "1"}, "unset_properties": ["gone"]}
        answer = namespace.alter_namespace({"id": S, **changes})
        theirs = {"theirs": "1"} if times else {}
        assert answer.properties == server.properties == {"a": "new", "b": "1", **theirs}


def test_a_change_that_is_always_undone_fails() -> None:
    with (
        _Overtaken(1000) as server,
        connect("unity", {"endpoint": server.uri, "catalog": "main"}) as namespace,
        pytest.raises(ConcurrentModificationError, match=r"main\$s: other clients changed it"),
    ):
        namespace.alter_namespace({"id": S, "set_properties": {"b": "1"}})


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_the_check_waits_as_long_as_the_change_took(
    seconds: float,
) -> None:
    class Slow(_Overtaken):
        looked: float = 0.0
        changed: float = 0.0

        def respond(self, asked: Asked) -> Answer:
            self.looked = time.monotonic()
            answer = super().respond(asked)
            if asked.method == "PATCH":
                time.sleep(seconds)
                self.changed = time.monotonic()
            return answer

    with (
        Slow(0) as server,
        connect("unity", {"endpoint": server.uri, "catalog": "main"}) as namespace,
    ):
        namespace.alter_namespace({"id": S, "set_properties": {"b": "1"}})
        assert server.looked - server.changed >= max(MIN_PAUSE, PAUSE_FACTOR * seconds)


def test_later_changes_of_other_clients_are_kept() -> None:
    class Later(_Overtaken):
        def respond(self, asked: Asked) -> Answer:
            answer = super().respond(asked)
            if asked.method == "PATCH":
                self.properties = {**self.properties, "a": "theirs"}
            return answer

    with (
        Later(0) as server,
        connect("unity", {"endpoint": server.uri, "catalog": "main"}) as namespace,
    ):
        namespace.alter_namespace({"id": S, "set_properties": {"a": "ours"}})
        assert server.properties["a"] == "theirs"
        assert sum(asked.method == "PATCH" for asked in server.asked) == 1
