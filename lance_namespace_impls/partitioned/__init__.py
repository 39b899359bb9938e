"""Partitioned namespaces: tables with one schema that are kept apart by partition values."""
