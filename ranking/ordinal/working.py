r"""Working sets: the hard or soft margin of some objects, and what it does to the others.

Rows and columns are generated together: with a kernel, w is a sum over the objects of W, and entries
:math:`k(x_i, x_j)` are computed for j in W only, a block of rows at a time. The margin on W is that of a
program of `formulations`, solved where float64 serves best: linear models in w, with λ read from multipliers,
:math:`w = \sum_h s_h \alpha_h x_{i(h)}`; kernels and squared slacks through the dual, since λ and p as
unknowns square the condition of K.

Room: all objects in; the solution on some, and violations of others, out.
May touch: `errors`, `arguments`, `arrays`, `levels`, `hinges`, `formulations`, `conflicts`, `separation`,
`generation`, and `pqp`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import pqp
from ranking.arguments import Integers, positive_number
from ranking.arrays import Array, as_dense, as_table
from ranking.errors import DataError, NotSeparableError
from ranking.levels import Levels
from ranking.ordinal.conflicts import Conflict, not_separable
from ranking.ordinal.dual import dual_program, squared_dual_program, threshold_matrix
from ranking.ordinal.formulations import FORMS, Form, soft_margin
from ranking.ordinal.generation import Generation, generate, initial_working_set
from ranking.ordinal.hinges import Hinges, Scope, distinct_rows, hinges_of
from ranking.ordinal.separation import checked_levels, separate
from ranking.representation import Representation, represent

# Entries of a kernel that are held at a time while scores are computed: 8 MB.
ENTRIES = 2**20
# The matrix of inner products of two tables of rows.
KernelFunction = Callable[[Any, Any], Array]


@dataclass(frozen=True, eq=False)
class MarginSolution:
    """A margin: its coefficients are w in the primal form, otherwise λ of the objects `rows`."""

    rows: Integers
    coefficients: Array
    thresholds: Array
    objective: float


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """Objects with labels 0, 1, ..., and which margin is wanted of them.

    Parameters
    ----------
    C
        What violations cost; `inf` is the hard margin.
    norm
        Of the slacks, 1 or 2.
    form
        "primal": w, of a linear model; "dual": λ, of a linear model; "kernel": λ, of `kernel`, a function of
        two tables of rows that returns their inner products.
    weight
        One number an object, which multiplies C.
    """

    X: Any = field(repr=False)
    codes: Integers = field(repr=False)
    C: float = np.inf
    norm: int = 1
    form: Form = "primal"
    kernel: KernelFunction | None = None
    scope: Scope = "adjacent"
    weight: Array | None = None
    levels: Levels | None = None
    ordered: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "X", as_table(self.X, "X"))
        checked_levels(self.codes)
        if self.X.shape[0] != len(self.codes):
            raise DataError(f"X must have a row for each of {len(self.codes)} labels, got {self.X.shape[0]}")
        positive_number(self.C, "C", can_be_infinite=True)
        if self.norm not in (1, 2):
            raise DataError(f"norm must be 1 or 2, got {self.norm!r}")
        if self.form not in FORMS:
            raise DataError(f"form must be one of {', '.join(FORMS)}, got {self.form!r}")
        if (self.kernel is not None) != (self.form == "kernel"):
            raise DataError(f"kernel must be given with form='kernel' and only then, got form={self.form!r}")

    def solve_on(self, working: Integers) -> MarginSolution:
        """Return the margin of some objects, given by ascending row numbers."""
        return self._hard(working) if np.isinf(self.C) else self._soft(working)

    def scores(self, solution: MarginSolution, rows: Integers) -> Array:
        """Return f of some objects."""
        if self.form == "primal":
            return np.asarray(self.X[rows] @ solution.coefficients).ravel()
        used = np.flatnonzero(solution.coefficients)
        columns, coefficients = self.X[solution.rows[used]], solution.coefficients[used]
        size = max(1, ENTRIES // max(1, len(used)))
        blocks = [rows[begin : begin + size] for begin in range(0, len(rows), size)]
        parts = [self._products(self.X[block], columns) @ coefficients for block in blocks]
        return np.concatenate([np.zeros(0), *parts])

    def violation_of(self, solution: MarginSolution, rows: Integers) -> Array:
        """Return by how much each object is on the wrong side of a threshold's margin, 0 if it is not.

        Violations are relative to 1 + |f| + |p|.
        """
        hinges = hinges_of(self.codes[rows], self._n_levels, scope=self.scope)
        f, p = self.scores(solution, rows), solution.thresholds
        size = 1 + np.abs(f[hinges.item]) + np.abs(p[hinges.threshold])
        violation = np.zeros(len(rows))
        np.maximum.at(violation, hinges.item, hinges.slack(f, p) / size)
        return violation

    @property
    def _n_levels(self) -> int:
        return int(self.codes.max()) + 1

    def _products(self, left: Any, right: Any) -> Array:
        return as_dense(left @ right.T if self.kernel is None else self.kernel(left, right))

    def _hard(self, working: Integers) -> MarginSolution:
        form: Literal["primal", "kernel"] = "kernel" if self.form == "kernel" else "primal"
        X, codes = self.X[working], self.codes[working]
        try:
            found = separate(X if form == "primal" else self._products(X, X), codes, form, self.scope)
        except NotSeparableError as error:
            conflict: Conflict = error.certificate.renumbered(working)
            raise not_separable(conflict, self.codes, form, self.levels) from None
        coefficients = found.w if self.form == "primal" else found.dual_coef
        assert coefficients is not None
        return MarginSolution(working, coefficients, found.thresholds, found.objective)

    def _soft(self, working: Integers) -> MarginSolution:
        first, group = distinct_rows(self.X[working])
        weight = None if self.weight is None else self.weight[working]
        hinges = hinges_of(self.codes[working], self._n_levels, group, weight, self.scope)
        rows = working[first]
        if self.form == "kernel" or self.norm == 2:
            return self._through_dual(rows, hinges)
        program = soft_margin(self.X[rows], hinges, self.C, ordered=self.ordered)
        point = pqp.solve(program.problem, 0)
        reading = program.read(point.x)
        coefficients = reading.coefficients if self.form == "primal" else _of_items(hinges, point.y)
        return MarginSolution(rows, coefficients, reading.thresholds, float(point.objective))

    def _through_dual(self, rows: Integers, hinges: Hinges) -> MarginSolution:
        """Return the soft margin of items through its dual, whose multipliers are the thresholds."""
        representation = self._representation(self.X[rows])
        if self.norm == 1:
            program = dual_program(representation, hinges, self.ordered, self.C * hinges.weight)
        else:
            program = squared_dual_program(representation, hinges, self.ordered, self.C)
        point = pqp.solve(program, 0)
        coefficients = _of_items(hinges, point.x)
        if self.form == "primal":
            coefficients = np.asarray(self.X[rows].T @ coefficients).ravel()
        thresholds = threshold_matrix(hinges.n_thresholds, self.ordered) @ point.y
        return MarginSolution(rows, coefficients, thresholds, -float(point.objective))

    def _representation(self, items: Any) -> Representation:
        """Return the kernel on some items as a matrix, or the items themselves if it is linear."""
        name = "precomputed" if self.form == "kernel" else "linear"
        return represent(self._products(items, items) if self.form == "kernel" else items, name)


def _of_items(hinges: Hinges, alpha: Array) -> Array:
    """Return λ of items: the signed sums of the multipliers of their hinges."""
    return np.bincount(hinges.item, hinges.sign * alpha, hinges.n_items)


def generate_margin(
    problem: MarginProblem,
    start: Any = "extremes",
    add: int | Literal["all"] = "all",
    random_state: int | None = None,
) -> Generation[MarginSolution]:
    """Return the margin of all objects, found on growing working sets.

    `start` is "extremes", "random" or row numbers: see `initial_working_set`; `add` as in `generate`.

    >>> X, codes = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    >>> found = generate_margin(MarginProblem(X, codes), start=[0, 7])
    >>> found.solution.coefficients, found.working.tolist()
    (array([2.]), [0, 1, 2, 3, 4, 5, 6, 7])
    """
    first = initial_working_set(problem.codes, problem.X, start, random_state, name="start")
    return generate(problem.solve_on, problem.violation_of, first, len(problem.codes), add)
