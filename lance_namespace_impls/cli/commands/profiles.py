"""Commands for the configuration file: profiles and config."""

from __future__ import annotations

import json
import os
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from lance_namespace_client.errors import LanceNamespaceError

from ...core.profiles import (
    VARIABLE,
    config_path,
    expanded,
    read_profile,
    read_profiles,
    unexpanded,
)
from ..choice import find_modules_here
from ..failures import Report, Status, UsageError, one_line
from ..output import Output, Styled
from ..session import ConfigFile, Impl, Properties, key_values

__all__ = ["config", "profiles"]


class Action(StrEnum):
    """Actions on profiles."""

    LIST = "list"
    ADD = "add"
    TEST = "test"


def profiles(
    output: Output,
    action: Annotated[Action, typer.Argument(metavar="list|add|test", help="The action.")],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="The profile; without NAME, test tests all profiles."
        ),
    ] = None,
    impl: Impl = None,
    property: Properties = None,
    file: ConfigFile = None,
) -> None:
    """Show, add or test the profiles in the configuration file.

    A property may contain an environment variable as ${NAME}, so the file need not contain secrets.
    """
    if action is not Action.ADD and (impl or property):
        raise UsageError("--impl and --property are for new profiles; use lance-ns profiles add")
    path = config_path(file)
    if action is Action.ADD:
        _add(output, path, name, impl, key_values(property, "--property"))
        return
    known = read_profiles(path) if path.exists() or file else {}
    if name is not None:
        read_profile(path, name)  # the error lists the existing profiles
        known = {name: known[name]}
    if action is Action.LIST:
        _list(output, path, known)
    elif not _test(output, path, list(known)):
        raise typer.Exit(Status.NOT_DONE)


class ConfigAction(StrEnum):
    """Information about the configuration file."""

    PATH = "path"


def config(
    output: Output,
    action: Annotated[
        ConfigAction, typer.Argument(metavar="path", help="The information to show.")
    ],
    file: ConfigFile = None,
) -> None:
    """Show the path of the configuration file."""
    path = config_path(file)
    if output.as_json:
        output.document({"path": str(path), "exists": path.exists()})
    else:
        output.line(str(path))


def _list(output: Output, path: Path, known: dict[str, Any]) -> None:
    rows = [(name, *_shown(profile)) for name, profile in known.items()]
    if output.as_json:
        listed = [{"name": n, "impl": i, "properties": shown} for n, i, shown in rows]
        output.document({"path": str(path), "profiles": listed})
    elif rows:
        output.table(
            ("Profile", "Implementation", "Properties"),
            [(n, i, " ".join(f"{k}={v}" for k, v in shown.items())) for n, i, shown in rows],
        )


def _shown(profile: Any) -> tuple[str, dict[str, str]]:
    """Return a profile's implementation, and its properties with all secrets hidden.

    Environment variables are not expanded: a value that consists only of a reference to one
    contains no secret.
    """
    from ...registry import shown_among

    entries = unexpanded(profile) if isinstance(profile, dict) else {}
    impl = str(entries.pop("impl", ""))
    find_modules_here(impl)
    hidden = shown_among(impl, entries)
    return impl, {
        key: str(value) if VARIABLE.fullmatch(str(value)) else hidden[key]
        for key, value in sorted(entries.items())
    }


def _add(
    output: Output, path: Path, name: str | None, impl: str | None, given: dict[str, str]
) -> None:
    if name is None or impl is None:
        raise UsageError("specify the NAME of the new profile and its --impl")
    if path.exists() and name in read_profiles(path):
        raise UsageError(f"{path} already has a profile {name!r}: choose another name, or edit it")
    from ...registry import load

    # Reject an invalid profile before it is written to the file.
    find_modules_here(impl)
    load(impl).config_type.from_properties(expanded(given, f"profile {name!r}"))
    # A JSON string is also a valid TOML string; keys are quoted unless they are bare keys.
    lines = [f"[{json.dumps(name)}]", f"impl = {json.dumps(impl)}"]
    lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in given.items()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        there = path.exists()
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "a") as sink:
            sink.write(("\n" if there else "") + "\n".join(lines) + "\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    if output.as_json:
        output.document({"path": str(path), "profile": name})
    else:
        output.line(f"profile {name} added to {path}")


def _test(output: Output, path: Path, names: list[str]) -> bool:
    """List the root of each profile's namespace, and report the result."""
    results: list[dict[str, Any]] = []
    for name in names:
        begun = time.perf_counter()
        problem = _problem(path, name)
        taken = round(1000 * (time.perf_counter() - begun))
        results.append({"name": name, "ok": problem is None, "error": problem, "millis": taken})
    if output.as_json:
        output.document({"profiles": results})
    elif results:
        output.table(
            ("Profile", "Result"),
            [
                (
                    each["name"],
                    Styled(f"responds in {each['millis']} ms", "green")
                    if each["ok"]
                    else Styled(each["error"], "red"),
                )
                for each in results
            ],
        )
    return all(each["ok"] for each in results)


def _problem(path: Path, name: str) -> str | None:
    """Return why a profile's namespace does not respond, without revealing secrets."""
    from ..session import Session

    report = Report(as_json=False, debug=False)
    try:
        found = read_profile(path, name) or {}
        impl = str(found.pop("impl"))
        session = Session(impl, found, "$", Output(as_json=False), report, path)
        with session.connect() as namespace:
            namespace.list_namespaces({"limit": 1})
    except LanceNamespaceError as error:
        return report.without_secrets(one_line(error.message))
    return None
