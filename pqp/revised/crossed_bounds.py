"""Where the bounds of an item cross or its penalty is negative: there the problem has no solution."""

from dataclasses import dataclass

import numpy as np

from pqp.linalg.field import RATIONAL, Array, Number, exact_array, float_array, infinite, is_infinite
from pqp.linalg.tolerances import ZERO
from pqp.model.affine import Affine
from pqp.model.problem import ParametricQP
from pqp.records.unsolvable import Farkas, Obstruction, descent
from pqp.revised.presolve import MatrixEntries


@dataclass(frozen=True, eq=False)
class CrossingBounds:
    """All differences upper - lower, and all penalties, that change with mu: their widths.

    A width has a kind, an item and an affine function in float64, which is used to choose candidates.
    """

    problem: ParametricQP
    kinds: Array
    items: Array
    lines: Array

    def violated(self, mu: Number) -> Obstruction | None:
        """Return the proof that there is no solution at mu, if some width is negative there."""
        values = self.lines[:, 0] + float(mu) * self.lines[:, 1]
        sizes = np.abs(self.lines[:, 0]) + np.abs(float(mu) * self.lines[:, 1])
        # Float64 only chooses candidates, generously; rationals decide.
        doubtful = np.flatnonzero(values <= ZERO * sizes)
        if not len(doubtful):
            return None
        _, first = np.unique(self.lines[doubtful], axis=0, return_index=True)  # equal widths, equal answers
        for k in doubtful[first]:
            constant, slope = self._exact(int(k))
            if constant + mu * slope < 0:
                return self._proof(int(k))
        return None

    def edge(self, stop: Number, direction: int) -> tuple[Number, Obstruction | None]:
        """Return the last mu up to `stop` at which all widths are nonnegative, and the proof beyond it."""
        shrinking = np.flatnonzero(self.lines[:, 1] * direction < 0)
        if not len(shrinking):
            return stop, None
        roots = -self.lines[shrinking, 0] / self.lines[shrinking, 1] * direction
        # Roots that float64 cannot order are compared in rationals.
        near = shrinking[roots <= roots.min() + ZERO * (1 + abs(roots.min()))]
        near = near[np.unique(self.lines[near], axis=0, return_index=True)[1]]
        exact = {int(k): self._root(int(k)) for k in near}
        first = min(exact, key=lambda k: exact[k] * direction)
        if is_infinite(stop) or exact[first] * direction < stop * direction:
            return exact[first], self._proof(first)
        return stop, None

    def _root(self, k: int) -> Number:
        constant, slope = self._exact(k)
        return -constant / slope

    def _exact(self, k: int) -> tuple[Number, Number]:
        """Return a width in rationals."""
        width = _width(self.problem, str(self.kinds[k]), np.array([self.items[k]]), RATIONAL.array)
        return width[0, 0], width[0, 1]

    def _proof(self, k: int) -> Obstruction:
        """Return the obstruction that follows from a negative width."""
        problem, kind, i = self.problem, str(self.kinds[k]), int(self.items[k])
        rows, variables = (exact_array(np.zeros(count)) for count in (problem.m, problem.n))
        weights = {
            name: part.copy()
            for name, part in zip(
                ("row_lower", "row_upper", "lower", "upper"), (rows, rows, variables, variables), strict=True
            )
        }
        ray, growth = variables.copy(), rows.copy()
        if kind == "penalty":
            growth[i] += 1
        elif kind == "slack":
            ray[i] += 1
        else:
            for name in ("lower", "upper") if kind == "variable" else ("row_lower", "row_upper"):
                weights[name][i] += 1
        farkas, data = Farkas(**weights), problem.data(RATIONAL)
        return Obstruction(ray, growth, farkas, descent(data, ray, growth), farkas.gap(data))


def find_crossing_bounds(problem: ParametricQP, slacks: MatrixEntries) -> CrossingBounds:
    """Return the widths of a problem that change with mu."""
    candidates = {
        "variable": np.flatnonzero(_opposed(problem.lower, problem.upper)),
        # Soft rows are left out: their limits may be violated, so that crossing proves nothing.
        "row": np.flatnonzero(_opposed(problem.row_lower, problem.row_upper) & ~problem.is_soft),
        "penalty": np.flatnonzero(problem.is_soft & (problem.penalty.slope != 0)),
        "slack": slacks.variables[problem.c.slope[slacks.variables] != 0],
    }
    kinds = np.repeat(list(candidates), [len(found) for found in candidates.values()])
    lines = [_width(problem, kind, found, float_array) for kind, found in candidates.items() if len(found)]
    items = np.concatenate(list(candidates.values()))
    return CrossingBounds(problem, kinds, items, np.concatenate([np.empty((0, 2)), *lines]))


def _opposed(low: Affine, high: Affine) -> Array:
    """Return which pairs of bounds are finite and not parallel."""
    return ~infinite(low.constant) & ~infinite(high.constant) & (low.slope != high.slope)


def _width(problem: ParametricQP, kind: str, items: Array, convert: object) -> Array:
    """Return some widths of one kind as affine functions."""
    assert callable(convert)
    if kind in ("variable", "row"):
        low, high = (
            (problem.lower, problem.upper) if kind == "variable" else (problem.row_lower, problem.row_upper)
        )
        parts = [convert(getattr(high, part)[items]) - convert(getattr(low, part)[items]) for part in _PARTS]
    else:
        source = problem.penalty if kind == "penalty" else problem.c
        parts = [convert(getattr(source, part)[items]) for part in _PARTS]
    return np.column_stack(parts)


_PARTS = ("constant", "slope")
