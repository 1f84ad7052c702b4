"""The findings of a check of data, collected and reported in one error."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ranking.conjoint.data.label_text import quoted
from ranking.core.validation import counted
from ranking.errors import MOST_SHOWN, DataError, StudyError

# More rows than this with the same problem make one finding.
FEW = 3
# Returns the respondent, task, alternative and number of a row, as parts of an error.
Place: TypeAlias = Callable[[int], dict[str, Any]]


@dataclass
class Problems:
    """Findings collected while data are checked; those with the same message and column are of one kind.

    >>> found = Problems()
    >>> found.add("{place} has no choice", respondent=7, task=12)
    >>> len(found), str(found.all[0])
    (1, 'respondent 7, task 12 has no choice')
    """

    by_kind: dict[tuple[str, object], list[DataError]] = field(default_factory=dict)

    def add(self, message: str, **parts: Any) -> None:
        """Add a finding; see `ranking.errors.RankingError` for its parts."""
        self.extend([DataError(message, **parts)])

    def extend(self, findings: Iterable[DataError]) -> None:
        """Add findings of another check."""
        for finding in findings:
            self.by_kind.setdefault((finding.message, finding.column), []).append(finding)

    def add_each(self, where: NDArray[np.bool_], place: Place, message: str, **parts: Any) -> None:
        """Add one finding for each row in which something is wrong."""
        for row in np.flatnonzero(where).tolist():
            self.add(message, **{**parts, **place(row)})

    def add_rows(
        self,
        where: NDArray[np.bool_],
        place: Place,
        what: str,
        many: str = "",
        cells: Any = None,
        **parts: Any,
    ) -> None:
        """Add rows with the same problem: one finding each if they are few, else one for all.

        `what` is said of each row after its place, `many` of all together, if it takes other words. What was
        found are the `cells` of the rows, if given. All rows together are described by the first.
        """
        rows = np.flatnonzero(where).tolist()
        together = many or f"{what} in {len(rows)} rows, the first is {{place}}"
        are_few = len(rows) <= FEW
        for row in rows if are_few else rows[:1]:
            found = {} if cells is None else {"found": quoted(cells.iloc[row])}
            self.add(f"{{place}}: {what}" if are_few else together, **{**parts, **found, **place(row)})

    def __len__(self) -> int:
        return len(self.all)

    @property
    def all(self) -> tuple[DataError, ...]:
        """All findings, those of a kind together."""
        return tuple(finding for kind in self.by_kind.values() for finding in kind)

    def raise_any(self) -> None:
        """Raise one error that carries every finding, if there are any."""
        if self.by_kind:
            raise StudyError(f"the data have {counted(len(self), 'problem')}:", self.all, self._shown())

    def _shown(self) -> tuple[DataError, ...]:
        """Return the findings a message has room for: of every kind the first, then the second, ..."""
        ranked = [
            (rank, kind, finding)
            for kind, findings in enumerate(self.by_kind.values())
            for rank, finding in enumerate(findings)
        ]
        chosen = sorted(ranked, key=lambda entry: entry[:2])[:MOST_SHOWN]
        return tuple(finding for _, _, finding in sorted(chosen, key=lambda entry: (entry[1], entry[0])))
