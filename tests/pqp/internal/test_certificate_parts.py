"""Parts of the certificate: the shortcuts of the checker give the results of the long way."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

import pqp
from pqp.certificate import lifting, stated
from pqp.certificate.convexity import _is_indefinite, _is_surely_definite, require_convex
from pqp.certificate.diagonal import DiagonalSystem, is_diagonal_case
from pqp.certificate.optimality import ComplementaryPair, MuWindow, optimal_span
from pqp.certificate.problem import Problem, read_problem
from pqp.certificate.rationals import Affine, AffineBlock, Span, read_matrix
from pqp.certificate.solution import PrimalVector, Solution, _solved, derive
from pqp.certificate.stated import StatedVector, deviations
from pqp.certificate.states import ROWS, VARIABLES, ActiveSet, row_roles, variable_roles
from pqp.errors import CertificateError
from tests.pqp.documents import affine
from tests.refusals import refuses

SMALL = st.integers(-2, 2)
# What stands for the same P: dense entries, and a way to state them.
SHAPES = ("dense", "sparse", "diagonal", "gram", "gram and diagonal", "weighted gram", "pair gram")


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
    if shape == "weighted gram":
        w = np.arange(F.shape[1])
        return {"gram": F.tolist(), "weights": w.tolist(), "diagonal": d.tolist()}, F * w @ F.T + np.diag(d)
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
    active = ActiveSet(problem)
    for _ in range(draw(st.integers(1, 3))):
        active.set_all(draw(states(problem)), "here")
    return active, P, A


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


def direct(active: ActiveSet, P, A):
    """x and y by one solve of the whole system, the way of the text book."""
    problem = active.problem
    n, m = problem.n, problem.m
    free, held = sorted(active.free), sorted(active.targets)
    x, y = fmpq_mat(n, 2), fmpq_mat(m, 2)
    for vector, known in ((x, active.x), (y, active.y)):
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
        target = active.targets[i]
        right[len(free) + s, 0] = target.constant - activity[i, 0]
        right[len(free) + s, 1] = target.slope - activity[i, 1]
    found = system.solve(right) if size else right
    for r, (vector, k) in enumerate([(x, j) for j in free] + [(y, i) for i in held]):
        vector[k, 0], vector[k, 1] = found[r, 0], found[r, 1]
    return x, y, H * x + c - B.transpose() * y, B * x


def line(table: fmpq_mat, k: int) -> Affine:
    return Affine(table[k, 0], table[k, 1])


@settings(max_examples=400, deadline=None)
@given(case=ledgers())
def test_peeled_and_eliminated_system_has_the_solution_of_the_whole_one(case):
    active, P, A = case
    try:
        x, y, z, activity = direct(active, P, A)
    except ZeroDivisionError:
        with refuses(CertificateError, "here"):
            derive(active, "here")
        return
    found = derive(active, "here")
    n, m = active.problem.n, active.problem.m
    assert [found.x_of(j) for j in range(n)] == [line(x, j) for j in range(n)]
    assert [found.y_of(i) for i in range(m)] == [line(y, i) for i in range(m)]
    assert [found.z_of(j) for j in range(n)] == [line(z, j) for j in range(n)]
    assert [found.activity(i) for i in range(m)] == [line(activity, i) for i in range(m)]


def every_pair(solution: Solution, problem: Problem) -> list[ComplementaryPair]:
    sides = zip(problem.lower, problem.upper, strict=True)
    found = [
        ComplementaryPair("", solution.x_of(j), solution.z_of(j), *pair, None) for j, pair in enumerate(sides)
    ]
    limits = zip(problem.row_lower, problem.row_upper, problem.penalty, strict=True)
    return found + [
        ComplementaryPair("", solution.activity(i), solution.y_of(i), *t) for i, t in enumerate(limits)
    ]


@settings(max_examples=400, deadline=None)
@given(case=ledgers(), ends=st.tuples(st.one_of(st.none(), SMALL), st.one_of(st.none(), st.integers(0, 3))))
def test_span_is_that_of_all_conditions_one_by_one(case, ends):
    active, _, _ = case
    try:
        solution = derive(active, "here")
    except CertificateError:
        return
    lo = None if ends[0] is None else fmpq(ends[0])
    hi = None if ends[1] is None else (lo or fmpq(0)) + ends[1]
    expected = Span().clipped(lo, hi)
    for stair in every_pair(solution, active.problem):
        expected = stair.shrink(expected)
    found = optimal_span(solution, MuWindow(lo, hi))
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
    anew = ActiveSet(carried.problem)
    anew.set_all(words, "here")
    assert (carried.x, carried.y, carried.targets, carried.free) == (anew.x, anew.y, anew.targets, anew.free)
    assert carried.gradient == anew.gradient
    assert {k: v for k, v in carried.inner.items() if not v.is_zero} == {
        k: v for k, v in anew.inner.items() if not v.is_zero
    }
    assert (carried.known_x == anew.known_x).all()
    assert (carried.known_y == anew.known_y).all()


@settings(max_examples=100, deadline=None)
@given(case=ledgers())
def test_sides_and_signs_carried_along_are_those_of_the_states(case):
    active, _, _ = case
    problem = active.problem
    for i, code in enumerate(active.rows):
        state, is_priced = ROWS[code], not problem.is_costless[i]
        lower, upper = problem.row_lower[i], problem.row_upper[i]
        inside = (int(lower is not None), -int(upper is not None)) if is_priced else (0, 0)
        sides = {"off": inside, "below": (-1, 0), "above": (0, 1)}
        assert tuple(active.sides[:, i]) == sides.get(state, (0, 0))
        assert active.signs[i] == (0 if lower == upper else {"lower": 1, "upper": -1}.get(state, 0))


RATIONALS = st.fractions(min_value=-3, max_value=3, max_denominator=7)
WEIGHTS = st.fractions(min_value=Fraction(1, 5), max_value=5, max_denominator=7)


class TestSeparate:
    @settings(max_examples=100, deadline=None)
    @given(data=st.data(), n=st.integers(1, 4), m=st.integers(0, 4))
    def test_one_elimination_satisfies_both_equations(self, data, n, m):
        """P x − Aᵀy = −g over the free variables and A x = t over the held rows, in fractions."""
        diagonal = data.draw(st.lists(WEIGHTS, min_size=n, max_size=n))
        A = [data.draw(st.lists(RATIONALS, min_size=n, max_size=n)) for _ in range(m)]
        free = sorted(data.draw(st.sets(st.integers(0, n - 1))))
        held = sorted(data.draw(st.sets(st.integers(0, m - 1)))) if m else []
        P = [[str(diagonal[j]) if j == k else 0 for k in range(n)] for j in range(n)]
        sides = data.draw(st.lists(RATIONALS, min_size=2 * (n + m), max_size=2 * (n + m)))
        texts = [str(v) for v in sides]
        problem = read_problem({
            "P": P,
            "c": affine(texts[0 : 2 * n : 2], texts[1 : 2 * n : 2]),
            "A": [[str(v) for v in row] for row in A],
            "row_lower": affine(texts[2 * n :: 2], texts[2 * n + 1 :: 2]),
        })  # fmt: skip
        lines = [Affine(rational(a), rational(b)) for a, b in zip(sides[0::2], sides[1::2], strict=True)]
        assert is_diagonal_case(problem, free, held)
        right = free, [lines[j] for j in free], {i: lines[n + i] for i in held}
        system = fmpq_mat(len(held), len(free), [rational(A[i][j]) for i in held for j in free])
        if system.rank() < len(held):
            with pytest.raises(ZeroDivisionError):
                DiagonalSystem(problem).solve(*right)
            return
        x, y = DiagonalSystem(problem).solve(*right)
        for j in free:
            pulls = (y[i].scaled(rational(A[i][j])) for i in held)
            assert x[j].scaled(rational(diagonal[j])) == sum(pulls, -lines[j])
        for i in held:
            terms = (x[j].scaled(rational(A[i][j])) for j in free)
            assert sum(terms, Affine(fmpq(0), fmpq(0))) == lines[n + i]

    @settings(max_examples=60, deadline=None)
    @given(data=st.data(), n=st.integers(1, 4), m=st.integers(1, 9))
    def test_matrices_that_are_kept_are_those_made_anew(self, data, n, m):
        """One system follows many pieces: rows enter and leave, columns change."""
        A = [data.draw(st.lists(RATIONALS, min_size=n, max_size=n)) for _ in range(m)]
        problem = read_problem({
            "P": [[2 if j == k else 0 for k in range(n)] for j in range(n)],
            "c": affine(["1/360360"] * n),  # a multiple of all denominators up to 13
            "A": [[str(v) for v in row] for row in A],
        })  # fmt: skip
        kept, free = DiagonalSystem(problem), list(range(n))
        lines = [Affine(rational(data.draw(RATIONALS)), fmpq(1, k + 1)) for k in range(n + m)]
        for _ in range(6):
            if data.draw(st.integers(0, 4)) == 0:
                free = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
            k = data.draw(st.integers(0, n + m - 1))
            lines[k] = Affine(rational(data.draw(RATIONALS)), lines[k].slope)
            held = data.draw(st.sets(st.integers(0, m - 1), max_size=5))
            right = free, [lines[j] for j in free], {i: lines[n + i] for i in sorted(held)}
            try:
                x, y = DiagonalSystem(problem).solve(*right)
            except ZeroDivisionError:
                with pytest.raises(ZeroDivisionError):
                    kept.solve(*right)
                continue
            found = kept.solve(*right)
            assert [dict(block) for block in found] == [dict(x), dict(y)]
            assert found[1].approximation.shape == (2, len(held))

    def test_numbers_that_share_no_short_denominator_are_not_put_over_one(self):
        primes = [p for p in range(2, 700) if all(p % q for q in range(2, p))]
        P = {"sparse": {"shape": [len(primes)] * 2, "row": list(range(len(primes)))}}
        P["sparse"] |= {"column": P["sparse"]["row"], "value": [str(Fraction(p, 2)) for p in primes]}
        assert read_problem({"P": P, "c": affine([0] * len(primes))}).reciprocals is None


class TestLifting:
    @settings(max_examples=40, deadline=None)
    @given(data=st.data(), n=st.integers(1, 5), size=st.sampled_from((2, 10**9, 10**60)))
    def test_digits_give_the_exact_solution(self, data, n, size):
        entries = data.draw(st.lists(st.integers(-size, size), min_size=n * (n + 2), max_size=n * (n + 2)))
        A, b = fmpz_mat(n, n, entries[: n * n]), fmpz_mat(n, 2, entries[n * n :])
        if not A.det():
            with pytest.raises(ZeroDivisionError):
                lifting.solve(A, b)
            return
        above, below = lifting.solve(A, b)
        assert A * above == b * below
        assert below > 0

    def test_interrupt_is_heard_between_digits(self, monkeypatch):
        """A system of 300 unknowns is solved in many exact calls, none of which takes all of the time."""
        shape, digits = lifting._shape, []

        def interrupted(table):
            digits.append(table)
            if len(digits) == 10:
                raise KeyboardInterrupt
            return shape(table)

        monkeypatch.setattr(lifting, "_shape", interrupted)
        A = np.random.default_rng(0).normal(size=(300, 300))
        system = fmpq_mat(300, 300, [fmpq(*v.as_integer_ratio()) for v in A.ravel().tolist()])
        with pytest.raises(KeyboardInterrupt):
            _solved(system, fmpq_mat(300, 2, list(range(600))))
        assert len(digits) == 10


def rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


LONG = st.builds(Fraction, st.integers(-(10**400), 10**400), st.sampled_from((1, 3, 2**60, 10**90 + 1)))
NUMBERS = st.one_of(RATIONALS, LONG)


@st.composite
def blocks(draw, size=4, numbers=RATIONALS):
    """A block, shared or not, and its lines as pairs of fractions."""
    places = sorted(draw(st.sets(st.integers(0, size))))
    pairs = [(draw(numbers), draw(numbers)) for _ in places]
    lines = [Affine(rational(a), rational(b)) for a, b in pairs]
    table = fmpq_mat(len(places), 2, [v for line in lines for v in (line.constant, line.slope)])
    block = (
        AffineBlock(places, *table.numer_denom()) if draw(st.booleans()) else AffineBlock.of(places, lines)
    )
    return block, dict(zip(places, pairs, strict=True))


class TestBlock:
    @given(case=blocks(numbers=NUMBERS))
    def test_approximation_is_the_nearest_float(self, case):
        block, pairs = case
        for k in (0, 1):
            assert block.approximation[k].tolist() == [nearest(pair[k]) for pair in pairs.values()]
        assert {j: (fraction(v.constant), fraction(v.slope)) for j, v in block.items()} == pairs

    @given(case=blocks(), row=st.lists(st.integers(-3, 3), min_size=5, max_size=5))
    def test_vector_has_the_products_of_the_lines(self, case, row):
        block, pairs = case
        found = block.vector.dot((fmpz(2), {j: fmpz(v) for j, v in enumerate(row) if v}))
        expected = [sum(Fraction(row[j], 2) * pair[k] for j, pair in pairs.items()) for k in (0, 1)]
        assert [fraction(found.constant), fraction(found.slope)] == expected

    @given(one=blocks(), other=blocks(), mu=RATIONALS, data=st.data())
    def test_two_meet_where_all_values_are_the_same(self, one, other, mu, data):
        """The second is bent so that some of its lines meet those of the first at mu."""
        left, pairs = one
        right, others = other
        for j in others.keys() & pairs.keys():
            if data.draw(st.booleans()):
                a, b = pairs[j]
                others[j] = (a + mu * (b - others[j][1]), others[j][1])
        lines = [Affine(rational(a), rational(b)) for a, b in others.values()]
        right = AffineBlock.of(list(others), lines)
        values = [{j: a + mu * b for j, (a, b) in part.items()} for part in (pairs, others)]
        common = pairs.keys() & others.keys()
        assert left.meets(right, rational(mu)) == all(values[0][j] == values[1][j] for j in common)
        known = {j: Affine(rational(v), fmpq(0)) for j, v in values[0].items() if j not in others}
        expected = all(values[1][j] == values[0].get(j, 0) for j in others)
        assert PrimalVector({}, left).meet(PrimalVector(known, right), rational(mu)) == expected

    @pytest.mark.parametrize(
        ("places", "found"),
        [([7, 3], [1, 0]), ([3, 3], [0, 0]), ([3, 4], None), ([True], None), ([[3]], None), (["3"], None)],
    )
    def test_positions_of_anything_but_indices_are_not_found(self, places, found):
        assert AffineBlock([3, 7], fmpz_mat(2, 2, [1, 2, 3, 4]), fmpz(1)).positions(places) == found


def nearest(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def deviation_of(stated, exact):
    """Return the bound on the deviation of one vector of constants."""
    lines = [Affine(rational(value), fmpq(0)) for value in exact]
    block = AffineBlock.of(range(len(lines)), lines)
    return deviations([StatedVector(stated, block, range(len(lines)), 0, "x0")])[0] if stated else 0.0


class TestDeviation:
    @settings(max_examples=300)
    @given(
        stated=st.lists(st.floats(-9, 9), max_size=3),
        slips=st.lists(st.fractions(-1, 1), min_size=3, max_size=3),
        slip=st.sampled_from((0, 1e-300, 1e-17, 1e-16, 1e-9)),
    )
    def test_bound_is_not_below_the_deviation(self, stated, slips, slip):
        exact = [Fraction(v) + Fraction(slip) * s for v, s in zip(stated, slips, strict=False)]
        gaps = [abs(Fraction(v) - e) for v, e in zip(stated, exact, strict=True)]
        deviation = max(gaps, default=Fraction(0)) / (1 + max(map(abs, exact), default=Fraction(0)))
        found = Fraction(deviation_of(stated, exact))
        assert deviation <= found <= deviation * (1 + Fraction(1, 2**50)) + Fraction(1, 2**50)

    @pytest.mark.parametrize(
        "stated", [[math.nan, 0.0], [0.0, math.nan], [math.inf, 0.0], [0, 0.5], ["0", 0.5], [False, 0.5]]
    )
    def test_what_is_no_finite_float_is_left_to_exact_reading(self, stated):
        exact = [Fraction(0), Fraction(0)]
        assert not deviation_of(stated, exact) < 1
        assert deviation_of([0.0, 0.5], exact) < 1

    def test_number_beyond_float64_is_never_near(self):
        assert not deviation_of([1.0], [Fraction(10) ** 400]) < 1

    def test_deviation_of_a_long_path_bounds_that_of_all_numbers_compared_exactly(self, monkeypatch):
        rows = np.random.default_rng(0).integers(-1, 2, size=(60, 6))
        path = pqp.solve_path(pqp.catalog.choice(rows[np.any(rows, axis=1)]), (0, 100))
        found = path.certify().deviation
        monkeypatch.setattr(stated, "deviations", lambda vectors: np.full(len(vectors), np.nan))
        assert 0 < path.certify().deviation <= found < path.certify().deviation + 1e-15


class TestConvexity:
    def is_convex(self, matrix) -> bool:
        try:
            require_convex(read_matrix(matrix, (None, None), "P"), "P")
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
        one, other = read_matrix(dense.tolist(), (2, 3), "A"), read_matrix(sparse(dense), (2, 3), "A")
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
            read_matrix(stated, (2, 3), "A")

    def test_entry_stated_twice_is_refused(self):
        stated = {"sparse": {"shape": [1, 1], "row": [0, 0], "column": [0, 0], "value": [1, 1]}}
        with refuses(CertificateError, "A.sparse"):
            read_matrix(stated, (1, 1), "A")
