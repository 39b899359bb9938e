"""The HTTP binding."""
