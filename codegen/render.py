"""From a `Spec` to the files of the generated package."""

from __future__ import annotations

import json
import subprocess
import tempfile
import textwrap
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from .model import Model, Operation, Spec

WIDTH = 100
RUFF = ["--isolated", "--target-version", "py311", "--line-length", str(WIDTH)]


def render(spec: Spec) -> dict[str, str]:
    """Give the text of every generated file by its path in the package."""
    env = Environment(
        loader=FunctionLoader(_template),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.globals["docstring"] = _docstring
    header = _template("header.jinja").strip()

    def fill(template: str, **values: Any) -> str:
        return env.get_template(template).render(header=header, **values)

    operations = [_Documented(operation, spec) for operation in spec.operations]
    model_names = sorted(
        {op.request for op in spec.operations}
        | {op.response for op in spec.operations if op.answer != "ARROW"}
    )
    errors = sorted(spec.errors, key=lambda kind: kind.code)
    out: dict[str, str] = {}
    for static in ("_model.py", "_operation.py", "_arrow.py", "_transport.py"):
        out[static] = f"{header}\n" + (files(__package__) / "static" / static).read_text("utf-8")
    for model in spec.models:
        out[f"models/{model.module}.py"] = fill(
            "model.py.jinja",
            model=model,
            module_doc=_first_sentence(model.description),
            imports=_imports(model, {m.name: m.module for m in spec.models}),
        )
    exports = sorted((model.name, f".{model.module}") for model in spec.models)
    out |= _package(
        "models/",
        "Every request and response of the protocol; each loads on first use.",
        exports,
        fill,
    )
    out["errors.py"] = fill("errors.py.jinja", errors=errors)
    out["operations.py"] = fill(
        "operations.py.jinja",
        operations=operations,
        model_names=model_names,
        common_codes=spec.common_codes,
    )
    out["namespace.py"] = fill("namespace.py.jinja", operations=operations, model_names=model_names)
    out["rest.py"] = fill("rest.py.jinja", operations=operations, model_names=model_names)
    exports = [(name, ".models") for name, _ in exports]
    exports += [(kind.class_name, ".errors") for kind in errors]
    exports += [
        ("ErrorCode", ".errors"),
        ("LanceNamespaceError", ".errors"),
        ("LanceNamespace", ".namespace"),
        ("Model", "._model"),
        ("OPERATIONS", ".operations"),
        ("Operation", "._operation"),
        ("RequestLike", "._model"),
        ("RestNamespace", ".rest"),
    ]
    doc = f"Models, client and errors of the Lance REST namespace protocol, version {spec.version}."
    out |= _package("", doc, sorted(exports), fill)
    out["openapi.json"] = json.dumps(spec.document, indent=1, ensure_ascii=False) + "\n"
    out["py.typed"] = ""
    return _format(out)


def _template(name: str) -> str:
    return (files(__package__) / "templates" / name).read_text("utf-8")


def _package(folder: str, doc: str, exports: list[tuple[str, str]], fill: Any) -> dict[str, str]:
    names = [name for name, _ in exports]
    return {
        f"{folder}__init__.py": fill("lazy_init.py.jinja", doc=doc, exports=exports, names=names),
        f"{folder}__init__.pyi": fill("lazy_init.pyi.jinja", exports=exports, names=names),
    }


def _imports(model: Model, modules: dict[str, str]) -> dict[str, Any]:
    types = [field.type for field in model.fields]
    names = sorted(set().union(*(kind.models for kind in types)) - {model.name}) if types else []
    annotations = " ".join(field.annotation for field in model.fields)
    return {
        "models": [(name, modules[name]) for name in names],
        "decoders": sorted(set().union(*(kind.decoders for kind in types))) if types else [],
        "datetime": "datetime" in annotations,
        "any": "Any" in annotations,
        "literal": "Literal[" in annotations,
    }


class _Documented:
    """An operation and the docstring of its method."""

    def __init__(self, operation: Operation, spec: Spec) -> None:
        self._operation = operation
        self.doc = _operation_doc(operation, spec)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operation, name)


def _operation_doc(operation: Operation, spec: Spec) -> str:
    args = [f"    request: a `{operation.request}`, or what stands for one."]
    if operation.body == "ARROW":
        args.append(
            "    data: the rows, as a pyarrow reader, table or batch, or an Arrow IPC stream."
        )
    plain = {kind.code: kind for kind in spec.errors if kind.extends is None}
    raises = [
        f"    {plain[code].class_name}: code {code}." for code in operation.codes if code in plain
    ]
    raises.append(
        "    LanceNamespaceError: any of the common codes "
        + ", ".join(map(str, spec.common_codes))
        + "."
    )
    returns = "    " + operation.success
    if operation.answer == "ARROW":
        returns += " They arrive as a ``pyarrow.RecordBatchReader``, a batch at a time."
    lines = [
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
    return "\n".join(lines)


def _first_sentence(text: str) -> str:
    sentence = text.split(". ")[0].strip().rstrip(".") + "."
    return (
        textwrap.shorten(sentence, WIDTH - 8, placeholder="...")
        .replace("\\", "\\\\")
        .replace('"', "'")
    )


def _docstring(text: str, indent: int) -> str:
    """Write a docstring, wrapped; lines that are indented stay on their own."""
    out: list[str] = []
    pad = " " * indent
    for line in text.strip().split("\n"):
        own = line[: len(line) - len(line.lstrip())]
        out += textwrap.wrap(
            line,
            WIDTH - 4 - indent,
            initial_indent=pad,
            subsequent_indent=pad + own + ("  " if own else ""),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    body = "\n".join(out).lstrip().replace("\\", "\\\\").replace('"""', "'''")
    if body.endswith('"'):
        body += " "
    return f'"""{body}"""' if "\n" not in body else f'"""{body}\n{pad}"""'


def _format(texts: dict[str, str]) -> dict[str, str]:
    """Sort imports, drop the unused ones and format, with ruff as pinned in the project."""
    if find_spec("ruff") is None:
        raise RuntimeError("ruff is missing: pip install 'lance-namespace-kit[codegen]'")
    from ruff import find_ruff_bin

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "lance_namespace_client"
        for name, text in texts.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8", newline="\n")
        ruff = find_ruff_bin()
        for command in (
            ["check", "--quiet", "--fix", "--select", "I,F401", "--exclude", "*.pyi"],
            ["format", "--quiet"],
        ):
            done = subprocess.run(
                [ruff, *command, *RUFF, "--no-cache", str(root)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise RuntimeError(
                    f"ruff {command[0]} refused the generated code:\n{done.stdout}{done.stderr}"
                )
        return {name: (root / name).read_text(encoding="utf-8") for name in texts}
