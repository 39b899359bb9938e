"""A parser for Lance's SQL expressions.

The parser accepts a subset of Lance's SQL, so every construct in an accepted expression is known.
It reads the input once, without backtracking, and its recursion is bounded by the nesting limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = [
    "MAX_CASES",
    "MAX_CONNECTIVES",
    "MAX_DEPTH",
    "MAX_LEVELS",
    "Kind",
    "Node",
    "SqlError",
    "parse",
    "separate",
]

# Lance parses, plans and runs expressions recursively, and a stack overflow crashes the process. In
# pylance 14.0.2, this happens with 250 to 800 chained operators, or 50,000 ANDs or ORs.
MAX_DEPTH = 128
MAX_CONNECTIVES = 5_000
MAX_LEVELS = 32
# Each token costs a few microseconds here and in Lance's planner; a list of literals counts as one
# token.
MAX_TOKENS = 100_000
# The planning time doubles with each CASE that is nested in the condition of another CASE.
MAX_CASES = 6

_NUMBER = r"(?:[0-9][0-9_]*+(?:\.[0-9_]*+)?|\.[0-9][0-9_]*+)(?:[eE][+-]?[0-9]++)?+L?+(?![\w.])"
_STRING = r"'(?>[^']*(?:''[^']*)*)'"
_VALUE = rf"(?:-?+{_NUMBER}|{_STRING})"
_SKIPPED = r"(?:\s++|--[^\r\n]*+(?=\r?\n|\Z)|/\*(?>(?:(?!/\*).)*?\*/))*+"
_TOKEN = re.compile(
    rf"""{_SKIPPED}
       (?:(?P<number>{_NUMBER})
       |(?P<string>{_STRING})
       |(?P<hex>[xX]'[0-9a-fA-F]*+'|0x[0-9a-fA-F]++\b)
       |(?P<prefixed>(?:[bBnNrReEqQxX]|[bB][rR]|[rR][bB]|[nN][qQ]|[uU]&)(?=['"]))
       |(?P<word>[^\W\d]\w*+)
       |(?P<quoted>"(?>[^"]*(?:""[^"]*)*)")
       |(?P<name>`(?>[^`]*(?:``[^`]*)*)`)
       |(?P<sign>(?!--|/\*)(?:::|\|\||<>|<<|>>|==|[<>!]=|[-+*/%=<>|&^~.,:()\[\]]))
       |(?P<end>\Z)
       |(?P<other>/\*|--|.))""",
    re.DOTALL | re.VERBOSE,
)
# A list of literals.
_RUN = re.compile(rf"{_VALUE}(?>\s*,\s*{_VALUE})*(?=\s*[,)\]])")

_EACH = re.compile(_VALUE)

_COMPARE, _IS, _NOT = 30, 20, 15
_BINARY = {
    "OR": 5, "AND": 10, "=": _COMPARE, "==": _COMPARE, "<>": _COMPARE, "!=": _COMPARE,
    "<": _COMPARE, "<=": _COMPARE, ">": _COMPARE, ">=": _COMPARE, "|": 32, "^": 33, "&": 34,
    "<<": 35, ">>": 35, "+": 40, "-": 40, "||": 45, "*": 50, "/": 50, "%": 50,
}  # fmt: skip
_NEGATED = 60
_AT, _POSTFIX = 65, 70
COMPARISONS = frozenset({"=", "==", "<>", "!=", "<", "<=", ">", ">="})

TYPES = frozenset(
    {"BIGINT", "BINARY", "BOOL", "BOOLEAN", "BYTEA", "CHAR", "DATE", "DATETIME", "DECIMAL", "DOUBLE",
     "FLOAT", "FLOAT4", "FLOAT8", "INT", "INT2", "INT4", "INT8", "INTEGER", "JSONB", "NUMERIC", "REAL",
     "SMALLINT", "STRING", "TEXT", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "TINYINT", "VARCHAR"}
)  # fmt: skip
_TYPE_WORDS = frozenset({"PRECISION", "TIME", "UNSIGNED", "VARYING", "WITH", "WITHOUT", "ZONE"})
_TYPED = frozenset({"DATE", "DATETIME", "JSONB", "TIMESTAMP"})
_CASTS = frozenset({"CAST", "SAFE_CAST", "TRY_CAST"})
_UNITS = frozenset(
    unit + s
    for unit in (
        "CENTURY", "DAY", "DECADE", "HOUR", "MICROSECOND", "MILLISECOND", "MINUTE", "MONTH",
        "NANOSECOND", "QUARTER", "SECOND", "WEEK", "YEAR",
    )
    for s in ("", "S")
)  # fmt: skip
# Words that separate the arguments of some functions instead of commas.
_SEPARATORS = {
    "EXTRACT": frozenset({"FROM"}),
    "OVERLAY": frozenset({"PLACING", "FROM", "FOR"}),
    "POSITION": frozenset({"IN"}),
    "SUBSTR": frozenset({"FROM", "FOR"}),
    "SUBSTRING": frozenset({"FROM", "FOR"}),
    "TRIM": frozenset({"FROM"}),
}
_SIDES = frozenset({"BOTH", "LEADING", "TRAILING"})
# Functions that need no parentheses.
_BARE = ("CURRENT_", "LOCALTIME", "SESSION_")
_NO_NAMES = frozenset(
    {"AND", "BETWEEN", "ELSE", "END", "FROM", "GROUP", "HAVING", "ILIKE", "IN", "IS", "LIKE", "LIMIT",
     "OR", "ORDER", "SELECT", "THEN", "UNION", "WHEN", "WHERE"}
)  # fmt: skip


class SqlError(Exception):
    """Raised for a rejected expression; the message continues a sentence about the expression."""


class Kind:
    """The kinds of nodes."""

    STRING, NUMBER, QUOTED, HEX, CONSTANT, VALUES = (
        "string", "number", "quoted", "hex", "constant", "values",
    )  # fmt: skip
    COLUMN, FIELD, INDEX = "column", "field", "index"
    CALL, OPERATOR, LOGIC, CASE = "call", "operator", "logic", "case"
    LIKE, IN, BETWEEN, IS = "like", "in", "between", "is"
    CAST, TYPED, INTERVAL, ARRAY, ZONE = "cast", "typed", "interval", "array", "zone"


LITERALS = frozenset({Kind.STRING, Kind.NUMBER, Kind.QUOTED, Kind.HEX, Kind.CONSTANT, Kind.VALUES})


class Node:
    """A part of an expression.

    Attributes:
        kind: one of `Kind`.
        name: the function, operator or type, in upper case; for a column, its path joined by dots.
        args: the operands.
        value: the text of a literal; for `Kind.VALUES`, a list of texts; for `Kind.IN`, `Kind.LIKE`,
            `Kind.BETWEEN` and `Kind.IS`, whether the predicate is negated; for a call without
            parentheses, its name as written.
        depth: number of operand levels, including this one.
        connectives: maximum number of ``AND`` and ``OR`` on the path to one operand.
        cases: maximum number of ``CASE`` on the path to one operand.
    """

    __slots__ = ("args", "cases", "connectives", "depth", "kind", "name", "value")

    def __init__(self, kind: str, name: str = "", args: Any = (), value: Any = None) -> None:
        self.kind = kind
        self.name = name
        self.args = args
        self.value = value
        self.depth = 1
        self.connectives = self.cases = 0
        for each in args:
            self.depth = max(self.depth, each.depth + 1)
            self.connectives = max(self.connectives, each.connectives)
            self.cases = max(self.cases, each.cases)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.args


def parse(text: str) -> Node:
    """Parse an expression.

    Raises:
        SqlError: the text is not an expression in this dialect, or is nested too deeply.
    """
    return _Parser(text).parse()


def separate(item: Node) -> Iterator[Node]:
    """Yield each value in a run of literals as a node; yield other nodes unchanged."""
    if item.kind != Kind.VALUES:
        yield item
        return
    for match in _EACH.finditer(item.value):
        text = match[0]
        if text[0] == "'":
            yield Node(Kind.STRING, value=text[1:-1].replace("''", "'"))
        elif text[0] == "-":
            yield Node(Kind.OPERATOR, "-", (Node(Kind.NUMBER, value=text[1:]),))
        else:
            yield Node(Kind.NUMBER, value=text)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._levels = 0
        self._nested = 0
        self._tokens = 0
        self._next()

    def parse(self) -> Node:
        node = self._expression(0)
        if self._kind != "end":
            raise self._unexpected("an operator or the end")
        if node.connectives > MAX_CONNECTIVES:
            raise self._too_connected()
        return node

    # Tokens.

    def _next(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        assert match is not None  # the last alternative matches any character
        kind = match.lastgroup
        assert kind is not None
        self._tokens += 1
        if self._tokens > MAX_TOKENS:
            raise self._refused(
                f"has more than {MAX_TOKENS:,} names, values and operators; use IN (...) for many "
                "values, or several requests"
            )
        self._kind = kind
        self._token = match[kind]
        self._start = match.start(kind)
        self._at = match.end()
        self._word = self._token.upper() if kind == "word" or kind == "sign" else ""
        if kind == "prefixed":
            raise self._refused(f"has a literal {self._token}'...'; write it as '...'")
        if kind == "other":
            raise self._stray()

    def _stray(self) -> SqlError:
        sign = self._token
        if sign in ("'", '"', "`", "/*"):
            return self._refused(f"has an unclosed {sign}")
        if sign in "$?":
            return self._refused(
                f"has a {sign}, but parameters are not supported; write the values"
            )
        if sign == "--":
            return self._refused("has a comment with a carriage return; end the line with \\n")
        if sign == ";":
            return self._refused("has a ';': write one expression, without a semicolon")
        return self._unexpected("an expression")

    def _accept(self, word: str) -> bool:
        """Skip a word or sign if it is next; return whether it was."""
        if self._word != word:
            return False
        self._next()
        return True

    def _require(self, word: str) -> None:
        if not self._accept(word):
            raise self._unexpected(word)

    # Expressions.

    def _expression(self, least: int) -> Node:
        """Parse the longest expression whose operators have at least the specified precedence."""
        self._nested += 1
        if self._nested > MAX_DEPTH:
            raise self._too_deep()
        left = self._operand()
        joined: Node | None = None
        while True:
            word = self._word
            strength = _BINARY.get(word)
            if strength is not None:
                if strength < least:
                    break
                self._next()
                right = self._expression(strength + 1)
                if strength > 10:
                    left = self._node(Kind.OPERATOR, word, (left, right))
                elif joined is not None and joined.name == word:
                    joined.args.append(right)
                    self._join(joined, right)
                else:
                    left = joined = self._node(Kind.LOGIC, word, [left, right])
                    joined.connectives += 1
                continue
            if not word:
                break
            further = self._suffix(left, word, least)
            if further is None:
                break
            left, joined = further, None
        self._nested -= 1
        return left

    def _join(self, joined: Node, right: Node) -> None:
        joined.depth = max(joined.depth, right.depth + 1)
        joined.cases = max(joined.cases, right.cases)
        own = len(joined.args) - 1
        inner = max(joined.connectives - own + 1, right.connectives)
        joined.connectives = inner + own
        if joined.depth > MAX_DEPTH:
            raise self._too_deep()
        if joined.connectives > MAX_CONNECTIVES:
            raise self._too_connected()

    def _suffix(self, left: Node, word: str, least: int) -> Node | None:
        """Parse an operator that follows an operand; return the combined expression, or None."""
        if word == "::" and least <= _POSTFIX:
            self._next()
            return self._cast(left)
        if word == "[" and least <= _POSTFIX:
            return self._subscript(left)
        if word == "." and least <= _POSTFIX:
            self._next()
            return self._node(Kind.FIELD, self._field_name(), (left,))
        if word == "IS" and least <= _IS:
            self._next()
            return self._is(left)
        if word == "AT" and least <= _AT:
            self._next()
            self._require("TIME")
            self._require("ZONE")
            if self._kind != "string":
                raise self._unexpected("the name of a time zone in single quotes")
            return self._node(Kind.ZONE, "AT TIME ZONE", (left, self._operand()))
        if least > _COMPARE:
            return None
        if word in ("LIKE", "ILIKE", "IN", "BETWEEN"):
            return self._predicate(left, word, negated=False)
        if word == "NOT":
            self._next()
            if self._word not in ("LIKE", "ILIKE", "IN", "BETWEEN"):
                raise self._unexpected("LIKE, ILIKE, IN or BETWEEN")
            return self._predicate(left, self._word, negated=True)
        return None

    def _predicate(self, left: Node, word: str, *, negated: bool) -> Node:
        self._next()
        if word == "IN":
            self._open("(")
            items = self._items(")")
            self._close(")")
            if not items:
                raise self._refused("has an IN with empty parentheses; write at least one value")
            return self._node(Kind.IN, word, (left, *items), negated)
        right = self._expression(_COMPARE + 1)
        if word == "BETWEEN":
            self._require("AND")
            upper = self._expression(_COMPARE + 1)
            return self._node(Kind.BETWEEN, word, (left, right, upper), negated)
        if self._accept("ESCAPE"):
            if self._kind != "string":
                raise self._unexpected("a character in single quotes")
            word = f"{word} ESCAPE"
            self._next()
        return self._node(Kind.LIKE, word, (left, right), negated)

    def _is(self, left: Node) -> Node:
        negated = self._accept("NOT")
        if self._accept("DISTINCT"):
            self._require("FROM")
            return self._node(Kind.IS, "DISTINCT", (left, self._expression(_COMPARE + 1)), negated)
        word = self._word
        if word not in ("NULL", "TRUE", "FALSE", "UNKNOWN"):
            raise self._unexpected("NULL, TRUE, FALSE or DISTINCT FROM")
        self._next()
        return self._node(Kind.IS, word, (left,), negated)

    def _operand(self) -> Node:
        """Parse the next operand, including leading signs."""
        kind, token, word = self._kind, self._token, self._word
        if kind == "word":
            return self._worded(word)
        if kind == "number" or kind == "hex":
            self._next()
            return Node(kind, value=token)
        if kind == "string" or kind == "quoted":
            self._next()
            return Node(kind, value=token[1:-1].replace(token[0] * 2, token[0]))
        if kind == "name":
            return self._named()
        if word == "(":
            self._open("(")
            node = self._expression(0)
            self._close(")")
            return node
        if word in ("-", "+", "~"):
            self._next()
            return self._node(Kind.OPERATOR, word, (self._expression(_NEGATED),))
        if word == "[":
            return self._array()
        raise self._unexpected("an expression")

    def _worded(self, word: str) -> Node:
        """Parse an operand that starts with an unquoted word."""
        if word == "NOT":
            self._next()
            return self._node(Kind.OPERATOR, word, (self._expression(_NOT),))
        if word == "CASE":
            return self._case()
        if word in ("TRUE", "FALSE", "NULL"):
            self._next()
            return Node(Kind.CONSTANT, value=word)
        if word in _NO_NAMES:
            raise self._unexpected("an expression")
        if word == "INTERVAL":
            return self._interval()
        return self._named()

    def _named(self) -> Node:
        """Parse a column, a call, or a literal with a type."""
        first, is_word = self._name(), self._kind == "word"
        word = first.upper() if is_word else ""
        self._next()
        if self._word == "(":
            if word in _CASTS:
                return self._cast_call()
            return self._call(first.upper())
        if self._kind == "string" and word in _TYPED:
            value = self._operand()
            return self._node(Kind.TYPED, word, (value,))
        if word == "ARRAY" and self._word == "[":
            return self._array()
        path = [first]
        while self._word == ".":
            self._next()
            path.append(self._field_name())
        if len(path) == 1 and (word.startswith(_BARE) or word == "USER"):
            return Node(Kind.CALL, word, value=first)
        if self._word == "(":
            raise self._refused(
                f"calls {'.'.join(path)[:100]!r}, but function names cannot contain dots"
            )
        return Node(Kind.COLUMN, ".".join(path), value=tuple(path))

    def _name(self) -> str:
        token = self._token
        return token if self._kind == "word" else token[1:-1].replace("``", "`")

    def _field_name(self) -> str:
        if self._kind == "quoted":
            raise self._refused(
                f"has {self._token[:100]} as a name; double quotes are for strings, so write it "
                f"as `{self._token[1:-1][:100]}`"
            )
        if self._kind not in ("word", "name"):
            raise self._unexpected("the name of a field")
        name = self._name()
        self._next()
        return name

    def _items(self, end: str, separators: frozenset[str] = frozenset()) -> list[Node]:
        """Parse expressions up to a closing bracket."""
        items: list[Node] = []
        if self._word == end:
            return items
        while True:
            run = self._run()
            items.append(run or self._expression(_COMPARE + 1 if "IN" in separators else 0))
            if self._word in separators:
                self._next()
            elif not self._accept(","):
                return items

    def _run(self) -> Node | None:
        """Parse a run of literals as a single node, which is cheaper than one node per literal."""
        if self._kind not in ("number", "string") and self._word != "-":
            return None
        match = _RUN.match(self._text, self._start)
        if match is None or match.end() <= self._at:
            return None
        self._at = match.end()
        self._next()
        return Node(Kind.VALUES, value=match[0])

    def _call(self, name: str) -> Node:
        separators = _SEPARATORS.get(name, frozenset())
        self._open("(")
        if name == "TRIM" and self._word in _SIDES:
            self._next()
            self._accept("FROM")
        if self._word == "*":
            raise self._refused(f"calls {name.lower()}(*), but aggregates are not supported")
        args = self._items(")", separators)
        if name in ("CEIL", "FLOOR") and self._accept("TO"):
            self._next()
        self._close(")")
        args = [each for item in args for each in separate(item)]
        if name == "EXTRACT" and args and args[0].kind == Kind.COLUMN:
            args[0] = Node(Kind.STRING, value=args[0].name)
        return self._node(Kind.CALL, name, args)

    def _cast_call(self) -> Node:
        self._open("(")
        inner = self._expression(0)
        self._require("AS")
        node = self._cast(inner)
        self._close(")")
        return node

    def _cast(self, inner: Node) -> Node:
        name = self._word
        if self._kind != "word" or name not in TYPES:
            raise self._refused(
                f"casts to {self._token[:100]!r}, but only these types are supported: "
                f"{', '.join(sorted(TYPES)).lower()}"
            )
        self._next()
        while self._word in _TYPE_WORDS:
            self._next()
        if self._accept("("):
            while self._kind == "number" or self._word == "-":
                self._next()
                self._accept(",")
            self._require(")")
        while self._word in _TYPE_WORDS:
            self._next()
        if name == "JSONB" and inner.kind not in (Kind.STRING, Kind.QUOTED):
            raise self._refused(
                "casts a value to JSONB that is not a string literal; write it in single quotes"
            )
        return self._node(Kind.CAST, name, (inner,))

    def _case(self) -> Node:
        self._next()
        self._deeper()
        parts = [] if self._word == "WHEN" else [self._expression(0)]
        if self._word != "WHEN":
            raise self._unexpected("WHEN")
        while self._accept("WHEN"):
            parts.append(self._expression(0))
            self._require("THEN")
            parts.append(self._expression(0))
        if self._accept("ELSE"):
            parts.append(self._expression(0))
        self._require("END")
        self._levels -= 1
        node = self._node(Kind.CASE, "CASE", parts)
        node.cases += 1
        if node.cases > MAX_CASES:
            raise self._refused(
                f"has more than {MAX_CASES} nested CASE expressions; use several WHEN clauses"
            )
        return node

    def _interval(self) -> Node:
        self._next()
        if self._kind not in ("string", "number"):
            raise self._unexpected("the length of the interval")
        value = self._operand()
        if self._word in _UNITS:
            self._next()
        return self._node(Kind.INTERVAL, "INTERVAL", (value,))

    def _array(self) -> Node:
        self._open("[")
        items = self._items("]")
        self._close("]")
        return self._node(Kind.ARRAY, "ARRAY", items)

    def _subscript(self, left: Node) -> Node:
        self._open("[")
        parts = [left] if self._word == ":" else [left, self._expression(0)]
        if self._accept(":") and self._word != "]":
            parts.append(self._expression(0))
        self._close("]")
        if len(parts) == 2 and parts[1].kind in (Kind.STRING, Kind.QUOTED):
            return self._node(Kind.FIELD, parts[1].value, (left,))
        return self._node(Kind.INDEX, "[]", parts)

    # Bounds.

    def _open(self, bracket: str) -> None:
        self._require(bracket)
        self._deeper()

    def _deeper(self) -> None:
        self._levels += 1
        if self._levels > MAX_LEVELS:
            raise self._refused(f"has more than {MAX_LEVELS} levels of brackets; simplify it")

    def _close(self, bracket: str) -> None:
        self._require(bracket)
        self._levels -= 1

    def _node(self, kind: str, name: str, args: Any, value: Any = None) -> Node:
        node = Node(kind, name, args, value)
        if node.depth > MAX_DEPTH:
            raise self._too_deep()
        return node

    def _too_deep(self) -> SqlError:
        return self._refused(
            f"has an expression with more than {MAX_DEPTH} nested operators and calls; "
            "split it with AND or OR, or compute it in steps"
        )

    def _too_connected(self) -> SqlError:
        return self._refused(
            f"has more than {MAX_CONNECTIVES} nested AND and OR; use IN (...) for many "
            "values, or several requests"
        )

    def _unexpected(self, expected: str) -> SqlError:
        found = "nothing more" if self._kind == "end" else repr(self._token[:50])
        return self._refused(f"has {found} at character {self._start + 1}; expected {expected}")

    def _refused(self, why: str) -> SqlError:
        return SqlError(why)
