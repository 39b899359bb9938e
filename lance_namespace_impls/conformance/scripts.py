"""Self-contained scripts of calls: as Python, as curl, or as JSON for ``--replay``."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlencode

from attrs import frozen

from lance_namespace_client.operations import OPERATIONS

from .exchange import Exchange, Step, shown_body
from .http_target import written
from .ledger import Entry, contents_first, objects_made
from .redact import HIDDEN
from .requirement import is_chosen

__all__ = [
    "Part",
    "Script",
    "as_curl",
    "as_json",
    "as_python",
    "exchange_text",
    "login_of",
    "one_line",
    "read_scripts",
]

Part = Literal["setup", "check", "teardown"]
TITLES: dict[str, str] = {
    "setup": "Create the namespaces that the calls need.",
    "check": "The calls of the check.",
    "decisive": "The check fails with the response to this call.",
    "teardown": "Remove all created objects; an object that no longer exists is not found.",
}


@frozen
class Script:
    """Calls that reproduce a result, starting from a namespace without any of these objects."""

    setup: tuple[Step, ...]
    steps: tuple[Step, ...]
    teardown: tuple[Step, ...]
    decisive: Step | None = None
    """The call among `steps` whose answer decides the result."""

    @classmethod
    def of(
        cls, steps: Sequence[Step], setup: Sequence[Step] = (), decisive: Step | None = None
    ) -> Script:
        """Return the script of a check's calls.

        Args:
            steps: the calls of the check.
            setup: calls that created namespaces; only those that `steps` use are part of the script.
            decisive: the call whose answer decides the result.
        """
        used = list(_identifiers(steps))
        texts = [_raw_text(step) for step in steps if step.raw is not None]
        needed = [
            step
            for _, identifier, step in _made(setup)
            if any(each[: len(identifier)] == identifier for each in used)
            or any(identifier[-1] in text for text in texts)
        ]
        # Whether the calls removed something depends on the target, so all of it is removed.
        made: dict[Entry, None] = {}
        for step in (*needed, *steps):
            made |= dict.fromkeys(objects_made(step))
        return cls(
            tuple(needed),
            tuple(steps),
            tuple(_removal(*entry) for entry in contents_first(made)),
            next((step for step in reversed(steps) if step is decisive), None),
        )

    def parts(self) -> Iterator[tuple[Part, Step]]:
        """Return all calls in order, each with the part of the script it belongs to."""
        parts: tuple[tuple[Part, tuple[Step, ...]], ...] = (
            ("setup", self.setup), ("check", self.steps), ("teardown", self.teardown),
        )  # fmt: skip
        for part, steps in parts:
            for step in steps:
                yield part, step

    def commented(self) -> Iterator[tuple[str | None, Step]]:
        """Return all calls in order, each with the comment in front of it, if any."""
        before = None
        for part, step in self.parts():
            title = TITLES[part] if part != before else None
            yield TITLES["decisive"] if step is self.decisive else title, step
            before = part


def _made(steps: Sequence[Step]) -> Iterator[tuple[str, tuple[str, ...], Step]]:
    for step in steps:
        for kind, identifier in objects_made(step):
            yield kind, identifier, step


def _identifiers(steps: Sequence[Step]) -> Iterator[tuple[str, ...]]:
    """Return the identifiers in all requests, at any depth."""
    for step in steps:
        waiting: list[Any] = [dict(step.request)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                waiting += value.values()
            elif isinstance(value, list | tuple):
                if all(isinstance(each, str) for each in value):
                    yield tuple(value)
                else:
                    waiting += value


def _raw_text(step: Step) -> str:
    """Return the path and the body of an explicit request."""
    _, path, query, content, _ = written(step)
    return f"{path} {dict(query)} {(content or b'').decode(errors='replace')}"


def _removal(kind: str, identifier: tuple[str, ...]) -> Step:
    operation = "DropTable" if kind == "table" else "DropNamespace"
    return Step(operation, {"id": list(identifier)})


def as_json(script: Script) -> list[dict[str, Any]]:
    """Return the calls as JSON, which ``lance-ns conformance --replay`` reads."""
    return [
        {**step.to_dict(), "part": part, **({"decisive": True} if step is script.decisive else {})}
        for part, step in script.parts()
    ]


def read_scripts(
    path: Path, only: Sequence[str] = (), skip: Sequence[str] = ()
) -> list[tuple[str, Script]]:
    """Return the scripts in a JSON file, each with a title.

    Args:
        path: a script as `as_json` returns it, or a report with the scripts of its failures.
        only: patterns of the ids of the failures to return; all if empty.
        skip: patterns of the ids of the failures to leave out.

    Raises:
        ValueError: the file cannot be read or is neither a script nor a report.
    """
    try:
        form = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(form, list):
            return [("", _from_json(form))]
        return [
            (f"{entry['id']}: expected {entry['expected']}; got: {entry['got']}",
             _from_json(entry["script"]["json"]))
            for entry in form["checks"]
            if entry["script"] is not None and is_chosen(entry["id"], only, skip)
        ]  # fmt: skip
    except (OSError, KeyError, TypeError) as error:
        raise ValueError(str(error)) from error


def _from_json(form: Sequence[Mapping[str, Any]]) -> Script:
    parts: dict[str, list[Step]] = {"setup": [], "check": [], "teardown": []}
    decisive = None
    for entry in form:
        step = Step.from_dict(entry)
        parts[entry.get("part", "check")].append(step)
        decisive = step if entry.get("decisive") else decisive
    setup, steps, teardown = map(tuple, parts.values())
    return Script(setup, steps, teardown, decisive)


def as_python(script: Script, connection: str) -> str:
    """Return the calls as a Python program.

    Args:
        script: the calls.
        connection: expression that connects, such as ``connect("rest", {"uri": ...})``.
    """
    lines = [
        "import base64",
        "",
        "from lance_namespace_client.errors import LanceNamespaceError",
        "from lance_namespace_impls import connect",
        "",
        "",
        "def call(method, *arguments):",
        "    try:",
        "        print(method.__name__, method(*arguments))",
        "    except LanceNamespaceError as error:",
        "        print(method.__name__, int(error.code), error)",
        "",
        "",
        f"namespace = {connection}",
    ]
    for comment, step in script.commented():
        if comment is not None:
            lines.append(f"# {comment}")
        if step.raw is not None:
            lines.append(f"# {step.raw['method']} {step.raw['path']} over HTTP: see curl")
            continue
        method = OPERATIONS[step.operation].method_name
        arguments = [repr(dict(step.request))]
        if step.data is not None:
            arguments.append(f"base64.b64decode({base64.b64encode(step.data).decode()!r})")
        lines.append(f"call(namespace.{method}, {', '.join(arguments)})")
    return "\n".join(lines) + "\n"


def as_curl(script: Script, uri: str, login: Mapping[str, str] | None = None) -> str:
    """Return the calls as a shell script with curl.

    Args:
        script: the calls.
        uri: base address.
        login: headers with placeholders for the credentials.
    """
    lines = [f"# Replace {HIDDEN} with the credentials."] if login else []
    for comment, step in script.commented():
        if comment is not None:
            lines.append(f"# {comment}")
        method, path, query, content, headers = written(step)
        text = urlencode(query, doseq=True, quote_via=quote)
        command = ["curl", "-sS", "-w", "\\nHTTP %{http_code}\\n", "-X", method, "--path-as-is"]
        own = {name.lower() for name in headers}
        hidden = {n: v for n, v in (login or {}).items() if n.lower() not in own}
        for name, value in {**headers, **hidden}.items():
            command += ["-H", f"{name}: {value}"]
        head = ""
        if content is not None:
            encoded = base64.b64encode(content).decode()
            head = f"echo {encoded} | base64 -d | " if not content.isascii() else ""
            command += ["--data-binary", "@-" if head else content.decode()]
        url = uri.rstrip("/") + path + (f"?{text}" if text else "")
        lines.append(head + shlex.join([*command, url]))
    return "\n".join(lines) + "\n"


def exchange_text(exchange: Exchange | None) -> tuple[str, str]:
    """Return the request and the response of an exchange as HTTP text; both empty for None."""
    if exchange is None:
        return "", ""
    request = [f"{exchange.method} {exchange.url}"]
    request += [f"{k}: {v}" for k, v in exchange.request_headers.items()]
    request += ["", shown_body(exchange.request_body)]
    response = [f"HTTP {exchange.status}"]
    response += [f"{k}: {v}" for k, v in exchange.headers.items()]
    response += ["", shown_body(exchange.body)]
    return "\n".join(request).rstrip(), "\n".join(response).rstrip()


def login_of(exchange: Exchange | None) -> dict[str, str]:
    """Return the request headers with hidden values; the values are placeholders."""
    headers = {} if exchange is None else exchange.request_headers
    return {name: value for name, value in headers.items() if value == HIDDEN}


def one_line(step: Step) -> str:
    """Return a call in one line."""
    data = f", {len(step.data)} bytes of rows" if step.data is not None else ""
    return f"{step.operation}({json.dumps(dict(step.request), ensure_ascii=False)}{data})"
