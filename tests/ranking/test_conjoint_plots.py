"""Plots of conjoint results: axes show the numbers of tables; nothing is shown, printed or changed."""

import subprocess
import sys
from inspect import signature
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ranking import DataError
from ranking.conjoint import (
    Simulator,
    first_choice_steps,
    importance_orders,
    importance_summary,
    importances,
    part_worth_lines,
    part_worth_summary,
    price_curve,
    simulate,
)
from ranking.conjoint_plots import (
    plot_importances,
    plot_part_worths,
    plot_price_curve,
    plot_shares,
    plot_stability,
)
from tests.ranking.market import COFFEE, PACKS, mixed_study, worths
from tests.refusals import refuses

V = worths(24)
STEPS = first_choice_steps(
    part_worth_lines(lambda C: C * V + (1 - C) * V[::-1].set_axis(V.index), [0, 1], COFFEE), PACKS
)


def words(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def whiskers(axes):
    """The ends of drawn intervals."""
    return [segment[:, 0].tolist() for part in axes.collections for segment in part.get_segments()]


class TestBars:
    def test_importances_are_drawn_with_their_intervals_the_largest_on_top(self):
        table = importance_summary(V, COFFEE)
        axes = plot_importances(table)
        drawn = {name: bar.get_width() for name, bar in zip(words(axes), axes.patches, strict=True)}
        assert drawn == pytest.approx(table["estimate"].to_dict())
        assert list(drawn.values()) == sorted(drawn.values())
        assert sorted(whiskers(axes)) == sorted(table[["lo", "hi"]].to_numpy().tolist())

    def test_shares_stand_as_in_the_scenario(self):
        table = simulate(V, COFFEE, PACKS)
        axes = plot_shares(table)
        assert words(axes) == [*PACKS, "none"][::-1]
        assert [bar.get_width() for bar in axes.patches] == pytest.approx(
            100 * table["share"][::-1].to_numpy()
        )
        assert [text.get_text() for text in axes.texts] == [f"{100 * s:.1f} %" for s in table["share"][::-1]]

    def test_without_intervals_there_are_no_whiskers(self):
        assert whiskers(plot_shares(simulate(worths(1), COFFEE, PACKS))) == []


class TestPartWorths:
    @pytest.mark.parametrize("study", [COFFEE, mixed_study()], ids=["coffee", "mixed"])
    def test_every_level_has_its_point_next_to_its_name(self, study):
        table = part_worth_summary(worths(20, columns=study.columns), study)
        axes = plot_part_worths(table)
        names = dict(zip(axes.get_yticks().tolist(), words(axes), strict=True))
        points = [tuple(p) for line in axes.lines if line.get_marker() == "o" for p in line.get_xydata()]
        assert [x for x, _ in points] == pytest.approx(table["estimate"].to_numpy())
        special = {"per unit": "price, per unit", "none": "none"}
        assert [names[y] for _, y in points] == [special.get(level, str(level)) for _, level in table.index]

    def test_attributes_stand_above_their_levels(self):
        heads = [
            text.get_text() for text in plot_part_worths(part_worth_summary(V, COFFEE)).get_yticklabels()
        ]
        assert heads[:4] == ["brand", "Alba", "Brio", "Cima"]

    def test_an_empty_line_separates_attributes(self):
        axes = plot_part_worths(part_worth_summary(V, COFFEE))
        places = dict(zip(words(axes), axes.get_yticks().tolist(), strict=True))
        assert places["brand"] - places["Cima"] == 3
        assert places["Cima"] - places["roast"] == 2


class TestPriceCurve:
    def test_shares_and_the_best_price_are_shown(self):
        curve = price_curve(Simulator(V, COFFEE), PACKS, "ours")
        axes = plot_price_curve(curve)
        share = axes.lines[0].get_xydata()
        assert share[:, 0] == pytest.approx(curve.index.to_numpy())
        assert share[:, 1] == pytest.approx(100 * curve["share"].to_numpy())
        assert f"revenue, largest at {curve['revenue'].idxmax():g}" in legend(axes)

    def test_a_table_of_shares_is_no_price_curve(self):
        with refuses(DataError, "curve", column="revenue"):
            plot_price_curve(simulate(V, COFFEE, PACKS))


class TestStability:
    def test_steps_are_drawn_as_they_are(self):
        axes = plot_stability(STEPS)
        for name, line in zip(STEPS.names, axes.lines, strict=True):
            points = line.get_xydata()
            inside = np.sqrt(points[1:-1, 0] * points[2:, 0])
            assert line.get_label() == name
            assert points[1:-1, 1] == pytest.approx([100 * STEPS.at(C)[name] for C in inside])

    def test_the_interval_of_the_conclusion_is_shaded_and_named(self):
        winners = STEPS.winners()
        axes = plot_stability(STEPS, winners, 0.5)
        lo, hi = winners.interval(0.5)
        (label,) = [text for text in legend(axes) if text.startswith(f"{winners.at(0.5)}: ")]
        assert f"C from {lo:.3g} to {hi:.3g}" in label
        assert "C = 0.5" in legend(axes)

    def test_a_table_over_C_is_drawn_in_per_cent(self):
        part_worths = part_worth_lines(lambda C: (1 + C) * V, [0, 1, 2], COFFEE)
        table = part_worths.along(lambda v: importances(v, COFFEE), [0.5, 1.0])
        axes = plot_stability(table, importance_orders(part_worths), 0.5)
        assert axes.lines[0].get_ydata() == pytest.approx(table.iloc[:, 0].to_numpy())
        shares = part_worths.along(lambda v: Simulator(V, COFFEE).individual_shares(PACKS), [0.5, 1.0])
        assert plot_stability(shares).lines[0].get_ydata() == pytest.approx(
            100 * shares.iloc[:, 0].to_numpy()
        )

    @pytest.mark.parametrize(("lo", "hi"), [(0.012, 0.5), (0.012, 0.6), (0.1, 1)])
    def test_names_of_ticks_do_not_touch(self, lo, hi):
        table = pd.DataFrame(
            {"brand": [30.0, 40.0], "price": [70.0, 60.0]}, index=pd.Index([lo, hi], name="C")
        )
        axes = plot_stability(table)
        axes.figure.draw_without_rendering()
        for side in (axes.xaxis, axes.child_axes[0].xaxis):
            named = [label for label in side.get_ticklabels(which="both") if label.get_text()]
            boxes = sorted((label.get_window_extent() for label in named), key=lambda box: box.x0)
            assert len(boxes) >= 2
            assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))

    def test_what_cannot_be_drawn_is_refused(self):
        with refuses(DataError, "curves", found="list"):
            plot_stability([1, 2])
        with refuses(DataError, "C", found=0.5):
            plot_stability(STEPS, C=0.5)


