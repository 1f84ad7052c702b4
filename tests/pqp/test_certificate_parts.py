"""certificate parts: the short ways of the checker lead where the long ones do."""

import itertools

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from pqp.certificate.convexity import _is_indefinite, _is_surely_definite, require_convex
from pqp.certificate.lines import Line, Span
from pqp.certificate.optimality import Stair, Window, optimal_span
from pqp.certificate.problem import Problem, read_problem
from pqp.certificate.solution import Solution, derive
from pqp.certificate.states import ROWS, VARIABLES, Ledger, row_roles, variable_roles
from pqp.certificate.tables import read_table
from pqp.errors import CertificateError
from tests.pqp.documents import affine

SMALL = st.integers(-2, 2)
# What stands for the same P: dense entries, and a way to state them.
SHAPES = ("dense", "sparse", "diagonal", "gram", "gram and diagonal", "pair gram")


def sparse(matrix):
    rows, columns = np.nonzero(matrix)
    values = [matrix[i][j] for i, j in zip(rows, columns, strict=True)]
    return {
        "sparse": {
            "shape": list(np.shape(matrix)),
            "row": rows.tolist(),
            "column": columns.tolist(),
            "value": [int(v) for v in values],
        }
    }


@st.composite
def hessians(draw, n):
    """The P of a document, and its entries."""
    shape, r = draw(st.sampled_from(SHAPES)), draw(st.integers(0, n + 1))
    F = np.array(draw(st.lists(SMALL, min_size=n * r, max_size=n * r)), dtype=int).reshape(n, r)
    d = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=int)
    if shape == "diagonal":
        return np.diag(d).tolist(), np.diag(d)
    if shape == "gram and diagonal":
        return {"gram": F.tolist(), "diagonal": d.tolist()}, F @ F.T + np.diag(d)
    if shape == "pair gram":
        K = F @ F.T
        pairs = draw(
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=n, max_size=n)
        )
        D = np.zeros((n, n), dtype=int)
        for row, (i, j) in enumerate(pairs):
            D[row, i] += 1
            D[row, j] -= 1
        return {"pair_gram": {"K": K.tolist(), "pairs": [list(pair) for pair in pairs]}}, D @ K @ D.T
    stated = {"gram": {"gram": F.tolist()}, "dense": (F @ F.T).tolist(), "sparse": sparse(F @ F.T)}
    return stated[shape], F @ F.T


@st.composite
def limits(draw, size, infinite):
    entry = st.one_of(st.just((infinite, 0)), st.tuples(SMALL, st.integers(-1, 1)))
    pairs = draw(st.lists(entry, min_size=size, max_size=size))
    return affine([pair[0] for pair in pairs], [pair[1] for pair in pairs])


@st.composite
def ledgers(draw):
    """A random problem in random states, and the entries of its P."""
    n, m = draw(st.integers(1, 5)), draw(st.integers(0, 5))
    stated, P = draw(hessians(n))
    A = np.array(draw(st.lists(st.sampled_from((0, 0, 1, -1, 2)), min_size=n * m, max_size=n * m)), dtype=int)
    A = A.reshape(m, n)
    cost = [draw(st.lists(SMALL, min_size=n, max_size=n)) for _ in (0, 1)]
    document = {
        "P": stated, "c": affine(*cost),
        "A": sparse(A) if draw(st.booleans()) else A.tolist(),
        "lower": draw(limits(n, "-inf")), "upper": draw(limits(n, "inf")),
        "row_lower": draw(limits(m, "-inf")), "row_upper": draw(limits(m, "inf")),
        "penalty": draw(limits(m, "inf")),
    }  # fmt: skip
    problem = read_problem(document)
    ledger = Ledger(problem)
    for _ in range(draw(st.integers(1, 3))):
        ledger.set_all(draw(states(problem)), "here")
    return ledger, P, A


@st.composite
def states(draw, problem):
    variables = [variable_roles(*pair) for pair in zip(problem.lower, problem.upper, strict=True)]
    rows = [
        row_roles(*sides) for sides in zip(problem.row_lower, problem.row_upper, problem.penalty, strict=True)
    ]
    favour = draw(st.sampled_from((("between",), ("between", "lower", "upper", "equal"))))
    return {
        kind: [draw(st.sampled_from([*roles, *(r for r in roles if r in favour)])) for roles in listed]
        for kind, listed in (("variables", variables), ("rows", rows))
    }


