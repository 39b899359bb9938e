"""Runs SQL expressions on pylance in a child process, whose death is reported as a failure.

This module, run as a script, is that child: it reads one expression as JSON from each line of its
input, checks it, runs it if the check accepts it, and writes the outcome.
"""

from __future__ import annotations

import json
import random
import re
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, Self

SECONDS = 60
"""Limit of CPU time per expression; about twenty times the longest time observed."""
ADDRESS_BYTES = 12 << 30
GROWTH_BYTES = 1 << 30
"""Limit of memory that one expression may add to the child's peak memory use."""
LEVELS = 30_000


class DiedError(AssertionError):
    """The child exited or used too much memory."""


class Engine:
    """A child process that runs expressions; it is restarted if it dies."""

    def __init__(self) -> None:
        self._child = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.wait()

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, text: str, *, remote: bool = True, table: str = "usual") -> Mapping[str, Any]:
        """Return the outcome: rejected, failed or completed, with the time and memory used.

        Raises:
            DiedError: the child died, took too long, or used too much memory.
        """
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps([text, remote, table]) + "\n")
            self._child.stdin.flush()
            line = self._child.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            found: Mapping[str, Any] = json.loads(line)
            if found["grown"] <= GROWTH_BYTES:
                return found
            status = f"used {found['grown']:,} bytes"
        else:
            status = f"ended with {self._child.wait()}"
        self._child.kill()
        self._child.wait()
        self._child = self._start()
        raise DiedError(f"{status}: {text[:300]!r} ({len(text):,} characters, {remote=}, {table=})")


def hostile() -> Iterator[str]:
    """Yield texts that make recursive parsers recurse deeply, and very long texts."""
    for opening, closing in (
        ("(", ")"), ("[", "]"), ("{", "}"), ('{"a":', "1}"), ("List(", ")"), ("$[", "]"),
        ("GEOMETRYCOLLECTION(", ")"), ("(?:", ")"), ("$.a ? (", ")"), ("-", ""), (".**", ""),
    ):  # fmt: skip
        yield opening * LEVELS + closing * LEVELS
    yield "x" * 1_000_000
    yield "$" + "[*]" * 300_000
    yield "a{1000}" * 100_000
    yield "FixedSizeList(100000000, Int64)"
    yield "%Y" * 500_000


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_COLUMNS = ("a", "f", "s", "t", "b", "ts", "l", "ls", "st", "st.x", "j", "bin", "m", "v", "p", "d")
_LITERALS = (
    "1", "0", "-1", "3", "100", "1000", "1.5", "'x'", "''", "'é'", "'day'", "'hex'", "'base64'", "'%Y-%m'",
    "'$.a'", "'$.**'", "'a'", "true", "NULL", "date '2020-01-01'", "timestamp '2020-01-01 00:00:00'",
    "'Int32'", "'sha256'", "'POINT(1 2)'", "interval '1 day'", "'g'", "'[a-z]+'", "'UTC'", "x'0101'",
)  # fmt: skip
_WORDS = ("AND", "OR", "LIKE", "ILIKE")
_BINARY = ("+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=", *_WORDS, "<<", "&")
_DECIMAL = "decimal(10,2)"
_TYPES = ("int", "bigint", "double", "string", "boolean", "date", "timestamp", "binary", _DECIMAL)


