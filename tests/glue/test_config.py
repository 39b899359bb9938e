"""Properties of a Glue namespace."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.glue import GlueConfig, GlueNamespace

from .conftest import Connect

SPECIFIED = {
    "catalog_id",
    "endpoint",
    "region",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "assume_role_arn",
    "assume_role_region",
    "assume_role_external_id",
    "assume_role_session_name",
    "assume_role_timeout_sec",
}


@pytest.mark.requirement("glue.config.properties")
def test_has_all_properties_of_the_specification() -> None:
    rows = {row["key"]: row for row in GlueConfig.describe()}
    assert rows.keys() >= SPECIFIED | {"profile_name", "max_retries", "retry_mode", "root"}
    assert "storage.*" in rows
    assert not any(rows[key]["required"] for key in SPECIFIED)
    assert rows["assume_role_timeout_sec"]["default"] == 3600
    secret = {key for key, row in rows.items() if row["secret"]}
    assert secret == {"access_key_id", "secret_access_key", "session_token"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"access_key_id": "a"}, "incomplete key pair: 'secret_access_key' is missing"),
        ({"secret_access_key": "s"}, "incomplete key pair: 'access_key_id' is missing"),
        ({"session_token": "t"}, "'session_token' needs"),
        ({"assume_role_external_id": "x"}, "no effect without 'assume_role_arn'"),
        ({"assume_role_region": "x"}, "no effect without 'assume_role_arn'"),
        ({"assume_role_session_name": "x"}, "no effect without 'assume_role_arn'"),
        ({"assume_role_timeout_sec": "60"}, "must be between 900 and 43200 seconds, not 60"),
        ({"assume_role_timeout_sec": "soon"}, "whole number"),
        ({"max_retries": "-1"}, "must be between 0 and 100"),
        ({"retry_mode": "often"}, "one of legacy, standard, adaptive"),
        ({"connect_timeout": "0"}, "seconds, not 0"),
        ({"default_namespace_type": "schema"}, "one of catalog, database"),
        ({"regoin": "eu"}, "did you mean 'region'"),
        (
            {"profile_name": "p", "access_key_id": "a", "secret_access_key": "s"},
            "two sets of credentials",
        ),
    ],
)
def test_wrong_properties_are_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        connect("glue", given)
    assert caught.value.code == 13


def test_keys_work_with_the_prefix_too() -> None:
    bare = GlueConfig.from_properties({"region": "eu-west-1", "storage.x": "y"})
    prefixed = GlueConfig.from_properties({"glue.region": "eu-west-1", "glue.storage.x": "y"})
    assert bare == prefixed


def test_a_closed_namespace_reconnects(namespace: GlueNamespace, database: str) -> None:
    namespace.namespace_exists({"id": [database]})
    namespace.close()
    namespace.namespace_exists({"id": [database]})


def test_timeouts_and_retries_reach_botocore(connected: Connect) -> None:
    made: Any = connected(
        max_retries=4, retry_mode="standard", connect_timeout=1.5, read_timeout=2.5
    )._glue()
    config = made.meta.config
    assert (config.connect_timeout, config.read_timeout) == (1.5, 2.5)
    assert config.retries["mode"] == "standard"
    assert config.retries["total_max_attempts"] == 5


def test_a_missing_extra_is_named_in_the_error() -> None:
    code = (
        "import sys; sys.modules['botocore'] = None\n"
        "from lance_namespace_impls import connect\n"
        "try: connect('glue', {})\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("InvalidInputError")
    assert "pip install 'lance-namespace-kit[glue]'" in done.stdout


def test_first_calls_import_no_heavy_modules(properties: dict[str, Any], database: str) -> None:
    code = (
        "import sys, json\n"
        "from lance_namespace_impls import connect\n"
        "glue = connect('glue', json.loads(sys.argv[1]))\n"
        "glue.declare_table({'id': ['db', 't']})\n"
        "glue.describe_table({'id': ['db', 't']})\n"
        "heavy = {'pyarrow', 'lance', 'numpy', 'pandas', 'httpx', 'boto3'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, json.dumps(properties)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
