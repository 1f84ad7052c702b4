"""Everything that can go wrong in `ranking`, named after the situation it describes.

Contradictory preferences are data, not errors: models answer them. As in `pqp.errors`, an error is data,
which each front end renders in its own words.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pqp

if TYPE_CHECKING:
    from ranking.ordinal.hard_margin import LevelConflict


class RankingError(pqp.errors.ExplainedError):
    """The ancestor of every exception raised by `ranking`.

    Besides the parts of every error (`argument`, `found`, `expected`, `remedy`, `row`, `column`) it names the
    `respondent`, the `task` and the `alternative` where there is one. A message may refer to each of these,
    and to all of them as `{place}`.

    >>> print(DataError("{place}: {column} is empty", column="price", row=3, respondent=7, task=12))
    respondent 7, task 12 (row 3): 'price' is empty
    """

    def __init__(
        self,
        *message: str,
        respondent: object = None,
        task: object = None,
        alternative: object = None,
        **parts: object,
    ) -> None:
        super().__init__(*message, **cast("dict[str, Any]", parts))
        self.respondent = respondent
        self.task = task
        self.alternative = alternative

    def _words(self) -> dict[str, object]:
        names = {"respondent": self.respondent, "task": self.task, "alternative": self.alternative}
        known = [f"{kind} {name}" for kind, name in names.items() if name is not None]
        place = ", ".join(known) or f"row {self.row}"
        if known and self.alternative is None and self.row is not None:
            place = f"{place} (row {self.row})"
        return {**super()._words(), **names, "place": place}


class DataError(RankingError, ValueError):
    """An argument or a file makes no sense: the message names it, what was found, and the remedy."""


def must_be(argument: str, expected: str, found: object, remedy: str | None = None) -> DataError:
    """Return the error of an argument with a wrong value, in the order of its sentence.

    >>> print(must_be("C", "a positive number", found=-1))
    C must be a positive number, got -1
    """
    return DataError(argument=argument, expected=expected, found=found, remedy=remedy)


def must_have(argument: str, expected: str, found: object) -> DataError:
    """Return the error of an argument of the wrong size.

    >>> print(must_have("y", "3 entries", found=2))
    y must have 3 entries, got 2
    """
    message = "{argument} must have {expected}, got {found}"
    return DataError(message, argument=argument, expected=expected, found=found)


@contextmanager
def rounding_remedy(remedy: str) -> Iterator[None]:
    """Advise something else against rounding errors than `pqp` does: estimators have no exact arithmetic."""
    try:
        yield
    except pqp.NumericalTroubleError as error:
        error.remedy, error.setting = remedy, None
        raise


# How many findings the message of a `StudyError` shows; the error carries all of them.
MOST_SHOWN = 20


class StudyError(DataError):
    """The data of a conjoint study make no sense.

    `problems` holds everything that was found, one `DataError` per finding; `shown` those of them that the
    message has room for.
    """

    # the defaults serve pickle, which hands over the message alone and then restores the attributes
    def __init__(
        self, message: str, problems: tuple[DataError, ...] = (), shown: tuple[DataError, ...] | None = None
    ) -> None:
        super().__init__(message)
        self.problems = problems
        self.shown = problems[:MOST_SHOWN] if shown is None else shown

    def render(
        self,
        name: Callable[[str], str] = str,
        setting: Callable[[str, object], str | None] = pqp.errors.python_setting,
    ) -> str:
        """Return the findings as lines below the message, each rendered for a front end."""
        lines = [super().render(name, setting), *(f"- {error.render(name, setting)}" for error in self.shown)]
        if self._hidden:
            lines.append(f"- and {self._hidden} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.render() + " (all of them: .problems of this error)" * bool(self._hidden)

    @property
    def _hidden(self) -> int:
        return len(self.problems) - len(self.shown)


class ContradictionError(RankingError):
    """Choices contradict each other, so that no part-worths explain all of them.

    `conflicts` holds minimal sets of choices: leave out any one of a set, and the others agree.
    """

    def __init__(self, message: str, conflicts: tuple[object, ...] = (), **parts: object) -> None:
        super().__init__(message, **parts)
        self.conflicts = conflicts


class SingularActiveSetError(RankingError):
    """The pairs at their margin are linearly dependent, so an active-set path cannot go on.

    `lambda_` is the regularisation parameter where it stopped.
    """

    # the default serves pickle, which hands over the message alone and then restores the attribute
    def __init__(self, message: str, lambda_: float = float("nan"), **parts: object) -> None:
        super().__init__(message, **parts)
        self.lambda_ = lambda_


class ConvergenceError(RankingError):
    """An iterative solver stopped before it was done.

    `iterations` is how many it took, `gap` what was left of its measure of error.
    """

    def __init__(self, message: str, iterations: int = 0, gap: float = float("nan"), **parts: object) -> None:
        super().__init__(message, **parts)
        self.iterations = iterations
        self.gap = gap


class NotSeparableError(RankingError, ValueError):
    """No hard margin exists: some objects contradict one another.

    `rows` are the numbers of objects that conflict, none of which can be left out; `certificate` proves it: a
    `ranking.ordinal.hard_margin.LevelConflict`.
    """

    def __init__(
        self,
        message: str,
        rows: tuple[int, ...] = (),
        certificate: "LevelConflict | None" = None,
        **parts: object,
    ) -> None:
        super().__init__(message, **parts)
        self.rows = rows
        self.certificate = certificate
