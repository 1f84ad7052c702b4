"""CBC(C) written down in three ways: soft rows, (w, ξ) with one slack per row, and the dual in a box.

Free variables and slacks are eliminated on entry, so that all three should cost the same.

Run with `OMP_NUM_THREADS=1 pytest -m benchmark -n 0 tests/benchmarks/test_forms.py`.
"""

import numpy as np
import pytest
import scipy.sparse

import pqp
from tests.benchmarks.problems import choice_rows
from tests.benchmarks.table import compared, report, require_target
from tests.benchmarks.timing import race, require_one_thread, trace

LARGEST = 10
AGREEMENT = 1e-9


def with_slacks(rows):
    """Minimise ½|w|² + C Σ ξ subject to Nw + ξ ≥ 1, ξ ≥ 0: the primal as textbooks write it."""
    s, n = rows.shape
    P = scipy.sparse.diags(np.r_[np.ones(n), np.zeros(s)]).tocsr()
    A = scipy.sparse.hstack([scipy.sparse.csr_array(rows), scipy.sparse.eye(s)]).tocsr()
    cost = pqp.mu * np.r_[np.zeros(n), np.ones(s)]
    lower = np.r_[np.full(n, -np.inf), np.zeros(s)]
    return pqp.ParametricQP(P, cost, A=A, row_lower=1, lower=lower)


def dual(rows):
    """Minimise ½αᵀNNᵀα - Σα subject to 0 ≤ α ≤ C."""
    return pqp.ParametricQP(pqp.Gram(rows), -np.ones(len(rows)), lower=0, upper=pqp.mu * np.ones(len(rows)))


@pytest.mark.benchmark
@pytest.mark.parametrize("form", [with_slacks, dual])
def test_every_form_costs_about_the_same(form):
    """The same bends from all; building the elimination and completing solutions differ a little."""
    require_one_thread()
    rows = choice_rows(1000, 0, 1.0)
    soft, other = pqp.catalog.choice(rows), form(rows)
    result = race(lambda: trace(other, (0, LARGEST)), lambda: trace(soft, (0, LARGEST)))
    places = np.linspace(0.01, LARGEST, 50)
    sense = -1 if form is dual else 1  # the dual is minimised here: its value is minus the primal's
    ours, theirs = ([path(C).objective for C in places] for path in (result.answer, result.their_answer))
    miss = float(np.max(np.abs(sense * np.array(ours) - theirs) / np.abs(theirs)))
    name = f"CBC(C) s = 1000, {form.__name__.replace('_', ' ')}"
    row = report(compared(name, "soft rows", result, 2.0, miss))
    assert miss <= AGREEMENT
    require_target(row)
