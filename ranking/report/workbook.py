"""Workbooks: tables as sheets of an Excel file, and the same tables as CSV files."""

import io
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import pandas as pd
from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

# A sheet of contents stands first; Excel allows names of so many letters.
CONTENTS, LONGEST_NAME = "contents", 31
# The width of a column in letters.
NARROWEST, WIDEST = 8, 60
# Rows that a width is measured on.
MEASURED = 200


def workbook_bytes(tables: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> bytes:
    """Return an Excel workbook with one sheet a table, after a list of them.

    >>> from zipfile import is_zipfile
    >>> is_zipfile(io.BytesIO(workbook_bytes({"a": pd.DataFrame({"x": [1]})}, {"a": "A table"})))
    True
    """
    listed = pd.DataFrame({"sheet": list(tables), "holds": [titles[name] for name in tables]})
    stream = io.BytesIO()
    with pd.ExcelWriter(stream, engine="openpyxl") as writer:
        for name, table in {CONTENTS: listed, **tables}.items():
            sheet = name[:LONGEST_NAME]
            table.to_excel(writer, sheet_name=sheet, index=False, freeze_panes=(1, 0))
            for number, width in enumerate(widths(table)):
                cell = writer.sheets[sheet].cell(row=1, column=number + 1)
                writer.sheets[sheet].column_dimensions[cell.column_letter].width = width
    return stream.getvalue()


def is_our_workbook(file: Path) -> bool:
    """Tell whether a file is a workbook that begins with a list of contents."""
    try:
        return str(load_workbook(file, read_only=True).sheetnames[0]) == CONTENTS
    except (BadZipFile, InvalidFileException, KeyError, OSError):
        return False


def table_files(folder: Path, tables: Mapping[str, pd.DataFrame]) -> dict[Path, bytes]:
    """Return the CSV file of every table in a folder."""
    return {folder / f"{name}.csv": table.to_csv(index=False).encode() for name, table in tables.items()}


def widths(table: pd.DataFrame) -> list[int]:
    """Return how wide the columns of a sheet should be.

    >>> widths(pd.DataFrame({"x": [1], "sentence": ["these are five short words"]}))
    [8, 28]
    """
    found = []
    for name, column in table.items():
        seen = column.head(MEASURED).tolist()
        cells = [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in seen]
        longest = max([len(str(name)), *map(len, cells)])
        found.append(min(max(longest + 2, NARROWEST), WIDEST))
    return found
