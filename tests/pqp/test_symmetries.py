"""paths: a problem rewritten without changing what it means has its path rewritten in the same way."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import pqp
from pqp import Affine
from pqp.linalg.field import RATIONAL, exact_array
from tests.comparison import assert_same_solutions, optimal_points, traced
from tests.strategies import INFINITY, for_all, instances

COSTS = ("c", "penalty")
LIMITS = ("row_lower", "row_upper", "lower", "upper")
FACTORS = st.sampled_from((Fraction(1, 3), Fraction(1, 2), 2, 5))


def exact(data):
    return Affine(exact_array(data.constant), exact_array(data.slope))


def exact_constant(problem):
    return exact_array(problem.constant)


def everywhere(value, size):
    """The same constant as every entry."""
    return Affine(np.full(size, value), np.zeros(size, dtype=int))


def joined(first, second):
    """Two affine vectors as one."""
    first, second = exact(first), exact(second)
    return Affine(np.append(first.constant, second.constant), np.append(first.slope, second.slope))


def scaled(data, factors):
    """Affine data times positive factors; infinite entries stay infinite."""
    return exact(data) * exact_array(factors)


def with_mu_replaced(problem, factor, shift):
    """The problem with factor · mu + shift in place of mu."""
    k0, k1, k2 = exact_constant(problem)
    constant = [k0 + k1 * shift + k2 * shift**2, factor * (k1 + 2 * k2 * shift), factor**2 * k2]
    data = {name: exact(getattr(problem, name)) for name in (*COSTS, *LIMITS)}
    moved = {name: Affine(a.constant + shift * a.slope, factor * a.slope) for name, a in data.items()}
    return replace(problem, constant=constant, **moved)


def with_rows(problem, rows, low, high):
    """The problem with hard rows more."""
    more = {"row_lower": low, "row_upper": high, "penalty": everywhere(INFINITY, len(rows))}
    data = {name: joined(getattr(problem, name), limit) for name, limit in more.items()}
    return replace(problem, A=np.vstack([exact_array(problem.A), rows]), row_names=None, **data)


def with_slacks(problem):
    """Soft rows as hard ones with a variable v ≥ 0 for the violation: a x + v ≥ low, a x − v ≤ high."""
    soft = np.flatnonzero(problem.is_soft)
    n, m, k = problem.n, problem.m, len(soft)
    P = exact_array(np.zeros((n + k, n + k)))
    P[:n, :n] = problem.P.matrix(RATIONAL)
    violations = exact_array(np.eye(m)[:, soft])
    return pqp.ParametricQP(
        P,
        joined(problem.c, problem.penalty[soft]),
        np.vstack([np.hstack([exact_array(problem.A), sign * violations]) for sign in (1, -1)]),
        row_lower=joined(problem.row_lower, everywhere(-INFINITY, m)),
        row_upper=joined(everywhere(INFINITY, m), problem.row_upper),
        lower=joined(problem.lower, everywhere(0, k)),
        upper=joined(problem.upper, everywhere(INFINITY, k)),
        constant=problem.constant,
    )


@for_all(instance=instances(), data=st.data())
def test_permuted_variables_permute_the_solutions(instance, data):
    problem, interval = instance
    order = np.array(data.draw(st.permutations(range(problem.n))))
    vectors = {name: getattr(problem, name)[order] for name in ("c", "lower", "upper")}
    P = problem.P.matrix(RATIONAL)[np.ix_(order, order)]
    twin = replace(problem, P=P, A=problem.A[:, order], **vectors)
    path, other = traced(problem, interval), traced(twin, interval)
    assert_same_solutions(path, other, read=lambda x: x[np.argsort(order)])


@for_all(instance=instances(), data=st.data())
def test_permuted_rows_leave_the_solutions(instance, data):
    problem, interval = instance
    order = np.array(data.draw(st.permutations(range(problem.m))), dtype=int)
    rows = {name: getattr(problem, name)[order] for name in ("A", "row_lower", "row_upper", "penalty")}
    assert_same_solutions(traced(problem, interval), traced(replace(problem, **rows), interval))


@for_all(instance=instances(), data=st.data())
def test_scaled_rows_leave_the_solutions_and_scale_their_multipliers_inversely(instance, data):
    problem, interval = instance
    factors = exact_array(data.draw(st.lists(FACTORS, min_size=problem.m, max_size=problem.m)))
    limits = {name: scaled(getattr(problem, name), factors) for name in ("row_lower", "row_upper")}
    A, penalty = exact_array(problem.A) * factors[:, None], scaled(problem.penalty, 1 / factors)
    path = traced(problem, interval)
    other = traced(replace(problem, A=A, penalty=penalty, **limits), interval)
    assert_same_solutions(path, other)
    for left, right in zip(optimal_points(path), optimal_points(other), strict=True):
        assert (left.y == factors * right.y).all()


@for_all(instance=instances(), factor=FACTORS)
def test_scaled_cost_leaves_the_solutions_and_scales_value_and_multipliers(instance, factor):
    problem, interval = instance
    P, constant = problem.P.matrix(RATIONAL) * factor, exact_constant(problem) * factor
    costs = {name: scaled(getattr(problem, name), factor) for name in COSTS}
    path = traced(problem, interval)
    other = traced(replace(problem, P=P, constant=constant, **costs), interval)
    assert_same_solutions(path, other, times=factor)
    for left, right in zip(optimal_points(path), optimal_points(other), strict=True):
        assert (factor * left.y == right.y).all()
        assert (factor * left.z == right.z).all()


@for_all(instance=instances(), shift=st.sampled_from((1, -2, Fraction(1, 3))))
def test_shifted_mu_shifts_the_path(instance, shift):
    path = traced(*instance)
    other = traced(with_mu_replaced(path.problem, 1, shift), (path.lo - shift, path.hi - shift))
    assert_same_solutions(path, other, to=lambda mu: mu - shift)
    assert other.breakpoints == tuple(mu - shift for mu in path.breakpoints)


@for_all(instance=instances())
def test_negated_mu_reflects_the_path(instance):
    path = traced(*instance)
    other = traced(with_mu_replaced(path.problem, -1, 0), (-path.hi, -path.lo))
    assert_same_solutions(path, other, to=lambda mu: -mu)


@for_all(instance=instances(), data=st.data(), gap=st.sampled_from((0, 1)))
def test_redundant_row_leaves_the_solutions(instance, data, gap):
    problem, interval = instance
    i = data.draw(st.sampled_from([None, *np.flatnonzero(~problem.is_soft)]))
    if i is None:
        empty = exact_array(np.zeros((1, problem.n)))
        twin = with_rows(problem, empty, everywhere(-gap, 1), everywhere(gap, 1))
    else:
        limits = problem.row_lower[[i]] - gap, problem.row_upper[[i]] + gap
        twin = with_rows(problem, exact_array(problem.A[[i]]), *limits)
    assert_same_solutions(traced(problem, interval), traced(twin, interval))


@for_all(instance=instances())
def test_bounds_written_as_rows_leave_the_solutions(instance):
    problem, interval = instance
    rows = with_rows(problem, exact_array(np.eye(problem.n)), problem.lower, problem.upper)
    twin = replace(rows, lower=None, upper=None)
    assert_same_solutions(traced(problem, interval), traced(twin, interval))


@for_all(instance=instances())
def test_slacks_in_place_of_penalties_leave_values_and_solutions(instance):
    problem, interval = instance
    assume(problem.is_soft.any())
    path, other = traced(problem, interval), traced(with_slacks(problem), interval)
    assert_same_solutions(path, other, read=lambda x: x[: problem.n])
