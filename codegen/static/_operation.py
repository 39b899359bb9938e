"""The entries of the operation table."""

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
    """Content type of an HTTP body."""

    NONE = "none"
    JSON = "json"
    """The model as a JSON object."""
    FIELD = "field"
    """A single field of the model as bare JSON."""
    ARROW = "arrow"
    """Rows: an Arrow IPC stream in a request, an Arrow IPC file in a response."""


class Action(Enum):
    """Permission that a caller needs."""

    READ = "read"
    WRITE = "write"
    """Change the rows, columns, indexes and versions of a table."""
    MANAGE = "manage"
    """Create, drop and rename tables and namespaces, and change their properties."""


class Parameter(NamedTuple):
    """A query parameter and the request field that provides its value."""

    name: str
    field: str
    """Key of the field in the JSON form of the request."""
    type: str
    """JSON type of the value: ``string``, ``boolean``, ``integer``, ``number``, ``array`` (a
    repeated parameter), or ``object`` (sent as JSON text).
    """
    required: bool = False


@frozen(kw_only=True)
class Operation(Generic[Request, Response]):
    """The specification of one operation.

    The server, the REST client and the command line all use this table; there is no other list of
    operations.
    """

    name: str
    """Name in the protocol, such as ``DescribeTable``."""
    method_name: str
    """Name of the Python method, such as ``describe_table``."""
    summary: str
    tag: str
    http_method: str
    path: str
    """Route, with ``{field}`` for each path segment that is a request field."""
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
    """HTTP status after success."""
    codes: tuple[int, ...] = ()
    """Error codes that the operation may return in addition to the common ones."""
    action: Action
    """Permission that a caller needs."""
    repeatable: bool = False
    """Whether the call may be retried if its outcome is unknown."""
    aliases: tuple[str, ...] = ()
    """Former names of the operation, which are still supported."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the operation; each has a route ``POST /<name>``."""
        return (self.name, *self.aliases)

    @property
    def creates_table(self) -> bool:
        """Whether the rows of a request define the columns of a new table."""
        return self.body is Body.ARROW and self.action is Action.MANAGE

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
