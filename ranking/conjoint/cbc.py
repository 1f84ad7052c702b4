r"""CBC and CBC(C): choices as a quadratic program in part-worths [Gärtner et al., section 4].

.. math:: \min_v \; \tfrac12\|v\|^2 + C \sum_i \omega_i \max(0,\, 1 - n_i^\top v)
    \quad\text{s.t.}\quad o_j^\top v \ge 0

The rows n are choices, soft at the price C = μ, or hard, which is CBC; the rows o are orders, always hard.

Respondents are pooled with shrinkage as in Evgeniou et al.: :math:`v_r = v_0 + u_r` and the ridge is

.. math:: \frac{\|v_0\|^2}{2\gamma} + \sum_r \frac{\|u_r\|^2}{2(1 - \gamma)}, \qquad 0 < \gamma < 1

so that γ → 1 leaves v_0 alone, one scale for all, and γ → 0 leaves every respondent alone. In the variables
:math:`w_0 = v_0/\sqrt\gamma,\; w_r = u_r/\sqrt{1-\gamma}` it is ½‖w‖² again, and the row of a choice of
respondent r is :math:`(\sqrt\gamma\, n, 0, \dots, \sqrt{1-\gamma}\, n, \dots, 0)`.

With A the matrix of all rows, choices first, the dual has bounds only,

.. math:: \min_\alpha \; \tfrac12\|A^\top\alpha\|^2 - \sum_i \alpha_i
    \quad\text{s.t.}\quad 0 \le \alpha_i \le C\omega_i, \; 0 \le \alpha_j \text{ of orders},

and :math:`w = A^\top\alpha` is unique where α is not.

Room: rows of choices and of orders in; a `ParametricQP`, and part-worths from w, out. Solves nothing.
May touch: `arrays`, `rows`, `orders`, and `pqp`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, vstack

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

    @cached_property
    def A(self) -> Any:
        """The rows of choices, then those of orders; whole numbers where nothing is pooled, else sparse."""
        if self.shrinkage is None:
            return np.vstack([self.rows.rows, self.orders])
        n, g = self.rows.n_owners, self.shrinkage
        choices = pooled_rows(self.rows.rows, self.rows.owner, n, g)
        everyone = np.repeat(np.arange(n), len(self.orders))
        orders = pooled_rows(np.tile(self.orders, (n, 1)), everyone, n, g)
        common = pooled_rows(self.orders, np.full(len(self.orders), -1), n, g)
        return csr_array(vstack([choices, common, orders]))

    def dual(self) -> pqp.ParametricQP:
        """Return the dual of CBC(C) in μ = C, one variable a row of A; the primal solution is w = Aᵀα."""
        s, p = len(self.rows), self.A.shape[0] - len(self.rows)
        cost = np.repeat([-1, 0], [s, p])
        upper = pqp.mu * np.concatenate([self.rows.weight, np.zeros(p, dtype=np.int64)])
        if p:
            upper = upper + np.repeat([0.0, np.inf], [s, p])
        return pqp.ParametricQP(P=pqp.Gram(self.A), c=cost, lower=0, upper=upper)

    def soft(self) -> pqp.ParametricQP:
        """Return CBC(C) in μ = C as it stands, one variable an entry of w, choices as soft rows."""
        s, p = len(self.rows), self.A.shape[0] - len(self.rows)
        price = pqp.mu * np.concatenate([self.rows.weight, np.zeros(p, dtype=np.int64)])
        if p:
            price = price + np.repeat([0.0, np.inf], [s, p])
        lower = np.repeat([1, 0], [s, p])
        P = eye_array(self.A.shape[1], format="csr")
        return pqp.ParametricQP(P=P, c=0, A=self.A, row_lower=lower, penalty=price)

    def hard(self) -> pqp.ParametricQP:
        """Return CBC, in which all choices must be explained, as it stands: it does not depend on μ."""
        A = self.A
        lower = np.repeat([1, 0], [len(self.rows), A.shape[0] - len(self.rows)])
        return pqp.ParametricQP(P=eye_array(A.shape[1], format="csr"), c=0, A=A, row_lower=lower)

    def part_worths(self, w: Array) -> Array:
        """Return the part-worths of all owners, one row each, from w; leading axes are kept."""
        if self.shrinkage is None:
            return np.asarray(w)[..., None, :]
        common, own = np.split(np.asarray(w), [self.d], axis=-1)
        own = own.reshape(*own.shape[:-1], self.rows.n_owners, self.d)
        g = self.shrinkage
        return np.asarray(np.sqrt(g) * common[..., None, :] + np.sqrt(1 - g) * own)

    def common(self, w: Array) -> Array:
        """Return v_0, or the only part-worths there are."""
        return np.asarray(w if self.shrinkage is None else np.sqrt(self.shrinkage) * w[: self.d])


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
