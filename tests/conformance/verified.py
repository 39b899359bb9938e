"""Protocol deviations of pylance's REST server, verified by hand.

Each is a script of plain HTTP requests whose last response violates a rule.
``python -m tests.conformance.verified`` writes ``docs/conformance/verified.md``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pyarrow as pa
from attrs import field, frozen

from lance_namespace_impls.conformance.requirement import CHECKS
from lance_namespace_impls.conformance.rows import people, stream
from lance_namespace_impls.conformance.scenarios import load_all

__all__ = ["VERIFIED", "Deviation", "Send", "page"]

PAGE = Path(__file__).parents[2] / "docs" / "conformance" / "verified.md"
HEAD = """# Verified deviations

Deviations of pylance's REST server (`RestAdapter`, with a manifest) from the protocol. Each was checked by
hand and has the rule, a minimal script, and the expected and actual results. `$URI` is the server's address.
The scripts use these Arrow IPC streams: `people.arrow` has three rows with the columns `id` (1, 2, 3),
`name`, `score` and `vec`; `more.arrow` one row with the `id` 4; `no-rows.arrow` only the schema;
`other.arrow` one row with another column; `pairs.arrow` two rows with `a` (1, 2) and `b` (10, 20). A test
runs each script against the installed pylance, so a deviation is removed from this page when it is fixed.
"""


@frozen
class Send:
    """One request of a script."""

    path: str
    body: dict[str, Any] | bytes | None = None
    query: dict[str, Any] = field(factory=dict)
    method: str = "POST"

    def to(self, client: httpx.Client) -> httpx.Response:
        """Send the request."""
        if isinstance(self.body, bytes):
            kind = (
                "application/vnd.apache.arrow.stream" if self.body in FILES else "application/json"
            )
            return client.request(self.method, self.path, params=self.query, content=self.body,
                                  headers={"Content-Type": kind})  # fmt: skip
        return client.request(self.method, self.path, params=self.query, json=self.body)

    def as_curl(self) -> str:
        """Return the request as a curl command."""
        query = f"?{urlencode(self.query)}" if self.query else ""
        start = f"curl -X {self.method} '$URI{self.path}{query}'".replace("'$URI", '"$URI"\'')
        if self.body is None:
            return start
        if isinstance(self.body, bytes) and self.body in FILES:
            return f"{start} --data-binary @{FILES[self.body]} -H 'Content-Type: {_ARROW}'"
        text = self.body.decode() if isinstance(self.body, bytes) else json.dumps(self.body)
        return f"{start} -H 'Content-Type: application/json' -d {_quoted(text)}"


_ARROW = "application/vnd.apache.arrow.stream"
PEOPLE, MORE = stream(people(1, 2, 3)), stream(people(4))
OTHER = stream(pa.table({"elsewhere": [1]}))
PAIRS = stream(pa.table({"a": [1, 2], "b": [10, 20]}))
EMPTY = stream(people(1).slice(0, 0))
FILES = {
    PEOPLE: "people.arrow",
    MORE: "more.arrow",
    OTHER: "other.arrow",
    EMPTY: "no-rows.arrow",
    PAIRS: "pairs.arrow",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@frozen
class Deviation:
    """A deviation of the server from the protocol."""

    check: str
    due: str
    """The expected last response."""
    source: str
    script: tuple[Send, ...]
    found: Callable[[httpx.Response], bool]
    """Return whether the last response shows the deviation."""
    got: str
    """The actual last response."""

    @property
    def name(self) -> str:
        """Its check and the path of its last request, which identify the deviation."""
        return f"{self.check} {self.script[-1].path}"


def _code(code: int) -> Callable[[httpx.Response], bool]:
    return lambda answer: answer.status_code >= 400 and answer.json().get("code") == code


def _is(value: Any) -> Callable[[httpx.Response], bool]:
    return lambda answer: answer.status_code == 200 and answer.json() == value


def _succeeds(answer: httpx.Response) -> bool:
    return answer.status_code == 200


def _has(**due: Any) -> Callable[[httpx.Response], bool]:
    return lambda answer: answer.status_code == 200 and due.items() <= answer.json().items()


def _rows(number: int) -> Callable[[httpx.Response], bool]:
    return lambda answer: pa.ipc.open_file(answer.content).read_all().num_rows == number


_MADE = Send("/v1/table/t/create", PEOPLE)
_SPACE = Send("/v1/namespace/n/create", {})
_MADE_BELOW = Send("/v1/table/n$t/create", PEOPLE)
_FULL = {"load_detailed_metadata": True}
_ADDED = Send("/v1/table/t/insert", MORE)
_COUNT = Send("/v1/table/t/count_rows", {})
_ERRORS = 'protocol semantics, "Errors"'
_MODES = 'protocol semantics, "Modes"'
_PAGES = 'protocol semantics, "Paging"'
_SEARCH = {"vector": {"single_vector": [3.1, 0.0]}, "vector_column": "vec"}

VERIFIED = (
    Deviation(
        "LN-LIST-NAMESPACES-005",
        "404 with code 1",
        f"{_ERRORS}: ListNamespaces",
        (_SPACE, Send("/v1/namespace/none/list", method="GET")),
        _has(namespaces=[]),
        "200 with an empty list",
    ),
    Deviation(
        "LN-LIST-TABLES-005",
        "404 with code 1",
        f"{_ERRORS}: ListTables",
        (_SPACE, Send("/v1/namespace/none/table/list", method="GET")),
        _has(tables=[]),
        "200 with an empty list",
    ),
    Deviation(
        "LN-LIST-ALL-001",
        "the identifier of every table",
        "protocol semantics: ListAllTables returns full string identifiers",
        (
            Send("/v1/namespace/n/create", {}),
            Send("/v1/table/n$t/create", PEOPLE),
            Send("/v1/table", method="GET"),
        ),
        _has(tables=[]),
        "200 with an empty list",
    ),
    Deviation(
        "LN-NAMESPACE-CREATE-013",
        "400 with code 13, and no namespace",
        f"{_MODES}: an unknown mode",
        (Send("/v1/namespace/n/create", {"mode": "sometimes"}),),
        _succeeds,
        "200",
    ),
    Deviation(
        "LN-NAMESPACE-DROP-008",
        "400 with code 13, and the namespace stays",
        f"{_MODES}: an unknown mode",
        (Send("/v1/namespace/n/create", {}), Send("/v1/namespace/n/drop", {"mode": "sometimes"})),
        _succeeds,
        "200, and the namespace is dropped",
    ),
    Deviation(
        "LN-NAMESPACE-DROP-009",
        "400 with code 13, and the namespace stays",
        f"{_MODES}: behavior is Restrict or Cascade",
        (Send("/v1/namespace/n/create", {}), Send("/v1/namespace/n/drop", {"behavior": "gently"})),
        _succeeds,
        "200, and the namespace is dropped",
    ),
    Deviation(
        "LN-TABLE-DESCRIBE-009",
        "404 with code 11",
        f"{_ERRORS}: DescribeTable",
        (_SPACE, _MADE_BELOW, Send("/v1/table/n$t/describe", {"version": 999, **_FULL})),
        _code(18),
        "500 with code 18",
    ),
    Deviation(
        "LN-TABLE-DESCRIBE-010",
        "400 with code 13",
        "protocol semantics, DescribeTable: at most one of version, tag and branch",
        (_MADE, Send("/v1/table/t/describe", {"version": 1, "tag": "x"})),
        _succeeds,
        "200",
    ),
    Deviation(
        "LN-TABLE-CREATE-010",
        "400 with code 13",
        f"{_ERRORS}: code 13 is invalid input",
        (Send("/v1/table/t/create", b"no stream"),),
        _code(18),
        "500 with code 18",
    ),
    Deviation(
        "LN-TABLE-CREATE-012",
        "200, and a table without rows",
        "protocol semantics: the body is an Arrow IPC stream; one of a schema alone is one",
        (Send("/v1/table/t/create", EMPTY),),
        _code(18),
        "500 with code 18",
    ),
    Deviation(
        "LN-ROWS-INSERT-006",
        "400 with code 20",
        f"{_ERRORS}: InsertIntoTable, TableSchemaValidationError",
        (_MADE, Send("/v1/table/t/insert", OTHER)),
        _code(18),
        "500 with code 18",
    ),
    Deviation(
        "LN-ROWS-MERGE-001",
        "3 rows: unmatched rows are not inserted",
        "rest.yaml: when_not_matched_insert_all is false by default",
        (
            _MADE,
            Send("/v1/table/t/merge_insert", MORE, {"on": "id", "when_matched_update_all": "true"}),
            _COUNT,
        ),
        _is(4),
        "4 rows",
    ),
    Deviation(
        "LN-VERSION-004",
        "a page token, since versions are left",
        f"{_PAGES}: walking pages yields each",
        (_MADE, _ADDED, _ADDED, Send("/v1/table/t/version/list", {}, {"limit": 2})),
        lambda a: len(a.json()["versions"]) == 2 and not a.json().get("page_token"),
        "two of three versions, and no token",
    ),
    Deviation(
        "LN-VERSION-009",
        "404 with code 11",
        f"{_ERRORS}: RestoreTable",
        (_MADE, Send("/v1/table/t/restore", {"version": 999})),
        _code(18),
        "500 with code 18",
    ),
    Deviation(
        "LN-BRANCH-003",
        "3 rows: the row is on the branch",
        "rest.yaml: InsertIntoTable takes a branch",
        (
            _MADE,
            Send("/v1/table/t/branches/create", {"name": "side"}),
            Send("/v1/table/t/insert", MORE, {"branch": "side"}),
            _COUNT,
        ),
        _is(4),
        "4 rows",
    ),
    Deviation(
        "LN-COUNT-005",
        "400 with code 13",
        f"{_ERRORS}: code 13 is invalid input",
        (_MADE, Send("/v1/table/t/count_rows", {"predicate": "id >>> (("})),
        _code(18),
        "500 with code 18",
    ),
    Deviation(
        "LN-QUERY-012",
        "400 with code 13",
        f"{_ERRORS}: code 13 is invalid input",
        (_MADE, Send("/v1/table/t/query", {"vector": {}, "k": 1, "filter": "id >>> (("})),
        _code(18),
        "500 with code 18",
    ),
    Deviation(
        "LN-SQL-006",
        "no row whose values are the same: they are swapped",
        "SQL: expressions see the old values",
        (
            Send("/v1/table/t/create", PAIRS),
            Send("/v1/table/t/update", {"updates": [["a", "b"], ["b", "a"]]}),
            Send("/v1/table/t/count_rows", {"predicate": "a = b"}),
        ),
        _is(2),
        "2 rows: the second expression saw the first's value",
    ),
    Deviation(
        "LN-SEARCH-001",
        "2 rows, the second and third nearest",
        "rest.yaml, QueryTableRequest: offset rows are skipped, then at most k come",
        (_MADE, Send("/v1/table/t/query", {**_SEARCH, "k": 2, "offset": 1})),
        _rows(1),
        "1 row",
    ),
    Deviation(
        "LN-COLUMN-004",
        "404 with code 12, or 400 with code 13",
        f"{_ERRORS}: AlterTableDropColumns",
        (_MADE, Send("/v1/table/t/drop_columns", {"columns": ["nothing"]})),
        _code(18),
        "500 with code 18",
    ),
    Deviation(
        "LN-COLUMN-002",
        "400 with code 20",
        f"{_ERRORS}: AlterTableAddColumns",
        (
            _MADE,
            Send("/v1/table/t/add_columns", {"new_columns": [{"name": "name", "expression": "1"}]}),
        ),
        _code(18),
        "500 with code 18",
    ),
    Deviation(
        "LN-STORAGE-003",
        "num_rows is 2",
        "rest.yaml, GetTableStatsResponse: the number of rows",
        (_MADE, Send("/v1/table/t/delete", {"predicate": "id = 2"}), Send("/v1/table/t/stats", {})),
        _has(num_rows=3),
        "num_rows is 3, including the deleted row",
    ),
    Deviation(
        "LN-WIRE-BODY-002",
        "400 with code 13",
        "protocol semantics: the body is JSON",
        (_MADE, Send("/v1/table/t/describe", b"{} and more")),
        _succeeds,
        "200",
    ),
    Deviation(
        "LN-VERSION-015",
        "404 with code 11",
        "Lance counts versions from 1",
        (_SPACE, _MADE_BELOW, Send("/v1/table/n$t/describe", {"version": 0, **_FULL})),
        _code(18),
        "500 with code 18",
    ),
)


def page() -> str:
    """Return the page in Markdown."""
    load_all()
    parts = [HEAD]
    for number, row in enumerate(VERIFIED, 1):
        script = "\n".join(send.as_curl() for send in row.script)
        parts.append(
            f"## {number}. {CHECKS[row.check].requirement}\n\n"
            f"{row.check}. Source: {row.source}.\n\n<!-- not run: another test sends it to pylance -->\n"
            f"```sh\n{script}\n```\n\n"
            f"Expected: {row.due}. Actual: {row.got}.\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
