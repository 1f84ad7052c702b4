r"""A pool of respondents at one C: what its dual variables mean, and how far they are from the optimum.

The dual of the pooled problem has one variable a row,

.. math:: \min_\alpha \; \tfrac12\|w(\alpha)\|^2 - \mathbf 1^\top\alpha, \quad 0 \le \alpha_i \le C\omega_i,
    \qquad w_0 = \sqrt\gamma \sum_i \alpha_i n_i,\; w_r = \sqrt{1-\gamma} \sum_{i \in r} \alpha_i n_i.

Room: rows of a pool and C in; w, margins and duality gaps out. Solves nothing.
May touch: `arguments`, `arrays`, `rows`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ranking.arguments import Integers
from ranking.arrays import Array
from ranking.conjoint.rows import ChoiceRows


class PooledSolution(NamedTuple):
    """α, one a row; w_0 and all w_r, one a row; the dual value, and its gap to the primal one, relatively."""

    alpha: Array
    common: Array
    own: Array
    dual: float
    gap: float


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows X, whose they are, the largest α of each, the number of respondents, and γ."""

    X: Array
    owner: Integers
    cap: Array
    n: int
    shrinkage: float

    @cached_property
    def blocks(self) -> list[slice]:
        """The rows of every respondent who has some; rows are sorted by respondent."""
        ends = np.flatnonzero(np.diff(self.owner, append=-1)) + 1
        return [slice(lo, hi) for lo, hi in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]

    def owners_sums(self, values: Array) -> Array:
        """Return the sums of values, one row a row of X, over the rows of every respondent."""
        sums, starts = np.zeros((self.n, *values.shape[1:])), [block.start for block in self.blocks]
        sums[self.owner[starts]] = np.add.reduceat(values, starts, axis=0)
        return sums

    def weights(self, alpha: Array) -> tuple[Array, Array]:
        """Return w_0 and all w_r."""
        own = self.owners_sums(alpha[:, None] * self.X)
        return np.sqrt(self.shrinkage) * own.sum(axis=0), np.sqrt(1 - self.shrinkage) * own

    def margins(self, common: Array, own: Array) -> Array:
        """Return the margin n·v of every row, from w."""
        v = np.sqrt(self.shrinkage) * common + np.sqrt(1 - self.shrinkage) * own
        return np.asarray(np.einsum("ij,ij->i", self.X, v[self.owner]))

    def measured(self, alpha: Array) -> PooledSolution:
        """Return a feasible α with its duality gap, relative to the primal value."""
        common, own = self.weights(alpha)
        margins = self.margins(common, own)
        ridge = (common @ common + (own * own).sum()) / 2
        primal = ridge + self.cap @ np.maximum(0.0, 1 - margins)
        dual = ridge - alpha.sum()
        return PooledSolution(alpha, common, own, float(dual), float((primal + dual) / primal))


def pool_of(rows: ChoiceRows, shrinkage: float, C: float) -> Pool:
    """Return the pool of some rows at one C."""
    cap = C * rows.weight.astype(float)
    return Pool(rows.rows.astype(float), np.asarray(rows.owner), cap, rows.n_owners, shrinkage)
