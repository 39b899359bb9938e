"""Generates the `lance_namespace_client` package from rest.yaml."""
