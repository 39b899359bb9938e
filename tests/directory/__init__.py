"""The directory backend."""
