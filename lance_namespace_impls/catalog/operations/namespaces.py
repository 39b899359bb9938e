"""Operations on namespaces: create, list, describe, alter, drop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_namespace_client import models
from lance_namespace_client.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnsupportedError,
)
from lance_namespace_client.operations import OPERATIONS

from ...core.identifiers import Identifier, format_identifier, parse_identifier, subject_of
from ...core.modes import CreateMode, DropBehavior, DropMode, parse_mode
from ...core.paging import cached_page_of
from ..backend import CatalogBase
from ..changes import changes
from ..operation import listing, operation
from ..services.bounds import Bounds

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        AlterNamespaceRequest,
        AlterNamespaceResponse,
        CreateNamespaceRequest,
        CreateNamespaceResponse,
        DescribeNamespaceRequest,
        DescribeNamespaceResponse,
        DropNamespaceRequest,
        DropNamespaceResponse,
        ListNamespacesRequest,
        ListNamespacesResponse,
        ListOperationsRequest,
        ListOperationsResponse,
        NamespaceExistsRequest,
        NamespaceExistsResponse,
    )

__all__ = ["NamespaceOperations"]


class NamespaceOperations(CatalogBase, abstract=True):
    """Operations on namespaces: create, list, describe, alter, drop."""

    @listing
    def list_operations(self, request: ListOperationsRequest) -> ListOperationsResponse:
        """List the operations that this namespace supports."""
        return models.ListOperationsResponse(
            operations=[
                row.name
                for row in OPERATIONS.values()
                if self.capabilities.reason(row.name) is None
            ]
        )

    @listing
    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """List the direct child namespaces, in order and page by page."""
        parent = parse_identifier(request.id)
        page, token = cached_page_of(
            lambda after, made: made.names(
                parent, lambda: self.child_namespaces(parent, after), after
            ),
            kept=self._listing_cache,
            of=self._listing("ListNamespaces", parent),
            key=str,
            page_token=request.page_token,
            limit=request.limit,
        )
        return models.ListNamespacesResponse(namespaces=page, page_token=token)

    @operation
    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """Return a namespace's properties."""
        identifier = parse_identifier(request.id)
        return models.DescribeNamespaceResponse(
            properties=dict(self.namespace_properties(identifier))
        )

    @operation
    def namespace_exists(self, request: NamespaceExistsRequest) -> NamespaceExistsResponse:
        """Succeed if the namespace exists; otherwise raise code 1."""
        self.namespace_properties(parse_identifier(request.id))
        return models.NamespaceExistsResponse()

    @operation
    def create_namespace(self, request: CreateNamespaceRequest) -> CreateNamespaceResponse:
        """Create a namespace; an existing namespace can be overwritten only if it is empty."""
        identifier = parse_identifier(request.id)
        mode = parse_mode(request.mode, CreateMode.CREATE)
        properties = request.properties or {}
        Bounds(self).refuse_properties("CreateNamespace", identifier, properties)
        for is_last in (False, False, True):
            try:
                stored = self.add_namespace(identifier, properties)
                break
            except NamespaceAlreadyExistsError as taken:
                if mode is CreateMode.CREATE:
                    raise
                try:
                    if mode is CreateMode.EXIST_OK:
                        stored = self.namespace_properties(identifier)
                    else:
                        self._require_removable(identifier)
                        self.remove_namespace(identifier, cascade=False)
                        stored = self.add_namespace(identifier, properties)
                    break
                except NamespaceNotFoundError:
                    # Either a table has the name, or the namespace was dropped concurrently.
                    if is_last:
                        raise taken from None
        return models.CreateNamespaceResponse(properties=dict(stored))

    @operation
    def drop_namespace(self, request: DropNamespaceRequest) -> DropNamespaceResponse:
        """Remove a namespace from the catalog; no data is deleted."""
        identifier = parse_identifier(request.id)
        mode = parse_mode(request.mode, DropMode.FAIL)
        behavior = parse_mode(request.behavior, DropBehavior.RESTRICT, "behavior")
        if behavior is DropBehavior.CASCADE and not self.capabilities.cascade:
            raise UnsupportedError(
                "this catalog does not support Cascade; drop the contents of the namespace first",
                subject=subject_of("DropNamespace", identifier),
            )
        self._require_removable(identifier)
        try:
            with self.sole_change(identifier):
                properties = self.remove_namespace(identifier, behavior is DropBehavior.CASCADE)
        except NamespaceNotFoundError:
            if mode is DropMode.FAIL and not self.capabilities.idempotent_drop:
                raise
            properties = {}
        return models.DropNamespaceResponse(properties=dict(properties))

    def _require_removable(self, identifier: Identifier) -> None:
        if identifier in self.capabilities.permanent:
            raise InvalidInputError(
                f"namespace {format_identifier(identifier)} cannot be dropped or overwritten: the "
                f"catalog requires it"
            )

    @operation
    def alter_namespace(self, request: AlterNamespaceRequest) -> AlterNamespaceResponse:
        """Set and unset properties of a namespace."""
        changed, removed = changes(request.set_properties, request.unset_properties)
        identifier = parse_identifier(request.id)
        Bounds(self).refuse_properties("AlterNamespace", identifier, changed)
        properties = self.change_namespace(identifier, changed, removed)
        return models.AlterNamespaceResponse(properties=dict(properties))
