"""The protocol's operations; each group is a class that uses a catalog's primitives."""
