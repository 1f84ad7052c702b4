"""The problem: one frozen record, checked once, and an error as data for everything that makes no sense."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sympy

import pqp
from pqp import Affine, mu
from pqp.errors import NotConvexError, PQPError, ProblemError
from pqp.linalg.field import FIELDS
from tests.refusals import refuses

INFINITY = math.inf


def parts(data: Affine) -> list[tuple[object, object]]:
    return list(zip(data.constant.tolist(), data.slope.tolist(), strict=True))


class TestRecord:
    def test_limits_default_to_none(self):
        problem = pqp.ParametricQP(np.eye(2), [1, 2], A=[[1, 1]])
        assert parts(problem.lower) == parts(problem.upper * -1) == [(-INFINITY, 0)] * 2
        assert parts(problem.row_lower) == [(-INFINITY, 0)]
        assert parts(problem.row_upper) == parts(problem.penalty) == [(INFINITY, 0)]

    def test_no_rows_are_needed(self):
        problem = pqp.ParametricQP([[1]], [0])
        assert (problem.n, problem.m, problem.A.shape) == (1, 0, (0, 1))

    @pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, lambda v: np.array(v, dtype=object)])
    def test_affine_cost_in_every_container(self, kind):
        problem = pqp.ParametricQP(np.eye(2), c=mu * kind([3, -4]) + kind([1, 2]))
        assert parts(problem.c) == [(1, 3), (2, -4)]

    def test_single_affine_number_stands_for_every_row(self):
        problem = pqp.ParametricQP([[1]], 0, A=[[1], [2]], row_upper=mu, lower=3 - mu)
        assert parts(problem.row_upper) == [(0, 1), (0, 1)]
        assert parts(problem.lower) == [(3, -1)]

    def test_fractions_and_sympy_rationals_are_kept_exactly(self):
        problem = pqp.ParametricQP([[sympy.Rational(1, 3)]], [Fraction(1, 7) * mu], A=[[Fraction(2, 3)]])
        data = problem.data(FIELDS["exact"])
        assert (data.P[0, 0], data.c[1][0], data.A[0, 0]) == (Fraction(1, 3), Fraction(1, 7), Fraction(2, 3))

    def test_sparse_rows_stay_sparse(self):
        eye = scipy.sparse.csr_matrix([[1, 0], [0, 1]])
        problem = pqp.ParametricQP(eye, [0, 0], A=eye, row_upper=1)
        assert isinstance(problem.A, scipy.sparse.csr_array)
        assert problem.A.dtype == np.int64
        assert problem.A.toarray().tolist() == [[1, 0], [0, 1]]

    def test_kinds_of_rows_and_variables_are_told_apart(self):
        problem = pqp.ParametricQP(
            np.eye(3),
            [0, 0, 0],
            A=np.eye(3),
            row_lower=[1, mu, -INFINITY],
            row_upper=[1, 1, mu],
            penalty=[None, 2, INFINITY],
            lower=[mu, 1, -INFINITY],
            upper=[mu, mu, INFINITY],
        )
        assert problem.is_equality.tolist() == [True, False, False]
        assert problem.is_soft.tolist() == [False, True, False]
        assert problem.is_fixed.tolist() == [True, False, False]

    def test_limits_that_meet_at_one_mu_only_are_no_equality(self):
        problem = pqp.ParametricQP([[1]], [0], lower=mu, upper=1)
        assert problem.is_fixed.tolist() == [False]

    @pytest.mark.parametrize("arithmetic", ["float", "exact"])
    def test_data_hold_every_number_in_one_arithmetic(self, arithmetic):
        data = pqp.ParametricQP([[2]], [1 + mu], A=[[0.5]], row_upper=mu).data(FIELDS[arithmetic])
        kind = float if arithmetic == "float" else Fraction
        assert all(
            isinstance(entry, kind) for entry in (data.P[0, 0], data.c[0][0], data.c[1][0], data.A[0, 0])
        )

    def test_arrays_are_read_only(self):
        problem = pqp.ParametricQP(np.eye(2), [1.0, 2.0], A=np.ones((1, 2)), row_upper=mu, lower=0.0)
        arrays = [problem.A, problem.P.values]
        for name in ("c", "row_lower", "row_upper", "lower", "upper", "penalty"):
            arrays += [getattr(problem, name).constant, getattr(problem, name).slope]
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0

    def test_record_is_frozen(self):
        with pytest.raises(AttributeError):
            pqp.ParametricQP([[1]], [0]).c = [1]

    def test_later_changes_of_an_argument_do_not_reach_the_problem(self):
        A = np.ones((1, 2))
        problem = pqp.ParametricQP(np.eye(2), [0, 0], A=A, row_upper=1)
        A[0, 0] = 9
        assert problem.A.tolist() == [[1, 1]]

    def test_constant_may_be_a_number_affine_or_three_numbers(self):
        constants = [
            pqp.ParametricQP([[1]], [0], constant=k).constant for k in (5, 1 - mu, [1, 2, Fraction(1, 3)])
        ]
        assert constants == [(5, 0, 0), (1, -1, 0), (1, 2, Fraction(1, 3))]

    def test_names_default_to_numbers_and_can_be_given(self):
        problem = pqp.ParametricQP(np.eye(2), [0, 0], A=[[1, 1]], row_upper=1)
        assert (problem.names, problem.row_names) == (("x1", "x2"), ("row1",))
        named = pqp.ParametricQP([[1]], [0], A=[[1]], row_upper=1, names=["price"], row_names=["budget"])
        assert (named.names, named.row_names) == (("price",), ("budget",))

    def test_printing_counts_variables_and_rows(self):
        assert repr(pqp.ParametricQP([[1]], [0])) == "ParametricQP(1 variable, 0 rows)"


class TestPaperForm:
    def test_P_is_twice_Q_and_rows_are_lower_limits(self):
        problem = pqp.paper_form(Q=[[1, 0], [0, 3]], c=[mu, 2], A=[[1, 1]], b=[1 - mu])
        assert problem.P.values.tolist() == [[2, 0], [0, 6]]
        assert (parts(problem.row_lower), parts(problem.lower)) == ([(1, -1)], [(0, 0), (0, 0)])
        assert parts(problem.row_upper) == [(INFINITY, 0)]

    def test_doubling_large_integers_does_not_wrap_around(self):
        problem = pqp.paper_form(Q=[[2**62]], c=[0], A=[[1]], b=[0])
        assert problem.data(FIELDS["exact"]).P[0, 0] == 2**63

    def test_factor_is_refused_with_a_remedy(self):
        with refuses(ProblemError, "Q", match="Q must be a matrix, got Gram; double the factor"):
            pqp.paper_form(pqp.Gram([[1]]), [0], [[1]], [0])

    def test_Q_is_named_in_messages(self):
        with pytest.raises(ProblemError, match=r"Q\[0, 0\] must be a number, got nan"):
            pqp.paper_form([[math.nan]], [0], [[1]], [0])


GOOD = {"P": np.eye(2), "c": np.array([1.0, 2.0]), "A": np.ones((3, 2)), "row_upper": np.zeros(3)}
INFINITE_SLOPE = Affine(np.array(0.0), np.array(INFINITY))
MISTAKES = [
    (
        {"P": np.eye(3), "A": None, "row_upper": None},
        r"c must be of length 3 or a single number, got shape \(2,\)",
    ),
    ({"P": np.ones((2, 3))}, r"P must be square, got shape \(2, 3\)"),
    (
        {"P": np.array([[0.0, 1.0], [2.0, 0.0]])},
        r"P must be symmetric, but P\[0, 1\] = 1.0 and P\[1, 0\] = 2.0",
    ),
    ({"P": np.array([[1.0, 2.0], [2.0, 1.0]])}, r"P must be positive semidefinite, but along d"),
    ({"P": np.array([[1.0, np.nan], [np.nan, 1.0]])}, r"P\[0, 1\] must be a number, got nan"),
    ({"P": np.diag([1.0, np.inf])}, r"P\[1, 1\] must be finite, got inf"),
    ({"c": np.zeros(3)}, r"c must be of length 2 or a single number, got shape \(3,\)"),
    ({"c": np.array([1.0, np.nan])}, r"c\[1\] must be a number, got nan"),
    ({"c": np.array([1.0, -np.inf])}, r"c\[1\] must be finite, got -inf"),
    ({"c": INFINITE_SLOPE}, r"the slope of c\[0\] must be finite, got inf"),
    ({"c": ["a", "b"]}, "c must be made of real numbers, got strings"),
    ({"c": np.array([1j, 0])}, "c must be made of real numbers, got complex numbers"),
    ({"c": [mu**2, 1]}, r"c\[0\] must be affine in mu, got mu\*\*2"),
    ({"A": np.ones((3, 3))}, r"A must be a matrix of 2 columns to match P, got shape \(3, 3\)"),
    ({"A": np.ones(2)}, r"A must be a matrix, got shape \(2,\)"),
    ({"A": [[1, 2], [3]]}, "A is ragged"),
    ({"A": np.array([[1, 2], [3, np.inf], [0, 0]])}, r"A\[1, 1\] must be finite, got inf"),
    ({"A": np.array([[1, 2], [3, 4], [np.nan, 0]])}, r"A\[2, 0\] must be a number, got nan"),
    ({"A": np.ma.array(np.ones((3, 2)), mask=np.eye(3, 2))}, "A must be complete, got a masked array"),
    ({"row_upper": np.zeros(2)}, r"row_upper must be of length 3 or a single number, got shape \(2,\)"),
    (
        {"row_upper": [0, -np.inf, 0]},
        r"row_upper\[1\] is -inf, which no value satisfies; use inf for no limit",
    ),
    ({"row_lower": np.inf}, r"row_lower\[0\] is inf, which no value satisfies; use -inf for no limit"),
    ({"row_lower": [-1, 2, -1]}, r"row_lower\[1\] = 2 exceeds row_upper\[1\] = 0 at every mu.*swap them"),
    (
        {"row_upper": mu, "row_lower": 1 + mu},
        r"row_lower\[0\] = mu \+ 1 exceeds row_upper\[0\] = mu at every mu",
    ),
    ({"lower": [0, np.nan]}, r"lower\[1\] must be a number, got nan"),
    ({"lower": INFINITE_SLOPE}, r"the slope of lower\[0\] must be finite, got inf"),
    ({"lower": 1, "upper": [2, 0]}, r"lower\[1\] = 1 exceeds upper\[1\] = 0 at every mu"),
    ({"upper": np.zeros((2, 1))}, r"upper must be of length 2 or a single number, got shape \(2, 1\)"),
    ({"penalty": [1, 2]}, r"penalty must be of length 3 or a single number"),
    ({"penalty": [1, -2, 1]}, r"penalty\[1\] must be nonnegative, got -2"),
    ({"penalty": np.nan}, "penalty must be a number, got nan"),
    (
        {"penalty": 1, "row_upper": None},
        r"penalty\[0\] is 1, but row 0 has no limit to violate; give row_lower\[0\]",
    ),
    ({"names": ["a"]}, r"names must be 2 labels, got \['a'\]"),
    ({"names": "ab"}, "names must be 2 labels, got 'ab'"),
    ({"names": ["a", "a"]}, "names must be different from one another, got 'a' twice"),
    ({"row_names": ["r"]}, "row_names must be 3 labels"),
    ({"constant": [1, 2]}, r"constant must be one number, affine data or three numbers, got shape \(2,\)"),
    ({"constant": np.inf}, r"constant\[0\] must be finite, got inf"),
]


class TestMistakes:
    @pytest.mark.parametrize(("wrong", "message"), MISTAKES, ids=[str(message) for _, message in MISTAKES])
    def test_message_names_argument_finding_and_remedy(self, wrong, message):
        with pytest.raises(ProblemError, match=message) as caught:
            pqp.ParametricQP(**{**GOOD, **wrong})
        assert isinstance(caught.value, ValueError | PQPError)
        # every mistake belongs to one of the arguments, whose name is data and appears in the sentence
        argument = caught.value.argument
        assert any(name in argument for name in (*GOOD, *wrong))
        assert argument in str(caught.value)

    @pytest.mark.parametrize(
        ("wrong", "argument", "found", "expected"),
        [
            ({"c": [1, -INFINITY]}, "c[1]", "-inf", "finite"),
            ({"c": ["a", "b"]}, "c", "strings", "made of real numbers"),
            ({"A": [[1, 2, 3]] * 3}, "A", "shape (3, 3)", "a matrix of 2 columns to match P"),
            ({"P": [[1, 2], [0, 1]]}, "P", "P[0, 1] = 2 and P[1, 0] = 0", "symmetric"),
            ({"names": ["a", "a"]}, "names", "'a' twice", "different from one another"),
        ],
    )
    def test_error_is_data(self, wrong, argument, found, expected):
        with pytest.raises(ProblemError) as caught:
            pqp.ParametricQP(**{**GOOD, **wrong})
        assert (caught.value.argument, caught.value.found, caught.value.expected) == (
            argument,
            found,
            expected,
        )

    @pytest.mark.parametrize("wrong", [wrong for wrong, _ in MISTAKES], ids=[str(m) for _, m in MISTAKES])
    def test_arguments_are_left_untouched(self, wrong):
        arguments = {**GOOD, **wrong}
        arrays = {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}
        before = {name: value.tobytes() for name, value in arrays.items()}
        with pytest.raises(ProblemError):
            pqp.ParametricQP(**arguments)
        assert {name: value.tobytes() for name, value in arrays.items()} == before
        assert all(value.flags.writeable for value in arrays.values())

    def test_direction_of_negative_curvature_can_be_read(self):
        P = [[0, 1], [1, 0]]
        with pytest.raises(NotConvexError) as caught:
            pqp.ParametricQP(P, [0, 0])
        d = caught.value.direction
        assert d @ np.array(P) @ d == caught.value.curvature < 0

    def test_limits_that_cross_somewhere_are_no_mistake(self):
        assert pqp.ParametricQP([[1]], [0], lower=mu, upper=1).n == 1

    def test_soft_row_whose_limits_cross_inside_the_interval_is_named_with_the_place(self):
        problem = pqp.ParametricQP([[1]], [0], A=[[1]], row_lower=2 * mu, row_upper=3, penalty=1)
        problem.require_uncrossed_soft_rows(-5, 1)
        with pytest.raises(
            ProblemError, match=r"row_lower\[0\] = 2\*mu and row_upper\[0\] = 3 cross at mu = 3/2"
        ):
            problem.require_uncrossed_soft_rows(-INFINITY, INFINITY)

    def test_integers_beyond_float64_are_accepted_in_exact_arithmetic(self):
        # min ½x² - 10⁴⁰⁰ x has its minimum at x = 10⁴⁰⁰.
        problem = pqp.ParametricQP([[1]], [-(10**400)])
        assert pqp.solve(problem, 0, arithmetic="exact").x.tolist() == [10**400]


def rounded_kernel(size: int, gamma: float = 0.1) -> np.ndarray:
    """A kernel matrix whose mirrored entries differ by their last bits."""
    X = np.random.default_rng(0).normal(size=(size, 10))
    squares = (X * X).sum(axis=1)
    K = np.exp(-gamma * (squares[:, None] + squares - 2 * (X * 1.0) @ X.T))
    K[np.triu_indices(size, 1)] *= 1 + 2.0**-52
    assert (K != K.T).any()
    return K


class TestSymmetryUpToRounding:
    @pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_matrix, scipy.sparse.csc_array])
    def test_floats_that_miss_symmetry_by_rounding_are_symmetrised_and_the_problem_says_so(self, kind):
        K = rounded_kernel(30)
        problem = pqp.ParametricQP(kind(K), mu, lower=0, upper=1)
        stored = problem.data(FIELDS["float"]).dense_P
        assert (stored == stored.T).all()
        assert np.abs(stored - K).max() <= 2.0**-52
        (note,) = problem.notes
        assert "(P + P.T) / 2" in note

    def test_units_of_single_variables_do_not_matter(self):
        units = 10.0 ** np.arange(-15, 15)
        K = units[:, None] * rounded_kernel(30) * units
        assert len(pqp.ParametricQP(K, mu, lower=0, upper=1).notes) == 1
        K[0, 1] *= 1 + 1e-6  # small among all entries, but not rounding error of this one
        with refuses(ProblemError, "P", expected="symmetric"):
            pqp.ParametricQP(K, mu, lower=0, upper=1)

    def test_entries_that_cancelled_may_differ_by_rounding_of_their_terms(self):
        P = np.array([[1.0, 2.0**-60], [-(2.0**-59), 1.0]])
        assert len(pqp.ParametricQP(P, mu, lower=0).notes) == 1

    def test_kernel_of_pairs_is_symmetrised_too(self):
        problem = pqp.ParametricQP(pqp.PairGram(rounded_kernel(8), [(0, 1), (2, 5)]), -1, lower=0, upper=mu)
        assert (problem.P.K == problem.P.K.T).all()
        assert "K[" in problem.notes[0]

    def test_real_asymmetry_is_refused_with_the_worst_pair(self):
        K = rounded_kernel(30)
        K[3, 7] = K[7, 3] + 1e-9
        with refuses(ProblemError, "P", found=f"P[3, 7] = {K[3, 7]} and P[7, 3] = {K[7, 3]}"):
            pqp.ParametricQP(K, mu, lower=0, upper=1)

    @pytest.mark.parametrize("kind", [list, lambda rows: scipy.sparse.csr_array(np.array(rows))])
    def test_integers_are_never_symmetrised(self, kind):
        with refuses(ProblemError, "P", expected="symmetric"):
            pqp.ParametricQP(kind([[10**14, 1], [0, 10**14]]), mu)

    def test_rationals_are_never_symmetrised(self):
        tiny = Fraction(1, 10**30)
        with refuses(ProblemError, "P", expected="symmetric"):
            pqp.ParametricQP([[Fraction(1), tiny], [Fraction(0), Fraction(1)]], mu)

    def test_symmetric_data_have_no_notes(self):
        kernel = pqp.PairGram(np.eye(2), [(0, 1)])
        for P in (np.eye(2), scipy.sparse.eye(2), pqp.Gram([[0.1], [0.3]]), kernel):
            assert pqp.ParametricQP(P, 0).notes == ()

    def test_notes_are_saved_with_the_problem_and_with_its_path(self, tmp_path):
        problem = pqp.ParametricQP(rounded_kernel(5), mu, lower=0, upper=1, notes=["a kernel of 5 points"])
        assert problem.notes[0] == "a kernel of 5 points"
        pqp.save_problem(problem, tmp_path / "problem.json")
        assert pqp.load_problem(tmp_path / "problem.json").notes == problem.notes
        path = pqp.solve_path(problem, (-2, 0))
        assert path.certify().pieces == len(path.segments)
        path.save(tmp_path / "path.npz")
        assert pqp.load_path(tmp_path / "path.npz").problem.notes == problem.notes

    @pytest.mark.parametrize("notes", ["one sentence", [3]])
    def test_notes_are_sentences(self, notes):
        with refuses(ProblemError, "notes", expected="a list of sentences"):
            pqp.ParametricQP([[1]], 0, notes=notes)


class TestManyRows:
    """What engines for large problems rely on: nothing is formed before it is asked for."""

    N = 100_000

    def problem(self, **data: object) -> pqp.ParametricQP:
        rows = scipy.sparse.csr_array((np.ones(self.N), (np.arange(self.N), np.arange(self.N) % 3)))
        return pqp.ParametricQP(
            scipy.sparse.identity(3), 0, A=rows, **{"row_lower": 1, "penalty": mu, **data}
        )

    def test_data_in_float_keep_the_structure(self):
        data = self.problem().data(FIELDS["float"])
        assert isinstance(data.A, scipy.sparse.csr_array)
        assert (data.A @ np.ones(3)).tolist() == [1] * self.N
        assert (data.P @ np.array([1.0, 2.0, 3.0])).tolist() == [1, 2, 3]
        assert data.dense_P.tolist() == np.eye(3).tolist()

    def test_exact_data_are_converted_when_asked_for(self):
        data = self.problem().data(FIELDS["exact"])
        assert vars(data).keys() == {"problem", "field"}
        assert data.c[0].tolist() == [0, 0, 0]
        assert vars(data).keys() == {"problem", "field", "c"}

    def test_soft_rows_that_never_cross_are_told_from_one_that_does(self):
        upper = np.full(self.N, 3)
        problem = self.problem(row_upper=mu + upper)
        problem.require_uncrossed_soft_rows(-2, INFINITY)
        upper[777] = 1
        with pytest.raises(ProblemError, match=r"row_upper\[777\] = mu \+ 1 cross at mu = 0"):
            self.problem(row_upper=mu + upper).require_uncrossed_soft_rows(Fraction(-1, 10**30), 1)
        self.problem(row_upper=mu + upper).require_uncrossed_soft_rows(0, 1)

    def test_limits_that_touch_are_not_taken_for_crossing(self):
        # 0.1 + mu and 3·0.1 meet where mu = 0.3 - 0.1, which no float64 is.
        problem = self.problem(row_lower=0.1 + mu, row_upper=0.3)
        meeting = Fraction(0.3) - Fraction(0.1)
        problem.require_uncrossed_soft_rows(0, meeting)
        with pytest.raises(ProblemError, match="cross at mu"):
            problem.require_uncrossed_soft_rows(0, meeting + Fraction(1, 10**40))

    @pytest.mark.parametrize("mu_end", [10**400, Fraction(1, 10**400)], ids=["huge", "tiny"])
    def test_ends_beyond_float64_are_compared_exactly(self, mu_end):
        crossing = self.problem(row_lower=1, row_upper=1 - mu)
        with pytest.raises(ProblemError, match="cross at mu = 0"):
            crossing.require_uncrossed_soft_rows(0, mu_end)

    def test_names_are_numbered_and_duplicates_found(self):
        names = [f"r{i}" for i in range(self.N)]
        assert self.problem().row_names[-1] == f"row{self.N}"
        assert self.problem(row_names=names).row_names[-1] == "r99999"
        names[5] = "r4"
        with refuses(ProblemError, "row_names", match="got 'r4' twice"):
            self.problem(row_names=names)
