"""The namespace that a command uses, and the options that select it."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lance_namespace_client.errors import NamespaceNotFoundError

from ..core.profiles import config_path, read_profile
from .choice import NoNamespaceError, choose, find_modules_here, key_values
from .completion import complete_impl, complete_profile
from .failures import Report, UsageError
from .logs import GENERAL, start_log
from .output import Output

if TYPE_CHECKING:
    from ..catalog.namespace import Namespace
    from ..core.identifiers import Identifier

__all__ = [
    "CONNECTION",
    "ConfigFile",
    "Profile",
    "Properties",
    "Session",
    "choose",
    "key_values",
    "other_session",
    "with_output",
    "with_served",
    "with_session",
]

CONNECTION = "Connection"

Impl = Annotated[
    str | None,
    typer.Option(
        "--impl",
        metavar="NAME",
        autocompletion=complete_impl,
        help="Implementation: dir, rest or another one (see lance-ns backends), or module:Class. "
        "[env: LANCE_NS_IMPL, LANCE_NS_PROPERTIES]",
        rich_help_panel=CONNECTION,
    ),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        "-p",
        metavar="KEY=VALUE",
        help="A property of the implementation, such as path=/data; repeatable.",
        rich_help_panel=CONNECTION,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        autocompletion=complete_profile,
        help="Profile in the configuration file; defaults to 'default' if --impl is not passed. "
        "[env: LANCE_NS_PROFILE]",
        rich_help_panel=CONNECTION,
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file, TOML; 'lance-ns config path' shows the default. [env: "
        "LANCE_NS_CONFIG]",
        rich_help_panel=CONNECTION,
    ),
]
Delimiter = Annotated[
    str,
    typer.Option(
        "--delimiter",
        metavar="TEXT",
        help="Delimiter between the levels of an ID. [env: LANCE_NS_DELIMITER]",
        envvar="LANCE_NS_DELIMITER",
        show_envvar=False,
        rich_help_panel=CONNECTION,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Write one JSON document to stdout, and errors as JSON to stderr.",
        rich_help_panel=GENERAL,
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show the traceback of a failure.", rich_help_panel=GENERAL),
]


@dataclass(frozen=True)
class Session:
    """The namespace and the output of a command."""

    impl: str
    properties: Mapping[str, Any]
    delimiter: str
    output: Output
    report: Report
    config_file: Path
    """Path of the configuration file."""
    is_default: bool = False
    """Whether this is the default namespace, which a server uses if no namespace is selected."""

    def connect(self, *, makes: bool = False) -> Namespace:
        """Return a context manager that connects to the namespace.

        Args:
            makes: whether the command creates a missing directory.

        Raises:
            InvalidInputError: code 13, see `lance_namespace_impls.connect`.
            NamespaceNotFoundError: code 1, the directory does not exist.
        """
        from lance_namespace_impls.registry import open_namespace, secrets_among

        find_modules_here(self.impl)
        self.report.secrets |= secrets_among(self.impl, self.properties)
        namespace = open_namespace(self.impl, self.properties)
        self.report.secrets |= namespace.config.secrets()
        path = namespace.local_path
        if not makes and path is not None and not os.path.exists(path):
            raise NamespaceNotFoundError(
                f"path {path} does not exist; create it with lance-ns create, declare or import"
            )
        return namespace

    def identifier(self, text: str | None) -> Identifier:
        """Parse an ID from the command line; None or the delimiter alone is the root.

        Raises:
            InvalidInputError: code 13, a name in the ID is empty.
        """
        from lance_namespace_impls.core.identifiers import split_identifier

        return split_identifier(text or "", self.delimiter)

    def written(self, identifier: Identifier) -> str:
        """Format an identifier for output."""
        from lance_namespace_impls.core.identifiers import format_identifier

        return format_identifier(identifier, self.delimiter)


def with_output(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options ``--json`` and ``--debug`` to a command that needs no namespace.

    Its first parameter is the `Output`.
    """
    return _with_options(command, _output)


def with_session(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select the namespace to a command.

    Its first parameter is the `Session`.
    """
    return _with_options(command, _open)


def with_served(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `with_session` to a command that has a default namespace.

    The default namespace is a catalog in an SQLite file in the current folder.
    """

    @functools.wraps(_open)
    def build(report: Report, **given: Any) -> Session:
        try:
            return _open(report, **given)
        except NoNamespaceError:
            session = _open(report, **{**given, "impl": "sql"})
            return replace(session, is_default=True)

    return _with_options(command, build)


def _output(report: Report, *, as_json: Json = False, debug: Debug = False) -> Output:
    return Output(as_json=as_json)


def _open(
    report: Report,
    *,
    impl: Impl = None,
    property: Properties = None,
    profile: Profile = None,
    config: ConfigFile = None,
    delimiter: Delimiter = "$",
    as_json: Json = False,
    debug: Debug = False,
) -> Session:
    chosen = choose(impl, profile, config) | key_values(property, "--property")
    name = chosen.pop("impl")
    return Session(
        str(name), chosen, delimiter, Output(as_json=as_json), report, config_path(config)
    )


def other_session(
    session: Session,
    impl: str | None,
    properties: list[str] | None,
    profile: str | None,
    option: str,
) -> Session:
    """Return the second namespace of a command, which is selected by separate options.

    Args:
        session: the first namespace.
        impl: implementation of the second, or None.
        properties: properties of the second, as ``KEY=VALUE``.
        profile: its profile, in the same configuration file, or None.
        option: prefix of its options, such as ``--to``.

    Raises:
        UsageError: no second namespace is selected, or more than one.
    """
    if (impl is None) == (profile is None):
        raise UsageError(
            f"no other namespace selected: pass {option}-impl NAME or {option}-profile"
        )
    chosen: dict[str, Any] = {"impl": impl}
    if profile is not None:
        chosen = read_profile(session.config_file, profile) or {}
    chosen |= key_values(properties, f"{option}-property")
    name = chosen.pop("impl")
    return replace(session, impl=str(name), properties=chosen)


def _with_options(command: Callable[..., None], build: Callable[..., Any]) -> Callable[..., None]:
    """Add the logging options, and the options of `build`, to the parameters of a command.

    The first argument of the command is the result of `build`, which is called with the run's
    `Report` and the values of its options.
    """
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    shared = list(inspect.signature(build, eval_str=True).parameters.values())[1:]
    logging = list(inspect.signature(start_log, eval_str=True).parameters.values())[1:]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("context", keyword, annotation=typer.Context),
        *(parameter.replace(kind=keyword) for parameter in (*own, *shared, *logging)),
    ]

    @functools.wraps(command)
    def run(*, context: typer.Context, **given: Any) -> None:
        start_log(context.obj, **{each.name: given.pop(each.name) for each in logging})
        settings = {parameter.name: given.pop(parameter.name) for parameter in shared}
        command(build(context.obj, **settings), **given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
