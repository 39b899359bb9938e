# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `DescribeTableRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define

from ..model import Model, Wire, array, boolean, integer, mapping, model, string

if TYPE_CHECKING:
    from .identity import Identity

__all__ = ["DescribeTableRequest"]


@define(kw_only=True)
class DescribeTableRequest(Model):
    """Request for the location of a table and, optionally, details of its content.
    At most one of version, tag and branch may be set; otherwise, the request
    results in InvalidInput (13).
    """

    id: list[str] | None = None
    """Names from the root (not included) to the object, outermost first; absent,
    null or empty is the root. On a route that names the object the route's
    identifier counts, and a different one here results in InvalidInput (13).
    """

    version: int | None = None
    """Version to describe, the latest by default. A version that does not exist
    results in TableVersionNotFound (11).
    """

    tag: str | None = None
    """Name of the tag whose version is described. An unknown name results in
    TableVersionNotFound (11).
    """

    branch: str | None = None
    """Name of the branch whose latest version is described, the main branch by
    default. An unknown name results in TableVersionNotFound (11).
    """

    with_table_uri: bool = False
    """Whether `table_uri` is filled in the response; false by default."""

    load_detailed_metadata: bool | None = None
    """Whether the dataset is opened to fill version, schema, stats and metadata;
    false by default, which reads only the catalog and is faster.
    """

    check_declared: bool = False
    """Whether storage is examined to fill `is_only_declared`; false by default."""

    vend_credentials: bool | None = None
    """Whether `storage_options` should carry credentials for reading and writing
    the data; when absent the server decides. A server may withhold credentials
    even when they are requested.
    """

    identity: Identity | None = None
    """Credentials of the caller; the `x-api-key` and `Authorization` headers take
    precedence.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs that are sent with the call; an entry
    `header.<name>` of a request is sent as that HTTP header.
    """


DescribeTableRequest._wire = (
    Wire("id", "id", array(string)),
    Wire("version", "version", integer(0)),
    Wire("tag", "tag", string),
    Wire("branch", "branch", string),
    Wire("with_table_uri", "with_table_uri", boolean, default=False),
    Wire("load_detailed_metadata", "load_detailed_metadata", boolean),
    Wire("check_declared", "check_declared", boolean, default=False),
    Wire("vend_credentials", "vend_credentials", boolean),
    Wire("identity", "identity", model("Identity")),
    Wire("context", "context", mapping(string)),
)
