"""Likelihoods over C: the root likelihood in the middle of cells of C, each with its own best scale."""

import numpy as np
import pytest

from ranking import ConjointPath, ConjointSVM, DataError
from ranking.conjoint import example_study, root_likelihood
from ranking.conjoint.estimation.cv import CELLS, DECADES, cell_edges, likelihood_curve
from ranking.selection.choice_along_path import log_midpoint
from tests.refusals import refuses

TRAIN, HELD = example_study().split_holdout()


@pytest.fixture(scope="module")
def curve():
    return likelihood_curve([(ConjointPath(C_max=0.5).fit(TRAIN), HELD)])


def best_over_scales(worths, study):
    scales = np.linspace(0, 6, 1001)
    return max(root_likelihood(worths, study, scale) for scale in scales)


class TestCurve:
    @pytest.mark.parametrize("cell", [0, 17, 29])
    def test_values_are_those_of_a_model_fitted_at_the_middle_of_a_cell(self, curve, cell):
        C = log_midpoint((curve.edges[cell], curve.edges[cell + 1]))
        worths = ConjointSVM(C).fit(TRAIN).individual_part_worths_
        scale_free = best_over_scales(worths * (1 / np.abs(worths).to_numpy().max()), HELD)
        assert curve.values[cell] == pytest.approx(scale_free, abs=1e-4)
        assert curve.values[cell] >= scale_free - 1e-12

    def test_the_best_C_is_one_that_was_evaluated(self, curve):
        cell = int(curve.values.argmax())
        assert pytest.approx(np.sqrt(curve.edges[cell] * curve.edges[cell + 1])) == curve.C_best

    def test_groups_share_one_scale(self):
        """Two paths of the same respondents judge like one."""
        path = ConjointPath(C_max=0.5).fit(TRAIN)
        halves = [HELD.only(respondents=names) for names in (range(1, 13), range(13, 25))]
        together, apart = (
            likelihood_curve([(path, HELD)]),
            likelihood_curve([(path, half) for half in halves]),
        )
        np.testing.assert_allclose(together.values, apart.values, rtol=1e-12)

    def test_it_is_known_to_be_no_step_function(self, curve):
        assert not curve.is_exact

    def test_standard_errors_are_not_known(self, curve):
        assert np.isnan(curve.errors).all()


class TestCells:
    def test_cells_are_equally_wide_up_to_C_max(self):
        edges = cell_edges(7.0, 7.0)
        assert len(edges) == CELLS * DECADES + 1
        assert edges[-1] == 7.0
        np.testing.assert_allclose(edges[1:] / edges[:-1], 10 ** (1 / CELLS))

    def test_cells_beyond_the_end_of_a_path_are_left_out(self):
        edges = cell_edges(1.0, 0.02)
        assert edges[-1] <= 0.02
        np.testing.assert_array_equal(edges, cell_edges(1.0, 1.0)[: len(edges)])

    def test_a_path_that_ends_too_early_is_told(self):
        with refuses(DataError, "time_limit", found="0.001"):
            cell_edges(1.0, 0.001)

    def test_a_path_without_end_is_told(self):
        with refuses(DataError, "C_max", found="inf"):
            cell_edges(np.inf, np.inf)
