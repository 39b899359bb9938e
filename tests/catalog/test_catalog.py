"""Behavior that catalogs inherit from the shared base class, tested on an in-memory catalog."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lance_namespace_urllib3_client.models.describe_table_request import (
    DescribeTableRequest as OfficialRequest,
)

from lance_namespace_client import models
from lance_namespace_client.errors import LanceNamespaceError, TableNotFoundError
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.core.identifiers import Identifier
from tests.behaviour.memory import (
    LEVELS,
    Catalog,
    MemoryConfig,
    MemoryNamespace,
    catalog,
)

from .memory import ROWS, code_of, connected

AT_ONCE = 8


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[MemoryNamespace]:
    with connected(LEVELS["mixed"], tmp_path) as found:
        found.create_namespace({"id": ["ns"]})
        yield found


@pytest.fixture
def held(tmp_path: Path) -> Catalog:
    return catalog(str(tmp_path))


# --- one name, one object


@pytest.mark.parametrize("mode", ["Create", "ExistOk", "Overwrite"])
def test_a_namespace_cannot_have_the_name_of_a_table(mixed: MemoryNamespace, mode: str) -> None:
    mixed.create_table({"id": ["t"]}, ROWS)
    assert code_of(lambda: mixed.create_namespace({"id": ["t"], "mode": mode}))[0] == 2
    assert mixed.open_table(["t"]).to_table() == ROWS


@pytest.mark.parametrize("mode", ["Create", "ExistOk", "Overwrite"])
def test_a_table_cannot_have_the_name_of_a_namespace(mixed: MemoryNamespace, mode: str) -> None:
    request = {"id": ["ns"], "mode": mode}
    assert code_of(lambda: mixed.create_table(request, ROWS))[0] == 5
    assert code_of(lambda: mixed.declare_table({"id": ["ns"]}))[0] == 5
    for register in ("Create", "Overwrite"):
        asked = {"id": ["ns"], "location": "/x", "mode": register}
        assert code_of(partial(mixed.register_table, asked))[0] == 5
    assert list(mixed.iter_namespaces()) == ["ns"]
    assert list(mixed.iter_tables()) == []


def test_a_rename_to_an_existing_name_is_rejected(mixed: MemoryNamespace) -> None:
    mixed.create_table({"id": ["t"]}, ROWS)
    mixed.declare_table({"id": ["ns", "u"]})
    for new in (["ns"], ["t"], ["ns", "u"]):
        request = {"id": ["t"], "new_namespace_id": new[:-1], "new_table_name": new[-1]}
        assert code_of(partial(mixed.rename_table, request))[0] == 5
    missing = {"id": ["t"], "new_namespace_id": ["gone"], "new_table_name": "t"}
    assert code_of(lambda: mixed.rename_table(missing))[0] == 1
    assert mixed.open_table(["t"]).to_table() == ROWS


# --- tables of other formats


@pytest.fixture
def with_other(mixed: MemoryNamespace, held: Catalog) -> MemoryNamespace:
    held.tables[("ns", "other")] = None
    return mixed


def test_a_table_of_another_format_is_not_listed(with_other: MemoryNamespace) -> None:
    assert list(with_other.iter_tables(["ns"])) == []
    assert with_other.list_all_tables({}).tables == []


@pytest.mark.parametrize(
    "operation",
    ["describe_table", "table_exists", "deregister_table", "drop_table", "alter_table",
     "count_table_rows", "get_table_stats"],
)  # fmt: skip
def test_a_table_of_another_format_is_code_13(with_other: MemoryNamespace, operation: str) -> None:
    call = getattr(with_other, operation)
    code, message = code_of(lambda: call({"id": ["ns", "other"]}))
    assert (code, "not a Lance table" in message) == (13, True)


@pytest.mark.parametrize("mode", ["Create", "ExistOk", "Overwrite"])
def test_a_table_of_another_format_keeps_its_name(with_other: MemoryNamespace, mode: str) -> None:
    request = {"id": ["ns", "other"], "mode": mode}
    code, message = code_of(lambda: with_other.create_table(request, ROWS))
    assert (code, "not a Lance table" in message) == (5, True)


def test_a_namespace_with_a_table_of_another_format_is_not_empty(
    with_other: MemoryNamespace, held: Catalog
) -> None:
    assert code_of(lambda: with_other.drop_namespace({"id": ["ns"]}))[0] == 3
    overwrite = {"id": ["ns"], "mode": "Overwrite"}
    assert code_of(lambda: with_other.create_namespace(overwrite))[0] == 3
    with_other.drop_namespace({"id": ["ns"], "behavior": "Cascade"})
    assert held.tables == {}


# --- configured namespaces


@pytest.mark.parametrize("names", [[], ["main"], ["other"]])
@pytest.mark.parametrize("operation", ["create_namespace", "drop_namespace", "alter_namespace"])
def test_a_configured_namespace_cannot_be_changed(
    tmp_path: Path, operation: str, names: list[str]
) -> None:
    catalog(str(tmp_path)).namespaces[("main",)] = {"k": "v"}
    with connected(LEVELS["one-catalog"], tmp_path) as namespace:
        code, message = code_of(lambda: getattr(namespace, operation)({"id": names}))
        assert (code, "is defined by the configuration" in message) == (13, True)
        assert namespace.describe_namespace({"id": ["main"]}).properties == {"k": "v"}
        assert code_of(lambda: namespace.describe_namespace({"id": ["other"]}))[0] == 1


# --- depth


def test_a_level_that_cannot_hold_tables_lists_none(tmp_path: Path) -> None:
    with connected(LEVELS["three-levels"], tmp_path) as namespace:
        namespace.create_namespace({"id": ["a"]})
        assert namespace.list_tables({}).tables == []
        assert namespace.list_tables({"id": ["a"]}).tables == []
        assert code_of(lambda: namespace.list_tables({"id": ["b"]}))[0] == 1
        assert code_of(lambda: namespace.list_tables({"id": ["a", "b", "c"]}))[0] == 13
        for wrong in ([], ["t"], ["a", "t"], ["a", "b", "c", "t"]):
            code, message = code_of(partial(namespace.describe_table, {"id": wrong}))
            assert code == 13
            assert not wrong or "3 levels" in message


def test_list_all_tables_lists_every_level_in_order(mixed: MemoryNamespace) -> None:
    expected = []
    for names in (["ns", "b"], ["ns", "a"], ["z"], ["m"], ["ns", "deep", "t"], ["ns!", "t"]):
        for depth in range(1, len(names)):
            mixed.create_namespace({"id": names[:depth], "mode": "ExistOk"})
        mixed.declare_table({"id": names})
        expected.append(names)
    everything = ["$".join(names) for names in sorted(expected)]
    assert mixed.list_all_tables({}).tables == everything
    walked, token = [], None
    while True:
        page = mixed.list_all_tables({"limit": 1, "page_token": token})
        walked += page.tables
        if (token := page.page_token) is None:
            break
    assert walked == everything
    dotted = mixed.list_all_tables({"context": {"delimiter": "."}}).tables
    assert dotted == [".".join(names) for names in sorted(expected)]


# --- tables that disappear, and tables that cannot be read


class Unreadable(MemoryNamespace):
    """One table disappears between listing and loading, and another cannot be read."""

    def load_table(self, identifier: Identifier) -> TableEntry:
        if identifier[-1] == "goes":
            raise TableNotFoundError("it went")
        if identifier[-1] == "broken":
            raise RuntimeError("the catalog\nbroke down")
        return super().load_table(identifier)


def test_a_concurrently_dropped_table_is_not_listed(some: MemoryNamespace, tmp_path: Path) -> None:
    with connected(Unreadable, tmp_path) as namespace:
        listed = namespace.list_tables({"id": ["ns"], "include_declared": False}).tables
        assert listed == ["a", "z"]


class ConcurrentInspection(LEVELS["mixed"]):  # type: ignore[misc, valid-type]
    """Records the inspected tables, and waits until `AT_ONCE` tables are inspected concurrently."""

    max_concurrency = AT_ONCE

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self.together = threading.Barrier(AT_ONCE, timeout=120)
        self.looked: list[str] = []

    def has_data(self, entry: TableEntry) -> bool:
        self.looked.append(entry.id[-1])
        self.together.wait()
        return True


def test_tables_are_inspected_concurrently(tmp_path: Path) -> None:
    with connected(ConcurrentInspection, tmp_path) as namespace:
        names = [f"t{n}" for n in range(10, 10 + 2 * AT_ONCE)]
        namespace.create_namespace({"id": ["ns"]})
        for name in names:
            namespace.declare_table({"id": ["ns", name]})
        request = {"id": ["ns"], "include_declared": False}
        assert namespace.list_tables(request).tables == names
        assert sorted(namespace.looked) == names
        page = namespace.list_tables({**request, "limit": AT_ONCE - 1})
        assert page.tables == names[: AT_ONCE - 1]
        # The tables of the page, and one more to detect another page.
        assert sorted(namespace.looked[len(names) :]) == names[:AT_ONCE]


def test_a_table_that_cannot_be_read_fails_the_listing(
    some: MemoryNamespace, tmp_path: Path
) -> None:
    some.declare_table({"id": ["ns", "broken"]})
    request = {"id": ["ns"], "include_declared": False}
    with connected(Unreadable, tmp_path) as namespace:
        code, message = code_of(lambda: namespace.list_tables(request))
        assert code == 18
        assert "ns$broken" in message
        assert "\n" not in message
        assert namespace.list_tables({"id": ["ns"]}).tables == ["a", "broken", "goes", "z"]
    with connected(Unreadable, tmp_path, skip_unreadable=True) as namespace:
        with pytest.warns(UserWarning, match=r"ns\$broken.*omitted"):
            listed = namespace.list_tables(request).tables
        assert listed == ["a", "z"]


# --- failures of a catalog


class Failing(MemoryNamespace):
    """A catalog whose table lookup raises an exception that the test sets."""

    failure: Exception = RuntimeError()

    def load_table(self, identifier: Identifier) -> TableEntry:
        raise self.failure


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (RuntimeError("something\nbroke"), 18),
        (OSError("disk full"), 18),
        (PermissionError("not for you"), 15),
        (ConnectionRefusedError("nobody there"), 17),
        (TimeoutError("too slow"), 17),
        (TableNotFoundError("as it is"), 4),
    ],
)
def test_a_failure_becomes_a_protocol_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception, code: int
) -> None:
    monkeypatch.setattr(Failing, "failure", failure)
    with connected(Failing, tmp_path) as namespace, pytest.raises(LanceNamespaceError) as caught:
        namespace.describe_table({"id": ["ns", "t"]})
    assert caught.value.code == code
    assert "\n" not in str(caught.value)
    if code != 4:
        assert caught.value.__cause__ is failure
        assert str(caught.value).startswith("DescribeTable ns$t: ")


# --- storage options and properties


def test_storage_options_of_the_table_take_precedence(tmp_path: Path) -> None:
    storage = {"region": "theirs", "endpoint": "https://theirs"}
    with connected(MemoryNamespace, tmp_path, storage=storage) as namespace:
        namespace.create_namespace({"id": ["ns"]})
        properties = {"storage.region": "mine", "owner": "me"}
        declared = namespace.declare_table({"id": ["ns", "t"], "properties": properties})
        described = namespace.describe_table({"id": ["ns", "t"]})
        for answer in (declared, described):
            assert answer.storage_options == {"region": "mine", "endpoint": "https://theirs"}
            assert answer.properties == {"owner": "me"}


# --- the forms of a request


def test_a_request_can_be_a_dict_a_model_or_an_official_model(some: MemoryNamespace) -> None:
    forms: list[Any] = [
        {"id": ["ns", "a"]},
        models.DescribeTableRequest(id=["ns", "a"]),
        OfficialRequest(id=["ns", "a"]),
    ]
    answers = [some.describe_table(form) for form in forms]
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("request_", [None, 5, "a", ["ns", "a"], models.DropTableRequest(id=["a"])])
def test_a_request_of_the_wrong_type_is_rejected(some: MemoryNamespace, request_: Any) -> None:
    assert code_of(lambda: some.describe_table(request_))[0] == 13


# --- iterating, closing, pickling


class Counting(MemoryNamespace):
    """Counts the requested pages."""

    pages = 0

    def list_tables(self, request: Any = None) -> Any:
        type(self).pages += 1
        return super().list_tables(request)


def test_an_iterator_requests_pages_on_demand(some: MemoryNamespace, tmp_path: Path) -> None:
    with connected(Counting, tmp_path) as namespace:
        walk = namespace.iter_tables(["ns"], page_size=2)
        assert Counting.pages == 0
        assert [next(walk), next(walk)] == ["a", "goes"]
        assert Counting.pages == 1
        assert list(walk) == ["z"]
        assert Counting.pages == 2


def test_an_iterator_accepts_a_name_or_a_list_of_names(some: MemoryNamespace) -> None:
    assert list(some.iter_namespaces()) == ["ns"]
    assert list(some.iter_namespaces(page_size=1)) == ["ns"]
    some.declare_table({"id": ["ns", "empty"]})
    assert list(some.iter_tables(["ns"], include_declared=False)) == ["a", "goes", "z"]
    assert code_of(lambda: list(some.iter_tables(["gone"])))[0] == 1
    assert list(some.iter_tables("ns", include_declared=False)) == ["a", "goes", "z"]
    assert code_of(lambda: list(some.iter_tables("gone")))[0] == 1


def test_leaving_a_with_block_closes(tmp_path: Path) -> None:
    closed = []

    class Closing(MemoryNamespace):
        def close(self) -> None:
            closed.append(self)

    with connected(Closing, tmp_path) as namespace:
        assert closed == []
    assert closed == [namespace]


def test_a_namespace_pickles_as_class_and_properties(some: MemoryNamespace) -> None:
    again = pickle.loads(pickle.dumps(some))
    assert type(again) is MemoryNamespace
    assert again.properties == some.properties
    assert repr(again) == repr(some) == f"<{some.namespace_id()}>"
    assert list(again.iter_tables(["ns"])) == ["a", "goes", "z"]


# --- identifiers with the wrong number of levels


@pytest.mark.parametrize(
    ("levels", "operation", "identifier", "said"),
    [
        (
            "two-levels",
            "create_namespace",
            ["a", "b"],
            "a namespace's identifier has at most 1 level",
        ),
        ("two-levels", "describe_table", ["t"], "a table's identifier has 2 levels"),
        ("any-depth", "describe_table", ["t"], "a table's identifier has 3 or more levels"),
    ],
)
def test_a_rejected_identifier_reports_the_number_of_levels(
    tmp_path: Path, levels: str, operation: str, identifier: list[str], said: str
) -> None:
    with connected(LEVELS[levels], tmp_path) as namespace:
        code, message = code_of(lambda: getattr(namespace, operation)({"id": identifier}))
    assert (code, said in message) == (13, True), message


def test_a_directory_reports_that_it_is_flat(tmp_path: Path) -> None:
    namespace = connect("dir", {"path": str(tmp_path)})
    made = code_of(lambda: namespace.create_namespace({"id": ["x"]}))
    assert made == (
        13,
        "CreateNamespace: 'x' is not valid in this catalog: it has only the root namespace",
    )
    described = code_of(lambda: namespace.describe_table({"id": ["x", "t"]}))
    assert described[0] == 13
    assert described[1].endswith("a table's identifier has 1 level")
