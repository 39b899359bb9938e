"""Concurrent calls."""
