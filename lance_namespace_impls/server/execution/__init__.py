"""Executes requests: handler, context, limits and threads."""
