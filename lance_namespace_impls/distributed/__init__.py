"""Writes a table from several processes with a single commit."""
