"""The packages under test, with their numbers of faults and their fast tests."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

__all__ = ["PACKAGES", "REACH", "ROOT", "Package"]

ROOT = Path(__file__).parents[2]
REACH = ROOT / "build" / "mutants" / "reach"
"""Records of which tests run which lines, one file for each folder of tests."""
IMPLS = "lance_namespace_impls"


@frozen
class Package:
    """A package under test."""

    sources: tuple[str, ...]
    """Files and folders, relative to the root."""
    mutants: int
    """Number of faults that are generated from the syntax tree."""
    tests: tuple[str, ...]
    """Files and folders of tests; those that catch most faults are first.

    They are used for code that no test runs in its own process. For all other code, `reach` selects
    the tests.
    """
    whole: tuple[str, ...] = ()
    """Tests of the whole package, which run on every mutant after its fastest tests."""

    def files(self) -> list[Path]:
        """Return the source files, in order."""
        found: set[Path] = set()
        for source in self.sources:
            path = ROOT / source
            found |= set(path.rglob("*.py")) if path.is_dir() else {path}
        return sorted(found)


FIELDS = "tests/tables/test_request_fields.py"
FAILURES = "tests/core/test_failure_tables.py"
ABLE = "tests/catalog/test_capabilities.py"
PACKAGES: dict[str, Package] = {
    "core": Package(
        (f"{IMPLS}/core",), 40,
        ("tests/core", "tests/property/test_config.py", "tests/property/test_identifiers.py",
         "tests/property/test_paging.py", "tests/property/test_modes.py", "tests/rest",
         "tests/catalog/test_page_tokens.py", "tests/tables/drop"),
    ),
    "tables": Package(
        (f"{IMPLS}/tables",), 45,
        ("tests/tables/test_refusals.py", FIELDS, "tests/tables/test_declared.py",
         "tests/tables/test_types.py", "tests/tables/test_update.py", "tests/tables/drop",
         "tests/tables/test_align.py", "tests/tables/test_column_changes.py",
         "tests/tables/test_few_reads.py", "tests/server/attacks/test_deep_sql.py", "tests/tables"),
    ),
    "catalog": Package(
        (f"{IMPLS}/catalog",), 45,
        ("tests/catalog", FIELDS, "tests/core/test_confinement.py", "tests/behaviour/test_behaviour.py",
         "tests/tables/drop"),
    ),
    "directory": Package(
        (f"{IMPLS}/directory",), 25, ("tests/directory", "tests/catalog/test_fresh_places.py"),
    ),
    "memory": Package(
        (f"{IMPLS}/memory",), 8, ("tests/catalog", FIELDS, "tests/behaviour/test_behaviour.py"),
    ),
    "rest": Package(
        (f"{IMPLS}/rest",), 15, ("tests/rest", "tests/interop"),
    ),
    "glue": Package((f"{IMPLS}/glue",), 25, ("tests/glue", ABLE)),
    "hive": Package((f"{IMPLS}/hive",), 25, ("tests/hive", ABLE)),
    "unity": Package((f"{IMPLS}/unity",), 20, ("tests/unity", FAILURES, ABLE)),
    "iceberg": Package(
        (f"{IMPLS}/iceberg", f"{IMPLS}/iceberg_rest"), 25,
        ("tests/iceberg", "tests/polaris", FAILURES, ABLE),
    ),
    "polaris": Package((f"{IMPLS}/polaris",), 10, ("tests/polaris", ABLE)),
    "sql": Package((f"{IMPLS}/sql",), 20, ("tests/sql", ABLE)),
    "top": Package(
        tuple(
            f"{IMPLS}/{name}.py"
            for name in ("__init__", "extend/__init__", "extend/http", "interop", "registry")
        ),
        8,
        ("tests/core", "tests/catalog", "tests/interop"),
    ),
    "server": Package(
        (f"{IMPLS}/server",), 45,
        ("tests/server/test_wire.py", "tests/server/test_routing.py", "tests/server/test_bad_input.py",
         "tests/server/test_authentication.py", "tests/server/test_policy.py", "tests/server"),
    ),
    "cli": Package((f"{IMPLS}/cli",), 25, ("tests/cli",)),
    "spark": Package(
        (f"{IMPLS}/spark",), 20,
        ("tests/spark/test_numbers.py", "tests/spark/test_names.py", "tests/spark/test_broken_files.py",
         "tests/spark/test_reader.py", "tests/spark/test_columns.py", "tests/spark/test_formats.py",
         "tests/spark"),
    ),
    "conformance": Package(
        (f"{IMPLS}/conformance",), 15, ("tests/conformance/test_wrong.py", "tests/conformance"),
        whole=("tests/conformance/test_altered_answers.py::test_checks_pass_on_their_own_answers_and_reject_others",),
    ),
    "client": Package(
        ("generated/lance_namespace_client/model.py", "generated/lance_namespace_client/ipc.py",
         "generated/lance_namespace_client/wire.py", "generated/lance_namespace_client/arrow.py",
         "generated/lance_namespace_client/identifiers.py",
         "generated/lance_namespace_client/_wire.py",
         "generated/lance_namespace_client/_async_transport.py",
         "generated/lance_namespace_client/_transport.py"), 30,
        ("tests/property", "tests/rest", "tests/server/attacks/test_hostile_arrow.py",
         "tests/server/test_wire.py", "tests/interop"),
    ),
    "codegen": Package(
        ("codegen/check.py", "codegen/document.py", "codegen/driver.py", "codegen/model.py",
         "codegen/operations.py", "codegen/parse.py", "codegen/published.py", "codegen/schemas.py",
         "codegen/command.py"), 25,
        ("tests/codegen/test_broken.py", "tests/codegen/test_breaking.py", "tests/codegen"),
        ("tests/codegen/test_command.py::test_the_committed_package_is_what_the_specification_makes",),
    ),
}  # fmt: skip
