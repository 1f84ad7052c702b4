"""postsolve: states of the reduced items and states of the problem correspond."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqp
from pqp import mu
from pqp.records.states import words_of
from pqp.revised.postsolve import Postsolve
from pqp.revised.presolve import presolve
from pqp.revised.states import ABOVE, BELOW, BETWEEN, EQUAL, LOWER, UPPER
from tests.comparison import optimal, traced
from tests.engines import REVISED
from tests.strategies import for_all, instances, problems
from tests.systems import FEW, proper_states


def translation_of(problem):
    return Postsolve(presolve(problem))


def steps_of(bounds):
    """Any steps that items with these limits can stand on."""
    choices = [st.sampled_from(proper_states(bounds, item)) for item in range(len(bounds))]
    return st.tuples(*choices).map(lambda item_states: np.array(item_states, dtype=np.int8))


def shown(problem, states):
    """States by name, of variables and of rows."""
    names = list(words_of(states))
    return names[: problem.n], names[problem.n :]


@FEW
@given(problem=problems(), data=st.data())
def test_steps_survive_the_way_to_states_and_back(problem, data):
    postsolve = translation_of(problem)
    item_states = data.draw(steps_of(postsolve.reduced.bounds))
    assert postsolve.item_states(postsolve.all_states(item_states)).tolist() == item_states.tolist()


@for_all(instance=instances())
def test_states_of_exact_pieces_survive_the_way_to_steps_and_back(instance):
    problem, interval = instance
    postsolve = translation_of(problem)
    for segment in optimal(traced(problem, interval)):
        states = segment.basis.codes()
        again = postsolve.all_states(postsolve.item_states(states))
        kept = np.setdiff1d(np.arange(len(states)), idle_rows(postsolve))
        assert again[kept].tolist() == states[kept].tolist()


def idle_rows(postsolve):
    """Rows whose penalty is always 0: at their limit or not, they press nowhere."""
    problem = postsolve.reduced.problem
    cap_zero = (problem.penalty.constant == 0) & (problem.penalty.slope == 0)
    return problem.n + np.flatnonzero(cap_zero)


@FEW
@given(problem=problems(), data=st.data())
def test_states_of_some_items_are_those_of_all(problem, data):
    postsolve = translation_of(problem)
    item_states = data.draw(steps_of(postsolve.reduced.bounds))
    chosen = np.flatnonzero([data.draw(st.booleans()) for _ in item_states])
    items, states = postsolve.states(chosen, item_states[chosen])
    assert postsolve.all_states(item_states)[items].tolist() == states.tolist()


class TestByHand:
    def test_row_that_limits_a_free_variable_shows_its_step_turned_by_a_negative_entry(self):
        problem = pqp.ParametricQP([[1]], [mu], A=[[-1]], row_lower=-2, row_upper=0)
        postsolve = translation_of(problem)
        for step, state in ((BETWEEN, "off"), (LOWER, "upper"), (UPPER, "lower")):
            assert shown(problem, postsolve.all_states(np.array([step]))) == (["between"], [state])

    def test_violated_row_with_a_slack_is_held_and_its_slack_between(self):
        problem = pqp.ParametricQP(np.diag([1, 0]), [0, mu], A=[[1, 1]], row_lower=1, lower=0)
        postsolve = translation_of(problem)
        for step, states in (
            (BETWEEN, (["lower", "lower"], ["off"])),
            (LOWER, (["lower", "lower"], ["lower"])),
            (BELOW, (["lower", "between"], ["lower"])),
        ):
            assert shown(problem, postsolve.all_states(np.array([LOWER, step]))) == states

    def test_eliminated_variables_are_between(self):
        problem = pqp.ParametricQP(np.eye(2), [0, mu], A=[[1, 1]], row_lower=1, penalty=2)
        postsolve = translation_of(problem)
        assert shown(problem, postsolve.all_states(np.array([BELOW]))) == (["between"] * 2, ["below"])

    def test_free_variable_at_rest_is_zero_and_a_fixed_one_fixed(self):
        problem = pqp.ParametricQP(np.zeros((2, 2)), [0, 0], lower=[-np.inf, 1], upper=[np.inf, 1])
        states = translation_of(problem).all_states(np.array([EQUAL, EQUAL]))
        assert shown(problem, states) == (["zero", "fixed"], [])

    @pytest.mark.parametrize(("step", "state"), [(BELOW, "below"), (ABOVE, "above"), (EQUAL, "equal")])
    def test_soft_equality_is_below_at_or_above(self, step, state):
        problem = pqp.ParametricQP([[1]], [0], A=[[2]], row_lower=1, row_upper=1, penalty=3, lower=0)
        assert shown(problem, translation_of(problem).all_states(np.array([LOWER, step])))[1] == [state]


def test_completed_solution_is_that_of_the_slack_formulation():
    """min ½w² + mu ξ, w + ξ ≥ 1: w = mu up to 1, ξ = 1 − w what is missing, y = mu."""
    problem = pqp.ParametricQP(np.diag([1, 0]), [0, mu], A=[[1, 1]], row_lower=1, lower=[-np.inf, 0])
    path = REVISED.trace(problem, (0, 3))
    assert path.x([0.25, 2.0]).tolist() == [[0.25, 0.75], [1, 0]]
    assert path.y([0.25, 2.0]).tolist() == [[0.25], [1]]
    assert path.z([0.25, 2.0]).tolist() == [[0, 0], [0, 1]]
