"""The generated code: plain models, small imports, and no findings of type checkers and linters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

import attrs
import pytest

from lance_namespace_client import OPERATIONS, LanceNamespace, RestNamespace, models
from lance_namespace_client.errors import ErrorCode, InvalidInputError, UnsupportedError

from .conftest import ROOT, Ran

GENERATED = ROOT / "generated"
RULES = (
    "A,ARG,B,BLE,C4,C90,D1,D2,E,ERA,F,FLY,FURB,I,ICN,ISC,N,PERF,PIE,PT,PYI,RET,RSE,RUF,S,SIM,SLOT,"
    "T20,TRY,UP,W,YTT"
)
IGNORED = ",".join(
    {
        "A": "fields are called id, type and filter, as in the protocol",
        "ARG": "methods and decoders share a signature, whether they need all of it or not",
        "D105": "magic methods explain themselves",
        "D107": "the docstring of the class covers it",
        "D203": "the other one of two that exclude each other",
        "D205": "a first sentence may be longer than a line",
        "D213": "the other one of two that exclude each other",
        "RUF022": "names stand in reading order",
        "TRY003": "messages are written where the failure is",
    }
)


def python(code: str, *paths: Path) -> Any:
    """Run code in a new interpreter and return the JSON that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths or (GENERATED,)))},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


# --- imports

LOADED = "import json, sys; {}; print(json.dumps(sorted(sys.modules)))"


def loaded(code: str) -> set[str]:
    return set(python(LOADED.format(code)))


def test_importing_the_package_loads_almost_nothing() -> None:
    plain = loaded("pass")
    new = loaded("import lance_namespace_client") - plain
    assert {name for name in new if name.startswith("lance_namespace_client")} == {
        "lance_namespace_client"
    }
    assert not new & {"attrs", "attr", "httpx", "pyarrow", "enum", "typing_extensions"}


def test_a_model_loads_only_its_module() -> None:
    new = loaded("import lance_namespace_client as c; c.DescribeTableRequest(id=['t']).to_dict()")
    ours = {name for name in new if name.startswith("lance_namespace_client")}
    assert ours == {
        "lance_namespace_client",
        "lance_namespace_client.model",
        "lance_namespace_client.models",
        "lance_namespace_client.models.describe_table_request",
    }
    assert not new & {"httpx", "pyarrow"}


def test_the_interface_and_the_operations_need_no_models_http_or_arrow() -> None:
    new = loaded("from lance_namespace_client import LanceNamespace, OPERATIONS")
    assert not {name for name in new if name.startswith("lance_namespace_client.models.")}
    assert not new & {"httpx", "pyarrow"}


def test_the_client_loads_arrow_lazily() -> None:
    new = loaded("from lance_namespace_client import RestNamespace")
    assert "httpx" in new
    assert "pyarrow" not in new


