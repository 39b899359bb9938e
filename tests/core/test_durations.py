"""Durations in properties: the unit of the specification, suffixes, and alternative keys."""

from __future__ import annotations

from typing import Any

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls.core.config import Config
from lance_namespace_impls.core.durations import parse_duration
from lance_namespace_impls.glue import GlueConfig
from lance_namespace_impls.hive import Hive2Config, Hive3Config, HiveConfig
from lance_namespace_impls.iceberg import IcebergConfig
from lance_namespace_impls.polaris import PolarisConfig
from lance_namespace_impls.rest import RestConfig
from lance_namespace_impls.unity import UnityConfig

URI = "http://localhost:1"
# Each backend with its required properties, and the number of its units per second.
CONFIGS = [
    pytest.param(GlueConfig, {}, 1, id="glue"),
    pytest.param(HiveConfig, {}, 1, id="hive"),
    pytest.param(Hive2Config, {}, 1, id="hive2"),
    pytest.param(Hive3Config, {}, 1, id="hive3"),
    pytest.param(IcebergConfig, {"endpoint": URI}, 1000, id="iceberg"),
    pytest.param(PolarisConfig, {"endpoint": URI}, 1000, id="polaris"),
    pytest.param(RestConfig, {"uri": URI}, 1, id="rest"),
    pytest.param(UnityConfig, {"endpoint": URI, "catalog": "main"}, 1, id="unity"),
]
each_backend = pytest.mark.parametrize(("config", "required", "second"), CONFIGS)


@each_backend
@pytest.mark.parametrize("key", ["connect_timeout", "read_timeout"])
def test_a_suffix_specifies_the_unit(
    config: type[Config], required: dict[str, str], second: int, key: str
) -> None:
    found = config.from_properties({**required, key: "500ms"})
    assert getattr(found, key) == pytest.approx(0.5 * second)
    assert config.from_properties(found.to_properties()) == found


@each_backend
@pytest.mark.parametrize("key", ["connect_timeout", "read_timeout"])
def test_a_bare_number_has_the_unit_of_the_specification(
    config: type[Config], required: dict[str, str], second: int, key: str
) -> None:
    assert getattr(config.from_properties({**required, key: "7"}), key) == 7
    units = {row["key"]: row["unit"] for row in config.describe()}
    assert units[key] == ("milliseconds" if second == 1000 else "seconds")


@each_backend
@pytest.mark.parametrize("key", ["connect_timeout", "read_timeout"])
def test_a_key_with_the_suffix_millis_is_in_milliseconds(
    config: type[Config], required: dict[str, str], second: int, key: str
) -> None:
    for prefix in ("", f"{config.impl}."):
        found = config.from_properties({**required, f"{prefix}{key}_millis": "1500"})
        assert getattr(found, key) == pytest.approx(1.5 * second)
    same = {f"{key}_millis": "1500", key: "1500ms"}
    assert getattr(config.from_properties({**required, **same}), key) == 1.5 * second
    with pytest.raises(InvalidInputError, match="different values"):
        config.from_properties({**required, f"{key}_millis": "1500", key: "2s"})


INVALID = ("soon", "10 parsecs", "10x", "", "-1s", "inf", "nan", "1s1s")


@pytest.mark.parametrize(
    ("config", "required", "text"),
    [
        *((RestConfig, {"uri": URI}, text) for text in INVALID),
        *((IcebergConfig, {"endpoint": URI}, text) for text in INVALID),
        *((*each.values[:2], "10x") for each in CONFIGS),
    ],
)
def test_an_invalid_duration_is_rejected(
    config: type[Config], required: dict[str, str], text: str
) -> None:
    with pytest.raises(InvalidInputError, match=r"'read_timeout'.*'10s'"):
        config.from_properties({**required, "read_timeout": text})


@pytest.mark.parametrize(("text", "seconds"), [("3600s", 3600), ("1h", 3600), ("900", 900)])
def test_a_duration_in_whole_seconds(text: str, seconds: int) -> None:
    assert GlueConfig.from_properties(
        {"assume_role_arn": "arn:aws:iam::123456789012:role/r", "assume_role_timeout_sec": text}
    ).assume_role_timeout_sec == seconds  # fmt: skip
    with pytest.raises(InvalidInputError, match="'assume_role_timeout_sec' must be whole number"):
        GlueConfig.from_properties({"assume_role_timeout_sec": "900500ms"})


@pytest.mark.parametrize(
    ("text", "unit", "seconds"),
    [
        ("2", "seconds", 2),
        ("2", "milliseconds", 0.002),
        ("2s", "milliseconds", 2),
        ("10s", "seconds", 10),
        ("500ms", "seconds", 0.5),
        ("2m", "seconds", 120),
        (" 1.5 s ", "seconds", 1.5),
    ],
)
def test_the_default_unit_applies_only_to_a_bare_number(
    text: str, unit: Any, seconds: float
) -> None:
    assert parse_duration(text, unit).total_seconds() == seconds
