"""Clients that others wrote, as they are, against what this project serves."""
