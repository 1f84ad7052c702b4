"""Programs: merging equal rows changes no solution, contradictions stay, the program is the paper's."""

from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import pqp
from pqp.linalg.field import RATIONAL
from ranking.conjoint import example_study
from ranking.conjoint.data.choice_table import Differences
from ranking.conjoint.estimation.programs import ChoiceRows, Program, choice_rows, pooled_rows
from tests.ranking.choice_tables import study

NO_ORDERS = np.zeros((0, 3), dtype=np.int64)


def as_differences(rows, respondent=None, weight=None):
    """Rows as if they were those of a study."""
    rows = np.array(rows)
    s = len(rows)
    codes = np.zeros(s, dtype=np.int64) if respondent is None else np.array(respondent)
    weights = np.ones(s) if weight is None else np.array(weight)
    return Differences(rows, np.zeros((s, 2), dtype=np.int64), codes, np.arange(s), weights, None)


def unmerged(rows, weight=None):
    """Rows as they come, however often."""
    rows = np.array(rows)
    weight = np.ones(len(rows), dtype=np.int64) if weight is None else np.array(weight)
    zeros = np.zeros(len(rows), dtype=np.int64)
    return ChoiceRows(rows, weight, zeros, 1)


def exact_path(rows):
    """The exact path of w = Aᵀα: where it bends, and a function that evaluates it."""
    program = Program(rows, NO_ORDERS)
    path = pqp.solve_path(program.dual(), (0, 3), arithmetic="exact")
    return list(path.breakpoints), lambda C: list(program.A.T.astype(object) @ path(C).x)


class TestMerging:
    def test_weights_of_equal_rows_are_added(self):
        rows = choice_rows(as_differences([[1, 0, -1], [0, 1, -1], [1, 0, -1]], weight=[1.0, 2.0, 0.5]))
        assert {tuple(row): w for row, w in zip(rows.rows.tolist(), rows.weight.tolist(), strict=True)} == {
            (1, 0, -1): 1.5,
            (0, 1, -1): 2.0,
        }

    def test_rows_that_differ_by_the_rounding_of_a_subtraction_are_equal(self):
        prices = np.array([[0.3 - 0.2, 1.0], [0.2 - 0.1, 1.0], [0.1 + 1e-9, 1.0]])
        assert len(np.unique(prices, axis=0)) == 3
        assert choice_rows(as_differences(prices)).weight.tolist() == [2, 1]

    def test_every_difference_is_in_one_row_with_its_weight(self):
        differences = example_study().differences()
        rows = choice_rows(differences)
        wanted = Counter()
        for row, weight in zip(differences.rows.tolist(), differences.weight.tolist(), strict=True):
            wanted[tuple(row)] += weight
        assert dict(zip(map(tuple, rows.rows.tolist()), rows.weight.tolist(), strict=True)) == wanted

    def test_a_over_b_and_b_over_a_stay_two_rows(self):
        rows = choice_rows(as_differences([[1, -1, 0], [-1, 1, 0], [1, -1, 0]]))
        assert sorted(rows.rows.tolist()) == [[-1, 1, 0], [1, -1, 0]]
        assert rows.weight.tolist() == [1, 2]

    def test_equal_rows_of_two_respondents_stay_apart_where_these_do(self):
        differences = as_differences([[1, -1, 0]] * 3, respondent=[0, 1, 1])
        rows = choice_rows(differences, 2)
        assert rows.owner.tolist() == [0, 1]
        assert rows.weight.tolist() == [1, 2]
        assert rows.of(1).weight.tolist() == [2]

    def test_whole_weights_are_integers_so_that_certificates_are_of_whole_data(self):
        rows = choice_rows(study().differences())
        assert rows.weight.dtype.kind == "i"
        assert rows.rows.dtype.kind == "i"

    @given(
        rows=st.lists(
            st.sampled_from([(1, -1, 0), (-1, 1, 0), (1, 0, -1), (0, 1, -1), (0, 0, 0), (0, -1, 1)]),
            min_size=1,
            max_size=7,
        )
    )
    def test_merged_rows_have_the_same_part_worths_at_every_C(self, rows):
        """Both are piecewise linear, so equal at all bends of both, and at the ends, is equal everywhere."""
        bends, at = exact_path(unmerged(rows))
        merged_bends, merged_at = exact_path(choice_rows(as_differences(rows)))
        for C in [0, *sorted({*bends, *merged_bends}), 3]:
            assert at(C) == merged_at(C)

    def test_merging_saves_rows_and_pieces_in_the_example(self):
        differences = example_study().differences()
        many, few = unmerged(differences.rows, differences.weight), choice_rows(differences)
        assert len(few) < 0.6 * len(many)
        programs = [Program(rows, few.rows[:0]) for rows in (many, few)]
        paths = [pqp.solve_path(program.dual(), (0, 1)) for program in programs]
        assert len(paths[1].segments) <= len(paths[0].segments)
        worths = [program.A.T @ path.x(1) for program, path in zip(programs, paths, strict=True)]
        np.testing.assert_allclose(worths[0], worths[1], atol=1e-10)


class TestProgram:
    def test_the_dual_has_the_part_worths_of_the_soft_rows_of_the_paper(self):
        rows = choice_rows(example_study().differences())
        program = Program(rows, rows.rows[:0])
        soft = pqp.catalog.choice(rows.rows, weights=rows.weight)
        for C in (0.01, 0.1, 1):
            w = program.A.T @ pqp.solve_path(program.dual(), (0, 1)).x(C)
            np.testing.assert_allclose(w, pqp.solve(soft, C).x, atol=1e-10)

    def test_a_pooled_row_multiplies_common_and_own_part_worths(self):
        random = np.random.default_rng(0)
        v_0, u = random.normal(size=3), random.normal(size=(4, 3))
        rows, owner = random.integers(-1, 2, size=(6, 3)), np.array([0, 3, 1, 2, 3, -1])
        z = np.concatenate([v_0, u.ravel()])
        wanted = [row @ (v_0 + (u[r] if r >= 0 else 0)) for row, r in zip(rows, owner, strict=True)]
        np.testing.assert_allclose(pooled_rows(rows, owner, 4) @ z, wanted)

    def test_part_worths_are_read_from_z(self):
        rows = choice_rows(as_differences([[1, -1, 0]] * 2, respondent=[0, 1]), 2)
        program = Program(rows, NO_ORDERS, 0.5)
        z = np.arange(9.0)
        np.testing.assert_allclose(program.part_worths(z), z[:3] + z[3:].reshape(2, 3))
        np.testing.assert_allclose(program.common(z), z[:3])

    def test_a_pool_is_the_ridge_of_the_decimal_that_was_written(self):
        rows = choice_rows(as_differences([[1, -1, 0], [0, 2, -1]], respondent=[0, 1]), 2)
        program = Program(rows, NO_ORDERS, 0.3)
        A, third = program.A.toarray(), Fraction(3, 10)
        W = np.diag([third] * 3 + [1 - third] * 6)
        assert A.dtype.kind == "i"
        assert (program.dual().P.matrix(RATIONAL) == A.astype(object) @ W @ A.T).all()
