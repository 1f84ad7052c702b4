"""Random problems, degenerate on purpose: ties, copied rows, rank 0 to n, tails without a solution.

Numbers are few and small, so that limits meet, rows repeat and several things happen at the same mu. Limits
are laid around an anchor, a point that most of them contain at one mu, and costs around multipliers, so
that most problems are solvable somewhere and few everywhere. Use `for_all` with `instances` or `problems`.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.errors import ProblemError
from pqp.linalg.field import RATIONAL
from pqp.model.hessian import as_hessian

Moving = Literal["c", "b", "both"]
Kind = Literal["free", "lower", "upper", "boxed", "fixed"]
INFINITY = float("inf")

# The same examples in every run, few enough for a slow machine; and with -m slow new ones, as many as the
# environment variable PQP_EXAMPLES asks for.
QUICK = settings(max_examples=50, deadline=None, derandomize=True)
THOROUGH = settings(
    max_examples=int(os.environ.get("PQP_EXAMPLES", "300")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

WHOLE = st.integers(-3, 3)
# all numbers of a problem are multiples of its unit: integers, dyadic floats, or rationals no float can hold
UNITS = st.sampled_from((1, 1, 0.5, Fraction(1, 3)))
SLOPES = st.sampled_from((0, 1, -1, 2, 0))
ZEROS = st.just(0)
# how far a limit is from the anchor: often 0, a tie
GAPS = st.sampled_from((0, 1, 2, 3))
# entries of A and of factors of P: mostly zeros and ones, so that rows depend on one another
ENTRIES = st.sampled_from((0, 1, -1, 2))
VARIABLE_KINDS = st.sampled_from(("lower", "lower", "boxed", "boxed", "free", "upper", "fixed"))
ROW_KINDS = st.sampled_from(("lower", "upper", "boxed", "fixed", "free"))
STILL_PENALTIES = st.sampled_from((None, 1, 2, 0, Fraction(1, 2)))
PENALTIES = st.sampled_from((None, 1, 2, mu, 3 - mu, 1 + mu, 0, Fraction(1, 2)))
# what a multiplier at a limit of each kind may be
MULTIPLIERS = {
    "free": ZEROS,
    "lower": GAPS,
    "upper": GAPS.map(lambda gap: -gap),
    "boxed": WHOLE,
    "fixed": WHOLE,
}


def for_all(**strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Turn a property into two tests: one with few examples, and one marked slow with many."""

    def wrap(holds: Callable[..., None]) -> Callable[..., None]:
        quick, thorough = (profile(given(**strategies)(holds)) for profile in (QUICK, THOROUGH))
        slow = pytest.param(thorough, id="thorough", marks=pytest.mark.slow)

        @pytest.mark.parametrize("examples", [pytest.param(quick, id="quick"), slow])
        def test(examples: Callable[[], None]) -> None:
            examples()

        test.__doc__ = holds.__doc__
        return test

    return wrap


@dataclass(frozen=True)
class Limits:
    """Limits of variables or of rows, entry by entry."""

    kinds: list[Kind]
    low: list[Any]
    high: list[Any]


def matrices(rows: int, columns: int) -> st.SearchStrategy[Any]:
    """Small integer matrices."""
    entries = st.lists(ENTRIES, min_size=rows * columns, max_size=rows * columns)
    return entries.map(lambda numbers: np.array(numbers, dtype=int).reshape(rows, columns))


@st.composite
def hessians(draw: st.DrawFn, n: int, unit: Any = 1) -> Any:
    """P of any rank from 0 to n, as entries, as `Gram` or as `PairGram`."""
    form = draw(st.sampled_from(("entries", "gram", "pairs")))
    F = draw(matrices(n, draw(st.integers(0, n)))) * unit
    if form == "gram":
        return pqp.Gram(F)
    square = F @ F.T if F.size else np.zeros((n, n), dtype=int)
    if form == "entries":
        return square
    item = st.integers(0, n - 1)
    return pqp.PairGram(square, draw(st.lists(st.tuples(item, item), min_size=n, max_size=n)))


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
def limits(
    draw: st.DrawFn,
    kinds: st.SearchStrategy[Kind],
    anchor: Any,
    gaps: st.SearchStrategy[Any],
    slopes: st.SearchStrategy[int],
    since: Any,
) -> Limits:
    """Limits around an anchor at the mu where `since` is 0; at other mu they may meet and cross."""
    found = Limits([], [], [])
    for centre in anchor:
        kind, rise, growth = draw(kinds), draw(slopes), draw(slopes)
        below, above = draw(gaps), draw(gaps)
        if growth == 0 and below + above < 0:  # would cross at every mu
            below, above = -below, -above
        low, high = centre - below + since * rise, centre + above + since * (rise + growth)
        found.kinds.append(kind)
        found.low.append(low if kind in ("lower", "boxed", "fixed") else -INFINITY)
        found.high.append(low if kind == "fixed" else high if kind in ("upper", "boxed") else INFINITY)
    return found


