"""Rules that connect several operations."""
