"""Operations on the tags and branches of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from lance_namespace_client import models
from lance_namespace_client.errors import TableTagNotFoundError

from ...core.errors import about
from ...core.identifiers import parse_identifier, subject_of
from ...core.paging import page_of, sorted_after
from ..backend import CatalogBase
from ..operation import operation
from ..services.opener import Opener
from ..version_store import RemoveVersions

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        CreateTableBranchRequest,
        CreateTableBranchResponse,
        CreateTableTagRequest,
        CreateTableTagResponse,
        DeleteTableBranchRequest,
        DeleteTableBranchResponse,
        DeleteTableTagRequest,
        DeleteTableTagResponse,
        GetTableTagVersionRequest,
        GetTableTagVersionResponse,
        ListTableBranchesRequest,
        ListTableBranchesResponse,
        ListTableTagsRequest,
        ListTableTagsResponse,
        UpdateTableTagRequest,
        UpdateTableTagResponse,
    )

__all__ = ["ReferenceOperations"]

Ref = TypeVar("Ref")


class ReferenceOperations(CatalogBase, abstract=True):
    """Operations on the tags and branches of a table."""

    def _page_of_refs(
        self,
        operation: str,
        request: ListTableTagsRequest | ListTableBranchesRequest,
        found: Mapping[str, Ref],
    ) -> tuple[dict[str, Ref], str | None]:
        """Return a page of tags or branches, ordered by name, and the token of the next page."""
        page, token = page_of(
            lambda after: sorted_after(set(found), after),
            of=self._listing(operation, request.id),
            key=str,
            page_token=request.page_token,
            limit=request.limit,
        )
        return {name: found[name] for name in page}, token

    @operation
    def list_table_tags(self, request: ListTableTagsRequest) -> ListTableTagsResponse:
        """List the tags, ordered by name, in pages."""
        from ...tables.refs import tags

        with Opener(self).opened("ListTableTags", request.id) as dataset:
            page, token = self._page_of_refs("ListTableTags", request, tags(dataset))
            return models.ListTableTagsResponse(tags=page, page_token=token)

    @operation
    def get_table_tag_version(
        self, request: GetTableTagVersionRequest
    ) -> GetTableTagVersionResponse:
        """Return the version that a tag references."""
        from ...tables.dataset import open_dataset
        from ...tables.refs import tag

        identifier = parse_identifier(request.id)
        storage = self.storage_of(self.find_table(identifier))
        with about(subject_of("GetTableTagVersion", identifier)):
            try:
                found = tag(storage, request.tag)
            except TableTagNotFoundError:
                open_dataset(storage)  # fails if the dataset does not exist
                raise
        return models.GetTableTagVersionResponse(version=found.version, branch=found.branch)

    @operation
    def create_table_tag(self, request: CreateTableTagRequest) -> CreateTableTagResponse:
        """Create a tag for a version."""
        from ...tables.refs import create_tag

        with Opener(self).opened("CreateTableTag", request.id) as dataset:
            create_tag(dataset, request.tag, request.version, request.branch)
            return models.CreateTableTagResponse()

    @operation
    def update_table_tag(self, request: UpdateTableTagRequest) -> UpdateTableTagResponse:
        """Move a tag to another version."""
        from ...tables.refs import update_tag

        with Opener(self).opened("UpdateTableTag", request.id) as dataset:
            update_tag(dataset, request.tag, request.version, request.branch)
            return models.UpdateTableTagResponse()

    @operation
    def delete_table_tag(self, request: DeleteTableTagRequest) -> DeleteTableTagResponse:
        """Remove a tag; the version is kept."""
        from ...tables.refs import delete_tag

        with Opener(self).opened("DeleteTableTag", request.id) as dataset:
            delete_tag(dataset, request.tag)
            return models.DeleteTableTagResponse()

    @operation
    def list_table_branches(self, request: ListTableBranchesRequest) -> ListTableBranchesResponse:
        """List the branches except the main one, ordered by name, in pages."""
        from ...tables.refs import branches

        with Opener(self).opened("ListTableBranches", request.id) as dataset:
            page, token = self._page_of_refs("ListTableBranches", request, branches(dataset))
            return models.ListTableBranchesResponse(branches=page, page_token=token)

    @operation
    def create_table_branch(self, request: CreateTableBranchRequest) -> CreateTableBranchResponse:
        """Create a branch."""
        from ...tables.refs import create_branch

        with Opener(self).opened("CreateTableBranch", request.id) as dataset:
            create_branch(dataset, request.name, request.from_branch, request.from_version)
            return models.CreateTableBranchResponse()

    @operation
    def delete_table_branch(self, request: DeleteTableBranchRequest) -> DeleteTableBranchResponse:
        """Remove a branch."""
        from ...tables.refs import delete_branch

        entry = self.find_table(parse_identifier(request.id))
        with Opener(self).opened("DeleteTableBranch", request.id) as dataset:
            delete_branch(dataset, request.name)
            if entry.managed:
                gone = RemoveVersions(table=entry, branch=request.name, versions=None)
                self.versions_of(entry).commit([gone])
            return models.DeleteTableBranchResponse()
