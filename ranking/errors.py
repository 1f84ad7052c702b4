"""Everything that can go wrong in `ranking`, named after the situation it describes.

Contradictory preferences are data, not errors: models answer them. As in `pqp.errors`, an error is data,
which each front end renders in its own words.
"""

from typing import Any

import pqp


class RankingError(pqp.errors.ExplainedError):
    """The ancestor of every exception raised by `ranking`.

    Besides the parts of every error (`argument`, `found`, `expected`, `remedy`, `row`, `column`) it names the
    `respondent` and the `task` where there is one.
    """

    def __init__(self, *message: str, respondent: object = None, task: object = None, **parts: Any) -> None:
        super().__init__(*message, **parts)
        self.respondent = respondent
        self.task = task


class DataError(RankingError, ValueError):
    """An argument or a file makes no sense: the message names it, what was found, and the remedy."""


class StudyError(DataError):
    """The data of a conjoint study make no sense; `problems` tells everything found, one sentence each."""

    # the default serves pickle, which hands over the message alone and then restores the attribute
    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class ContradictionError(RankingError):
    """Choices contradict each other, so that no part-worths explain all of them.

    `conflicts` holds minimal sets of choices: leave out any one of a set, and the others agree.
    """

    def __init__(self, message: str, conflicts: tuple[object, ...] = ()) -> None:
        super().__init__(message)
        self.conflicts = conflicts


class SingularActiveSetError(RankingError):
    """The pairs at their margin are linearly dependent, so an active-set path cannot go on.

    `lambda_` is the regularisation parameter where it stopped.
    """

    # the default serves pickle, which hands over the message alone and then restores the attribute
    def __init__(self, message: str, lambda_: float = float("nan")) -> None:
        super().__init__(message)
        self.lambda_ = lambda_


class ConvergenceError(RankingError):
    """An iterative solver stopped before it was done.

    `iterations` is how many it took, `gap` what was left of its measure of error.
    """

    def __init__(self, message: str, iterations: int = 0, gap: float = float("nan")) -> None:
        super().__init__(message)
        self.iterations = iterations
        self.gap = gap


class NotSeparableError(RankingError, ValueError):
    """No hard margin exists: some objects contradict one another.

    `rows` are the numbers of objects that conflict, none of which can be left out; `certificate` proves it: a
    `ranking.ordinal.hard_margin.Conflict`.
    """

    def __init__(self, message: str, rows: tuple[int, ...] = (), certificate: Any = None) -> None:
        super().__init__(message)
        self.rows = rows
        self.certificate = certificate
