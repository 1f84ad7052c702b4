"""hessian: matrices and factors, and what is said about those that are not convex."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

from pqp.errors import NotConvexError, ProblemError
from pqp.linalg.field import FIELDS, FLOAT, RATIONAL
from pqp.model.convexity import negative_direction
from pqp.model.hessian import Gram, HessianProduct, Matrix, PairGram, as_hessian
from tests.refusals import refuses

ARITHMETICS = pytest.mark.parametrize("arithmetic", ["float", "exact"])


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


RNG = np.random.default_rng(5)
SYMMETRIC = RNG.integers(-3, 4, size=(6, 6))
BAND = scipy.sparse.diags([[-1] * 5, [2] * 6, [-1] * 5], offsets=[-1, 0, 1], dtype=int)
PAIRS = [(0, 1), (2, 0), (3, 3), (1, 2), (0, 1), (3, 1)]
TALL = RNG.integers(-2, 3, size=(6, 2))
WIDE = RNG.normal(size=(6, 9))
KINDS = {
    "dense": lambda: Matrix(SYMMETRIC @ SYMMETRIC.T),
    "sparse": lambda: Matrix(BAND),
    "sparse diagonal": lambda: Matrix(scipy.sparse.diags([[1.5, 0.0, 2.0, 1.0, 0.0, 3.0]], offsets=[0])),
    "tall Gram": lambda: Gram(TALL),
    "wide Gram": lambda: Gram(WIDE),
    "tall Gram and diagonal": lambda: Gram(TALL, diagonal=[1, 0, 2, 0, 3, 1]),
    "wide Gram and diagonal": lambda: Gram(WIDE, diagonal=0.5),
    "sparse Gram": lambda: Gram(scipy.sparse.coo_matrix(TALL)),
    "sparse Gram and diagonal": lambda: Gram(scipy.sparse.csr_matrix(TALL), diagonal=[1, 0, 2, 0, 3, 1]),
    "pairs": lambda: PairGram(SYMMETRIC @ SYMMETRIC.T, PAIRS),
}


@pytest.mark.parametrize("kind", KINDS)
class TestProducts:
    """What engines ask of P, against the entries in exact arithmetic."""

    def entries(self, kind: str) -> np.ndarray:
        return KINDS[kind]().matrix(FIELDS["exact"]).astype(float)

    @pytest.mark.parametrize("chosen", [[], [3], [4, 1], [5, 0, 2, 3], [0, 1, 2, 3, 4, 5]], ids=str)
    @pytest.mark.parametrize("columns", [(), (2,)], ids=["vector", "block"])
    def test_product_takes_the_chosen_columns(self, kind, chosen, columns):
        indices, values = np.array(chosen, dtype=int), RNG.normal(size=(len(chosen), *columns))
        found = KINDS[kind]().operator.product(indices, values)
        assert found.shape == (6, *columns)
        np.testing.assert_allclose(found, self.entries(kind)[:, indices] @ values, atol=1e-12)

    def test_times_is_the_whole_product(self, kind):
        for vector in (RNG.normal(size=6), RNG.normal(size=(6, 3))):
            np.testing.assert_allclose(
                KINDS[kind]().operator.times(vector), self.entries(kind) @ vector, atol=1e-12
            )

    @pytest.mark.parametrize("columns", [[2], [1, 0, 4, 5], []], ids=str)
    def test_block_is_a_dense_part(self, kind, columns):
        rows, columns = np.array([4, 1, 2]), np.array(columns, dtype=int)
        found = KINDS[kind]().operator.block(rows, columns)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, self.entries(kind)[np.ix_(rows, columns)], atol=1e-12)

    def test_diagonal_and_float_entries_agree_with_the_exact_ones(self, kind):
        np.testing.assert_allclose(KINDS[kind]().operator.diagonal(), np.diag(self.entries(kind)), atol=1e-12)
        np.testing.assert_allclose(KINDS[kind]().matrix(FIELDS["float"]), self.entries(kind), atol=1e-12)

    def test_exact_block_is_that_part_of_the_exact_entries(self, kind):
        rows, columns, P = np.array([4, 1, 2]), np.array([1, 0, 4, 5]), KINDS[kind]()
        wanted = P.matrix(RATIONAL)[np.ix_(rows, columns)]
        assert (P.exact_block(rows, columns) == wanted).all()

    def test_answers_are_float64_and_the_data_stay_as_they_were(self, kind):
        hessian = KINDS[kind]()
        indices = np.array([0, 2])
        for answer in (
            hessian.operator.product(indices, np.ones(2)),
            hessian.operator.times(np.ones(6)),
            hessian.operator.block(indices, indices),
            hessian.operator.diagonal(),
        ):
            assert answer.dtype == float
        np.testing.assert_allclose(hessian.operator.times(np.eye(6)), self.entries(kind), atol=1e-12)

    def test_view_multiplies_from_both_sides(self, kind):
        P, vector = HessianProduct(KINDS[kind]()), RNG.normal(size=6)
        np.testing.assert_allclose(P @ vector, self.entries(kind) @ vector, atol=1e-12)
        np.testing.assert_allclose(vector @ P, self.entries(kind) @ vector, atol=1e-12)
        np.testing.assert_allclose(P.dense(), self.entries(kind), atol=1e-12)


class TestStructure:
    def test_sparse_matrix_stays_sparse_and_integer(self):
        assert isinstance(Matrix(BAND).values, scipy.sparse.csr_array)
        assert Matrix(BAND).values.dtype == np.int64

    def test_sparse_factor_stays_sparse(self):
        assert isinstance(Gram(scipy.sparse.coo_matrix(TALL)).F, scipy.sparse.csr_array)

    def test_large_structured_matrices_are_never_formed(self):
        # 200 000 variables: an array of the entries would take 320 GB.
        n, indices = 200_000, np.array([7, 5])
        pairs = np.column_stack([np.arange(n) % 3, np.arange(1, n + 1) % 3])
        for P in (Matrix(scipy.sparse.identity(n)), Gram(np.ones((n, 2))), PairGram(np.eye(3), pairs)):
            assert P.operator.product(indices, np.ones((2, 2))).shape == (n, 2)
            assert P.operator.times(np.ones(n)).shape == P.operator.diagonal().shape == (n,)
            assert P.operator.block(indices, indices).shape == (2, 2)

    @pytest.mark.parametrize(
        ("diagonal", "wrong"),
        [
            ([1, -1], {"argument": "diagonal[1]", "found": "-1"}),
            ([np.inf, 0], {"argument": "diagonal[0]", "found": "inf"}),
            ([1], {"argument": "diagonal", "found": "shape (1,)"}),
            ([1, np.nan], {"argument": "diagonal[1]", "found": "nan"}),
        ],
        ids=str,
    )
    def test_bad_diagonal_is_named(self, diagonal, wrong):
        with refuses(ProblemError, **wrong):
            Gram([[1], [2]], diagonal=diagonal)

    @pytest.mark.parametrize(
        ("weights", "wrong"),
        [
            ([-1], {"argument": "weights[0]", "found": "-1"}),
            ([1, 2], {"argument": "weights", "found": "shape (2,)"}),
        ],
        ids=str,
    )
    def test_bad_weights_are_named(self, weights, wrong):
        with refuses(ProblemError, **wrong):
            Gram([[1], [2]], weights=weights)

    @pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_array], ids=["dense", "sparse"])
    def test_weights_of_columns_are_exact(self, form):
        F, w = np.array([[1, 2, 0], [0, 1, -1], [3, 0, 1]]), [Fraction(1, 3), 2, 0]
        P = Gram(form(F), diagonal=[0, 1, 0], weights=w)
        wanted = F.astype(object) @ np.diag(w) @ F.T + np.diag([0, 1, 0])
        assert (P.matrix(RATIONAL) == wanted).all()
        np.testing.assert_allclose(P.matrix(FLOAT), wanted.astype(float), rtol=1e-15)
        np.testing.assert_allclose(P.operator.times(np.eye(3)), wanted.astype(float), rtol=1e-15)
        np.testing.assert_allclose(P.operator.diagonal(), np.diag(wanted.astype(float)), rtol=1e-15)

    def test_single_diagonal_number_stands_for_every_entry(self):
        exact = Gram([[1], [2]], diagonal=Fraction(1, 3)).matrix(FIELDS["exact"])
        assert exact.tolist() == [[Fraction(4, 3), 2], [2, Fraction(13, 3)]]


class TestFloatGram:
    F = np.random.default_rng(0).normal(size=(10, 3))

    def test_rounded_gram_matrix_is_convex_in_float_and_not_at_face_value(self):
        """design.md, section 1: 0 of 200 rounded Gram matrices of rank 3 at n = 10 are exactly PSD."""
        hessian = Matrix(self.F @ self.F.T)
        with refuses(NotConvexError, "P", expected="convex") as caught:
            hessian.require_exact_convexity()
        P, d = hessian.matrix(FIELDS["exact"]), caught.value.direction
        assert d @ P @ d == caught.value.curvature < 0

    def test_factor_of_the_same_matrix_is_convex_at_face_value(self):
        Gram(self.F).require_exact_convexity()
        assert negative_direction(Gram(self.F).matrix(FIELDS["exact"])) is None

    def test_kernel_of_pairs_is_checked_at_face_value(self):
        with refuses(NotConvexError, "K", expected="convex"):
            PairGram(self.F @ self.F.T, [(0, 1)]).require_exact_convexity()

    def test_exactly_convex_floats_pass(self):
        Matrix([[0.5, 0.5], [0.5, 0.5]]).require_exact_convexity()


class TestMessages:
    @pytest.mark.parametrize(
        ("P", "wrong"),
        [
            (
                [[1, 2], [3, 4]],
                {"argument": "P", "found": "P[0, 1] = 2 and P[1, 0] = 3"},
            ),
            (
                [[0, 1, 5], [1, 0, 2], [7, 2.5, 0]],
                {"argument": "P", "found": "P[0, 2] = 5.0 and P[2, 0] = 7.0"},
            ),
            ([[1, 2, 3], [4, 5, 6]], {"argument": "P", "found": "shape (2, 3)"}),
            ([1, 2], {"argument": "P", "found": "shape (2,)"}),
            (np.zeros((2, 2, 2)), {"argument": "P", "found": "shape (2, 2, 2)"}),
            ([[1, np.nan], [np.nan, 1]], {"argument": "P[0, 1]", "found": "nan"}),
            ([[1, 0], [0, np.inf]], {"argument": "P[1, 1]", "found": "inf"}),
            ([["a"]], {"argument": "P", "found": "strings"}),
            ([[1j]], {"argument": "P", "found": "complex numbers"}),
            ([[1], [1, 2]], {"argument": "P"}),
            (np.ma.array([[1]], mask=[[True]]), {"argument": "P", "found": "a masked array"}),
        ],
        ids=str,
    )
    def test_bad_matrix_is_named_with_what_was_found(self, P, wrong):
        with refuses(ProblemError, **wrong):
            as_hessian(P)

    @pytest.mark.parametrize(
        "P", [[[1, 2], [2, 1]], [[1.0, 2.0], [2.0, 1.0]], [[Fraction(1), 2], [2, 1]]], ids=str
    )
    def test_direction_of_negative_curvature_comes_with_the_error(self, P):
        with refuses(NotConvexError, "P", expected="convex") as caught:
            Matrix(P)
        d = np.array(caught.value.direction)
        assert d @ np.array(P) @ d == pytest.approx(caught.value.curvature)
        assert caught.value.curvature < 0

    def test_integers_are_decided_exactly(self):
        # det = (2²⁶ + 1)(2²⁶ - 1) - 2⁵² = -1, invisible to float eigenvalues.
        with pytest.raises(NotConvexError):
            Matrix([[2**26 + 1, 2**26], [2**26, 2**26 - 1]])

    @pytest.mark.parametrize(
        ("pairs", "wrong"),
        [
            ([(0, 3)], {"argument": "pairs[0, 1]", "found": 3}),
            ([(0, 1), (-1, 0)], {"argument": "pairs[1, 0]", "found": -1}),
            ([(0, 1, 1)], {"argument": "pairs", "found": "int64 of shape (1, 3)"}),
            ([(0.0, 1.0)], {"argument": "pairs", "found": "float64 of shape (1, 2)"}),
        ],
        ids=str,
    )
    def test_bad_pairs_are_named(self, pairs, wrong):
        with refuses(ProblemError, **wrong):
            PairGram(np.eye(2), pairs)

    def test_infinite_factor_is_named(self):
        with refuses(ProblemError, "F[0, 0]", found="inf"):
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