ALL = [
    (plot_importances, importance_summary(V, COFFEE)),
    (plot_shares, simulate(V, COFFEE, PACKS)),
    (plot_part_worths, part_worth_summary(V, COFFEE)),
    (plot_price_curve, price_curve(Simulator(V, COFFEE), PACKS, "ours", prices=[9, 12])),
    (plot_stability, STEPS),
]


@pytest.mark.parametrize(("plot", "table"), ALL, ids=[plot.__name__ for plot, _ in ALL])
def test_given_axes_are_drawn_on(plot, table):
    axes = Figure().add_subplot()
    assert plot(table, ax=axes) is axes


@pytest.mark.parametrize("plot", [plot for plot, _ in ALL[:4]], ids=[plot.__name__ for plot, _ in ALL[:4]])
def test_other_tables_are_refused(plot):
    with refuses(DataError, next(iter(signature(plot).parameters)), found="a"):
        plot(pd.DataFrame({"a": [1]}))


def test_names_are_shown_letter_by_letter():
    table = simulate(V, COFFEE, {"_ours $1 or $2": PACKS["ours"]}, none=False)
    axes = plot_shares(table)
    axes.figure.draw_without_rendering()
    assert words(axes) == [r" _ours \$1 or \$2"]


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, ranking.conjoint_plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
