"""Options of the Spark data source."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from attrs import fields, frozen

from lance_namespace_client.errors import InvalidInputError

from ..distributed.options import (
    choice,
    field_list,
    moment,
    name_list,
    option,
    version_or_latest,
    whole_number,
    yes_no,
)
from ..distributed.write_plan import FORMAT_VERSIONS, FileOptions

__all__ = ["TableOptions"]


@frozen(kw_only=True)
class TableOptions:
    """Options of the data source itself; all other options are properties of the namespace."""

    table: str | None = option(
        doc="the table, if it is not the argument of load() or save()",
    )
    delimiter: str | None = option(
        doc="delimiter between the levels of the table's identifier; by default Spark "
        "SQL's notation is used",
    )
    version: int | None = option(
        read=whole_number(1), doc="version to read; defaults to the latest"
    )
    tag: str | None = option(doc="tag of the version to read")
    branch: str | None = option(doc="branch to read; defaults to the main branch")
    timestamp: datetime | None = option(
        read=moment, doc="read the latest version at this time, in UTC if it has no zone"
    )
    with_row_id: bool = option(
        False, read=yes_no, doc="whether to add a column _rowid with the row ids"
    )
    columns: tuple[str, ...] | None = option(
        read=name_list, doc="columns to read, separated by commas; defaults to all"
    )
    filter: str | None = option(
        doc="rows to read, as a condition in Lance's SQL, such as 'price > 9.5'; defaults to all"
    )
    blobs: str = option(
        "binary",
        read=choice("binary", "references"),
        doc="form of the values of blob columns: binary, or references, which resolve_blobs "
        "reads on workers",
    )
    pushdown: bool = option(
        True,
        read=yes_no,
        doc="whether filters, limits and aggregates of queries are evaluated by Lance, if it "
        "evaluates them exactly as Spark does",
    )
    batch_rows: int | None = option(
        read=whole_number(1),
        doc="maximum number of rows in a batch sent to Spark; defaults to 65536, with "
        "batches of up to 8 MiB",
    )
    splits: int | None = option(
        read=whole_number(1), doc="maximum number of read tasks; defaults to one for every 32 MiB"
    )
    types: str | None = option(
        doc="Arrow types of columns of a new table, such as 'vector:float32[768]'"
    )
    partitioned_by: tuple[str, ...] | None = option(
        read=field_list,
        doc="partition fields, such as 'day(ts), bucket(16, user)': a write creates a partitioned "
        "namespace; they can be omitted for an existing one",
    )
    partition_overwrite_mode: str | None = option(
        read=choice("dynamic"),
        doc="dynamic: overwrite replaces only the rows of the partitions that receive rows; required "
        "to overwrite a partitioned namespace",
    )
    overflow: str = option(
        "refuse",
        read=choice("refuse", "infinity"),
        doc="handling of floating-point numbers that are too large for their column: refuse "
        "(code 20) or infinity",
    )
    rows_per_file: int = option(
        1 << 20, read=whole_number(1), doc="maximum number of rows in a data file"
    )
    bytes_per_file: int | None = option(
        read=whole_number(1), doc="approximate maximum size of a data file in bytes"
    )
    data_storage_version: str | None = option(
        read=choice(*FORMAT_VERSIONS),
        doc="version of the file format of a new table: 2.0, 2.1, 2.2 or stable (the default)",
    )
    stable_row_ids: bool | None = option(
        read=yes_no,
        doc="whether rows of a new table keep their ids when they are updated or compacted, "
        "which change feeds require; defaults to false",
    )
    merge_schema: bool = option(
        False,
        read=yes_no,
        doc="whether an append adds columns that the table lacks; they become nullable",
    )
    starting_version: int | str | None = option(
        read=version_or_latest,
        doc="first version whose added rows a stream reads; latest starts with rows "
        "added from now on; by default a stream reads all rows, then added ones",
    )
    starting_timestamp: datetime | None = option(
        read=moment, doc="read rows added after this time, in UTC if it has no zone"
    )
    max_rows_per_trigger: int | None = option(
        read=whole_number(1), doc="maximum number of rows in a batch of a stream"
    )
    max_versions_per_trigger: int | None = option(
        read=whole_number(1), doc="maximum number of versions that add rows in a batch of a stream"
    )
    on_change: str = option(
        "refuse",
        read=choice("refuse", "skip"),
        doc="handling of versions that change or delete rows: refuse (a stream fails with code "
        "0) or skip",
    )
    read_changes: bool = option(
        False,
        read=yes_no,
        doc="whether a stream reads inserted, updated and deleted rows, with the columns "
        "_change_type, _commit_version, _commit_timestamp and _rowid",
    )
    checkpoint_location: str | None = option(doc="Spark's own option for streams")

    def files(self) -> FileOptions:
        """Return how a write stores rows."""
        return FileOptions(
            rows=self.rows_per_file,
            bytes=self.bytes_per_file,
            data_storage_version=self.data_storage_version,
            stable_row_ids=self.stable_row_ids,
        )

    def changed(self, names: Collection[str]) -> list[str]:
        """Return the options among `names` whose values are not the defaults."""
        return [
            each.name
            for each in fields(TableOptions)
            if each.name in names and getattr(self, each.name) != each.default
        ]

    def require_batch(self, what: str) -> None:
        """Reject a batch read with an option for streams (code 13)."""
        if self.read_changes:
            raise InvalidInputError(
                f"{what}: the option readChanges is for streams; call "
                "changes(spark, namespace, table, since=...) for a DataFrame"
            )
