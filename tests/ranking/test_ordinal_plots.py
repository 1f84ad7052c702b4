"""Plots of ordinal models: regions are predicted levels, curves are scores and thresholds at every C."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from ranking import DataError, OrdinalSVM, OrdinalSVMPath, OrdinalSVMPathCV, RankSVMPath, SelectionCurve
from ranking.ordinal.students import students
from ranking.plot import plot_coefficients, plot_level_path, plot_levels, plot_pair_counts, plot_selection
from ranking.plots.ordinal import MARGIN, THRESHOLD, WRONG
from tests.refusals import refuses

CLASS = students(24)
X, Y = CLASS[["midterm", "final"]], CLASS["grade"]
SIGMA = 7.0


@pytest.fixture(scope="module")
def line():
    return OrdinalSVM(C=7.5).fit(X, Y)


@pytest.fixture(scope="module")
def islands():
    return OrdinalSVM(C=1e6, kernel="rbf", gamma=1 / (2 * SIGMA**2)).fit(X, Y)


@pytest.fixture(scope="module")
def path():
    return OrdinalSVMPath(C_max=10).fit(X, Y)


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def marks(axes, name):
    (found,) = [c for c in axes.collections if str(c.get_label()) == name]
    return np.asarray(found.get_offsets())


def contours(axes, is_filled=False):
    return [c for c in axes.collections if hasattr(c, "levels") and c.filled == is_filled]


def painted(axes, point):
    """The colour of the region a point lies in."""
    (regions,) = contours(axes, is_filled=True)
    inside = [k for k, part in enumerate(regions.get_paths()) if part.contains_point(point)]
    return tuple(np.round(regions.get_facecolor()[inside[0]], 6)) if inside else None


class TestLevels:
    @pytest.mark.parametrize("model", ["line", "islands"])
    def test_points_of_one_colour_are_those_predicted_alike(self, model, request):
        fitted = request.getfixturevalue(model)
        axes = plot_levels(fitted, X, Y, grid=120)
        asked = pd.DataFrame(np.random.default_rng(0).uniform(45, 90, (60, 2)), columns=X.columns)
        scores = fitted.predict_projection(asked)
        # a grid of 120 points knows no more of points that lie nearly on a threshold
        clear = np.abs(scores[:, None] - fitted.thresholds_).min(axis=1) > 0.2
        predicted = fitted.predict(asked)[clear]
        colours = [painted(axes, point) for point in asked.to_numpy()[clear]]
        assert len(set(zip(predicted, colours, strict=True))) == len(set(predicted)) == len(set(colours))
        assert len(set(predicted)) > 2

    def test_curves_are_thresholds_and_margins(self, line):
        drawn = [c.levels for c in contours(plot_levels(line, X, Y, grid=20))]
        assert drawn[0] == pytest.approx(line.thresholds_)
        assert drawn[1] == pytest.approx(np.sort([line.thresholds_ - 1, line.thresholds_ + 1], axis=None))

    def test_objects_are_marked_by_level_the_highest_first(self, line):
        axes = plot_levels(line, X, Y, grid=20)
        assert [name for name in legend(axes) if name in "ABCD"] == ["A", "B", "C", "D"]
        for grade in "ABCD":
            np.testing.assert_array_equal(marks(axes, grade), X[grade == Y])

    def test_rings_are_around_what_is_predicted_wrongly(self, line):
        axes = plot_levels(line, X, Y, grid=20)
        np.testing.assert_array_equal(marks(axes, WRONG), X[line.predict(X) != Y])
        right = (line.predict(X) == Y).sum()
        assert axes.get_title(loc="left") == f"C = 7.5: {right} of 24 predicted correctly"

    def test_where_all_is_right_there_is_no_ring(self, islands):
        axes = plot_levels(islands, X, Y, grid=20)
        assert set(legend(axes)) == {*"ABCD", THRESHOLD, MARGIN}

    def test_other_objects_than_those_of_the_fit_can_be_drawn(self, line):
        others = students(30, random_state=1)
        axes = plot_levels(line, others[["midterm", "final"]], others["grade"], grid=20)
        assert len(marks(axes, "B")) == (others["grade"] == "B").sum()

    def test_levels_the_model_lacks_are_marked_and_ringed(self):
        fitted = OrdinalSVM(C=1).fit([[0.0, 0.0], [1.0, 1.0]], [1, 3])
        axes = plot_levels(fitted, [[0.0, 0.0], [2.0, 2.0]], [1, 2], grid=10)
        assert marks(axes, WRONG).tolist() == [[2, 2]]
        assert {"1", "2"} <= set(legend(axes))

    def test_a_path_is_drawn_at_the_C_in_use_or_another(self, path, line):
        assert plot_levels(path, X, Y, grid=10).get_title(loc="left").startswith("C = 10:")
        drawn = contours(plot_levels(path, X, Y, C=7.5, grid=10))[0].levels
        assert drawn == pytest.approx(line.thresholds_)

    def test_a_search_is_drawn_at_the_C_it_chose_or_another(self, line):
        search = OrdinalSVMPathCV(OrdinalSVMPath(C_max=10), cv=2).fit(X, Y)
        assert plot_levels(search, X, Y, grid=10).get_title(loc="left").startswith(f"C = {search.C_:.4g}:")
        drawn = contours(plot_levels(search, X, Y, C=7.5, grid=10))[0].levels
        assert drawn == pytest.approx(line.thresholds_)

    def test_equal_and_unreached_thresholds_leave_a_picture(self):
        # nothing is learnt at a C this small: all scores are nearly the same
        fitted = OrdinalSVM(C=1e-9).fit(X, Y)
        axes = plot_levels(fitted, X, Y, grid=10)
        axes.figure.canvas.draw()
        assert set(marks(axes, WRONG).ravel()) <= set(X.to_numpy(dtype=float).ravel())

    def test_arrays_have_numbered_features(self):
        fitted = OrdinalSVM(C=1).fit(X.to_numpy(), Y)
        axes = plot_levels(fitted, X.to_numpy(), Y, grid=10)
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("feature 1", "feature 2")

    @pytest.mark.parametrize(
        ("rows", "labels", "options", "wrong"),
        [
            (X, Y[:3], {}, {"argument": "y", "found": 3}),
            (
                np.zeros((2, 3)),
                ["A", "B"],
                {},
                {"argument": "X", "found": "shape (2, 3) and a model of 2 features"},
            ),
            (X, ["E"] * 24, {}, {"argument": "y[0]", "found": "'E'"}),
            (X, Y, {"grid": 1}, {"argument": "grid", "found": 1}),
            (X, Y, {"C": 2.0}, {"argument": "C", "found": "OrdinalSVM"}),
        ],
    )
    def test_what_cannot_be_drawn_is_named(self, line, rows, labels, options, wrong):
        with refuses(DataError, **wrong):
            plot_levels(line, rows, labels, **options)

    def test_other_models_are_refused(self):
        fitted = RankSVMPath(C_max=1).fit(X, Y.cat.codes)
        with refuses(DataError, "model", found="RankSVMPath") as caught:
            plot_levels(fitted, X, Y)
        assert (caught.value.argument, caught.value.found) == ("model", "RankSVMPath")

    @pytest.mark.parametrize("model", [OrdinalSVM(), OrdinalSVMPath()])
    def test_unfitted_model_is_named(self, model):
        with pytest.raises(NotFittedError, match="not fitted"):
            plot_levels(model, X, Y)


class TestPath:
    def test_thick_curves_are_the_thresholds(self, path):
        drawn = [line for line in plot_level_path(path, X, Y).lines if line.get_linewidth() == 2]
        assert len(drawn) == 3
        for k, line in enumerate(drawn):
            for C, value in line.get_xydata()[::97]:
                assert value == pytest.approx(path.thresholds_at(C)[k], rel=1e-6)

    def test_thin_curves_are_the_scores_by_level(self, path):
        thin = [line for line in plot_level_path(path, X, Y).lines if line.get_linewidth() == 0.8]
        order = np.argsort(-Y.cat.codes.to_numpy(), kind="stable")
        assert len(thin) == len(Y)
        for row, line in zip(order[::5], thin[::5], strict=True):
            C, value = line.get_xydata()[-1]
            assert value == pytest.approx(path.predict_projection(X.iloc[[row]], C)[0])

    def test_levels_are_named_once(self, path):
        names = legend(plot_level_path(path, X, Y))
        assert names == ["A", "B", "C", "D", "thresholds p", "breakpoints"]

    def test_weights_of_an_ordinal_path_are_drawn_too(self, path):
        axes = plot_coefficients(path)
        (line,) = [line for line in axes.lines if line.get_label() == "final"]
        for C, value in line.get_xydata()[::97]:
            assert value == pytest.approx(path.coef_at(C)[1], rel=1e-6)
        assert axes.get_title(loc="left").startswith("Ordinal path: ")

    @pytest.mark.parametrize("C_max", [0.5, np.inf])
    def test_path_that_begins_late_and_never_bends_is_drawn(self, C_max):
        fitted = OrdinalSVMPath(C_min=0.4, C_max=C_max).fit([[0.0], [1.0]], [1, 2])
        lo, _ = plot_level_path(fitted, [[0.0], [1.0]], [1, 2]).get_xlim()
        assert lo >= 0.4

    def test_wrong_number_of_labels_is_refused(self, path):
        with refuses(DataError, "y", found=2):
            plot_level_path(path, X, Y[:2])

    def test_a_path_of_pairs_has_no_levels_and_one_of_levels_no_pairs(self, path):
        with refuses(DataError, "path_model", found="RankSVMPath"):
            plot_level_path(RankSVMPath(), X, Y)
        with refuses(DataError, "path_model", found="OrdinalSVMPath"):
            plot_pair_counts(path)


def test_selection_by_an_error_says_that_less_is_better():
    curve = SelectionCurve([0, 1, 4, 16], [0.5, 0.2, 0.4], [0.1, 0.1, 0.1], greater_is_better=False)
    axes = plot_selection(curve, metric="mean_absolute_error")
    assert axes.get_ylabel() == "mean absolute error, less is better"
    points = {line.get_marker(): line.get_xydata().tolist() for line in axes.lines}
    assert points["o"] == [[2.0, 0.2]]


def test_axes_handed_in_are_drawn_on(line, path):
    for draw in (
        lambda ax: plot_levels(line, X, Y, ax=ax, grid=10),
        lambda ax: plot_level_path(path, X, Y, ax=ax),
    ):
        axes = Figure().add_subplot()
        assert draw(axes) is axes
        axes.figure.canvas.draw()
