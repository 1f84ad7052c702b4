"""ranking.plot: axes show what models predict at every C; nothing is shown, printed or changed."""

import subprocess
import sys

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from ranking import DataError, RankSVM, RankSVMPath, RankSVMPathCV, SelectionCurve, preference_graph
from ranking.plot import (
    plot_coefficients,
    plot_decision,
    plot_decisions,
    plot_pair_counts,
    plot_preference_graph,
    plot_scores,
    plot_selection,
)
from tests.ranking.studies import NAMES, items, plane
from tests.refusals import refuses

TRAIN, VALIDATION = items(16, seed=0), items(20, seed=1)
CURVE = SelectionCurve([0, 1, 4, 16, 32], [0.5, 0.9, 0.8, 0.9], [0.1, 0.2, 0.1, 0.1])


@pytest.fixture(scope="module")
def model():
    return RankSVMPath(C_max=50).fit(TRAIN.X, TRAIN.y)


@pytest.fixture(scope="module")
def disc():
    X, y = plane(16, seed=0)
    return RankSVMPath(C_max=50, kernel="rbf", gamma=1.0).fit(X, y)


def legend(axes):
    return [text.get_text().strip().replace(r"\$", "$") for text in axes.get_legend().get_texts()]


def named(axes, name):
    (line,) = [line for line in axes.lines if str(line.get_label()).strip().replace(r"\$", "$") == name]
    return line.get_xydata()


def every(axes, step=37):
    """Names of curves and some of their points."""
    for name in legend(axes):
        if name != "breakpoints":
            yield name, named(axes, name)[::step]


class TestCoefficients:
    def test_curves_are_the_weights(self, model):
        for name, points in every(plot_coefficients(model)):
            expected = [model.coef_at(C)[NAMES.index(name)] for C in points[:, 0]]
            assert points[:, 1] == pytest.approx(expected, abs=1e-9)

    def test_curves_pass_through_every_bend(self, model):
        assert np.isin(model.breakpoints_, named(plot_coefficients(model), "price")[:, 0]).all()

    def test_axis_is_logarithmic_from_the_first_bend_to_the_end(self, model):
        axes = plot_coefficients(model)
        assert axes.get_xscale() == "log"
        assert axes.get_xlim() == pytest.approx((model.breakpoints_[0], 50))

    def test_top_axis_is_lambda(self, model):
        axes = plot_coefficients(model)
        axes.figure.draw_without_rendering()
        (top,) = axes.child_axes
        assert top.get_xlabel() == "λ = 1/C"
        for C in (0.1, 20):
            below, above = axes.transData.transform((C, 0)), top.transData.transform((1 / C, 0))
            assert below[0] == pytest.approx(above[0])

    def test_marks_are_bends_and_leave_no_gap(self, model):
        marks = named(plot_coefficients(model), "breakpoints")[:, 0]
        assert np.isin(marks, model.breakpoints_).all()
        share = np.log(50 / model.breakpoints_[0])
        nearest = np.abs(np.log(model.breakpoints_[:, None] / marks)).min(axis=1)
        assert nearest.max() <= 0.0041 * share

    def test_names_can_be_given(self, model):
        assert set(legend(plot_coefficients(model, names="abcd"))) == {*"abcd", "breakpoints"}

    def test_arrays_have_numbered_features(self):
        model = RankSVMPath(C_max=1).fit(TRAIN.X.to_numpy(), TRAIN.y)
        assert "feature 1" in legend(plot_coefficients(model))

    def test_wrong_number_of_names_is_refused(self, model):
        with refuses(DataError, "names", found=3) as caught:
            plot_coefficients(model, names="abc")
        assert (caught.value.argument, caught.value.found) == ("names", 3)

    def test_kernel_model_has_none_and_names_the_remedy(self, disc):
        with refuses(DataError, "path_model", found="'rbf'"):
            plot_coefficients(disc)

    def test_cross_validated_model_shows_the_refitted_path(self):
        search = RankSVMPathCV(RankSVMPath(C_max=1), cv=2).fit(TRAIN.X, TRAIN.y)
        path = search.best_estimator_
        assert np.array_equal(
            named(plot_coefficients(search), "price"), named(plot_coefficients(path), "price")
        )

    def test_path_without_end_is_drawn_beyond_its_last_bend(self):
        model = RankSVMPath(C_max=np.inf).fit(TRAIN.X, TRAIN.y)
        assert plot_coefficients(model).get_xlim()[1] > model.breakpoints_[-1]

    def test_path_without_bends_is_drawn(self):
        # w = C as long as the only pair violates its margin
        model = RankSVMPath(C_max=0.5).fit([[0.0], [1.0]], [0, 1])
        curve = named(plot_coefficients(model), "feature 1")
        assert curve[:, 1] == pytest.approx(curve[:, 0])


