"""The base class of backends: implements the protocol's operations with a catalog's primitives."""

from __future__ import annotations

from ..core.config import Config
from ..core.stores import check_options
from .namespace import Namespace
from .operations.clones import CloneOperations
from .operations.columns import ColumnOperations
from .operations.create import CreateOperations
from .operations.indices import IndexOperations
from .operations.listing import ListingOperations
from .operations.namespaces import NamespaceOperations
from .operations.references import ReferenceOperations
from .operations.rows import RowOperations
from .operations.tables import TableOperations
from .operations.transactions import TransactionOperations
from .operations.versions import VersionOperations

__all__ = ["CatalogNamespace"]


class CatalogNamespace(
    NamespaceOperations,
    TableOperations,
    CreateOperations,
    RowOperations,
    ColumnOperations,
    IndexOperations,
    VersionOperations,
    ReferenceOperations,
    TransactionOperations,
    ListingOperations,
    CloneOperations,
    Namespace,
    abstract=True,
):
    """The base class of backends; `CatalogBase` declares the primitives that they implement."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        check_options(config.root, config.storage)
