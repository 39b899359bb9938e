"""Logs a run to stderr, as readable lines or as JSON."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .failures import Report, one_line

if TYPE_CHECKING:
    import logging

__all__ = ["GENERAL", "Level", "start_log"]

GENERAL = "General"


class Level(StrEnum):
    """Minimum level of the messages that are logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_LANCE_LEVELS = {Level.DEBUG: "info", Level.INFO: "warn", Level.WARNING: "warn"}
"""Lance's log level for each level of this package; at the same level, Lance logs more."""

Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Log operations to stderr: --log-level info.",
        rich_help_panel=GENERAL,
    ),
]
LogLevel = Annotated[
    Level | None,
    typer.Option(
        "--log-level",
        metavar="LEVEL",
        help="Log messages of at least this level to stderr: debug, info, warning or error.",
        rich_help_panel=GENERAL,
    ),
]
LogJson = Annotated[
    bool,
    typer.Option("--log-json", help="Log as JSON, one object per line.", rich_help_panel=GENERAL),
]


def start_log(
    report: Report,
    *,
    verbose: Verbose = False,
    log_level: LogLevel = None,
    log_json: LogJson = False,
) -> None:
    """Log this run to stderr, without secrets, if an option requests it."""
    level = log_level or (Level.INFO if verbose or log_json else None)
    # pylance is imported later. By default, it writes warnings to stderr that are not JSON.
    lances = "error" if log_json else _LANCE_LEVELS.get(level or Level.ERROR, "error")
    os.environ.setdefault("LANCE_LOG", lances)
    if level is None:
        return
    import logging
    import sys

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(report, log_json))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _formatter(report: Report, as_json: bool) -> logging.Formatter:
    import json
    import logging
    from datetime import UTC, datetime

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
            message = report.without_secrets(record.getMessage())
            if record.exc_info:
                message += "\n" + report.without_secrets(self.formatException(record.exc_info))
            if as_json:
                line = {"time": time, "level": record.levelname.lower(), "logger": record.name}
                return json.dumps({**line, "message": message})
            return f"{time} {record.levelname.lower()} {record.name}: {one_line(message)}"

    return Formatter()
