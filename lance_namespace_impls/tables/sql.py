"""Checks the SQL expressions that callers send before Lance parses them.

Every expression is parsed. In-process callers may use all functions of the engine, but no arguments
that crash it. Remote callers may use only functions with a known cost, and the size of values and
the number of steps per row are limited in each request. See `docs/filters.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attrs import frozen

from lance_namespace_client.errors import InvalidInputError

from ..core.confinement import confinement
from .incoming import MAX_VALUE_NESTING, MEASURED
from .schema import extension_of
from .sql_functions import (
    FIXED,
    FUNCTIONS,
    JSON,
    MAX_GROWTH,
    NOT_ALLOWED,
    UNBOUNDED,
    Argument,
    Size,
    UnboundedError,
    total,
)
from .sql_parser import COMPARISONS, Kind, Node, SqlError, parse
from .sql_texts import check_json

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SqlCheck", "check_sql", "columns_read", "sql_of"]

# Maximum size of a computed value, in bytes, for in-process callers.
MAX_COMPUTED = 64 << 20
# Combined limits for all expressions of a remote request: bytes of computed values per row, steps
# per row, and steps per byte of a row. A batch has thousands of rows, and a step takes about a
# nanosecond.
MAX_REMOTE_BYTES = 64 << 10
MAX_REMOTE_STEPS = 200_000
MAX_REMOTE_STEPS_PER_BYTE = 10_000
MAX_REMOTE_GROWTH = 100
"""Maximum ratio of the length of computed values to the length of their row, if Lance chooses the
batch size.
"""

_SYSTEM = frozenset(
    {"_distance", "_relevance_score", "_row_created_at_version", "_row_last_updated_at_version",
     "_rowaddr", "_rowid", "_rowoffset", "_score"}
)  # fmt: skip
_SIDES = ("source.", "target.")
_NUMERIC = frozenset(
    {"BIGINT", "DECIMAL", "DOUBLE", "FLOAT", "FLOAT4", "FLOAT8", "INT", "INT2", "INT4", "INT8",
     "INTEGER", "NUMERIC", "REAL", "SMALLINT", "TINYINT"}
)  # fmt: skip
_COMPARING = frozenset({Kind.LIKE, Kind.IN, Kind.BETWEEN, Kind.IS})
_CACHED_LENGTH = 4_096


@frozen
class _Analysis:
    """Properties of an expression, independent of the caller and the table."""

    top_level: frozenset[str]
    """Names of the top-level columns that the expression reads, in lower case."""
    quoted: tuple[str, ...]
    """Strings in double quotes."""
    functions: tuple[str, ...]
    """Names of the functions that the expression calls, in lower case."""
    stored: tuple[tuple[str, str], ...]
    """Functions that parse binary values, each with the column that it reads."""
    result: Size
    """The size of the expression's value."""
    peak: Size
    """The largest size of any computed value."""
    steps: Size
    """Number of steps per row, and per byte of a row."""
    unbounded: str | None
    """Description of a part whose number of steps is unbounded."""
    constant: str | None
    """A string in double quotes that is compared only with constants."""