def direct(ledger: Ledger, P, A):
    """x and y by one solve of the whole system, the way of the text book."""
    problem = ledger.problem
    n, m = problem.n, problem.m
    free, held = sorted(ledger.free), sorted(ledger.targets)
    x, y = fmpq_mat(n, 2), fmpq_mat(m, 2)
    for vector, known in ((x, ledger.x), (y, ledger.y)):
        for k, line in known.items():
            vector[k, 0], vector[k, 1] = line.constant, line.slope
    H, B = fmpq_mat(n, n, P.ravel().tolist()), fmpq_mat(m, n, A.ravel().tolist())
    c = fmpq_mat(n, 2, [v for line in problem.c for v in (line.constant, line.slope)])
    gradient, activity = H * x + c - B.transpose() * y, B * x
    size = len(free) + len(held)
    system, right = fmpq_mat(size, size), fmpq_mat(size, 2)
    for r, j in enumerate(free):
        for s, k in enumerate(free):
            system[r, s] = H[j, k]
        for s, i in enumerate(held):
            system[r, len(free) + s], system[len(free) + s, r] = -B[i, j], B[i, j]
        right[r, 0], right[r, 1] = -gradient[j, 0], -gradient[j, 1]
    for s, i in enumerate(held):
        target = ledger.targets[i]
        right[len(free) + s, 0] = target.constant - activity[i, 0]
        right[len(free) + s, 1] = target.slope - activity[i, 1]
    found = system.solve(right) if size else right
    for r, (vector, k) in enumerate([(x, j) for j in free] + [(y, i) for i in held]):
        vector[k, 0], vector[k, 1] = found[r, 0], found[r, 1]
    return x, y, H * x + c - B.transpose() * y, B * x


def line(table: fmpq_mat, k: int) -> Line:
    return Line(table[k, 0], table[k, 1])


@settings(max_examples=400, deadline=None)
@given(case=ledgers())
def test_peeled_and_eliminated_system_has_the_solution_of_the_whole_one(case):
    ledger, P, A = case
    try:
        x, y, z, activity = direct(ledger, P, A)
    except ZeroDivisionError:
        with pytest.raises(CertificateError, match="nonsingular"):
            derive(ledger, "here")
        return
    found = derive(ledger, "here")
    n, m = ledger.problem.n, ledger.problem.m
    assert [found.x_of(j) for j in range(n)] == [line(x, j) for j in range(n)]
    assert [found.y_of(i) for i in range(m)] == [line(y, i) for i in range(m)]
    assert [found.z_of(j) for j in range(n)] == [line(z, j) for j in range(n)]
    assert [found.activity(i) for i in range(m)] == [line(activity, i) for i in range(m)]


def every_stair(solution: Solution, problem: Problem) -> list[Stair]:
    sides = zip(problem.lower, problem.upper, strict=True)
    found = [Stair("", solution.x_of(j), solution.z_of(j), *pair, None) for j, pair in enumerate(sides)]
    limits = zip(problem.row_lower, problem.row_upper, problem.penalty, strict=True)
    return found + [Stair("", solution.activity(i), solution.y_of(i), *t) for i, t in enumerate(limits)]


@settings(max_examples=400, deadline=None)
@given(case=ledgers(), ends=st.tuples(st.one_of(st.none(), SMALL), st.one_of(st.none(), st.integers(0, 3))))
def test_span_is_that_of_all_conditions_one_by_one(case, ends):
    ledger, _, _ = case
    try:
        solution = derive(ledger, "here")
    except CertificateError:
        return
    lo = None if ends[0] is None else fmpq(ends[0])
    hi = None if ends[1] is None else (lo or fmpq(0)) + ends[1]
    expected = Span().clipped(lo, hi)
    for stair in every_stair(solution, ledger.problem):
        expected = stair.shrink(expected)
    found = optimal_span(solution, Window(lo, hi))
    assert found.is_empty == expected.is_empty
    if not found.is_empty:
        assert (found.lo, found.hi) == (expected.lo, expected.hi)


@settings(max_examples=100, deadline=None)
@given(case=ledgers(), data=st.data())
def test_sums_carried_along_are_those_made_anew(case, data):
    carried, _, _ = case
    words = {
        "variables": [VARIABLES[code] for code in carried.variables],
        "rows": [ROWS[code] for code in carried.rows],
    }
    anew = Ledger(carried.problem)
    anew.set_all(words, "here")
    assert (carried.x, carried.y, carried.targets, carried.free) == (anew.x, anew.y, anew.targets, anew.free)
    assert carried.gradient == anew.gradient
    assert {k: v for k, v in carried.inner.items() if not v.is_zero} == {
        k: v for k, v in anew.inner.items() if not v.is_zero
    }
    assert (carried.known_x == anew.known_x).all()
    assert (carried.known_y == anew.known_y).all()