class TestScores:
    def test_curves_are_the_scores(self, disc):
        X, _ = plane(3, seed=5)
        for name, points in every(plot_scores(disc, X, labels=["a", "b", "c"])):
            expected = disc.decision_function(X[["abc".index(name)]], C=points[:, 0])
            assert points[:, 1] == pytest.approx(expected.ravel(), abs=1e-8)

    def test_of_many_those_that_move_most_are_named_from_the_top_down(self, model):
        axes = plot_scores(model, VALIDATION.X)
        names = legend(axes)[:-1]
        assert len(names) == 12
        ends = [named(axes, name)[-1, 1] for name in names]
        assert ends == sorted(ends, reverse=True)
        assert "8 curves that move least in grey" in axes.get_title(loc="left")

    def test_thousands_of_rows_are_refused(self, disc):
        with refuses(DataError, "X", found=1001):
            plot_scores(disc, np.zeros((1001, 2)))

    def test_one_C_is_no_path(self):
        fitted = RankSVM().fit(TRAIN.X, TRAIN.y)
        with refuses(DataError, "path_model", found="RankSVM") as caught:
            plot_scores(fitted, TRAIN.X)
        assert (caught.value.argument, caught.value.found) == ("path_model", "RankSVM")
        assert "RankSVMPath or OrdinalSVMPath" in caught.value.expected


@pytest.mark.parametrize("plot", [plot_coefficients, plot_pair_counts, lambda m: plot_scores(m, [[0.0]])])
def test_unfitted_model_is_named(plot):
    with pytest.raises(NotFittedError, match="RankSVMPath instance is not fitted"):
        plot(RankSVMPath())


class TestPairCounts:
    @pytest.mark.parametrize(
        ("label", "which"), [("I_1", "violated"), (r"I_\alpha", "margin"), ("I_0", "satisfied")]
    )
    def test_steps_are_the_sizes_of_the_sets(self, disc, label, which):
        axes = plot_pair_counts(disc)
        (line,) = [line for line in axes.lines if label in str(line.get_label())]
        for C, size in line.get_xydata()[:-1:23]:
            assert len(getattr(disc.pair_sets(C), which)) == size

    def test_sets_hold_all_pairs_everywhere(self, disc):
        sizes = [line.get_ydata() for line in plot_pair_counts(disc).lines[:3]]
        assert (np.sum(sizes, axis=0) == len(disc.preferences_)).all()


