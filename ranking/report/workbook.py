"""The tables of a report as sheets of an Excel workbook, and as CSV files."""

import io
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import pandas as pd
from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

# The first sheet lists the others; by it a workbook of ours is recognised.
CONTENTS = "contents"
# Excel refuses longer names of sheets.
LONGEST_NAME = 31
# The width of a column in letters.
NARROWEST = 8
WIDEST = 60
# Widths are measured on the first rows only, as tables may have many thousands.
MEASURED = 200


def workbook_bytes(tables: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> bytes:
    """Return an Excel workbook with one sheet per table, after a list of them.

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
    """Return whether a file is a workbook that begins with a list of contents."""
    try:
        return str(load_workbook(file, read_only=True).sheetnames[0]) == CONTENTS
    except (BadZipFile, InvalidFileException, KeyError, OSError):
        return False


def table_files(folder: Path, tables: Mapping[str, pd.DataFrame]) -> dict[Path, bytes]:
    """Return the content of a CSV file for every table, by its path in a folder."""
    return {folder / f"{name}.csv": table.to_csv(index=False).encode() for name, table in tables.items()}


def widths(table: pd.DataFrame) -> list[int]:
    """Return the widths of the columns of a sheet, in letters.

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
