"""A patch that makes moto's server faster; importing this module applies it.

For every request, moto scans its own folder for services, which takes most of the time of the
request. With the patch, it scans the folder only once.
"""

from __future__ import annotations

from moto import backends

__all__ = ["SERVICES"]

SERVICES = frozenset(backends.list_of_moto_modules())

backends.list_of_moto_modules = lambda: SERVICES
