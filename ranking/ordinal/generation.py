r"""Row and column generation at one C: a problem of many objects solved through few of them.

The algorithms RCH̄, RCH̃ and RCS̄ of Izunaga, Sato, Tatsumi and Yamamoto (2014) are one: solve the problem of a
working set W, find the objects outside whose hinges the solution violates, add them, until there are none.
The last solution is one of all objects [Lemmas 2 and 3]: a relaxation that turned out to be feasible.
Objectives never fall from round to round, since W only grows, at most until it holds all objects.

`MarginProblem` is the hard or soft margin of some objects and the violations of the others. Rows and columns
are generated together: with a kernel, w is a sum over the objects of W, and entries :math:`k(x_i, x_j)` are
computed for j in W only, a block of rows at a time. The margin on W is that of a program of
`ranking.ordinal.programs`, solved where float64 serves best: linear models in w, with λ read from
multipliers, :math:`w = \sum_h s_h \alpha_h x_{i(h)}`; kernels and squared slacks through the dual, since λ
and p as unknowns square the condition of K.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

import pqp
from ranking.core.labels import Levels
from ranking.core.representation import Representation, represent
from ranking.core.validation import (
    Array,
    Integers,
    as_dense,
    as_table,
    positive_number,
    require_choice,
    whole_number,
)
from ranking.errors import DataError, NotSeparableError, must_be, must_have
from ranking.ordinal.base import Hinges, Scope, distinct_rows, hinges_of
from ranking.ordinal.hard_margin import Conflict, checked_levels, not_separable, separate
from ranking.ordinal.programs import (
    FORMS,
    Form,
    dual_program,
    soft_margin,
    squared_dual_program,
    threshold_matrix,
)

# Which objects are there at first: those a rule chooses, or row numbers.
WorkingSet: TypeAlias = Literal["extremes", "random"] | ArrayLike
# Violations are measured relative to 1 and the numbers they are differences of; less than this is rounding.
TOLERANCE = 1e-9


class Solved(Protocol):
    """What is asked of a solution: its value."""

    @property
    def objective(self) -> float:
        """The optimal value on the working set."""


S = TypeVar("S", bound=Solved)


@dataclass(frozen=True, eq=False)
class Generation(Generic[S]):
    """A solution for all objects, the working set it was found on, and a table of the rounds.

    The table has the columns objective, working (objects in W), violators (outside, before some of them are
    added) and seconds.
    """

    solution: S
    working: Integers
    rounds: pd.DataFrame = field(repr=False)


def generate(
    solve_on: Callable[[Integers], S],
    violation_of: Callable[[S, Integers], Array],
    start: Integers,
    n: int,
    add: int | Literal["all"] = "all",
) -> Generation[S]:
    """Return the solution of a problem of n objects, solved on growing working sets.

    Parameters
    ----------
    solve_on
        The solution for some objects, given by ascending row numbers.
    violation_of
        By how much a solution violates what each of some other objects asks, as a relative number.
    start
        The first working set, of distinct row numbers; see `initial_working_set`.
    add
        How many violators a round adds, the worst first, or "all" of them.

    >>> class Largest:
    ...     def __init__(self, rows): self.objective = max(x[row] for row in rows)
    >>> x = [3.0, 9.0, 4.0, 7.0]
    >>> def excess(best, rest): return np.take(x, rest) - best.objective
    >>> found = generate(Largest, excess, start=np.array([0]), n=4, add=1)
    >>> found.solution.objective, found.working.tolist(), found.rounds["violators"].tolist()
    (9.0, [0, 1], [3, 0])
    """
    most = n if add == "all" else whole_number(add, "add", "a positive integer, or 'all'")
    working, records = np.unique(start), []
    while True:
        begin = time.perf_counter()
        solution = solve_on(working)
        rest = np.setdiff1d(np.arange(n), working)
        violation = violation_of(solution, rest)
        # a stable sort lets the first rows of equal violation join: the same data give the same rounds
        worst = np.argsort(-violation, kind="stable")[: np.count_nonzero(violation > TOLERANCE)]
        records.append((solution.objective, len(working), len(worst), time.perf_counter() - begin))
        # a solution on W that violates nothing outside is optimal for all objects (Lemmas 2 and 3)
        if not len(worst):
            columns = ["objective", "working", "violators", "seconds"]
            return Generation(solution, working, pd.DataFrame(records, columns=columns))
        working = np.union1d(working, rest[worst[:most]])


def initial_working_set(
    codes: Integers,
    X: Any = None,
    how: WorkingSet = "extremes",
    random_state: int | None = None,
    count: int = 2,
    name: str = "how",
) -> Integers:
    """Return row numbers to start with, at least one of every level.

    Parameters
    ----------
    X
        Rows of features, for "extremes".
    how
        "extremes": of every level the lowest and the highest object along the direction in which the means of
        the levels rise; "random": of every level `count` objects; or row numbers, which are checked.
    name
        What messages call `how`.

    >>> X, codes = np.array([[1.0], [2.0], [3.0], [5.0], [6.0]]), np.array([0, 0, 0, 1, 1])
    >>> initial_working_set(codes, X).tolist(), initial_working_set(codes, how=[4, 0]).tolist()
    ([0, 2, 3, 4], [0, 4])
    """
    if not isinstance(how, str):
        return _given(how, codes, name)
    if how == "extremes" and X is not None:
        along = _along(X, codes)
        chosen = [rows[[along[rows].argmin(), along[rows].argmax()]] for rows in _by_level(codes)]
    elif how == "random":
        chance = np.random.default_rng(random_state)
        some = whole_number(count, "count")
        chosen = [chance.permutation(rows)[:some] for rows in _by_level(codes)]
    else:
        remedy = "; 'extremes' needs X" if how == "extremes" else ""
        raise must_be(name, "'extremes', 'random' or row numbers", found=f"{how!r}{remedy}")
    return np.unique(np.concatenate(chosen))


def _along(X: Any, codes: Integers) -> Array:
    """Return the rows as numbers along the direction in which the means of levels rise."""
    counts = np.bincount(codes)
    sums = np.asarray([np.asarray(X[rows].sum(axis=0)).ravel() for rows in _by_level(codes)])
    means, level = sums / counts[counts > 0, None], np.flatnonzero(counts)
    # up to a positive factor, which extremes do not depend on, the least-squares slope of means over levels
    return np.asarray(X @ ((level - level.mean()) @ means)).ravel()


def _by_level(codes: Integers) -> list[Integers]:
    return [np.flatnonzero(codes == level) for level in np.unique(codes)]


def _given(rows: Any, codes: Integers, name: str) -> Integers:
    """Return row numbers after checking that they are such and that no level is missing."""
    given = np.asarray(rows)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise must_be(name, "row numbers", found=f"dtype {given.dtype} of shape {given.shape}")
    for row in given[(given < 0) | (given >= len(codes))][:1]:
        raise must_be(name, f"row numbers from 0 to {len(codes) - 1}", found=str(row))
    # a threshold needs hinges on both sides: without them nothing bounds it
    for level in np.setdiff1d(codes, codes[given])[:1]:
        message, remedy = "{argument} has no object of level {found}", "add at least one of every level"
        raise DataError(message, argument=name, found=str(level), remedy=remedy)
    return np.unique(given).astype(np.int64)


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
        One number per object, which multiplies C.
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
            wanted = f"a row for each of {len(self.codes)} labels"
            raise must_have("X", wanted, found=self.X.shape[0])
        positive_number(self.C, "C", can_be_infinite=True)
        require_choice(self.norm, (1, 2), "norm")
        require_choice(self.form, FORMS, "form")
        if (self.kernel is not None) != (self.form == "kernel"):
            raise must_be("kernel", "given with form='kernel' alone", found=f"form={self.form!r}")

    def solve_on(self, working: Integers) -> MarginSolution:
        """Return the margin of some objects, given by ascending row numbers."""
        return self._hard(working) if np.isinf(self.C) else self._soft(working)

    def scores(self, solution: MarginSolution, rows: Integers) -> Array:
        """Return f of some objects."""
        if self.form == "primal":
            return np.asarray(self.X[rows] @ solution.coefficients).ravel()
        # objects with λ = 0 contribute nothing, and their kernel values would cost the most
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
        # a linear model is separated in w even where λ is wanted: λ as unknowns square the condition of K
        form: Literal["primal", "kernel"] = "kernel" if self.form == "kernel" else "primal"
        X, codes = self.X[working], self.codes[working]
        try:
            found = separate(X if form == "primal" else self._products(X, X), codes, form, self.scope)
        except NotSeparableError as error:
            # a conflict of some objects is one of all: no further round could resolve it
            conflict = cast(Conflict, error.certificate).renumbered(working)
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
        # the dual is solved as a minimum, so its value is the negative of the margin's objective
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
    start: WorkingSet = "extremes",
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
