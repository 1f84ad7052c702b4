"""path.plot: axes show solutions, breakpoints, jumps and unsolvable intervals; nothing else changes."""

import math
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import pqp
from pqp import mu
from pqp.errors import ProblemError
from tests.engines import ENGINES
from tests.refusals import refuses

BUDGET = pqp.ParametricQP(
    [[2, 0], [0, 2]], [-4, -6], [[1, 1]], row_upper=mu, lower=0, names=["wine", "cheese"]
)
# min mu x on 0 ≤ x ≤ 1: x jumps from 1 to 0 at mu = 0
JUMP = pqp.ParametricQP([[0]], [mu], lower=0, upper=1)
UNBOUNDED = pqp.ParametricQP([[0]], [mu], lower=0)
MANY = pqp.ParametricQP(np.eye(20, dtype=int), mu * -np.arange(20), upper=30)


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


def curves(axes):
    """Lines that are solid: pieces of x(mu), as lists of corners."""
    return [line.get_xydata() for line in axes.lines if line.get_linestyle() == "-"]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def written(axes):
    return [text.get_text() for text in axes.texts]


class TestBudget:
    @pytest.fixture
    def axes(self, engine):
        return engine.trace(BUDGET, (-2, 8)).plot()

    def test_curves_go_through_the_solution_at_their_corners(self, axes):
        path = pqp.solve_path(BUDGET, (-2, 8))
        for j, curve in enumerate(curves(axes)):
            assert curve[:, 0].min() == 0
            assert curve[:, 0].max() == 8
            assert curve[:, 1] == pytest.approx([path(corner).x[j] for corner in curve[:, 0]])

    def test_bends_are_marked(self, axes):
        marks = [path.vertices[0, 0] for lines in axes.collections for path in lines.get_paths()]
        assert marks == [0, 1, 5]

    def test_infeasible_stretch_is_shaded_and_named(self, axes):
        (shade,) = axes.patches
        assert (shade.get_x(), shade.get_x() + shade.get_width()) == (-2, 0)
        assert legend(axes) == ["wine", "cheese", "infeasible"]

    def test_axes_are_labelled_and_show_the_whole_path(self, axes):
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("mu", "x(mu)")
        assert axes.get_title() == "Solution path: 4 pieces"
        lo, hi = axes.get_xlim()
        assert lo <= -2
        assert hi >= 8

    def test_figure_can_be_written(self, axes, tmp_path):
        axes.figure.savefig(tmp_path / "budget.png")
        assert (tmp_path / "budget.png").read_bytes().startswith(b"\x89PNG")


def test_jump_is_a_dashed_line_between_two_optimal_points(engine):
    axes = engine.trace(JUMP, (-1, 1)).plot()
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert dashed.get_xydata().tolist() == [[0, 1], [0, 0]]
    assert dashed.get_marker() == "o"
    assert [curve.tolist() for curve in curves(axes)] == [[[-1, 1], [0, 1]], [[0, 0], [1, 0]]]


def test_unbounded_stretch_is_shaded_and_named():
    axes = pqp.solve_path(UNBOUNDED, (-1, 1)).plot()
    assert legend(axes) == ["x1", "unbounded"]


def test_endless_path_is_cut_beyond_its_bends_and_says_so():
    axes = pqp.solve_path(BUDGET, (-math.inf, math.inf)).plot()
    lo, hi = axes.get_xlim()
    assert -5 < lo < 0
    assert 5 < hi < 10
    assert written(axes) == ["−∞ ←", "→ ∞"]


def test_endless_path_without_any_bend_is_drawn():
    axes = pqp.solve_path(pqp.ParametricQP([[1]], [-mu]), (-math.inf, math.inf)).plot()
    (curve,) = curves(axes)
    assert curve[:, 0] == pytest.approx(curve[:, 1])


def test_single_point_is_a_mark():
    axes = pqp.solve_path(BUDGET, (3, 3)).plot()
    assert [line.get_marker() for line in axes.lines] == ["o", "o"]
    assert [line.get_xydata()[0].tolist() for line in axes.lines] == [[3, 1], [3, 2]]


def test_path_without_solutions_is_shaded_and_says_so():
    axes = pqp.solve_path(BUDGET, (-3, -1)).plot()
    assert not axes.lines
    assert legend(axes) == ["infeasible"]
    assert written(axes) == ["no solution"]


def test_path_that_stopped_at_once_is_an_empty_picture():
    path = pqp.solve_path(BUDGET, (1, 8), method="tableau", max_pivots=1)
    axes = path.plot()
    assert axes.get_title() == "Solution path: nothing was traced, stopped early"


class TestManyVariables:
    def test_those_that_move_most_are_coloured_and_named_from_the_top_down(self):
        axes = pqp.solve_path(MANY, (0, 1)).plot()
        assert legend(axes) == [f"x{j}" for j in range(20, 12, -1)]
        assert len({line.get_color() for line in axes.lines[:8]}) == 8
        assert len({line.get_color() for line in axes.lines[8:]}) == 1
        assert len(axes.lines) == 20

    def test_of_those_asked_for_the_right_ones_are_named(self):
        axes = pqp.solve_path(MANY, (0, 1)).plot(range(13))
        assert legend(axes) == [f"x{j}" for j in range(13, 5, -1)]


class TestVariables:
    @pytest.mark.parametrize("asked", ["cheese", 1, ["cheese"], [1, "cheese"], np.array([1])], ids=repr)
    def test_only_those_asked_for_are_drawn(self, asked):
        assert legend(pqp.solve_path(BUDGET, (0, 8)).plot(asked)) == ["cheese"]

    @pytest.mark.parametrize("asked", ["beer", 2, -1, 0.5, ["wine", "beer"], [["wine"]]], ids=repr)
    def test_unknown_one_is_named(self, asked):
        with refuses(ProblemError, "variables", expected="among wine, cheese or indices below 2") as caught:
            pqp.solve_path(BUDGET, (0, 8)).plot(asked)
        assert caught.value.argument == "variables"
        assert caught.value.expected == "among wine, cheese or indices below 2"
        assert caught.value.found == repr(asked[-1] if isinstance(asked, list) else asked)


@pytest.mark.parametrize("name", ["$5 or $6", "_hidden", r"a\b", "x_1^2", "{"])
def test_any_name_can_be_drawn(name, tmp_path):
    axes = pqp.solve_path(pqp.ParametricQP([[1]], [-mu], names=[name]), (0, 1)).plot()
    axes.figure.savefig(tmp_path / "name.png")
    assert legend(axes)[0].strip().replace(r"\$", "$") == name


def test_axes_handed_in_are_drawn_on():
    axes = Figure().add_subplot()
    assert pqp.solve_path(BUDGET, (-2, 8)).plot(ax=axes) is axes
    assert legend(axes) == ["wine", "cheese", "infeasible"]


def test_settings_of_matplotlib_are_left_alone():
    before = dict(mpl.rcParams)
    pqp.solve_path(BUDGET, (-2, 8)).plot()
    assert dict(mpl.rcParams) == before


def test_matplotlib_is_loaded_only_to_draw_and_pyplot_never():
    code = (
        "import sys, pqp; path = pqp.solve_path(pqp.ParametricQP([[1]], [-pqp.mu]), (0, 1));"
        "assert 'matplotlib' not in sys.modules; path.plot(); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
