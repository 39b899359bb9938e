"""The operations of the protocol, each group a class over the primitives of a catalog."""
