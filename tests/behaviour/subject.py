"""The description of a backend that the suite uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.conformance.oracle import Identifier, Known

__all__ = ["NAMES", "PROPERTIES", "STORAGE_OPTIONS", "Identifier", "Subject", "rows_in_storage"]

_AWKWARD = (
    "a b", "a.b", "a%20b", "50%", "a+b", "a$b", "a#b", "a?b", "a:b", "a&b=c", "~t", "{id}",
    "%2F", "null", "0", "-", "ünï", "日本語", "e\u0301", "a'b", 'a"b', "<t>", "x.y.z", "list",
)  # fmt: skip

NAMES: SearchStrategy[str] = st.one_of(
    st.sampled_from(("a", "b", "c", "flights", "planes")),
    st.sampled_from(_AWKWARD),
    st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp"), max_codepoint=0x2FFF),
        min_size=1,
        max_size=6,
    ).filter(lambda name: "/" not in name and name[0] not in "._"),
)  # fmt: skip
"""Names that a catalog without restrictions accepts."""

PROPERTIES: SearchStrategy[dict[str, str]] = st.dictionaries(
    st.sampled_from(("owner", "a.b", "with space", "ünï")),
    st.sampled_from(("", "x", "two words", "日本", "a=b&c", '{"json": 1}')),
    max_size=3,
)
"""Properties that a catalog without restrictions stores unchanged."""

STORAGE_OPTIONS = ("kit_note", "kit_option")
"""Names of the storage options of the suite's tables; no object store uses them."""


def rows_in_storage(location: str, options: Mapping[str, str] | None = None) -> int | None:
    """Count the rows of the dataset at a location without a namespace; None if there is none."""
    import lance

    try:
        dataset = lance.dataset(location, storage_options=dict(options or {}))
        return int(dataset.count_rows())
    except ValueError as error:
        if "was not found" not in str(error):
            raise
        return None


@frozen(kw_only=True)
class Subject(Known):
    """One backend: what the model must know about it, and which calls can be drawn for it."""

    name: str

    may_refuse: Callable[[str, Mapping[str, Any]], frozenset[int]] = lambda operation, request: (
        frozenset({0} if operation in ("CreateTableBranch", "CreateTableTag") else ())
    )
    """Codes that a call may additionally fail with. By default, code 0 for branches and tags.

    Lance cannot store branches and tags in a local path with characters that it escapes.
    """

    connect: Callable[[], Namespace]
    """Connects to the catalog under test; every connection sees the same catalog."""

    reset: Callable[[], Mapping[Identifier, Mapping[str, str]]]
    """Empties the catalog and returns the namespaces that still exist, with their properties.

    Such namespaces are a catalog that always exists or a configured warehouse.
    """

    elsewhere: Callable[[str], str] | None = None
    """Returns an unused location of that name; None if only default locations are possible."""

    deepest: int = field()
    """The number of levels of the deepest namespaces that the suite creates."""

    names: SearchStrategy[str] = NAMES
    refused_names: SearchStrategy[str] | None = None
    """Names that cannot be created (code 13)."""

    namespace_properties: Callable[[int], SearchStrategy[dict[str, str]]] = lambda depth: PROPERTIES
    """Properties that a namespace with that many levels accepts."""

    refused_properties: Callable[[int], SearchStrategy[dict[str, str]] | None] = lambda depth: None
    """Properties that a namespace with that many levels rejects (code 13)."""

    cuts_streams: bool = True
    """Whether streams of rows are also interrupted.

    A client of a server then fails immediately, and the server's changes happen later.
    """

    rows_in_storage: Callable[[str], int | None] = rows_in_storage
    """Counts the rows at a location without the namespace; None if there is no dataset."""

    add_table: Callable[[Identifier], str] | None = None
    """Creates a Lance table without data, not through the namespace, and returns its location."""

    add_other_table: Callable[[Identifier], None] | None = None
    """Creates a table that is not a Lance table, not through the namespace."""

    @deepest.default
    def _deepest(self) -> int:
        deepest = self.capabilities.namespace_depth
        return self.capabilities.table_depth + 1 if deepest is None else deepest

    def holds_tables(self, depth: int) -> bool:
        """Return whether the suite creates tables in namespaces with that many levels."""
        return self.capabilities.holds_tables(depth) and depth <= self.deepest
