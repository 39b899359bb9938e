"""Import this to have moto's server look through its own folder once.

It does so anew for every request, to learn what services there are: most of the time that it took.
"""

from __future__ import annotations

from moto import backends

__all__ = ["SERVICES"]

SERVICES = frozenset(backends.list_of_moto_modules())

backends.list_of_moto_modules = lambda: SERVICES
