"""Renders a `Spec` to the files of the generated package."""

from __future__ import annotations

import json
import re
import textwrap
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from .model import Operation, Spec
from .tools import format_python

LINE = 88  # ruff's default
PROSE = 80  # width of docstrings, which leaves space for escapes and quotes


def _template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text("utf-8")


HEADER = _template("header.jinja").strip()
# This lets the package be type-checked anywhere, without settings in the surrounding project.
UNTYPED = """\
# pyarrow has no type information.
# mypy: disable-error-code="import-untyped"
"""


# Rendered from the templates with these names.
NAMESPACES = (
    "errors.py",
    "namespace.py",
    "async_namespace.py",
    "operations.py",
    "rest.py",
    "async_rest.py",
)


def render(spec: Spec, header: str = HEADER) -> dict[str, str]:
    """Return the text of every generated file, by its path in the package.

    Args:
        spec: the parsed document.
        header: first line of every file.

    Raises:
        ToolError: ruff rejects the generated code.
    """
    env = Environment(
        loader=FunctionLoader(_template),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters["repr"] = repr
    env.globals |= {
        "header": header,
        "docstring": _docstring,
        "paragraphs": _paragraphs,
        "operation_doc": lambda operation: _operation_doc(operation, spec),
        "async_operation_doc": lambda operation: _async_operation_doc(operation, spec),
        "route_doc": _route_doc,
        "operations": spec.operations,
        "errors": spec.errors,
        "common_codes": spec.common_codes,
        "modules": {model.name: model.module for model in spec.models},
    }

    def fill(template: str, **values: Any) -> str:
        return env.get_template(template).render(**values)

    out = {
        source.name: f"{header}\n{source.read_text('utf-8')}"
        for source in (files(__package__) / "static").iterdir()
        if source.name.endswith(".py")
    }
    for model in spec.models:
        out[f"models/{model.module}.py"] = fill("model.py.jinja", model=model)
    for name in NAMESPACES:
        out[name] = fill(f"{name}.jinja")
    for folder, doc, exports in (
        (
            "models/",
            "All requests and responses of the protocol; each is loaded on first use.",
            [(model.name, f".{model.module}") for model in spec.models],
        ),
        (
            "",
            f"Models, client and errors of the Lance REST namespace protocol {spec.version}.",
            _exports(spec),
        ),
    ):
        for name in ("__init__.py", "__init__.pyi"):
            template = f"lazy{name.replace('__init__', '_init')}.jinja"
            out[folder + name] = fill(template, doc=doc, exports=sorted(exports))
    for name, text in out.items():
        if name.endswith(".py") and "import pyarrow" in text:
            out[name] = text.replace(header, f"{header}\n{UNTYPED}", 1)
    out["openapi.json"] = json.dumps(spec.document, indent=1, ensure_ascii=False) + "\n"
    out["py.typed"] = ""
    return format_python(out, LINE)


def _exports(spec: Spec) -> list[tuple[str, str]]:
    """Return the public names of the package, with their modules."""
    return [
        *((model.name, ".models") for model in spec.models),
        *((kind.class_name, ".errors") for kind in spec.errors),
        ("ErrorCode", ".errors"),
        ("LanceNamespaceError", ".errors"),
        ("LanceNamespace", ".namespace"),
        ("AsyncLanceNamespace", ".async_namespace"),
        ("Model", ".model"),
        ("OPERATIONS", ".operations"),
        ("Operation", "._operation"),
        ("RequestLike", ".model"),
        ("RestNamespace", ".rest"),
        ("AsyncRestNamespace", ".async_rest"),
        ("AsyncRows", ".async_rest"),
    ]


def _operation_doc(operation: Operation, spec: Spec) -> str:
    article = "an" if operation.request[0] in "AEIOU" else "a"
    args = [
        f"    request: {article} `{operation.request}`, a dict, or an object with ``model_dump()``."
    ]
    if operation.body == "ARROW":
        args.append(
            "    data: the rows, as a pyarrow reader, table or batch, or an Arrow IPC stream."
        )
    plain = {kind.code: kind for kind in spec.errors if kind.extends is None}
    raises = [f"    {plain[code].class_name}: code {code}." for code in operation.codes]
    common = ", ".join(map(str, spec.common_codes))
    raises.append(f"    LanceNamespaceError: any of the common codes {common}.")
    returns = "    " + operation.success
    if operation.answer == "ARROW":
        returns += " They arrive as a ``pyarrow.RecordBatchReader``, one batch at a time."
    return "\n".join(
        [
            f"{operation.summary}.",
            "",
            operation.description,
            "",
            "Args:",
            *args,
            "",
            "Returns:",
            returns,
            "",
            "Raises:",
            *raises,
            "",
            f"Source: {operation.name}, ``{operation.http_method} {operation.path}``.",
        ]
    )


def _async_operation_doc(operation: Operation, spec: Spec) -> str:
    return (
        _operation_doc(operation, spec)
        .replace("a ``pyarrow.RecordBatchReader``, one batch", "`AsyncRows`, one batch")
        .replace(
            "table or batch, or an Arrow IPC stream.",
            "table or batch, an Arrow IPC stream, or an asynchronous iterator of record batches.",
        )
    )


def _route_doc(operation: Operation) -> str:
    route = f"``{operation.http_method} {operation.path}``"
    line = f"{operation.summary}: {route}."
    return line if len(line) <= PROSE - 8 else f"{operation.summary}.\n\n{route}"


def _paragraphs(text: str) -> str:
    """Return the text; its first sentence becomes a separate paragraph if it fits on a line."""
    first, stop, rest = text.partition(". ")
    return f"{first}.\n\n{rest}" if stop and len(first) < PROSE - 8 else text


def _docstring(text: str, indent: int) -> str:
    """Format a docstring and wrap its lines; indented lines are kept separate.

    The continuation lines of an entry such as ``name: description`` get a hanging indent.
    """
    pad = " " * indent
    out: list[str] = []
    for line in text.strip().split("\n"):
        own = line[: len(line) - len(line.lstrip())]
        hanging = own + "    " if re.match(r"\s+\w+: ", line) else own
        out += textwrap.wrap(
            line,
            PROSE,
            initial_indent=pad,
            subsequent_indent=pad + hanging,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    body = "\n".join(out).lstrip().replace("\\", "\\\\").replace('"""', r"\"\"\"")
    if body.endswith('"'):
        body += " "
    return f'"""{body}"""' if "\n" not in body else f'"""{body}\n{pad}"""'
