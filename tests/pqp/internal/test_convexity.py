"""convexity: every solution of the tie agrees with the definition, and every refusal shows a direction."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from pqp.errors import NotConvexError, ProblemError
from pqp.model import convexity
from pqp.model.convexity import as_convex, negative_direction, require_convex
from tests.refusals import refuses

# The same examples in every run, few enough for a slow machine.
QUICK = settings(max_examples=30, deadline=None, derandomize=True)


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


def ring(n: int, centre: float, dtype: type = float) -> scipy.sparse.csr_array:
    """A ring of n springs: eigenvalues centre - 2 cos(2πk/n)."""
    shape = [[-1] * (n - 1), [centre] * n, [-1] * (n - 1), [-1], [-1]]
    return scipy.sparse.csr_array(scipy.sparse.diags(shape, offsets=[-1, 0, 1, n - 1, 1 - n], dtype=dtype))


def curvature_along(error: NotConvexError, matrix: scipy.sparse.csr_array) -> float:
    return float(error.direction @ (matrix @ error.direction))


class TestVerdict:
    @QUICK
    @given(matrix=symmetric(), kind=st.sampled_from([np.array, scipy.sparse.csr_array]))
    def test_integers_are_refused_exactly_where_a_minor_is_negative(self, matrix, kind):
        if is_semidefinite(matrix):
            require_convex(kind(matrix), "P", exactly=True)
        else:
            with pytest.raises(NotConvexError) as caught:
                require_convex(kind(matrix), "P", exactly=True)
            d = caught.value.direction
            assert d @ matrix @ d == caught.value.curvature < 0

    @QUICK
    @given(matrix=symmetric())
    def test_the_sparse_decision_agrees_with_the_dense_one(self, matrix):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(convexity, "LARGEST_DENSE", 0)
            floats = scipy.sparse.csr_array(matrix.astype(float))
            if is_semidefinite(matrix):
                require_convex(floats, "P", exactly=False)
                require_convex(floats, "P", exactly=True)
            else:
                with pytest.raises(ProblemError):
                    require_convex(floats, "P", exactly=False)


class TestSparse:
    N = convexity.LARGEST_DENSE + 500

    def test_large_definite_matrix_passes(self):
        require_convex(as_convex(ring(self.N, 2.1), "P")[0], "P", exactly=True)

    def test_large_singular_matrix_passes_in_float(self):
        as_convex(ring(self.N, 2.0), "P")

    def test_large_singular_integers_pass_by_their_rows(self):
        as_convex(ring(self.N, 2, int), "P")

    def test_large_matrix_with_a_negative_eigenvalue_is_refused_with_a_direction(self):
        matrix = ring(self.N, 1.99)
        with refuses(NotConvexError, "P", found="curvature -0.002164327104638811") as caught:
            as_convex(matrix, "P")
        assert curvature_along(caught.value, matrix) == pytest.approx(caught.value.curvature)
        assert caught.value.curvature < 0

    def test_large_singular_integers_that_their_rows_leave_open_are_decided_in_float(self):
        # A ring of springs and the term (x1 + x2 + x3)²: its rows do not dominate, the sum is convex.
        extra = scipy.sparse.coo_array(
            ([1] * 9, ([0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3)), shape=(self.N,) * 2
        )
        matrix, _ = as_convex(ring(self.N, 2, int) + extra, "P")
        assert not convexity.is_decided_exactly(matrix)

    def test_diagonal_decides_by_its_signs(self):
        values = np.ones(100_000)
        as_convex(scipy.sparse.diags([values], offsets=[0]), "P")
        values[77] = -2.0
        with pytest.raises(NotConvexError) as caught:
            as_convex(scipy.sparse.diags([values], offsets=[0]), "P")
        assert (caught.value.direction[77], caught.value.curvature) == (1, -2)

    def test_worst_pair_of_an_asymmetric_sparse_matrix_is_named(self):
        matrix = scipy.sparse.csr_array([[1, 0, 4], [0, 1, 2], [7, 1, 1]])
        with refuses(ProblemError, "P", found="P[0, 2] = 4 and P[2, 0] = 7"):
            as_convex(matrix, "P")

    def test_undecided_matrix_is_refused_with_a_remedy(self, monkeypatch):
        monkeypatch.setattr(convexity, "LARGEST_DENSE", 0)
        monkeypatch.setattr(convexity, "_factored", lambda matrix, shift: None)
        with refuses(ProblemError, "P", expected="positive semidefinite"):
            as_convex(ring(5, 2.5), "P")
