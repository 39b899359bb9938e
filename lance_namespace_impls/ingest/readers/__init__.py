"""The file formats of an import: finding, inspecting and reading files with Arrow."""

from __future__ import annotations

from collections.abc import Mapping

from ..sources import SourceFile, find_files, format_of
from .avro import AvroFormat
from .base import FileInfo, Format, Piece
from .csv import CsvFormat
from .delta import DeltaFormat
from .iceberg import IcebergFormat
from .json import JsonFormat
from .orc import OrcFormat
from .parquet import ParquetFormat

__all__ = ["FORMATS", "Format", "FileInfo", "Piece", "SourceFile", "find_files", "format_of"]

FORMATS: Mapping[str, type[Format]] = {
    "csv": CsvFormat,
    "json": JsonFormat,
    "parquet": ParquetFormat,
    "orc": OrcFormat,
    "avro": AvroFormat,
    "delta": DeltaFormat,
    "iceberg": IcebergFormat,
}