@st.composite
def problems(
    draw: st.DrawFn, moving: Moving = "both", soft: bool = True, linear: bool = False, most: int = 4
) -> pqp.ParametricQP:
    """A problem with up to `most` variables and rows.

    `moving` says where mu may appear: in the cost ("c", which penalties belong to), in the limits ("b") or in
    "both". `linear` asks for P = 0; without `soft` all rows are hard.
    """
    n, m, unit = draw(st.integers(1, most)), draw(st.integers(0, most)), draw(UNITS)
    cost_slopes, limit_slopes = (ZEROS if moving == "b" else SLOPES), (ZEROS if moving == "c" else SLOPES)
    P = np.zeros((n, n), dtype=int) if linear else draw(hessians(n, unit))
    A = draw(dependent_rows(n, m)) * draw(st.sampled_from((1, unit)))
    x = unit * np.array(draw(st.lists(WHOLE, min_size=n, max_size=n)))
    gaps = draw(st.sampled_from((GAPS, GAPS, GAPS, WHOLE))).map(lambda gap: gap * unit)
    since = mu - draw(st.sampled_from((0, 1)))
    bounds = draw(limits(VARIABLE_KINDS, x, gaps, limit_slopes, since))
    rows = draw(limits(ROW_KINDS, A @ x, gaps, limit_slopes, since))
    penalty = draw(penalties(rows.kinds, STILL_PENALTIES if moving == "b" else PENALTIES)) if soft else None
    any_costs = st.lists(WHOLE, min_size=n, max_size=n)
    costs = draw(st.one_of(balanced_costs(P, A, x, (bounds.kinds, rows.kinds)), any_costs))
    c = [type(unit)(cost) + since * draw(cost_slopes) for cost in costs]
    constant = draw(st.one_of(ZEROS, st.tuples(WHOLE, WHOLE, WHOLE if moving == "both" else ZEROS)))
    limited = (rows.low, rows.high, bounds.low, bounds.high)
    return pqp.ParametricQP(P, c, A, *limited, penalty=penalty, constant=constant)


@st.composite
def balanced_costs(draw: st.DrawFn, P: Any, A: Any, x: Any, kinds: tuple[list[Kind], list[Kind]]) -> Any:
    """Costs with dual feasible multipliers of variables and rows of the given kinds: c = Aᵀy + z − Px."""
    z, y = (RATIONAL.array([draw(MULTIPLIERS[kind]) for kind in side]) for side in kinds)
    return list(RATIONAL.array(A).T @ y + z - as_hessian(P).matrix(RATIONAL) @ RATIONAL.array(x))


@st.composite
def penalties(draw: st.DrawFn, kinds: list[Kind], choices: st.SearchStrategy[Any]) -> list[Any]:
    """No penalty at all, or one for some of the rows that can be violated."""
    if draw(st.booleans()):
        return [None] * len(kinds)
    return [None if kind == "free" else draw(choices) for kind in kinds]


def intervals() -> st.SearchStrategy[tuple[Any, Any]]:
    """Intervals of mu: finite, half-infinite, the whole line, and single points."""
    wide = st.sampled_from(((-3, 3), (-INFINITY, INFINITY), (0, INFINITY), (-INFINITY, 1), (-6, 7)))
    numbers = st.tuples(UNITS, WHOLE).map(lambda pair: pair[0] * pair[1])
    narrow = st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair)))
    return st.one_of(wide, wide, wide, wide, narrow, st.sampled_from(((0, 0), (1, 1))))


def is_traceable(problem: pqp.ParametricQP, interval: tuple[Any, Any]) -> bool:
    """Whether no soft row's limits cross inside the interval, rounded or not: `solve_path` would refuse."""
    try:
        problem.require_uncrossed_soft_rows(*interval)
        problem.require_uncrossed_soft_rows(*map(float, interval))
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