class SqlCheck:
    """Checks the expressions in a request; the limits apply to all expressions combined.

    Args:
        schema: the table's schema; without it, double quotes and types are not checked.
        sized: whether batches have fewer rows if expressions make values longer; see `growth`.
    """

    def __init__(self, schema: pa.Schema | None = None, *, sized: bool = False) -> None:
        self._schema = schema
        self._sized = sized
        self._bytes = self._steps = self._steps_per_byte = 0
        self._of_conditions = self._of_values = 1
        bounds = confinement()
        self._allowed = None if bounds is None else bounds.functions

    @property
    def growth(self) -> int:
        """Maximum ratio of the size of a row's values to their size in storage.

        The values of conditions are discarded before the columns are computed.
        """
        return max(self._of_conditions, self._of_values)

    def condition(self, text: str | None, what: str) -> None:
        """Reject a condition that Lance cannot evaluate safely.

        Args:
            text: the SQL; None and an empty string mean no condition.
            what: the operation or a part of it, as the start of messages.

        Raises:
            InvalidInputError: code 13.
        """
        if text:
            self._check(text, what, is_value=False)

    def value(self, text: str, what: str) -> None:
        """Reject an expression for a column's values that Lance cannot evaluate safely.

        Args:
            text: the SQL.
            what: the operation or a part of it, as the start of messages.

        Raises:
            InvalidInputError: code 13.
        """
        # Lance treats a string that equals a column's name as that column, so the string is not parsed.
        if self._schema is not None and text.lower() in map(str.lower, self._schema.names):
            return
        self._check(text, what, is_value=True)

    def assignment(self, column: str, text: str, what: str) -> None:
        """Reject an expression for an existing column that Lance cannot evaluate or store safely.

        The nesting depth of JSON values and geometries must be known, because Lance parses them
        recursively.

        Args:
            column: the column.
            text: the SQL.
            what: the operation or a part of it, as the start of messages.

        Raises:
            InvalidInputError: code 13.
        """
        self.value(text, what)
        field = None if self._schema is None else _field(self._schema, column)
        extension = "" if field is None else extension_of(field)
        if extension in MEASURED and not self._is_shallow(text, extension):
            remedy = "jsonb '...', " if "json" in extension else ""
            raise InvalidInputError(
                f"{what} is for a column of type {extension}, but the depth of its values cannot "
                f"be bounded; write {remedy}NULL or a column of the same type, or merge rows with "
                "the values"
            )

    def _is_shallow(self, text: str, extension: str) -> bool:
        """Return whether the depth of a value is bounded, for a JSON or geometry column."""
        assert self._schema is not None
        if text.lower() in map(str.lower, self._schema.names):
            source = _field(self._schema, text)
        else:
            node = parse(text)
            if node.kind in (Kind.HEX, Kind.STRING) and "json" not in extension:
                return _literal_depth(node, extension) <= MAX_VALUE_NESTING
            if node.kind not in (Kind.COLUMN, Kind.FIELD):
                is_json = node.kind == Kind.TYPED and node.name == "JSONB" and "json" in extension
                return node.kind == Kind.CONSTANT or is_json
            source = _field(self._schema, _path(node))
        return source is not None and extension_of(source) == extension

    def _check(self, text: str, what: str, *, is_value: bool) -> None:
        try:
            found = _analyzed(text)
            if self._schema is not None:
                self._check_columns(found, self._schema)
            if self._schema is not None and found.constant is not None:
                raise SqlError(
                    f'compares "{found.constant}" with a constant: a string in double quotes is not a '
                    f"column; write {_in_backticks(found.constant)} for a column"
                )
            further = max(0, found.peak.rows - 1)
            if is_value:
                self._of_values += further
            else:
                self._of_conditions += further
            if self.growth > MAX_GROWTH:
                raise SqlError(
                    f"produces values that are {self.growth} times as long; the maximum is "
                    f"{MAX_GROWTH} times"
                )
            if self._allowed is not None:
                self._check_remote(found, self._allowed, is_value=is_value)
        except SqlError as error:
            raise InvalidInputError(f"{what} {error}") from None

    def _check_remote(self, found: _Analysis, allowed: Collection[str], *, is_value: bool) -> None:
        for name in found.functions:
            if name not in FUNCTIONS and name not in allowed:
                raise SqlError(
                    f"calls {name[:100]!r}, which remote callers may not use{_why_not(name)}; the "
                    "operator can allow it (--allow-function)"
                )
        if found.unbounded is not None:
            raise SqlError(found.unbounded)
        self._bytes += max(found.peak.bytes, found.result.bytes if is_value else 0)
        self._steps += found.steps.bytes
        self._steps_per_byte += found.steps.rows
        most = MAX_GROWTH if self._sized else MAX_REMOTE_GROWTH
        if self.growth > most:
            raise SqlError(
                f"produces values that are {self.growth} times as long; the maximum is {most} times"
            )
        if self._bytes > MAX_REMOTE_BYTES:
            raise SqlError(
                f"produces values of {self._bytes:,} bytes in total for all expressions; the "
                f"maximum is {MAX_REMOTE_BYTES:,}. Insert or merge rows with long values instead"
            )
        if self._steps > MAX_REMOTE_STEPS or self._steps_per_byte > MAX_REMOTE_STEPS_PER_BYTE:
            raise SqlError(
                "takes too many steps per row, across all expressions; use fewer or shorter "
                "strings, or shorten them, for example left(name, 100)"
            )

    def _check_columns(self, found: _Analysis, schema: pa.Schema) -> None:
        if found.quoted:
            names = dict(_paths(schema))
            for text in found.quoted:
                name = _unsided(text.lower().replace("`", ""))
                if name in _SYSTEM or name in names:
                    column = names.get(name, name)
                    raise SqlError(
                        f'has "{text[:100]}" in double quotes, which is a string, but a column has that '
                        f"name; write {_in_backticks(column)[:100]} for the column or "
                        f"'{text[:100]}' for the string"
                    )
        for function, path in found.stored:
            field = _field(schema, path)
            if field is None:
                continue
            if function in JSON:
                if "json" not in str(field.type).lower() and not _is_json(field):
                    raise SqlError(
                        f"calls {function} with column {path[:100]!r}, which is {field.type} and "
                        "not JSON; store it as pyarrow.json_()"
                    )
            elif _is_bytes(field.type):
                raise SqlError(
                    f"calls {function} with column {path[:100]!r}, whose geometries are stored as "
                    f"{field.type}, so their nesting cannot be bounded; store them as GeoArrow "
                    "points, lines or polygons"
                )


