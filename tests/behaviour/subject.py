"""A backend as the suite sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field, frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from lance_namespace_impls.catalog.capabilities import Capabilities
from lance_namespace_impls.catalog.namespace import Namespace

__all__ = ["NAMES", "PROPERTIES", "STORAGE_OPTIONS", "Identifier", "Subject", "rows_in_storage"]

Identifier = tuple[str, ...]

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


def _as_given(identifier: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
    return properties


@frozen(kw_only=True)
class Subject:
    """One backend, and what the suite must know to predict its answers."""

    name: str

    connect: Callable[[], Namespace]
    """Connects to the catalog under test; every connection sees the same catalog."""

    reset: Callable[[], Mapping[Identifier, Mapping[str, str]]]
    """Empties the catalog and gives the namespaces that are there all the same, with their
    properties: a catalog that always exists, a configured warehouse."""

    capabilities: Capabilities

    location: Callable[[Identifier, Mapping[str, str]], str | None]
    """Default location of a table, from its identifier and its namespace's properties; None where
    the catalog chooses it, and takes no location from outside (code 0)."""

    registers: bool = False
    """Where the catalog chooses the location of a new table: whether one can be registered at
    another all the same; a declared one cannot (code 13)."""

    moved: Callable[[str, Identifier], str] = lambda location, identifier: location
    """Location of a table after it was renamed, from the one before and the new identifier."""

    elsewhere: Callable[[str], str] | None = None
    """A location of that name that is nobody's default; None where tables cannot be elsewhere."""

    shared_locations: bool = True
    """Whether tables can be at the location of another; where not, it is refused (code 13)."""

    managed: bool = False
    """Whether the catalog keeps the versions of the tables."""

    takes_location: Callable[[Identifier, str, str | None], bool] = (
        lambda identifier, location, current: True
    )
    """Whether the catalog lets a table be at a location, from its identifier, the location and the
    one that it has, None for a new table; where not, it is denied (code 15)."""

    deepest: int = field()
    """Levels in the identifier of the deepest namespaces that the suite makes."""

    names: SearchStrategy[str] = NAMES
    refused_names: SearchStrategy[str] | None = None
    """Names that cannot be created (code 13)."""

    namespace_properties: Callable[[int], SearchStrategy[dict[str, str]]] = lambda depth: PROPERTIES
    """Properties that a namespace of that many names takes."""

    refused_properties: Callable[[int], SearchStrategy[dict[str, str]] | None] = lambda depth: None
    """Properties that a namespace of that many names refuses (code 13)."""

    shown_namespace_properties: Callable[[Identifier, Mapping[str, str]], Mapping[str, str]] = (
        _as_given
    )
    """Takes what the catalog adds by itself out of a namespace's properties."""

    shown_table_properties: Callable[[Identifier, Mapping[str, str]], Mapping[str, str]] = _as_given
    """Takes what the catalog adds by itself out of a table's properties."""

    born_with: Callable[[Identifier], tuple[str, ...]] = lambda identifier: ()
    """Child namespaces that a new namespace comes with; while empty they count as nothing."""

    storage_options: Mapping[str, str] = field(factory=dict)
    """Storage options of every table."""

    delimiters: tuple[str, ...] = ("$", ".", "::")
    """Delimiters that ListAllTables can be asked for; the first is the default."""

    cuts_streams: bool = True
    """Whether rows are also sent that break off. A client of a server fails at once then, and what
    the server makes of it comes later."""

    rows_in_storage: Callable[[str], int | None] = rows_in_storage
    """Counts the rows at a location past the namespace; None where there is no dataset."""

    add_table: Callable[[Identifier], str] | None = None
    """Makes a Lance table without data past the namespace and gives its location."""

    add_other_table: Callable[[Identifier], None] | None = None
    """Makes a table that is not a Lance table past the namespace."""

    refusal_codes: Mapping[str, frozenset[int]] = field(factory=dict)
    """Codes that an operation answers here beside those of the protocol's table."""

    @deepest.default
    def _deepest(self) -> int:
        deepest = self.capabilities.namespace_depth
        return self.capabilities.table_depth + 1 if deepest is None else deepest

    def holds_tables(self, depth: int) -> bool:
        """Say whether the suite puts tables into namespaces of that many names."""
        return self.capabilities.holds_tables(depth) and depth <= self.deepest
