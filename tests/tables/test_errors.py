"""Classification of pylance's failures by their text."""

from __future__ import annotations

from typing import Any

import pytest

from lance_namespace_client import errors
from lance_namespace_impls.tables.errors import from_lance, may_be_committed, plain_message

MANIFEST = "s3://b/t.lance/_versions/18446744073709551610.manifest"
SAID = [
    ("Dataset already exists: file:///t", "TableAlreadyExists"),
    ("Dataset at path t/_versions/3.manifest was not found", "TableVersionNotFound"),
    ("version 9 of t was not found", "TableVersionNotFound"),
    ("version 9 does not exist", "TableVersionNotFound"),
    (f"Not found: {MANIFEST}", "TableVersionNotFound"),
    ("tag 'v1' does not exist", "TableTagNotFound"),
    ("branch 'side' does not exist", "TableBranchNotFound"),
    ("Commit result for version 4 is unknown: it may have been applied", "ConcurrentModification"),
    ("Commit conflict for version 3", "ConcurrentModification"),
    ("LanceError(IO): commit conflict for version 3", "ConcurrentModification"),
    ("Too many concurrent writers", "ConcurrentModification"),
    ("Retryable commit conflict for version 3", "ConcurrentModification"),
    ("Incompatible transaction: this was overtaken", "ConcurrentModification"),
    ("Append with different schema: original=[a]", "TableSchemaValidation"),
    ("the schema does not match", "TableSchemaValidation"),
    ("schema did not match", "TableSchemaValidation"),
    ("fields did not match, missing=[b]", "TableSchemaValidation"),
    ("Schema mismatch for a", "TableSchemaValidation"),
    ("column a contained null values even though the field is marked non-null in the schema",
     "TableSchemaValidation"),
    ("column a cannot be made non-nullable", "TableSchemaValidation"),
    ("Cannot cast column a from Utf8 to Int32", "TableSchemaValidation"),
    ("Cast error: Can't cast value 300 to type Int8", "TableSchemaValidation"),
    ("LanceError(Schema): a is there twice", "TableSchemaValidation"),
    ("Schema error: No field named txt.", "TableColumnNotFound"),
    ("column 'a' does not exist", "TableColumnNotFound"),
    ("Column a not found", "TableColumnNotFound"),
    ("Field a not found in it", "TableColumnNotFound"),
    ("FTS field path a does not exist", "TableColumnNotFound"),
    ("LanceError(Schema): Column a is not in the dataset", "TableColumnNotFound"),
    ("Permission denied (os error 13)", "PermissionDenied"),
    ("service error: AccessDenied", "PermissionDenied"),
    ("Client error with status 403 Forbidden", "PermissionDenied"),
    ("open failed: EACCES", "PermissionDenied"),
    ("Generic S3 error: <Code>SlowDown</Code>", "Throttling"),
    ("Generic S3 error: got\nPlease reduce your request rate", "Throttling"),
    ("Generic GCS error: 429 Too Many Requests", "Throttling"),
    ("Generic S3 error: request was throttled", "Throttling"),
    ("Generic S3 error: RequestLimitExceeded", "Throttling"),
    ("Generic S3 error: error decoding response body", "ServiceUnavailable"),
    ("Generic S3 error: Got invalid list response", "ServiceUnavailable"),
    ("Generic S3 error: connection closed before message completed", "ServiceUnavailable"),
    ("Connection refused (os error 111)", "ServiceUnavailable"),
    ("error sending request for url", "ServiceUnavailable"),
    ("operation timed out", "ServiceUnavailable"),
    ("it ended by a timeout", "ServiceUnavailable"),
    ("status 503 of the store", "ServiceUnavailable"),
    ("dns error: no record", "ServiceUnavailable"),
    ("Could not resolve host: b", "ServiceUnavailable"),
    ("Cleanup error: 2 tagged versions", "InvalidTableState"),
    ("Not found: s3://b/t.lance/data/0101.lance", "InvalidTableState"),
    ("file size is too small", "InvalidTableState"),
    ("the file does not have sufficient data", "InvalidTableState"),
    ("Invalid range 5..21 for object of 4 bytes", "InvalidTableState"),
    ("Invalid user input: a", "InvalidInput"),
    ("Ref is invalid: a", "InvalidInput"),
    ("sql parser error: Expected an expression", "InvalidInput"),
    ("Error during planning: a", "InvalidInput"),
    ("LanceError(IO): the stream is truncated", "InvalidInput"),
    ("Expected to be able to read 8 bytes", "InvalidInput"),
    ("Expected to read 8 bytes", "InvalidInput"),
    ("Invalid IPC message", "InvalidInput"),
    ("Invalid flatbuffers message", "InvalidInput"),
    ("Unexpected end of stream", "InvalidInput"),
    ("WKT error: a", "InvalidInput"),
    ("PQ: num_sub_vectors must divide vector dimension", "InvalidInput"),
    (
        "Query Execution error: Error applying filter expression to batch: Arrow error: Divide by zero error",
        "InvalidInput",
    ),
    ("LanceError(Arrow): Arithmetic overflow: Overflow happened on: 1 * 2", "InvalidInput"),
    ("Query Execution error: Execution error: Month value '77' is out of range", "InvalidInput"),
    ("LanceError(Arrow): Parser error: Error parsing timestamp from 'x'", "InvalidInput"),
    ("LanceError(Index): Construct GeoArrowArray from an Arrow Array failed: a", "InvalidInput"),
    ("Query Execution error: Execution error: task 7 panicked with LanceError(", "Internal"),
    ("LanceError(Odd): a", "Internal"),
    ("Please file a bug report at https://github.com/lance-format/lance", "Internal"),
    ("it broke, /home/x/rust/lance/src/a.rs:1:2", "Internal"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "name"), SAID, ids=[said[:40] for said, _ in SAID])
