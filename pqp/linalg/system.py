r"""The linear system of the revised engine, known by its products and never formed.

For variables x and multipliers y of rows, v = (x, y) and

.. math:: g = \begin{pmatrix} H & -B^\top \\ B & G \end{pmatrix} v + q = M v + q

are the multipliers of the variables' bounds and the values of the rows. H and G are positive semidefinite,
each with the structure it came with; G appears when free variables were eliminated. The signs
J = (1, ..., 1, -1, ..., -1) make J M symmetric.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.matrices import MatrixData, dense_matrix, is_sparse
from pqp.linalg.products import product_of
from pqp.linalg.structure import DENSE, NO_PART, Form, Part, form_of, with_units


class Products(Protocol):
    """A matrix known by its products."""

    @property
    def size(self) -> int:
        """The number of rows."""

    def times(self, vector: Array) -> Array:
        """The whole matrix times a dense vector or block."""

    def block(self, rows: Array, columns: Array) -> Array:
        """A dense part."""

    def diagonal(self) -> Array:
        """The diagonal."""


class Operator(Products, Protocol):
    """A symmetric positive semidefinite matrix: H or G."""

    @property
    def part(self) -> Part:
        """The matrix as compiled code takes it."""


class System(Products, Protocol):
    """M as the engine uses it."""

    @property
    def signs(self) -> Array:
        """J: one sign per item, J M is symmetric."""

    @property
    def form(self) -> Form:
        """M as compiled code takes it."""


@dataclass(frozen=True, eq=False)
class Pure:
    """A system of variables only, or of rows only: M is one operator."""

    operator: Operator

    @property
    def size(self) -> int:
        return self.operator.size

    @cached_property
    def signs(self) -> Array:
        """M is symmetric itself."""
        return np.ones(self.size)

    @cached_property
    def form(self) -> Form:
        return form_of(self.size, self.operator.part, NO_PART, None)

    def times(self, vector: Array) -> Array:
        # most rows of a sparse model are zero; leaving them out saves most of a dense product
        moving = np.flatnonzero(np.any(vector, axis=1))
        if self.form.H.kind == DENSE and 2 * len(moving) < self.size:
            return product_of(self.form.H, self.size, moving, vector[moving])
        return self.operator.times(vector)

    def block(self, rows: Array, columns: Array) -> Array:
        return self.operator.block(rows, columns)

    def diagonal(self) -> Array:
        return self.operator.diagonal()


@dataclass(frozen=True, eq=False)
class Mixed:
    """A system of variables, H, and rows, B and maybe G."""

    H: Operator
    B: MatrixData
    G: Operator | None

    @property
    def size(self) -> int:
        return self.H.size + self.B.shape[0]

    @cached_property
    def signs(self) -> Array:
        """J: 1 for variables, -1 for rows."""
        return np.repeat([1.0, -1.0], [self.H.size, self.B.shape[0]])

    # both orders are kept: slicing a sparse matrix across its storage takes time in all of its entries
    @cached_property
    def _rows(self) -> Any:
        """B by rows."""
        return self.B.tocsr() if is_sparse(self.B) else np.ascontiguousarray(self.B)

    @cached_property
    def _columns(self) -> Any:
        """Bᵀ by rows."""
        return self.B.T.tocsr() if is_sparse(self.B) else np.ascontiguousarray(self.B.T)

    @cached_property
    def form(self) -> Form:
        return form_of(self.H.size, self.H.part, NO_PART if self.G is None else self.G.part, self.B)

    def times(self, vector: Array) -> Array:
        n = self.H.size
        x, y = vector[:n], vector[n:]
        rows = self._rows @ x if self.G is None else self._rows @ x + self.G.times(y)
        return np.concatenate([self.H.times(x) - self._columns @ y, rows])

    def block(self, rows: Array, columns: Array) -> Array:
        # most blocks asked for are one column of a basis, which needs no index sets
        if len(columns) == 1:
            return self._column(rows, int(columns[0]))[:, None]
        n = self.H.size
        top, left = rows < n, columns < n
        result = np.zeros((len(rows), len(columns)))
        above, below = np.flatnonzero(top), np.flatnonzero(~top)
        here, there = np.flatnonzero(left), np.flatnonzero(~left)
        if len(above) and len(here):
            result[np.ix_(above, here)] = self.H.block(rows[above], columns[here])
        if len(above) and len(there):
            result[np.ix_(above, there)] = -dense_matrix(self._part(columns[there] - n, rows[above])).T
        if len(below) and len(here):
            result[np.ix_(below, here)] = dense_matrix(self._part(rows[below] - n, columns[here]))
        if len(below) and len(there) and self.G is not None:
            result[np.ix_(below, there)] = self.G.block(rows[below] - n, columns[there] - n)
        return result

    def _column(self, rows: Array, item: int) -> Array:
        """Return a part of one column."""
        n, result = self.H.size, np.zeros(len(rows))
        is_row = rows >= n
        variables, others = rows[~is_row], rows[is_row] - n
        if item < n:
            result[~is_row] = self.H.block(variables, np.array([item]))[:, 0]
            result[is_row] = dense_matrix(self._columns[[item]])[0, others]
        else:
            result[~is_row] = -dense_matrix(self._rows[[item - n]])[0, variables]
            if self.G is not None:
                result[is_row] = self.G.block(others, np.array([item - n]))[:, 0]
        return result

    def _part(self, rows: Array, columns: Array) -> Any:
        """Return B[rows, columns], sliced along the shorter list first."""
        if len(rows) <= len(columns):
            return self._rows[rows][:, columns]
        return self._columns[columns].T[rows]

    def diagonal(self) -> Array:
        below = np.zeros(self.B.shape[0]) if self.G is None else self.G.diagonal()
        return np.concatenate([self.H.diagonal(), below])


@dataclass(frozen=True, eq=False)
class Scaled:
    """d M d for positive d: the same system in units in which its entries are about 1."""

    system: System
    d: Array

    @property
    def size(self) -> int:
        return self.system.size

    @property
    def signs(self) -> Array:
        """Scaling changes no sign."""
        return self.system.signs

    @cached_property
    def form(self) -> Form:
        return with_units(self.system.form, self.d)

    def times(self, vector: Array) -> Array:
        return self.d[:, None] * self.system.times(self.d[:, None] * vector)

    def block(self, rows: Array, columns: Array) -> Array:
        return self.d[rows, None] * self.system.block(rows, columns) * self.d[columns]

    def diagonal(self) -> Array:
        return self.d**2 * self.system.diagonal()