# Templates of expressions by the type of their value: N a number, T a text, B a condition, L a list,
# D a time; c is a small number, w a text, e a pattern, o a path.
_TEMPLATES = {
    "N": "a;f;st.x;c;N + N;N - N;N * N;N / N;N % N;-N;abs(N);round(N, c);power(N, c);sqrt(N);floor(N);"
    "trunc(N);signum(N);ln(N);log(c, N);atan2(N, N);nanvl(f, N);gcd(a, c);lcm(a, c);factorial(c);length(T);"
    "character_length(T);bit_length(T);octet_length(T);ascii(T);strpos(T, T);instr(T, w);find_in_set(T, w);"
    "levenshtein(T, w);levenshtein(left(T, c), left(T, c));date_part('day', D);to_unixtime(D);"
    "extract(hour from D);array_length(L);cardinality(L);array_position(L, N);array_max(L);L[c];"
    "array_min(L);regexp_count(T, e);regexp_instr(T, e);json_get_int(j, w);json_array_length(j, o);"
    "json_get_float(j, w);coalesce(N, N);nullif(N, N);greatest(N, N);least(N, N);CAST(N AS double);"
    "coalesce(CASE WHEN B THEN N ELSE N END);try_cast(T AS bigint);arrow_cast(N, 'Float32');nvl2(N, N, N);"
    "cosine_distance(v, v);array_distance(v, v);st_x(p);st_area(p);st_distance(p, st_point(1.0, 2.0));"
    "get_field(st, 'x');named_struct('k', N)['k'];position(w in T);random();array_ndims(L);chr(c)",
    "T": "s;t;w;lower(T);upper(T);initcap(T);btrim(T);ltrim(T, w);rtrim(T);trim(both 'x' from T);"
    "reverse(T);md5(T);concat(T, T);concat_ws(w, T, T);left(T, c);right(T, c);lpad(T, c, T);rpad(T, c);"
    "repeat(T, c);replace(T, w, w);split_part(T, w, c);substr(T, c, c);substring(T from c for c);"
    "translate(T, w, w);encode(T, 'hex');encode(T, 'base64');regexp_replace(T, e, w, 'g');to_hex(a);"
    "to_char(D, '%Y-%m-%d');date_format(D, '%c');json_extract(j, o);json_get_string(j, w);"
    "array_to_string(L, w);overlay(T placing w from c);coalesce(T, T);nullif(T, T);greatest(T, T);"
    "CAST(N AS string);CAST(D AS string);arrow_cast(T, 'LargeUtf8');T || T;substr_index(T, w, c);"
    "coalesce(CASE WHEN B THEN T WHEN B THEN T END);arrow_typeof(T);ls[c];uuid();array_element(ls, c);"
    "array_to_string(string_to_array(T, w), w);array_to_string(array_repeat(T, c), w);st_astext(p);"
    "array_to_string(regexp_match(T, e), w);json_extract(json_get(j, w), o);coalesce(D, D)::string",
    "B": "b;N = N;N < N;T = T;T <> T;T LIKE w;T ILIKE '%e%';T NOT LIKE T;N IN (1, 2, c);T IN (w, T);"
    "N BETWEEN N AND N;T IS NULL;B IS TRUE;NOT B;B AND B;B OR B;contains(T, T);starts_with(T, w);"
    "ends_with(T, T);regexp_like(T, e);array_has(L, N);array_has_any(L, [1, 2]);array_has_all(L, [c]);"
    "json_exists(j, o);json_array_contains(j, o, w);D > D;D > timestamp '2021-01-01 00:00:00';L = L;"
    "arrays_overlap(L, [c, 2]);isnan(f);iszero(N);array_empty(L);contains_tokens(T, w);is_valid(T);"
    "st_intersects(p, st_geomfromtext('POLYGON((0 0, 9 0, 9 9, 0 0))'));json_get_bool(j, w);"
    "N IS DISTINCT FROM N;coalesce(B, B)",
    "L": "l;[1, 2, c];make_array(N, N);array_append(L, N);array_concat(L, L);array_distinct(L);array_sort(L);"
    "array_reverse(L);array_slice(L, c, c);array_remove(L, N);array_repeat(N, c);array_resize(L, c, a);"
    "array_union(L, L);array_intersect(L, L);array_except(L, L);range(0, c);range(c, 0, -1);"
    "generate_series(1, c);array_replace(L, N, c);array_pop_back(L);array_prepend(N, L);coalesce(L, L);"
    "array_positions(L, N);flatten(make_array(L, L));array_replace_all(L, N, c);coalesce(L[c:c])",
    "D": "ts;now();date_trunc('month', D);date_bin(interval '1 day', D);to_timestamp(w);CAST(d AS timestamp);"
    "coalesce(D + interval '1 day');to_timestamp_millis(a);CAST(T AS timestamp);coalesce(D, D);"
    "coalesce(D AT TIME ZONE 'Europe/Berlin');to_local_time(D);make_date(2020, c, c)",
}  # fmt: skip
_SMALL = {
    "c": ("0", "1", "2", "3", "7", "12", "100", "1000", "-1", "1001"),
    "w": ("'x'", "''", "'a'", "'word'", "' '", "'é'", "'%o%'", "'_ext'", "'" + "y" * 300 + "'"),
    "e": ("'[a-z]+'", "'(\\w+) (\\d+)'", "'x*'", "'(a|b)*c'", "'.{0,200}'", "'(.*)(.*)(.*)x'", "'^$'"),
    "o": ("'$.a'", "'$'", "'$.a[*]'", "'$.**'", "'$.a[1].b'", "'$.a ? (@.b == \"x\")'", "'$.*'"),
}  # fmt: skip
_TYPED = {kind: templates.split(";") for kind, templates in _TEMPLATES.items()}
_PLACE = re.compile(r"\b[NTBLDcweo]\b(?!')")


