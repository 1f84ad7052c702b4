"""log: every pivot with its reasons, readable, and the dictionaries it led from and to."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import pqp
from pqp import PivotLog, mu
from pqp.lcp.crisscross import RULES
from pqp.lcp.problem import PerturbedMu
from tests.engines import EVERY_ENGINE, REVISED

ARITHMETICS = pytest.mark.parametrize("arithmetic", ["float", "exact"])
EVERY_RULE = pytest.mark.parametrize("rule", RULES)
F = Fraction
BUDGET = pqp.ParametricQP(
    [[2, 0], [0, 2]],
    [-4, -6],
    A=[[1, 1]],
    row_upper=mu,
    lower=0,
    names=["wine", "bread"],
    row_names=["budget"],
)
# Rows tie, one is soft, one an equality: many pivots, of both kinds.
BUSY = pqp.ParametricQP(
    [[1, 0, 0], [0, 0, 0], [0, 0, 2]],
    [-mu, 1, mu - 2],
    A=[[1, 1, 1], [1, -1, 0], [0, 1, 2]],
    row_lower=[1, -2, mu],
    row_upper=[4, 2, mu],
    penalty=[None, 3, None],
    lower=0,
)


def log_of(problem, arithmetic="exact", rule="least-index", interval=(-2, 8), **options) -> PivotLog:
    path = pqp.solve_path(problem, interval, "tableau", arithmetic, rule=rule, log=True, **options)
    return path.log


@ARITHMETICS
@EVERY_RULE
class TestRecords:
    def test_numbers_count_from_one(self, arithmetic, rule):
        log = log_of(BUSY, arithmetic, rule)
        assert len(log) > 3
        assert [pivot.number for pivot in log] == list(range(1, len(log) + 1))

    def test_each_pivot_starts_where_the_one_before_ended(self, arithmetic, rule):
        log = log_of(BUSY, arithmetic, rule)
        assert [pivot.before for pivot in log[1:]] == [pivot.after for pivot in log[:-1]]

    def test_exactly_the_moved_pairs_change_sides(self, arithmetic, rule):
        for pivot in log_of(BUSY, arithmetic, rule):
            assert pivot.before ^ pivot.after == set(pivot.moved)
            assert len(pivot.moved) == {"diagonal": 1, "exchange": 2}[pivot.kind]
            assert pivot.rule == rule

    def test_dictionaries_on_demand_belong_to_the_bases(self, arithmetic, rule):
        for pivot in log_of(BUSY, arithmetic, rule):
            assert pivot.dictionary().basis == pivot.dictionary("before").basis == pivot.before
            assert pivot.dictionary("after").basis == pivot.after

    def test_element_and_value_are_those_of_the_dictionary_before(self, arithmetic, rule):
        for pivot in log_of(BUSY, arithmetic, rule):
            before = pivot.dictionary()
            row, column = (pivot.moved[0],) * 2 if pivot.kind == "diagonal" else (pivot.r, pivot.s)
            assert float(pivot.element) == pytest.approx(float(before.entry(row, column)))
            assert [float(v) for v in pivot.r_value] == pytest.approx(
                [float(v) for v in before.value(pivot.r)]
            )

    def test_r_is_negative_at_the_place_and_s_raises_it(self, arithmetic, rule):
        for pivot in log_of(BUSY, arithmetic, rule):
            before = pivot.dictionary()
            assert before.value_signs(pivot.place)[pivot.r] == -1
            assert float(before.entry(pivot.r, pivot.s)) > 0

    def test_names_tell_who_leaves_and_who_enters(self, arithmetic, rule):
        for pivot in log_of(BUSY, arithmetic, rule):
            before = pivot.dictionary()
            assert pivot.leaving == tuple(before.basic_name(i) for i in pivot.moved)
            assert pivot.entering == tuple(before.nonbasic_name(i) for i in pivot.moved)


class TestText:
    def test_student_can_read_fractions_names_places_and_reasons(self):
        text = str(log_of(BUDGET))
        for word in ("wine", "y[budget]", "u[bread]", "mu = 1 + ε", "mu = 5 + ε", "1/4", "-3/2 < 0"):
            assert word in text
        assert "the smallest index" in text
        assert "its own partner" in text

    def test_every_pivot_is_numbered_and_explained(self):
        log = log_of(BUSY)
        text = str(log)
        assert re.findall(r"^ *(\d+)  mu = ", text, flags=re.MULTILINE) == [str(p.number) for p in log]
        assert text.count("r: ") == text.count("s: ") == len(log)

    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            ("least-index", "the smallest index"),
            ("lifo", "the one that moved last"),
            ("most-often-selected", "the one chosen most often"),
        ],
    )
    def test_reason_names_the_rule(self, rule, words):
        assert words in str(log_of(BUSY, rule=rule))

    def test_value_next_to_a_breakpoint_is_a_multiple_of_epsilon(self):
        # Just right of mu = 1 the reduced cost 2 - 2mu of wine is -2 ε.
        pivot = next(pivot for pivot in log_of(BUDGET) if pivot.place == PerturbedMu(1, 1))
        assert pivot.r_reason == "u[wine] = -2 ε < 0, the smallest index"

    def test_value_far_out_is_shown_as_a_function_of_mu(self):
        log = log_of(
            pqp.ParametricQP([[1]], [2 - mu], lower=0), interval=(3, math.inf), direction="right-to-left"
        )
        assert log[0].r_reason.startswith("u[x1] = 2 - mu < 0")

    def test_no_pivots_are_said_in_words(self):
        assert str(log_of(pqp.ParametricQP([[1]], [1], lower=0), interval=(0, 1))) == "no pivots"


class TestSequence:
    def test_log_is_kept_only_when_asked_for(self):
        assert pqp.solve_path(BUDGET, (0, 8)).log is None

    def test_log_can_be_indexed_sliced_counted_and_iterated(self):
        log = log_of(BUDGET)
        assert isinstance(log[1:3], PivotLog)
        assert [pivot.number for pivot in log[1:3]] == [2, 3]
        assert log[-1] is list(log)[-1]

    def test_pivots_are_counted_by_place(self):
        log = log_of(BUDGET)
        places = log.by_place()
        assert sum(count for _, count in places) == len(log)
        # One pivot at each bend: wine enters at 1, the budget ceases to bind at 5.
        assert places[1:] == [(PerturbedMu(1, 1), 1), (PerturbedMu(5, 1), 1)]

    @EVERY_ENGINE
    def test_log_goes_on_counting_when_the_path_is_extended(self, engine):
        path = engine.trace(BUDGET, (0, 3), log=True)
        log = path.extend(8).log
        assert [pivot.number for pivot in log] == list(range(1, len(log) + 1))
        assert log[: len(path.log)].pivots[0].before == path.log[0].before


class TestEvents:
    """The log of the revised engine: every event, with who steps from where to where."""

    def test_every_bend_is_an_event_that_names_what_steps(self):
        log = REVISED.trace(BUDGET, (0, 8), log=True).log
        last = {entry.place.mu: entry for entry in log}
        assert sorted(last)[-2:] == [1, 5]
        assert (last[1].names, last[1].before, last[1].after) == (("wine",), ("lower",), ("between",))
        assert last[5].names == ("budget",)
        assert [entry.kind for entry in (last[1], last[5])] == ["event", "event"]

    def test_jump_is_told_apart(self):
        problem = pqp.ParametricQP([[0]], [mu], lower=0, upper=1)
        (entry,) = REVISED.trace(problem, (-1, 1), log=True).log
        assert (entry.kind, entry.before, entry.after) == ("jump", ("upper",), ("lower",))

    def test_events_are_numbered_and_printed_with_their_mu(self):
        log = REVISED.trace(BUSY, (-2, 8), log=True).log
        assert [entry.number for entry in log] == list(range(1, len(log) + 1))
        assert str(log).count("mu = ") >= len(log)

    def test_limit_on_pivots_does_not_depend_on_the_log(self):
        one, other = (REVISED.trace(BUDGET, (-2, 8), max_pivots=1, log=log) for log in (True, False))
        assert (one.hi, one.stopped) == (other.hi, other.stopped)


def test_free_variables_enter_by_a_block_pivot_that_is_no_pivot_of_the_method():
    problem = pqp.ParametricQP(np.eye(2), [1, -mu], A=[[1, 1]], row_lower=1, row_upper=1)
    assert len(log_of(problem)) == 0
