"""Every number in the properties of a backend has bounds."""

from __future__ import annotations

from typing import get_type_hints

import attrs
import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.registry import implementations, load

from .test_impl_key import PROPERTIES

NUMBERS = [
    (impl, attribute.metadata.get("name") or attribute.name, hint in (float, float | None))
    for impl in implementations()
    for attribute in attrs.fields(load(impl).config_type)
    if attribute.name not in load(impl).config_type.not_taken
    and (hint := get_type_hints(load(impl).config_type)[attribute.name])
    in (int, float, int | None, float | None)
]


def test_every_backend_has_numbers() -> None:
    assert {impl for impl, _, _ in NUMBERS} >= {"dir", "sql", "hive2", "glue", "rest", "iceberg"}
    assert ("dir", "commit_retries", False) in NUMBERS


@pytest.mark.parametrize(("impl", "key", "is_float"), NUMBERS)
def test_a_number_out_of_bounds_is_rejected(impl: str, key: str, is_float: bool) -> None:
    kind = load(impl).config_type
    for wrong in ("-1", "-0.5", "nan", "inf") if is_float else ("-1",):
        with pytest.raises(InvalidInputError, match=rf"^{impl}: property '{key}' must be "):
            kind.from_properties({**PROPERTIES[impl], key: wrong})
