r"""CBC and CBC(C): choices as a quadratic program in part-worths [Gärtner et al., section 4].

.. math:: \min_v \; \tfrac12\|v\|^2 + C \sum_i \omega_i \max(0,\, 1 - n_i^\top v)
    \quad\text{s.t.}\quad o_j^\top v \ge 0

The rows n are choices, soft at the price C = μ, or hard, which is CBC; the rows o are orders, always hard.

Respondents are pooled with shrinkage as in Evgeniou et al.: :math:`v_r = v_0 + u_r` and the ridge is

.. math:: \frac{\|v_0\|^2}{2\gamma} + \sum_r \frac{\|u_r\|^2}{2(1 - \gamma)}, \qquad 0 < \gamma < 1

so that γ → 1 leaves v_0 alone, one scale for all, and γ → 0 leaves every respondent alone. In the variables
:math:`w_0 = v_0/\sqrt\gamma,\; w_r = u_r/\sqrt{1-\gamma}` it is ½‖w‖² again, and the row of a choice of
respondent r is :math:`(\sqrt\gamma\, n, 0, \dots, \sqrt{1-\gamma}\, n, \dots, 0)`.

Room: rows of choices and of orders in; a `ParametricQP`, and part-worths from its solution, out.
May touch: `arrays`, `rows`, `orders`, and `pqp`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

import pqp
from ranking.arrays import Array
from ranking.conjoint.rows import ChoiceRows


@dataclass(frozen=True, eq=False)
class Program:
    """A choice model as a program; `shrinkage` is None for one set of part-worths, γ for a pool."""

    rows: ChoiceRows
    orders: Array
    shrinkage: float | None = None

    @property
    def d(self) -> int:
        """The number of part-worths of one respondent."""
        return int(self.rows.rows.shape[1])

    def problem(self, hard: bool = False) -> pqp.ParametricQP:
        """Return CBC(C) in μ = C, or CBC if choices are hard."""
        A = self._matrix()
        s, p = len(self.rows), A.shape[0] - len(self.rows)
        lower = np.concatenate([np.ones(s, dtype=np.int64), np.zeros(p, dtype=np.int64)])
        slope = np.concatenate([self.rows.weight, np.zeros(p, dtype=np.int64)])
        penalty = None
        if not hard:
            penalty = pqp.mu * slope
            if p:
                penalty = penalty + np.concatenate([np.zeros(s), np.full(p, np.inf)])
        identity = csr_array((np.ones(A.shape[1], dtype=np.int64), [np.arange(A.shape[1])] * 2))
        P = identity if self.shrinkage is not None else identity.toarray()
        return pqp.ParametricQP(P=P, c=0, A=A, row_lower=lower, penalty=penalty)

    def part_worths(self, x: Array) -> Array:
        """Return the part-worths of all owners, one row each, from a solution; leading axes are kept."""
        if self.shrinkage is None:
            return np.asarray(x)[..., None, :]
        common, own = np.split(np.asarray(x), [self.d], axis=-1)
        own = own.reshape(*own.shape[:-1], self.rows.n_owners, self.d)
        g = self.shrinkage
        return np.asarray(np.sqrt(g) * common[..., None, :] + np.sqrt(1 - g) * own)

    def common(self, x: Array) -> Array:
        """Return v_0, or the only part-worths there are."""
        return np.asarray(x if self.shrinkage is None else np.sqrt(self.shrinkage) * x[: self.d])

    def _matrix(self) -> Any:
        """Return the rows of choices and orders, whole numbers where nothing is pooled."""
        if self.shrinkage is None:
            return np.vstack([self.rows.rows, self.orders])
        n, g = self.rows.n_owners, self.shrinkage
        choices = pooled_rows(self.rows.rows, self.rows.owner, n, g)
        everyone = np.repeat(np.arange(n), len(self.orders))
        orders = pooled_rows(np.tile(self.orders, (n, 1)), everyone, n, g)
        common = pooled_rows(self.orders, np.full(len(self.orders), -1), n, g)
        return csr_array(vstack([choices, common, orders]))


def pooled_rows(rows: Array, owner: Array, n: int, shrinkage: float) -> Any:
    """Return rows in the variables of a pool, sparse; those of owner -1 are about v_0 alone.

    >>> pooled_rows(np.array([[1, -1]]), np.array([1]), 2, 0.5).toarray().round(2)
    array([[ 0.71, -0.71,  0.  ,  0.  ,  0.71, -0.71]])
    """
    s, d = rows.shape
    row, column = np.nonzero(rows)
    value = rows[row, column]
    has_owner = owner[row] >= 0
    entries = np.concatenate([np.sqrt(shrinkage) * value, np.sqrt(1 - shrinkage) * value[has_owner]])
    places = np.concatenate([column, (d + owner[row] * d + column)[has_owner]])
    return csr_array((entries, (np.concatenate([row, row[has_owner]]), places)), shape=(s, d + n * d))
