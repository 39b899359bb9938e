"""The functions in Lance's SQL: which of them remote callers may use, and their maximum costs.

The names are those that pylance 14.0.2 registers; a test compares them with the running engine. The
size of a value is expressed as a constant plus a multiple of the size of its row in storage. A rule
derives the size of a function's result, and the number of its steps, from the sizes of its
arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from attrs import define, frozen

from .sql_parser import LITERALS, Kind, Node
from .sql_texts import (
    check_arrow_type,
    check_format,
    check_json_path,
    check_pattern,
    check_wkb,
    check_wkt,
)

__all__ = ["FUNCTIONS", "JSON", "NOT_ALLOWED", "Argument", "Function", "Size", "UnboundedError"]

MAX_GROWTH = 1_000
UNBOUNDED = 1 << 62


class UnboundedError(Exception):
    """Raised for a function whose cost is unbounded."""


@define
class Size:
    """Size of a value in bytes: a constant, plus a multiple of the size of its row in storage."""

    bytes: int = 0
    rows: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.bytes + other.bytes, self.rows + other.rows)

    def times(self, factor: int) -> Size:
        """Return the size of `factor` values."""
        return Size(min(self.bytes * factor, UNBOUNDED), min(self.rows * factor, UNBOUNDED))


FIXED = Size(16)
"""Size of a number, date or boolean."""


@define
class Argument:
    """An argument of a function."""

    node: Node
    size: Size

    @property
    def number(self) -> int | None:
        """The integer that the argument represents, or None for any other expression."""
        return number_of(self.node)

    @property
    def text(self) -> str | None:
        """The string that the argument represents, or None for any other expression."""
        is_text = self.node.kind in (Kind.STRING, Kind.QUOTED)
        return str(self.node.value) if is_text else None


def number_of(node: Node) -> int | None:
    """Return the integer that an expression represents, or None for any other expression."""
    if node.kind == Kind.OPERATOR and node.name == "-" and len(node.args) == 1:
        inner = number_of(node.args[0])
        return None if inner is None else -inner
    if node.kind != Kind.NUMBER or len(node.value) > 30:
        return None
    try:
        value = float(node.value.rstrip("L"))
    except ValueError:
        return None
    return int(value) if value < UNBOUNDED else None


Arguments: TypeAlias = Sequence[Argument]
Rule: TypeAlias = Callable[[Arguments], Size]
Check: TypeAlias = Callable[[Arguments], None]


def total(args: Arguments) -> Size:
    """Return the total size of all arguments."""
    found = Size()
    for each in args:
        found += each.size
    return found


def _fixed(size: int) -> Rule:
    return lambda args: Size(size)


def _times(factor: int, extra: int = 16) -> Rule:
    return lambda args: total(args).times(factor) + Size(extra)


def _first(factor: int = 1) -> Rule:
    return lambda args: (args[0].size if args else Size()).times(factor) + FIXED


def _count(args: Arguments, place: int) -> int:
    """Return the number of repetitions, which must be a literal."""
    if len(args) <= place:
        return 1
    number = args[place].number
    if number is None:
        raise UnboundedError
    return abs(number)


def _repeated(args: Arguments) -> Size:
    return args[0].size.times(max(1, _count(args, 1))) if args else FIXED


def _repeated_element(args: Arguments) -> Size:
    size = args[0].size + FIXED if args else FIXED
    return size.times(max(1, _count(args, 1)))


def _resized(args: Arguments) -> Size:
    fill = args[2].size if len(args) > 2 else Size()
    return (args[0].size if args else Size()) + (fill + FIXED).times(max(1, _count(args, 1)))


def _padded(args: Arguments) -> Size:
    size = _count(args, 1)
    if size > MAX_GROWTH:
        return Size(0, size)
    return Size(4 * size + 16)


def _series(args: Arguments) -> Size:
    if not args:
        raise UnboundedError
    most = max(_count(args, place) for place in range(len(args)))
    return Size(0, most) if most > MAX_GROWTH else Size(16 * most + 16)


def _prefix_size(args: Arguments) -> Size:
    number = args[1].number if len(args) > 1 else None
    inner = args[0].size if args else Size()
    if number is None or number < 0:
        return inner
    return Size(min(4 * number, UNBOUNDED)) if inner.rows or 4 * number < inner.bytes else inner


def _substring_size(args: Arguments) -> Size:
    """Return the size of a substring that is specified by a position and optionally a length."""
    number = args[2].number if len(args) > 2 else None
    inner = args[0].size if args else Size()
    if number is None or number < 0:
        return inner
    return Size(min(4 * number, UNBOUNDED)) if inner.rows or 4 * number < inner.bytes else inner


def _put_in(*places: int) -> Rule:
    """Return the rule for a function that repeatedly inserts one of its arguments into the
    first.
    """

    def rule(args: Arguments) -> Size:
        most = 0
        for place in places:
            if place < len(args):
                argument = args[place]
                if argument.node.kind not in LITERALS:
                    raise UnboundedError
                most = max(most, argument.size.bytes)
        inner = args[0].size if args else Size()
        return inner.times(max(1, most)) + Size(most + 16)

    return rule


def _formatted(args: Arguments) -> Size:
    text = args[1].text if len(args) > 1 else None
    return Size(32 * len(text) + 16) if text is not None else total(args).times(32) + FIXED


def _selected(args: Arguments) -> Size:
    """Return the size of the JSON that a JSON path selects."""
    text = (args[1].text if len(args) > 1 else None) or ""
    wildcards = 1 + text.count("*")
    return (args[0].size if args else Size()).times(6 * wildcards) + FIXED


@frozen(kw_only=True)
class Function:
    """The maximum cost of a function.

    Attributes:
        size: the size of its result.
        steps: number of steps per byte of its arguments.
        multiplies: whether the number of steps is the product of the sizes of its arguments.
        check: rejects arguments that crash the process or take unlimited time.
        changes: whether its result for the same arguments may vary.
        least: minimum number of arguments; with fewer, Lance panics.
    """

    size: Rule
    steps: int = 1
    multiplies: bool = False
    check: Check | None = None
    changes: bool = False
    least: int = 0


def _pattern(args: Arguments) -> None:
    if len(args) > 1:
        check_pattern(args[1].text)


def _path(args: Arguments) -> None:
    if len(args) > 1:
        check_json_path(args[1].text)


def _wkt(args: Arguments) -> None:
    if args:
        check_wkt(args[0].text)


def _wkb(args: Arguments) -> None:
    if args:
        check_wkb(args[0].node.value if args[0].node.kind == Kind.HEX else None)


def _type(args: Arguments) -> None:
    if len(args) > 1:
        check_arrow_type(args[1].text)


def _formats(args: Arguments) -> None:
    for each in args[1:]:
        check_format(each.text)


def _named(rules: dict[str, Function]) -> dict[str, Function]:
    return {name: rule for names, rule in rules.items() for name in names.split()}


def _listed(rules: dict[str, Function]) -> dict[str, Function]:
    """Return list functions under both of their names."""
    return {
        f"{kind}_{name}": rule
        for names, rule in rules.items()
        for name in names.split()
        for kind in ("array", "list")
    }


_NUMBERS = Function(size=_fixed(16))

FUNCTIONS: dict[str, Function] = {
    # Numbers, dates and conditions.
    **_named({
        "abs acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh cot degrees exp factorial "
        "floor gcd isnan iszero lcm ln log log10 log2 nanvl pi pow power radians round signum sin "
        "sinh sqrt"
        " tan tanh trunc": _NUMBERS,
        "is_valid": Function(size=_fixed(1), least=1),
        "date_bin date_part datepart date_trunc datetrunc make_date make_time to_local_time "
        "to_unixtime"
        " from_unixtime": _NUMBERS,
        "to_date to_time to_timestamp to_timestamp_micros to_timestamp_millis to_timestamp_nanos"
        " to_timestamp_seconds": Function(size=_fixed(16), steps=4, check=_formats),
        "current_date current_time current_timestamp now random rand today": Function(
            size=_fixed(16), changes=True
        ),
        "uuid": Function(size=_fixed(36), changes=True),
        "date_format to_char": Function(size=_formatted, steps=32, check=_formats),
        "coalesce greatest ifnull least nullif nvl nvl2": Function(size=_times(1)),
    }),
    # Strings and bytes.
    **_named({
        "ascii bit_length char_length character_length length octet_length contains ends_with"
        " starts_with find_in_set instr position strpos": _NUMBERS,
        "contains_tokens": Function(size=_fixed(16), steps=4),
        "lower upper initcap": Function(size=_times(2), steps=2),
        "btrim ltrim rtrim trim reverse substr_index substring_index split_part": Function(size=_first()),
        "left right": Function(size=_prefix_size),
        "substr substring": Function(size=_substring_size),
        "concat concat_ws overlay": Function(size=_times(1)),
        "translate": Function(size=_first(4), multiplies=True),
        "chr": Function(size=_fixed(4)),
        "to_hex": Function(size=_fixed(32)),
        "md5": Function(size=_fixed(32), steps=8),
        "sha224 sha256 sha384 sha512 digest": Function(size=_fixed(64), steps=8),
        "encode": Function(size=_first(2)),
        "decode": Function(size=_first()),
        "repeat": Function(size=_repeated),
        "lpad rpad": Function(size=_padded),
        "replace": Function(size=_put_in(2)),
        "string_to_array string_to_list": Function(size=_first(8), steps=2),
        "levenshtein": Function(size=_fixed(16), multiplies=True),
        "regexp_count regexp_instr regexp_like": Function(size=_fixed(16), steps=4, check=_pattern),
        "regexp_match": Function(size=_first(8), steps=4, check=_pattern),
        "regexp_replace": Function(size=_put_in(2), steps=4, check=_pattern),
    }),
    # Lists, structures and maps.
    **_named({
        "cardinality empty": _NUMBERS,
        "element_at flatten map_entries map_extract map_keys map_values": Function(size=_first(2)),
        "get_field": Function(size=_first(), least=2),
        "make_array make_list make_map map named_struct row struct": Function(size=_times(2)),
        "array_min": Function(size=_first()),
        "arrays_overlap": Function(size=_fixed(16), multiplies=True),
        "arrays_zip list_zip": Function(size=_times(4)),
        "cosine_distance dot_product inner_product array_distance list_distance": Function(size=_fixed(16)),
        "generate_series range": Function(size=_series),
    }),
    **_listed({
        "dims length ndims empty max any_value": Function(size=_times(1)),
        "append cat concat prepend push_back push_front": Function(size=_times(1)),
        "compact element extract pop_back pop_front reverse slice normalize": Function(size=_first(2)),
        "distinct sort": Function(size=_first(2), steps=16),
        "contains has indexof position positions remove remove_all remove_n": Function(size=_first(2)),
        "except intersect union": Function(size=_times(2), steps=16),
        "has_all has_any": Function(size=_fixed(16), multiplies=True),
        "repeat": Function(size=_repeated_element),
        "resize": Function(size=_resized),
        "join to_string": Function(size=_put_in(1, 2)),
        "replace replace_all replace_n": Function(size=_put_in(2)),
    }),
    # Types.
    **_named({
        "arrow_cast arrow_try_cast": Function(size=_first(2), check=_type),
        "arrow_typeof": Function(size=_fixed(1_000)),
    }),
    # JSON columns; `sql` ensures that the first argument is one.
    **_named({
        "json_array_contains json_array_length json_exists": Function(
            size=_fixed(16), steps=8, check=_path
        ),
        "json_extract json_extract_with_type": Function(size=_selected, steps=8, check=_path),
        "json_get": Function(size=_first(), steps=2),
        "json_get_bool json_get_float json_get_int": Function(size=_fixed(16), steps=2),
        "json_get_string": Function(size=_first(6), steps=2),
    }),
    # Geometries.
    **_named({
        "st_geomfromtext": Function(size=_first(4), steps=4, check=_wkt),
        "st_geomfromwkb": Function(size=_first(4), steps=4, check=_wkb),
        "st_point st_pointz st_pointm st_pointzm st_makepoint st_makepointm": Function(size=_fixed(64)),
        "st_x st_y st_z st_m": _NUMBERS,
        "st_area st_length st_distance st_coorddim st_ndims st_npoints st_numpoints st_isempty"
        " st_geometrytype geometrytype st_xmin st_xmax st_ymin st_ymax st_zmin st_zmax": Function(
            size=_fixed(64), steps=16, multiplies=True
        ),
        "st_contains st_coveredby st_covers st_crosses st_disjoint st_equals st_intersects "
        "st_overlaps"
        " st_touches st_within": Function(size=_fixed(16), steps=16, multiplies=True),
        "st_astext": Function(size=_first(8), steps=8),
        "st_asbinary st_startpoint st_endpoint": Function(size=_first(4), steps=4),
        "st_centroid": Function(size=_fixed(64), steps=4),
    }),
}  # fmt: skip
"""Functions that remote callers may use."""

JSON = frozenset(name for name in FUNCTIONS if name.startswith("json_"))
"""Functions whose first argument is binary JSON, which Lance parses recursively."""

NOT_ALLOWED: dict[str, str] = {
    **dict.fromkeys(
        ["approx_distinct", "approx_median", "approx_percentile_cont",
         "approx_percentile_cont_with_weight", "array_agg", "avg", "bit_and", "bit_or",
         "bit_xor", "bool_and", "bool_or", "corr", "count", "covar", "covar_pop", "covar_samp",
         "first_value", "grouping", "last_value", "max", "mean", "median", "min", "nth_value",
         "percentile_cont", "quantile_cont", "regr_avgx", "regr_avgy", "regr_count",
         "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy",
         "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum", "var",
         "var_pop", "var_population", "var_samp", "var_sample", "unnest", "st_extent"],
        "it aggregates several rows",
    ),
    **dict.fromkeys(
        ["any_match", "array_any_match", "list_any_match", "array_filter", "list_filter",
         "array_transform", "list_transform"],
        "it needs a function as an argument",
    ),
    **dict.fromkeys(
        ["_cast_list_f16", "arrow_field", "arrow_metadata", "with_metadata", "cast_to_type",
         "try_cast_to_type", "union_extract", "union_tag", "version"],
        "the size of its result is unknown",
    ),
    **dict.fromkeys(
        ["box2d", "box3d", "st_box2dfromgeohash", "st_convexhull", "st_dump", "st_geohash",
         "st_isclosed", "st_isvalid", "st_length2d", "st_makebox2d", "st_numinteriorring",
         "st_numinteriorrings", "st_orientedenvelope", "st_pointfromgeohash",
         "st_pointonsurface", "st_simplify", "st_simplifypreservetopology", "st_simplifyvw"],
        "its duration may grow with the square of a geometry's size",
    ),
}  # fmt: skip
"""Functions that remote callers may use only if the operator allows them, each with the reason."""
