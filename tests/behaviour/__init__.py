"""One behaviour suite for every backend: random operations, each compared with a model.

A backend joins with one `Subject` in `subjects.py`.
"""