class TestSelection:
    def test_steps_are_the_values(self):
        axes = plot_selection(CURVE, metric="pairwise_accuracy")
        points = named(axes, "value")
        assert points[1:].tolist() == [[1, 0.9], [4, 0.8], [16, 0.9], [32, 0.9]]
        assert 0 < points[0, 0] < 1
        assert points[0, 1] == 0.5
        assert axes.get_ylabel() == "pairwise accuracy"

    def test_both_choices_are_marked_and_named(self):
        axes = plot_selection(CURVE)
        marks = {line.get_marker(): line.get_xydata().tolist() for line in axes.lines}
        assert marks["o"] == [[CURVE.C_best, 0.9]]
        assert marks["s"] == [[CURVE.C_one_standard_error, CURVE.at(CURVE.C_one_standard_error)]]
        assert f"best: C = {CURVE.C_best:.4g}, λ = {1 / CURVE.C_best:.4g}" in legend(axes)

    def test_all_best_intervals_are_shaded(self):
        axes = plot_selection(CURVE)
        (bars,) = [c for c in axes.collections if "2 intervals" in str(c.get_label())]
        spans = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in bars.get_paths()]
        assert spans == CURVE.best_intervals == [(1, 4), (16, 32)]

    def test_band_is_one_standard_error_to_each_side(self):
        (band,) = [c for c in plot_selection(CURVE).collections if "error" in str(c.get_label())]
        heights = band.get_paths()[0].vertices[:, 1]
        assert (heights.min(), heights.max()) == pytest.approx((0.4, 1.1))

    def test_curve_without_errors_has_no_band(self):
        assert not any("error" in name and "±" in name for name in legend(plot_selection(_without_errors())))

    @pytest.mark.parametrize("edges", [[0, np.inf], [0, 8], [0, 1, np.inf], [0.5, 1, 2]], ids=str)
    def test_choices_are_inside_the_picture_whatever_the_ends(self, edges):
        count = len(edges) - 1
        curve = SelectionCurve(edges, np.linspace(0.5, 1, count), np.full(count, 0.01))
        axes = plot_selection(curve)
        axes.figure.draw_without_rendering()
        lo, hi = axes.get_xlim()
        assert lo <= curve.C_one_standard_error <= curve.C_best <= hi

    def test_hundred_thousand_steps_are_thinned_and_keep_their_extremes(self):
        chance = np.random.default_rng(0)
        curve = SelectionCurve(np.geomspace(1e-4, 1e3, 100_001), chance.random(100_000), np.zeros(100_000))
        axes = plot_selection(curve)
        axes.figure.canvas.draw()
        points = named(axes, "value")
        # at most four steps per column of the picture
        assert len(points) < 7000
        assert (points[:, 1].min(), points[:, 1].max()) == (curve.values.min(), curve.values.max())
        assert points[:-1, 1] == pytest.approx(curve.at(points[:-1, 0]))

    def test_anything_else_is_refused(self):
        with refuses(DataError, "curve", found="list"):
            plot_selection([0.5])


def _without_errors():
    return SelectionCurve(CURVE.edges, CURVE.values, np.full(4, np.nan))


class TestDecision:
    @pytest.mark.parametrize("C", [None, 0.5])
    def test_bands_cover_all_scores_of_the_grid(self, disc, C):
        X, y = plane(16, seed=0)
        axes = plot_decision(disc, X, y, C=C, grid=20)
        (bands,) = [c for c in axes.collections if hasattr(c, "levels") and c.filled]
        scores = disc.decision_function(X, C=C)
        assert bands.levels[0] <= scores.min()
        assert bands.levels[-1] >= scores.max()
        assert axes.get_title(loc="left").startswith(f"C = {disc.C_ if C is None else C:.4g}")

    def test_every_item_is_marked_by_its_label(self, disc):
        X, y = plane(16, seed=0)
        axes = plot_decision(disc, X, y, grid=5)
        marks = {
            str(c.get_label()): c.get_offsets() for c in axes.collections if "y = " in str(c.get_label())
        }
        assert legend(axes) == ["y = 0", "y = 1"]
        for label in (0, 1):
            np.testing.assert_array_equal(marks[f"y = {label}"], X[y == label])

    def test_many_labels_have_a_scale(self):
        X, _ = plane(16, seed=0)
        fitted = RankSVM().fit(pd.DataFrame(X, columns=["a", "b"]), X[:, 0])
        axes = plot_decision(fitted, X, X[:, 0], grid=5)
        assert axes.get_legend() is None
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("a", "b")

    def test_four_panels_have_one_C_each(self, disc):
        X, y = plane(16, seed=0)
        panels = plot_decisions(disc, X, y, [0.1, 1, 10, 50], grid=5)
        titles = [axes.get_title(loc="left") for axes in panels]
        assert titles[0] == "(a) C = 0.1, λ = 10"
        assert titles[3] == "(d) C = 50, λ = 0.02"
        assert len({axes.figure for axes in panels}) == 1

    def test_panels_by_default_go_from_the_first_bend_to_the_end(self, disc):
        X, y = plane(16, seed=0)
        titles = [axes.get_title(loc="left") for axes in plot_decisions(disc, X, y, grid=5)]
        assert len(titles) == 4
        assert f"C = {disc.breakpoints_[0]:.4g}" in titles[0]
        assert "C = 50" in titles[3]

    @pytest.mark.parametrize(
        ("X", "y", "options", "wrong"),
        [
            (
                np.zeros((2, 3)),
                [0, 1],
                {},
                {"argument": "X", "found": "shape (2, 3) and a model of 2 features"},
            ),
            (np.zeros((2, 2)), [0, 1, 2], {}, {"argument": "y", "found": 3}),
            ([[0, np.nan], [1, 1]], [0, 1], {}, {"argument": "X[0]", "found": "[0.0, nan]"}),
            (np.eye(2), [0, 1], {"C": 51.0}, {"argument": "C", "found": 51.0}),
            (np.eye(2), [0, 1], {"grid": 1}, {"argument": "grid", "found": 1}),
        ],
    )
    def test_what_cannot_be_drawn_is_named(self, disc, X, y, options, wrong):
        with refuses(DataError, **wrong):
            plot_decision(disc, X, y, **options)

    def test_model_of_one_C_takes_no_other(self):
        X, y = plane(8, seed=0)
        with refuses(DataError, "C", found="RankSVM"):
            plot_decision(RankSVM().fit(X, y), X, y, C=2.0)

    def test_no_panel_is_refused(self, disc):
        with refuses(DataError, "Cs", found="none"):
            plot_decisions(disc, *plane(8, seed=0), [])


