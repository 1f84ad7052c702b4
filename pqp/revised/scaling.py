"""Equilibration: the reduced problem in units in which its numbers are about 1.

All units are powers of two, so that scaling and unscaling are free of rounding errors.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array

from pqp.errors import NumericalTroubleError
from pqp.linalg.field import FLOAT, Array
from pqp.linalg.matrices import MatrixData, is_sparse
from pqp.linalg.products import product_of
from pqp.linalg.structure import Part, restricted
from pqp.linalg.system import Mixed, Operator, Pure, Scaled, System
from pqp.linalg.tolerances import WIDE_RANGE
from pqp.model.hessian import Hessian
from pqp.revised.basis import MixedLCP
from pqp.revised.presolve import ReducedProblem
from pqp.revised.states import Bounds, build_state_table

# Units that differ from 1 by no more than this factor are not worth a multiplication at every product.
NEARLY_ONE = 8.0
# Up to this size all entries of M are compared.
ALL_ENTRIES_UP_TO = 150


@dataclass(frozen=True, eq=False)
class HessianBlock:
    """The block of a Hessian that belongs to the kept variables."""

    whole: Hessian
    variables: Array

    @property
    def size(self) -> int:
        """The number of kept variables."""
        return len(self.variables)

    @cached_property
    def part(self) -> Part:
        """The block as compiled code takes it."""
        return restricted(self.whole.part, self.variables)

    def product(self, indices: Array, values: Array) -> Array:
        """Return the columns of the block times values."""
        return product_of(self.part, self.size, indices, values)

    def times(self, vector: Array) -> Array:
        """Return the block times a dense vector or block."""
        return self.product(np.arange(self.size), vector)

    def block(self, rows: Array, columns: Array) -> Array:
        """Return a dense part."""
        return self.whole.block(self.variables[rows], self.variables[columns])

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return self.whole.diagonal()[self.variables]


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """A reduced problem in scaled units: bounds, q and system; v = d v', g = g' / d."""

    reduced: ReducedProblem
    d: Array
    bounds: Bounds
    q: Array
    system: System

    @cached_property
    def is_delicate(self) -> bool:
        """Whether the sizes of the data differ so much that float64 signs cannot be trusted."""
        parts = [self.q, self.bounds.lower, self.bounds.upper, self.bounds.cap, self._entries()]
        sizes = np.abs(np.concatenate([part.ravel() for part in parts]))
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        return bool(sizes.size) and bool(sizes.max() > WIDE_RANGE * sizes.min())

    def _entries(self) -> Array:
        """Return the scaled entries of M; for a large M only those that couple variables and rows."""
        whole = self.system.system if isinstance(self.system, Scaled) else self.system
        if self.system.size <= ALL_ENTRIES_UP_TO:
            everything = np.arange(self.system.size)
            return _deciding(self.system.block(everything, everything), self.reduced.is_row)
        if not isinstance(whole, Mixed):
            return self.system.diagonal()
        entries = coo_array(whole.B)
        return np.asarray(
            entries.data * self.d[entries.col] * self.d[len(self.d) - whole.B.shape[0] + entries.row]
        )

    @cached_property
    def lcp(self) -> MixedLCP:
        """The complementarity problem in the parameter mu."""
        return MixedLCP(self.system, self.q, build_state_table(self.bounds), self.reduced.is_row)


def _deciding(M: Array, is_row: Array) -> Array:
    """Return M without the off-diagonal entries of H and G, which are compared with the diagonal alone.

    A positive semidefinite block bounds them by its diagonal. They may be arbitrarily small, such as kernel
    values of distant items, and float64 loses nothing by that.
    """
    beside = np.equal.outer(is_row, is_row) & ~np.eye(len(M), dtype=bool)
    return np.where(beside, 0.0, M)


def scale_problem(reduced: ReducedProblem) -> ScaledProblem:
    """Return a reduced problem in scaled units; raise if products of the data overflow float64."""
    # Overflow is not an error of numpy here but of the data, and is reported as such.
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = _scaled(reduced)
        checked = (scaled.q, scaled.system.diagonal(), scaled.bounds.lower[:, 1], scaled.bounds.upper[:, 1])
        if not all(np.isfinite(part).all() for part in checked):
            raise NumericalTroubleError(
                "the data overflow float64",
                remedy="scale them, or use {setting}",
                setting=("arithmetic", "exact"),
            )
    return scaled


def _scaled(reduced: ReducedProblem) -> ScaledProblem:
    system = _system(reduced)
    d = _units(system, reduced)
    bounds, value_unit = reduced.bounds, np.where(reduced.is_row, 1 / d, d)[:, None]
    scaled = replace(
        bounds, lower=bounds.lower / value_unit, upper=bounds.upper / value_unit, cap=bounds.cap * value_unit
    )
    whole = system if np.all(d == 1.0) else Scaled(system, d)
    return ScaledProblem(reduced, d, scaled, reduced.q * d[:, None], whole)


def _system(reduced: ReducedProblem) -> System:
    elimination = reduced.elimination
    if not len(reduced.variables) and elimination is not None:
        return Pure(elimination)
    everything = len(reduced.variables) == reduced.problem.n
    P = reduced.problem.P
    H: Operator = P if everything else HessianBlock(P, reduced.variables)
    if not len(reduced.rows):
        return Pure(H)
    A: MatrixData = reduced.problem.data(FLOAT).A[reduced.rows][:, reduced.variables]
    return Mixed(H, A, elimination)


def _units(system: System, reduced: ReducedProblem) -> Array:
    """Return powers of two that bring the diagonal, or else the largest entry of a row, to about 1."""
    diagonal = system.diagonal()
    d = np.ones(system.size)
    # The same unit for row and column keeps d M d symmetric up to J.
    d[diagonal > 0] = diagonal[diagonal > 0] ** -0.5
    if isinstance(system, Mixed):
        n = len(reduced.variables)
        sizes = abs(system.B)
        for part, other, axis in ((slice(0, n), slice(n, None), 0), (slice(n, None), slice(0, n), 1)):
            weights = d[other][:, None] if axis == 0 else d[other]
            largest = _largest(sizes * weights, axis)
            bare = (diagonal[part] <= 0) & (largest > 0)
            d[part] = np.where(bare, 1 / np.where(largest > 0, largest, 1.0), d[part])
    # Well-scaled data are left as they are: products then need no units.
    if d.size == 0 or (d.max() <= NEARLY_ONE and d.min() >= 1 / NEARLY_ONE):
        return np.ones(system.size)
    # Powers of two, so that neither scaling nor its undoing rounds anything.
    return np.asarray(np.exp2(np.round(np.log2(d))))


def _largest(sizes: MatrixData, axis: int) -> Array:
    if is_sparse(sizes):
        return sizes.max(axis=axis).toarray().ravel()
    return np.max(sizes, axis=axis, initial=0.0)
