"""paths: a problem rewritten without changing what it means has the path rewritten in the same way."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from comparison import assert_same_solutions, finite_ends, inside, optimal_points, traced
from hypothesis import assume
from hypothesis import strategies as st
from strategies import for_all, instances

import pqp
from pqp.affine import Affine
from pqp.field import RATIONAL, exact_array

COST = ("c", "penalty")
LIMITS = ("row_lower", "row_upper", "lower", "upper")
ROWS = ("A", "row_lower", "row_upper", "penalty", "row_names")
VARIABLES = ("c", "lower", "upper", "names")
FACTORS = st.sampled_from((Fraction(1, 3), Fraction(1, 2), 2, 5))


def entries_of_P(problem):
    return problem.P.matrix(RATIONAL)


def constant_times(problem, factor):
    return [RATIONAL.number(k) * factor for k in problem.constant]


def exact(data):
    return Affine(exact_array(data.constant), exact_array(data.slope))


def scaled(data, factors):
    """Affine data times positive factors; infinite entries stay infinite."""
    return exact(data) * exact_array(factors)


def moved(data, factor, shift):
    """The data with factor · mu + shift in place of mu."""
    data = exact(data)
    return Affine(data.constant + shift * data.slope, factor * data.slope)


def with_mu_moved(problem, factor, shift):
    k0, k1, k2 = constant_times(problem, Fraction(1))
    constant = [k0 + k1 * shift + k2 * shift**2, factor * (k1 + 2 * k2 * shift), k2]
    data = {name: moved(getattr(problem, name), factor, shift) for name in (*COST, *LIMITS)}
    return replace(problem, constant=constant, **data)


def joined(upper, lower):
    """Two affine vectors as one."""
    upper, lower = exact(upper), exact(lower)
    return Affine(np.append(upper.constant, lower.constant), np.append(upper.slope, lower.slope))


def with_row(problem, row, low, high):
    """The problem with a hard row more."""
    limits = {"row_lower": low, "row_upper": high, "penalty": Affine(np.array([np.inf]), np.array([0]))}
    data = {name: joined(getattr(problem, name), limit) for name, limit in limits.items()}
    return replace(problem, A=np.vstack([exact_array(problem.A), row]), row_names=None, **data)


def with_slacks(problem):
    """Every soft row written as hard rows with a variable for its violation: a x + v ≥ low, a x − v ≤ high."""
    soft = np.flatnonzero(problem.is_soft)
    n, m, k = problem.n, problem.m, len(soft)
    P = np.zeros((n + k, n + k), dtype=int).astype(object)
    P[:n, :n] = entries_of_P(problem)
    violations = np.eye(m, dtype=int)[:, soft]
    A = np.vstack([np.hstack([exact_array(problem.A), sign * violations]) for sign in (1, -1)])
    nothing = Affine(np.full(m, np.inf), np.zeros(m, dtype=int))
    return pqp.ParametricQP(
        P,
        joined(problem.c, problem.penalty[soft]),
        A,
        row_lower=joined(problem.row_lower, -nothing),
        row_upper=joined(nothing, problem.row_upper),
        lower=joined(problem.lower, Affine(np.zeros(k, dtype=int), np.zeros(k, dtype=int))),
        upper=joined(problem.upper, nothing[:k]) if k <= m else None,
        constant=problem.constant,
    )


@for_all(instance=instances(), data=st.data())
def test_permuted_variables_permute_the_solutions(instance, data):
    problem, interval = instance
    order = np.array(data.draw(st.permutations(range(problem.n))))
    reordered = {name: np.array(getattr(problem, name))[order] for name in ("names",)}
    reordered |= {name: getattr(problem, name)[order] for name in ("c", "lower", "upper")}
    P = entries_of_P(problem)[np.ix_(order, order)]
    twin = replace(problem, P=P, A=problem.A[:, order], **reordered)
    assert_same_solutions(traced(problem, interval), traced(twin, interval), read=lambda x: x[np.argsort(order)])


@for_all(instance=instances(), data=st.data())
def test_permuted_rows_leave_the_solutions(instance, data):
    problem, interval = instance
    order = np.array(data.draw(st.permutations(range(problem.m))), dtype=int)
    rows = {name: getattr(problem, name)[order] for name in ("A", "row_lower", "row_upper", "penalty")}
    assert_same_solutions(traced(problem, interval), traced(replace(problem, **rows), interval))


@for_all(instance=instances(), data=st.data())
def test_scaled_rows_leave_the_solutions_and_scale_the_multipliers_inversely(instance, data):
    problem, interval = instance
    factors = exact_array(data.draw(st.lists(FACTORS, min_size=problem.m, max_size=problem.m)))
    limits = {name: scaled(getattr(problem, name), factors) for name in ("row_lower", "row_upper")}
    penalty = scaled(problem.penalty, 1 / factors)
    twin = replace(problem, A=exact_array(problem.A) * factors[:, None], penalty=penalty, **limits)
    path, other = traced(problem, interval), traced(twin, interval)
    assert_same_solutions(path, other)
    for left, right in zip(path.segments, other.segments, strict=True):
        assert left.basis == right.basis
    for left, right in zip(optimal_points(path), optimal_points(other), strict=True):
        assert (left.y == factors * right.y).all()


@for_all(instance=instances(), factor=FACTORS)
def test_scaled_cost_leaves_the_solutions_and_scales_the_value(instance, factor):
    problem, interval = instance
    costs = {name: scaled(getattr(problem, name), factor) for name in COST}
    twin = replace(problem, P=entries_of_P(problem) * factor, constant=constant_times(problem, factor), **costs)
    path, other = traced(problem, interval), traced(twin, interval)
    assert_same_solutions(path, other, times=factor)
    for left, right in zip(optimal_points(path), optimal_points(other), strict=True):
        assert (factor * left.y == right.y).all()
        assert (factor * left.z == right.z).all()


@for_all(instance=instances(), shift=st.sampled_from((1, -2, Fraction(1, 3))))
def test_shifted_mu_shifts_the_path(instance, shift):
    problem, (lo, hi) = instance
    path, other = traced(problem, (lo, hi)), traced(with_mu_moved(problem, 1, shift), (lo - shift, hi - shift))
    assert_same_solutions(path, other, to=lambda mu: mu - shift)
    assert other.breakpoints == tuple(mu - shift for mu in path.breakpoints)


@for_all(instance=instances())
def test_negated_mu_reflects_the_path(instance):
    problem, (lo, hi) = instance
    path, other = traced(problem, (lo, hi)), traced(with_mu_moved(problem, -1, 0), (-hi, -lo))
    assert_same_solutions(path, other, to=lambda mu: -mu)


@for_all(instance=instances(), data=st.data())
def test_redundant_row_leaves_the_solutions(instance, data):
    problem, interval = instance
    hard = [i for i in range(problem.m) if not problem.is_soft[i]]
    gap = data.draw(st.sampled_from((0, 0, 1)))
    i = data.draw(st.sampled_from([None, *hard]))
    row = exact_array(np.zeros((1, problem.n))) if i is None else exact_array(problem.A[[i]])
    nothing = Affine(np.array([0]), np.array([0]))
    low, high = (nothing, nothing) if i is None else (problem.row_lower[[i]], problem.row_upper[[i]])
    twin = with_row(problem, row, low - gap, high + gap)
    assert_same_solutions(traced(problem, interval), traced(twin, interval))


@for_all(instance=instances())
def test_slacks_in_place_of_penalties_leave_value_and_solutions(instance):
    problem, interval = instance
    assume(problem.is_soft.any())
    read = lambda x: x[: problem.n]  # noqa: E731
    assert_same_solutions(traced(problem, interval), traced(with_slacks(problem), interval), read=read)


@for_all(instance=instances())
def test_fixed_variable_may_be_written_as_an_equality(instance):
    problem, interval = instance
    twin = problem
    for j in np.flatnonzero(problem.is_fixed):
        twin = with_row(twin, exact_array(np.eye(problem.n))[[j]], problem.lower[[j]], problem.upper[[j]])
    free = Affine(np.where(problem.is_fixed, np.inf, exact_array(problem.upper.constant)), np.zeros(problem.n))
    assert free is not None
    assert_same_solutions(traced(problem, interval), traced(twin, interval))
