"""Versions, tags, branches and transactions."""
