"""A row says what one field of one request does: the result without it, and with it."""

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
    """A refusal: its code, and what its message has to say."""

    code: int
    says: str = ""


class Differs:
    """Stands for any result but that without the field."""

    def __repr__(self) -> str:
        return "another result"


class Same:
    """Stands for a result that two calls without the field have alike."""

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
    """What a field does."""

    operation: str
    field: str
    """Field of the request, or ``Model.field`` of a model within it."""
    value: Any
    """The field's value; a function makes it of the stage."""
    given: Mapping[str, Any] | Callable[[Stage], Mapping[str, Any]] = field(
        factory=dict, kw_only=True
    )
    """The other fields."""
    instead: Any = field(default=ABSENT, kw_only=True)
    """Value of a required field in the call that stands for the one without it."""
    within: Callable[[dict[str, Any]], dict[str, Any]] = field(default=dict, kw_only=True)
    """Makes the request of the fields of a model within it."""
    look: Look = field(kw_only=True)
    """Makes the call on a fresh stage, and returns what is seen."""
    without: Any = field(kw_only=True)
    having: Any = field(kw_only=True)
    why: str = field(default="", kw_only=True)
    """Why the field has no effect, where the results with and without it are the same."""

    @property
    def key(self) -> tuple[str, str]:
        """The request or model, and its field."""
        owner, _, name = self.field.rpartition(".")
        return owner or self.operation, name

    def __str__(self) -> str:
        value = "made" if callable(self.value) else str(self.value)[:40].replace(" ", "")
        return f"{self.operation}-{self.field}-{value}"

    def run(self, stage: Stage, *, having: bool) -> Any:
        """Return what is seen with the field or without it."""
        given = dict(self.given(stage) if callable(self.given) else self.given)
        value = self.value if having else self.instead
        if value is not ABSENT:
            given[self.key[1]] = value(stage) if callable(value) else value
        try:
            return self.look(stage, self.within(given))
        except LanceNamespaceError as error:
            return Code(int(error.code), error.message)
        finally:
            stage.strike()


def agrees(seen: Any, expected: Any) -> bool:
    """Return whether a result is the one that a row has."""
    if isinstance(expected, Code):
        return isinstance(seen, Code) and seen.code == expected.code and expected.says in seen.says
    return bool(seen == expected)


def nested(operation: str, model: str, within: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a function that makes rows of a model's fields."""

    def make(name: str, **more: Any) -> Row:
        return Row(operation=operation, field=f"{model}.{name}", within=within, **more)

    return make


class Stage:
    """A namespace of its own with nothing in it, reached in process or over REST."""

    def __init__(self, namespace: Namespace, direct: Namespace) -> None:
        self.namespace = namespace
        self.direct = direct
        """The same in process."""
        self.home = [f"n{uuid4().hex[:12]}"]
        self.id = [*self.home, "t"]
        direct.create_namespace({"id": self.home})

    def strike(self) -> None:
        """Take the namespace out again, so that listings of everything stay short."""
        with suppress(NamespaceNotFoundError):
            self.direct.drop_namespace({"id": self.home, "behavior": "Cascade"})

    def call(self, operation: str, request: Mapping[str, Any], *data: Any) -> Any:
        """Call an operation, on the table ``t`` unless the request says otherwise."""
        row = OPERATIONS[operation]
        given = dict(request)
        if "id" not in given and "/table/{id}" in row.path:
            given["id"] = self.id
        return getattr(self.namespace, row.method_name)(given, *data)

    def table(self, data: pa.Table = ROWS, name: str = "t", **more: Any) -> Any:
        """Create a table; `t` unless named."""
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
        """Start a branch of `t` that has one row more than the main one."""
        self.direct.create_table_branch({"id": self.id, "name": name})
        self.direct.insert_into_table({"id": self.id, "branch": name}, ROWS.slice(0, 1))

    def tables(self) -> list[str]:
        return self.direct.list_tables({"id": self.home}).tables


def spying(owner: type, name: str, read: Callable[[tuple[Any, ...], dict[str, Any]], Any]) -> Any:
    """Return a context manager that notes what a method of pylance is called with."""
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
    """Return the names of the models that a field of a request is read as."""
    for cell in getattr(decode, "__closure__", None) or ():
        inner = cell.cell_contents
        if isinstance(inner, str) and decode.__qualname__.startswith("model."):
            yield inner
        elif callable(inner):
            yield from models_within(inner)
