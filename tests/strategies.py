"""Random problems, degenerate on purpose: ties, copied rows, rank 0 to n, tails without a solution.

Numbers are few and small, so that limits meet, rows repeat and several things happen at the same mu. `problems`
and `instances` are the ones to use; everything else is what they are made of.
"""

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.errors import ProblemError

Moving = Literal["c", "b", "both"]
Strategy = st.SearchStrategy
INFINITY = float("inf")

WHOLE = st.integers(-3, 3)
# dyadic: exact in float64, unlike the thirds
HALVES = st.integers(-5, 5).map(lambda k: k / 2)
THIRDS = st.integers(-5, 5).map(lambda k: Fraction(k, 3))
NUMBERS = (WHOLE, WHOLE, HALVES, THIRDS)
SLOPES = st.sampled_from((0, 0, 1, -1, 2))
STILL = st.just(0)
WIDTHS = st.sampled_from((1, 0, 2, 3))
# entries of A and of factors of P: mostly zeros and ones, so that rows depend on one another
ENTRIES = st.sampled_from((0, 1, -1, 2))
FREE, LOWER, UPPER, BOXED, FIXED = range(5)
VARIABLE_KINDS = st.sampled_from((LOWER, LOWER, BOXED, BOXED, FREE, UPPER, FIXED))
ROW_KINDS = st.sampled_from((LOWER, UPPER, BOXED, FIXED, FREE))
STILL_PENALTIES = st.sampled_from((None, 1, 2, 0, Fraction(1, 2)))
PENALTIES = st.sampled_from((None, 1, 2, mu, 3 - mu, 1 + mu, 0, Fraction(1, 2)))


@st.composite
def hessians(draw: st.DrawFn, n: int, entries: Strategy[Any] = ENTRIES) -> Any:
    """P of any rank from 0 to n, as entries, as `Gram` or as `PairGram`."""
    rank = draw(st.integers(0, n))
    F = draw(matrices(n, rank, entries))
    if rank == 0:
        return draw(st.sampled_from((np.zeros((n, n), dtype=int), pqp.Gram(np.zeros((n, 0), dtype=int)))))
    form = draw(st.sampled_from(("entries", "gram", "pairs")))
    if form == "pairs":
        item = st.integers(0, n - 1)
        return pqp.PairGram(F @ F.T, draw(st.lists(st.tuples(item, item), min_size=n, max_size=n)))
    return F @ F.T if form == "entries" else pqp.Gram(F)


def matrices(rows: int, columns: int, entries: Strategy[Any]) -> Strategy[Any]:
    row = st.lists(entries, min_size=columns, max_size=columns)
    return st.lists(row, min_size=rows, max_size=rows).map(lambda m: np.array(m).reshape(rows, columns))


@st.composite
def dependent_rows(draw: st.DrawFn, n: int, m: int) -> Any:
    """m rows of which many are copies, negatives or sums of earlier ones, or repeat a single variable."""
    fresh = st.lists(ENTRIES, min_size=n, max_size=n).map(np.array)
    unit = st.integers(0, n - 1).map(lambda j: np.eye(n, dtype=int)[j])
    rows: list[Any] = []
    for _ in range(m):
        earlier = st.sampled_from(rows) if rows else fresh
        sums = st.tuples(earlier, earlier).map(sum)
        rows.append(draw(st.one_of(fresh, fresh, earlier, earlier.map(np.negative), sums, unit)))
    return np.array(rows, dtype=int).reshape(m, n)


@st.composite
def limits(draw: st.DrawFn, kind: int, numbers: Strategy[Any], slopes: Strategy[int]) -> tuple[Any, Any]:
    """A lower and an upper limit; they may meet or cross at some mu, but not at every mu."""
    low = draw(numbers) + mu * draw(slopes)
    if kind == FIXED:
        return low, low
    growth = draw(slopes)
    width = draw(WIDTHS) if growth == 0 else draw(st.integers(-2, 2))
    high = low + width + mu * growth
    return low if kind in (LOWER, BOXED) else -INFINITY, high if kind in (UPPER, BOXED) else INFINITY


