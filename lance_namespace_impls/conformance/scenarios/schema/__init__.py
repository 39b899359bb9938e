"""Columns, indices and metadata."""
