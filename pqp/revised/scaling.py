"""Equilibration: the setting of a walk in units in which its numbers are about 1, all powers of two."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array

from pqp.errors import NumericalTroubleError
from pqp.linalg.field import FLOAT, Array
from pqp.linalg.kernels import product_of
from pqp.linalg.matrices import MatrixData, is_sparse
from pqp.linalg.structure import Part, restricted
from pqp.linalg.system import Mixed, Operator, Pure, Scaled, System
from pqp.linalg.tolerances import WIDE_RANGE
from pqp.model.hessian import Hessian
from pqp.revised.basis import Setting
from pqp.revised.presolve import Reduction
from pqp.revised.states import Limits, build_stairs

# Units that differ from 1 by no more than this factor are not worth a multiplication at every product.
NEARLY_ONE = 8.0
# Up to this size all entries of M are looked at.
SMALL = 150


@dataclass(frozen=True, eq=False)
class Kept:
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
class Scene:
    """A reduction ready to be walked: limits, q and system in scaled units; v = d v', g = g' / d."""

    reduction: Reduction
    d: Array
    limits: Limits
    q: Array
    system: System

    @cached_property
    def is_delicate(self) -> bool:
        """Whether the data differ so much that float64 alone cannot be trusted with their signs."""
        parts = [self.q, self.limits.lower, self.limits.upper, self.limits.cap, self._entries()]
        sizes = np.abs(np.concatenate([part.ravel() for part in parts]))
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        return bool(sizes.size) and bool(sizes.max() > WIDE_RANGE * sizes.min())

    def _entries(self) -> Array:
        """Return the scaled entries of M; of a large one those that couple variables and rows."""
        whole = self.system.system if isinstance(self.system, Scaled) else self.system
        if self.system.size <= SMALL:
            everything = np.arange(self.system.size)
            return _deciding(self.system.block(everything, everything), self.reduction.is_row)
        if not isinstance(whole, Mixed):
            return self.system.diagonal()
        entries = coo_array(whole.B)
        return np.asarray(
            entries.data * self.d[entries.col] * self.d[len(self.d) - whole.B.shape[0] + entries.row]
        )

    @cached_property
    def setting(self) -> Setting:
        """The setting in the parameter mu."""
        return Setting(self.system, self.q, build_stairs(self.limits), self.reduction.is_row)


def _deciding(M: Array, is_row: Array) -> Array:
    """Return M, 0 for entries beside the diagonal of H and G, which are judged beside the diagonal alone.

    They are never larger than that and, as those of kernels between distant items, may be as small as they
    like: float64 is as good without them.
    """
    beside = np.equal.outer(is_row, is_row) & ~np.eye(len(M), dtype=bool)
    return np.where(beside, 0.0, M)


def set_scene(reduction: Reduction) -> Scene:
    """Return the scene of a reduction; data whose products float64 cannot hold are refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        scene = _scene(reduction)
        checked = (scene.q, scene.system.diagonal(), scene.limits.lower[:, 1], scene.limits.upper[:, 1])
        if not all(np.isfinite(part).all() for part in checked):
            raise NumericalTroubleError('the data overflow float64; scale them, or use arithmetic="exact"')
    return scene


def _scene(reduction: Reduction) -> Scene:
    system = _system(reduction)
    d = _units(system, reduction)
    limits, value_unit = reduction.limits, np.where(reduction.is_row, 1 / d, d)[:, None]
    scaled = replace(
        limits,
        lower=limits.lower / value_unit,
        upper=limits.upper / value_unit,
        cap=limits.cap * value_unit,
    )
    whole = system if np.all(d == 1.0) else Scaled(system, d)
    return Scene(reduction, d, scaled, reduction.q * d[:, None], whole)


def _system(reduction: Reduction) -> System:
    elimination = reduction.elimination
    if not len(reduction.variables) and elimination is not None:
        return Pure(elimination)
    everything = len(reduction.variables) == reduction.problem.n
    P = reduction.problem.P
    H: Operator = P if everything else Kept(P, reduction.variables)
    if not len(reduction.rows):
        return Pure(H)
    A: MatrixData = reduction.problem.data(FLOAT).A[reduction.rows][:, reduction.variables]
    return Mixed(H, A, elimination)


def _units(system: System, reduction: Reduction) -> Array:
    """Return powers of two that bring the diagonal, or else the largest entry of a row, to about 1."""
    diagonal = system.diagonal()
    d = np.ones(system.size)
    d[diagonal > 0] = diagonal[diagonal > 0] ** -0.5
    if isinstance(system, Mixed):
        n = len(reduction.variables)
        sizes = abs(system.B)
        for part, other, axis in ((slice(0, n), slice(n, None), 0), (slice(n, None), slice(0, n), 1)):
            weights = d[other][:, None] if axis == 0 else d[other]
            largest = _largest(sizes * weights, axis)
            bare = (diagonal[part] <= 0) & (largest > 0)
            d[part] = np.where(bare, 1 / np.where(largest > 0, largest, 1.0), d[part])
    if d.size == 0 or (d.max() <= NEARLY_ONE and d.min() >= 1 / NEARLY_ONE):
        return np.ones(system.size)
    return np.asarray(np.exp2(np.round(np.log2(d))))


def _largest(sizes: MatrixData, axis: int) -> Array:
    if is_sparse(sizes):
        return sizes.max(axis=axis).toarray().ravel()
    return np.max(sizes, axis=axis, initial=0.0)
