"""Turns rest.yaml into the `lance_namespace_client` package."""
