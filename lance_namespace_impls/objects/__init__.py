"""Table and Search, the objects that users work with, over the interface of any namespace."""