class Expressions:
    """Random expressions of the dialect, some of them hostile."""

    def __init__(self, seed: int, functions: list[str]) -> None:
        self.random = random.Random(seed)
        self._functions = functions
        self._hostile = [literal(text) for text in hostile()]

    def next(self) -> str:
        """Return an expression."""
        choice = self.random.random()
        if self.random.random() < 0.25:
            text = self._expression(self.random.randint(1, 6))
        else:
            text = self._typed(self.random.choice("NTBLD"), self.random.randint(1, 5))
        if choice < 0.08:
            return text.replace(self.random.choice(_LITERALS), self.random.choice(self._hostile), 1)
        if choice < 0.14:
            return self._mangled(text)
        if choice < 0.18:
            times = self.random.choice((10, 100, 127, 1000, 30_000))
            opening, closing = self.random.choice(
                (("(", ")"), ("NOT ", ""), ("-", ""), ("", "::string"), ("upper(", ")"), ("[", "]"),
                 ("CASE WHEN ", " THEN true END"), ("", " IS NULL"), ("coalesce(", ", 1)"),
                 ("encode(", ", 'hex')"), ("concat(s, ", ")"), ("repeat(", ", 2)"))
            )  # fmt: skip
            return opening * times + text + closing * times
        if choice < 0.20:
            joint = self.random.choice((" AND ", " OR ", " + ", " || ", ", "))
            return joint.join([text] * self.random.choice((10, 100, 5000)))
        return text

    def _mangled(self, text: str) -> str:
        at = self.random.randrange(len(text) + 1)
        piece = self.random.choice(
            ("(", ")", "'", '"', "`", "--", "/*", "*/", ",", "[", "]", ";", "\\", "\0", "\r", "é", "$1", "::",
             "NOT ", "CASE ", " BETWEEN ", "N'x'", "E'x'", "interval ", "->", "x -> x", "{", "ARRAY")
        )  # fmt: skip
        cut = self.random.choice((0, 0, 1, 5))
        return text[:at] + piece + text[at + cut :]

    def _typed(self, kind: str, levels: int) -> str:
        """Return an expression whose operands have the types that its template requires."""
        if kind in _SMALL:
            return self.random.choice(_SMALL[kind])
        template = _TYPED[kind][0] if levels <= 0 else self.random.choice(_TYPED[kind])
        return _PLACE.sub(lambda place: self._typed(place[0], levels - 1), template)

    def _expression(self, levels: int) -> str:
        pick = self.random
        if levels <= 0 or pick.random() < 0.12:
            return pick.choice(_COLUMNS) if pick.random() < 0.6 else pick.choice(_LITERALS)
        inner = [self._expression(levels - 1) for _ in range(pick.randint(1, 3))]
        kind = pick.random()
        if kind < 0.55:
            return f"{pick.choice(self._functions)}({', '.join(inner)})"
        if kind < 0.75:
            return f"({inner[0]} {pick.choice(_BINARY)} {inner[-1]})"
        if kind < 0.80:
            return f"CAST({inner[0]} AS {pick.choice(_TYPES)})"
        if kind < 0.84:
            return f"coalesce(CASE WHEN {inner[0]} THEN {inner[-1]} ELSE {inner[0]} END)"
        if kind < 0.88:
            return f"({inner[0]} IN ({', '.join(inner)}))"
        if kind < 0.91:
            return f"({inner[0]} BETWEEN {inner[-1]} AND {inner[0]})"
        if kind < 0.94:
            return f"[{', '.join(inner)}]"
        if kind < 0.97:
            return f"{inner[0]}[{inner[-1]}]"
        return f"({inner[0]} IS NOT NULL)"


