"""Expected outcomes of operations on namespaces and of listings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define

from .calls import Granted, Mismatch, Outcome, Refused, same
from .codes import BAD_INPUT, NAMESPACE_EXISTS, NO_NAMESPACE, NOT_EMPTY, UNSUPPORTED
from .known import Identifier
from .state import State, Token, names_of

__all__ = ["NamespaceRules", "altered"]


@define
class NamespaceRules(State):
    """Rules of namespaces and listings."""

    # --- namespaces

    def list_operations(self, request: Mapping[str, Any]) -> Outcome:
        """ListOperations: no unsupported operations, but at least the basic ones."""

        def settle(answer: Any) -> None:
            named = set(answer.operations)
            wrong = named & set(self.known.capabilities.unsupported)
            same(sorted(wrong), [], "the listed operations that are not supported")
            missing = {"ListTables", "DescribeTable", "DeclareTable"} - named
            same(sorted(missing), [], "the missing operations")

        return Granted(settle)

    def list_namespaces(self, request: Mapping[str, Any]) -> Outcome:
        """ListNamespaces."""
        parent = names_of(request.get("id"))
        faults = self._refused_names(*parent) if not self.exists(parent) else set()
        faults |= set() if self.exists(parent) else {NO_NAMESPACE}
        return self._page(
            ("ListNamespaces", parent), self.children(parent), request, "namespaces", faults
        )

    def describe_namespace(self, request: Mapping[str, Any]) -> Outcome:
        """DescribeNamespace."""
        identifier = names_of(request.get("id"))
        if not self.exists(identifier):
            return Refused(frozenset({NO_NAMESPACE} | self._refused_names(*identifier)))

        def settle(answer: Any) -> None:
            self._same_namespace(identifier, answer, self.namespaces.get(identifier, {}))

        return Granted(settle)

    def namespace_exists(self, request: Mapping[str, Any]) -> Outcome:
        """NamespaceExists."""
        identifier = names_of(request.get("id"))
        if not self.exists(identifier):
            return Refused(frozenset({NO_NAMESPACE} | self._refused_names(*identifier)))
        return Granted(lambda answer: None)

    def create_namespace(self, request: Mapping[str, Any]) -> Outcome:
        """CreateNamespace."""
        identifier = names_of(request["id"])
        properties = request.get("properties") or {}
        faults = self._refused_names(*identifier)
        mode = self._mode(request, "mode", ("Create", "ExistOk", "Overwrite"), faults)
        faults |= self._without_parent(identifier[:-1], making=True)
        is_there = identifier in self.namespaces
        if identifier in self.tables or (is_there and mode == "Create"):
            faults.add(NAMESPACE_EXISTS)
        if is_there and mode == "Overwrite":
            faults |= self._kept(identifier)
            if not self.is_empty(identifier):
                faults.add(NOT_EMPTY)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            if not (is_there and mode == "ExistOk"):
                self._forget(identifier)
                self.namespaces[identifier] = dict(properties)
                for name in self.known.born_with(identifier):
                    self.namespaces[(*identifier, name)] = {}
            self._same_namespace(identifier, answer, self.namespaces[identifier])

        return Granted(settle)

    def _kept(self, identifier: Identifier) -> set[int]:
        """Return the code for dropping a namespace that the catalog needs."""
        return {BAD_INPUT} if identifier in self.known.capabilities.permanent else set()

    def is_empty(self, namespace: Identifier) -> bool:
        """Return whether a namespace contains only its initial child namespaces."""
        if any(table[:-1] == namespace for table in self.tables):
            return False
        born = self.known.born_with(namespace)
        return all(
            child in born and self.is_empty((*namespace, child))
            for child in self.children(namespace)
        )

    def _forget(self, namespace: Identifier) -> None:
        if namespace not in self.namespaces:
            return
        depth = len(namespace)
        if not self.known.in_full:  # whether a cascade deletes the data is unspecified
            for identifier, table in self.tables.items():
                if identifier[:depth] == namespace:
                    self.datasets.pop(table.location, None)
        for held in (self.namespaces, self.tables):
            for identifier in [i for i in held if i[:depth] == namespace]:
                del held[identifier]

    def drop_namespace(self, request: Mapping[str, Any]) -> Outcome:
        """DropNamespace."""
        identifier = names_of(request["id"])
        can = self.known.capabilities
        faults: set[int] = set()
        mode = self._mode(request, "mode", ("Fail", "Skip"), faults)
        behavior = self._mode(request, "behavior", ("Restrict", "Cascade"), faults)
        if behavior == "Cascade" and not can.cascade:
            faults.add(UNSUPPORTED)
        is_there = identifier in self.namespaces
        if not is_there and mode == "Fail" and not can.idempotent_drop:
            faults |= {NO_NAMESPACE} | self._refused_names(*identifier)
        faults |= self._kept(identifier)
        if is_there and behavior == "Restrict" and not self.is_empty(identifier):
            faults.add(NOT_EMPTY)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            self._same_namespace(identifier, answer, self.namespaces.get(identifier, {}))
            self._forget(identifier)

        # An invalid name may be rejected without a lookup.
        refused = set() if is_there else self._refused_names(*identifier)
        return Granted(settle, frozenset(refused))

    def alter_namespace(self, request: Mapping[str, Any]) -> Outcome:
        """AlterNamespace."""
        identifier = names_of(request["id"])
        faults = self._both(request)
        if identifier not in self.namespaces:
            faults |= {NO_NAMESPACE} | self._refused_names(*identifier)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            altered(self.namespaces[identifier], request)
            self._same_namespace(identifier, answer, self.namespaces[identifier])

        return Granted(settle)

    def _same_namespace(
        self, identifier: Identifier, answer: Any, expected: Mapping[str, str]
    ) -> None:
        if answer.properties is None and not self.known.in_full:
            return
        shown = self.known.shown_namespace_properties(identifier, answer.properties or {})
        same(dict(shown), dict(expected), f"properties of namespace {identifier}")

    # --- listing tables

    def list_tables(self, request: Mapping[str, Any]) -> Outcome:
        """ListTables."""
        parent = names_of(request.get("id"))
        with_declared = request.get("include_declared", True)
        names = self.lance_tables(parent)
        if not with_declared:
            names = [name for name in names if self.has_data((*parent, name))]
        faults = set() if self.exists(parent) else {NO_NAMESPACE} | self._refused_names(*parent)
        return self._page(("ListTables", parent, with_declared), names, request, "tables", faults)

    def list_all_tables(self, request: Mapping[str, Any]) -> Outcome:
        """ListAllTables."""
        with_declared = request.get("include_declared", True)
        found = sorted(
            identifier
            for identifier, table in self.tables.items()
            if table.is_lance and (with_declared or self.has_data(identifier))
        )
        delimiter = (request.get("context") or {}).get("delimiter", self.known.delimiters[0])
        return self._page(
            ("ListAllTables", with_declared),
            found,
            request,
            "tables",
            set(),
            write=lambda identifier: _join(identifier, delimiter),
        )

    def _page(
        self,
        listing: tuple[Any, ...],
        entries: list[Any],
        request: Mapping[str, Any],
        field_name: str,
        faults: set[int],
        write: Callable[[Any], str | None] = lambda name: str(name),
    ) -> Outcome:
        """Predict one page of a listing: the entries after the token's, at most `limit`."""
        limit, text = request.get("limit"), request.get("page_token")
        if limit is not None and limit < 1:
            faults.add(BAD_INPUT)
        if text is not None:
            given = [t for t in self.tokens if t.text == text]
            token = next((t for t in given if t.listing == listing), None)
            if token is not None:
                entries = [entry for entry in entries if entry > token.last]
            elif given:
                faults.add(BAD_INPUT)
            else:  # a name to start after
                name = (text,) if listing[0] == "ListAllTables" else text
                entries = [entry for entry in entries if entry > name]
        page = entries[: limit if limit is not None and limit > 0 else None]
        written = [write(entry) for entry in page]
        if None in written:  # a name contains the delimiter
            faults.add(BAD_INPUT)
        if faults:
            return Refused(frozenset(faults))

        def settle(answer: Any) -> None:
            same(getattr(answer, field_name), written, f"the page of {listing}")
            to_come = len(entries) - len(page)
            if (answer.page_token is not None) != (to_come > 0) or answer.page_token == "":
                raise Mismatch(
                    f"the page of {listing}",
                    f"a token only if more entries follow ({to_come} remain)",
                    f"token {answer.page_token!r}",
                )
            if answer.page_token is not None:
                self.tokens.append(Token(answer.page_token, listing, page[-1]))

        return Granted(settle)


def altered(properties: dict[str, str], request: Mapping[str, Any]) -> None:
    """Change properties as a request specifies."""
    properties |= request.get("set_properties") or {}
    for key in request.get("unset_properties") or ():
        properties.pop(key, None)


def _join(identifier: Identifier, delimiter: str) -> str | None:
    return None if any(delimiter in name for name in identifier) else delimiter.join(identifier)