def _literal_depth(node: Node, extension: str) -> int:
    """Return the nesting depth of the geometry in a literal."""
    is_text = extension.endswith("wkt")
    if node.kind == Kind.HEX:
        try:
            content = bytes.fromhex(node.value[2:-1])
        except ValueError:
            return 0  # Lance rejects it
    else:
        content = node.value.encode()
    return MEASURED[extension][1](content.decode("utf-8", "replace") if is_text else content)


def check_sql(text: str | None, what: str, schema: pa.Schema | None = None) -> None:
    """Reject a condition that Lance cannot evaluate safely; see `SqlCheck.condition`."""
    SqlCheck(schema).condition(text, what)


def columns_read(sql: str) -> frozenset[str]:
    """Return the names of the top-level columns that an expression reads, in lower case."""
    try:
        return _analyzed(sql).top_level
    except SqlError:  # the text is a column's complete name, which needs no quotes
        return frozenset({sql.lower()})


def sql_of(request: Any) -> Iterator[tuple[str, str, bool]]:
    """Yield the expressions in a request: name of the part, SQL, and whether it is a value."""
    for name in (
        "filter", "predicate", "when_matched_update_all_filt",
        "when_not_matched_by_source_delete_filt",
    ):  # fmt: skip
        if isinstance(text := getattr(request, name, None), str):
            yield name, text, False
    if (query := getattr(request, "query", None)) is not None:
        yield from sql_of(query)
    aliases = getattr(getattr(request, "columns", None), "column_aliases", None)
    if isinstance(aliases, Mapping):
        for name, text in aliases.items():
            yield f"column {name[:100]!r}", text, True
    updates = getattr(request, "updates", None)
    for pair in updates if isinstance(updates, list) else ():
        if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[1], str):
            yield f"the expression for {pair[0][:100]!r}", pair[1], True
    entries = getattr(request, "new_columns", None)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(text := entry.expression, str):
            yield f"the expression for column {entry.name[:100]!r}", text, True


def _analyzed(text: str) -> _Analysis:
    return _cached_analyze(text) if len(text) <= _CACHED_LENGTH else _analyze(text)


def _analyze(text: str) -> _Analysis:
    return _Costs().analyze(parse(text))


_cached_analyze = lru_cache(maxsize=1_024)(_analyze)


