"""One row of the operation table."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from attrs import frozen

if TYPE_CHECKING:
    from .model import Model

__all__ = ["Action", "Body", "Operation", "Parameter"]

Request = TypeVar("Request", bound="Model")
Response = TypeVar("Response")


class Body(Enum):
    """What an HTTP body holds."""

    NONE = "none"
    JSON = "json"
    """The model as a JSON object."""
    FIELD = "field"
    """One field of the model as bare JSON."""
    ARROW = "arrow"
    """Rows: an Arrow IPC stream in a request, an Arrow IPC file in a response."""


class Action(Enum):
    """What a caller must be allowed to do."""

    READ = "read"
    WRITE = "write"
    """Change the rows, columns, indexes and versions of a table."""
    MANAGE = "manage"
    """Change what tables and namespaces there are, and what is said about them."""


class Parameter(NamedTuple):
    """A query parameter and the request field that it feeds."""

    name: str
    field: str
    """Key of the field in the request's JSON form."""
    type: str
    """JSON type of the value: ``string``, ``boolean``, ``integer``, ``number``, ``array``, which is
    repeated, or ``object``, which travels as JSON text.
    """
    required: bool = False


@frozen(kw_only=True)
class Operation(Generic[Request, Response]):
    """What the specification says of one operation.

    The server, the REST client and the command line read it; nothing lists operations beside it.
    """

    name: str
    """Name in the protocol, such as ``DescribeTable``."""
    method_name: str
    """Name of the Python method, such as ``describe_table``."""
    summary: str
    tag: str
    http_method: str
    path: str
    """Route with ``{field}`` where a path segment feeds a request field."""
    request: str
    """Class name of the request model."""
    response: str
    """Class name of the response model."""
    path_fields: tuple[str, ...] = ()
    query: tuple[Parameter, ...] = ()
    body: Body = Body.NONE
    body_field: str | None = None
    answer: Body = Body.JSON
    answer_field: str | None = None
    status: int = 200
    """HTTP status of success."""
    codes: tuple[int, ...] = ()
    """Error codes that it may answer with beyond the common ones."""
    action: Action
    """What a caller must be allowed to do to call it."""
    repeatable: bool = False
    """Whether the call may be sent again after an unknown outcome."""
    aliases: tuple[str, ...] = ()
    """Older names of the operation that are served as well."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names, each with a route ``POST /<name>``."""
        return (self.name, *self.aliases)

    @property
    def request_type(self) -> type[Request]:
        """Class of the request model, loaded on first use."""
        return cast("type[Request]", _model(self.request))

    @property
    def response_type(self) -> type[Response]:
        """Class of the response model, loaded on first use."""
        return cast("type[Response]", _model(self.response))


def _model(name: str) -> object:
    from . import models

    return getattr(models, name)
