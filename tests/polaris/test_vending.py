"""Credentials that Polaris vends for a table's storage are used and renewed.

These tests use only the double: Polaris 1.4.1 returns an empty list for generic tables.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
from attrs import define, field

from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.polaris import PolarisNamespace
from lance_namespace_impls.polaris import namespace as polaris
from lance_namespace_impls.polaris.vending import vended_options
from tests.servers.polaris_tables import DELEGATION, PolarisTables
from tests.servers.s3 import Asked, GuardedS3

from .subject import properties_for

pytestmark = pytest.mark.s3

ROWS = pa.table({"x": list(range(10))})
DB, T = ["lake", "db"], ["lake", "db", "t"]
LIFE = 0.3
"""The stated lifetime of a key in seconds; the store rejects it after a test has expired it."""


@define
class Keys:
    """Vends another key with each response; the store accepts only these keys."""

    store: GuardedS3
    given: dict[str, float] = field(factory=dict)
    """The stated expiry of each key, in seconds since 1970."""
    ended: set[str] = field(factory=set)
    only_loading: bool = False
    """Whether the response to a table's creation has no key."""

    def __call__(self, table: Mapping[str, Any], asked: Any) -> list[dict[str, Any]]:
        if self.only_loading and asked.method == "POST":
            return []
        key = f"vended-{len(self.given)}"
        self.given[key] = time.time() + LIFE
        config = {
            "s3.access-key-id": key,
            "s3.secret-access-key": "secret",
            "s3.session-token": "token",
            "s3.session-token-expires-at-ms": str(round(self.given[key] * 1000)),
            "s3.endpoint": self.store.uri,
            "s3.path-style-access": "true",
            "client.region": "us-east-1",
        }
        wrong = {**config, "s3.access-key-id": "another-prefix"}
        return [
            {"prefix": f"s3://{self.store.bucket}", "config": wrong},
            {"prefix": table["base-location"], "config": config},
        ]

    def refuses(self, asked: Asked) -> bool:
        own = asked.access_key == "test-itself"
        return not own and (asked.access_key not in self.given or asked.access_key in self.ended)

    def end(self) -> None:
        """Wait until every key has expired, and make the store reject them."""
        given = dict(self.given)
        time.sleep(max(0.0, max(given.values()) - time.time()))
        self.ended.update(given)


@pytest.fixture
def keys(s3: GuardedS3) -> Iterator[Keys]:
    keys = Keys(s3)
    s3.clear()
    s3.refuses = keys.refuses
    yield keys
    s3.clear()


@pytest.fixture
def server(s3: GuardedS3, keys: Keys) -> Iterator[PolarisTables]:
    with PolarisTables(f"s3://{s3.bucket}/lake") as running:
        running.vends = keys
        yield running


@pytest.fixture
def lake(server: PolarisTables) -> Iterator[PolarisNamespace]:
    """A connection without any storage option, with a namespace ``db``."""
    with PolarisNamespace.from_properties(properties_for(server)) as namespace:
        namespace.create_namespace({"id": DB})
        yield namespace


@pytest.mark.parametrize("only_loading", [False, True])
def test_rows_are_written_and_read_with_vended_keys(
    lake: PolarisNamespace, keys: Keys, s3: GuardedS3, only_loading: bool
) -> None:
    keys.only_loading = only_loading
    lake.create_table({"id": T}, ROWS)
    lake.insert_into_table({"id": T}, ROWS)
    assert lake.count_table_rows({"id": T}).count == 20
    used = {each.access_key for each in s3.asked if each.access_key != "test-itself"}
    assert used and used <= keys.given.keys()
    options = lake.describe_table({"id": T}).storage_options
    assert options is not None
    newest = list(keys.given)[-1]
    assert options["aws_access_key_id"] == newest
    assert options["expires_at_millis"] == str(round(keys.given[newest] * 1000))


def test_keys_are_renewed_during_a_read(lake: PolarisNamespace, keys: Keys, s3: GuardedS3) -> None:
    lake.create_table({"id": T}, ROWS)
    for _ in range(3):
        lake.insert_into_table({"id": T}, ROWS)
    dataset = lake.open_table(T)
    keys.end()
    assert sum(batch.num_rows for batch in dataset.scanner(batch_size=5).to_batches()) == 40
    keys.end()
    assert dataset.count_rows("x < 5") == 20


def test_a_drop_deletes_with_vended_keys(lake: PolarisNamespace, s3: GuardedS3) -> None:
    lake.create_table({"id": T}, ROWS)
    assert s3.objects()
    lake.drop_table({"id": T})
    assert not s3.objects()


def test_old_rows_do_not_reappear(lake: PolarisNamespace) -> None:
    old = lake.create_table({"id": T}, ROWS)
    lake.deregister_table({"id": T})
    new = lake.create_table({"id": T}, ROWS.slice(0, 1))
    assert new.location != old.location
    assert lake.count_table_rows({"id": T}).count == 1
    lake.deregister_table({"id": T})
    declared = lake.declare_table({"id": T})
    assert declared.location not in (old.location, new.location)
    lake.register_table({"id": [*DB, "old"], "location": old.location})
    assert lake.count_table_rows({"id": [*DB, "old"]}).count == 10


