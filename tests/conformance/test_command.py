"""The command ``lance-ns conformance``: exit statuses, reports, and leftover objects."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lance_namespace_impls.cli.app import app
from lance_namespace_impls.conformance.report import schema, worse
from lance_namespace_impls.conformance.requirement import TIME_UP, Result
from lance_namespace_impls.server import serving

from .targets import memory

ONLY = ["--only", "LN-TABLE-DECLARE-*", "--only", "LN-OPERATIONS-*"]


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def invoke(*arguments):
    return CliRunner().invoke(app, ["conformance", *map(str, arguments)])


def impl(tmp_path):
    return ["--impl", "dir", "-p", f"path={tmp_path / 'tables'}"]


@pytest.fixture
def pylance_class(tmp_path):
    return ["--class", "lance.namespace:DirectoryNamespace", "-p", f"root={tmp_path / 'tables'}"]


@pytest.fixture(scope="module")
def passed(tmp_path_factory):
    """A run without failures, and the paths of its reports by format."""
    folder = tmp_path_factory.mktemp("passed")
    paths = {kind: folder / f"r.{kind}" for kind in ("json", "xml", "html", "svg")}
    reports = [word for path in paths.values() for word in ("--report", path)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        return invoke(*impl(folder), *ONLY, *reports), paths


def test_a_run_without_failures_exits_with_status_0(passed):
    found, _ = passed
    assert found.exit_code == 0, found.output
    assert " 0 fail" in found.output


@pytest.mark.parametrize("option", ["--only", "--skip"])
def test_a_pattern_that_matches_no_check_exits_with_status_2(tmp_path, option):
    found = invoke(*impl(tmp_path), option, "LN-TABLE-EXISTS-0O4")
    assert found.exit_code == 2
    assert "no check matches 'LN-TABLE-EXISTS-0O4'; did you mean 'LN-TABLE-EXISTS-0" in found.output


@pytest.mark.parametrize("option", ["--impl", "--class"])
def test_a_class_in_the_current_folder_is_found(tmp_path, option):
    """Like `lance-ns ls`, the command imports modules of any name from the current folder."""
    (tmp_path / "model.py").write_text(
        "from lance.namespace import DirectoryNamespace as Theirs\n"
        "from lance_namespace_impls.directory import DirectoryNamespace as Ours\n"
    )
    name, key = ("model:Ours", "path") if option == "--impl" else ("model:Theirs", "root")
    # Not python -m, which would add the current folder to sys.path itself.
    script = Path(sys.executable).with_name("lance-ns")
    given = ["-p", f"{key}={tmp_path / 'tables'}", "--only", "LN-TABLE-CREATE-001"]
    command = [script, "conformance", option, name, *given]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (found.returncode, " 0 fail" in found.stdout) == (0, True), found.stderr


def test_a_failed_check_exits_with_status_1(tmp_path, pylance_class):
    only = ("--only", "LN-TABLE-CREATE-00[29]")
    found = invoke(*pylance_class, *only, "--report", tmp_path / "r.json")
    assert found.exit_code == 1, found.output
    assert "fail LN-TABLE-CREATE-009" in found.output
    assert "\\n" not in found.output
    found = invoke(*pylance_class, *only, "--baseline", tmp_path / "r.json")
    assert found.exit_code == 0, found.output
    failed = json.loads((tmp_path / "r.json").read_text())["summary"]["fail"]
    assert found.output.endswith(f"0 of {failed} failures are not in the baseline\n")


def test_a_check_that_passed_in_the_baseline_and_is_not_reached_now_is_worse():
    """A known failure may hide a new one."""
    checks = {
        "LN-A": ("pass", ""),
        "LN-B": ("fail", ""),
        "LN-C": ("skip", ""),
        "LN-D": ("pass", ""),
    }

    def report(found):
        return {"checks": [{"id": k, "result": r, "got": got} for k, (r, got) in found.items()]}

    before = report(checks)
    now = {"LN-A": ("not reached", "LN-B failed"), "LN-C": ("not reached", "LN-B failed"),
           "LN-D": ("not reached", TIME_UP)}  # fmt: skip
    assert worse(report(checks | now), before) == ["LN-A"]
    assert worse(report(checks | {"LN-C": ("fail", ""), "LN-E": ("fail", "")}), before) == [
        "LN-C", "LN-E",
    ]  # fmt: skip


def test_an_unreachable_target_exits_with_status_2():
    found = invoke("--uri", "http://127.0.0.1:1")
    assert found.exit_code == 2
    assert "cannot be reached" in found.output


def test_a_target_that_allows_no_creation_exits_with_status_2_and_suggests_under(tmp_path):
    with serving(memory(tmp_path, "one-catalog")) as uri:
        found = invoke("--uri", uri)
        assert found.exit_code == 2
        line = found.output.strip()
        assert "permits no changes" in line and "--under" in line and "\n" not in line
        assert "code 13" in line and "CreateNamespace" in line
        assert invoke("--uri", uri, "--under", "nowhere").exit_code == 2
        found = invoke("--uri", uri, "--under", "main", *ONLY)
        assert found.exit_code == 0, found.output
        assert invoke("--uri", uri, "--read-only", *ONLY).exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [(), ("--uri", "http://x", "--impl", "dir"), ("--impl", "nothing"), ("other", "words")],
)
def test_a_wrong_command_line_exits_with_status_2(arguments):
    assert invoke(*arguments).exit_code == 2


def test_reports_are_written_in_every_format(passed):
    _, paths = passed
    report = json.loads(paths["json"].read_text())
    entry = next(e for e in report["checks"] if e["id"] == "LN-TABLE-DECLARE-001")
    assert (entry["result"], entry["level"]) == ("pass", "MUST")
    assert sum(report["summary"].values()) == len(report["checks"])
    assert int(ET.parse(paths["xml"]).getroot().get("tests")) == len(report["checks"])
    assert "LN-TABLE-DECLARE-001" in paths["html"].read_text()
    assert "passed" in paths["svg"].read_text()


def test_the_report_conforms_to_its_schema(passed):
    _, paths = passed
    report, form = json.loads(paths["json"].read_text()), schema()
    assert set(report) == set(form["required"]) == set(form["properties"])
    check = form["$defs"]["check"]
    for entry in report["checks"]:
        assert set(entry) == set(check["required"]) == set(check["properties"])
        assert entry["result"] in check["properties"]["result"]["enum"]
    assert {r.value for r in Result} == set(form["properties"]["summary"]["required"])


def test_reports_are_compared(passed, tmp_path):
    _, reports = passed
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        shutil.copy(reports["json"], path)
    found = invoke("compare", *paths, "--report", tmp_path / "both.html")
    assert found.exit_code == 0, found.output
    assert (tmp_path / "both.html").read_text().count("LN-TABLE-DECLARE-001") >= 1
    alone = invoke("compare", paths[0])
    assert alone.exit_code == 0 and "LN-TABLE-DECLARE-001" in alone.stdout
    assert invoke("compare").exit_code == 2


def test_leftovers_of_a_killed_run_are_listed_and_removed(tmp_path):
    from lance_namespace_impls import connect
    from lance_namespace_impls.conformance.ledger import Ledger, state_folder

    with connect("dir", {"path": str(tmp_path / "tables")}) as namespace:
        ledger = Ledger(namespace.namespace_id(), folder=state_folder())
        identifier = (ledger.fresh(),)
        ledger.made("table", identifier)
        namespace.declare_table({"id": list(identifier)})
        namespace.declare_table({"id": ["other"]})
        found = invoke(*impl(tmp_path), *ONLY)
        assert f"left by an earlier run: table {identifier[0]}" in found.output
        found = invoke(*impl(tmp_path), "--clean")
        assert found.exit_code == 0
        assert f"removed table {identifier[0]}" in found.output
        assert list(namespace.iter_tables()) == ["other"]


def test_unreached_checks_exit_with_status_3_and_are_junit_errors(tmp_path):
    paths = [tmp_path / f"r.{kind}" for kind in ("json", "xml")]
    reports = [w for path in paths for w in ("--report", path)]
    found = invoke(*impl(tmp_path), *ONLY, "--max-seconds", "0", *reports)
    assert found.exit_code == 3, found.output
    report = json.loads(paths[0].read_text())
    unreached = [e["id"] for e in report["checks"] if e["got"] == TIME_UP]
    assert f"{len(unreached)} checks were not reached in time" in found.output
    assert "--max-seconds" in found.output
    root = ET.parse(paths[1]).getroot()
    assert root.get("errors") == str(len(root.findall(".//error"))) == str(len(unreached))
    again = invoke(*impl(tmp_path), "--rerun-failed", paths[0], "--report", tmp_path / "s.json")
    assert again.exit_code == 0, again.output
    ran = json.loads((tmp_path / "s.json").read_text())["checks"]
    assert {e["id"] for e in ran if e["result"] != "disabled"} - {"LN-SAFE-001"} == set(unreached)
    nothing = invoke(*impl(tmp_path), "--rerun-failed", tmp_path / "s.json")
    assert nothing.exit_code == 2 and "none failed" in nothing.output


def test_concurrent_checks_have_the_results_of_a_sequential_run(tmp_path):
    only = ["--only", "LN-TABLE-*", "--only", "LN-SCHEMA-*", "--only", "LN-NAMESPACE-*"]
    results = []
    for jobs in (1, 4):
        path = tmp_path / f"{jobs}.json"
        found = invoke("--impl", "memory", *only, "--jobs", jobs, "--report", path)
        assert found.exit_code == 0, found.output
        report = json.loads(path.read_text())
        assert report["leftovers"] == []
        results.append([(e["id"], e["result"]) for e in report["checks"]])
    assert results[0] == results[1]


def test_the_failures_of_a_report_are_replayed(tmp_path, pylance_class):
    path = tmp_path / "r.json"
    only = ("--only", "LN-TABLE-CREATE-009")
    assert invoke(*pylance_class, *only, "--report", path).exit_code == 1
    found = invoke(*pylance_class, *only, "--replay", path)
    assert found.exit_code == 0, found.output
    lines = found.output.splitlines()
    assert lines[0].startswith("LN-TABLE-CREATE-009: expected ")
    parts = [line.partition(":")[0] for line in lines[1:]]
    assert parts == sorted(parts, key=["setup", "check", "decisive", "teardown"].index)
    assert {"decisive", "teardown"} <= set(parts)


def test_a_script_is_replayed(tmp_path):
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"operation": "DescribeTable", "request": {"id": ["gone"]}}]))
    found = invoke(*impl(tmp_path), "--replay", script)
    assert found.exit_code == 0
    assert "code 4" in found.output


def test_no_secret_is_in_a_report(tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    found = invoke("--uri", "http://127.0.0.1:1", "--token", "s3cr3t-token", "--report", path)
    assert "s3cr3t-token" not in found.output
