"""What makes a namespace of a catalog's primitives; `lance_namespace_impls.extend` is its face."""
