"""hessian: matrices and factors, and what is said about those that are not convex."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from pqp.errors import NotConvexError, ProblemError
from pqp.field import FIELDS
from pqp.hessian import Gram, Matrix, PairGram, as_hessian, negative_direction

# The same examples in every run, few enough for a slow machine.
QUICK = settings(max_examples=30, deadline=None, derandomize=True)
ARITHMETICS = pytest.mark.parametrize("arithmetic", ["float", "exact"])


@st.composite
def symmetric(draw, largest: int = 3):
    n = draw(st.integers(1, 4))
    upper = draw(st.lists(st.integers(-largest, largest), min_size=n * n, max_size=n * n))
    matrix = np.triu(np.array(upper).reshape(n, n))
    return matrix + np.triu(matrix, 1).T


def is_semidefinite(matrix: np.ndarray) -> bool:
    """All principal minors are nonnegative: the definition by determinants."""
    n = len(matrix)
    chosen = (list(rows) for size in range(1, n + 1) for rows in combinations(range(n), size))
    return all(sympy.Matrix(matrix[np.ix_(rows, rows)]).det() >= 0 for rows in chosen)


class TestNegativeDirection:
    @QUICK
    @given(matrix=symmetric())
    def test_direction_is_found_exactly_where_a_minor_is_negative(self, matrix):
        found = negative_direction(matrix)
        assert (found is None) == is_semidefinite(matrix)
        if found is not None:
            direction, curvature = found
            assert direction @ matrix @ direction == curvature < 0

    @QUICK
    @given(F=st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=2), min_size=1, max_size=5))
    def test_gram_matrices_of_any_rank_have_none(self, F):
        assert negative_direction(np.array(F) @ np.array(F).T) is None

    def test_rationals_are_decided_beyond_float_precision(self):
        # det = -10⁻³⁰, although both eigenvalues are nonnegative in float64.
        tiny = Fraction(1, 10**30)
        direction, curvature = negative_direction(np.array([[1, 1], [1, 1 - tiny]], dtype=object))
        assert curvature == direction @ np.array([[1, 1], [1, 1 - tiny]], dtype=object) @ direction < 0

    def test_indefinite_matrix_with_zero_diagonal(self):
        # 2 x1 x2 is -2 at (1, -1).
        assert negative_direction(np.array([[0, 1], [1, 0]]))[1] < 0


@ARITHMETICS
class TestEntries:
    def test_matrix_is_itself(self, arithmetic):
        assert Matrix([[2, 1], [1, 2]]).matrix(FIELDS[arithmetic]).tolist() == [[2, 1], [1, 2]]

    def test_gram_is_F_times_its_transpose(self, arithmetic):
        # F = (1, 2 | 3, 0): rows have squared lengths 5 and 9, product 3.
        assert Gram([[1, 2], [3, 0]]).matrix(FIELDS[arithmetic]).tolist() == [[5, 3], [3, 9]]

    def test_pair_gram_is_D_K_D_transposed(self, arithmetic):
        K, pairs = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]]), [(0, 1), (2, 0), (1, 1)]
        D = np.array([[1, -1, 0], [-1, 0, 1], [0, 0, 0]])
        assert PairGram(K, pairs).matrix(FIELDS[arithmetic]).tolist() == (D @ K @ D.T).tolist()

    def test_sizes_count_variables(self, arithmetic):
        hessians = [Matrix(np.eye(3)), Gram(np.ones((3, 7))), PairGram(np.eye(2), [(0, 1)] * 3)]
        assert [hessian.size for hessian in hessians] == [3, 3, 3]
        assert [hessian.matrix(FIELDS[arithmetic]).shape for hessian in hessians] == [(3, 3)] * 3

    def test_matrix_without_rows_is_allowed(self, arithmetic):
        assert Matrix(np.zeros((0, 0))).matrix(FIELDS[arithmetic]).shape == (0, 0)


class TestFloatGram:
    F = np.random.default_rng(0).normal(size=(10, 3))

    def test_rounded_gram_matrix_is_convex_in_float_and_not_at_face_value(self):
        """design.md, section 1: 0 of 200 rounded Gram matrices of rank 3 at n = 10 are exactly PSD."""
        hessian = Matrix(self.F @ self.F.T)
        with pytest.raises(NotConvexError, match=r"hand over its factor instead: pqp\.Gram\(F\)") as caught:
            hessian.require_exact_convexity()
        P, d = hessian.matrix(FIELDS["exact"]), caught.value.direction
        assert d @ P @ d == caught.value.curvature < 0

    def test_factor_of_the_same_matrix_is_convex_at_face_value(self):
        Gram(self.F).require_exact_convexity()
        assert negative_direction(Gram(self.F).matrix(FIELDS["exact"])) is None

    def test_kernel_of_pairs_is_checked_at_face_value(self):
        with pytest.raises(NotConvexError, match="K must be positive semidefinite"):
            PairGram(self.F @ self.F.T, [(0, 1)]).require_exact_convexity()

    def test_exactly_convex_floats_pass(self):
        Matrix([[0.5, 0.5], [0.5, 0.5]]).require_exact_convexity()


class TestMessages:
    @pytest.mark.parametrize(
        ("P", "message"),
        [
            (
                [[1, 2], [3, 4]],
                r"P must be symmetric, but P\[0, 1\] = 2 and P\[1, 0\] = 3; \(P \+ P.T\) / 2 gives",
            ),
            ([[0, 1, 5], [1, 0, 2], [7, 2.5, 0]], r"P\[0, 2\] = 5.0 and P\[2, 0\] = 7.0"),
            ([[1, 2, 3], [4, 5, 6]], r"P must be square, got shape \(2, 3\)"),
            ([1, 2], r"P must be a matrix, got shape \(2,\)"),
            (np.zeros((2, 2, 2)), r"P must be a matrix, got shape \(2, 2, 2\)"),
            ([[1, np.nan], [np.nan, 1]], r"P\[0, 1\] is NaN"),
            ([[1, 0], [0, np.inf]], r"P\[1, 1\] is inf: entries of P must be finite"),
            ([["a"]], "P holds strings"),
            ([[1j]], "P holds complex numbers"),
            ([[1], [1, 2]], "P is ragged"),
            (np.ma.array([[1]], mask=[[True]]), "P is a masked array"),
        ],
        ids=str,
    )
    def test_bad_matrix_is_named_with_what_was_found(self, P, message):
        with pytest.raises(ProblemError, match=message):
            as_hessian(P)

    @pytest.mark.parametrize(
        "P", [[[1, 2], [2, 1]], [[1.0, 2.0], [2.0, 1.0]], [[Fraction(1), 2], [2, 1]]], ids=str
    )
    def test_direction_of_negative_curvature_comes_with_the_error(self, P):
        with pytest.raises(
            NotConvexError, match=r"P must be positive semidefinite, but along d = .* curvature"
        ) as caught:
            Matrix(P)
        d = np.array(caught.value.direction)
        assert d @ np.array(P) @ d == pytest.approx(caught.value.curvature)
        assert caught.value.curvature < 0

    def test_integers_are_decided_exactly(self):
        # det = (2²⁶ + 1)(2²⁶ - 1) - 2⁵² = -1, invisible to float eigenvalues.
        with pytest.raises(NotConvexError):
            Matrix([[2**26 + 1, 2**26], [2**26, 2**26 - 1]])

    @pytest.mark.parametrize(
        ("pairs", "message"),
        [
            ([(0, 3)], r"pairs\[0, 1\] is 3: K has rows 0 to 1"),
            ([(0, 1), (-1, 0)], r"pairs\[1, 0\] is -1"),
            ([(0, 1, 1)], r"pairs must be rows of two indices, got int64 of shape \(1, 3\)"),
            ([(0.0, 1.0)], "pairs must be rows of two indices, got float64"),
        ],
        ids=str,
    )
    def test_bad_pairs_are_named(self, pairs, message):
        with pytest.raises(ProblemError, match=message):
            PairGram(np.eye(2), pairs)

    def test_infinite_factor_is_named(self):
        with pytest.raises(ProblemError, match=r"F\[0, 0\] is inf: entries of F must be finite"):
            Gram([[np.inf]])


class TestArguments:
    def test_arrays_are_left_untouched_and_copied(self):
        P = np.eye(2)
        hessian = Matrix(P)
        P[0, 0] = -1
        assert hessian.values.tolist() == [[1, 0], [0, 1]]
        with pytest.raises(ValueError, match="read-only"):
            hessian.values[0, 0] = 5

    def test_sparse_matrices_are_accepted(self):
        dense = [[1, 0], [0, 2]]
        assert as_hessian(scipy.sparse.csr_matrix(dense)).matrix(FIELDS["exact"]).tolist() == dense

    def test_hessians_pass_through(self):
        gram = Gram([[1]])
        assert as_hessian(gram) is gram

    def test_integers_beyond_float64_are_convex_where_they_are(self):
        assert Matrix([[10**400]]).matrix(FIELDS["exact"])[0, 0] == 10**400
        with pytest.raises(NotConvexError):
            Matrix([[-(10**400)]])
