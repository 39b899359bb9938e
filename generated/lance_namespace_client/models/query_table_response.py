# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `QueryTableResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, binary, mapping, string

__all__ = ["QueryTableResponse"]


@define(kw_only=True)
class QueryTableResponse(Model):
    """The rows of a query; over HTTP the body is the Arrow IPC file itself, with
    the media type `application/vnd.apache.arrow.file`.
    """

    data: bytes | None = None
    """Bytes of an Arrow IPC file with the rows found; a vector search adds a
    column `_distance`, a full-text search a column `_score`.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """


QueryTableResponse._wire = (
    Wire("data", "data", binary),
    Wire("context", "context", mapping(string)),
)
