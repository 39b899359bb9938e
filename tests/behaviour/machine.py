"""The random runs: hypothesis draws calls, and the model states the expected result of each."""

from __future__ import annotations

from typing import Any, ClassVar
from unittest.mock import patch

from attrs import evolve
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import engine
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from hypothesis.strategies import DataObject

from lance_namespace_client.errors import LanceNamespaceError
from lance_namespace_client.operations import OPERATIONS, Body
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.conformance.oracle import DATA_OPERATIONS, Call, Granted, Refused, Tree

from ..examples import SHARE, examples
from .calls import World, calls
from .forms import REQUEST_FORMS, ROWS_FORMS, request_in_form, rows_in_form
from .subject import Subject

__all__ = ["explore", "find_fault"]

STEPS = 40
WEIGHTS = {
    "ListTables": 6,
    "CreateNamespace": 6,
    "DropNamespace": 3,
    "AlterNamespace": 3,
    "ListNamespaces": 3,
    "DescribeNamespace": 2,
    "NamespaceExists": 1,
    "ListOperations": 1,
    "DeclareTable": 5,
    "CreateTable": 8,
    "RegisterTable": 4,
    "DeregisterTable": 3,
    "DropTable": 2,
    "RenameTable": 4,
    "AlterTable": 4,
    "ListAllTables": 3,
    "DescribeTable": 5,
    "TableExists": 2,
    "CountTableRows": 2,
    "InsertIntoTable": 4,
    **{name: 1 for name in DATA_OPERATIONS if name not in ("InsertIntoTable", "CountTableRows")},
    "walk": 3,
    "connect again": 1,
    "a table appears": 1,
    "another table appears": 1,
}
"""The relative frequency of each kind of step."""

SHRINK_SECONDS = 20
"""How long hypothesis may shrink a failing example; its default is five minutes."""