def test_a_failure_is_classified_by_its_text(said: str, name: str) -> None:
    found = from_lance(OSError(said), "QueryTable t")
    assert type(found) is getattr(errors, f"{name}Error")
    assert found is not None and found.message.startswith("QueryTable t: ")
    assert found.subject == "QueryTable t"


def raised(kind: type[Exception], *said: str, module: str) -> Exception:
    """Raise an exception in a module with this name, and return it."""
    names: dict[str, Any] = {"__name__": module, "error": kind(*said)}
    with pytest.raises(kind) as caught:
        exec("raise error", names)
    return caught.value


@pytest.mark.parametrize("kind", [TypeError, OverflowError])
@pytest.mark.parametrize(
    ("module", "is_refusal"),
    [
        ("lance", True),
        ("lance.dataset", True),
        ("lance_namespace_impls", False),
        ("x.lance", False),
    ],
)
def test_only_argument_errors_raised_by_pylance_are_translated(
    kind: type[Exception], module: str, is_refusal: bool
) -> None:
    found = from_lance(raised(kind, "no such number", module=module), "QueryTable t")
    assert (type(found) is errors.InvalidInputError) is is_refusal
    assert (found is None) is not is_refusal
    if found is not None:
        assert "no such number" in found.message
        assert ("too large for Lance" in found.message) is (kind is OverflowError)


def test_errors_not_raised_by_pylance() -> None:
    assert from_lance(RuntimeError("it broke"), "QueryTable t") is None
    # This error was never raised, so it does not come from pylance.
    assert from_lance(TypeError("it broke"), "QueryTable t") is None
    told = from_lance(ValueError("it broke"), "QueryTable t")
    assert (type(told), str(told)) == (errors.InvalidInputError, "QueryTable t: it broke")


@pytest.mark.parametrize(
    ("said", "name", "message"),
    [
        ("TableNotFoundError: table 't' is gone", "TableNotFound", "table 't' is gone"),
        ("TableVersionNotFoundError: no version 9", "TableVersionNotFound", "no version 9"),
        ("ThrottlingError: later\nplease", "Throttling", "later please"),
        ("KeyError: 'version 9 does not exist'", "TableVersionNotFound", "version 9"),
    ],
)
def test_an_error_of_the_namespace_keeps_its_type_and_message(
    said: str, name: str, message: str
) -> None:
    found = from_lance(OSError(f"Python error in describe: {said}"), "QueryTable t")
    assert type(found) is getattr(errors, f"{name}Error")
    assert found is not None and message.split()[0] in found.message
    if name != "TableVersionNotFound" or "Key" not in said:
        assert found.message.startswith("QueryTable t: ")
        assert "Python error" not in found.message


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Invalid user input: Invalid user input: it broke", "it broke"),
        ("it broke, location: /x/rust/lance/src/a.rs:1:2", "it broke"),
        ("it broke, rust/lance/src/a.rs:12", "it broke"),
        ("my_src/a.rs is no table", "my_src/a.rs is no table"),
        ("it broke: Schema { fields: [\n] }", "it broke"),
        ("it broke in dataset schema: Schema { fields: [] }", "it broke"),
        ("No field named txt. Valid fields are id, s.", "column 'txt' does not exist"),
        ("No field named txt. Did you mean 'text'?.",
         "column 'txt' does not exist; did you mean 'text'?"),
        ("FTS field path 'txt' does not exist", "column 'txt' does not exist"),
        ("LanceError(Schema): Column txt is not in the dataset", "column 'txt' does not exist"),
    ],
)  # fmt: skip
def test_a_message_omits_pylances_internals(said: str, shown: str) -> None:
    assert plain_message(OSError(said)) == shown


def test_the_parts_of_a_message_are_joined() -> None:
    assert plain_message(TypeError("it ", "broke")) == "it broke"
    assert plain_message(OSError(5, "broke")) == "[Errno 5] broke"
    assert plain_message(TypeError("broke", 5)) == "('broke', 5)"


@pytest.mark.parametrize(
    ("said", "may"),
    [
        ("Commit result for version 12 is unknown: it may have been applied", True),
        ("Commit conflict for version 12", False),
        ("Commit result for version x is unknown", False),
    ],
)
def test_a_commit_may_have_been_made(said: str, may: bool) -> None:
    assert may_be_committed(OSError(said)) is may
