# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead.
"""The model `ErrorResponse`."""

from __future__ import annotations

from attrs import define

from ..model import Model, Wire, integer, mapping, string

__all__ = ["ErrorResponse"]


@define(kw_only=True)
class ErrorResponse(Model):
    """Body of every response with a 4XX or 5XX status; the numeric code, not the
    HTTP status alone, identifies the failure.
    """

    context: dict[str, str] | None = None
    """Arbitrary key-value pairs about the response; every HTTP response header is
    returned as `header.<name>`.
    """

    error: str | None = None
    """Short message for humans, safe to show in a log; programs should look at
    code instead.
    """

    code: int
    """Number of the protocol error, from Unsupported (0) to
    TableBranchAlreadyExists (23); clients choose the error class by it.
    """

    detail: str | None = None
    """Longer explanation for humans, such as the cause that the catalog reported,
    or what to do next; never contains secrets.
    """

    instance: str | None = None
    """Names this one occurrence of the error, for instance the request path or a
    request id, so that it can be found in the server's log.
    """


ErrorResponse._wire = (
    Wire("context", "context", mapping(string)),
    Wire("error", "error", string),
    Wire("code", "code", integer(0), required=True),
    Wire("detail", "detail", string),
    Wire("instance", "instance", string),
)
