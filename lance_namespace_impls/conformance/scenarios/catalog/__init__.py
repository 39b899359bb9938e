"""Namespaces, listings, pages, names and properties."""
