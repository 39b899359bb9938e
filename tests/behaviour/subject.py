"""A backend as the suite sees it."""

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
"""Names that a catalog without rules of its own takes."""

PROPERTIES: SearchStrategy[dict[str, str]] = st.dictionaries(
    st.sampled_from(("owner", "a.b", "with space", "ünï")),
    st.sampled_from(("", "x", "two words", "日本", "a=b&c", '{"json": 1}')),
    max_size=3,
)
"""Properties that a catalog without rules of its own keeps as they are."""

STORAGE_OPTIONS = ("kit_note", "kit_option")
"""Names of the storage options that tables of the suite have; no storage knows them."""


def rows_in_storage(location: str, options: Mapping[str, str] | None = None) -> int | None:
    """Count the rows of the dataset at a location, past any namespace; None where there is none."""
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
    """One backend, what the model must know of it, and what calls of it can be drawn from."""

    name: str

    may_refuse: Callable[[str, Mapping[str, Any]], frozenset[int]] = lambda operation, request: (
        frozenset({0} if operation in ("CreateTableBranch", "CreateTableTag") else ())
    )
    """Lance keeps no branches and tags in a local path with characters that it escapes."""

    connect: Callable[[], Namespace]
    """Connects to the catalog under test; every connection sees the same catalog."""

    reset: Callable[[], Mapping[Identifier, Mapping[str, str]]]
    """Empties the catalog and gives the namespaces that are there all the same, with their
    properties: a catalog that always exists, a configured warehouse."""

    elsewhere: Callable[[str], str] | None = None
    """A location of that name that is nobody's default; None where tables cannot be elsewhere."""

    deepest: int = field()
    """Levels in the identifier of the deepest namespaces that the suite makes."""

    names: SearchStrategy[str] = NAMES
    refused_names: SearchStrategy[str] | None = None
    """Names that cannot be created (code 13)."""

    namespace_properties: Callable[[int], SearchStrategy[dict[str, str]]] = lambda depth: PROPERTIES
    """Properties that a namespace of that many levels takes."""

    refused_properties: Callable[[int], SearchStrategy[dict[str, str]] | None] = lambda depth: None
    """Properties that a namespace of that many levels refuses (code 13)."""

    cuts_streams: bool = True
    """Whether streams of rows are also interrupted. A client of a server fails at once then, and what
    the server makes of it comes later."""

    rows_in_storage: Callable[[str], int | None] = rows_in_storage
    """Counts the rows at a location past the namespace; None where there is no dataset."""

    add_table: Callable[[Identifier], str] | None = None
    """Makes a Lance table without data past the namespace and gives its location."""

    add_other_table: Callable[[Identifier], None] | None = None
    """Makes a table that is not a Lance table past the namespace."""

    @deepest.default
    def _deepest(self) -> int:
        deepest = self.capabilities.namespace_depth
        return self.capabilities.table_depth + 1 if deepest is None else deepest

    def holds_tables(self, depth: int) -> bool:
        """Return whether the suite puts tables into namespaces of that many levels."""
        return self.capabilities.holds_tables(depth) and depth <= self.deepest