def test_every_name_loads_and_is_listed() -> None:
    import lance_namespace_client as client

    for name in client.__all__:
        if name not in ("OPERATIONS", "RequestLike"):
            assert getattr(client, name).__name__ == name
    assert dir(client) == client.__all__
    assert set(models.__all__) < set(client.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        client.Nothing  # type: ignore[attr-defined]  # noqa: B018


# --- models

ALL_MODELS = [getattr(models, name) for name in models.__all__]


@pytest.mark.parametrize("model", ALL_MODELS, ids=lambda model: model.__name__)
def test_a_model_is_a_plain_attrs_class(model: type) -> None:
    assert attrs.has(model)
    assert "__dict__" not in dir(model)
    wire = {row.attribute: row for row in model._wire}  # type: ignore[attr-defined]
    fields = {field.name: field for field in attrs.fields(model)}
    assert list(wire) == list(fields)
    for name, field in fields.items():
        assert field.kw_only
        must_be_given = wire[name].required and not wire[name].optional_for_caller
        assert (field.default is attrs.NOTHING) == must_be_given
        if not must_be_given:
            default = wire[name].default
            assert field.default == (attrs.Factory(dict) if default == {} else default)
    assert model.__doc__


def test_annotations_resolve() -> None:
    names = vars(models) | {name: getattr(models, name) for name in models.__all__}
    for model in ALL_MODELS:
        for field, hint in get_type_hints(model, localns=names).items():
            if field in ("context", "properties", "storage_options"):
                assert hint in (dict[str, str] | None, dict[str, str]), (model, field)


def test_absent_fields_are_none_or_have_their_default() -> None:
    request = models.DescribeTableRequest()
    assert request.version is None
    assert request.context is None
    assert request.check_declared is False
    assert request.to_dict() == {}
    assert models.DescribeTableRequest.from_dict({"version": None, "novel": 1}) == request


def test_a_map_is_a_dict() -> None:
    body = {"code": 13, "context": {"header.date": "today"}}
    error = models.ErrorResponse.from_dict(body)
    assert type(error.context) is dict
    assert error.to_dict() == body
    with pytest.raises(InvalidInputError, match=r"ErrorResponse\.context\.a must be a string"):
        models.ErrorResponse.from_dict({"code": 13, "context": {"a": 1}})


# --- operations and errors


class Nothing(LanceNamespace):
    """A namespace that supports no operation."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_unsupported_until_implemented(name: str) -> None:
    operation = OPERATIONS[name]
    arguments: list[Any] = [{}, b""] if operation.body.value == "arrow" else [{}]
    with pytest.raises(UnsupportedError) as caught:
        getattr(Nothing(), operation.method_name)(*arguments)
    assert caught.value.code is ErrorCode.UNSUPPORTED
    assert int(caught.value.code) == 0
    assert str(caught.value) == f"Nothing does not support {name}"
    own = vars(RestNamespace)[operation.method_name]
    assert f"``{operation.http_method} {operation.path}``" in " ".join(own.__doc__.split())


def test_the_methods_match_the_operations() -> None:
    methods = {name for name in vars(LanceNamespace) if not name.startswith("_")}
    assert methods == {row.method_name for row in OPERATIONS.values()} | {"namespace_id"}


def test_the_documentation_lists_the_error_codes() -> None:
    doc = " ".join((LanceNamespace.create_table.__doc__ or "").split())
    assert "NamespaceNotFoundError: code 1." in doc
    assert "TableAlreadyExistsError: code 5." in doc
    assert "any of the common codes 0, 13, 15, 16, 17, 18, 19, 21." in doc
    assert "Source: CreateTable, ``POST /v1/table/{id}/create``." in doc


# --- the small specification


def test_fields_can_have_names_that_python_uses(small: Path) -> None:
    """Keywords, builtins and names of decoders are valid field names."""
    code = """
import json
from lance_namespace_client import OPERATIONS, ListColorsRequest, Mix
request = ListColorsRequest(from_="red", limit=3)
mix = Mix.from_dict({"model": "m", "list": ["a", None], "next": {"notes": {"n": None}}})
print(json.dumps([
    request.to_dict(),
    ListColorsRequest.from_dict({"from": "blue"}).from_,
    [parameter.field for parameter in OPERATIONS["ListColors"].query],
    mix.to_dict(),
    [mix.model, mix.list_, mix.next.notes],
]))
"""
    assert python(code, small) == [
        {"from": "red", "limit": 3},
        "blue",
        ["limit", "from"],
        {"model": "m", "list": ["a", None], "next": {"notes": {"n": None}}},
        ["m", ["a", None], {"n": None}],
    ]


def test_a_keyword_can_be_a_query_parameter(small: Path) -> None:
    code = """
import json, httpx
from lance_namespace_client import RestNamespace
seen = []
def answer(request):
    seen.append(str(request.url))
    return httpx.Response(200, json={"colors": ["red"]})
client = httpx.Client(transport=httpx.MockTransport(answer))
colors = RestNamespace(client, "http://paint").list_colors({"from": "light blue"}).colors
print(json.dumps([seen, colors]))
"""
    assert python(code, small) == [
        ["http://paint/v1/colors?delimiter=%24&from=light%20blue"],
        ["red"],
    ]


def test_required_nullable_and_default_fields(small: Path) -> None:
    code = """
import json
from lance_namespace_client import PaintTableRequest, PaintTableResponse, errors
def failure(call):
    try:
        call()
    except errors.LanceNamespaceError as error:
        return [int(error.code), str(error)]
until = PaintTableResponse.from_dict({"coats": 1, "until": "2026-11-20T12:00:00Z"}).until
print(json.dumps([
    PaintTableResponse(coats=1, until=None).to_dict(),
    until.isoformat(),
    failure(lambda: PaintTableResponse.from_dict({"coats": 1})),
    PaintTableRequest(color="red").coats,
    PaintTableRequest(color="red", coats=3).to_dict(),
    failure(lambda: PaintTableRequest.from_dict({"color": "blue"})),
    failure(lambda: PaintTableRequest.from_dict({"color": "red", "coats": 0})),
    failure(lambda: PaintTableRequest.coerce({"color": "red", "Coat": 1})),
    failure(lambda: PaintTableRequest.coerce({"color": "red", "brush": 1}))[0],
    PaintTableRequest.from_dict({"color": "red", "brush": 1}).to_dict(),
]))
"""
    assert python(code, small) == [
        {"coats": 1, "until": None},
        datetime(2026, 11, 20, 12, tzinfo=UTC).isoformat(),
        [13, "PaintTableResponse.until is required; None is also allowed"],
        2,
        {"color": "red", "coats": 3},
        [13, "PaintTableRequest.color must be one of red, green, not 'blue'"],
        [13, "PaintTableRequest.coats must be 1 or more, not 0"],
        [13, "PaintTableRequest has no field 'Coat'; did you mean 'coats'?"],
        13,
        {"color": "red"},
    ]


# --- checkers


# The default run needs only one of them: the session "lint" checks the whole package as strictly.
@pytest.mark.parametrize("which", [pytest.param("whole", marks=pytest.mark.slow), "small"])
def test_type_checker_passes(which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    cache = request.config.cache.mkdir(f"mypy-{which}")
    folder: Path = GENERATED if which == "whole" else request.getfixturevalue("small")
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\n[mypy-pyarrow.*]\nignore_missing_imports = True\n", "utf-8")
    command = "-m mypy --strict lance_namespace_client --config-file"
    done = subprocess.run(
        [sys.executable, *command.split(), config, "--cache-dir", cache],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("which", ["whole", "small"])
def test_linter_passes(which: str, request: pytest.FixtureRequest) -> None:
    folder: Path = GENERATED if which == "whole" else request.getfixturevalue("small")
    command = "-m ruff check --isolated --no-cache --target-version py311 --line-length 100"
    done = subprocess.run(
        [sys.executable, *command.split(), "--select", RULES, "--ignore", IGNORED, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_file_names_its_source() -> None:
    for path in (GENERATED / "lance_namespace_client").rglob("*.py*"):
        if path.suffix in (".py", ".pyi"):
            first = path.read_text("utf-8").partition("\n")[0]
            assert first == (
                "# Generated from rest.yaml by `python -m codegen`. Edit rest.yaml instead."
            ), path


def test_a_map_may_be_empty_by_default(
    run: Callable[..., Ran], change: Callable[[str, str], None], out: Path
) -> None:
    until = "        until: {type: [string, 'null'], format: date-time"
    notes = "        notes: {type: object, additionalProperties: {type: string}, default: {}"
    change(until, f"{notes}, description: Remarks.}}\n{until}")
    assert run().status == 0
    code = (
        "import json; from lance_namespace_client.models import PaintTableResponse as R\n"
        "rest = {'coats': 1, 'until': None}; read = lambda: R.from_dict(rest)\n"
        "one, two, three = R(**rest), R(**rest), read(); one.notes['a'] = three.notes['b'] = 'c'\n"
        "print(json.dumps([one.notes, two.notes, three.notes, read().notes]))"
    )
    assert python(code, out) == [{"a": "c"}, {}, {"b": "c"}, {}]
