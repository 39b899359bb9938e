"""The execution of one request: its handler, context, limits and threads."""
