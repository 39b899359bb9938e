"""Scripts reproduce failures: same answer on the wrong namespace, another one on a correct one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from lance_namespace_impls.conformance import api
from lance_namespace_impls.conformance.exchange import Reply
from lance_namespace_impls.conformance.lab import Target
from lance_namespace_impls.conformance.python_target import PythonTarget
from lance_namespace_impls.conformance.runner import Options
from lance_namespace_impls.conformance.scripts import Script, read_scripts

from .targets import memory
from .wrong.python import WRONG, Wrong, WrongTarget

SERVER = Path(__file__).with_name("third_party") / "server.py"
FAILURES = 100
CHANGING_VALUES = re.compile(r"\d{9,}|[0-9a-f]{8}-[0-9a-f-]{27}")
CHANGING = re.compile(rf"lnkit[0-9a-f_]+|{CHANGING_VALUES.pattern}")
"""Generated names, times and random identifiers, which differ between runs."""


def answer_of(reply: Reply) -> Any:
    """Return the comparable part of a reply."""
    if reply.rows is not None:
        return reply.rows.to_pylist()
    if reply.code is not None:
        return reply.code
    answer = dict(reply.answer or {})
    if "page_token" in answer:  # opaque, and different in each run
        answer["page_token"] = bool(answer["page_token"])
    # Names are kept: they are the same in each run of a script, and their order can be the fault.
    return CHANGING_VALUES.sub("", json.dumps(answer, sort_keys=True, default=str))


def decisive_answer(target: Target, script: Script) -> Any:
    """Run a script; return the answer to its decisive call, or to the last call of the check."""
    found = None
    for part, step in script.parts():
        reply = target.call(step)
        if step is script.decisive or (script.decisive is None and part == "check"):
            found = answer_of(reply)
    return found


def failures(folder: Path) -> Iterator[tuple[Wrong, dict[str, Any]]]:
    """Yield each wrong namespace with the report entry of the check that catches it."""
    for number, wrong in enumerate(WRONG.values()):
        root = folder / str(number)
        target = WrongTarget(PythonTarget(memory(root, "mixed"), "wrong"), wrong.act)
        report = api.check_target(target, Options(only=(wrong.caught_by,), seed=1))
        for entry in report["checks"]:
            if entry["result"] == "fail" and entry["id"] == wrong.caught_by:
                yield wrong, entry


@pytest.mark.slow
def test_the_scripts_of_a_hundred_failures_reproduce_them(tmp_path: Path) -> None:
    different, same_when_correct, count = [], [], 0
    for wrong, entry in islice(failures(tmp_path), FAILURES):
        count += 1
        path = tmp_path / "script.json"
        path.write_text(json.dumps(entry["script"]["json"]))
        [(_, script)] = read_scripts(path)
        first, again, right = [
            decisive_answer(target, script)
            for target in (
                WrongTarget(PythonTarget(memory(tmp_path / f"a{count}", "mixed"), "w"), wrong.act),
                WrongTarget(PythonTarget(memory(tmp_path / f"b{count}", "mixed"), "w"), wrong.act),
                PythonTarget(memory(tmp_path / f"c{count}", "mixed"), "correct"),
            )
        ]
        if first != again:
            different.append((wrong.name, first, again))
        if right == first:
            same_when_correct.append((wrong.name, entry["id"], right))
    assert (count, different, same_when_correct) == (FAILURES, [], [])


@contextmanager
def third_party() -> Iterator[str]:
    """Yield the address of a new server that has faults and no objects."""
    process = subprocess.Popen([sys.executable, SERVER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.needs("curl")
def test_the_curl_scripts_reproduce_the_failures_of_a_server() -> None:
    with third_party() as address:
        report = api.check_url(address, options=Options(seed=1, jobs=4))
    failed = [entry for entry in report["checks"] if entry["result"] == "fail"]
    assert failed
    for entry in failed:
        with third_party() as fresh:
            script = entry["script"]["curl"].replace(address, fresh)
            done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        head, _, body = entry["response"].partition("\n\n")
        calls = entry["script"]["json"]
        decisive = next(call for call in calls if call.get("decisive"))
        # In the run, listings also contained objects of other checks.
        shown = "" if decisive["operation"].startswith("List") else body.strip()
        shown += "\n" + head.partition("\n")[0]
        assert CHANGING.sub("", shown) in CHANGING.sub("", done.stdout), entry["id"]
