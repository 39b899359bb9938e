"""The Typer application with all commands."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from .commands import (
    alter,
    browse,
    codegen,
    create,
    database,
    import_files,
    import_tables,
    jobs,
    profiles,
    read,
    serve,
    sql,
)
from .commands.conformance import conformance
from .commands.migrate import migrate
from .commands.partitions import partitions
from .failures import Report, Status, one_line
from .logs import GENERAL
from .session import CONNECTION, with_output, with_served, with_session

__all__ = ["app", "run"]

HELP = ["-h", "--help"]
ROOT_OPTIONS = {*HELP, "--version"}
"""Options that are valid only if there is no command."""


UNBREAKABLE = "\u2011"
"""Replaces hyphens during the layout of help texts, so that no option or command is broken."""


class Command(TyperCommand):
    """A command whose help groups its options under headings and ends with examples."""

    def get_help(self, ctx: Any) -> str:
        """Return the help text, without breaking an option or command across lines."""
        return super().get_help(ctx).replace(UNBREAKABLE, "-")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group of parameters, beginning with those of the command
        itself.
        """
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                title = getattr(parameter, "rich_help_panel", None)
                title = title or ("Arguments" if is_argument else "Options")
                name, text = record
                sections.setdefault(title, []).append((name, text.replace("-", UNBREAKABLE)))
        for title, records in sections.items():
            if not records:
                continue
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, one per line."""
        _write_lines(formatter, "Examples", (self.epilog or "").splitlines())


@dataclass(frozen=True)
class _LazyCommand:
    """A command that has not been built yet."""

    name: str
    function: Callable[..., None]
    options: Callable[[Callable[..., None]], Callable[..., None]]
    examples: tuple[str, ...]

    def build(self) -> Any:
        """Build the command with all its options."""
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        decorate = alone.command(self.name, cls=Command, epilog="\n".join(self.examples))
        decorate(self.options(self.function))
        return typer.main.get_command(alone)

    def titled(self) -> TyperCommand:
        """Return a command with only its name and help."""
        return TyperCommand(self.name, help=inspect.getdoc(self.function))


class _Built(Mapping[str, Any]):
    """The commands by name, built on first access because building is the slowest part of
    startup.
    """

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """Return a command."""
        if name not in self._built:
            self._built[name] = _known[name].build()
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order of the help."""
        return iter(_known)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(_known)


def _behind_command(arguments: list[str], shared: Mapping[str, bool]) -> list[str]:
    """Move common options that precede the command's name to after the name.

    Args:
        arguments: the arguments of ``lance-ns``.
        shared: the options that all commands have, and for each whether it is a flag.
    """
    end = 0
    while end < len(arguments) and (name := arguments[end].partition("=")[0]) in shared:
        end += 1 if "=" in arguments[end] or shared[name] else 2
    command = arguments[end : end + 1]
    if not end or not command or command[0].startswith("-"):
        return arguments
    # Insert the options before "--", because arguments after it are passed on unchanged.
    return [*command, *arguments[:end], *arguments[end + 1 :]]