@st.composite
def limit_lists(
    draw: st.DrawFn, size: int, kinds: Strategy[int], numbers: Strategy[Any], slopes: Strategy[int]
) -> tuple[list[Any], list[Any]]:
    """Limits of many variables or rows; some repeat those before them."""
    pairs: list[tuple[Any, Any]] = []
    for _ in range(size):
        fresh = kinds.flatmap(lambda kind: limits(kind, numbers, slopes))
        pairs.append(draw(st.one_of(fresh, st.just(pairs[-1])) if pairs else fresh))
    return [low for low, _ in pairs], [high for _, high in pairs]


@st.composite
def penalties(draw: st.DrawFn, row_lower: list[Any], row_upper: list[Any], choices: Strategy[Any]) -> list[Any]:
    """A penalty for some of the rows that can be violated."""
    idle = [low == -INFINITY and high == INFINITY for low, high in zip(row_lower, row_upper, strict=True)]
    return [None if useless else draw(choices) for useless in idle]


@st.composite
def problems(
    draw: st.DrawFn, moving: Moving = "both", soft: bool = True, linear: bool = False, most: int = 4
) -> pqp.ParametricQP:
    """A problem with up to `most` variables and as many rows.

    `moving` says where mu may appear: in the cost ("c", which penalties belong to), in the limits ("b") or in
    "both". `linear` asks for P = 0; without `soft` all rows are hard.
    """
    n, m = draw(st.integers(1, most)), draw(st.integers(0, most))
    numbers = draw(st.sampled_from(NUMBERS))
    cost_slopes, limit_slopes = (STILL if moving == "b" else SLOPES), (STILL if moving == "c" else SLOPES)
    P = np.zeros((n, n), dtype=int) if linear else draw(hessians(n))
    c = [draw(numbers) + mu * draw(cost_slopes) for _ in range(n)]
    lower, upper = draw(limit_lists(n, VARIABLE_KINDS, numbers, limit_slopes))
    row_lower, row_upper = draw(limit_lists(m, ROW_KINDS, numbers, limit_slopes))
    caps = None
    if soft and draw(st.booleans()):
        caps = draw(penalties(row_lower, row_upper, STILL_PENALTIES if moving == "b" else PENALTIES))
    return pqp.ParametricQP(
        P, c, draw(dependent_rows(n, m)), row_lower, row_upper, lower, upper, caps, constant=draw(constants(moving))
    )


def constants(moving: Moving) -> Strategy[Any]:
    """k(mu): affine unless both may move, so that it spoils neither convexity nor concavity."""
    curved = st.tuples(WHOLE, WHOLE, WHOLE if moving == "both" else STILL)
    return st.one_of(st.just(0), curved)


def intervals() -> Strategy[tuple[Any, Any]]:
    """Intervals of mu: finite, half-infinite, the whole line, and single points."""
    wide = st.sampled_from(((-3, 3), (-INFINITY, INFINITY), (0, INFINITY), (-INFINITY, 1), (-6, 7)))
    numbers = st.one_of(WHOLE, HALVES, THIRDS)
    narrow = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))
    return st.one_of(wide, wide, wide, narrow, st.sampled_from(((0, 0), (1, 1))))


def is_traceable(problem: pqp.ParametricQP, interval: tuple[Any, Any]) -> bool:
    """Whether no soft row's limits cross inside the interval, which `solve_path` would refuse."""
    try:
        problem.require_uncrossed_soft_rows(*interval)
    except ProblemError:
        return False
    return True


@st.composite
def instances(draw: st.DrawFn, **kinds: Any) -> tuple[pqp.ParametricQP, tuple[Any, Any]]:
    """A problem and an interval to trace it over; `kinds` as for `problems`."""
    problem, interval = draw(problems(**kinds)), draw(intervals())
    if not is_traceable(problem, interval):
        interval = draw(st.sampled_from(((0, 1), (-1, 0), (0, 0), (1, 1))))
        if not is_traceable(problem, interval):
            reject()
    return problem, interval
