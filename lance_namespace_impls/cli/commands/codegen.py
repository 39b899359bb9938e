"""The command ``lance-ns codegen``, which generates a custom client."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ..failures import Status, needs
from ..output import Output

__all__ = ["codegen"]


def codegen(
    output: Output,
    spec: Annotated[
        Path | None,
        typer.Option(
            "--spec", metavar="FILE", help="The specification; defaults to the installed one."
        ),
    ] = None,
    package: Annotated[
        str | None, typer.Option("--package", metavar="NAME", help="Name of the new package.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Output folder of the package.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Write nothing; list differences, and exit with status 1 if there are any.",
        ),
    ] = False,
    published: Annotated[
        Path | None,
        typer.Option(
            "--published",
            metavar="FILE",
            help="The published openapi.json against which to check for breaking changes; "
            "defaults to the one that was generated last or, if there is none, to that of the "
            "installed package.",
        ),
    ] = None,
    allow_breaking: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-breaking",
            metavar="OPERATION",
            help="Accept breaking changes to this operation, or to all operations with *; "
            "repeatable.",
        ),
    ] = None,
    check_upstream: Annotated[
        Path | None,
        typer.Option(
            "--check-upstream",
            metavar="FILE",
            help="Write nothing; list the differences from another version of the protocol.",
        ),
    ] = None,
    from_upstream: Annotated[
        Path | None,
        typer.Option(
            "--from-upstream",
            metavar="FILE",
            help="Write the specification with the changes of upstream's OpenAPI document; "
            "annotations and descriptions are kept, and new operations are listed.",
        ),
    ] = None,
    annotated: Annotated[
        Path | None,
        typer.Option(
            "--annotated",
            metavar="FILE",
            help="With --from-upstream: the file to write; defaults to rest.yaml in this folder.",
        ),
    ] = None,
) -> None:
    """Generate a typed client package from your specification."""
    given = {
        "--spec": spec,
        "--package": package,
        "--out": out,
        "--published": published,
        "--check-upstream": check_upstream,
        "--from-upstream": from_upstream,
        "--annotated": annotated,
    }
    arguments = [
        text for key, value in given.items() if value is not None for text in (key, str(value))
    ]
    arguments += [f"--allow-breaking={name}" for name in allow_breaking or ()]
    arguments += ["--check"] if check else []
    printed, problems = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        if output.as_json:
            stack.enter_context(contextlib.redirect_stdout(printed))
            stack.enter_context(contextlib.redirect_stderr(problems))
        status = _main()(arguments, "lance-ns codegen")
    if output.as_json:
        lines = {"lines": printed.getvalue().splitlines()}
        output.document({"status": status, **lines, "problems": problems.getvalue().splitlines()})
    if status:
        raise typer.Exit(Status.NOT_DONE)


def _main() -> Callable[[list[str], str], int]:
    """Return the generator from the checkout, if there is one, or from the installed package."""
    is_checkout = (Path(__file__).parents[3] / "codegen" / "command.py").exists()
    with needs("codegen", "codegen"):
        found = import_module(f"{'codegen' if is_checkout else 'lance_namespace_codegen'}.command")
    main: Callable[[list[str], str], int] = found.main
    return main
