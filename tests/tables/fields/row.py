"""A row specifies the effect of one field of one request: the results without it and with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from unittest import mock
from uuid import uuid4

import pyarrow as pa
from attrs import field, frozen

from lance_namespace_client.errors import LanceNamespaceError, NamespaceNotFoundError
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls.catalog.namespace import Namespace

__all__ = ["ABSENT", "ROWS", "SAME", "Code", "Differs", "Row", "Stage", "nested"]

ROWS = pa.table({"x": [1, 2, 3], "s": ["a", "b", "c"]})


class Code(NamedTuple):
    """An error: its code, and a string that its message must contain."""

    code: int
    says: str = ""


class Differs:
    """Stands for any result that differs from the result without the field."""

    def __repr__(self) -> str:
        return "another result"


class Same:
    """Stands for a result that is the same for two calls without the field."""

    def __repr__(self) -> str:
        return "the same each time"


SAME = Same()


class Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()
Look = Callable[["Stage", dict[str, Any]], Any]


@frozen
class Row:
    """The effect of a field."""

    operation: str
    field: str
    """Field of the request, or ``Model.field`` of a model nested in it."""
    value: Any
    """The field's value, or a function that makes it from the stage."""
    given: Mapping[str, Any] | Callable[[Stage], Mapping[str, Any]] = field(
        factory=dict, kw_only=True
    )
    """The other fields of the request."""
    instead: Any = field(default=ABSENT, kw_only=True)
    """Value of a required field in the call that replaces the one without the field."""
    within: Callable[[dict[str, Any]], dict[str, Any]] = field(default=dict, kw_only=True)
    """Makes the request from the fields of a model nested in it."""
    look: Look = field(kw_only=True)
    """Makes the call on a fresh stage, and returns the observed result."""
    without: Any = field(kw_only=True)
    having: Any = field(kw_only=True)
    why: str = field(default="", kw_only=True)
    """Why the field has no effect, if the results with and without it are the same."""

    @property
    def key(self) -> tuple[str, str]:
        """The request or model, and its field."""
        owner, _, name = self.field.rpartition(".")
        return owner or self.operation, name

    def __str__(self) -> str:
        value = "made" if callable(self.value) else str(self.value)[:40].replace(" ", "")
        return f"{self.operation}-{self.field}-{value}"

    def run(self, stage: Stage, *, having: bool) -> Any:
        """Return the observed result with the field or without it."""
        given = dict(self.given(stage) if callable(self.given) else self.given)
        value = self.value if having else self.instead
        if value is not ABSENT:
            given[self.key[1]] = value(stage) if callable(value) else value
        try:
            return self.look(stage, self.within(given))
        except LanceNamespaceError as error:
            return Code(int(error.code), error.message)
        finally:
            stage.tear_down()


def agrees(seen: Any, expected: Any) -> bool:
    """Return whether a result is the one that a row expects."""
    if isinstance(expected, Code):
        return isinstance(seen, Code) and seen.code == expected.code and expected.says in seen.says
    return bool(seen == expected)


def nested(operation: str, model: str, within: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a function that makes rows for the fields of a model."""

    def make(name: str, **more: Any) -> Row:
        return Row(operation=operation, field=f"{model}.{name}", within=within, **more)

    return make


class Stage:
    """A new, empty namespace, used in process or over REST."""

    def __init__(self, namespace: Namespace, direct: Namespace) -> None:
        self.namespace = namespace
        self.direct = direct
        """The same namespace in process."""
        self.home = [f"n{uuid4().hex[:12]}"]
        self.id = [*self.home, "t"]
        direct.create_namespace({"id": self.home})

    def tear_down(self) -> None:
        """Drop the namespace, so that listings of all tables stay short."""
        with suppress(NamespaceNotFoundError):
            self.direct.drop_namespace({"id": self.home, "behavior": "Cascade"})

    def call(self, operation: str, request: Mapping[str, Any], *data: Any) -> Any:
        """Call an operation, on the table ``t`` unless the request specifies another one."""
        row = OPERATIONS[operation]
        given = dict(request)
        if "id" not in given and "/table/{id}" in row.path:
            given["id"] = self.id
        return getattr(self.namespace, row.method_name)(given, *data)

    def table(self, data: pa.Table = ROWS, name: str = "t", **more: Any) -> Any:
        """Create a table, named `t` by default."""
        return self.direct.create_table({"id": [*self.home, name], **more}, data)

    def rows(self, name: str = "t", **more: Any) -> list[dict[str, Any]]:
        """Return the rows of a table."""
        request = {"id": [*self.home, name], "k": 0, "vector": None, **more}
        return self.direct.query_table(request).read_all().to_pylist()

    def x(self, name: str = "t", **more: Any) -> list[int]:
        """Return the values of column ``x``, in order."""
        return sorted(row["x"] for row in self.rows(name, **more))

    def described(self, **more: Any) -> Any:
        return self.direct.describe_table({"id": self.id, **more})

    def dataset(self, **more: Any) -> Any:
        import lance

        return lance.dataset(self.described().location, **more)

    def schema(self, branch: str | None = None) -> pa.Schema:
        found = self.dataset()
        return found.schema if branch is None else found.checkout_version((branch, None)).schema

    def branch(self, name: str = "dev") -> None:
        """Create a branch of `t` with one row more than the main branch."""
        self.direct.create_table_branch({"id": self.id, "name": name})
        self.direct.insert_into_table({"id": self.id, "branch": name}, ROWS.slice(0, 1))

    def tables(self) -> list[str]:
        return self.direct.list_tables({"id": self.home}).tables


def spying(owner: type, name: str, read: Callable[[tuple[Any, ...], dict[str, Any]], Any]) -> Any:
    """Return a context manager that records the arguments of a pylance method."""
    seen: list[Any] = []
    original = getattr(owner, name)

    @functools.wraps(original)
    def spy(*args: Any, **kwargs: Any) -> Any:
        seen.append(read(args, kwargs))
        return original(*args, **kwargs)

    patched = mock.patch.object(owner, name, spy)

    class Spying:
        def __enter__(self) -> list[Any]:
            patched.start()
            return seen

        def __exit__(self, *_: object) -> None:
            patched.stop()

    return Spying()


def models_within(decode: Any) -> Iterator[str]:
    """Yield the names of the models as which a field of a request is decoded."""
    for cell in getattr(decode, "__closure__", None) or ():
        inner = cell.cell_contents
        if isinstance(inner, str) and decode.__qualname__.startswith("model."):
            yield inner
        elif callable(inner):
            yield from models_within(inner)