class _Costs:
    """Derives the cost of an expression from the costs of its parts."""

    def __init__(self) -> None:
        self._columns: set[str] = set()
        self._quoted: list[str] = []
        self._functions: dict[str, None] = {}
        self._stored: list[tuple[str, str]] = []
        self._peak = Size()
        self._steps = Size()
        self._unbounded: str | None = None
        self._constant: str | None = None

    def analyze(self, root: Node) -> _Analysis:
        result, _ = self._visit(root)
        return _Analysis(
            top_level=frozenset(self._columns),
            quoted=tuple(self._quoted),
            functions=tuple(self._functions),
            stored=tuple(self._stored),
            result=result,
            peak=self._peak,
            steps=self._steps,
            unbounded=self._unbounded,
            constant=self._constant,
        )

    def _visit(self, node: Node) -> tuple[Size, bool]:
        """Return the size of a value, and whether it is the same for all rows."""
        kind = node.kind
        if kind == Kind.COLUMN:
            self._columns.add(node.value[0].lower())
            return Size(16, 1), False
        if kind == Kind.QUOTED:
            self._quoted.append(node.value)
        if not node.args and kind not in (Kind.CALL, Kind.ARRAY):
            # The values of a list may be single-digit numbers, but each of them takes eight bytes.
            return Size(_length(node.value) * (4 if kind == Kind.VALUES else 1)), True
        sizes: list[Size] = []
        constant = True
        for each in node.args:
            size, is_constant = self._visit(each)
            sizes.append(size)
            constant = constant and is_constant
        if kind == Kind.CALL:
            size = self._call(node, sizes)
            constant = constant and not self._varies(node.name.lower())
        else:
            size = self._combined(node, sizes, constant)
        if size.bytes > MAX_COMPUTED:
            raise SqlError(
                f"produces values of {size.bytes:,} bytes; the maximum is {MAX_COMPUTED:,}"
            )
        self._peak.bytes = max(self._peak.bytes, size.bytes)
        self._peak.rows = max(self._peak.rows, size.rows)
        return size, constant

    def _combined(self, node: Node, sizes: list[Size], constant: bool) -> Size:
        """Return the size of the value that an operator computes."""
        kind = node.kind
        if constant and (
            kind in _COMPARING or (kind == Kind.OPERATOR and node.name in COMPARISONS)
        ):
            self._compared(node)
        if kind == Kind.CAST or kind == Kind.TYPED:
            if node.name == "JSONB":
                self._check_json(node.args[0].value)
            self._step(sizes[0])
            return sizes[0] + FIXED
        if kind == Kind.LIKE:
            self._like(node, sizes)
            return Size(1)
        if kind in (Kind.ARRAY, Kind.CASE) or node.name == "||":
            found = Size()
            for size in sizes:
                found = found + size
            self._step(found)
            return found
        if kind == Kind.FIELD or kind == Kind.INDEX:
            return sizes[0]
        self._steps.bytes += 1
        return FIXED

    def _like(self, node: Node, sizes: list[Size]) -> None:
        value, pattern = sizes
        if value.rows and pattern.rows:
            self._unbounded = self._unbounded or (
                "compares with a pattern that is not a string literal, so its cost is unbounded; "
                "write the pattern in single quotes"
            )
        states = 1 + pattern.bytes // 32
        self._steps.rows += value.rows * states + pattern.rows
        self._steps.bytes += value.bytes * states + pattern.bytes

    @staticmethod
    def _check_json(text: str) -> None:
        try:
            check_json(text)
        except SqlError as error:
            raise SqlError(f"has {error}") from None

    def _compared(self, node: Node) -> None:
        """Record a string in double quotes that is compared as if it were a column."""
        for each in node.args:
            if each.kind == Kind.QUOTED and self._constant is None:
                self._constant = each.value[:100]

    def _call(self, node: Node, sizes: list[Size]) -> Size:
        name = node.name.lower()
        self._functions[name] = None
        function = FUNCTIONS.get(name)
        args = [Argument(each, size) for each, size in zip(node.args, sizes, strict=True)]
        if function is None:
            found = total(args)
            self._step(found)
            return found + FIXED
        if name in JSON or name.startswith("st_") or name == "geometrytype":
            self._binary(name, node)
        if len(args) < function.least:
            raise SqlError(
                f"calls {name} with {len(args)} arguments; it needs at least {function.least}"
            )
        try:
            if function.check is not None:
                function.check(args)
            found = function.size(args)
        except SqlError as error:
            raise SqlError(f"calls {name} with {error}") from None
        except UnboundedError:
            raise SqlError(
                f"can produce values of any length: pass a number literal of at most {MAX_GROWTH} "
                "to functions such as REPEAT and LPAD, and a string literal to functions such as "
                "REPLACE and ARRAY_TO_STRING; shorten values that are too long, for example "
                "left(rpad(name, 100), size)"
            ) from None
        if found.rows > MAX_GROWTH:
            raise SqlError(
                f"produces values that are {found.rows} times as long; the maximum is "
                f"{MAX_GROWTH} times"
            )
        self._work(name, args, function.steps, multiplies=function.multiplies)
        return found

    def _work(self, name: str, args: list[Argument], steps: int, *, multiplies: bool) -> None:
        if not multiplies:
            self._step(total(args).times(steps))
            return
        product = Size(1)
        for each in args:
            if product.rows and each.size.rows:
                self._unbounded = self._unbounded or (
                    f"calls {name} with several strings or lists of any length, and its cost is "
                    "the product of their lengths; shorten all but one of them, for example "
                    "left(name, 100)"
                )
            rows = product.rows * each.size.bytes + product.bytes * each.size.rows
            product = Size(
                min(product.bytes * max(1, each.size.bytes), UNBOUNDED), min(rows, UNBOUNDED)
            )
        self._step(product.times(steps))

    def _step(self, size: Size) -> None:
        self._steps.bytes += size.bytes
        self._steps.rows += size.rows

    def _binary(self, name: str, node: Node) -> None:
        """Record the columns that a function reads as binary JSON or geometry; reject other inputs."""
        if name in JSON:
            source = node.args[0] if node.args else None
            while source is not None and source.kind == Kind.CALL and source.name == "JSON_GET":
                source = source.args[0] if source.args else None
            if source is None or (
                source.kind in (Kind.CAST, Kind.TYPED) and source.name == "JSONB"
            ):
                return
            if source.kind not in (Kind.COLUMN, Kind.FIELD):
                raise SqlError(
                    f"calls {name} with a value that is not a JSON column, so its nesting cannot "
                    f"be bounded"
                )
            self._stored.append((name, _path(source)))
            return
        waiting = list(node.args)
        while waiting:
            each = waiting.pop()
            if each.kind == Kind.CAST and each.name in _NUMERIC:
                continue
            if each.kind in (Kind.COLUMN, Kind.FIELD):
                self._stored.append((name, _path(each)))
            waiting += each.args

    def _varies(self, name: str) -> bool:
        return name not in FUNCTIONS or FUNCTIONS[name].changes


