"""One behavior suite for every backend: random operations, each compared with a model.

To add a backend, define a `Subject` for it in `subjects.py`.
"""
