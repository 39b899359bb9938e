"""Mutation tests: the fast tests must catch faults that are inserted into the code one at a time.

`python -m tests.mutants` runs them and prints the score and the surviving mutants. Most faults are
generated from the syntax tree, deterministically (`make.py`); the others are listed in
`by_hand.toml`. `equivalent.toml` lists the mutants that behave like the original, with the reason;
each is replaced by another mutant.
"""