class TestConvexity:
    def is_convex(self, matrix) -> bool:
        try:
            require_convex(read_table(matrix, (None, None), "P"), "P")
        except CertificateError:
            return False
        return True

    @settings(max_examples=200, deadline=None)
    @given(size=st.integers(1, 4), data=st.data())
    def test_verdict_is_that_of_all_principal_minors(self, size, data):
        entries = data.draw(st.lists(st.integers(-2, 3), min_size=size * size, max_size=size * size))
        half = np.array(entries).reshape(size, size)
        matrix = np.triu(half) + np.triu(half, 1).T
        minors = [
            fmpq_mat(len(kept), len(kept), matrix[np.ix_(kept, kept)].ravel().tolist()).det()
            for count in range(1, size + 1)
            for kept in itertools.combinations(range(size), count)
        ]
        assert self.is_convex(matrix.tolist()) == all(minor >= 0 for minor in minors)

    def test_rounded_gram_matrix_of_deficient_rank_is_found_out(self):
        F = np.random.default_rng(0).normal(size=(12, 3))
        assert not self.is_convex((F @ F.T).tolist())

    @pytest.mark.parametrize(
        ("size", "width", "is_clear", "is_convex"),
        [(200, 5, True, True), (200, 0.05, False, True), (60, 0.002, False, False)],
    )
    def test_kernel_is_judged_quickly(self, size, width, is_clear, is_convex):
        """The wider, the closer to singular: float64 decides the first, balls the other two."""
        points = np.random.default_rng(0).normal(size=(size, 3))
        K = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2) * width)
        K = np.tril(K) + np.tril(K, -1).T
        assert _is_surely_definite(K) == is_clear
        assert self.is_convex(K.tolist()) == is_convex

    @settings(max_examples=200, deadline=None)
    @given(size=st.integers(1, 6), data=st.data(), slip=st.integers(-60, 0))
    def test_float_cholesky_never_claims_what_is_not_so(self, size, data, slip):
        """Singular matrices, moved by as little as float64 can tell."""
        entries = data.draw(st.lists(SMALL, min_size=size * size, max_size=size * size))
        F = np.array(entries, dtype=float).reshape(size, size)[:, : max(1, size - 1)]
        matrix = F @ F.T + 2.0**slip * np.diag(data.draw(st.lists(SMALL, min_size=size, max_size=size)))
        if _is_surely_definite(matrix):
            exact = [{j: fmpq(*v.as_integer_ratio()) for j, v in enumerate(r) if v} for r in matrix.tolist()]
            assert not _is_indefinite(exact)


class TestTables:
    def test_sparse_and_dense_say_the_same(self):
        dense = np.array([[0, 1, 0], [2, 0, -3]])
        one, other = read_table(dense.tolist(), (2, 3), "A"), read_table(sparse(dense), (2, 3), "A")
        assert [one.row(i) for i in (0, 1)] == [other.row(i) for i in (0, 1)] == [{1: 1}, {0: 2, 2: -3}]
        assert [one.column(j) for j in range(3)] == [other.column(j) for j in range(3)]
        block = np.array([[1.0], [2.0], [4.0]])
        assert one.times(block).tolist() == other.times(block).tolist() == [[2], [-10]]
        assert one.transposed_times(block[:2]).tolist() == other.transposed_times(block[:2]).tolist()

    @pytest.mark.parametrize(
        ("key", "value"),
        [("shape", [2, 4]), ("shape", [2]), ("shape", [2, -3]), ("shape", [2, True]),
         ("row", [0, 1]), ("row", [0, 1, 2]),
         ("column", [1, 0, -1]), ("column", [0, 0, 0]), ("value", [1, 2, "x"]), ("value", None)],
    )  # fmt: skip
    def test_malformed_sparse_matrix_is_refused(self, key, value):
        stated = sparse(np.array([[0, 1, 0], [2, 0, -3]]))
        stated["sparse"][key] = value
        with pytest.raises(CertificateError, match=r"A\.sparse"):
            read_table(stated, (2, 3), "A")

    def test_entry_stated_twice_is_refused(self):
        stated = {"sparse": {"shape": [1, 1], "row": [0, 0], "column": [0, 0], "value": [1, 1]}}
        with pytest.raises(CertificateError, match="only once"):
            read_table(stated, (1, 1), "A")
