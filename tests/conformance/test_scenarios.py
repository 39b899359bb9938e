"""The layout of the checks, and the order in which they run."""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict

from lance_namespace_impls.conformance import scenarios
from lance_namespace_impls.conformance.requirement import CHECKS, Check
from lance_namespace_impls.conformance.run_order import EXTENSIVE, in_run_order

scenarios.load_all()
RUN = [check for check in CHECKS.values() if check.run is not None]


def module_of(check: Check) -> str:
    assert check.run is not None
    return check.run.__module__.removeprefix(f"{scenarios.__name__}.")


def modules_by_area() -> dict[str, set[str]]:
    found = defaultdict[str, set[str]](set)
    for check in RUN:
        found[check.area].add(module_of(check))
    return found


def test_all_checks_of_an_area_are_in_one_module() -> None:
    found = modules_by_area()
    assert {area: modules for area, modules in found.items() if len(modules) > 1} == {}
    for check in CHECKS.values():
        if check.run is None and check.area in found:
            (name,) = found[check.area]
            source = inspect.getsource(sys.modules[f"{scenarios.__name__}.{name}"])
            assert f'"{check.id}"' in source, name


def test_every_listed_module_has_checks_and_is_listed_once() -> None:
    assert sorted(scenarios.MODULES) == sorted({module_of(check) for check in RUN})


def test_modules_of_checks_do_not_import_each_other() -> None:
    names = {f"{scenarios.__name__}.{name}" for name in scenarios.MODULES}
    imported = {
        (name, value.__module__)
        for name in names
        for value in vars(sys.modules[name]).values()
        if getattr(value, "__module__", name) in names - {name}
    }
    assert imported == set()


def test_extensive_checks_run_late_and_checks_of_all_answers_last() -> None:
    names = {check.id for check in RUN} | {f"LN-{check.area}-*" for check in RUN}
    assert sorted(EXTENSIVE - names) == []
    ordered = [check.id for check in in_run_order(CHECKS.values())]
    assert sorted(ordered) == sorted(CHECKS)
    some = (
        "LN-TABLE-CREATE-001",
        "LN-ROWS-INSERT-001",
        "LN-NAME-017",
        "LN-ALIKE-600",
        "LN-SAFE-001",
    )
    places = [ordered.index(id) for id in some]
    assert places == sorted(places)
