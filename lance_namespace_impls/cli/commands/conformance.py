"""The command ``lance-ns conformance``: runs the contract tests and reports the results."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..choice import find_modules_here
from ..failures import UsageError, one_line
from ..output import Output, Styled
from ..session import key_values

if TYPE_CHECKING:
    from ...conformance.lab import Target
    from ...conformance.redact import Redactor
    from ...conformance.runner import Options

__all__ = ["conformance"]

TARGET = "Target"
RUN = "Run"
RESULT = "Result"
FAILED, COULD_NOT_RUN, NOT_REACHED = 1, 2, 3
ANNOUNCED_SECONDS = 60.0
"""Minimum expected duration, in seconds, for which a run is announced in advance."""


def _option(panel: str, *names: str, metavar: str, help: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel)


Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[compare FILE...]", help="Compare reports side by side on one page."),
]
Uri = Annotated[
    str | None, _option(TARGET, "--uri", metavar="URL", help="Base address of a REST server.")
]
Header = Annotated[
    list[str] | None,
    _option(TARGET, "--header", metavar="KEY=VALUE", help="Header of every request; repeatable."),
]
Token = Annotated[str | None, _option(TARGET, "--token", metavar="TEXT", help="Bearer token.")]
Impl = Annotated[
    str | None,
    _option(TARGET, "--impl", metavar="NAME", help="Implementation: see lance-ns backends."),
]
Class = Annotated[
    str | None,
    _option(
        TARGET,
        "--class",
        metavar="MODULE:CLASS",
        help="Any Python namespace class; it runs in a separate process.",
    ),
]
Python = Annotated[
    str | None,
    _option(
        TARGET,
        "--python",
        metavar="PATH",
        help="Interpreter of --class; defaults to the current one.",
    ),
]
Properties = Annotated[
    list[str] | None,
    _option(
        TARGET, "--property", "-p", metavar="KEY=VALUE",
        help="Property of --impl or --class, or of the rest backend to log in with --uri; repeatable.",
    ),
]  # fmt: skip
Under = Annotated[
    str | None,
    _option(RUN, "--under", metavar="ID", help="Namespace to work in; defaults to the root."),
]
Delimiter = Annotated[
    str,
    _option(RUN, "--delimiter", metavar="TEXT", help="Delimiter between the levels of --under."),
]
ReadOnly = Annotated[
    bool, typer.Option("--read-only", help="Create and change nothing.", rich_help_panel=RUN)
]
Profile = Annotated[
    Path | None,
    _option(
        RUN, "--profile", metavar="FILE",
        help='Operations that the target claims, as JSON: {"operations": ["ListTables"]}; '
        "defaults to the response of ListOperations.",
    ),
]  # fmt: skip
Only = Annotated[
    list[str] | None,
    _option(RUN, "--only", metavar="PATTERN", help="Run only checks whose ids match; repeatable."),
]
Skip = Annotated[
    list[str] | None,
    _option(RUN, "--skip", metavar="PATTERN", help="Exclude checks whose ids match; repeatable."),
]
Seed = Annotated[int, _option(RUN, "--seed", metavar="N", help="Seed for random values.")]
Seconds = Annotated[
    float | None,
    _option(
        RUN, "--max-seconds", metavar="N",
        help="Time limit; defaults to twice the expected duration, at least 120.",
    ),
]  # fmt: skip
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", metavar="N", min=1, max=64, rich_help_panel=RUN,
        help="Number of checks to run concurrently; always one with --class.",
    ),
]  # fmt: skip
RerunFailed = Annotated[
    Path | None,
    _option(
        RUN, "--rerun-failed", metavar="FILE",
        help="Run only checks that failed or were not reached in this JSON report.",
    ),
]  # fmt: skip
Clean = Annotated[
    bool,
    typer.Option(
        "--clean", help="Remove objects left by interrupted runs, and exit.", rich_help_panel=RUN
    ),
]
Replay = Annotated[
    Path | None,
    _option(
        RUN, "--replay", metavar="FILE",
        help="Replay a JSON script, or the failures of a JSON report.",
    ),
]  # fmt: skip
Reports = Annotated[
    list[Path] | None,
    _option(
        RESULT, "--report", metavar="FILE", help="Write .json, .xml, .html or .svg; repeatable."
    ),
]
Baseline = Annotated[
    Path | None,
    _option(
        RESULT, "--baseline", metavar="FILE", help="Fail only on regressions from this report."
    ),
]


def conformance(
    output: Output,
    words: Words = None,
    uri: Uri = None,
    header: Header = None,
    token: Token = None,
    impl: Impl = None,
    class_: Class = None,
    python: Python = None,
    property: Properties = None,
    under: Under = None,
    delimiter: Delimiter = "$",
    read_only: ReadOnly = False,
    profile: Profile = None,
    only: Only = None,
    skip: Skip = None,
    seed: Seed = 0,
    max_seconds: Seconds = None,
    jobs: Jobs = 1,
    rerun_failed: RerunFailed = None,
    clean: Clean = False,
    replay: Replay = None,
    report: Reports = None,
    baseline: Baseline = None,
) -> None:
    """Check a server or a namespace against the protocol.

    The exit status is 0 if all checks ran and none failed, 1 if a check failed, 2 if nothing could
    be checked, and 3 if no check failed but some were not reached in time. A run creates new
    namespaces with unique names, works below them, and removes everything that it created.
    """
    from ...conformance.ledger import state_folder
    from ...conformance.runner import Options

    if words:
        _compare(words, report)
        return
    options = Options(
        under=tuple(name for name in (under or "").split(delimiter) if name),
        read_only=read_only,
        only=(*(only or ()), *_failed_before(rerun_failed)),
        skip=tuple(skip or ()),
        seed=seed,
        max_seconds=max_seconds,
        jobs=jobs,
        folder=state_folder(),
        claimed=_claimed(profile),
    )
    from ...conformance.redact import Redactor

    redactor = Redactor()
    try:
        target, connection = _target(
            redactor, uri, key_values(header, "--header"), token, impl, class_, python,
            key_values(property, "--property"),
        )  # fmt: skip
        if clean:
            _clean(output, target, options)
        elif replay is not None:
            _replay(output, target, replay, options, redactor)
        else:
            _run(output, target, connection, options, redactor, report, baseline)
    except (UsageError, typer.Exit):
        raise
    except KeyboardInterrupt:
        _say("created objects are removed, or listed by the next run")
        raise
    except Exception as error:  # noqa: BLE001 - reported; there are three statuses
        _stop(redactor.text(f"{type(error).__name__}: {error}"), error)


def _stop(message: str, cause: Exception | None = None) -> None:
    sys.stderr.write(f"error: {one_line(message)}\n")
    raise typer.Exit(COULD_NOT_RUN) from cause


def _claimed(profile: Path | None) -> frozenset[str] | None:
    if profile is None:
        return None
    try:
        return frozenset(json.loads(profile.read_text(encoding="utf-8"))["operations"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"--profile {profile} cannot be read: {error}") from error


def _failed_before(path: Path | None) -> list[str]:
    """Return the ids of checks that failed or were not reached in a report."""
    from ...conformance.report import read_report

    if path is None:
        return []
    try:
        checks = read_report(path)["checks"]
    except ValueError as error:
        raise UsageError(f"--rerun-failed {error}") from error
    found = [entry["id"] for entry in checks if entry["result"] in ("fail", "not reached")]
    if not found:
        raise UsageError(f"--rerun-failed {path}: all checks were reached, and none failed")
    return found


def _target(
    redactor: Redactor,
    uri: str | None,
    headers: Mapping[str, str],
    token: str | None,
    impl: str | None,
    class_: str | None,
    python: str | None,
    properties: Mapping[str, str],
) -> tuple[Target, str]:
    """Return the target that the options select, and a Python expression for connecting to it."""
    from ...conformance import api

    if sum(given is not None for given in (uri, impl, class_)) != 1:
        raise UsageError(
            "specify exactly one target: --uri URL, --impl NAME or --class MODULE:CLASS"
        )
    if uri is not None:
        return api.url_target(uri, headers, token, redactor, properties)
    if impl is not None:
        find_modules_here(impl)
        return api.impl_target(impl, properties, redactor)
    return api.class_target(class_ or "", properties, python, redactor)


def _run(
    output: Output,
    target: Target,
    connection: str,
    options: Options,
    redactor: Redactor,
    reports: list[Path] | None,
    baseline: Path | None,
) -> None:
    from lance_namespace_client.errors import InvalidInputError

    from ...conformance.api import check_target
    from ...conformance.cleaning import leftovers
    from ...conformance.report import is_unreached, read_report, worse, write_report
    from ...conformance.requirement import Result, require_matches
    from ...conformance.runner import Finding, Plan
    from ...conformance.scenarios import load_all

    load_all()
    try:
        require_matches((*options.only, *options.skip))
    except InvalidInputError as error:
        raise UsageError(f"--only, --skip: {error.message}") from error
    for path in reports or ():
        if path.suffix not in (".json", ".xml", ".html", ".svg"):
            raise UsageError(f"--report {path}: the extension must be .json, .xml, .html or .svg")
    try:
        before = read_report(baseline) if baseline is not None else None
    except ValueError as error:
        raise UsageError(f"--baseline {error}") from error
    if options.folder is not None:
        for kind, identifier in leftovers(target.name, options.folder):
            _say(f"left by an earlier run: {kind} {'$'.join(identifier)}; --clean removes it")

    def progress(finding: Finding) -> None:
        if finding.result is Result.FAIL and not output.as_json:
            output.line(Styled("fail ", "red"), f"{finding.check.id}  {finding.check.requirement}")
            output.line(redactor.text(f"      expected {finding.expected}; got: {finding.got}"))

    def planned(plan: Plan) -> None:
        if plan.seconds > ANNOUNCED_SECONDS:
            faster = "" if options.jobs > 1 else "; --jobs 8 runs eight checks concurrently"
            _note(
                f"{plan.calls:,} calls of {plan.latency * 1000:.0f} ms: about "
                f"{_duration(plan.seconds)}, at most {_duration(plan.max_seconds)}{faster}"
            )

    found = check_target(
        target, options, connection=connection, redactor=redactor, progress=progress,
        planned=planned,
    )  # fmt: skip
    for path in reports or ():
        write_report(path, found)
    failed = [e["id"] for e in found["checks"] if e["result"] == "fail"]
    counted = worse(found, before) if before is not None else failed
    if output.as_json:
        output.document(found)
    else:
        _show(output, found, failed, None if before is None else counted)
    for kind, *names in found["leftovers"]:
        _say(f"could not be removed: {kind} {'$'.join(names)}")
    unreached = sum(is_unreached(entry) for entry in found["checks"])
    if unreached:
        limit = found["seconds"] + 2 * found["more_seconds"]
        _say(
            f"{unreached} checks were not reached in time and need about "
            f"{_duration(found['more_seconds'])} more: pass --max-seconds {limit:.0f} or more "
            "--jobs"
        )
    if counted:
        raise typer.Exit(FAILED)
    if unreached:
        raise typer.Exit(NOT_REACHED)


def _show(
    output: Output, report: Mapping[str, Any], failed: list[str], worse: list[str] | None
) -> None:
    """Print the number of checks by result, and any regressions from the baseline."""
    counts = ", ".join(f"{count} {name}" for name, count in report["summary"].items())
    output.line(f"{report['target']}: {counts} in {report['seconds']:.1f} s")
    if worse is None:
        return
    new = [id for id in worse if id in failed]
    output.line(f"{len(new)} of {len(failed)} failures are not in the baseline")
    if lost := [id for id in worse if id not in failed]:
        more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
        output.line(f"passed in the baseline but not reached now: {', '.join(lost[:5])}{more}")


def _duration(seconds: float) -> str:
    """Format a duration in seconds or minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _note(text: str) -> None:
    sys.stderr.write(f"{one_line(text)}\n")


