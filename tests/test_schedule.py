"""Tests on one server go to one process."""

from __future__ import annotations

from glob import glob

import pytest

from tests.schedule import LONGEST, in_order, scope_of


@pytest.mark.parametrize(
    ("node", "scope"),
    [
        ("tests/hive/test_traps.py::test_a[hive3-on-3.1]", "hive 3.1"),
        ("tests/hive/test_traps.py::test_b[x-hive2-on-3.1]", "hive 3.1"),
        ("tests/hive/test_spark.py::test_b[3.1]", "hive 3.1"),
        ("tests/hive/test_pool.py::test_c[1]", "hive 2.3"),
        ("tests/behaviour/test_operations_listed.py::test_d[hive2]", "hive 3.1"),
        ("tests/behaviour/test_behaviour.py::test_e[dir]", None),
        ("tests/behaviour/test_behaviour.py::test_e[nessie]", "iceberg"),
        ("tests/catalog/test_fresh_places.py::test_n[hive3-create]", "hive 3.1"),
        (
            "tests/catalog/test_fresh_places.py::test_n[dir-create]",
            "tests/catalog/test_fresh_places.py",
        ),
        ("tests/core/test_secrets.py::test_o[hive3]", "tests/core/test_secrets.py"),
        ("tests/hive/test_restarts.py::test_f[3.1]", None),
        ("tests/iceberg/test_tables.py::test_g", "iceberg"),
        ("tests/iceberg/test_names.py::test_h", "iceberg"),
        ("tests/tables/test_killed.py::test_i[x]", "tests/tables/test_killed.py"),
        ("tests/spark/test_queries.py::test_k[x]", "spark two"),
        ("tests/spark/jobs/test_maintain.py::test_l", "spark two"),
        ("tests/spark/test_numbers.py::test_m", "tests/spark/test_numbers.py"),
        ("tests/test_requirements.py::test_j", "tests/test_requirements.py"),
        ("tests/conformance/test_mechanical.py::test_p[x]", "conformance recording"),
    ],
)
def test_what_stays_together(node: str, scope: str | None) -> None:
    assert scope_of(node) == (scope or node)


def test_what_takes_longest_goes_first() -> None:
    scopes = {"few": [1], "many": [1, 2, 3], LONGEST[1]: [1], LONGEST[0]: [1]}
    assert in_order(scopes) == [LONGEST[0], LONGEST[1], "many", "few"]
    for each in LONGEST:
        assert not each.startswith("tests/") or glob(f"{each.partition('::')[0]}*"), each
