"""Creates OpenTelemetry spans, if OpenTelemetry is installed.

Only the API is used: the operator configures which spans are recorded and where they are sent
(``opentelemetry-instrument lance-ns serve ...``). Without a configuration, none are recorded.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...core.instrumentation import UpstreamCall

__all__ = ["Span", "Tracing", "find_tracing"]

_NAME = "lance_namespace_impls.server"


class Span:
    """The span of one request."""

    def __init__(self, tracing: Tracing, span: Any) -> None:
        self._tracing = tracing
        self._span = span

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make this span the current span of the context, in any thread."""
        with self._tracing.trace.use_span(
            self._span, record_exception=False, set_status_on_exception=False
        ):
            yield

    def end(self, **attributes: Any) -> None:
        """End the span; omit attributes that are None."""
        for name, value in attributes.items():
            if value is not None:
                self._span.set_attribute(name.replace("__", "."), value)
        if attributes.get("http__response__status_code", 0) >= 500:
            self._span.set_status(self._tracing.trace.StatusCode.ERROR)
        self._span.end()


class Tracing:
    """Creates one span per request, per namespace call and per catalog call."""

    def __init__(self) -> None:
        from opentelemetry import propagate, trace

        self.trace: Any = trace
        self._propagate: Any = propagate
        self._tracer: Any = trace.get_tracer(_NAME)

    def is_on(self) -> bool:
        """Return whether spans are recorded."""
        provider = self.trace.get_tracer_provider()
        unset = (self.trace.ProxyTracerProvider, self.trace.NoOpTracerProvider)
        return not isinstance(provider, unset)

    def begin(self, name: str, headers: Mapping[str, str]) -> Span | None:
        """Start a request's span in the trace that its headers name; None if no spans are
        recorded.
        """
        if not self.is_on():
            return None
        context = self._propagate.extract(headers)
        span = self._tracer.start_span(
            name, context, kind=self.trace.SpanKind.SERVER, attributes={"rpc.method": name}
        )
        return Span(self, span)

    @contextmanager
    def catalog(self, name: str) -> Iterator[None]:
        """Open a span for a namespace method."""
        with self._tracer.start_as_current_span(f"namespace.{name}"):
            yield

    @contextmanager
    def upstream(self, system: str, name: str, call: UpstreamCall) -> Iterator[None]:
        """Open a span for a call to the catalog, and propagate the trace to the catalog."""
        with self._tracer.start_as_current_span(
            f"{system} {name}",
            kind=self.trace.SpanKind.CLIENT,
            attributes={"rpc.system": system, "rpc.method": name},
        ) as span:
            self._propagate.inject(call.headers)
            try:
                yield
            finally:
                span.set_attribute("lance_namespace.result", call.result)


def find_tracing() -> Tracing | None:
    """Return a `Tracing`, or None if OpenTelemetry is not installed."""
    try:
        found = importlib.util.find_spec("opentelemetry.trace")
    except ModuleNotFoundError:
        return None
    return None if found is None else Tracing()
