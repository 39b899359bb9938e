"""The storage of a table: its location, and the namespace that renews its options."""

from __future__ import annotations

from typing import Any

import pytest

from lance_namespace_impls.core.storage import EXPIRES_AT_MILLIS, TableStorage

SOON = {EXPIRES_AT_MILLIS: "1"}
NAMESPACE: Any = object()


@pytest.mark.parametrize(
    ("options", "renewed_by", "managed", "asked"),
    [
        (SOON, (NAMESPACE, ("ns", "t")), False, False),
        (SOON, (NAMESPACE, ("ns", "t")), True, True),
        ({}, (NAMESPACE, ("ns", "t")), True, True),
        ({}, (NAMESPACE, ("ns", "t")), False, None),
        (SOON, None, False, None),
        (SOON, None, True, None),
    ],
)
def test_the_namespace_is_passed_if_options_expire_or_it_manages_versions(
    options: dict[str, str],
    renewed_by: tuple[Any, tuple[str, ...]] | None,
    managed: bool,
    asked: bool | None,
) -> None:
    storage = TableStorage(
        location="s3://b/t", options=options, renewed_by=renewed_by, managed=managed
    )
    assert storage.of_namespace() == (
        {}
        if asked is None
        else {
            "namespace_client": NAMESPACE,
            "table_id": ["ns", "t"],
            "namespace_client_managed_versioning": asked,
        }
    )


def test_equality_ignores_the_session_and_the_renewal() -> None:
    def storage(**more: Any) -> TableStorage:
        return TableStorage(**{"location": "/t", "options": {"region": "r"}, **more})

    assert storage() == storage(session=object, renewed_by=(NAMESPACE, ["t"]))
    assert storage().session() is None
    for other in ({"location": "/u"}, {"options": {}}, {"managed": True}):
        assert storage() != storage(**other)
    assert repr(storage(options={"account_key": "k", "region": "r"})) == (
        "TableStorage('/t', {'account_key': '***', 'region': 'r'})"
    )
