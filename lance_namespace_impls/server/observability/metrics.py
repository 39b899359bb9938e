"""The Prometheus metrics of a server."""

from __future__ import annotations

import os
from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

__all__ = ["MULTIPROCESS_FOLDER", "Metrics"]

# prometheus_client reads this variable when it is imported; if it is set, several processes share
# their metrics.
MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
# Gauges are summed over all running workers.
_SUM: Final = "livesum"


class Metrics:
    """The metrics of a server; each of several workers reports the metrics of all workers."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        own = CollectorRegistry()
        self._exposed = own
        if os.environ.get(MULTIPROCESS_FOLDER):
            self._exposed = CollectorRegistry()
            MultiProcessCollector(self._exposed)  # type: ignore[no-untyped-call]
        self.requests = Counter(
            "lance_ns_requests",
            "Requests that were completed or that the client abandoned.",
            ("operation", "code"),
            registry=own,
        )
        self.seconds = Histogram(
            "lance_ns_request_seconds",
            "Time from a request's headers to the end of its response.",
            ("operation",),
            buckets=SECONDS,
            registry=own,
        )
        self.received = Counter(
            "lance_ns_received_bytes", "Bytes of request bodies.", ("operation",), registry=own
        )
        self.sent = Counter(
            "lance_ns_sent_bytes", "Bytes of response bodies.", ("operation",), registry=own
        )
        self.pool_calls = Gauge(
            "lance_ns_pool_calls",
            "Calls that are running in a pool or waiting for it.",
            ("pool", "state"),
            registry=own,
            multiprocess_mode=_SUM,
        )
        self.pool_places = Gauge(
            "lance_ns_pool_places",
            "Maximum number of concurrent calls in a pool.",
            ("pool",),
            registry=own,
            multiprocess_mode=_SUM,
        )
        self.open_queries = Gauge(
            "lance_ns_open_queries",
            "Responses with rows that are being sent.",
            registry=own,
            multiprocess_mode=_SUM,
        )
        self.upstream = Counter(
            "lance_ns_upstream_calls",
            "Calls to the catalog.",
            ("system", "call", "result"),
            registry=own,
        )
        self.upstream_seconds = Histogram(
            "lance_ns_upstream_seconds",
            "Duration of calls to the catalog.",
            ("system", "call"),
            buckets=SECONDS,
            registry=own,
        )

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self._exposed)
