"""Options for JVMs that run only for a few tests."""

from __future__ import annotations

__all__ = ["SHORT_LIVED"]

SHORT_LIVED = (
    "-XX:+UseSerialGC",
    # The optimizing compiler costs more time than it saves. A small code cache would fill up.
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    # Avoids a full garbage collection each time the space for classes grows.
    "-XX:MetaspaceSize=256m",
)
