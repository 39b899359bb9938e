"""Unmodified third-party clients against the servers and catalogs of this project."""
