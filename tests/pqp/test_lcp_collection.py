"""solve_lcp: the problems of the Siconos collection, in both arithmetics, by every rule."""

import numpy as np
import pytest

import pqp
from pqp.lcp.crisscross import RULES
from pqp.linalg.field import FIELDS, exact_array
from tests.data_folder import index, lcp, needs

pytestmark = [
    needs("lcp"),
    pytest.mark.parametrize("arithmetic", sorted(FIELDS)),
    pytest.mark.parametrize("rule", sorted(RULES)),
]
P_MATRICES = ("deudeu", "exp_murty", "ortiz", "trivial")
POSITIVE_SEMIDEFINITE = (*P_MATRICES, "CPS_1", "inf_sol_perturbed", "mmc")
ENUMERATED = (*P_MATRICES, "CPS_1", "CPS_2", "CPS_3", "Pang_isolated_sol", "inf_sol_perturbed")
# How far a float solution may miss its definition, relative to the data: a few dozen pivots of rounding.
CLOSE = 1e-12


def misses(found, wanted, arithmetic):
    """Whether numbers differ: at all in exact arithmetic, by more than rounding error in floats."""
    if arithmetic == "exact":
        return bool((found != exact_array(wanted)).any())
    return bool(np.max(np.abs(found - wanted), initial=0) > CLOSE * (1 + np.max(np.abs(wanted), initial=0)))


@pytest.mark.parametrize("name", [*ENUMERATED, "mmc"])
def test_answer_satisfies_its_definition(name, arithmetic, rule):
    M, q, _ = lcp(name)
    exact_M, exact_q = exact_array(M), exact_array(q)
    answer = pqp.solve_lcp(M, q, arithmetic=arithmetic, rule=rule)
    if answer.status == "solved":
        array = FIELDS[arithmetic].array
        assert (answer.z >= 0).all()
        assert (answer.w >= 0).all()
        assert answer.w @ answer.z == 0
        assert not misses(answer.w, array(M) @ answer.z + array(q), arithmetic)
    elif answer.status == "infeasible":
        assert (answer.farkas >= 0).all()
        assert (exact_M.T @ answer.farkas <= 0).all()
        assert answer.farkas @ exact_q < 0
    else:
        matrix = exact_M if answer.witness.kind == "column" else exact_M.T
        products = answer.witness.u * (matrix @ answer.witness.u)
        assert (products <= 0).all()
        assert (products < 0).any()


@pytest.mark.parametrize("name", ENUMERATED)
def test_solution_is_one_of_the_listed_basic_solutions(name, arithmetic, rule):
    M, q, listed = lcp(name)
    assert len(listed) == int(index("lcp")[name]["basic_solutions"])
    answer = pqp.solve_lcp(M, q, arithmetic=arithmetic, rule=rule)
    if answer.status == "solved":
        z = answer.z.astype(float)
        assert any(not misses(z, solution, "float") for solution in listed)


@pytest.mark.parametrize("name", POSITIVE_SEMIDEFINITE)
def test_positive_semidefinite_matrix_is_never_called_insufficient(name, arithmetic, rule):
    assert index("lcp")[name]["psd"] == "1"
    M, q, _ = lcp(name)
    assert pqp.solve_lcp(M, q, arithmetic=arithmetic, rule=rule).status in ("solved", "infeasible")


@pytest.mark.parametrize("name", P_MATRICES)
def test_problem_with_a_P_matrix_is_solved(name, arithmetic, rule):
    assert index("lcp")[name]["p_matrix"] == "1"
    M, q, _ = lcp(name)
    assert pqp.solve_lcp(M, q, arithmetic=arithmetic, rule=rule).status == "solved"