class NamespaceMachine(RuleBasedStateMachine):
    """Runs the same calls against a namespace and its model."""

    subject: ClassVar[Subject]

    tree: Tree
    world: World
    namespace: Namespace

    @initialize(data=st.data())
    def start(self, data: DataObject) -> None:
        """Empty the catalog, choose the names of this run, and create some namespaces."""
        subject = self.subject
        given = {identifier: dict(held) for identifier, held in subject.reset().items()}
        names = data.draw(st.lists(subject.names, min_size=4, max_size=8, unique=True))
        refused: list[str] = []
        if subject.refused_names is not None:
            refused = data.draw(st.lists(subject.refused_names, min_size=1, max_size=2))
        self.tree = Tree(subject, given, frozenset(refused))
        self.world = World(subject, self.tree, tuple(names), tuple(refused))
        self.namespace = subject.connect()
        top = next((ns for ns in sorted(given) if len(ns) < subject.deepest), ())
        for first in names[:2]:
            for depth in range(len(top) + 1, subject.deepest + 1):
                identifier = [*top, first, *names[2:]][:depth]
                if tuple(identifier) not in self.tree.namespaces:
                    properties = data.draw(subject.namespace_properties(depth))
                    request = {"id": identifier, "properties": properties}
                    self.compare(data, Call("CreateNamespace", request))

    def teardown(self) -> None:
        """Compare the whole catalog at the end of a run."""
        if hasattr(self, "tree"):
            self.compare_everything()
            self.namespace.close()

    # --- running calls

    def perform(self, data: DataObject, operation: str) -> None:
        """Draw a call of an operation and compare its result."""
        call = data.draw(calls(self.world, operation))
        self.compare(data, call)
        for numbers in list(self.tree.unnumbered()):
            self.compare(None, numbers)
        self.world.remember_call(call)

    def compare(self, data: DataObject | None, call: Call) -> None:
        """Run one call and compare its answer or its error with the model."""
        expected = self.tree.expect(call)
        method = getattr(self.namespace, OPERATIONS[call.operation].method_name)
        form = data.draw(REQUEST_FORMS) if data is not None else "dict"
        arguments: list[Any] = [request_in_form(call, form)]
        if call.rows is not None and data is not None:
            arguments.append(rows_in_form(call.rows, data.draw(ROWS_FORMS)))
        try:
            answer = method(*arguments)
            if OPERATIONS[call.operation].answer is Body.ARROW:
                with answer as reader:
                    answer = reader.read_all()
        except LanceNamespaceError as error:
            self._compare_error(call, expected, error)
            return
        assert isinstance(expected, Granted), (
            f"{call} succeeded; one of the codes {sorted(expected.codes)} is due"
        )
        expected.settle(answer)

    def _compare_error(
        self, call: Call, expected: Refused | Granted, error: LanceNamespaceError
    ) -> None:
        code = int(error.code)
        due = sorted(expected.codes if isinstance(expected, Refused) else expected.or_codes)
        assert due, f"{call} failed with code {code}: {error}"
        assert code in due, f"{call} failed with code {code}, due is one of {due}: {error}"
        assert self.tree.may_answer(call.operation, code), (
            f"{call.operation} does not answer code {code}: {error}"
        )
        message = str(error)
        assert message, f"{call}: the error says nothing"
        assert "\n" not in message, f"{call}: the message has more than one line: {message!r}"

    def compare_everything(self) -> None:
        """Compare every namespace, every table, and the rows in storage."""
        for call in self.tree.everything():
            self.compare(None, call)
        for location, dataset in self.tree.datasets.items():
            rows = self.subject.rows_in_storage(location)
            assert rows == len(dataset.records), f"{location} holds {rows} rows"
        for location in self.tree.deleted - set(self.tree.datasets):
            rows = self.subject.rows_in_storage(location)
            assert rows is None, f"{location} still holds {rows} rows"

    # --- steps

    @rule(data=st.data())
    def step(self, data: DataObject) -> None:
        """Run one operation, walk a listing, reconnect, or add a table from outside."""
        choice = data.draw(st.sampled_from(self._choices()), label="step")
        if choice == "walk":
            self.walk_while_it_changes(data)
        elif choice == "connect again":
            self.namespace.close()
            self.namespace = self.subject.connect()
        elif choice == "a table appears":
            self.table_appears(data)
        elif choice == "another table appears":
            self.other_table_appears(data)
        else:
            self.perform(data, choice)

    def _choices(self) -> list[str]:
        """Return the possible steps, each repeated as often as its weight."""
        weights = dict(WEIGHTS)
        if self.subject.deepest == 0:
            weights |= dict.fromkeys(("CreateNamespace", "DropNamespace", "AlterNamespace"), 1)
        if not self.tree.tables:
            weights |= {"CreateTable": 12, "DeclareTable": 8}
        if self.subject.add_table is None:
            del weights["a table appears"]
        if self.subject.add_other_table is None:
            del weights["another table appears"]
        return [choice for choice, weight in weights.items() for _ in range(weight)]

    def walk_while_it_changes(self, data: DataObject) -> None:
        """Walk all pages of a listing, with other calls between the pages."""
        parents = [ns for ns in [(), *self.tree.namespaces] if self.subject.holds_tables(len(ns))]
        parent = data.draw(st.sampled_from(parents)) if parents else ()
        request: dict[str, Any] = {"id": list(parent), "limit": data.draw(st.integers(1, 2))}
        changes = ("DeclareTable", "CreateTable", "DropTable", "DeregisterTable", "RenameTable")
        for _ in range(20):
            tokens = len(self.tree.tokens)
            self.compare(data, Call("ListTables", dict(request)))
            if len(self.tree.tokens) == tokens or not self.tree.exists(parent):
                return
            request["page_token"] = self.tree.tokens[-1].text
            if data.draw(st.booleans()):
                self.perform(data, data.draw(st.sampled_from(changes)))

    def table_appears(self, data: DataObject) -> None:
        """Create a table without using the namespace, as another writer does."""
        assert self.subject.add_table is not None
        identifier = self._free_table(data)
        if identifier is not None:
            self.tree.appears(identifier, self.subject.add_table(identifier))
            self.world.table, self.world.namespace = identifier, identifier[:-1]

    def other_table_appears(self, data: DataObject) -> None:
        """Create a table that is not a Lance table, as another writer does."""
        assert self.subject.add_other_table is not None
        identifier = self._free_table(data)
        if identifier is not None:
            self.subject.add_other_table(identifier)
            self.tree.appears(identifier, "", is_lance=False)
            self.world.table, self.world.namespace = identifier, identifier[:-1]

    def _free_table(self, data: DataObject) -> tuple[str, ...] | None:
        tree = self.tree
        parents = [ns for ns in [(), *tree.namespaces] if self.subject.holds_tables(len(ns))]
        free = [
            (*parent, name)
            for parent in parents
            for name in self.world.names
            if not tree.is_taken((*parent, name))
            and (*parent, name) not in tree.deregistered.values()  # its directory still exists
        ]
        return data.draw(st.sampled_from(free)) if free else None


def _machine(subject: Subject) -> type[NamespaceMachine]:
    return type("Machine", (NamespaceMachine,), {"subject": subject})


def explore(subject: Subject, runs: int) -> None:
    """Run the suite on a backend, always with the same runs unless more are requested.

    Args:
        subject: the backend.
        runs: the number of random sequences of about 30 calls; `examples` adjusts it.

    Raises:
        AssertionError: a response or an error code is not what the model expects.
    """
    with patch.object(engine, "MAX_SHRINKING_SECONDS", SHRINK_SECONDS):
        run_state_machine_as_test(
            _machine(subject),
            settings=settings(
                max_examples=examples(runs),
                stateful_step_count=STEPS,
                deadline=None,
                derandomize=SHARE <= 1,
                database=None,
                suppress_health_check=list(HealthCheck),
                print_blob=False,
            ),
        )


def find_fault(subject: Subject, examples: int) -> str | None:
    """Run the suite on a faulty backend and return the first failure, or None."""
    try:
        run_state_machine_as_test(
            _machine(evolve(subject)),
            settings=settings(
                max_examples=examples,
                stateful_step_count=STEPS,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
                report_multiple_bugs=False,
                verbosity=Verbosity.quiet,
            ),
        )
    except AssertionError as error:
        return str(error)
    return None
