"""presolve: what is removed from a problem, and that the rest has the same optimality conditions."""

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array

import pqp
from pqp import mu
from pqp.linalg.field import RATIONAL
from pqp.records.states import ACTIVE_ROWS, State
from pqp.revised.postsolve import Postsolve
from pqp.revised.presolve import presolve
from tests.comparison import inside, optimal, traced
from tests.engines import REVISED
from tests.strategies import for_all, instances

INFINITY = np.inf


def taken(reduced):
    """Which variables were eliminated, merged with a row, and turned into a penalty."""
    eliminated = [] if reduced.elimination is None else reduced.elimination.variables.tolist()
    return eliminated, reduced.merged.variables.tolist(), reduced.slacks.variables.tolist()


class TestWhatIsTakenOut:
    def test_nothing_of_a_problem_of_limited_variables(self):
        reduced = presolve(pqp.ParametricQP(np.eye(2), [0, mu], A=[[1, 1]], row_upper=1, lower=0))
        assert taken(reduced) == ([], [], [])
        assert (reduced.variables.tolist(), reduced.rows.tolist()) == ([0, 1], [0])
        assert reduced.is_row.tolist() == [False, False, True]

    @pytest.mark.parametrize(
        "P",
        [np.eye(3), [[2, 1, 0], [1, 2, 0], [0, 0, 1]], diags_array([1.0, 2.0, 3.0])],
        ids=["identity", "dense", "sparse"],
    )
    def test_free_variables_with_a_positive_definite_block(self, P):
        reduced = presolve(pqp.ParametricQP(P, [0, mu, 1], A=[[1, 1, 1], [1, 0, 2]], row_lower=1))
        assert taken(reduced) == ([0, 1, 2], [], [])
        assert reduced.size == 2

    def test_sparse_rows_give_the_same_path_when_a_full_block_is_eliminated(self):
        A = np.array([[1, 1], [1, -1], [2, 1]])
        dense, sparse = (
            REVISED.trace(pqp.ParametricQP([[2, 1], [1, 2]], [-mu, 0], A=rows, row_upper=[1, 2, 3]), (0, 9))
            for rows in (A, csr_array(A))
        )
        assert sparse.breakpoints == pytest.approx(dense.breakpoints)
        assert sparse.x([0, 3, 9]) == pytest.approx(dense.x([0, 3, 9]))

    @pytest.mark.parametrize(
        "problem",
        [
            pqp.ParametricQP(np.eye(2), [0, mu]),
            pqp.ParametricQP(np.ones((2, 2)), [0, 0], A=[[1, 1]], row_lower=mu),
            pqp.ParametricQP([[1, 1], [1, 2]], [0, 0], A=[[1, 1]], row_lower=mu, lower=[0, -INFINITY]),
            pqp.ParametricQP(np.zeros((2, 2)), [0, 0], A=[[1, 1]], row_lower=1, row_upper=mu),
        ],
        ids=["no rows", "a singular block", "coupled to a limited one", "no curvature"],
    )
    def test_free_variables_stay_otherwise(self, problem):
        assert taken(presolve(problem)) == ([], [], [])

    @pytest.mark.parametrize("sparse", [False, True])
    def test_rows_that_limit_one_free_variable(self, sparse):
        A, low = np.array([[-2, 0], [1, 1], [0, 3], [3, 0]]), [-4, 0, 6, 0]
        rows = {"A": csr_array(A) if sparse else A, "row_lower": low}
        reduced = presolve(pqp.ParametricQP(np.ones((2, 2)), [0, 0], **rows))
        assert taken(reduced) == ([], [0, 1], [])
        assert reduced.merged.rows.tolist() == [0, 2]
        assert reduced.rows.tolist() == [1, 3]

    def test_merged_limits_are_divided_by_the_entry_and_turned_by_its_sign(self):
        problem = pqp.ParametricQP([[1]], [0], A=[[-2]], row_lower=-4, row_upper=mu, penalty=[3])
        bounds = presolve(problem).bounds
        assert bounds.lower.tolist() == [[0, -0.5]]
        assert bounds.upper.tolist() == [[2, 0]]
        assert bounds.cap.tolist() == [[6, 0]]

    def test_row_without_limits_or_with_a_penalty_of_zero_limits_nothing(self):
        rows = {"A": [[1], [2]], "row_lower": [-INFINITY, 1], "penalty": [None, 0]}
        assert taken(presolve(pqp.ParametricQP([[0]], [0], **rows))) == ([], [], [])

    @pytest.mark.parametrize(("entry", "row"), [(2, {"row_lower": [1]}), (-2, {"row_upper": [1]})])
    def test_variables_that_soften_one_row(self, entry, row):
        problem = pqp.ParametricQP(np.diag([1, 0]), [0, 1 + mu], A=[[1, entry]], lower=0, **row)
        reduced = presolve(problem)
        assert taken(reduced) == ([], [], [1])
        assert reduced.bounds.cap[-1].tolist() == [0.5, 0.5]

    @pytest.mark.parametrize(
        "change",
        [
            {"lower": [0, 1]},
            {"upper": [INFINITY, 5]},
            {"P": np.eye(2)},
            {"A": [[1, 2], [0, 1]], "row_lower": [1, 0]},
            {"row_lower": [-INFINITY], "row_upper": [1]},
            {"row_upper": [3]},
            {"penalty": [4]},
        ],
        ids=[
            "another lower limit",
            "an upper limit",
            "curvature",
            "two rows",
            "wrong side",
            "two sides",
            "soft",
        ],
    )
    def test_no_variable_that_does_more_than_that(self, change):
        data = {"P": np.diag([1, 0]), "c": [0, 1], "A": [[1, 2]], "row_lower": [1], "lower": 0}
        assert taken(presolve(pqp.ParametricQP(**data | change)))[2] == []


