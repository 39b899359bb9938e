"""The files of an import: finding them, looking at them and reading them with Arrow."""

from __future__ import annotations

from collections.abc import Mapping

from .base import FileInfo, Format, Piece
from .csv_files import CsvFormat
from .json_files import JsonFormat
from .parquet_files import ParquetFormat
from .sources import SourceFile, find_files, format_of

__all__ = ["FORMATS", "Format", "FileInfo", "Piece", "SourceFile", "find_files", "format_of"]

FORMATS: Mapping[str, type[Format]] = {
    "csv": CsvFormat,
    "json": JsonFormat,
    "parquet": ParquetFormat,
}
