"""The generic tables of an Apache Polaris catalog as a namespace.

Source: Apache Polaris' Generic Table API.
"""

from .config import PolarisConfig
from .namespace import PolarisNamespace

__all__ = ["PolarisConfig", "PolarisNamespace"]
