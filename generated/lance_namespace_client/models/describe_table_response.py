# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DescribeTableResponse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, boolean, integer, mapping, model, string

if TYPE_CHECKING:
    from .json_arrow_schema import JsonArrowSchema
    from .table_basic_stats import TableBasicStats

__all__ = ["DescribeTableResponse"]


@define(kw_only=True)
class DescribeTableResponse(Model):
    """Where a table is and how to open it, with details of its content if they
    were requested.
    """

    table: str | None = None
    """The table's own name, the last level of its identifier."""

    namespace: list[str] | None = None
    """Levels of the namespace that contains the table, outermost first; empty for
    a table in the root.
    """

    version: int | None = None
    """Version that was described; filled when detailed metadata was requested."""

    location: str | None = None
    """Where the table's data is, as stored in the catalog; this is what a client
    opens together with `storage_options`.
    """

    table_uri: str | None = None
    """Full URI of the table, with its scheme; filled only when `with_table_uri` is
    true.
    """

    schema: JsonArrowSchema | None = None
    """Arrow schema of the described version, filled when detailed metadata was
    requested. Some catalogs also return the columns that they store, which may
    be outdated.
    """

    storage_options: dict[str, str] | None = None
    """Options for the object store with which to open the location; they take
    precedence over the caller's own. Temporary credentials come with
    `expires_at_millis`, the time of expiry in milliseconds since 1970-01-01
    UTC; secrets may have been omitted.
    """

    stats: TableBasicStats | None = None
    """Basic figures of the described version; filled when detailed metadata was
    requested.
    """

    metadata: dict[str, str] | None = None
    """Metadata entries of the dataset itself, stored with its schema; filled when
    detailed metadata was requested.
    """

    properties: dict[str, str] | None = None
    """Properties that the catalog stores for the table, apart from its storage
    options; null if the catalog stores no table properties.
    """

    managed_versioning: bool | None = None
    """True if the namespace keeps the list of table versions and new ones must be
    committed through it; false or absent if storage alone decides which version
    is the latest.
    """

    is_only_declared: bool | None = None
    """True if the catalog knows the table and storage holds no dataset for it yet;
    null or absent unless `check_declared` was true.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


DescribeTableResponse._wire = (
    Wire("table", "table", string),
    Wire("namespace", "namespace", array(string)),
    Wire("version", "version", integer(0)),
    Wire("location", "location", string),
    Wire("table_uri", "table_uri", string),
    Wire("schema", "schema", model("JsonArrowSchema")),
    Wire("storage_options", "storage_options", mapping(string)),
    Wire("stats", "stats", model("TableBasicStats")),
    Wire("metadata", "metadata", mapping(string)),
    Wire("properties", "properties", mapping(string)),
    Wire("managed_versioning", "managed_versioning", boolean),
    Wire("is_only_declared", "is_only_declared", boolean),
    Wire("context", "context", mapping(string)),
)
