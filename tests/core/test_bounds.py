"""Bounds and rhythms, by their values: memory, time and tries that operators count on.

Whether each holds is tested where it is used, mostly with a smaller one in its place. Here a value that
changes by a slip is noticed: it changes how much memory a caller may take, or how long one waits.
"""

from __future__ import annotations

from importlib import import_module

import pytest

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
BOUNDS: dict[str, dict[str, object]] = {
    "server.accepting": {"STALLED_SECONDS": 0.1, "MOST_AT_ONCE": 64, "FAILED_SECONDS": 1.0},
    "server.access": {"MAX_KNOWN": 100},
    "server.answers": {"CHUNK_BYTES": MIB},
    "server.bodies": {"READY_BYTES": 64 * KIB, "HELD_BYTES": 4 * MIB},
    "server.call": {"MAX_REQUEST_ID_LENGTH": 128},
    "server.callers": {
        "FAILURES": 20,
        "FAILURES_PER_SECOND": 0.5,
        "ADDRESSES": 10_000,
        "MAX_CREDENTIAL_LENGTH": 16 * KIB,
    },
    "server.cells": {"LONGEST": 120, "LARGEST_PICTURE": 256 * KIB},
    "server.explorer": {
        "PAGE_NAMES": 200,
        "SEARCHED_NAMES": 20_000,
        "SHOWN_ROWS": 10,
        "LARGEST_ROWS": 32 * MIB,
        "SHOWN_VERSIONS": 20,
    },
    "server.lancedb": {"MAX_FOUND": MIB},
    "server.limits": {"RETRY_SECONDS": 1.0},
    "server.observer": {"LONGEST_NAME": 500, "WRITE_SECONDS": 0.1, "MOST_LINES": 10_000},
    "server.oidc": {
        "LEEWAY_SECONDS": 60,
        "FETCH_SECONDS": 10.0,
        "KEEP_SECONDS": 300.0,
        "MIN_SECONDS": 5.0,
        "MAX_BYTES": MIB,
    },
    "server.readiness": {"KEPT_SECONDS": 5.0, "ANSWER_SECONDS": 10.0},
    "server.repeats": {"MAX_SEEN": 16 * KIB},
    "server.run": {"DEFAULT_PORT": 2333, "KEEP_ALIVE_SECONDS": 120, "STOP_SECONDS": 10},
    "server.service": {
        "READ_BYTES": MIB,
        "SENT_BYTES": 64 * KIB,
        "QUICK_BYTES": 16 * KIB,
        "LEFT_BYTES": MIB,
        "LEFT_SECONDS": 0.25,
        "LOOK_SECONDS": 0.05,
        "LINGER_BYTES": 64 * MIB,
        "LINGER_SECONDS": 5.0,
    },
    "server.shortcut": {
        "LONGEST_SECONDS": 0.02,
        "PAUSE_TIMES": 20.0,
        "LONGEST_PAUSE": 3600.0,
        "STRIKES": 3,
        "FAR_TOO_LONG_SECONDS": 1.0,
    },
    "server.tokens": {"TOKEN_BYTES": 32},
    "server.turns": {"LONG_SECONDS": 0.05},
    "server.vending": {
        "LEAST_SECONDS": 900,
        "MOST_SECONDS": 43_200,
        "KEPT_PART": 0.25,
        "MOST_KEPT": 10_000,
    },
    "server.watched": {"POLL_SECONDS": 1.0},
    "server.workers": {
        "START_SECONDS": 120.0,
        "STOP_SECONDS": 15.0,
        "SOON_SECONDS": 5.0,
        "PAUSES": (0.0, 1.0, 2.0, 5.0, 10.0),
    },
    "glue.config": {"MIN_SESSION_SECONDS": 900, "MAX_SESSION_SECONDS": 43_200},
    "glue.namespace": {"PAGE": 100},
    "glue.places": {"MAX_LOCATIONS": 10_000, "SECONDS_REMEMBERED": 300},
    "glue.session": {"MAY_RENEW": (1 / 3, 900), "MUST_RENEW": (1 / 6, 600)},
    "unity.namespace": {"CHANGES_TRIED": 10, "MIN_PAUSE": 0.02, "PAUSE_FACTOR": 2},
    "unity.records": {"MAX_TEXT_LENGTH": 255},
    "iceberg_rest.oauth": {"LEEWAY_SECONDS": 60},
    "sql.database": {"TRIES": 10, "OWNER_ALONE": 0o600},
    "sql.migrate": {"_LOCK": 0x1A2CE5},  # other releases of this package take the same one
    "hive.base": {"ALTER_TRIES": 10, "FIRST_BATCH": 50, "LATER_BATCH": 500},
    "hive.config": {"DEFAULT_PORT": 9083},
    "hive.locks": {"FIRST_WAIT": 0.02, "MAX_WAIT": 0.5, "POLL_SECONDS": 2.0, "NAME_LENGTH": 128},
    "cli.completion": {"FRESH_SECONDS": 60, "WAIT_SECONDS": 3, "MOST_NAMES": 500},
    "cli.serving": {"PORT": 2333},
    "spark.backfill": {"COMMIT_ATTEMPTS": 10},
    "spark.columns": {"BATCH_BYTES": 128 * MIB},
    "spark.ingest": {
        "MIN_TASK_BYTES": 8 * MIB,
        "MAX_TASK_BYTES": 128 * MIB,
        "FILES_PER_TASK": 256,
        "SMALL_BYTES": 256 * MIB,
    },
    "spark.reading": {
        "BATCH_ROWS": 64 * KIB,
        "BATCH_BYTES": 8 * MIB,
        "READ_AHEAD_BYTES": 128 * MIB,
        "TASK_BYTES": 32 * MIB,
        "ROUND_BYTES": 512 * MIB,
    },
    "spark.writing": {"ROWS_PER_FILE": MIB, "COMMIT_RETRIES": 20},
    "spark.files.downloads": {"MAX_BYTES": 64 * GIB, "MAX_REDIRECTS": 10, "TRIES": 4},
    "spark.files.lines": {"BLOCK_BYTES": 8 * MIB},
    "spark.files.parquet_files": {"BATCH_ROWS": 64 * KIB, "BATCH_BYTES": 8 * MIB},
    "spark.jobs.inventory": {"MAX_CONCURRENCY": 8},
    "spark.jobs.maintain": {"MAX_CONCURRENCY": 4},
    "spark.jobs.upkeep": {"COMMIT_ATTEMPTS": 3},
}


@pytest.mark.parametrize("module", BOUNDS)
def test_a_bound_is_what_it_is_taken_for(module: str) -> None:
    found = import_module(f"lance_namespace_impls.{module}")
    assert {name: getattr(found, name) for name in BOUNDS[module]} == BOUNDS[module]
