"""Table: one row per workload, shown at the end of a run and kept in a file on request.

`PQP_RECORD=FILE pytest -m benchmark ...` appends every row to FILE, one JSON object per line;
`python -m tests.benchmarks.table FILE` prints them as Markdown.
"""

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.timing import Race

HEADINGS = ("workload", "peer", "ours", "peer's", "ratio", "target", "pieces", "accuracy", "note")
# Rows of this run, for the summary of pytest.
ROWS: list["Row"] = []


@dataclass(frozen=True)
class Row:
    """What was measured on one workload; seconds are CPU seconds on one thread."""

    workload: str
    peer: str
    ours: float
    theirs: float | None = None
    target: float | None = None
    pieces: int | None = None
    accuracy: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Our time over the peer's."""
        return None if self.theirs is None else self.ours / self.theirs

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        numbers = (_seconds(self.ours), _seconds(self.theirs), _share(self.ratio), _limit(self.target))
        pieces = "" if self.pieces is None else str(self.pieces)
        accuracy = "" if self.accuracy is None else f"{self.accuracy:.0e}"
        return (self.workload, self.peer, *numbers, pieces, accuracy, self.note)


def compared(
    workload: str, peer: str, result: Race, target: float | None, accuracy: float, note: str = ""
) -> Row:
    """Return the row of a path raced against a peer."""
    pieces = len(result.answer.segments)
    return Row(workload, peer, result.ours, result.theirs, target, pieces, accuracy, note)


def alone(workload: str, found: dict[str, Any], note: str) -> Row:
    """Return the row of a path no peer was raced against, measured in a process of its own."""
    return Row(workload, "", found["seconds"], pieces=found["pieces"], accuracy=found.get("gap"), note=note)


def report(row: Row) -> Row:
    """Keep a row for the summary, and in the file named by PQP_RECORD, whatever becomes of its checks."""
    ROWS.append(row)
    if file := os.environ.get("PQP_RECORD"):
        with Path(file).open("a", encoding="utf-8") as record:
            record.write(json.dumps(asdict(row)) + "\n")
    return row


def require_target(row: Row) -> None:
    """Fail if the row does not reach its target."""
    if row.target is not None and row.ratio is not None:
        missed = f"{row.workload}: {row.ratio:.3g} of {row.peer}, target {row.target:.3g}"
        assert row.ratio <= row.target, missed


def as_markdown(rows: list[Row]) -> str:
    """Return rows as an aligned Markdown table."""
    cells = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(3, *(len(line[i]) for line in cells)) for i in range(len(HEADINGS))]
    lines = [[text.ljust(width) for text, width in zip(line, widths, strict=True)] for line in cells]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def read(file: Path) -> list[Row]:
    """Return the recorded rows; of a workload measured twice, the last."""
    records = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return list({(record["workload"], record["peer"]): Row(**record) for record in records}.values())


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _limit(value: float | None) -> str:
    return "" if value is None else f"≤ {value:.2g}" if value >= 1 else f"≤ 1/{1 / value:.0f}"


if __name__ == "__main__":
    print(as_markdown(read(Path(sys.argv[1]))))
