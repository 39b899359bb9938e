"""A bare number that probably has the wrong unit causes a warning; an explicit unit does not."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from lance_namespace_impls.hive import Hive2Config
from lance_namespace_impls.polaris import PolarisConfig
from lance_namespace_impls.rest import RestConfig
from lance_namespace_impls.unity import UnityConfig

SERVER = "http://localhost:8181"
NEEDED: dict[Any, dict[str, str]] = {
    Hive2Config: {},
    PolarisConfig: {"endpoint": SERVER},
    RestConfig: {"uri": SERVER},
    UnityConfig: {"endpoint": SERVER},
}


@pytest.mark.parametrize(
    ("config", "key", "value", "words"),
    [
        (
            UnityConfig,
            "connect_timeout",
            "10000",
            "10000 seconds; write '10000ms' for milliseconds",
        ),
        (UnityConfig, "unity.read_timeout", 300_000, "'unity.read_timeout' is 300000 seconds"),
        (RestConfig, "read_timeout", "1e4", "10000 seconds"),
        (Hive2Config, "read_timeout", "60000", "60000 seconds"),
        (PolarisConfig, "connect_timeout", "10", "10 milliseconds; write '10s' for seconds"),
        (PolarisConfig, "read_timeout", "60", "or '60ms' to confirm"),
    ],
)
def test_a_number_in_the_wrong_unit_causes_a_warning(
    config: Any, key: str, value: Any, words: str
) -> None:
    with pytest.warns(UserWarning, match=words):
        config.from_properties({**NEEDED[config], key: value})


@pytest.mark.parametrize(
    ("config", "key", "value"),
    [
        (UnityConfig, "connect_timeout", "10"),
        (UnityConfig, "read_timeout", "10000s"),
        (UnityConfig, "read_timeout", "3h"),
        (UnityConfig, "connect_timeout_millis", "10000"),
        (UnityConfig, "connect_timeout_millis", "10"),
        (RestConfig, "read_timeout", "900"),
        (RestConfig, "connect_timeout", "0.01"),
        (PolarisConfig, "connect_timeout", "10000"),
        (PolarisConfig, "connect_timeout", "10ms"),
        (PolarisConfig, "read_timeout", "300000"),
    ],
)
def test_plausible_numbers_and_numbers_with_a_unit_cause_no_warning(
    config: Any, key: str, value: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config.from_properties({**NEEDED[config], key: value})
