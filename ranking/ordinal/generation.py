r"""Row and column generation at one C: a problem of many objects solved through few of them.

The algorithms RCH̄, RCH̃ and RCS̄ of Izunaga, Sato, Tatsumi and Yamamoto (2014) are one: solve the problem of a
working set W, find the objects outside whose hinges the solution violates, add them, until there are none.
The last solution is one of all objects [Lemmas 2 and 3]: a relaxation that turned out to be feasible.
Objectives never fall from round to round, since W only grows, at most until it holds all objects. Rows and
columns are generated together: with a kernel, w is a sum over the objects of W, and entries
:math:`k(x_i, x_j)` are computed for j in W only.

What is solved and what counts as a violation is for the caller to say: `ranking.ordinal.model`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ranking.core.validation import Array, Integers, whole_number
from ranking.errors import DataError, must_be

# Which objects are there at first: those a rule chooses, or row numbers.
WorkingSet: TypeAlias = Literal["extremes", "random"] | ArrayLike
# Violations are measured relative to 1 and the numbers they are differences of; less than this is rounding.
TOLERANCE = 1e-9


class HasObjective(Protocol):
    """What is asked of a solution: its value."""

    @property
    def objective(self) -> float:
        """The optimal value on the working set."""


S = TypeVar("S", bound=HasObjective)


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
        counts = np.bincount(codes)
        sums = np.asarray([np.asarray(X[rows].sum(axis=0)).ravel() for rows in _by_level(codes)])
        means, level = sums / counts[counts > 0, None], np.flatnonzero(counts)
        # the direction is, up to a positive factor that extremes do not depend on, the least-squares slope
        # of means over levels
        along = np.asarray(X @ ((level - level.mean()) @ means)).ravel()
        chosen = [rows[[along[rows].argmin(), along[rows].argmax()]] for rows in _by_level(codes)]
    elif how == "random":
        chance = np.random.default_rng(random_state)
        some = whole_number(count, "count")
        chosen = [chance.permutation(rows)[:some] for rows in _by_level(codes)]
    else:
        remedy = "; 'extremes' needs X" if how == "extremes" else ""
        raise must_be(name, "'extremes', 'random' or row numbers", found=f"{how!r}{remedy}")
    return np.unique(np.concatenate(chosen))


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