class TestPreferenceGraph:
    def test_there_is_an_arrow_for_every_pair_and_a_tick_for_every_label(self):
        graph = preference_graph([3, 1, 2.5, 1], qid=["a", "a", "a", "b"])
        axes = plot_preference_graph(graph)
        assert len(axes.patches) == graph.number_of_edges()
        assert [tick.get_text() for tick in axes.get_yticklabels()] == ["1", "2.5", "3"]
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["query a", "query b"]
        assert sorted(text.get_text() for text in axes.texts) == ["0", "1", "2", "3"]

    def test_preferred_items_are_higher_and_no_two_share_a_place(self):
        graph = preference_graph([3, 1, 2, 1, 3, 2])
        texts = plot_preference_graph(graph).texts
        places = {int(text.get_text()): text.get_position() for text in texts}
        assert all(places[i][1] > places[j][1] for i, j in graph.edges)
        assert len(set(places.values())) == len(graph)

    def test_contradictory_pairs_are_counted(self):
        axes = plot_preference_graph(nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3)]))
        assert axes.get_title(loc="left") == "4 items, 4 pairs, 3 of them contradictory (dashed)"

    def test_graph_of_hundreds_of_edges_is_refused_with_a_remedy(self):
        y = [0] * 20 + [1] * 20
        with refuses(DataError, "graph", found=400) as caught:
            plot_preference_graph(preference_graph(y))
        assert (caught.value.found, caught.value.setting) == (400, ("reduction", "tree"))
        assert plot_preference_graph(preference_graph(y, reduction="tree"))

    @pytest.mark.parametrize(
        "graph", [nx.Graph([(0, 1)]), [(0, 1)], nx.DiGraph()], ids=["undirected", "pairs", "empty"]
    )
    def test_anything_else_is_refused(self, graph):
        with refuses(DataError, "graph"):
            plot_preference_graph(graph)


def test_axes_handed_in_are_drawn_on(model, disc):
    X, y = plane(16, seed=0)
    for draw in (
        lambda ax: plot_coefficients(model, ax=ax),
        lambda ax: plot_scores(disc, X, ax=ax),
        lambda ax: plot_pair_counts(disc, ax=ax),
        lambda ax: plot_selection(CURVE, ax=ax),
        lambda ax: plot_decision(disc, X, y, ax=ax, grid=5),
        lambda ax: plot_preference_graph(preference_graph([1, 2]), ax=ax),
    ):
        axes = Figure().add_subplot()
        assert draw(axes) is axes
        assert not axes.title.get_text()
        axes.figure.canvas.draw()


def test_settings_of_matplotlib_are_left_alone_and_nothing_is_printed(model, capsys):
    before = dict(mpl.rcParams)
    plot_coefficients(model)
    plot_selection(CURVE)
    assert dict(mpl.rcParams) == before
    assert capsys.readouterr() == ("", "")


def test_matplotlib_is_loaded_only_to_draw():
    code = "import sys, ranking.plot; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
