"""The kit as functions: each returns the report that the command writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .http_target import HttpTarget
from .lab import Target
from .login import ServerConfig, logged_in
from .process_target import ProcessTarget
from .python_target import PythonTarget
from .redact import Redactor, tells_secret
from .report import document
from .runner import Finding, Options, Plan, run

__all__ = [
    "check_class",
    "check_impl",
    "check_target",
    "check_url",
    "class_target",
    "impl_target",
    "require",
    "url_target",
]

Report = dict[str, Any]
Progress = Callable[[Finding], None]


def _silent(finding: Finding) -> None:
    """Discard the progress."""


def check_target(
    target: Target,
    options: Options | None = None,
    *,
    connection: str = "...",
    redactor: Redactor | None = None,
    progress: Progress = _silent,
    planned: Callable[[Plan], None] = lambda plan: None,
) -> Report:
    """Return the report of a run on a target, and close the target.

    Args:
        target: target to check.
        options: options of the run.
        connection: Python expression that connects to the target; for scripts.
        redactor: removes secrets from the report.
        progress: called with the result of each check.
        planned: called with the expected duration before the first check.

    Raises:
        CannotRunError: nothing can be checked.
    """
    try:
        outcome = run(target, options, progress, planned)
    finally:
        target.close()
    return document(outcome, connection, redactor or Redactor())


def check_url(
    uri: str,
    options: Options | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    token: str | None = None,
    properties: Mapping[str, Any] | None = None,
    progress: Progress = _silent,
) -> Report:
    """Return the report of a run on a Lance REST server.

    Args:
        uri: base address.
        options: options of the run.
        headers: headers of every request.
        token: bearer token.
        properties: properties of the `rest` backend for authentication and TLS; see `url_target`.
        progress: called with the result of each check.

    Raises:
        InvalidInputError: code 13, a property is invalid.
        CannotRunError: the server cannot be reached, or is not a Lance server.
    """
    redactor = Redactor()
    target, connection = url_target(uri, headers or {}, token, redactor, properties)
    return check_target(
        target, options, connection=connection, redactor=redactor, progress=progress
    )


def check_impl(
    impl: str,
    properties: Mapping[str, Any],
    options: Options | None = None,
    *,
    progress: Progress = _silent,
) -> Report:
    """Return the report of a run on an implementation that `lance_namespace_impls.connect` accepts.

    Args:
        impl: its name.
        properties: its properties.
        options: options of the run.
        progress: called with the result of each check.

    Raises:
        InvalidInputError: code 13, the impl or a property is invalid.
        CannotRunError: nothing can be checked.
    """
    redactor = Redactor()
    target, connection = impl_target(impl, properties, redactor)
    return check_target(
        target, options, connection=connection, redactor=redactor, progress=progress
    )


def check_class(
    name: str,
    properties: Mapping[str, str],
    options: Options | None = None,
    *,
    python: str | None = None,
    progress: Progress = _silent,
) -> Report:
    """Return the report of a run on any Python class, in a separate interpreter.

    Args:
        name: ``module:Class``.
        properties: keyword arguments of its constructor.
        options: options of the run.
        python: interpreter; the current one by default.
        progress: called with the result of each check.

    Raises:
        CouldNotStartError: the class cannot be instantiated.
        CannotRunError: nothing can be checked.
    """
    redactor = Redactor()
    target, connection = class_target(name, properties, python, redactor)
    return check_target(
        target, options, connection=connection, redactor=redactor, progress=progress
    )


def url_target(
    uri: str,
    headers: Mapping[str, str],
    token: str | None,
    redactor: Redactor,
    properties: Mapping[str, Any] | None = None,
) -> tuple[Target, str]:
    """Return the target of a server, and the expression that connects to it.

    Args:
        uri: base address.
        headers: headers of every request.
        token: bearer token.
        redactor: learns the secret values.
        properties: properties of the `rest` backend for authentication and TLS, such as `credential`
            with `oauth2-server-uri`, `sigv4`, `dynamic_context_provider.impl` and `ca_bundle`.

    Raises:
        InvalidInputError: code 13, a property is invalid.
    """
    if properties:
        redactor.learn(ServerConfig.secrets_among(properties))
        target = logged_in(uri, headers, token, redactor, properties)
    else:
        target = HttpTarget(uri, headers, token, redactor)
    given = {"uri": target.name, **redactor.value(dict(properties or {}))}
    shown = ", ".join(f"{json.dumps(key)}: {value!r}" for key, value in given.items())
    return target, f'connect("rest", {{{shown}}})'


def impl_target(impl: str, properties: Mapping[str, Any], redactor: Redactor) -> tuple[Target, str]:
    """Return the target of an implementation, and the expression that connects to it."""
    from ..registry import open_namespace, secrets_among

    redactor.learn(secrets_among(impl, properties))
    namespace = open_namespace(impl, properties)
    redactor.learn(namespace.config.secrets())
    shown = redactor.value(dict(properties))
    return PythonTarget(namespace), f"connect({impl!r}, {shown!r})"


def class_target(
    name: str, properties: Mapping[str, str], python: str | None, redactor: Redactor
) -> tuple[Target, str]:
    """Return the target of a class, and the expression that connects to it."""
    redactor.learn(value for key, value in properties.items() if tells_secret(key))
    shown = redactor.value(dict(properties))
    module, _, cls = name.partition(":")
    expression = f"__import__({module!r}, fromlist=['_']).{cls}(**{shown!r})"
    return ProcessTarget(name, properties, python), expression


def require(report: Mapping[str, Any]) -> None:
    """Raise all failures as one assertion, one line per check with its details.

    Raises:
        AssertionError: a check failed.
    """
    failed = [entry for entry in report["checks"] if entry["result"] == "fail"]
    if not failed:
        return
    lines = [f"{len(failed)} of {len(report['checks'])} checks failed on {report['target']}"]
    for entry in failed:
        lines.append(f"{entry['id']} {entry['requirement']}")
        lines.append(f"    expected {entry['expected']}; got: {entry['got']}")
        steps = (entry["script"] or {}).get("json") or []
        steps = [step for step in steps if step["part"] == "check"]
        lines += [f"    {step['operation']} {step['request']}" for step in steps[-6:]]
    raise AssertionError("\n".join(lines))
