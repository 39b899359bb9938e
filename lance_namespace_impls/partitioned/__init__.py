"""Partitioned namespaces: tables with a common schema that are separated by partition values."""
