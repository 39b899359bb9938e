"""lance-ns versions, and --as-of on the commands that read a table."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from lance_namespace_impls.cli import row_diff
from lance_namespace_impls.cli.failures import Status
from lance_namespace_impls.server import serving

from .lakes import Lake, run

HEADERS = ["Version", "Committed", "Operation", "Rows", "Added", "Removed", "Tags"]


@pytest.fixture
def letters(lake: Lake) -> Lake:
    """Return a catalog with a table whose versions have 3, 4, 4, 3, 3 and 1 rows."""
    with lake.connect() as namespace:
        table = namespace.table("letters").create({"id": [1, 2, 3], "x": ["a", "b", "c"]})
        table.tags.create("first", 1)
        table.tags.create("start", 1)
        table.add({"id": [4], "x": ["d"]})
        table.update("id < 3", {"x": "z"})
        table.delete("id = 4")
        table.add_columns({"y": "id * 2"})
        table.add({"id": [9], "x": ["q"], "y": [0]}, mode="overwrite")
    return lake


def committed(lake: Lake) -> dict[int, str]:
    listed = lake.json("versions", "letters")["versions"]
    return {each["version"]: each["committed"] for each in listed}


def test_versions_show_operations_rows_and_tags(letters: Lake) -> None:
    listed = letters.json("versions", "letters")["versions"]
    keys = ("version", "operation", "rows", "rows_added", "rows_removed", "tags")
    assert [tuple(each[key] for key in keys) for each in listed] == [
        (6, "Overwrite", 1, 1, 3, []),
        (5, "Merge", 3, 0, 0, []),
        (4, "Delete", 3, 0, 1, []),
        (3, "Update", 4, 2, 2, []),
        (2, "Append", 4, 1, 0, []),
        (1, "Overwrite", 3, 3, 0, ["first", "start"]),
    ]
    lines = letters.run("versions", "letters").stdout.splitlines()
    assert lines[0].split() == HEADERS
    assert lines[6].split()[3:] == ["Overwrite", "3", "3", "0", "first,", "start"]
    [newest] = letters.json("versions", "letters", "-n", "1")["versions"]
    assert (newest["version"], newest["rows_removed"]) == (6, 3)


def test_the_rows_of_a_restored_version_are_not_guessed(letters: Lake) -> None:
    letters.run("restore", "letters", "1")
    [newest] = letters.json("versions", "letters", "-n", "1")["versions"]
    assert newest["operation"] == "Restore" and newest["rows"] == 3
    assert newest["rows_added"] is newest["rows_removed"] is None


def test_the_rows_before_a_deleted_version_are_unknown(letters: Lake) -> None:
    with letters.connect() as namespace:
        ranges = [{"start_version": 3, "end_version": 4}]
        namespace.batch_delete_table_versions({"id": ["letters"], "ranges": ranges})
    listed = {each["version"]: each for each in letters.json("versions", "letters")["versions"]}
    assert sorted(listed) == [1, 2, 4, 5, 6]
    assert listed[4]["rows"] == 3
    assert listed[4]["rows_added"] is listed[4]["rows_removed"] is None


def test_versions_of_a_branch(letters: Lake) -> None:
    letters.run("branch", "create", "letters", "trial", "--version", "1")
    later = ("--branch", "trial", "--as-of", "2999-01-01")
    assert letters.json("count", "letters", *later)["count"] == 3
    letters.error("describe", "letters", *later, status=Status.USAGE)
    with letters.connect() as namespace:
        table = namespace.table("letters", branch="trial")
        table.add({"id": [5, 6], "x": ["e", "f"]})
        table.tags.create("tried", table.version)
    [newest] = letters.json("versions", "letters", "-n", "1", "--branch", "trial")["versions"]
    assert (newest["operation"], newest["rows_added"], newest["tags"]) == ("Append", 2, ["tried"])
    tags = [each["tags"] for each in letters.json("versions", "letters")["versions"]]
    assert ["tried"] not in tags


def test_a_server_returns_times_and_tags(letters: Lake) -> None:
    with letters.connect() as namespace, serving(namespace) as uri:
        remote = Lake("rest", uri=uri)
        listed = remote.json("versions", "letters")["versions"]
        assert [each["tags"] for each in listed][-1] == ["first", "start"]
        assert {each["operation"] for each in listed} == {each["rows"] for each in listed} == {None}
        at = listed[3]["committed"]
        assert remote.run("count", "letters", "--as-of", at).stdout in ("3\n", "4\n")
        assert remote.json("sql", "SELECT count(*) AS n FROM letters", "--as-of", at)["rows"]
        message = remote.error("stats", "letters", "--version", "1", status=Status.UNSUPPORTED)
        assert "only the latest version" in message
        found = remote.json("diff", "letters", "1", "2", "--rows", "--key", "id")["changes"]
        assert (found["matched_by"], found["added"], found["removed"]) == ("key", 1, 0)
        assert found["rows"] == [{"change": "added", "old": None, "new": {"id": 4, "x": "d"}}]


def test_as_of_selects_the_latest_version_at_a_time(letters: Lake, tmp_path: Path) -> None:
    for version, moment in committed(letters).items():
        at, same = ("--as-of", moment), ("--version", str(version))
        for command in (
            ("head", "letters"), ("schema", "letters"), ("count", "letters"),
            ("query", "letters", "--where", "id > 1"), ("stats", "letters"),
            ("describe", "letters"),
        ):  # fmt: skip
            assert letters.json(*command, *at) == letters.json(*command, *same)
        counted = letters.json("sql", "SELECT count(*) AS n FROM letters", *at)["rows"]
        assert counted == [{"n": letters.json("count", "letters", *same)["count"]}]
        file = tmp_path / f"{version}.parquet"
        assert letters.json("export", "letters", str(file), *at)["rows"] == counted[0]["n"]
        copied = letters.json("cp", "letters", f"copy_{version}", *at)
        assert copied["rows"] == counted[0]["n"]
        assert letters.json("diff", "letters", *at) == letters.json("diff", "letters", str(version))
    assert letters.json("restore", "letters", *at)["restored"] == version


def test_a_time_without_zone_is_local(letters: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime.fromisoformat(committed(letters)[2])
    assert moment.tzinfo == UTC
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        local = moment.astimezone().replace(tzinfo=None)
        assert local.hour == (moment.hour + 9) % 24
        assert letters.json("count", "letters", "--as-of", local.isoformat())["count"] == 4
        assert letters.json("count", "letters", "--as-of", "2999-01-01")["count"] == 1
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_time_before_the_first_version(letters: Lake) -> None:
    oldest = committed(letters)[1]
    for command in (("count", "letters"), ("describe", "letters"), ("sql", "FROM letters")):
        said = letters.error(*command, "--as-of", "2001-02-03", status=Status.NOT_FOUND)
        assert "table letters: there is no version at or before 2001-02-03" in said
        assert f"the first version, 1, is from {oldest}" in said


@pytest.mark.parametrize("other", [("--version", "1"), ("--tag", "first")])
@pytest.mark.parametrize("command", ["head", "schema", "count", "query", "stats", "describe"])
def test_only_one_option_selects_the_version(
    letters: Lake, command: str, other: tuple[str, str]
) -> None:
    options = ("--as-of", "2999-01-01", *other)
    said = letters.error(command, "letters", *options, status=Status.USAGE)
    assert f"{other[0]} and --as-of are mutually exclusive" in said


@pytest.mark.parametrize("text", ["yesterday", "2h ago", "", "2026-13-01"])
def test_a_time_that_cannot_be_parsed(letters: Lake, text: str) -> None:
    for command in (("count", "letters"), ("sql", "FROM letters"), ("describe", "letters")):
        said = letters.error(*command, "--as-of", text, status=Status.USAGE)
        assert "expected a time such as" in said


def test_near_miss_options(letters: Lake) -> None:
    assert letters.json("restore", "letters", "--version", "1") == {"restored": 1, "version": 7}
    assert letters.json("restore", "letters", "--tag", "first")["restored"] == 1
    for options in ((), ("1", "--version", "1")):
        said = letters.error("restore", "letters", *options, status=Status.USAGE)
        assert "exactly one of VERSION, --version, --tag and --as-of" in said
    assert letters.run("count", "letters", "--filter", "id > 1").stdout == "2\n"
    rows = letters.json("head", "letters", "--limit", "1", "--columns", "x")["rows"]
    assert rows == [{"x": "a"}]
    said = letters.error("count", "letters", "--wher", "id > 1", status=Status.USAGE)
    assert "did you mean" in said and "--where?" in said


# --- diff --rows


def create(lake: Lake, *, stable: bool) -> None:
    import lance

    path = f"{lake.options[3].partition('=')[2]}/t.lance"
    rows = pa.table({"id": [1, 2, 3], "x": [1.0, None, float("nan")], "s": ["a", "b", "c"]})
    lance.write_dataset(rows, path, enable_stable_row_ids=stable)
    with lake.connect() as namespace:
        table = namespace.table("t")
        table.add({"id": [4, 5], "x": [4.0, 5.0], "s": ["d", "e"]})
        table.update("id = 1", {"s": "A"})
        table.delete("id = 2")
        table.add({"id": [6], "x": [6.0], "s": ["f"]})


def row(number: int, x: object, s: str) -> dict[str, object]:
    return {"id": number, "x": x, "s": s}


@pytest.mark.parametrize(("stable", "options"), [(True, ()), (False, ("--key", "id"))])
def test_changed_rows_between_versions(lake: Lake, stable: bool, options: tuple[str, ...]) -> None:
    create(lake, stable=stable)
    found = lake.json("diff", "t", "2", "5", "--rows", *options)["changes"]
    assert found == {
        "matched_by": "row id" if stable else "key",
        "removed": 1,
        "added": 1,
        "changed": 1,
        "rows": [
            {"change": "removed", "old": row(2, None, "b"), "new": None},
            {"change": "added", "old": None, "new": row(6, 6.0, "f")},
            {"change": "changed", "old": row(1, 1.0, "a"), "new": row(1, 1.0, "A")},
        ],
    }
    lines = lake.run("diff", "t", "2", "5", "--rows", *options).stdout.splitlines()
    by = "row id" if stable else "key"
    assert lines[2] == f"rows matched by {by}: 1 removed, 1 added, 1 changed"
    assert [line.split() for line in lines[3:]] == [
        ["id", "x", "s"],
        ["-", "2", "null", "b"],
        ["+", "6", "6", "f"],
        ["~", "1", "1", "a", "->", "A"],
    ]


def test_rows_without_key_are_a_multiset(lake: Lake) -> None:
    with lake.connect() as namespace:
        table = namespace.table("t").create({"a": [1, 1, 2]})
        table.add({"a": [1, 3, 3]}, mode="overwrite")
    found = lake.json("diff", "t", "1", "2", "--rows", "--limit", "1")["changes"]
    assert found == {
        "matched_by": "row",
        "removed": 2,
        "added": 2,
        "changed": 0,
        "rows": [
            {"change": "removed", "old": {"a": 1}, "new": None},
            {"change": "added", "old": None, "new": {"a": 3}},
        ],
    }
    text = lake.run("diff", "t", "1", "2", "--rows", "-n", "1").stdout
    assert text.splitlines()[-1] == "2 more; --limit sets how many are shown"
    assert lake.json("diff", "t", "1", "1", "--rows")["changes"]["rows"] == []


def test_only_common_columns_are_compared(letters: Lake) -> None:
    found = letters.json("diff", "letters", "1", "5", "--rows", "--key", "id")["changes"]
    assert (found["removed"], found["added"], found["changed"]) == (0, 0, 2)
    assert found["rows"][0]["new"] == {"id": 1, "x": "z"}
    said = letters.error("diff", "letters", "1", "5", "--rows", "--key", "y", status=3)
    assert "column 'y' does not exist in both versions" in said


def test_exchanged_column_names_change_rows(lake: Lake) -> None:
    with lake.connect() as namespace:
        table = namespace.table("t").create({"a": [1, 2], "b": [3, 4]})
        for old, new in (("a", "c"), ("b", "a"), ("c", "b")):
            table.alter_columns({"path": old, "rename": new})
    found = lake.json("diff", "t", "1", "--rows")["changes"]
    assert (found["removed"], found["added"]) == (2, 2)


def test_shared_data_files_are_not_read(lake: Lake) -> None:
    create(lake, stable=True)
    with lake.connect() as namespace:
        old, new = (namespace.table("t", version=number) for number in (4, 5))
        unshared = row_diff._Sides(old, new, ["id", "x", "s"])._unshared()
        assert [sum(each.count_rows() for each in side) for side in unshared] == [0, 1]
        assert len(namespace.open_table("t").get_fragments()) > 1
    found = lake.json("diff", "t", "4", "5", "--rows")["changes"]
    assert (found["removed"], found["added"], found["changed"]) == (0, 1, 0)


def test_a_key_must_be_unique(lake: Lake) -> None:
    with lake.connect() as namespace:
        table = namespace.table("t").create({"a": [1, 1, 2]})
        table.update("a = 2", {"a": 3})
    said = lake.error("diff", "t", "1", "--rows", "--key", "a", status=Status.INVALID)
    assert "--key a: 1 values occur more than once in the old version" in said


def test_invalid_options_of_diff(letters: Lake) -> None:
    for options in (
        ("1", "--key", "id"),
        ("1", "--limit", "3"),
        (),
        ("1", "--as-of", "2999-01-01"),
    ):
        letters.error("diff", "letters", *options, status=Status.USAGE)


# --- profiles and tokens


def test_profiles_are_listed_without_secrets(tmp_path: Path) -> None:
    file = tmp_path / "ns.toml"
    file.write_text(
        '[prod]\nimpl = "rest"\nuri = "https://bo:pw-3141@example.com"\nauth_token = "s3cr3t"\n'
        'storage.aws_region = "eu"\nstorage.aws_secret_access_key = "k3y"\n'
        '[env]\nimpl = "rest"\nuri = "https://example.com"\nauth_token = "${NOT_SET_ANYWHERE}"\n'
        '[mixed]\nimpl = "rest"\nauth_token = "ab${X}"\n[odd]\nimpl = "none"\na = "hush"\n'
    )
    text = run("profiles", "list", "--config", str(file)).stdout
    for secret in ("pw-3141", "s3cr3t", "k3y", "ab$", "hush"):
        assert secret not in text
    listed = json.loads(run("profiles", "list", "--config", str(file), "--json").stdout)["profiles"]
    assert {each["name"]: each["properties"] for each in listed} == {
        "prod": {
            "auth_token": "***",
            "storage.aws_region": "eu",
            "storage.aws_secret_access_key": "***",
            "uri": "https://***@example.com",
        },
        "env": {"auth_token": "${NOT_SET_ANYWHERE}", "uri": "https://example.com"},
        "mixed": {"auth_token": "***"},
        "odd": {"a": "***"},
    }


def test_a_token_needs_no_server_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("lance_namespace_impls.server")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("starlette", "uvicorn", "httptools", "joserfc", "prometheus_client"):
        monkeypatch.setitem(sys.modules, name, None)
    assert json.loads(run("token", "new", "ana", "--json").stdout)["token"].startswith("lns_")
