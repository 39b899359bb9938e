"""A broken specification: `file:line: cause`, exit status 1, and nothing written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .broken_cases import CASES, COLOR, FROM
from .broken_parts import PARTS
from .conftest import Ran

ALL = {**CASES, **PARTS}


@pytest.mark.parametrize("name", ALL)
def test_an_error_names_file_line_and_cause(
    name: str, spec: Path, out: Path, run: Callable[..., Ran], change: Callable[[str, str], None]
) -> None:
    case = ALL[name]
    lines = spec.read_text("utf-8").splitlines()
    change(case.old, case.new)
    text = spec.read_text("utf-8")
    before, mark, _ = text.partition(case.at or "#!")
    line = (before + mark).count("\n") + 1
    if not mark:
        pairs = zip(lines, text.splitlines(), strict=False)
        line = next(number for number, (old, new) in enumerate(pairs, 1) if old != new)

    ran = run()

    assert ran.status == 1
    expected = f"{spec}:{line}: {case.cause}"
    assert [err for err in ran.err if err.startswith(expected)], f"{expected} not in {ran.err}"
    assert len(ran.err) == 1 + case.others, ran.err
    assert ran.out == ""
    assert not out.exists()


def test_two_operations_with_the_same_python_name(
    spec: Path, run: Callable[..., Ran], change: Callable[[str, str], None]
) -> None:
    text = spec.read_text("utf-8")
    start, end = text.index("  /v1/colors:"), text.index("  /v1/table/{id}/pour:")
    twin = text[start:end].replace("ListColors", "ListCOLORS").replace("/v1/colors", "/v1/colours")
    twin = twin.replace("ListCOLORSRe", "ListColorsRe")
    spec.write_text(text[:end] + twin + text[end:], "utf-8")
    line = (text[:end] + twin[: twin.index("x-operation")]).count("\n") + 1

    assert run().err == [
        f"{spec}:{line}: ListCOLORS would be named list_colors in Python, like ListColors"
    ]


def test_missing_file(out: Path, spec: Path, run: Callable[..., Ran]) -> None:
    spec.unlink()
    assert run() == Ran(1, "", [f"{spec}: cannot be read: No such file or directory"])
    spec.mkdir()
    assert run() == Ran(1, "", [f"{spec}: cannot be read: Is a directory"])


def test_not_utf8(spec: Path, run: Callable[..., Ran]) -> None:
    spec.write_bytes(b"openapi: 3.1.0\ninfo:\n  title: Malerei f\xfcr alle\n")
    assert run() == Ran(1, "", [f"{spec}:3: is not UTF-8 text: invalid start byte"])


@pytest.mark.parametrize("text", ["", "- openapi\n", "openapi\n"])
def test_not_a_mapping(text: str, spec: Path, run: Callable[..., Ran]) -> None:
    spec.write_text(text, "utf-8")
    cause = "must be a mapping with the parts of an OpenAPI document"
    assert run() == Ran(1, "", [f"{spec}:1: {cause}"])


def test_two_documents(spec: Path, run: Callable[..., Ran]) -> None:
    spec.write_text("openapi: 3.1.0\n---\nopenapi: 3.1.0\n", "utf-8")
    assert run().err[0].startswith(f"{spec}:2: but found another document")


def test_a_byte_order_mark_is_accepted(spec: Path, run: Callable[..., Ran]) -> None:
    spec.write_bytes(b"\xef\xbb\xbf" + spec.read_bytes())
    assert run().status == 0


def test_output_that_cannot_be_written(spec: Path, out: Path, run: Callable[..., Ran]) -> None:
    out.write_text("in the way", "utf-8")
    ran = run()
    assert ran.status == 1
    assert ran.err == [f"{out / 'lance_namespace_client'}: Not a directory"]


def test_all_errors_are_reported(
    run: Callable[..., Ran], change: Callable[[str, str], None]
) -> None:
    change(COLOR, "        color: {type: string}")
    change(FROM, "        from: {type: string}")
    assert [err.split(": ", 1)[1] for err in run().err] == [
        "PaintTableRequest.color has no description",
        "ListColorsRequest.from has no description",
    ]
