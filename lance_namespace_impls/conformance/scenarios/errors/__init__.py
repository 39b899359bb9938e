"""Error codes."""
