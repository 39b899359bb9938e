"""How a JVM is started that lives for a few tests."""

from __future__ import annotations

__all__ = ["SHORT_LIVED"]

SHORT_LIVED = (
    "-XX:+UseSerialGC",
    # The best compiler takes more than it gives back, and so does room for code that runs full.
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    # Else all garbage is collected each time that more classes are loaded.
    "-XX:MetaspaceSize=256m",
)
