"""Rejected requests: the error code, the table's name, and no internals of pylance in messages."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_namespace_client.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableSchemaValidationError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.directory import DirectoryNamespace
from lance_namespace_impls.server import serving
from lance_namespace_impls.tables.errors import plain_message
from lance_namespace_impls.tables.schema import check_columns
from tests.tables.calls import at_once

T = {"id": ["letters"]}
NEAR = {"single_vector": [0.0, 0.0]}
ROWS = pa.table(
    {
        "id": [1, 2, 3],
        "text": ["a", "b", "c"],
        "vector": pa.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], pa.list_(pa.float32(), 2)),
    }
)
BAD_COLUMNS = {
    "": "an empty name",
    "a`b": "a backtick",
    "a.b": "a dot",
    "a\0b": "a zero byte",
    "_rowid": "reserved by Lance",
}


@pytest.fixture
def namespace(tmp_path: Path) -> DirectoryNamespace:
    made = DirectoryNamespace.from_properties({"path": str(tmp_path)})
    made.create_table(T, ROWS)
    return made


def refusal(code: int, call: Callable[..., Any], request: dict[str, Any], *data: Any) -> str:
    """Return the message of a rejection; it must name the table and no pylance internals."""
    with pytest.raises(LanceNamespaceError) as caught:
        call({**T, **request}, *data)
    message = caught.value.message
    assert caught.value.code == code, message
    assert "letters" in message
    for internal in (".rs:", "/home/", "Schema {", "TypeError", "OverflowError"):
        assert internal not in message
    return message


def query(**more: Any) -> dict[str, Any]:
    return {"k": 2, "vector": None, **more}


# --- tags and branches


@pytest.mark.parametrize("name", ["a" * 200, "v1.0", "A-_.9"])
def test_a_valid_tag_name(namespace: DirectoryNamespace, name: str) -> None:
    namespace.create_table_tag({**T, "tag": name, "version": 1})
    assert namespace.get_table_tag_version({**T, "tag": name}).version == 1


@pytest.mark.parametrize("name", ["a" * 200, "é" * 20, "team/side"])
def test_a_valid_branch_name(namespace: DirectoryNamespace, name: str) -> None:
    namespace.create_table_branch({**T, "name": name})
    assert namespace.count_table_rows({**T, "branch": name}).count == 3


def test_tags_next_to_one_that_pylance_cannot_read(namespace: DirectoryNamespace) -> None:
    dataset = lance.dataset(namespace.describe_table(T).location)
    dataset.create_branch("side")
    namespace.create_table_tag({**T, "tag": "first", "version": 1})
    namespace.create_table_tag({**T, "tag": "aside", "version": 1, "branch": "side"})
    before = namespace.list_table_tags(T).tags
    dataset.tags.create("é", 1)
    left_out = "a tag at .* is omitted, because pylance cannot read its name"
    with pytest.warns(UserWarning, match=f"{left_out}: 'é'"):
        assert namespace.list_table_tags(T).tags == before
    with warnings.catch_warnings(action="error"):  # a call about one tag does not read the others
        assert namespace.describe_table({**T, "tag": "first"}).version == 1
        namespace.create_table_tag({**T, "tag": "second", "version": 1})
        namespace.update_table_tag({**T, "tag": "second", "version": 1})
        assert namespace.get_table_tag_version({**T, "tag": "second"}).version == 1
        namespace.delete_table_tag({**T, "tag": "second"})


@pytest.mark.parametrize(
    "name",
    ["é", "tag-ß", "\u0661", "a b", "", "a" * 201, ".", "..", ".a", "a.", "a..b", "t.lock", "a/b"],
)
def test_an_invalid_tag_name(namespace: DirectoryNamespace, name: str) -> None:
    message = refusal(13, namespace.create_table_tag, {"tag": name, "version": 1})
    assert "ASCII letters, digits, '-', '_' and single '.'" in message
    refusal(8, namespace.get_table_tag_version, {"tag": name})
    refusal(8, namespace.update_table_tag, {"tag": name, "version": 1})
    refusal(8, namespace.delete_table_tag, {"tag": name})
    assert namespace.list_table_tags(T).tags == {}


@pytest.mark.parametrize(
    "name", ["a" * 201, "é" * 21, "é" * 33, ".", "a/.", "./a", "..", "t.lock", "a//b"]
)
def test_an_invalid_branch_name(namespace: DirectoryNamespace, name: str) -> None:
    message = refusal(13, namespace.create_table_branch, {"name": name})
    assert ("too long" in message) is (len(name) > 20)
    refusal(22, namespace.delete_table_branch, {"name": name})
    assert namespace.list_table_branches(T).branches == {}


def test_a_branch_with_a_branch_nested_below_it(namespace: DirectoryNamespace) -> None:
    """Lance would leave files behind that block a new branch and a drop of the table."""
    for name in ("a/b", "a"):
        namespace.create_table_branch({**T, "name": name})
    assert "'a/b'" in refusal(19, namespace.delete_table_branch, {"name": "a"})
    for name in ("a/b", "a"):
        namespace.delete_table_branch({**T, "name": name})
    namespace.create_table_branch({**T, "name": "a"})
    namespace.drop_table(T)


def test_a_branch_that_only_a_tag_refers_to(namespace: DirectoryNamespace) -> None:
    namespace.create_table_branch({**T, "name": "side"})
    namespace.create_table_tag({**T, "tag": "kept", "version": 1, "branch": "side"})
    (Path(namespace.describe_table(T).location) / "_refs/tags/%C3%A9.json").write_text(
        json.dumps({"version": 1, "manifestSize": 1})  # as written by another program
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "tag 'kept'" in refusal(19, namespace.delete_table_branch, {"name": "side"})


def test_a_branch_whose_files_cannot_be_deleted(namespace: DirectoryNamespace) -> None:
    """The failure itself is reported; an error about a missing branch would hide it."""
    namespace.create_table_branch({**T, "name": "side"})
    files = Path(namespace.describe_table(T).location) / "tree/side"
    files.rename(files.with_name("elsewhere"))
    files.write_text("in the way")
    with pytest.raises(LanceNamespaceError) as caught:
        namespace.delete_table_branch({**T, "name": "side"})
    assert caught.value.code != 22


def test_a_branch_that_others_refer_to(namespace: DirectoryNamespace) -> None:
    namespace.create_table_branch({**T, "name": "side"})
    namespace.create_table_branch({**T, "name": "deeper", "from_branch": "side"})
    namespace.create_table_tag({**T, "tag": "kept", "version": 1, "branch": "side"})
    found = refusal(19, namespace.delete_table_branch, {"name": "side"})
    assert "branch 'side' is in use: tag 'kept', branch 'deeper'" in found
    assert set(namespace.list_table_branches(T).branches) == {"side", "deeper"}
    namespace.delete_table_branch({**T, "name": "deeper"})
    namespace.delete_table_tag({**T, "tag": "kept"})
    namespace.delete_table_branch({**T, "name": "side"})
    assert namespace.list_table_branches(T).branches == {}


@pytest.mark.parametrize("branch", [None, "side"])
@pytest.mark.parametrize("end", [4, -1])
def test_versions_that_others_refer_to(
    namespace: DirectoryNamespace, branch: str | None, end: int
) -> None:
    namespace.create_table_branch({**T, "name": "side"})
    line = {} if branch is None else {"branch": branch}
    for _ in range(4):
        namespace.insert_into_table({**T, **line}, ROWS)
    versions = namespace.list_table_versions({**T, **line}).versions
    second, third = sorted(each.version for each in versions)[1:3]
    namespace.create_table_tag({**T, **line, "tag": "kept", "version": third})
    namespace.create_table_branch(
        {**T, "name": "fork", "from_version": second, **({"from_branch": branch} if line else {})}
    )

    def delete(start: int, end: int) -> dict[str, Any]:
        return {**T, **line, "ranges": [{"start_version": start, "end_version": end}]}

    end = end if end == -1 else third + 1
    message = refusal(19, namespace.batch_delete_table_versions, delete(second, end))
    assert f"branch 'fork' starts at version {second}" in message
    assert f"version {third} has the tag 'kept'" in message
    assert namespace.list_table_versions({**T, **line}).versions == versions
    namespace.delete_table_branch({**T, "name": "fork"})
    namespace.delete_table_tag({**T, "tag": "kept"})
    gone = namespace.batch_delete_table_versions(delete(second, third + 1))
    assert gone.deleted_count == 2


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize(
    ("create", "request_", "there"),
    [
        ("create_table_tag", {"tag": "t", "version": 1}, TableTagAlreadyExistsError),
        ("create_table_branch", {"name": "b"}, TableBranchAlreadyExistsError),
    ],
    ids=["tag", "branch"],
)
def test_one_of_several_concurrent_creations_succeeds(
    namespace: DirectoryNamespace, create: str, request_: Any, there: type[Exception], number: int
) -> None:
    answers = at_once([lambda: getattr(namespace, create)({**T, **request_})] * 6)
    failed = [answer for answer in answers if isinstance(answer, Exception)]
    assert [type(error) for error in failed] == [there] * 5


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("kind", ["tag", "branch"])
def test_concurrent_deletions_of_one_tag_or_branch(tmp_path: Path, kind: str, number: int) -> None:
    """Late deletions report a missing tag or branch, and do not mention its missing file."""
    namespace = DirectoryNamespace.from_properties({"path": str(tmp_path / "my lake")})
    namespace.create_table(T, ROWS)
    namespace.create_table_tag({**T, "tag": "x", "version": 1})
    namespace.create_table_branch({**T, "name": "x"})
    delete = namespace.delete_table_tag if kind == "tag" else namespace.delete_table_branch
    answers = at_once([lambda: delete({**T, "tag" if kind == "tag" else "name": "x"})] * 6)
    failed = [answer for answer in answers if isinstance(answer, Exception)]
    assert len(failed) < len(answers)
    assert {(type(e), f"{kind} 'x' does not exist" in str(e)) for e in failed} <= {
        (TableTagNotFoundError, True),
        (TableBranchNotFoundError, True),
    }


# --- arguments that pylance rejects


@pytest.mark.parametrize(
    "more",
    [
        {"k": 2**64},
        {"k": 2**64, "vector": NEAR},
        {"version": 2**64},
        {"offset": 2**64},
        {"vector": NEAR, "nprobes": 2**64},
    ],
)
def test_numbers_that_are_too_large(namespace: DirectoryNamespace, more: dict[str, Any]) -> None:
    message = refusal(13, namespace.query_table, query(**more))
    assert "a number is too large for Lance" in message


def test_versions_that_are_too_large(namespace: DirectoryNamespace) -> None:
    refusal(13, namespace.restore_table, {"version": 2**64})
    refusal(13, namespace.create_table_tag, {"tag": "t", "version": 2**64})
    refusal(13, namespace.create_table_branch, {"name": "b", "from_version": 2**64})


@pytest.mark.parametrize("column", ["text", "id"])
def test_a_search_in_a_column_without_vectors(namespace: DirectoryNamespace, column: str) -> None:
    request = query(vector=NEAR, vector_column=column)
    assert "must be a vector" in refusal(13, namespace.query_table, request)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("id", "IVF_FLAT"),
        ("vector", "BTREE"),
        ("vector", "FTS"),
        ("id", "NGRAM"),
        ("id", "LABEL_LIST"),
        ("text", "RTREE"),
    ],
)
def test_an_index_that_does_not_fit_its_column(
    namespace: DirectoryNamespace, column: str, kind: str
) -> None:
    request = {"column": column, "index_type": kind}
    message = refusal(13, namespace.create_table_index, request)
    assert "('" not in message
    assert message.startswith("CreateTableIndex letters: ")


MISSPELT: dict[str, dict[str, Any]] = {
    "query_table": {"filter": "txt = 'a'"},
    "count_table_rows": {"predicate": "txt = 'a'"},
    "delete_from_table": {"predicate": "txt = 'a'"},
    "update_table": {"updates": [["id", "1"]], "predicate": "txt = 'a'"},
    "alter_table_add_columns": {"new_columns": [{"name": "new", "expression": "txt"}]},
    "alter_table_drop_columns": {"columns": ["txt"]},
    "alter_table_alter_columns": {"alterations": [{"path": "txt", "rename": "new"}]},
    "create_table_index": {"column": "txt", "index_type": "IVF_FLAT"},
    "create_table_scalar_index": {"column": "txt", "index_type": "BTREE"},
    "update_field_metadata": {"updates": [{"path": "txt", "metadata": {"a": "b"}}]},
    "explain_table_query_plan": {"query": {"filter": "txt = 'a'"}},
    "analyze_table_query_plan": {"filter": "txt = 'a'"},
}


@pytest.mark.parametrize("operation", MISSPELT)
def test_a_misspelled_column_has_the_same_code_everywhere(
    namespace: DirectoryNamespace, operation: str
) -> None:
    message = refusal(12, getattr(namespace, operation), MISSPELT[operation])
    assert "column 'txt' does not exist" in message
    assert "Invalid user input" not in message
    assert namespace.table("letters").to_arrow().equals(ROWS)


@pytest.mark.parametrize(
    "request_",
    [
        query(vector=NEAR, vector_column="txt"),
        query(full_text_query={"string_query": {"query": "a", "columns": ["txt"]}}),
        query(columns={"column_names": ["id", "txt"]}),
    ],
)
def test_a_search_of_a_misspelled_column(
    namespace: DirectoryNamespace, request_: dict[str, Any]
) -> None:
    assert refusal(12, namespace.query_table, request_).endswith("column 'txt' does not exist")


def test_words_are_found_without_an_index(namespace: DirectoryNamespace) -> None:
    letters = namespace.table("letters")
    assert letters.search("b").to_list()[0]["id"] == 2
    numbers = namespace.table("numbers")
    numbers.create({"id": [1]})
    with pytest.raises(InvalidInputError, match="no string column to search"):
        numbers.search("b").to_list()


def test_a_similar_column_is_suggested(namespace: DirectoryNamespace) -> None:
    message = refusal(12, namespace.count_table_rows, {"predicate": "vektor IS NULL"})
    assert message.endswith("column 'vektor' does not exist; did you mean 'vector'?")


def test_the_reason_for_a_failed_small_write_is_not_truncated() -> None:
    file = f"lake/{'d' * 120}/t.lance/data/1101.lance"
    reason = f"Unable to open file /{file}: No space left on device (os error 28)"
    text = (
        f"LanceError(IO): single PUT of {file} failed after 39.168µs (146 bytes, "
        "LANCE_INITIAL_UPLOAD_SIZE=5242880 bytes, LANCE_UPLOAD_CONCURRENCY=10): Generic "
        f"LocalFileSystem error: {reason}, /home/x/rust/lance-io/src/object_writer.rs:689:9"
    )
    told = plain_message(OSError(text))
    assert told == f"LanceError(IO): Generic LocalFileSystem error: {reason}"


def test_a_panic_of_pylance_is_an_internal_error(
    namespace: DirectoryNamespace, tmp_path: Path
) -> None:
    namespace.create_table({"id": ["damaged"]}, pa.table({"a": [1] * 1000}))
    (manifest,) = (tmp_path / "damaged.lance" / "_versions").glob("*.manifest")
    manifest.write_bytes(manifest.read_bytes()[100:])
    with pytest.raises(InternalError, match="CountTableRows damaged: pylance failed"):
        namespace.count_table_rows({"id": ["damaged"]})
    with serving(namespace) as uri, connect("rest", {"uri": uri}) as remote:
        with pytest.raises(LanceNamespaceError) as refused:
            remote.count_table_rows({"id": ["damaged"]})
        assert refused.value.code == 18
    # The rest of the catalog remains available.
    assert list(namespace.iter_tables()) == ["damaged", "letters"]


# --- schemas


def test_a_type_that_lance_cannot_store(namespace: DirectoryNamespace) -> None:
    rows = pa.table({"x": pa.RunEndEncodedArray.from_arrays([1], [5])})
    request = {"id": ["letters2"]}
    assert "Lance does not support type" in refusal(20, namespace.create_table, request, rows)
    assert list(namespace.iter_tables()) == ["letters"]


def test_two_columns_with_the_same_name(namespace: DirectoryNamespace) -> None:
    rows = pa.table([[1], [2]], names=["a", "a"])
    refusal(20, namespace.create_table, {"id": ["letters2"]}, rows)
    with pytest.raises(TableSchemaValidationError, match="two columns are named 'a'"):
        check_columns(rows.schema)


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_an_invalid_column_name(namespace: DirectoryNamespace, name: str) -> None:
    rows = pa.table({"id": [1], name: [1]})
    new = {"new_columns": [{"name": name, "expression": "id"}]}
    renamed = {"alterations": [{"path": "text", "rename": name}]}
    for message in (
        refusal(20, namespace.create_table, {"id": ["letters2"]}, rows),
        refusal(20, namespace.insert_into_table, {**T, "mode": "overwrite"}, rows),
        refusal(20, namespace.alter_table_add_columns, new),
        refusal(20, namespace.alter_table_alter_columns, renamed),
    ):
        assert BAD_COLUMNS[name] in message
    assert list(namespace.iter_tables()) == ["letters"]
    assert namespace.describe_table({**T, "load_detailed_metadata": True}).version == 1


def test_uncommon_valid_column_names() -> None:
    check_columns(pa.schema([(name, pa.int64()) for name in ("a b", "é", "A", "a", "_distance")]))


# --- queries


@pytest.mark.parametrize("more", [{"vector_column": "vector"}, {"distance_type": "l2"}])
@pytest.mark.parametrize("empty", [{"single_vector": []}, {"multi_vector": []}])
def test_a_search_with_an_empty_vector(
    namespace: DirectoryNamespace, empty: dict[str, Any], more: dict[str, str]
) -> None:
    message = refusal(13, namespace.query_table, query(vector=empty, **more))
    assert "the vector is empty" in message


def test_one_of_several_vectors_is_empty(namespace: DirectoryNamespace) -> None:
    for vectors in ([[0.0, 1.0], []], [[]]):
        refusal(13, namespace.query_table, query(vector={"multi_vector": vectors}))


@pytest.mark.parametrize("none", [None, {}, {"single_vector": []}])
def test_forms_of_a_request_without_a_vector(
    namespace: DirectoryNamespace, none: dict[str, Any] | None
) -> None:
    rows = namespace.query_table({**T, **query(vector=none)}).read_all()
    assert rows["id"].to_pylist() == [1, 2]


# --- messages


@pytest.mark.parametrize(
    ("code", "method", "request_", "expected"),
    [
        (11, "describe_table", {"version": 99}, "version 99 does not exist"),
        (11, "restore_table", {"version": 99}, "version 99 does not exist"),
        (8, "get_table_tag_version", {"tag": "x"}, "tag 'x' does not exist"),
        (22, "delete_table_branch", {"name": "x"}, "branch 'x' does not exist"),
        (6, "drop_table_index", {"index_name": "x"}, "index 'x' does not exist"),
        (12, "alter_table_drop_columns", {"columns": [" "]}, "column ' ' does not exist"),
        (
            13,
            "alter_table_drop_columns",
            {"columns": []},
            "no column to drop; specify at least one",
        ),
    ],
)
def test_messages_name_the_table(
    namespace: DirectoryNamespace, code: int, method: str, request_: dict[str, Any], expected: str
) -> None:
    message = refusal(code, getattr(namespace, method), request_)
    operation = method.title().replace("_", "")
    assert message == f"{operation} letters: {expected}"


def test_the_table_is_named_once(namespace: DirectoryNamespace) -> None:
    with pytest.raises(TableColumnNotFoundError) as caught:
        namespace.alter_table_drop_columns({**T, "columns": ["x"]})
    body = json.dumps(caught.value.to_dict())
    assert body.count("letters") == 1
    assert caught.value.subject == "AlterTableDropColumns letters"
    assert caught.value.args == (caught.value.text,)


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"column_names": ["id"], "column_aliases": {}}, ["id"]),
        ({"column_names": [], "column_aliases": {"x": "id"}}, ["x"]),
    ],
)
def test_an_empty_form_of_columns_is_ignored(
    namespace: DirectoryNamespace, columns: Any, found: list[str]
) -> None:
    """Generated clients may send both forms, the unused one empty."""
    rows = namespace.query_table({**T, **query(columns=columns)}).read_all()
    assert rows.column_names == found


def test_the_first_of_two_indices_determines_the_distance_type(
    namespace: DirectoryNamespace,
) -> None:
    vectors = pa.array([[9.0, 1.0], [2.0, 2.0], [1.0, 9.0]], pa.list_(pa.float32(), 2))
    namespace.create_table({"id": ["near"]}, pa.table({"v": vectors}))
    for name, metric in (("z", "cosine"), ("a", "dot")):
        index = {"column": "v", "index_type": "IVF_FLAT", "num_partitions": 1, "name": name}
        namespace.create_table_index({"id": ["near"], **index, "distance_type": metric})
    search = {"id": ["near"], "vector": {"single_vector": [1.0, 0.0]}, "k": 3}
    plain, past = (
        namespace.query_table({**search, **more}).read_all()["_distance"].to_pylist()
        for more in ({}, {"bypass_vector_index": True, "vector_column": "`v`"})
    )
    assert past == pytest.approx(plain, abs=1e-5)
