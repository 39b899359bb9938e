"""The protocol's operations, each group a class over the primitives of a catalog."""
