"""Execution of one request: handler, context, limits and threads."""