class Commands(TyperGroup):
    """The group of all commands; reports a failure as one line and an exit status."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Built()  # type: ignore[assignment]  # it is only read

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names and summaries of the commands, without building them."""
        titled = [known.titled() for known in _known.values()]
        TyperGroup(commands=titled).format_commands(ctx, formatter)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the arguments before the command's name."""
        report = Report(as_json="--json" in args, debug="--debug" in args)
        with report.failures():
            if args and args[0].startswith("-") and args[0] not in ROOT_OPTIONS:
                args = _behind_command(args, self.shared_options())
            return super().make_context(info_name, args, parent, obj=report, **extra)

    def shared_options(self) -> dict[str, bool]:
        """Return the options that all commands have, and for each whether it is a flag."""
        return {
            flag: bool(getattr(option, "is_flag", False))
            for command in self.commands.values()
            for option in command.params
            if getattr(option, "rich_help_panel", None) in (CONNECTION, GENERAL)
            for flag in option.opts
        }

    def invoke(self, ctx: Any) -> Any:
        """Parse the command's arguments and run it."""
        with ctx.obj.failures():
            return super().invoke(ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the meanings of the exit statuses."""
        statuses = [f"{status.value:>3}  {status.meaning}" for status in Status]
        _write_lines(formatter, "Exit status", statuses)


def _write_lines(formatter: Any, title: str, lines: list[str]) -> None:
    with formatter.section(title):
        for line in lines:
            formatter.write(f"  {line}\n")


app = typer.Typer(
    name="lance-ns",
    cls=Commands,
    rich_markup_mode=None,  # plain help appears in half the time and is readable in a pipe
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP, "max_content_width": 100},
)
_known: dict[str, _LazyCommand] = {}


def _add(
    command: Callable[..., None],
    options: Callable[[Callable[..., None]], Callable[..., None]],
    *examples: str,
    name: str | None = None,
) -> None:
    name = name or command.__name__
    _known[name] = _LazyCommand(name, command, options, examples)


_add(
    browse.ls,
    with_session,
    "lance-ns ls --impl dir -p path=/data/lance",
    "lance-ns ls sales --profile prod --tables",
    "lance-ns ls --all --json | jq -r '.tables[]'",
)
_add(
    browse.describe,
    with_session,
    "lance-ns describe flights --details --impl dir -p path=/data/lance",
    "lance-ns describe 'sales$orders' --profile prod --json",
)
_add(
    read.head,
    with_session,
    "lance-ns head flights -n 5 --impl dir -p path=/data/lance",
    "lance-ns head flights --select carrier,delay --csv --profile prod",
)
_add(
    read.schema,
    with_session,
    "lance-ns schema flights --impl dir -p path=/data/lance",
)
_add(
    read.count,
    with_session,
    "lance-ns count flights --where 'delay > 60' --impl dir -p path=/data/lance",
    "lance-ns count flights --as-of 2999-01-31T12:00 --profile prod",
)
_add(
    read.query,
    with_session,
    "lance-ns query flights --where 'delay > 60' --limit 5 --impl dir -p path=/data/lance",
    "lance-ns query notes --vector '[0.1, 0.2]' --text 'red apple' --json --profile prod",
    "lance-ns query notes --vector id:'id = 42' --arrow near.arrow --profile prod",
)
_add(
    sql.sql,
    with_session,
    "lance-ns sql 'SELECT carrier, avg(delay) FROM flights GROUP BY 1' --csv --profile prod",
    "lance-ns sql 'SELECT * FROM sales.orders JOIN sales.items USING (id)' --profile prod",
)
_add(
    read.stats,
    with_session,
    "lance-ns stats flights --impl dir -p path=/data/lance",
)
_add(
    read.versions,
    with_session,
    "lance-ns versions flights --limit 10 --impl dir -p path=/data/lance",
)
_add(
    read.diff,
    with_session,
    "lance-ns diff flights 1 --impl dir -p path=/data/lance",
    "lance-ns diff flights before-import 7 --profile prod",
    "lance-ns diff notes 1 --rows --key id --limit 5 --profile prod",
)
_add(
    read.export,
    with_session,
    "lance-ns export flights flights.parquet --impl dir -p path=/data/lance",
    "lance-ns export flights late.csv --where 'delay > 60' --select carrier --profile prod",
)
_add(
    create.create,
    with_session,
    "lance-ns create sales --profile prod --set owner=ana",
    "lance-ns create flights --data flights.parquet --impl dir -p path=/data/lance",
    "lance-ns create flights --data flights.csv --mode overwrite --profile prod",
)
_add(
    create.declare,
    with_session,
    "lance-ns declare flights --impl dir -p path=/data/lance",
    "lance-ns declare 'sales$orders' --location s3://lake/orders --profile prod",
)
_add(
    create.drop,
    with_session,
    "lance-ns drop flights --impl dir -p path=/data/lance",
    "lance-ns drop sales --namespace --behavior cascade --yes --profile prod",
)
_add(
    alter.rename,
    with_session,
    "lance-ns rename flights trips --impl dir -p path=/data/lance",
    "lance-ns rename 'sales$orders' 'archive$orders' --profile prod",
)
_add(
    alter.properties,
    with_session,
    "lance-ns properties get sales --profile prod",
    "lance-ns properties set 'sales$orders' owner=ana tier=gold --profile prod",
    "lance-ns properties unset 'sales$orders' tier --profile prod",
)
_add(
    alter.tag,
    with_session,
    "lance-ns tag list flights --impl dir -p path=/data/lance",
    "lance-ns tag create flights before-import --version 3 --profile prod",
)
_add(
    alter.branch,
    with_session,
    "lance-ns branch create flights trial --impl dir -p path=/data/lance",
)
_add(
    alter.restore,
    with_session,
    "lance-ns restore flights 3 --impl dir -p path=/data/lance",
    "lance-ns restore flights --tag before-import --profile prod",
)
_add(
    alter.index,
    with_session,
    "lance-ns index list flights --impl dir -p path=/data/lance",
    "lance-ns index create notes vector --type IVF_PQ --set num_partitions=8 --profile prod",
    "lance-ns index create notes text --type FTS --profile prod",
)
_add(
    alter.compact,
    with_session,
    "lance-ns compact flights --impl dir -p path=/data/lance",
)
_add(
    alter.rename,
    with_session,
    "lance-ns mv flights trips --impl dir -p path=/data/lance",
    "lance-ns mv 'sales$orders' 'archive$orders' --profile prod",
    name="mv",
)
_add(
    alter.cp,
    with_session,
    "lance-ns cp flights flights_backup --impl dir -p path=/data/lance",
    "lance-ns cp 'sales$orders' 'archive$orders_copy' --profile prod",
)
_add(
    migrate,
    with_session,
    "lance-ns migrate --dry-run --impl dir -p path=/data/lance",
    "lance-ns migrate --impl dir -p path=/data/lance",
    "lance-ns migrate --to flat --impl dir -p path=/data/lance",
)
_add(
    partitions,
    with_session,
    "lance-ns partitions events --impl dir -p path=/data/lance",
    "lance-ns partitions events --where 'year = 2026' --no-sizes --impl dir -p path=/data/lance",
)
_add(
    import_files.import_files,
    with_session,
    "lance-ns import flights flights.csv --option nulls=NA --impl dir -p path=/data/lance",
    "lance-ns import 'sales$orders' 'orders/*.parquet' --mode append --profile prod",
    "lance-ns import orders s3://bucket/new -p storage.aws_region=eu-west-1 --profile prod",
    "lance-ns import t events/ --partition-by year --impl dir -p path=new -p manifest=true",
    "lance-ns import cities 'https://example.com/train-*-of-00003.parquet' --profile prod",
    "lance-ns import reviews 'hf://datasets/owner/name/data/train-*.parquet' --profile prod",
    name="import",
)
_add(
    import_tables.import_tables,
    with_session,
    "lance-ns import-tables tables.toml --dry-run --impl dir -p path=/data/lance",
    "lance-ns import-tables tables.toml --profile prod",
    name="import-tables",
)
_add(
    jobs.inventory,
    with_session,
    "lance-ns inventory --impl dir -p path=/data/lance",
    "lance-ns inventory sales --profile prod --table '*_2024' --output tables.parquet",
    "lance-ns inventory --profile prod --json | jq '.tables[] | select(.fragments > 100)'",
)
_add(
    jobs.sync,
    with_session,
    "lance-ns sync --profile hive --to-profile unity --into main --dry-run",
    "lance-ns sync sales --profile prod --to-impl dir -P path=/backup --copy-data",
)
_add(
    jobs.maintain,
    with_session,
    "lance-ns maintain --impl dir -p path=/data/lance --dry-run",
    "lance-ns maintain sales --profile prod --index id=BTREE --cleanup-older-than 14",
)
_add(
    database.init,
    with_output,
    "lance-ns init sql -p uri=catalog.db",
    "lance-ns init sql -p uri=postgresql://lance@db/lance -p password=…",
)
_add(
    database.upgrade,
    with_output,
    "lance-ns upgrade sql -p uri=catalog.db",
    "lance-ns upgrade sql --profile prod",
)
_add(
    serve.serve,
    with_served,
    "lance-ns serve",
    "lance-ns serve --impl dir -p path=/data/lance --port 2333",
    "lance-ns serve --host 0.0.0.0 --tokens tokens.toml --tls-cert c.pem --tls-key k.pem",
)
_add(
    serve.token,
    with_output,
    "lance-ns token new ana --group writers --days 90 >> tokens.toml",
)
_add(
    conformance,
    with_output,
    "lance-ns conformance --uri http://localhost:2333",
    "lance-ns conformance --impl dir -p path=/data/lance --report report.html",
    "lance-ns conformance compare ours.json theirs.json --report both.html",
)
_add(
    codegen.codegen,
    with_output,
    "lance-ns codegen --spec my.yaml --package my_client --out src",
    "lance-ns codegen --check-upstream upstream.yaml",
    "lance-ns codegen --from-upstream upstream.yaml --annotated my.yaml",
)
_add(
    browse.operations,
    with_session,
    "lance-ns operations --impl dir -p path=/data/lance",
    "lance-ns operations --supported --profile prod",
)
_add(
    profiles.profiles,
    with_output,
    "lance-ns profiles list",
    "lance-ns profiles add lake --impl dir -p path=/data/lance",
    "lance-ns profiles add prod --impl rest -p uri=https://lance -p 'auth_token=${TOKEN}'",
    "lance-ns profiles test prod",
)
_add(
    profiles.config,
    with_output,
    "lance-ns config path",
)
_add(
    browse.backends,
    with_output,
    "lance-ns backends",
    "lance-ns backends dir",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"lance-ns {version('lance-namespace-kit')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Lance tables in the catalog you already run.

    Select the namespace with --impl and -p, with a profile, or in the environment; see the help of
    a command, such as lance-ns ls --help.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(Status.USAGE)


def run() -> None:
    """Run the process's command line and exit with its status."""
    warnings.showwarning = _show_warning
    for stream in (sys.stdout, sys.stderr):
        # Escape characters that the terminal's encoding lacks, instead of raising an error.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app(prog_name="lance-ns")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {one_line(str(message))}\n")
