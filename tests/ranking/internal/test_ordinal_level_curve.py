"""level_curve: a metric of predicted levels at every C is what counting thresholds finds at many."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ranking import metrics
from ranking.errors import DataError
from ranking.metrics.levels import LEVEL_METRICS, confusion_table, table_errors
from ranking.ordinal.level_curve import LevelLines, level_curve
from ranking.selection.piecewise import PiecewiseLinear
from tests.refusals import refuses
from tests.systems import FEW

LARGE_C = 50.0


def level_lines(lo, hi, constant, slope, threshold_constant, threshold_slope):
    scores = PiecewiseLinear(lo, hi, constant, slope)
    return LevelLines(scores, PiecewiseLinear(lo, hi, threshold_constant, threshold_slope))


def from_knots(edges, knots, thresholds, hi=None):
    """Lines that take the values of knots at edges, on the pieces in between."""

    def lines(values):
        slope = np.diff(values, axis=0) / np.diff(edges)[:, None]
        return values[:-1] - edges[:-1, None] * slope, slope

    ends = edges[1:].copy()
    ends[-1] = ends[-1] if hi is None else hi
    return level_lines(edges[:-1], ends, *lines(knots), *lines(thresholds))


@st.composite
def paths(draw):
    """Lines with whole knots, so that they cross, tie and touch, thresholds in order, and true levels."""
    n, n_thresholds, pieces = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    edges = np.cumsum([0.0, *draw(st.lists(st.sampled_from([0.5, 1, 2]), min_size=pieces, max_size=pieces))])

    def knots(size):
        row = st.lists(st.integers(-2, 2), min_size=size, max_size=size)
        return np.array([draw(row) for _ in range(pieces + 1)], dtype=float)

    scores, thresholds = knots(n), np.sort(knots(n_thresholds), axis=1)
    hi = draw(st.sampled_from([None, np.inf]))
    y = draw(st.lists(st.integers(0, n_thresholds), min_size=n, max_size=n))
    return from_knots(edges, scores, thresholds, hi), np.array(y), n_thresholds + 1


def levels_at(lines, C):
    """How many thresholds every score exceeds at one C, differences of round-off being none."""
    f, p = lines.scores.at(C)[0], lines.thresholds.at(C)[0]
    return ((f[:, None] - p).round(11) > 0).sum(axis=1)


def places(lines):
    """The middles between all crossings of a score and a threshold and all ends, and beyond the last."""
    scores, thresholds = lines
    found = {*scores.lo, *scores.hi[np.isfinite(scores.hi)]}
    for k, (lo, hi) in enumerate(zip(scores.lo, scores.hi, strict=True)):
        d0 = np.subtract.outer(scores.constant[k], thresholds.constant[k])
        d1 = np.subtract.outer(scores.slope[k], thresholds.slope[k])
        found |= {root for root in -d0[d1 != 0] / d1[d1 != 0] if lo < root < hi}
    edges = np.array(sorted(found))
    edges = edges[np.append(True, np.diff(edges) > 1e-9)]
    beyond = [edges[-1] + 1, edges[-1] + LARGE_C] if np.isinf(lines.hi[-1]) else []
    return [*(edges[:-1] + edges[1:]) / 2, *beyond]


def is_defined(metric, y):
    return len(set(y)) > 1 or metric not in ("quadratic_weighted_kappa", "level_kendall_tau")


@pytest.mark.parametrize("metric", LEVEL_METRICS)
class TestCurve:
    @FEW
    @given(data=paths())
    def test_it_is_the_metric_between_all_crossings(self, metric, data):
        lines, y, n_levels = data
        if not is_defined(metric, y):
            return
        curve, of = level_curve([lines], y, n_levels, metric), getattr(metrics, metric)
        for C in places(lines):
            wanted = of(y, levels_at(lines, C), range(n_levels))
            assert curve.at(C) == pytest.approx(wanted, abs=1e-12)

    @FEW
    @given(data=paths())
    def test_its_errors_are_those_of_the_jackknife(self, metric, data):
        lines, y, n_levels = data
        if not is_defined(metric, y):
            return
        curve = level_curve([lines], y, n_levels, metric)
        for C in places(lines):
            table = confusion_table(y, levels_at(lines, C), n_levels)
            wanted = float(table_errors(LEVEL_METRICS[metric].of, table))
            assert curve.error_at(C) == pytest.approx(wanted, abs=1e-6, nan_ok=True)

    @FEW
    @given(data=paths())
    def test_the_best_is_the_best_at_any_C(self, metric, data):
        lines, y, n_levels = data
        if not is_defined(metric, y):
            return
        curve, of = level_curve([lines], y, n_levels, metric), getattr(metrics, metric)
        values = [of(y, levels_at(lines, C), range(n_levels)) for C in places(lines)]
        best = max(values) if LEVEL_METRICS[metric].greater_is_better else min(values)
        assert curve.best == pytest.approx(best, abs=1e-12)
        # right of C_best, since a score may touch a threshold in this one point
        at_best = levels_at(lines, curve.C_best * (1 + 1e-9))
        assert of(y, at_best, range(n_levels)) == pytest.approx(best, abs=1e-12)

    def test_a_level_that_lines_do_not_know_is_never_predicted(self, metric):
        random = np.random.default_rng(0)
        lines = from_knots(np.arange(6.0), random.normal(size=(6, 9)), np.sort(random.normal(size=(6, 1))))
        y, known = random.integers(0, 4, 9), np.array([0, 3])
        curve, of = level_curve([lines], y, 4, metric, known), getattr(metrics, metric)
        for C in places(lines):
            assert curve.at(C) == pytest.approx(of(y, known[levels_at(lines, C)], range(4)), abs=1e-12)


class TestFunctions:
    @FEW
    @given(data=paths())
    def test_a_function_is_given_true_and_predicted_levels(self, data):
        lines, y, n_levels = data
        weights = np.arange(len(y)) + 1.0

        def weighted(true, predicted):
            return -(weights * np.abs(true - predicted)).sum()

        curve = level_curve([lines], y, n_levels, weighted)
        assert curve.greater_is_better
        for C in places(lines):
            assert curve.at(C) == weighted(y, levels_at(lines, C))

    def test_what_it_does_to_its_arguments_does_not_count(self):
        lines = from_knots(np.array([0.0, 2.0]), np.array([[0.0, 1], [2, 3]]), np.array([[1.5], [1.5]]))

        def spoiling(true, predicted):
            found = float((true == predicted).mean())
            predicted[:] = true[:] = 0
            return found

        curve = level_curve([lines], [0, 1], 2, spoiling)
        assert (curve.edges.tolist(), curve.values.tolist()) == ([0, 0.5, 1.5, 2], [0.5, 1, 0.5])


class TestPieces:
    @FEW
    @given(data=paths())
    def test_it_does_not_matter_how_they_are_handed_over(self, data):
        lines, y, n_levels = data
        single = [lines.pieces(slice(k, k + 1)) for k in range(len(lines.hi))]
        one, many = level_curve([lines], y, n_levels), level_curve(single, y, n_levels)
        assert_allclose(one.edges, many.edges)
        assert_array_equal(one.values, many.values)

    @pytest.mark.parametrize("entries", [1, 40, 600])
    @pytest.mark.parametrize("metric", ["mean_absolute_error", "level_kendall_tau"])
    def test_too_many_for_one_look_are_looked_at_in_parts(self, monkeypatch, entries, metric):
        random = np.random.default_rng(1)
        thresholds = np.sort(random.normal(size=(21, 3)))
        lines = from_knots(np.arange(21.0), random.normal(size=(21, 15)), thresholds)
        y = random.integers(0, 4, 15)
        at_once = level_curve([lines], y, 4, metric)
        for module in ("ordinal.level_curve", "selection.piecewise"):
            monkeypatch.setattr(f"ranking.{module}.ENTRIES", entries)
        in_parts = level_curve([lines], y, 4, metric)
        assert_array_equal(in_parts.edges, at_once.edges)
        assert_array_equal(in_parts.values, at_once.values)
        for C in random.uniform(0, 20, 50):
            wanted = getattr(metrics, metric)(y, levels_at(lines, C), range(4))
            assert in_parts.at(C) == pytest.approx(wanted, abs=1e-12)


class TestRoundOff:
    def test_a_score_that_is_a_threshold_does_not_exceed_it(self):
        line = [[0.0], [1.0], [[0.0, 0.0]], [[0.1 + 0.2, 1.0]], [[0.0]], [[0.3]]]
        curve = level_curve([level_lines(*map(np.array, line))], [0, 1], 2, "accuracy")
        assert (curve.edges.tolist(), curve.values.tolist()) == ([0, 1], [1])

    def test_round_off_at_the_beginning_is_no_crossing(self):
        line = [[0.0], [1.0], [[-1e-17]], [[1.0]], [[0.0]], [[0.0]]]
        curve = level_curve([level_lines(*map(np.array, line))], [1], 2, "accuracy")
        assert (curve.edges.tolist(), curve.values.tolist()) == ([0, 1], [1])

    @pytest.mark.parametrize("steep", [1.0, 1e-6])
    def test_equal_thresholds_are_crossed_at_once(self, steep):
        """Between them lies no level, though round-off may tear them apart."""
        first = 1 + 3 * steep
        both = [first, np.nextafter(first, 9)]
        line = [[0.0], [8.0], [[1.0]], [[0.1 + steep]], [both], [[0.1, 0.1]]]
        curve = level_curve([level_lines(*map(np.array, line))], [1], 3)
        assert (len(curve.values), curve.best) == (1, 1)

    def test_lines_that_meet_at_one_C_cross_at_once(self):
        """Two items of different slope meet their threshold at C = 1/3, in digits that differ."""
        third = 1 / 3
        line = [[0.0], [1.0], [[-7 * third, 0.1 * third]], [[7.0, -0.1]], [[0.0]], [[0.0]]]
        curve = level_curve([level_lines(*map(np.array, line))], [1, 1], 2, "accuracy")
        assert curve.values.tolist() == [0.5]


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"y_codes": [1]}, {"argument": "y_codes", "found": 1}),
        ({"y_codes": [1, 2]}, {"argument": "y_codes[1]", "found": "2"}),
        ({"y_codes": [0.0, 0.5]}, {"argument": "y_codes", "found": "dtype float64"}),
        ({"y_codes": []}, {"argument": "y_codes"}),
        ({"n_levels": 3}, {"argument": "predicted", "found": 3}),
        ({"predicted": [1, 0]}, {"argument": "predicted", "found": "[1, 0]"}),
        ({"metric": "rmse"}, {"argument": "metric", "found": "'rmse'"}),
        ({"metric": lambda *_: np.inf}, {"argument": "values of metric", "found": "inf at C = 0"}),
        (
            {"y_codes": [1, 1], "metric": "level_kendall_tau"},
            {"argument": "level_kendall_tau", "found": "nan at C = 0"},
        ),
        ({"lines": []}, {"argument": "path"}),
    ],
)
def test_what_cannot_be_validated_is_named(arguments, wrong):
    line = [[0.0], [1.0], [[0.0, 0.0]], [[1.0, 2.0]], [[0.5]], [[0.0]]]
    given = {"lines": [level_lines(*map(np.array, line))], "y_codes": [0, 1], "n_levels": 2}
    with refuses(DataError, **wrong):
        level_curve(**given | arguments)
