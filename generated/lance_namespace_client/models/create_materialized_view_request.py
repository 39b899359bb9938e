# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `CreateMaterializedViewRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import define

from ..model import Model, Wire, array, boolean, choice, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity
    from .materialized_view_udtf_entry import MaterializedViewUdtfEntry

__all__ = ["CreateMaterializedViewRequest"]


@define(kw_only=True)
class CreateMaterializedViewRequest(Model):
    """Creates a table that contains the result of a query, or of a function
    applied to another table. Servers without materialized views return
    Unsupported (0).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    kind: Literal["query", "udtf", "chunker"]
    """Source of the rows of the view: `query` (the query alone), `udtf` (a table
    function) or `chunker` (a function that produces several rows from one). Any
    other value results in InvalidInput (13).
    """

    source_query: str
    """Query that yields the source rows, as text in a format that the server
    defines.
    """

    output_schema: str
    """Arrow schema of the view's rows, written as text in a format that the server
    defines.
    """

    udtf_spec: MaterializedViewUdtfEntry | None = None
    """The function; required when `kind` is `udtf` or `chunker` and not allowed
    with `query`; otherwise, the result is InvalidInput (13).
    """

    with_no_data: bool = True
    """True (default) creates an empty view and leaves filling it to
    RefreshMaterializedView, false immediately starts a first refresh.
    """

    auto_refresh: bool = False
    """True to refresh the view automatically when its source changes; false by
    default.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


CreateMaterializedViewRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("kind", "kind", choice("query", "udtf", "chunker"), required=True),
    Wire("source_query", "source_query", string, required=True),
    Wire("output_schema", "output_schema", string, required=True),
    Wire("udtf_spec", "udtf_spec", model("MaterializedViewUdtfEntry")),
    Wire("with_no_data", "with_no_data", boolean, default=True),
    Wire("auto_refresh", "auto_refresh", boolean, default=False),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
