"""Every row of the settings table is correct: a setting is accepted, rejected, or warned about."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from lance_namespace_client.errors import InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.hive import config

PAGE = Path(__file__).parents[2] / "docs" / "migration.md"
ROW = re.compile(r"\| (?P<backends>[^|]+) \| `(?P<key>[^=`]+)=(?P<value>[^`]*)` \| (?P<here>.+) \|")
# The properties that each backend needs in addition to the setting of a row.
NEEDED = {
    "dir": {"root": "lake"},
    "rest": {"uri": "http://localhost:2333"},
    "glue": {"region": "us-west-2", "access_key_id": "a", "secret_access_key": "s"},
    "hive2": {},
    "hive3": {},
    "unity": {"endpoint": "http://localhost:8080"},
    "polaris": {"endpoint": "http://localhost:8181"},
    "iceberg": {"endpoint": "http://localhost:8181"},
}
# Settings that have an effect only together with others.
WITH = {
    "rest.sigv4-enabled": {"rest.signing-region": "us-west-2"},
    "auth.oauth.clientId": {"auth.oauth.clientSecret": "s"},
    "auth.oauth.clientSecret": {"auth.oauth.clientId": "c"},
}


class Provider:
    """The class that a row of the table names."""

    def provide_context(self, info: dict[str, str]) -> dict[str, str]:
        return {}


def rows() -> list[tuple[str, str, str, str]]:
    """Return backend, key, value and verdict of every row."""
    found = []
    for match in ROW.finditer(PAGE.read_text("utf-8")):
        named = match["backends"]
        backends = list(NEEDED) if named == "all" else re.findall(r"`(\w+)`", named)
        found += [(each, match["key"], match["value"], match["here"]) for each in backends]
    return found


def test_the_table_has_every_backend_and_verdict() -> None:
    found = rows()
    assert len(found) > 90
    assert {backend for backend, *_ in found} == set(NEEDED)
    verdicts = {re.split(r"\W", here)[0] for *_, here in found}
    assert verdicts == {"Same", "Unit", "Ignored", "Refused"}


@pytest.mark.parametrize(("backend", "key", "value", "here"), rows())
def test_a_row_is_correct(
    backend: str, key: str, value: str, here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # The rows are about settings, and gssapi is not part of the extra `all`.
    monkeypatch.setattr(config, "require_gssapi", lambda: None)
    monkeypatch.setitem(sys.modules, "my", SimpleNamespace(Provider=Provider))
    (tmp_path / "lake").mkdir()
    given = {**NEEDED[backend], **WITH.get(key, {}), key: value}
    if backend == "rest" and key == "root":
        with pytest.raises(InvalidInputError, match="has no effect here"):
            connect(backend, given)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if here.startswith("Refused"):
            with pytest.raises(InvalidInputError) as refused:
                connect(backend, given)
            assert refused.value.code == 13
            assert f"'{key}'" in refused.value.message
            for advice in re.findall(r"`([^`]+)`", here):
                assert advice in refused.value.message
        else:
            connect(backend, given).close()
    assert bool([each for each in caught if key in str(each.message)]) == here.startswith("Unit")
    for also in re.findall(r"(?:also|;) `([\w-]+)`", here):
        others = {name: text for name, text in NEEDED[backend].items() if name != key}
        others |= WITH.get(key, {})
        configs = [connect(backend, {**others, name: value}).config for name in (key, also)]
        assert configs[0] == configs[1]


@pytest.mark.parametrize(
    ("backend", "seconds"), [("unity", 10_000), ("polaris", 10), ("iceberg", 10)]
)
def test_the_units_match_the_table(backend: str, seconds: float) -> None:
    properties = {**NEEDED[backend], "connect_timeout": "10000"}
    if seconds > 10:
        with pytest.warns(UserWarning, match=r"is 10000 seconds; write '10000ms' for"):
            namespace = connect(backend, properties)
    else:
        namespace = connect(backend, properties)
    assert namespace.config.timeout().connect == seconds
    for spelled in ("10s", "10000ms"):
        namespace = connect(backend, {**NEEDED[backend], "connect_timeout": spelled})
        assert namespace.config.timeout().connect == 10
