"""Operations on the versions of a table: list, describe, delete, restore, create."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lance_namespace_client import models
from lance_namespace_client.errors import InvalidInputError

from ...core.identifiers import format_identifier, parse_identifier
from ...core.paging import page_of
from ..backend import CatalogBase
from ..operation import operation
from ..services.managed import ManagedVersions, branch_name, shown_version
from ..services.opener import Opener
from ..version_store import RemoveVersions, version_not_found

if TYPE_CHECKING:
    from lance_namespace_client.models import (
        BatchCreateTableVersionsRequest,
        BatchCreateTableVersionsResponse,
        BatchDeleteTableVersionsRequest,
        BatchDeleteTableVersionsResponse,
        CreateTableVersionRequest,
        CreateTableVersionResponse,
        DescribeTableVersionRequest,
        DescribeTableVersionResponse,
        ListTableVersionsRequest,
        ListTableVersionsResponse,
        RestoreTableRequest,
        RestoreTableResponse,
        TableVersion,
    )

    from ..entry import TableEntry

__all__ = ["VersionOperations"]


class VersionOperations(CatalogBase, abstract=True):
    """Operations on the versions of a table, whether they are managed by storage or by the catalog."""

    @operation
    def list_table_versions(self, request: ListTableVersionsRequest) -> ListTableVersionsResponse:
        """List the existing versions in pages; oldest first unless `descending`."""
        entry = self.find_table(parse_identifier(request.id))
        backwards = bool(request.descending)
        page, token = page_of(
            lambda after: self._versions(entry, request, after[0] if after else None),
            of=self._listing("ListTableVersions", request.id, request.branch, backwards),
            key=lambda version: [version.version],
            page_token=request.page_token,
            limit=request.limit,
            from_name=_version_key,
        )
        return models.ListTableVersionsResponse(versions=page, page_token=token)

    def _versions(
        self, entry: TableEntry, request: ListTableVersionsRequest, after: int | None
    ) -> Iterator[TableVersion]:
        backwards = bool(request.descending)
        if entry.managed:
            branch = branch_name(request.branch)
            for kept in ManagedVersions(self).stored_versions(entry, branch, after, backwards):
                yield shown_version(kept)
            return
        from ...tables.refs import require_branch
        from ...tables.versions import Manifests

        with Opener(self).opened("ListTableVersions", request.id) as dataset:
            require_branch(dataset, request.branch)
            manifests = Manifests(dataset, request.branch)
            for number in manifests.numbers(descending=backwards):
                if after is not None and (number >= after if backwards else number <= after):
                    continue
                if (version := manifests.version(number)) is not None:
                    yield version

    @operation
    def describe_table_version(
        self, request: DescribeTableVersionRequest
    ) -> DescribeTableVersionResponse:
        """Describe one version, by default the latest."""
        entry = self.find_table(parse_identifier(request.id))
        if entry.managed:
            branch = branch_name(request.branch)
            if request.version is not None:
                kept = ManagedVersions(self).stored_version(entry, branch, request.version)
            elif (latest := ManagedVersions(self).latest_version_of(entry, branch)) is not None:
                kept = latest
            else:
                raise version_not_found(entry, branch, None)
            return models.DescribeTableVersionResponse(version=shown_version(kept))
        from ...tables.refs import require_branch
        from ...tables.versions import describe

        with Opener(self).opened("DescribeTableVersion", request.id) as dataset:
            require_branch(dataset, request.branch)
            found = describe(dataset, request.version, request.branch)
        return models.DescribeTableVersionResponse(version=found)

    @operation
    def batch_delete_table_versions(
        self, request: BatchDeleteTableVersionsRequest
    ) -> BatchDeleteTableVersionsResponse:
        """Delete versions and the files that only these versions use."""
        from ...tables.versions import delete, doomed

        entry = self.find_table(parse_identifier(request.id))
        operation = "BatchDeleteTableVersions"
        with Opener(self).opened(operation, request.id, branch=request.branch) as dataset:
            chosen = doomed(dataset, request.ranges, request.branch)
            deleted = delete(dataset, chosen)
        if entry.managed and chosen:
            branch = branch_name(request.branch)
            self.versions_of(entry).commit(
                [RemoveVersions(table=entry, branch=branch, versions=chosen)]
            )
        return models.BatchDeleteTableVersionsResponse(deleted_count=deleted)

    @operation
    def restore_table(self, request: RestoreTableRequest) -> RestoreTableResponse:
        """Restore an older version by committing it as a new one."""
        from ...tables.versions import restore

        with Opener(self).changed("RestoreTable", request.id, request.branch) as dataset:
            restore(dataset, request.version, request.branch)
        return models.RestoreTableResponse()

    @operation
    def create_table_version(
        self, request: CreateTableVersionRequest
    ) -> CreateTableVersionResponse:
        """Publish a manifest that the caller has staged as the next version of a managed table."""
        entry = self.find_table(parse_identifier(request.id))
        what = f"CreateTableVersion {format_identifier(entry.id)}"
        with ManagedVersions(self).committing() as plan:
            staged = ManagedVersions(self).stage(entry, request, what, plan)
        return models.CreateTableVersionResponse(
            transaction_id=plan.transaction,
            version=shown_version(ManagedVersions(self).publish(staged)),
        )

    @operation
    def batch_create_table_versions(
        self, request: BatchCreateTableVersionsRequest
    ) -> BatchCreateTableVersionsResponse:
        """Publish staged manifests as new versions of several tables, atomically."""
        keys = [(parse_identifier(e.id), branch_name(e.branch)) for e in request.entries]
        for identifier, branch in keys:
            if keys.count((identifier, branch)) > 1:
                raise InvalidInputError(
                    f"BatchCreateTableVersions: table {format_identifier(identifier)} occurs "
                    "twice; list each table and branch once"
                )
        for each in request.entries:
            self.check_identifier("CreateTableVersion", each)
        found = [self.find_table(identifier) for identifier, _ in keys]
        with ManagedVersions(self).committing() as plan:
            staged = [
                ManagedVersions(self).stage(
                    table, entry, f"BatchCreateTableVersions: {format_identifier(table.id)}", plan
                )
                for table, entry in zip(found, request.entries, strict=True)
            ]
        return models.BatchCreateTableVersionsResponse(
            transaction_id=plan.transaction,
            versions=[shown_version(ManagedVersions(self).publish(each)) for each in staged],
        )


def _version_key(token: str) -> tuple[int]:
    """Parse a page token that is a version number."""
    if not re.fullmatch("[0-9]{1,19}", token):
        raise InvalidInputError(
            f"page token {token[:40]!r} is neither a page token of this catalog nor a "
            "version; start again without a token"
        )
    return (int(token),)
