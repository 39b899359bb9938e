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
        doc="the table, where it is not the argument of load() or save()",
    )
    delimiter: str | None = option(
        doc="what joins the levels of the table's identifier; else it is written as in Spark SQL",
    )
    version: int | None = option(read=whole_number(1), doc="version to read, else the latest")
    tag: str | None = option(doc="tag of the version to read")
    branch: str | None = option(doc="branch to read, else the main one")
    timestamp: datetime | None = option(
        read=moment, doc="the version to read is the latest at that time, in UTC without a zone"
    )
    with_row_id: bool = option(
        False, read=yes_no, doc="whether there is a column _rowid with the rows' ids"
    )
    columns: tuple[str, ...] | None = option(
        read=name_list, doc="columns to read, with commas between them, else all"
    )
    filter: str | None = option(
        doc="rows to read, as a condition in Lance's SQL, such as 'price > 9.5', else all"
    )
    batch_rows: int | None = option(
        read=whole_number(1),
        doc="most rows in one batch on the way to Spark, else 65536, of up to 8 MiB",
    )
    splits: int | None = option(
        read=whole_number(1), doc="most tasks to read with, else one for every 32 MiB"
    )
    types: str | None = option(
        doc="Arrow types of columns of a new table, such as 'vector:float32[768]'"
    )
    overflow: str = option(
        "refuse",
        read=choice("refuse", "infinity"),
        doc="what a floating-point number too large for its column is: refuse (code 20) or infinity",
    )
    rows_per_file: int = option(1 << 20, read=whole_number(1), doc="most rows in one data file")
    starting_version: int | str | None = option(
        read=version_or_latest,
        doc="first version whose added rows a stream reads; latest is what comes after now; else all "
        "rows there are, then what is added",
    )
    starting_timestamp: datetime | None = option(
        read=moment, doc="a stream reads what is added after that time, in UTC without a zone"
    )
    max_rows_per_trigger: int | None = option(
        read=whole_number(1), doc="most rows in a batch of a stream"
    )
    max_versions_per_trigger: int | None = option(
        read=whole_number(1), doc="most versions that add rows in a batch of a stream"
    )
    on_change: str = option(
        "refuse",
        read=choice("refuse", "skip"),
        doc="what a stream does at a version that changes or deletes rows: refuse (code 0) or skip",
    )
    checkpoint_location: str | None = option(doc="Spark's own, of streams")