@pytest.mark.filterwarnings("ignore:.*cannot be (read|looked at|written to)")
def test_vended_keys_override_configured_ones(server: PolarisTables, s3: GuardedS3) -> None:
    configured = {f"storage.{key}": value for key, value in s3.options("configured").items()}
    with PolarisNamespace.from_properties(properties_for(server, **configured)) as namespace:
        namespace.create_namespace({"id": DB})
        namespace.declare_table({"id": T})
        options = namespace.describe_table({"id": T}).storage_options or {}
        assert options["aws_access_key_id"].startswith("vended-")
        assert options["aws_session_token"] == "token"
        assert "configured" not in options.values()


def test_no_keys_are_requested_if_vending_is_disabled(server: PolarisTables, s3: GuardedS3) -> None:
    configured = {f"storage.{key}": value for key, value in s3.options("configured").items()}
    more = {"vended_credentials": "false", **configured}
    with PolarisNamespace.from_properties(properties_for(server, **more)) as namespace:
        namespace.create_namespace({"id": DB})
        s3.refuses = lambda asked: False
        namespace.create_table({"id": T}, ROWS)
        options = namespace.describe_table({"id": T}).storage_options or {}
    assert options["aws_access_key_id"] == "configured"
    assert not any(DELEGATION in asked.headers for asked in server.asked)


def test_secrets_are_not_shown(lake: PolarisNamespace, keys: Keys) -> None:
    lake.create_table({"id": T}, ROWS)
    entry = lake.load_table(tuple(T))
    key = list(keys.given)[-1]
    for shown in (repr(entry), repr(lake.storage_of(entry)), repr(lake)):
        assert key not in shown
        assert "'secret'" not in shown


@pytest.mark.parametrize("error", [OSError, RuntimeError, ValueError])
def test_a_location_that_cannot_be_checked_is_used_with_a_warning(
    lake: PolarisNamespace, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(entry: TableEntry) -> bool:
        raise error("no luck")

    monkeypatch.setattr(lake, "has_data", fail)
    said = (
        r"/lake/db/t cannot be checked; rows .* will become rows of lake\.db\.t: storage: .*no luck"
    )
    with pytest.warns(UserWarning, match=said) as warned:
        location = lake.declare_table({"id": T}).location
    assert location is not None and location.endswith("/lake/db/t")
    assert [each.filename for each in warned] == [polaris.__file__]


AZURE = "abfss://files@account.dfs.core.windows.net/lake/t"


@pytest.mark.parametrize(
    ("location", "config", "wanted"),
    [
        (
            "gs://bucket/t",
            {"gcs.oauth2.token": "g", "gcs.oauth2.token-expires-at": "7"},
            {"google_storage_token": "g", "expires_at_millis": "7"},
        ),
        (
            AZURE,
            {
                "adls.sas-token.account.dfs.core.windows.net": "sas",
                "adls.sas-token-expires-at-ms.account.dfs.core.windows.net": "7",
            },
            {
                "azure_storage_account_name": "account",
                "azure_storage_sas_token": "sas",
                "expires_at_millis": "7",
            },
        ),
        (
            AZURE,
            {"adls.sas-token.account": "sas"},
            {"azure_storage_account_name": "account", "azure_storage_sas_token": "sas"},
        ),
        (AZURE, {"adls.sas-token.other": "sas"}, {}),
        (
            "s3a://bucket/t",
            {"s3.endpoint": "http://host", "s3.path-style-access": "false", "s3.region": "eu"},
            {
                "aws_endpoint": "http://host",
                "allow_http": "true",
                "aws_region": "eu",
                "aws_virtual_hosted_style_request": "true",
            },
        ),
        ("s3://bucket/t", {"s3.access-key-id": None}, {}),
        (
            "s3://bucket/t",
            {
                "s3.access-key-id": "id",
                "s3.secret-access-key": "key",
                "s3.session-token": "token",
                "s3.session-token-expires-at-ms": "7",
                "s3.client.region": "us",
                "s3.path-style-access": "true",
                "s3.endpoint": "https://host",
            },
            {
                "aws_access_key_id": "id",
                "aws_secret_access_key": "key",
                "aws_session_token": "token",
                "expires_at_millis": "7",
                "aws_region": "us",
                "aws_endpoint": "https://host",
            },
        ),
    ],
)
def test_storage_options_of_each_store(
    location: str, config: dict[str, str], wanted: dict[str, str]
) -> None:
    prefix = location.replace("s3a:", "s3:")
    assert (
        vended_options(location, {"storage-access-configs": [{"prefix": prefix, "config": config}]})
        == wanted
    )


@pytest.mark.parametrize(
    ("prefixes", "chosen"),
    [
        (["s3://b", "s3://b/l/t", "s3://b/l"], "s3://b/l/t"),
        (["s3://b/l/tt", "s3://b/l/"], "s3://b/l/"),
        (["s3://b/l/t/deeper"], None),
        (["", "s3://other"], ""),
    ],
)
def test_the_longest_prefix_is_used(prefixes: list[str], chosen: str | None) -> None:
    configs = [{"prefix": each, "config": {"client.region": each}} for each in prefixes]
    found = vended_options("s3://b/l/t", {"storage-access-configs": configs})
    assert found == ({} if chosen is None else {"aws_region": chosen})
