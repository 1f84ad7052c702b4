"""What plots, reports and searches may ask of an estimator that knows every C, and what such share.

`RankSVMPath`, `OrdinalSVMPath` and `ConjointPath` satisfy `PathModel`; the first two, which score the rows
of a matrix and are a `PathEstimator`, satisfy `ScorePathModel` too. A new kind of path is one more class with
these members.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

import pqp
from ranking.core.representation import KernelEstimator, Representation
from ranking.core.validation import Array, positive_number
from ranking.errors import DataError, must_be
from ranking.selection.choice_along_path import SelectionCurve
from ranking.selection.piecewise import PiecewiseLinear


def on_path(C: float, ends: tuple[float, float], remedy: str) -> float:
    """Return a C that lies between the ends of a path, checked.

    >>> on_path(1, (0.0, 2.0), "raise C_max")
    1.0
    """
    lo, hi = ends
    value = positive_number(C, "C") if np.ndim(C) or C != 0 else 0.0
    if not lo <= value <= hi:
        raise must_be("C", f"between {lo:g} and {hi:g}, the ends of the path", found=C, remedy=remedy)
    return value


def end_of_path(C_max: float, C: float | None) -> float:
    """Return where a path ends, after checking that the C to use, if there is one, is not beyond."""
    end = positive_number(C_max, "C_max", can_be_infinite=True)
    if C is not None and positive_number(C, "C") > end:
        raise must_be("C", f"at most C_max, {end:g}", found=C, remedy="raise C_max")
    return end


def no_piece_error(reason: str | None) -> DataError:
    """Return the error of a path that a limit stopped before its first piece."""
    message = "the path has no piece: {found}"
    return DataError(message, argument="time_limit", found=str(reason), remedy="raise time_limit")


class PathModel(Protocol):
    """A fitted estimator of a model at every C up to `C_max`.

    Attributes
    ----------
    kind : the name of the model in titles: "RankSVM", "Ordinal", "Conjoint".
    C_max : the parameter: where the path should end.
    C_ : the C in use; `select` changes it.
    C_end_ : the largest finite C at which the path is known.
    breakpoints_ : the values of C at which the path bends, ascending.
    path_ : the `pqp.Path` of the solutions, if it is a single one.
    """

    kind: ClassVar[str]
    C_max: float
    C_: float

    @property
    def C_end_(self) -> float: ...

    @property
    def breakpoints_(self) -> Array: ...

    @property
    def path_(self) -> pqp.Path: ...

    def at(self, C: float) -> Any:
        """Return the estimator at one C, fitted."""

    @property
    def select(self) -> Callable[..., SelectionCurve]:
        """A method that sets `C_` to the best C on validation data, and returns the metric at every C."""


class ScorePathModel(PathModel, Protocol):
    """A path of models that give every row x the score f(x)."""

    kernel: Any

    def coef_at(self, C: float) -> Array:
        """Return the weights of features of a linear model, or coefficients of kernel values, at one C."""

    def score_lines(self, X: Any) -> Iterable[PiecewiseLinear]:
        """Return the scores of rows as lines in C, some pieces at a time."""


class PathEstimator(KernelEstimator):
    """What paths of models that score rows share: tracing, and scores at any C.

    A subclass has these parameters and sets these attributes; `_basis` makes coefficients of α.
    """

    max_pieces: int | None
    time_limit: float | None
    C_: float
    representation_: Representation
    _basis: Any

    @abstractmethod
    def alpha_at(self, C: float) -> Array:
        """Return the dual variables at one C."""

    def _solve(
        self,
        dual: pqp.ParametricQP,
        ends: tuple[float, float],
        progress: Callable[[pqp.Progress], None] | None,
    ) -> pqp.Path:
        """Return the path of a dual, within the limits."""
        path = pqp.solve_path(
            dual, ends, max_pieces=self.max_pieces, time_limit=self.time_limit, progress=progress
        )
        if not path.segments:
            raise no_piece_error(path.stopped)
        return path

    def coef_at(self, C: float) -> Array:
        """Return the weights of features of a linear model, or β of another one, at one C.

        There is one β per training row; of an ordinal model, one per distinct object.
        """
        return np.asarray(self._basis @ self.alpha_at(C)).ravel()

    def _scores(self, rows: Any, C: float | Sequence[float] | Array | None) -> Array:
        """Return the scores of checked rows at C_, at another C, or at several, one column each."""
        where: Any = self.C_ if C is None else C
        if np.ndim(where) == 0:
            return self.representation_.project(rows, self.coef_at(where))
        columns = np.array([self.coef_at(value) for value in where]).reshape(len(where), self._basis.shape[0])
        return np.asarray(self.representation_.evaluate(rows) @ columns.T)