def _say(text: str) -> None:
    _note(f"warning: {text}")


def _clean(output: Output, target: Target, options: Options) -> None:
    from ...conformance.cleaning import clean

    assert options.folder is not None
    try:
        removed, left = clean(target, options.folder)
    finally:
        target.close()
    for kind, identifier in removed:
        output.line(f"removed {kind} {'$'.join(identifier)}")
    for kind, identifier in left:
        _say(f"could not be removed: {kind} {'$'.join(identifier)}")
    if left:
        raise typer.Exit(FAILED)


def _replay(
    output: Output, target: Target, path: Path, options: Options, redactor: Redactor
) -> None:
    from ...conformance.scripts import one_line as shown
    from ...conformance.scripts import read_scripts

    try:
        scripts = read_scripts(path, options.only, options.skip)
    except ValueError as error:
        raise UsageError(f"--replay {path} cannot be read: {error}") from error
    try:
        for title, script in scripts:
            if title:
                output.line(redactor.text(title))
            for part, step in script.parts():
                outcome = target.call(step).outcome()
                name = "decisive" if step is script.decisive else part
                output.line(redactor.text(f"{name}: {shown(step)}: {outcome}"))
    finally:
        target.close()


def _compare(words: list[str], reports: list[Path] | None) -> None:
    from ...conformance.page import page
    from ...conformance.report import read_report

    if words[0] != "compare" or len(words) < 2:
        raise UsageError("the only accepted arguments are: compare FILE.json ...")
    try:
        paths = [Path(word) for word in words[1:]]
        text = page([read_report(path) for path in paths], [path.stem for path in paths])
    except ValueError as error:
        raise UsageError(str(error)) from error
    if not reports:
        sys.stdout.write(text)
    for path in reports or ():
        path.write_text(text, encoding="utf-8")
