"""Faults put into the code, one at a time: the fast tests have to catch them.

`python -m tests.mutants` keeps the score. Most faults are made from the syntax tree, the same ones
each time (`make.py`); the rest is a list (`by_hand.toml`). What the tests let through is listed, and
where nothing can tell a mutant from the original, `equivalent.toml` says why and another takes its
place.
"""
