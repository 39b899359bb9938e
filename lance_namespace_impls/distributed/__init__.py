"""Writes of several processes to one table, committed once."""