def test_cap_that_is_always_zero_leaves_no_limit():
    problem = pqp.ParametricQP([[1]], [0], A=[[1], [1]], row_lower=[1, 2], penalty=[0, 1], lower=-9)
    bounds = presolve(problem).bounds
    assert bounds.is_free.tolist() == [False, True, False]


def solution_of(segment):
    """x, y and z of an exact segment as float lines."""
    return [
        np.column_stack([part.astype(float) for part in pair]) for pair in (segment.x, segment.y, segment.z)
    ]


@for_all(instance=instances())
def test_exact_solutions_satisfy_the_reduced_conditions(instance):
    """g = M v + q holds between kept x, z and y, A x, for G and r of what was eliminated."""
    problem, interval = instance
    reduced = presolve(problem)
    variables, rows = reduced.variables, reduced.rows
    data = problem.data(RATIONAL)
    for segment in optimal(traced(problem, interval)):
        x, y, z = solution_of(segment)
        z = z + data.A.astype(float)[reduced.merged.rows].T @ y[reduced.merged.rows]
        value = data.A.astype(float) @ x
        value[reduced.slacks.rows] -= reduced.slacks.entries[:, None] * x[reduced.slacks.variables]
        H = problem.P.matrix(RATIONAL).astype(float)[np.ix_(variables, variables)]
        B = data.A.astype(float)[np.ix_(rows, variables)]
        top = H @ x[variables] - B.T @ y[rows] + reduced.q[: len(variables)]
        bottom = B @ x[variables] + reduced.q[len(variables) :]
        if reduced.elimination is not None:
            bottom = bottom + reduced.elimination.operator.times(y[rows])
        mu = float(inside(segment))
        assert np.allclose((top - z[variables]) @ [1, mu], 0, atol=1e-7)
        assert np.allclose((bottom - value[rows]) @ [1, mu], 0, atol=1e-7)


@for_all(instance=instances())
def test_solution_is_completed_from_its_states_and_unknowns(instance):
    """x, y and z of every exact piece, from its states and the numbers of the reduced unknowns alone."""
    problem, interval = instance
    postsolve = Postsolve(presolve(problem))
    for segment in optimal(traced(problem, interval)):
        states, (x, y, z) = segment.basis.codes(), solution_of(segment)
        everything = np.concatenate([x, y])
        own, rows = states[: problem.n], states[problem.n :]
        fixed = np.isin(rows, ACTIVE_ROWS)
        unknown = np.concatenate([own == State.BETWEEN, fixed])
        items = postsolve.items[unknown[postsolve.items]]
        found = postsolve.complete(states, items, everything[items])
        mu = float(inside(segment))
        for name, pair, known in zip("xyz", found, (x, y, z), strict=True):
            assert np.allclose(pair[0] + mu * pair[1], known @ [1, mu], atol=1e-7), name
