"""choice_along_path: a metric at every C is what brute force finds at many; the best C follow from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ranking import metrics
from ranking.errors import DataError
from ranking.selection.choice_along_path import SelectionCurve, average_curves, log_midpoint, validation_curve
from ranking.selection.piecewise import PiecewiseLinear
from tests.refusals import refuses
from tests.systems import FEW

LARGE_C = 50.0
METRICS = ("pairwise_accuracy", "kendall_tau", "ndcg", "mean_ndcg", "spearman", "mean_average_precision")


@st.composite
def paths(draw):
    """Continuous score lines with whole knots, so that they cross, tie and touch, and labels in queries."""
    n, pieces = draw(st.integers(2, 7)), draw(st.integers(1, 4))
    edges = np.cumsum([0.0, *draw(st.lists(st.sampled_from([0.5, 1, 2]), min_size=pieces, max_size=pieces))])
    whole = st.lists(st.integers(-2, 2), min_size=n, max_size=n)
    knots = np.array([draw(whole) for _ in range(pieces + 1)], dtype=float)
    knots[0] *= draw(st.sampled_from([0, 1]))
    slope = np.diff(knots, axis=0) / np.diff(edges)[:, None]
    constant = knots[:-1] - edges[:-1, None] * slope
    hi = edges[1:].copy()
    hi[-1] = draw(st.sampled_from([hi[-1], np.inf]))
    y = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n).filter(lambda labels: len(set(labels)) > 1))
    qid = draw(st.sampled_from([None, [k % 2 for k in range(n)]]))
    return PiecewiseLinear(edges[:-1], hi, constant, slope), y, qid


def has_pair(y, qid):
    query = [0] * len(y) if qid is None else qid
    return any(a > b and p == q for a, p in zip(y, query, strict=True) for b, q in zip(y, query, strict=True))


def scores_at(lines, C):
    """The scores at one C, sums that differ by round-off made equal."""
    piece = int(np.searchsorted(lines.lo, C, side="right")) - 1
    return (lines.constant[piece] + C * lines.slope[piece]).round(11)


def places(lines):
    """The middles between all crossings of any two lines and all ends, and beyond the last of them."""
    found = {*lines.lo, *lines.hi[np.isfinite(lines.hi)]}
    for lo, hi, a, b in zip(lines.lo, lines.hi, lines.constant, lines.slope, strict=True):
        d0, d1 = np.subtract.outer(a, a), np.subtract.outer(b, b)
        roots = -d0[d1 != 0] / d1[d1 != 0]
        found |= {root for root in roots if lo < root < hi}
    edges = np.array(sorted(found))
    edges = edges[np.append(True, np.diff(edges) > 1e-9)]
    beyond = [edges[-1] + 1, edges[-1] + LARGE_C] if np.isinf(lines.hi[-1]) else []
    return [*(edges[:-1] + edges[1:]) / 2, *beyond]


def naive_error(y, scores, qid):
    """The standard error over queries, or of the jackknife over the items of a single one, by definition."""
    by_query = metrics.per_query("pairwise_accuracy", y, scores, qid).dropna()
    if len(by_query) > 1:
        return np.std(by_query, ddof=1) / np.sqrt(len(by_query))
    y = np.array(y)
    rows = np.arange(len(y)) if qid is None else np.flatnonzero(np.array(qid) == by_query.index[0])
    without = []
    for i in range(len(y)):
        rest = rows[rows != i]
        if len(set(y[rest])) > 1:
            without.append(metrics.pairwise_accuracy(y[rest], scores[rest]))
    n = len(without)
    return np.sqrt((n - 1) / n * np.sum((np.array(without) - np.mean(without)) ** 2)) if n > 1 else np.nan


class TestCurve:
    @pytest.mark.parametrize("metric", METRICS)
    @FEW
    @given(data=paths())
    def test_it_is_the_metric_between_all_crossings(self, metric, data):
        lines, y, qid = data
        labels = [int(label > 0) for label in y] if metric == "mean_average_precision" else y
        if not has_pair(labels, qid):
            return
        curve = validation_curve([lines], labels, qid, metric)
        for C in places(lines):
            wanted = getattr(metrics, metric)(labels, scores_at(lines, C), qid)
            assert curve.at(C) == pytest.approx(wanted, abs=1e-9)

    @FEW
    @given(data=paths())
    def test_its_errors_are_those_of_the_definition(self, data):
        lines, y, qid = data
        if not has_pair(y, qid):
            return
        curve = validation_curve([lines], y, qid)
        for C in places(lines):
            wanted = naive_error(y, scores_at(lines, C), qid)
            assert curve.error_at(C) == pytest.approx(wanted, abs=1e-6, nan_ok=True)

    @FEW
    @given(data=paths())
    def test_it_does_not_matter_how_pieces_are_handed_over(self, data):
        lines, y, qid = data
        if not has_pair(y, qid):
            return
        single = [lines.pieces(slice(k, k + 1)) for k in range(len(lines.lo))]
        one, many = validation_curve([lines], y, qid), validation_curve(single, y, qid)
        assert_allclose(one.edges, many.edges)
        assert_allclose(one.values, many.values)

    def test_pairs_too_many_for_one_look_are_looked_at_in_parts(self, monkeypatch):
        random, n, edges = np.random.default_rng(0), 20, np.arange(21.0)
        knots = random.normal(size=(21, n))
        slope = np.diff(knots, axis=0)
        lines = PiecewiseLinear(edges[:-1], edges[1:], knots[:-1] - edges[:-1, None] * slope, slope)
        at_once = validation_curve([lines], np.arange(n))
        for module in ("choice_along_path", "piecewise"):
            monkeypatch.setattr(f"ranking.selection.{module}.ENTRIES", 3 * n * (n - 1) // 2)
        in_parts = validation_curve([lines], np.arange(n))
        assert_allclose(in_parts.edges, at_once.edges)
        assert_allclose(in_parts.values, at_once.values)
        for C in random.uniform(0, 20, 50):
            wanted = metrics.pairwise_accuracy(np.arange(n), scores_at(lines, C))
            assert in_parts.at(C) == pytest.approx(wanted, abs=1e-12)

    def test_lines_of_equal_rows_stay_tied_through_round_off(self):
        lines = PiecewiseLinear(*map(np.array, ([0.0], [1.0], [[0.0, 1e-17, 0.0]], [[0.3, 0.1 + 0.2, -1.0]])))
        for metric, value in (("pairwise_accuracy", 0.75), ("kendall_tau", 0.5)):
            curve = validation_curve([lines], [1, 0, 0], metric=metric)
            assert curve.edges.tolist() == [0, 1]
            assert curve.values == pytest.approx([value])

    def test_round_off_at_the_beginning_is_no_crossing(self):
        lines = PiecewiseLinear(*map(np.array, ([0.0], [1.0], [[-1e-17, 0.0]], [[1.0, 0.0]])))
        curve = validation_curve([lines], [1, 0])
        assert (curve.edges.tolist(), curve.values.tolist()) == ([0, 1], [1])

    def test_a_function_is_given_labels_scores_and_queries(self):
        lines = PiecewiseLinear(*map(np.array, ([0.0], [2.0], [[0.0, 1.0]], [[1.0, 0.0]])))
        curve = validation_curve([lines], [1, 0], ["a", "a"], lambda y, s, qid: float(s[0] > s[1]) * len(qid))
        assert (curve.edges.tolist(), curve.values.tolist()) == ([0, 1, 2], [0, 2])

    @pytest.mark.parametrize(
        ("arguments", "wrong"),
        [
            ({"y": [1]}, {"argument": "y"}),
            ({"y": [2, 1, 0]}, {"argument": "y", "found": 3}),
            ({"y": [1, 1]}, {"argument": "y"}),
            ({"y": [1, 0], "qid": ["a", "b"]}, {"argument": "y"}),
            ({"y": [1, np.nan]}, {"argument": "y[1]"}),
            ({"y": [1, 0], "metric": "auc"}, {"argument": "metric", "found": "'auc'"}),
            (
                {"y": [1, 0], "metric": lambda *_: np.nan},
                {"argument": "values of metric", "found": "nan at C = 0.381966"},
            ),
            ({"y": [1, 0], "lines": []}, {"argument": "path"}),
        ],
    )
    def test_what_cannot_be_validated_is_named(self, arguments, wrong):
        lines = [PiecewiseLinear(*map(np.array, ([0.0], [1.0], [[0.0, 0.0]], [[1.0, 0.0]])))]
        with refuses(DataError, **wrong):
            validation_curve(**({"lines": lines} | arguments))


curves = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=8).flatmap(
    lambda values: st.builds(
        lambda gaps, errors, end: SelectionCurve(
            np.append(np.cumsum([0, *gaps[:-1]]), end or sum(gaps)), values, errors
        ),
        st.lists(st.sampled_from([0.25, 1, 3]), min_size=len(values), max_size=len(values)),
        st.lists(st.sampled_from([0.0, 0.1, 0.3, np.nan]), min_size=len(values), max_size=len(values)),
        st.sampled_from([None, np.inf]),
    )
)


class TestChoice:
    @given(curve=curves)
    def test_best_intervals_are_all_steps_with_the_best_value(self, curve):
        inside = [
            any(lo <= a and b <= hi for lo, hi in curve.best_intervals)
            for a, b in zip(curve.edges, curve.edges[1:], strict=False)
        ]
        assert inside == (curve.values == max(curve.values)).tolist()

    @given(curve=curves)
    def test_the_best_C_is_inside_a_best_interval(self, curve):
        assert any(lo < curve.C_best < hi for lo, hi in curve.best_intervals)
        assert curve.at(curve.C_best) == curve.best

    @given(curve=curves)
    def test_one_standard_error_regularises_no_less_and_loses_no_more(self, curve):
        C, error = curve.C_one_standard_error, curve.errors[curve.values.argmax()]
        assert curve.C_best >= C
        assert curve.at(C) >= curve.best - np.nan_to_num(error) - 1e-9
        earlier = curve.values[(curve.edges[1:] <= C) & (curve.values != curve.at(C))]
        assert (earlier < curve.best - np.nan_to_num(error)).all()

    @given(curve=curves)
    def test_where_smaller_is_better_the_choices_are_those_of_the_negatives(self, curve):
        loss = SelectionCurve(curve.edges, -curve.values, curve.errors, greater_is_better=False)
        assert loss.best == -curve.best
        assert loss.best_intervals == curve.best_intervals
        assert (loss.C_best, loss.C_one_standard_error) == (curve.C_best, curve.C_one_standard_error)
        assert_allclose(loss.at(loss.C_best), loss.values.min())

    def test_the_middle_is_that_of_logarithms(self):
        assert log_midpoint((2, 8)) == 4
        assert log_midpoint((0, np.inf)) == 1

    def test_a_table_has_a_row_a_step(self):
        table = SelectionCurve([0, 1, 4], [0.5, 0.9], [0.1, 0.2]).to_frame()
        assert table.to_numpy().tolist() == [[0, 1, 0.5, 0.1], [1, 4, 0.9, 0.2]]

    @pytest.mark.parametrize("C", [-1, 17, np.nan, [1, 17]])
    def test_C_beyond_the_curve_is_refused(self, C):
        curve = SelectionCurve([0, 1, 16], [0.5, 0.9], [0.1, 0.1])
        with refuses(DataError, "C", expected="between 0 and 16"):
            curve.at(C)

    @pytest.mark.parametrize(
        ("parts", "argument"),
        [
            (([0], [], []), "values and errors"),
            (([0, 1], [1, 2], [1, 2]), "values and errors"),
            (([1, 0], [1], [1]), "edges"),
        ],
    )
    def test_a_curve_that_is_none_is_refused(self, parts, argument):
        with refuses(DataError, argument):
            SelectionCurve(*parts)


class TestMean:
    @given(parts=st.lists(curves, min_size=1, max_size=4), seed=st.integers(0, 99))
    def test_it_is_the_mean_at_every_C_that_all_curves_know(self, parts, seed):
        mean = average_curves(parts)
        assert mean.edges[0] == 0
        assert mean.edges[-1] == min(curve.edges[-1] for curve in parts)
        for C in np.random.default_rng(seed).uniform(0, min(mean.edges[-1], LARGE_C), 10):
            values = [float(curve.at(C)) for curve in parts]
            assert mean.at(C) == pytest.approx(np.mean(values), abs=1e-9)
            if len(parts) > 1:
                error = np.std(values, ddof=1) / np.sqrt(len(values))
                assert mean.error_at(C) == pytest.approx(error, abs=1e-6)

    def test_curves_without_a_common_C_have_none(self):
        left, right = SelectionCurve([0, 1], [1], [0]), SelectionCurve([2, 3], [1], [0])
        with refuses(DataError, "curves", found="a start at 2 and an end at 1"):
            average_curves([left, right])

    def test_the_mean_of_losses_is_a_loss(self):
        low, high = (SelectionCurve([0, 1], [value], [0], greater_is_better=False) for value in (1, 2))
        assert not average_curves([low, high]).greater_is_better

    def test_gains_and_losses_have_no_mean(self):
        gain, loss = (SelectionCurve([0, 1], [1], [0], is_gain) for is_gain in (True, False))
        with refuses(DataError, "curves"):
            average_curves([gain, loss])

    def test_steps_of_round_off_are_no_steps(self):
        edge = 0.1 + 0.2
        curves = [SelectionCurve([0, at, 1], [0, 1], [0, 0]) for at in (0.3, edge)]
        assert edge != 0.3
        assert average_curves(curves).values.tolist() == [0, 1]

    def test_no_curves_have_no_mean(self):
        with refuses(DataError, "curves"):
            average_curves([])
