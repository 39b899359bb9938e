"""Scripts of calls as JSON, Python and curl: each makes the calls that the kit made."""

from __future__ import annotations

import base64
import shlex
import subprocess
import sys
from typing import Any

from lance_namespace_impls.conformance.exchange import Exchange, Reply, Step, shown_body
from lance_namespace_impls.conformance.scripts import (
    Script,
    as_curl,
    as_json,
    as_python,
    exchange_text,
    one_line,
)
from tests.server.wire import ipc

RAW: dict[str, Any] = {
    "method": "PUT", "path": "/v1/../table", "query": {"a": ["b", "c d"]}, "content": None,
    "headers": {"X-A": "it's"},
}  # fmt: skip
STEPS = [
    Step("CreateNamespace", {"id": ["n"]}),
    Step("CreateTable", {"id": ["n", "t"]}, ipc(2)),
    Step("CountTableRows", {"id": ["n", "t"]}),
    Step("DropNamespace", {"id": ["n"]}),
    Step("", {}, raw=RAW),
]


def test_scripts_round_trip_through_json() -> None:
    script = Script.of(STEPS)
    assert [Step.from_dict(form) for form in as_json(script)] == [*STEPS, *script.teardown]
    assert [set(form) for form in as_json(script)[1:3]] == [
        {"operation", "request", "part", "data"},
        {"operation", "request", "part"},
    ]


def test_the_program_makes_the_calls_and_shows_failures() -> None:
    program = as_python(Script.of(STEPS), 'connect("memory", {})')
    assert "# PUT /v1/../table over HTTP: see curl" in program
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.split()[0].count("_")]
    assert [line.split()[0] for line in lines] == [
        "create_namespace", "create_table", "count_table_rows", "drop_namespace",
        "drop_table", "drop_namespace",
    ]  # fmt: skip
    assert "count=2" in lines[2]
    assert lines[3].startswith("drop_namespace 3 ")


def test_curl_sends_what_the_kit_sends() -> None:
    script = Script.of(STEPS, decisive=STEPS[3])
    written = as_curl(script, "http://host/base/").splitlines()
    comments = [line for line in written if line.startswith("#")]
    assert comments == [
        "# The calls of the check.",
        "# The check fails with the response to this call.",
        "# Remove all created objects; an object that no longer exists is not found.",
    ]
    lines = [line for line in written if not line.startswith("#")]
    commands = [shlex.split(line.rpartition("| ")[2]) for line in lines]
    assert all(
        command[:5] == ["curl", "-sS", "-w", r"\nHTTP %{http_code}\n", "-X"] for command in commands
    )
    assert all("--path-as-is" in command for command in commands)
    assert [command[5] for command in commands] == ["POST"] * 4 + ["PUT"] + ["POST"] * 2
    assert commands[4][-3:] == ["-H", "X-A: it's", "http://host/base/v1/../table?a=b&a=c%20d"]
    assert lines[1].startswith(f"echo {base64.b64encode(ipc(2)).decode()} | base64 -d | curl ")
    assert commands[1][commands[1].index("--data-binary") + 1] == "@-"
    assert "Content-Type: application/vnd.apache.arrow.stream" in commands[1]
    assert commands[1][-1].startswith("http://host/base/v1/table/n%24t/create")
    assert commands[2][commands[2].index("--data-binary") + 1].startswith("{")
    assert "--data-binary" not in commands[4]


HOME, CHILD = Step("CreateNamespace", {"id": ["n"]}), Step("CreateNamespace", {"id": ["n", "c"]})


def test_a_script_creates_the_namespaces_that_its_calls_need() -> None:
    inside = Step("DeclareTable", {"id": ["n", "c", "t"]})
    beside = Step("DeclareTable", {"id": ["n", "t"]})
    raw = Step("TableExists", {}, raw={**RAW, "path": "/v1/table/n%24c%24t/exists"})
    assert Script.of([inside], [HOME, CHILD]).setup == (HOME, CHILD)
    assert Script.of([beside], [HOME, CHILD]).setup == (HOME,)
    assert Script.of([raw], [HOME, CHILD]).setup == (HOME, CHILD)
    assert Script.of([Step("ListNamespaces", {"id": []})], [HOME, CHILD]).setup == ()
    removed = [
        (step.operation, step.request["id"]) for step in Script.of([inside], [HOME, CHILD]).teardown
    ]
    assert removed == [
        ("DropTable", ["n", "c", "t"]), ("DropNamespace", ["n", "c"]), ("DropNamespace", ["n"]),
    ]  # fmt: skip


def test_an_exchange_is_shown_as_http() -> None:
    made = Exchange("POST", "http://h/v1", {"A": "b"}, b'{"id":[]}', 406, {"C": "d"}, b"\xff\xfe")
    assert exchange_text(made) == (
        'POST http://h/v1\nA: b\n\n{"id":[]}',
        "HTTP 406\nC: d\n\n<2 bytes>",
    )
    assert exchange_text(None) == ("", "")
    assert shown_body(b"x" * 2000) == "x" * 2000
    assert shown_body(b"x" * 2001) == "x" * 2000 + "... <2001 bytes>"


def test_a_call_and_its_outcome_are_shown_on_one_line() -> None:
    step = Step("CreateTable", {"id": ["ü"]}, b"12345")
    assert one_line(step) == 'CreateTable({"id": ["ü"]}, 5 bytes of rows)'
    assert one_line(Step("ListTables", {})) == "ListTables({})"
    replies = {
        "unreadable response: no JSON": Reply(step=step, broken="no JSON", code=5),
        "no such route": Reply(step=step, code=0, no_route=True),
        "code 5: there already": Reply(step=step, code=5, message="there\n  already"),
        "{'a': 1}": Reply(step=step, answer={"a": 1}),
        "{}": Reply(step=step),
    }
    for said, reply in replies.items():
        assert reply.outcome() == said
        assert reply.succeeded == said.startswith("{")
    long = Reply(step=step, answer={"a": "x" * 500}).outcome()
    assert (len(long), long[-3:]) == (400, "...")