def _why_not(name: str) -> str:
    if name in NOT_ALLOWED:
        return f": {NOT_ALLOWED[name]}"
    near = get_close_matches(name[:100], FUNCTIONS, 1)
    return f", did you mean {near[0]}?" if near else ""


def _length(value: Any) -> int:
    """Return the length of a literal in bytes."""
    text = value if isinstance(value, str) else ""
    return len(text) if text.isascii() else 4 * len(text)


def _path(node: Node) -> str:
    """Return the path of a column or of a nested field."""
    names: list[str] = []
    while node.kind == Kind.FIELD and node.args:
        names.append(node.name)
        node = node.args[0]
    return ".".join([node.name, *reversed(names)])


def _unsided(name: str) -> str:
    return name.removeprefix(_SIDES[0]).removeprefix(_SIDES[1])


def _in_backticks(path: str) -> str:
    return ".".join(f"`{name}`" for name in path.split("."))


def _paths(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """Yield the paths of all columns and nested fields, in lower case and in their original case."""
    waiting = [(field.name, field.type) for field in schema]
    while waiting:
        path, kind = waiting.pop()
        yield path.lower(), path
        if hasattr(kind, "get_field_index"):
            waiting += [
                (f"{path}.{kind.field(i).name}", kind.field(i).type) for i in range(kind.num_fields)
            ]


def _field(schema: pa.Schema, path: str) -> Any:
    """Return the field at a path, ignoring case, or None if there is none."""
    fields = list(schema)
    found = None
    for name in _unsided(path.lower()).split("."):
        found = next((field for field in fields if field.name.lower() == name), None)
        if found is None:
            return None
        kind = found.type
        is_structure = hasattr(kind, "get_field_index")
        fields = [kind.field(i) for i in range(kind.num_fields)] if is_structure else []
    return found


def _is_json(field: pa.Field) -> bool:
    metadata = field.metadata or {}
    return metadata.get(b"ARROW:extension:name") in (b"arrow.json", b"lance.json")


def _is_bytes(kind: pa.DataType) -> bool:
    import pyarrow as pa

    kind = getattr(kind, "storage_type", kind)
    return any(
        check(kind)
        for check in (
            pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
            pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view,
            pa.types.is_fixed_size_binary,
        )
    )  # fmt: skip