def calls(name: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of a table and a function call that has a hostile value in one argument."""
    columns = dict.fromkeys(EVIL, "evil")
    literals = dict.fromkeys(map(literal, hostile()), "usual")
    for value, table in {**literals, **columns}.items():
        fills = _FILLS[table]
        for count in (1, 2, 3):
            for at in range(count):
                for fill in fills[: 1 if count == 1 else None]:
                    args = [fill[place % 2] for place in range(count)]
                    args[at] = value
                    yield table, f"{name}({', '.join(args)})"
    yield "usual", f"{name}(" * LEVELS + "s" + ")" * LEVELS


_FILLS = {"usual": (("s", "'$.a'"), ("l", "1")), "evil": (("'x'", "1"), ("'$.a'", "'hex'"))}


def _deep_jsonb(levels: int) -> bytes:
    """Return nested lists in Lance's binary JSON, deeper than any encoder would write them."""
    parts, length = [], 4
    for _ in range(levels):
        parts.append(struct.pack(">II", 0x80000001, 0x50000000 | (length & 0x0FFFFFFF)))
        length += 8
    return b"".join(reversed(parts)) + struct.pack(">I", 0x80000000)


def _tables() -> dict[str, Any]:
    import datetime

    import pyarrow as pa

    def of(name: str, values: list[Any], kind: pa.DataType, extension: str = "") -> tuple[Any, Any]:
        metadata = {"ARROW:extension:name": extension} if extension else None
        return pa.field(name, kind, metadata=metadata), pa.array(values, kind)

    def table(*columns: tuple[Any, Any]) -> pa.Table:
        return pa.table([c for _, c in columns], schema=pa.schema([f for f, _ in columns]))

    count = 20_000
    when = datetime.datetime(2020, 1, 1, tzinfo=None)
    doubles = pa.struct([("x", pa.float64()), ("y", pa.float64())])
    usual = table(
        of("a", list(range(count)), pa.int64()),
        of("f", [i / 7 for i in range(count)], pa.float64()),
        of("s", [f"text {i} é {'word ' * (i % 9)}" for i in range(count)], pa.string()),
        of("t", [f"{i % 100}" for i in range(count)], pa.string()),
        of("b", [i % 2 == 0 for i in range(count)], pa.bool_()),
        of("ts", [when + datetime.timedelta(hours=i) for i in range(count)], pa.timestamp("us")),
        of("l", [[i, i + 1] for i in range(count)], pa.list_(pa.int64())),
        of("ls", [["x", f"{i}"] for i in range(count)], pa.list_(pa.string())),
        of("st", [{"x": i, "y": 1.5} for i in range(count)],
           pa.struct([("x", pa.int64()), ("y", pa.float64())])),
        of("j", ['{"a": [1, {"b": "x"}]}'] * count, pa.json_()),
        of("bin", [b"\x01\x01"] * count, pa.binary()),
        of("m", [[("k", i)] for i in range(count)], pa.map_(pa.string(), pa.int64())),
        of("v", [[1.0, 2.0]] * count, pa.list_(pa.float32(), 2)),
        of("p", [{"x": 1.0, "y": 2.0}] * count, doubles, "geoarrow.point"),
        of("d", [i % 1000 for i in range(count)], pa.date32()),
    )  # fmt: skip
    wkt = "GEOMETRYCOLLECTION(" * LEVELS + "POINT(1 2)" + ")" * LEVELS
    wkb = struct.pack("<BII", 1, 7, 1) * LEVELS + struct.pack("<BIdd", 1, 1, 1.0, 2.0)
    evil = table(
        of("long", ["x" * 1_000_000], pa.string()),
        of("wkt", [wkt], pa.string()),
        of("gt", [wkt], pa.string(), "geoarrow.wkt"),
        of("wkb", [wkb], pa.binary()),
        of("gw", [wkb], pa.binary(), "geoarrow.wkb"),
        of("jsonb", [_deep_jsonb(LEVELS)], pa.large_binary()),
        of("path", ["$" + "[" * LEVELS + "]" * LEVELS], pa.string()),
        of("kind", ["List(" * LEVELS + "Int64" + ")" * LEVELS], pa.string()),
        of("st", [{"g": wkb, "s": wkt}], pa.struct(
            [pa.field("g", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"}),
             ("s", pa.string())])),
    )  # fmt: skip
    return {"usual": usual, "evil": evil}


EVIL = ("long", "wkt", "gt", "wkb", "gw", "jsonb", "path", "kind", "st.g", "st.s", "st")
"""Columns of the table `evil`."""


def _serve() -> None:
    import tempfile

    import lance

    from lance_namespace_client.errors import InvalidInputError
    from lance_namespace_impls.core.confinement import Confinement, confined
    from lance_namespace_impls.tables.sql import SqlCheck

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
    with tempfile.TemporaryDirectory() as folder:
        datasets = {
            name: lance.write_dataset(rows, f"{folder}/{name}") for name, rows in _tables().items()
        }
        for line in sys.stdin:
            text, remote, name = json.loads(line)
            dataset = datasets[name]
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            started = time.process_time()
            with confined(Confinement(functions=frozenset() if remote else None)):
                check = SqlCheck(dataset.schema)
            try:
                check.value(text, "the column")
                check.condition(text, "the filter")
            except InvalidInputError as error:
                outcome, why = "rejected", error.message[:300]
                checked = time.process_time() - started
            else:
                outcome, why = "completed", ""
                checked = time.process_time() - started
                first = dataset.schema.names[0]
                is_there = f"({text}\n) IS NOT NULL"
                for wanted in ({"columns": {"z": text, first: first}}, {"filter": is_there}):
                    try:
                        for _ in dataset.scanner(**wanted).to_batches():
                            pass
                    except Exception as error:  # noqa: BLE001 - any error is an answer
                        outcome, why = "failed", str(error)[:300]
                    if "aborted" in why or "panic" in why:
                        raise SystemExit(f"{text}: {why}")
            found = {
                "outcome": outcome,
                "why": why,
                "checked": checked,
                "seconds": time.process_time() - started,
                "grown": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024,
            }
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    _serve()
