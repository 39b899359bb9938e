"""The expected answers of a namespace: the rules of the protocol on a tree in plain Python.

Each method named after an operation's method returns the expected outcome of one call: `Refused`
with the correct codes, or `Granted`, which compares the answer and applies the change. If a request
has more than one fault, the code of any of them is correct; an invalid identifier comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define

from .calls import Call
from .history import HistoryRules
from .known import Identifier
from .state import Table

__all__ = ["Table", "Tree"]


@define
class Tree(HistoryRules):
    """The expected state of the catalog and its storage."""

    def everything(self) -> Iterator[Call]:
        """Return the calls that read the entire state."""
        for namespace in [(), *self.namespaces]:
            yield Call("ListNamespaces", {"id": list(namespace)})
            yield Call("DescribeNamespace", {"id": list(namespace)})
            for with_declared in (True, False):
                request = {"id": list(namespace), "include_declared": with_declared}
                yield Call("ListTables", request)
        for identifier in {**self.tables, **dict.fromkeys(self.deregistered.values())}:
            yield Call("DescribeTable", {"id": list(identifier), "check_declared": True})
            yield from self.data_of(identifier)

    def data_of(self, identifier: Identifier) -> Iterator[Call]:
        """Return the calls that read the content of a table."""
        request = {"id": list(identifier)}
        yield Call("CountTableRows", request)
        dataset = self.dataset_of(identifier)
        if dataset is None:
            return
        yield Call("QueryTable", {**request, "vector": None, "k": 1000})
        yield Call("ListTableVersions", request)
        if dataset.tags:
            yield Call("ListTableTags", request)
        if dataset.branches:
            yield Call("ListTableBranches", request)
        if dataset.main.head.indices:
            yield Call("ListTableIndices", request)
        for branch in dataset.branches:
            yield Call("QueryTable", {**request, "vector": None, "k": 1000, "branch": branch})

    def history_of(self, identifier: Identifier) -> Iterator[Call]:
        """Return the calls that read the versions, tags and branches of a table one by one."""
        request = {"id": list(identifier)}
        dataset = self.dataset_of(identifier)
        if dataset is None or dataset.remnants:
            return
        for number, held in sorted(dataset.main.versions.items())[-4:]:
            if held is not None:
                yield Call("QueryTable", {**request, "vector": None, "k": 1000, "version": number})
        for tag in dataset.tags:
            yield Call("GetTableTagVersion", {**request, "tag": tag})

    def unnumbered(self) -> Iterator[Call]:
        """Return the calls that list the version numbers that no answer contained."""
        for identifier in self.tables:
            dataset = self.dataset_of(identifier)
            if dataset is not None and dataset.main.pending:
                yield Call("ListTableVersions", {"id": list(identifier)})
