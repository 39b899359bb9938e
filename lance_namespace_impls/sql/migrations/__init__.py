"""Alembic migrations for the catalog's tables."""
