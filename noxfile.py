"""The project's commands: ``nox -l`` lists them.

Each session has its own environment, with the dependency groups that it needs, pinned by
constraints.txt.
"""

from __future__ import annotations

import os

import nox

nox.needs_version = ">=2025.5.1"
nox.options.sessions = ["tests"]
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"

CONSTRAINTS = "constraints.txt"
PROJECT = nox.project.load_toml("pyproject.toml")
BUILD = (*PROJECT["build-system"]["requires"], "editables")
# The tests of Kerberos logins need gssapi, which is compiled.
ALL_EXTRAS = "all,hive-kerberos"
FAST_EXTRAS = "cli,codegen,conformance,duckdb,glue,hive,iceberg,polaris,server,sql,unity"
UNIT = (
    "tests/test_requirements.py", "tests/core", "tests/catalog", "tests/directory", "tests/rest",
    "tests/server", "tests/cli", "tests/property",
)  # fmt: skip

# Tests that cover every path between Spark and Lance, for `spark_matrix`.
SPARK = tuple(
    f"tests/spark/test_{name}.py"
    for name in (
        "pushdown", "random_queries", "datasource", "read_table", "writing", "types", "queries",
        "streams", "changes", "columns", "import", "session",
    )
)  # fmt: skip


def install(session: nox.Session, *groups: str, extras: str = "all") -> None:
    """Install dependency groups in pinned versions, and the project itself in editable mode.

    All extras include Spark. PySpark is installed first: its source archive needs an isolated build,
    and the build of the project compiles the jar against it.
    """
    # A session starts hundreds of processes; precompiled bytecode saves each of them time.
    session.env["PYTHONDONTWRITEBYTECODE"] = None
    if extras in ("all", ALL_EXTRAS):
        groups = (*groups, "spark")
    session.install(
        "-c", CONSTRAINTS, *BUILD, *nox.project.dependency_groups(PROJECT, *groups), silent=False
    )
    session.install("-c", CONSTRAINTS, "--no-build-isolation", "-e", f".[{extras}]")


def run_lint(session: nox.Session) -> None:
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports", "--no-logo")


def run_codegen_check(session: nox.Session) -> None:
    session.run("python", "-m", "codegen", "--check")


def run_pytest(session: nox.Session, *arguments: str) -> None:
    session.run("pytest", *arguments, env={"LANCE_NS_REQUIRE_SERVERS": "1"})


# Tests wait for servers and subprocesses: two more workers than cores keep all cores busy.
# tests/schedule.py orders the tests and decides which of them share a process.
PROCESSES = min(8, (os.cpu_count() or 2) + 2)
PARALLEL = ("-n", str(PROCESSES), "--dist", "loadgroup", "--no-loadscope-reorder")


@nox.session
def demo(session: nox.Session) -> None:
    """Import real tables with Spark, serve them, and read them back."""
    install(session, "demo")
    session.run("python", "demo/demo.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run what CI runs: lint, types, import rules, generated code, and all tests except slow ones."""
    install(session, "dev")
    run_lint(session)
    run_codegen_check(session)
    run_pytest(session, *PARALLEL, "-m", "not slow and not real", *session.posargs)


@nox.session
def fast(session: nox.Session) -> None:
    """Run the fast tests in a folder, without Java or third-party clients: `nox -s fast -- tests/catalog`."""
    install(session, "test", extras=FAST_EXTRAS)
    session.env["LANCE_NS_WITHOUT_JAVA"] = "1"
    session.run("pytest", "-m", "not slow and not real", *(session.posargs or UNIT))


@nox.session
def full(session: nox.Session) -> None:
    """Run all tests, including slow ones, except those on servers that no package registry provides."""
    install(session, "dev", extras=ALL_EXTRAS)
    session.env["LANCE_NS_EXAMPLES"] = "1"
    run_lint(session)
    run_codegen_check(session)
    run_pytest(session, *PARALLEL, "-m", "not real", *session.posargs)


@nox.session
def unit(session: nox.Session) -> None:
    """Run the tests that need no catalog server, and the property tests."""
    install(session, "dev")
    run_pytest(session, *PARALLEL, *UNIT, *session.posargs)


@nox.session
def real(session: nox.Session) -> None:
    """Run the tests on real Unity Catalog, Polaris and Gravitino servers; all three must be available."""
    install(session, "dev")
    run_pytest(session, "-m", "real", *session.posargs)


@nox.session
def deploy(session: nox.Session) -> None:
    """Run all tests of the deployment files: Go builds helm and kubeconform, and buildah the image."""
    install(session, "test", "clients", extras=FAST_EXTRAS)
    run_pytest(session, "tests/deploy", "-m", "slow or not slow", *session.posargs)


@nox.session
@nox.parametrize("pyspark", ["4.1.4", "4.2.1"])
def spark_matrix(session: nox.Session, pyspark: str) -> None:
    """Run the Spark tests on older releases of PySpark: `nox -s "spark_matrix(pyspark='4.1.4')"`."""
    install(session, "test")  # with the newest PySpark, against which the jar is compiled
    session.install(f"pyspark[connect]=={pyspark}")
    run_pytest(session, *(session.posargs or SPARK))


@nox.session
def clients(session: nox.Session) -> None:
    """Run third-party clients on every backend, and write the results to docs/clients.md."""
    install(session, "dev")
    session.env["LANCE_NS_WRITE_CLIENTS"] = "1"
    run_pytest(session, "tests/clients", "-m", "slow or not slow", *session.posargs)


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the conformance kit on our backends and other servers; write the reports to build/conformance."""
    install(session, "dev")
    session.run("python", "-m", "tests.conformance.results", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and import rules."""
    install(session, "dev")
    run_lint(session)


@nox.session
def codegen(session: nox.Session) -> None:
    """Regenerate lance_namespace_client from rest.yaml."""
    install(session, extras="codegen")
    session.run("python", "-m", "codegen", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation into build/site; `nox -s docs -- serve` serves a live preview."""
    install(session, "docs")
    session.env["NO_MKDOCS_2_WARNING"] = "1"
    session.run("mkdocs", *(session.posargs or ["build", "--strict"]))


@nox.session
def bench(session: nox.Session) -> None:
    """Run the benchmarks; each prints its ratios and fails if one exceeds its bound."""
    install(session, "dev")
    names = session.posargs or sorted(
        name for name in os.listdir("benchmarks") if name.endswith(".py") and name[0] != "_"
    )
    for name in names:
        session.run("python", os.path.join("benchmarks", os.path.basename(name)))


@nox.session
def mutants(session: nox.Session) -> None:
    """Insert faults into the code, one at a time, and count how many the fast tests catch."""
    install(session, "dev")
    session.run("python", "-m", "tests.mutants", *session.posargs)


@nox.session
def lock(session: nox.Session) -> None:
    """Resolve the newest compatible versions and write constraints.txt."""
    session.install("uv")
    session.run(
        "uv", "pip", "compile", "pyproject.toml", "--all-extras", "--group", "dev", "--universal",
        "--python-version", "3.11", "--no-annotate", "--no-emit-index-url", "--quiet",
        "--custom-compile-command", "nox -s lock", "-o", CONSTRAINTS, *session.posargs,
    )  # fmt: skip
