"""Problems: everything that is wrong with the data of a study, collected, then said at once.

Room: sentences by kind in, one `StudyError` out. Knows no data.
May touch: `errors`, `labels`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ranking.conjoint.labels import counted
from ranking.errors import StudyError

# How many problems a message tells; all of them are in the list that the exception carries.
MOST_TOLD = 20
# More rows than this with the same problem are told together.
FEW = 3


@dataclass
class Problems:
    """A list of sentences that grows while data are checked, by the kind of problem they tell.

    >>> found = Problems()
    >>> found.add("choice", "respondent 7, task 12: no alternative is chosen")
    >>> len(found), found.sentences
    (1, ['respondent 7, task 12: no alternative is chosen'])
    """

    by_kind: dict[str, list[str]] = field(default_factory=dict)

    def add(self, kind: str, sentence: str) -> None:
        """Note a problem."""
        self.by_kind.setdefault(kind, []).append(sentence)

    def add_rows(self, kind: str, rows: Sequence[int], single: Callable[[int], str], together: str) -> None:
        """Note rows with the same problem: each in a sentence if they are few, else all in one."""
        for sentence in map(single, rows) if len(rows) <= FEW else [together]:
            self.add(kind, sentence)

    def __len__(self) -> int:
        return sum(map(len, self.by_kind.values()))

    @property
    def sentences(self) -> list[str]:
        """All problems, those of a kind together."""
        return [sentence for kind in self.by_kind.values() for sentence in kind]

    def raise_any(self) -> None:
        """Raise one error that tells every problem, if there are any."""
        if not len(self):
            return
        told = self._told()
        lines = [f"- {sentence}" for sentence in told]
        if len(self) > len(told):
            lines.append(f"- and {len(self) - len(told)} more (all of them: .problems of this error)")
        heading = f"the data have {counted(len(self), 'problem')}:"
        raise StudyError("\n".join([heading, *lines]), tuple(self.sentences))

    def _told(self) -> list[str]:
        """Return the sentences a message has room for: of every kind the first, then the second, ..."""
        ranked = [
            (rank, kind, sentence)
            for kind, sentences in enumerate(self.by_kind.values())
            for rank, sentence in enumerate(sentences)
        ]
        chosen = sorted(ranked, key=lambda entry: entry[:2])[:MOST_TOLD]
        return [sentence for _, _, sentence in sorted(chosen, key=lambda entry: (entry[1], entry[0]))]
