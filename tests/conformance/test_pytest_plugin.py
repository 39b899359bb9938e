"""``pytest --lance-namespace URL``, run in a subprocess as users run it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from lance_namespace_impls.server import serving
from tests.servers.pylance import pylance_server

from .targets import memory

pytest_plugins = ["pytester"]
PLUGIN = "lance_namespace_pytest"


@pytest.fixture(autouse=True)
def state(pytester, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(pytester.path / "state"))


def run(pytester, *arguments):
    # The same name as the entry point, so that pytest does not load the plugin twice.
    return pytester.runpytest_subprocess("-p", PLUGIN, *arguments)


def test_each_check_is_a_test_that_runs_it(pytester, tmp_path):
    pytester.makeconftest(
        """
        def pytest_runtest_teardown(item):
            print("done", item.name, len(item.parent._session.outcome.findings))
        """
    )
    with serving(memory(tmp_path, "mixed")) as uri:
        found = run(pytester, "--lance-namespace", uri, "-k", "LN-TABLE-DECLARE", "-vs")
    assert found.ret == 0
    found.stdout.fnmatch_lines(["lance-namespace::LN-TABLE-DECLARE-001 PASSED*"])
    found.stdout.fnmatch_lines([f"*done LN-TABLE-DECLARE-00{n} {n}*" for n in (1, 2, 3, 4)])
    outcomes = found.parseoutcomes()
    assert outcomes["passed"] > 5 and outcomes["deselected"] > 300


def test_a_failure_shows_the_requirement_and_the_calls(pytester, tmp_path):
    with pylance_server(tmp_path) as uri:
        found = run(pytester, "--lance-namespace", uri, "-k", "LN-TABLE-CREATE-009")
    assert found.ret == 1
    found.stdout.fnmatch_lines(
        [
            "LN-TABLE-CREATE-009 CreateTable in a missing namespace fails with code 1 and *. (MUST)",
            "*expected CreateTable to fail with code 1",
            "*got *",
            "*source *",
            "*curl *",
        ]
    )
    assert "Traceback" not in found.stdout.str()


def test_a_server_that_cannot_be_reached_ends_the_run(pytester):
    found = run(pytester, "--lance-namespace", "http://127.0.0.1:1", "-k", "LN-TABLE")
    assert found.ret == 2
    assert "cannot be reached" in found.stdout.str() + found.stderr.str()


def test_the_checks_run_in_addition_to_the_tests_of_the_project(pytester, tmp_path):
    pytester.makepyfile("def test_own(): pass")
    with serving(memory(tmp_path, "one-catalog")) as uri:
        found = run(
            pytester, "--lance-namespace", uri, "--lance-namespace-under", "main",
            "-k", "test_own or LN-TABLE-DECLARE-001",
        )  # fmt: skip
    found.assert_outcomes(passed=2, deselected=found.parseoutcomes()["deselected"])


def test_without_the_option_the_kit_is_not_imported(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_own():
            assert not [name for name in sys.modules if name.startswith("lance_namespace_impls")]
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_the_entry_point_is_named_like_the_module():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}


def test_a_failed_cleanup_does_not_hide_a_failure(pytester, tmp_path):
    pytester.makeconftest(
        """
        import lance_namespace_impls.conformance.runner as runner

        def clean_up(lab, everything, deadline):
            if everything:
                raise OSError("no way to clean up")
            return []

        runner.clean_up = clean_up
        """
    )
    with pylance_server(tmp_path) as uri:
        found = run(pytester, "--lance-namespace", uri, "-k", "LN-TABLE-CREATE-009")
    assert found.ret == 1
    found.stdout.fnmatch_lines(
        ["*expected CreateTable to fail with code 1", "*no way to clean up*"]
    )


def test_an_interrupted_run_leaves_no_objects(pytester, tmp_path):
    pytester.makeconftest(
        """
        def pytest_runtest_teardown(item):
            raise KeyboardInterrupt
        """
    )
    namespace = memory(tmp_path, "mixed")
    with serving(namespace) as uri:
        found = run(pytester, "--lance-namespace", uri, "-k", "LN-TABLE-EXISTS")
        assert found.ret == pytest.ExitCode.INTERRUPTED
        assert namespace.list_namespaces({}).namespaces == []
