"""Builds namespaces from a catalog's primitives; `lance_namespace_impls.extend` is the public API."""
