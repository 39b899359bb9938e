"""Queries and searches."""
