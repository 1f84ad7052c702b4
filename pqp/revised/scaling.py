"""Scaling: the reduced problem in units in which its numbers are about 1.

With v = d v' and g = g' / d the matrix becomes d M d. Units equilibrate its rows (Ruiz), and where no
curvature relates values to multipliers, they balance the two, so that the units of the objective and of the
variables do not matter. All units are powers of two: scaling and unscaling are free of rounding errors.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from pqp.errors import NumericalTroubleError
from pqp.linalg.field import FLOAT, Array
from pqp.linalg.operators import Operator, SparseOperator
from pqp.linalg.system import System
from pqp.revised.presolve import ReducedProblem
from pqp.revised.states import Bounds, MixedLCP, build_state_table

# Passes of equilibration: row maxima are then between 1/2 and 2 on all problems measured.
PASSES = 6
# Rows whose largest entry is below this part of the largest of all are scaled no further than to this.
SMALLEST_ROW = 1e-10
# Units that differ from 1 by no more than this factor are not worth a multiplication at every product.
NEARLY_ONE = 8.0


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """A reduced problem in scaled units: bounds, q and system; v = d v', g = g' / d."""

    reduced: ReducedProblem
    d: Array
    bounds: Bounds
    q: Array
    system: System

    @cached_property
    def lcp(self) -> MixedLCP:
        """The complementarity problem in the parameter mu."""
        return MixedLCP(self.system, self.q, build_state_table(self.bounds))


def scale_problem(reduced: ReducedProblem) -> ScaledProblem:
    """Return a reduced problem in scaled units; raise if products of the data overflow float64."""
    # Overflow is not an error of numpy here but of the data, and is reported as such.
    with np.errstate(over="ignore", invalid="ignore"):
        system = _system(reduced)
        d = _units(system, reduced)
        value_unit = np.where(system.is_row, 1 / d, d)[:, None]
        bounds = reduced.bounds
        scaled = ScaledProblem(
            reduced,
            d,
            replace(
                bounds,
                lower=bounds.lower / value_unit,
                upper=bounds.upper / value_unit,
                cap=bounds.cap * value_unit,
            ),
            reduced.q * d[:, None],
            system if np.all(d == 1.0) else system.scaled(d),
        )
        checked = (scaled.q, scaled.system.diagonal(), scaled.bounds.lower[:, 1], scaled.bounds.upper[:, 1])
        if not all(np.isfinite(part).all() for part in checked):
            raise NumericalTroubleError(
                "the data overflow float64",
                remedy="scale them, or use {setting}",
                setting=("arithmetic", "exact"),
            )
    return scaled


def _system(reduced: ReducedProblem) -> System:
    elimination = reduced.elimination
    if not len(reduced.variables):
        count = len(reduced.rows)
        G: Operator = (
            SparseOperator(csr_array((count, count))) if elimination is None else elimination.operator
        )
        return System(None, None, G)
    P = reduced.problem.P.operator
    H = P if len(reduced.variables) == reduced.problem.n else P.restricted(reduced.variables)
    if not len(reduced.rows):
        return System(H)
    A = reduced.problem.data(FLOAT).A[reduced.rows][:, reduced.variables]
    return System(H, A, None if elimination is None else elimination.operator)


def _units(system: System, reduced: ReducedProblem) -> Array:
    """Return powers of two that bring the largest entry of every row of d M d to about 1.

    A positive semidefinite block is bounded by its diagonal, which stands for it.
    """
    diagonal, sizes, n = np.abs(system.diagonal()), system.coupling(), system.variables
    d = np.ones(system.size)
    for _ in range(PASSES):
        largest = diagonal * d**2
        if sizes.nnz:
            entries = sizes.data * d[n + sizes.row] * d[sizes.col]
            np.maximum.at(largest, n + sizes.row, entries)
            np.maximum.at(largest, sizes.col, entries)
        # Rows of nothing but tiny numbers, such as rounding errors, are not blown up beyond reason.
        floor = SMALLEST_ROW * largest.max(initial=0.0)
        d /= np.sqrt(np.where(largest > floor, largest, np.where(largest > 0, floor, 1.0)))
    if not np.any(diagonal > 0):
        d = _balanced(d, system, reduced)
    if d.size == 0 or (d.max() <= NEARLY_ONE and d.min() >= 1 / NEARLY_ONE):
        return np.ones(system.size)
    return np.asarray(np.exp2(np.round(np.log2(d))))


def _balanced(d: Array, system: System, reduced: ReducedProblem) -> Array:
    """Return units in which costs and limits have about the same size, which a linear program leaves open."""
    is_row = system.is_row
    costs = np.abs(reduced.q[~is_row] * d[~is_row, None]).max(initial=0.0)
    unit = np.where(is_row, 1 / d, d)[:, None]
    limits = np.abs(np.concatenate([reduced.bounds.lower / unit, reduced.bounds.upper / unit]))
    largest = limits[np.isfinite(limits)].max(initial=0.0)
    if not (costs > 0 and largest > 0):
        return d
    ratio = np.sqrt(largest / costs)
    return np.where(is_row, d / ratio, d * ratio)
