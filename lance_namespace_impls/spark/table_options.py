"""Options of the Spark data source."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from attrs import frozen

from ..distributed.options import (
    choice,
    moment,
    name_list,
    option,
    version_or_latest,
    whole_number,
    yes_no,
)

if TYPE_CHECKING:
    pass

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
        read=moment, doc="read the latest version at that time, in UTC if it has no zone"
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
    overflow: str = option(
        "refuse",
        read=choice("refuse", "infinity"),
        doc="floating-point numbers that are too large for their column: refuse (code "
        "20) or infinity",
    )
    rows_per_file: int = option(
        1 << 20, read=whole_number(1), doc="maximum number of rows in a data file"
    )
    starting_version: int | str | None = option(
        read=version_or_latest,
        doc="first version whose added rows a stream reads; latest starts with rows "
        "added from now on; by default a stream reads all rows, then added ones",
    )
    starting_timestamp: datetime | None = option(
        read=moment, doc="read rows added after that time, in UTC if it has no zone"
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
        doc="versions that change or delete rows: refuse (a stream fails with code 0) or skip",
    )
    checkpoint_location: str | None = option(doc="Spark's own option for streams")
