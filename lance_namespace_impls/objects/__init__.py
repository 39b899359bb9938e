"""Table and Search: the object interface for users, which works with any namespace."""
