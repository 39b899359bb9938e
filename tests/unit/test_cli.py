"""The commands of lance-ns, run in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import attrs
import lance
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from lance_namespace_client.errors import ErrorCode, error_for
from lance_namespace_client.models import ListNamespacesRequest, ListTablesRequest
from lance_namespace_client.operations import OPERATIONS
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.entry import TableEntry
from lance_namespace_impls.cli.app import app
from lance_namespace_impls.cli.failures import Status, status_of
from lance_namespace_impls.core.config import option
from lance_namespace_impls.memory import MemoryConfig, MemoryNamespace
from lance_namespace_impls.memory.namespace import catalog
from lance_namespace_impls.server import serving

ROWS = pa.table({"carrier": ["AA", "B6", "UA"], "delay": [1.5, None, 12.0]})
SECRET = "s3cr3t-value"


def two_a_page(model: Any, request: Any) -> Any:
    return attrs.evolve(model.coerce(request), limit=2)


class NestedNamespace(MemoryNamespace):
    """A catalog with namespaces at any level; its pages hold two names."""

    def list_tables(self, request: Any) -> Any:
        return super().list_tables(two_a_page(ListTablesRequest, request))

    def list_namespaces(self, request: Any) -> Any:
        return super().list_namespaces(two_a_page(ListNamespacesRequest, request))

    def list_all_tables(self, request: Any) -> Any:
        return super().list_all_tables(two_a_page(ListTablesRequest, request))


@attrs.define(kw_only=True)
class FailingConfig(MemoryConfig):
    impl: ClassVar[str] = "failing"

    code: int | None = option(default=None, doc="error code of every listing")
    api_key: str | None = option(default=None, secret=True, doc="something to keep quiet about")


class FailingNamespace(MemoryNamespace):
    """Fails every listing of tables."""

    config_type = FailingConfig
    config: FailingConfig

    def list_tables(self, request: Any) -> Any:
        if self.config.code is None:
            raise RuntimeError(f"first line\nsecond \x1b[31mline with {self.config.api_key}")
        raise error_for(self.config.code, f"refused: {self.config.api_key}")


def impl_of(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__name__}"


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IMPL", "PROPERTIES", "PROFILE", "CONFIG", "DELIMITER"):
        monkeypatch.delenv(f"LANCE_NS_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def run(*args: str, status: int = 0, env: dict[str, str] | None = None) -> Result:
    result = CliRunner().invoke(app, args, env=env)
    assert result.exit_code == status, result.output
    if status:
        assert len(result.stderr.splitlines()) == 1, result.stderr
    return result


class Lake:
    """A namespace of a test and the options that lead to it."""

    def __init__(self, impl: str, **properties: str) -> None:
        self.options = ["--impl", impl]
        for key, value in properties.items():
            self.options += ["-p", f"{key}={value}"]

    def run(self, *args: str, status: int = 0) -> Result:
        return run(*args, *self.options, status=status)

    def json(self, *args: str) -> Any:
        return json.loads(self.run(*args, "--json").stdout)

    def error(self, *args: str, status: int) -> str:
        result = self.run(*args, status=status)
        assert result.stdout == ""
        return result.stderr.strip()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake("dir", path=str(tmp_path / "lake"))


@pytest.fixture
def nested(tmp_path: Path) -> Lake:
    return Lake(impl_of(NestedNamespace), root=str(tmp_path / "nested"))


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(ROWS, path)
    return path


# --- ls


def test_ls_of_an_empty_catalog_is_empty(lake: Lake) -> None:
    assert lake.run("ls").stdout == ""
    document = {"id": [], "delimiter": "$", "namespaces": [], "tables": []}
    assert lake.json("ls") == document


def test_ls_shows_kind_and_name(nested: Lake) -> None:
    nested.run("create", "sales")
    nested.run("declare", "sales$orders")
    nested.run("declare", "flights")
    assert nested.run("ls").stdout == "namespace  sales\ntable      flights\n"
    assert nested.run("ls", "sales").stdout == "table      orders\n"


def test_ls_of_one_kind_is_names_alone(nested: Lake) -> None:
    nested.run("create", "sales")
    nested.run("declare", "flights")
    assert nested.run("ls", "--tables").stdout == "flights\n"
    assert nested.run("ls", "--namespaces").stdout == "sales\n"
    assert nested.json("ls", "-t") == {
        "id": [],
        "delimiter": "$",
        "namespaces": None,
        "tables": ["flights"],
    }
    assert nested.json("ls", "-n")["tables"] is None


def test_ls_walks_all_pages(nested: Lake) -> None:
    names = [f"t{number}" for number in range(7)]
    for name in names:
        nested.run("declare", name)
        nested.run("create", f"ns_{name}")
    assert nested.run("ls", "-t").stdout.split() == names
    found = nested.json("ls")
    assert found["tables"] == names
    assert found["namespaces"] == [f"ns_{name}" for name in names]


def test_ls_all_gives_identifiers_of_the_whole_catalog(nested: Lake) -> None:
    nested.run("create", "a")
    nested.run("create", "a$b")
    for table in ("t", "a$t", "a$b$t", "a$b$u"):
        nested.run("declare", table)
    assert nested.run("ls", "--all").stdout.split() == ["a$b$t", "a$b$u", "a$t", "t"]
    found = nested.json("ls", "--all", "--delimiter", "::")
    assert found["tables"] == ["a::b::t", "a::b::u", "a::t", "t"]
    assert found["delimiter"] == "::"


def test_ls_can_leave_out_tables_without_data(lake: Lake, rows: Path) -> None:
    lake.run("create", "full", "--data", str(rows))
    lake.run("declare", "declared")
    assert lake.run("ls", "-t").stdout.split() == ["declared", "full"]
    assert lake.run("ls", "-t", "--with-data").stdout.split() == ["full"]
    assert lake.run("ls", "--all", "--with-data").stdout.split() == ["full"]


def test_ls_of_a_missing_namespace(nested: Lake) -> None:
    message = "error 1 NamespaceNotFound: namespace nope does not exist"
    assert nested.error("ls", "nope", status=Status.NOT_FOUND) == message


def test_ls_json_of_a_missing_namespace_leaves_stdout_empty(nested: Lake) -> None:
    found = json.loads(nested.error("ls", "nope", "--json", status=Status.NOT_FOUND))
    assert found == {
        "error": "namespace nope does not exist",
        "code": 1,
        "name": "NamespaceNotFound",
        "detail": None,
        "instance": None,
        "status": 3,
    }


@pytest.mark.parametrize("flags", [("--tables", "--namespaces"), ("sales", "--all"), ("-n", "-a")])
def test_ls_refuses_options_that_exclude_each_other(nested: Lake, flags: tuple[str, ...]) -> None:
    nested.error("ls", *flags, status=Status.USAGE)


def test_names_cannot_steer_the_terminal(nested: Lake) -> None:
    nested.run("declare", "evil\x1b[2J\nname")
    assert nested.run("ls", "-t").stdout == "evil\\x1b[2J\\nname\n"
    assert nested.json("ls", "-t")["tables"] == ["evil\x1b[2J\nname"]


# --- describe


def test_describe_finds_a_table_before_a_namespace(nested: Lake) -> None:
    nested.run("create", "both", "--set", "owner=ana")
    held = catalog(nested.options[-1].removeprefix("root="))
    held.tables["both",] = TableEntry(id=("both",), location="/data/both", properties={})
    assert nested.json("describe", "both")["kind"] == "table"
    assert nested.json("describe", "both", "--namespace") == {
        "kind": "namespace",
        "id": ["both"],
        "properties": {"owner": "ana"},
    }


def test_describe_falls_back_to_the_namespace(nested: Lake) -> None:
    nested.run("create", "sales", "--set", "owner=ana")
    assert nested.run("describe", "sales").stdout == "namespace sales\n  owner  ana\n"


def test_describe_root(lake: Lake) -> None:
    assert lake.run("describe").stdout == "the root namespace\n"
    assert lake.json("describe", "$")["id"] == []


def test_describe_neither(nested: Lake, lake: Lake) -> None:
    message = "error 4 TableNotFound: table x does not exist, nor does a namespace of that name"
    assert nested.error("describe", "x", status=Status.NOT_FOUND) == message
    assert (
        lake.error("describe", "x", status=Status.NOT_FOUND)
        == "error 4 TableNotFound: table x does not exist"
    )


@pytest.mark.parametrize("flag", ["--table", "--details", "--namespace"])
def test_describe_looks_for_what_it_is_told(nested: Lake, flag: str) -> None:
    kind = "Namespace" if flag == "--namespace" else "Table"
    assert f"{kind}NotFound" in nested.error("describe", "x", flag, status=Status.NOT_FOUND)


def test_describe_without_details_does_not_open_the_table(lake: Lake, rows: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    found = lake.json("describe", "t")
    assert found["version"] is None
    assert found["num_rows"] is None
    assert found["location"].endswith("t.lance")


def test_describe_details(lake: Lake, rows: Path) -> None:
    lake.run("create", "t", "--data", str(rows), "--set", "source=test")
    found = lake.json("describe", "t", "--details")
    assert found["version"] == 1
    assert found["num_rows"] == 3
    assert found["stats"] == {"num_deleted_rows": 0, "num_fragments": 1}
    assert [field["name"] for field in found["schema"]["fields"]] == ["carrier", "delay"]
    assert found["properties"] == {"source": "test"}
    text = lake.run("describe", "t", "-d").stdout
    assert "  rows             3\n" in text
    assert "carrier  utf8     yes\n" in text


def test_describe_json_always_has_the_same_keys(lake: Lake, rows: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    lake.run("declare", "d")
    keys = lake.json("describe", "t", "--details").keys()
    assert lake.json("describe", "t").keys() == keys
    assert lake.json("describe", "d", "--details").keys() == keys


def test_describe_details_of_a_declared_table(lake: Lake) -> None:
    lake.run("declare", "later")
    assert "none yet: declared only" in lake.run("describe", "later", "--details").stdout
    found = lake.json("describe", "later", "--details")
    assert found["is_only_declared"] is True
    assert found["version"] is None


def test_describe_an_older_version(lake: Lake, rows: Path, tmp_path: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    fewer = tmp_path / "fewer.parquet"
    pyarrow.parquet.write_table(ROWS.slice(0, 1), fewer)
    lake.run("create", "t", "--data", str(fewer), "--mode", "overwrite")
    assert lake.json("describe", "t", "-d")["num_rows"] == 1
    assert lake.json("describe", "t", "--version", "1")["num_rows"] == 3
    assert lake.error("describe", "t", "--version", "9", status=Status.NOT_FOUND).startswith(
        "error 11 TableVersionNotFound: "
    )


def test_describe_hides_secret_storage_options(lake: Lake) -> None:
    lake.run("declare", "t")
    options = ("-p", f"storage.aws_secret_access_key={SECRET}", "-p", "storage.region=eu")
    text = lake.run("describe", "t", *options).output
    assert SECRET not in text
    assert "storage option region" in text
    document = lake.run("describe", "t", *options, "--json").output
    assert SECRET not in document
    assert json.loads(document)["storage_options"] == {
        "aws_secret_access_key": "***",
        "region": "eu",
    }


def test_describe_writes_nested_types_the_short_way(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "nested.arrow"
    inner = pa.struct([("x", pa.int8()), ("y", pa.list_(pa.string()))])
    schema = pa.schema([pa.field("v", pa.list_(pa.float32(), 4), nullable=False), ("s", inner)])
    write_file(path, pa.table({"v": [[1, 2, 3, 4]], "s": [{"x": 1, "y": ["a"]}]}, schema=schema))
    lake.run("create", "t", "--data", str(path))
    lines = lake.run("describe", "t", "-d").stdout.splitlines()
    assert "v       fixed_size_list<float32>[4]     no" in lines
    assert "s       struct<x: int8, y: list<utf8>>  yes" in lines


# --- create


def write_file(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def write_stream(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("rows.parquet", lambda path: pyarrow.parquet.write_table(ROWS, path)),
        ("rows.csv", lambda path: pyarrow.csv.write_csv(ROWS, path)),
        ("rows.arrow", lambda path: write_file(path, ROWS)),
        ("rows.feather", lambda path: write_file(path, ROWS)),
        ("rows.arrows", lambda path: write_stream(path, ROWS)),
    ],
)
def test_create_reads_every_format(lake: Lake, tmp_path: Path, name: str, write: Any) -> None:
    path = tmp_path / name
    write(path)
    made = lake.json("create", "t", "--data", str(path))
    assert made["rows_read"] == 3
    assert made["version"] == 1
    assert lance.dataset(made["location"]).to_table().to_pylist() == ROWS.to_pylist()


def test_create_takes_the_format_from_the_option(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "rows.dat"
    pyarrow.csv.write_csv(ROWS, path)
    assert "give --format" in lake.error("create", "t", "--data", str(path), status=Status.USAGE)
    lake.run("create", "t", "--data", str(path), "--format", "csv")


def test_create_of_a_file_that_is_not_what_its_name_says(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_text("a,b\n1,2\n")
    message = lake.error("create", "t", "--data", str(path), status=Status.INVALID)
    assert message.startswith(f"error 20 TableSchemaValidationError: {path}: Parquet magic bytes")
    assert lake.run("ls").stdout == ""


def test_create_names_the_file_that_breaks_off(lake: Lake, tmp_path: Path) -> None:
    path = tmp_path / "rows.arrows"
    big = pa.table({"n": range(200_000)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, big.schema) as writer:
        writer.write_table(big, max_chunksize=10_000)
    path.write_bytes(path.read_bytes()[:500_000])
    message = lake.error("create", "t", "--data", str(path), status=Status.INVALID)
    assert message.startswith(f"error 13 InvalidInput: {path} cannot be read as arrow: ")
    assert lake.run("ls").stdout == ""


def test_create_modes(lake: Lake, rows: Path) -> None:
    data = ("--data", str(rows))
    lake.run("create", "t", *data)
    assert (
        lake.error("create", "t", *data, status=Status.EXISTS)
        == "error 5 TableAlreadyExists: table t already exists"
    )
    assert "table t is there\n" in lake.run("create", "t", *data, "--mode", "exist_ok").stdout
    assert lake.json("create", "t", *data, "--mode", "OVERWRITE")["version"] == 2
    message = lake.error("create", "t", *data, "--mode", "append", status=Status.INVALID)
    assert "mode 'append' is not known" in message


def test_create_a_namespace(nested: Lake) -> None:
    made = nested.json("create", "sales", "--set", "owner=ana", "--set", "note=a=b")
    assert made == {
        "kind": "namespace",
        "id": ["sales"],
        "properties": {"owner": "ana", "note": "a=b"},
    }
    nested.error("create", "sales", status=Status.EXISTS)
    assert nested.run("create", "sales", "--mode", "ExistOk").stdout == "namespace sales is there\n"


def test_create_without_data_where_there_are_no_namespaces(lake: Lake) -> None:
    assert "for a table give --data FILE" in lake.error("create", "t", status=Status.INVALID)


def test_create_refuses_a_format_without_data(nested: Lake) -> None:
    nested.error("create", "sales", "--format", "csv", status=Status.USAGE)
    nested.error("describe", "sales", status=Status.NOT_FOUND)


def test_create_of_a_missing_file(lake: Lake, tmp_path: Path) -> None:
    message = lake.error("create", "t", "--data", str(tmp_path / "no.csv"), status=Status.USAGE)
    assert "does not exist" in message


# --- declare and drop


def test_declare(nested: Lake, tmp_path: Path) -> None:
    place = str(tmp_path / "elsewhere")
    made = nested.json("declare", "t", "--location", place, "--set", "owner=ana")
    assert made == {
        "kind": "table",
        "id": ["t"],
        "location": place,
        "properties": {"owner": "ana"},
    }
    assert nested.run("declare", "u").stdout.startswith("table u declared\n  location  ")


def test_drop_deletes_the_data(lake: Lake, rows: Path, tmp_path: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    assert (tmp_path / "lake" / "t.lance").exists()
    assert lake.run("drop", "t", "--yes").stdout == "table t dropped\n"
    assert not (tmp_path / "lake" / "t.lance").exists()
    lake.error("drop", "t", "--yes", status=Status.NOT_FOUND)


def test_drop_needs_yes_where_nobody_can_answer(lake: Lake, rows: Path) -> None:
    lake.run("create", "t", "--data", str(rows))
    assert "give --yes" in lake.error("drop", "t", status=Status.USAGE)
    assert lake.run("ls", "-t").stdout == "t\n"


def test_drop_of_a_missing_table_says_so_before_it_asks(lake: Lake) -> None:
    lake.error("drop", "t", status=Status.NOT_FOUND)


def test_drop_a_namespace(nested: Lake) -> None:
    nested.run("create", "sales", "--set", "owner=ana")
    nested.run("declare", "sales$orders")
    refused = nested.error("drop", "sales", "--namespace", status=Status.CONFLICT)
    assert refused.startswith("error 3 NamespaceNotEmpty: ")
    cascade = ("drop", "sales", "--namespace", "--behavior", "CASCADE")
    assert "give --yes" in nested.error(*cascade, status=Status.USAGE)
    assert nested.json(*cascade, "--yes") == {
        "kind": "namespace",
        "id": ["sales"],
        "properties": {"owner": "ana"},
    }
    assert nested.run("ls").stdout == ""


def test_drop_a_missing_namespace(nested: Lake) -> None:
    nested.error("drop", "sales", "--namespace", status=Status.NOT_FOUND)
    nested.run("drop", "sales", "--namespace", "--mode", "skip")
    nested.error("drop", "sales", "--namespace", "--mode", "maybe", status=Status.INVALID)
    nested.error("drop", "sales", "--mode", "skip", status=Status.USAGE)


# --- operations and backends


def test_ls_all_over_a_server_joins_names_as_told(nested: Lake, tmp_path: Path) -> None:
    nested.run("create", "a")
    nested.run("declare", "a$t")
    root = {"root": str(tmp_path / "nested")}
    with connect(impl_of(NestedNamespace), root) as namespace, serving(namespace) as url:
        remote = Lake("rest", uri=url)
        assert remote.run("ls", "--all").stdout == "a$t\n"
        assert remote.run("ls", "--all", "--delimiter", ".").stdout == "a.t\n"
        assert remote.json("describe", "a.t", "--delimiter", ".")["id"] == ["a", "t"]
        assert remote.json("describe", "a")["kind"] == "namespace"
        assert remote.error("describe", "x", status=Status.NOT_FOUND).startswith("error 4 ")


def test_operations_shows_the_whole_table(lake: Lake) -> None:
    found = lake.json("operations")["operations"]
    assert [row["name"] for row in found] == list(OPERATIONS)
    supported = {row["name"]: row["supported"] for row in found}
    assert supported["DescribeTable"] is True
    assert supported["CreateNamespace"] is False
    lines = lake.run("operations").stdout.splitlines()
    assert len(lines) == len(OPERATIONS) + 1
    assert lines[0].split()[:2] == ["Operation", "Supported"]


def test_operations_can_leave_out_the_unsupported(lake: Lake) -> None:
    text = lake.run("operations", "--supported").stdout
    assert "DescribeTable" in text
    assert "CreateNamespace" not in text
    assert "POST /v1/table/{id}/describe" in lake.run("operations", "--routes").stdout


def test_backends_lists_properties() -> None:
    found = json.loads(run("backends", "--json").stdout)["backends"]
    assert {"dir", "rest"} <= set(found)
    keys = {row["key"]: row for row in found["dir"]["properties"]}
    assert keys["path"]["required"] is True
    text = run("backends", "dir").stdout.splitlines()
    assert text[0].startswith("dir  ")
    assert text[2].split()[:3] == ["path", "text", "required"]


def test_backends_refuses_an_unknown_name() -> None:
    assert "'nix' is not known" in run("backends", "nix", status=Status.INVALID).stderr


# --- which namespace


def write_config(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_no_namespace_at_all() -> None:
    assert "give --impl NAME" in run("ls", status=Status.USAGE).stderr


def test_environment(lake: Lake, tmp_path: Path) -> None:
    place = tmp_path / "with space"
    Lake("dir", path=str(place)).run("declare", "t")
    env = {"LANCE_NS_IMPL": "dir", "LANCE_NS_PROPERTIES": f"'path={place}' skip_unreadable=true"}
    assert run("ls", "-t", env=env).stdout == "t\n"
    # what the environment says of one namespace does not reach another
    assert run("ls", "-t", *lake.options, env=env).stdout == ""


def test_default_profile(tmp_path: Path, lake: Lake) -> None:
    lake.run("declare", "t")
    write_config(
        tmp_path / "config" / "lance-ns" / "config.toml",
        f'[default]\nimpl = "dir"\npath = "{tmp_path / "lake"}"\nstorage.region = "eu"\n',
    )
    assert run("ls", "-t").stdout == "t\n"
    assert json.loads(run("describe", "t", "--json").stdout)["storage_options"] == {"region": "eu"}
    assert Lake("dir", path=str(tmp_path / "other")).run("ls").stdout == ""


def test_named_profile(tmp_path: Path, lake: Lake) -> None:
    lake.run("declare", "t")
    config = write_config(
        tmp_path / "ns.toml",
        f'[lake]\nimpl = "dir"\npath = "${{LAKE_HOME}}/lake"\n'
        f'[other]\nimpl = "dir"\npath = "{tmp_path}/other"\n',
    )
    env = {"LAKE_HOME": str(tmp_path)}
    options = ("--config", str(config))
    assert run("ls", "-t", *options, "--profile", "lake", env=env).stdout == "t\n"
    assert run("ls", *options, "--profile", "other", env=env).stdout == ""
    chosen = {**env, "LANCE_NS_CONFIG": str(config), "LANCE_NS_PROFILE": "lake"}
    assert run("ls", "-t", env=chosen).stdout == "t\n"
    assert run("ls", "-t", "-p", f"path={tmp_path}/other", env=chosen).stdout == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[default\n", "is not TOML"),
        ('[other]\nimpl = "dir"\n', "has no profile 'lake'; it has other"),
        ("lake = 3\n", "profile 'lake' must be a table"),
        ('[lake]\npath = "x"\n', "profile 'lake' has no impl"),
        ('[lake]\nimpl = "dir"\npath = "${NOT_SET_ANYWHERE}"\n', "NOT_SET_ANYWHERE is not set"),
    ],
)
def test_configuration_file_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    config = write_config(tmp_path / "ns.toml", text)
    options = ("--config", str(config), "--profile", "lake")
    assert message in run("ls", *options, status=Status.USAGE).stderr


def test_configuration_file_that_is_not_there(tmp_path: Path) -> None:
    options = ("--config", str(tmp_path / "no.toml"))
    assert "cannot be read" in run("ls", *options, status=Status.USAGE).stderr


def test_impl_and_profile_exclude_each_other() -> None:
    run("ls", "--impl", "dir", "--profile", "lake", status=Status.USAGE)


def test_unknown_property_and_impl(lake: Lake) -> None:
    assert "property 'pth' is not known" in lake.error("ls", "-p", "pth=x", status=Status.INVALID)
    assert "impl 'nix' is not known" in run("ls", "--impl", "nix", status=Status.INVALID).stderr


@pytest.mark.parametrize("given", [SECRET, f"={SECRET}"])
def test_a_property_without_key_is_not_repeated(lake: Lake, given: str) -> None:
    message = lake.error("ls", "-p", given, status=Status.USAGE)
    assert SECRET not in message
    assert "number 1 is not of the form KEY=VALUE" in message


def test_a_property_given_twice(lake: Lake) -> None:
    assert "path is given twice" in lake.error("ls", "-p", "path=/x", status=Status.USAGE)


def test_identifiers_with_an_empty_name(lake: Lake) -> None:
    assert "has an empty name" in lake.error("describe", "a$$b", status=Status.INVALID)


# --- failures


def test_every_code_has_a_status() -> None:
    internal = [code for code in ErrorCode if status_of(code) is Status.INTERNAL]
    assert internal == [ErrorCode.INTERNAL]


@pytest.mark.parametrize("code", list(ErrorCode), ids=lambda code: code.name.lower())
def test_every_code_is_one_line_without_secrets(code: ErrorCode) -> None:
    failing = Lake(impl_of(FailingNamespace), code=str(int(code)), api_key=SECRET)
    name = "".join(part.title() for part in code.name.split("_"))
    line = failing.error("ls", "-t", status=status_of(code))
    assert line == f"error {int(code)} {name}: refused: ***"
    document = json.loads(failing.error("ls", "-t", "--json", status=status_of(code)))
    assert document["code"] == int(code)
    assert document["name"] == name
    assert document["status"] == status_of(code)
    assert document["error"] == "refused: ***"


def test_a_failure_that_nobody_foresaw() -> None:
    failing = Lake(impl_of(FailingNamespace), api_key=SECRET)
    assert failing.error("ls", status=Status.INTERNAL) == (
        "error 18 Internal: RuntimeError: first line second \\x1b[31mline with *** "
        "(--debug shows where)"
    )


def test_debug_shows_the_traceback_without_secrets() -> None:
    failing = Lake(impl_of(FailingNamespace), api_key=SECRET)
    result = CliRunner().invoke(app, ["ls", "--debug", *failing.options])
    assert result.exit_code == Status.INTERNAL
    assert "Traceback (most recent call last)" in result.stderr
    assert "RuntimeError: first line" in result.stderr
    assert SECRET not in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("lss",), "no such command 'lss'"),
        (("ls", "--tabels"), "no such option: --tabels"),
        (("drop",), "missing argument 'ID'"),
        (("describe", "x", "--version", "new"), "invalid value for '--version'"),
    ],
)
def test_usage_errors_are_one_line(args: tuple[str, ...], message: str) -> None:
    result = run(*args, status=Status.USAGE)
    assert result.stderr.lower().startswith(f"error: {message}".lower())
    assert "--help" in result.stderr


def test_usage_errors_as_json() -> None:
    found = json.loads(run("drop", "--json", status=Status.USAGE).stderr)
    assert found["code"] is None
    assert found["status"] == Status.USAGE


# --- help

GUIDE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]  # type: ignore[union-attr]


def test_help_names_every_command_and_status() -> None:
    text = run("--help").stdout
    for name in COMMANDS:
        assert f"  {name} " in text
    for status in Status:
        assert f"{status.value:>5}  {status.meaning}\n" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    text = run(name, "--help").stdout
    assert "Examples:\n" in text
    assert f"  lance-ns {name} " in text.partition("Examples:\n")[2] + " "
    assert "--json" in text


def test_without_a_command_the_help_is_shown() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == Status.USAGE
    assert "Commands:" in result.stderr


def test_the_guide_has_every_status_with_its_codes() -> None:
    rows = GUIDE.read_text(encoding="utf-8").splitlines()
    for status in Status:
        codes = ", ".join(str(int(code)) for code in ErrorCode if status_of(code) is status)
        cells = [str(status.value), status.meaning, codes]
        assert f"| {' | '.join(cells)} |".replace("|  |", "| |") in rows
