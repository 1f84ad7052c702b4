r"""The linear system of the revised engine, known by its products and never formed.

For variables x and multipliers y of rows, v = (x, y) and

.. math:: g = \begin{pmatrix} H & -B^\top \\ B & G \end{pmatrix} v + q = M v + q

are the multipliers of the variables' bounds and the values of the rows. H and G are positive semidefinite,
each with the structure it came with; G appears when free variables were eliminated. The signs
J = (1, ..., 1, -1, ..., -1) make S = J M symmetric.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import block_array, coo_array, csc_array, csr_array, diags_array

from pqp.linalg.blocks import CoupledBlocks
from pqp.linalg.field import Array
from pqp.linalg.matrices import MatrixData, dense_matrix, is_sparse
from pqp.linalg.operators import DenseOperator, LowRankOperator, Operator

# Systems that are smaller, or have more entries per item, are solved faster as dense ones.
SMALLEST_SPARSE, MOST_ENTRIES_PER_ITEM = 400, 60
# A dense matrix is put together up to this many entries (256 MB).
MOST_DENSE_ENTRIES = 2**25
# A factor is kept where it is narrower than this share of the matrix it stands for.
NARROW = 0.25


@dataclass(frozen=True, eq=False)
class System:
    """M by its parts: H of the variables, B that couples them with rows, G of the rows; parts may be None."""

    H: Operator | None
    B: MatrixData | None = None
    G: Operator | None = None

    @cached_property
    def variables(self) -> int:
        """The number of variables; rows come behind them."""
        return 0 if self.H is None else self.H.size

    @cached_property
    def size(self) -> int:
        """The number of variables and rows."""
        rows = 0 if self.B is None else int(self.B.shape[0])
        return self.variables + (rows if self.G is None else self.G.size)

    @cached_property
    def is_row(self) -> Array:
        """Which items are rows."""
        return np.arange(self.size) >= self.variables

    @cached_property
    def signs(self) -> Array:
        """J: 1 for variables, -1 for rows; all 1 if there are only rows, since G is symmetric itself."""
        return np.ones(self.size) if self.B is None else np.where(self.is_row, -1.0, 1.0)

    # Both orders are kept: slicing a sparse matrix across its storage takes time in all of its entries.
    @cached_property
    def _rows(self) -> Any:
        """B by rows."""
        assert self.B is not None
        return self.B.tocsr() if is_sparse(self.B) else np.ascontiguousarray(self.B)

    @cached_property
    def _columns(self) -> Any:
        """Bᵀ by rows."""
        assert self.B is not None
        return self.B.T.tocsr() if is_sparse(self.B) else np.ascontiguousarray(self.B.T)

    @cached_property
    def single(self) -> Operator | None:
        """M itself if it is one operator."""
        return (self.G if self.H is None else self.H) if self.B is None else None

    @cached_property
    def is_sparse(self) -> bool:
        """Whether a sparse factorisation is worth it."""
        entries = self.entries
        return (
            entries is not None
            and self.size >= SMALLEST_SPARSE
            and entries.nnz <= MOST_ENTRIES_PER_ITEM * self.size
        )

    @cached_property
    def blocks(self) -> CoupledBlocks | None:
        """S by the blocks of H, or of G alone, and what couples them; None if it has no such form."""
        part = self.H if self.single is None else self.single
        if part is None or (self.B is not None and self.G is not None):
            return None
        blocks = part.coupled_blocks()
        return blocks if blocks is None or self.B is None else blocks.with_rows(self.B)

    @cached_property
    def symmetric(self) -> Operator | None:
        """S = J M as one operator, in the form whose products cost least; None if its parts stay apart."""
        if self.is_sparse:
            return self.single
        whole = self.single if self.B is None else self._narrow()
        if isinstance(whole, DenseOperator) or self.size**2 > MOST_DENSE_ENTRIES:
            return whole
        for part in (whole, self.H, self.G):
            if part is None or part.entries() is not None:
                continue
            # A narrow factor, a sparse one, or pairs cost less than the matrix they stand for.
            columns = part.short_columns()
            if columns is None or columns.width <= NARROW * self.size:
                return whole
        everything = np.arange(self.size)
        entries = self._block(everything, everything)
        return DenseOperator(entries if self.B is None else self.signs[:, None] * entries)

    def _narrow(self) -> LowRankOperator | None:
        """Return S as factors if that is narrow: with few variables, or a factor H and few rows."""
        H, B = self.H, self.B
        if H is None or B is None or self.G is not None:
            return None
        n, m = self.variables, self.size - self.variables
        if 2 * n <= NARROW * self.size:
            # Every variable adds two columns: its own, and the one of its row.
            everything, one, down = np.arange(n), np.eye(n), -dense_matrix(self._rows)
            left = np.block([[one, np.zeros((n, n))], [np.zeros((m, n)), down]])
            right = np.block([[H.block(everything, everything), one], [down, np.zeros((m, n))]])
            return LowRankOperator(left, right)
        if not isinstance(H, LowRankOperator) or H.short_columns() is None:
            return None
        # Every row adds two columns to those of the factor.
        up, one = -dense_matrix(self._columns), np.eye(m)
        left = np.block([[H.left, up, np.zeros((n, m))], [np.zeros((m, H.width + m)), one]])
        right = np.block([[H.right, np.zeros((n, m)), up], [np.zeros((m, H.width)), one, np.zeros((m, m))]])
        return LowRankOperator(left, right, None if H.added is None else np.append(H.added, np.zeros(m)))

    def times(self, vector: Array) -> Array:
        """Return M times a vector, or times a block of them."""
        if self.symmetric is not None:
            return self._signed(self.symmetric.times(vector))
        assert self.H is not None
        x, y = vector[: self.variables], vector[self.variables :]
        below = self._rows @ x if self.G is None else self._rows @ x + self.G.times(y)
        return np.concatenate([self.H.times(x) - self._columns @ y, below])

    def sizes(self, vector: Array) -> Array:
        """Return bounds on the sums of the sizes of the terms of M v, for v with entries of these sizes.

        An entry of a positive semidefinite block that is not sparse is bounded by the diagonal.
        """
        n, parts = self.variables, []
        for part, own in ((self.H, vector[:n]), (self.G, vector[n:])):
            if part is None:
                parts.append(np.zeros(len(own)))
                continue
            entries = part.entries()
            roots = np.sqrt(np.maximum(part.diagonal(), 0.0))
            parts.append(roots * (roots @ own) if entries is None else abs(entries) @ own)
        if self.B is not None:
            parts[0] = parts[0] + abs(self._columns) @ vector[n:]
            parts[1] = parts[1] + abs(self._rows) @ vector[:n]
        return np.concatenate(parts)

    def _signed(self, vector: Array) -> Array:
        """Return J times a vector or a block."""
        if self.B is not None:
            # Not np.negative, which reads the wrong entries of some strided arrays (numpy 2.4).
            vector[self.variables :] *= -1.0
        return vector

    def product(self, items: Array, values: Array) -> Array:
        """Return M[:, items] times values."""
        if self.symmetric is not None:
            return self._signed(self.symmetric.product(items, values))
        full = np.zeros((self.size, *values.shape[1:]))
        full[items] = values
        return self.times(full)

    def column(self, item: int) -> Array:
        """Return one column of M."""
        return self.product(np.array([item]), np.ones(1))

    def block(self, rows: Array, columns: Array) -> Array:
        """Return M[rows, columns], dense."""
        if self.symmetric is not None:
            result = self.symmetric.block(rows, columns)
            return result if self.B is None else self.signs[rows, None] * result
        return self._block(rows, columns)

    def _block(self, rows: Array, columns: Array) -> Array:
        """Return M[rows, columns] from the parts."""
        if self.single is not None:
            return self.single.block(rows, columns)
        n, H = self.variables, self.H
        assert H is not None
        above, here = np.flatnonzero(rows < n), np.flatnonzero(columns < n)
        below, there = np.flatnonzero(rows >= n), np.flatnonzero(columns >= n)
        result = np.zeros((len(rows), len(columns)))
        if len(above) and len(here):
            result[np.ix_(above, here)] = H.block(rows[above], columns[here])
        if len(above) and len(there):
            result[np.ix_(above, there)] = -self._part(columns[there] - n, rows[above]).T
        if len(below) and len(here):
            result[np.ix_(below, here)] = self._part(rows[below] - n, columns[here])
        if len(below) and len(there) and self.G is not None:
            result[np.ix_(below, there)] = self.G.block(rows[below] - n, columns[there] - n)
        return result

    def _part(self, rows: Array, columns: Array) -> Array:
        """Return B[rows, columns], sliced along the shorter list first."""
        if len(rows) <= len(columns):
            return dense_matrix(self._rows[rows][:, columns])
        return dense_matrix(self._columns[columns]).T[rows]

    def diagonal(self) -> Array:
        """Return the diagonal of M."""
        above = np.zeros(0) if self.H is None else self.H.diagonal()
        if self.G is not None:
            return np.concatenate([above, self.G.diagonal()])
        return np.concatenate([above, np.zeros(self.size - self.variables)])

    @cached_property
    def entries(self) -> csc_array | None:
        """J M as a sparse matrix; None if a part of it is not sparse."""
        parts = [part.entries() for part in (self.H, self.G) if part is not None]
        if any(part is None for part in parts) or (self.B is not None and not is_sparse(self.B)):
            return None
        if self.single is not None:
            return csc_array(parts[0])
        corner = -self.G.entries() if self.G is not None else None
        if corner is None:
            rows = self.size - self.variables
            corner = csr_array((rows, rows))
        return csc_array(block_array([[parts[0], -self._columns], [-self._rows, corner]]))

    def scaled(self, units: Array) -> "System":
        """Return diag(units) M diag(units), with the same structure."""
        x, y = units[: self.variables], units[self.variables :]
        B = self.B
        if B is not None:
            B = csr_array(diags_array(y) @ B @ diags_array(x)) if is_sparse(B) else y[:, None] * B * x
        return System(
            None if self.H is None else self.H.scaled(x), B, None if self.G is None else self.G.scaled(y)
        )

    def coupling(self) -> coo_array:
        """Return the sizes of the entries of B, which couple rows and variables."""
        if self.B is None:
            return coo_array((self.size - self.variables, self.variables))
        return coo_array(abs(self.B))
