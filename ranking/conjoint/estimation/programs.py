r"""CBC and CBC(C): choices as a quadratic program in part-worths [Gärtner et al., section 4], and its path.

.. math:: \min_v \; \tfrac12\|v\|^2 + C \sum_i \omega_i \max(0,\, 1 - n_i^\top v)
    \quad\text{s.t.}\quad o_j^\top v \ge 0

The rows n are choices, soft at the price C = μ, or hard, which is CBC; the rows o are orders, always hard.
The loss depends on equal rows only through the sum of their weights ω, so equal differences are merged into
one row, which changes no solution at any C. The rows of a over b and of b over a are opposite, not equal: a
contradiction stays two rows. Rows are equal up to the rounding of the subtraction that made them.

Respondents are pooled with shrinkage as in Evgeniou et al.: :math:`v_r = v_0 + u_r` and the ridge is

.. math:: \frac{\|v_0\|^2}{2\gamma} + \sum_r \frac{\|u_r\|^2}{2(1 - \gamma)}, \qquad 0 < \gamma < 1

so that γ → 1 leaves v_0 alone, one scale for all, and γ → 0 leaves every respondent alone. With
:math:`z = (v_0, u_1, \dots, u_n)` and W the diagonal matrix of γ and 1 − γ the ridge is
:math:`\tfrac12 z^\top W^{-1} z`, and the row of a choice of respondent r is
:math:`(n, 0, \dots, n, \dots, 0)`. Where nothing is pooled z = v and W = I.

With A the matrix of all rows, choices first, the dual has bounds only,

.. math:: \min_\alpha \; \tfrac12\alpha^\top A W A^\top\alpha - \sum_i \alpha_i
    \quad\text{s.t.}\quad 0 \le \alpha_i \le C\omega_i, \; 0 \le \alpha_j \text{ of orders},

and :math:`z = W A^\top\alpha` is unique where α is not. A is whole as long as n is, and γ the decimal
fraction that it is written as, so that certificates are about these very numbers.

Paths are traced in the dual, where all pieces of z come from one matrix product. The dual is singular as soon
as more choices than part-worths are at their margin. Where float64 fails on it, the program itself is traced:
it has the same z.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, vstack

import pqp
from ranking.conjoint.data.choice_table import Differences
from ranking.core.validation import Array, Integers, read_only
from ranking.selection.piecewise import PiecewiseLinear

# Numbers of a column that differ by less than this part of the largest are equal: a subtraction was rounded.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ChoiceRows:
    """Rows n with weights ω; `owner` is the code of the respondent, 0 where all are taken together."""

    rows: Array
    weight: Array
    owner: Integers
    n_owners: int

    def __post_init__(self) -> None:
        for name in ("rows", "weight", "owner"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, owner: int) -> "ChoiceRows":
        """Return the rows of one respondent, alone."""
        mine = np.flatnonzero(self.owner == owner)
        return ChoiceRows(self.rows[mine], self.weight[mine], np.zeros(len(mine), dtype=np.int64), 1)


def choice_rows(
    differences: Differences, n_respondents: int | None = None, is_weighted: bool = True
) -> ChoiceRows:
    """Return the rows of all respondents together, or of each of n respondents; equal ones are merged.

    Without `is_weighted` the weights of respondents are left out: every difference counts once.

    >>> from ranking.conjoint import example_study
    >>> differences = example_study().differences()
    >>> len(differences), len(choice_rows(differences)), len(choice_rows(differences, 24))
    (576, 329, 562)
    """
    together = n_respondents is None
    owner = np.zeros(len(differences), dtype=np.int64) if together else differences.respondent
    weight = differences.weight if is_weighted else np.ones(len(differences))
    rows = compared = differences.rows
    if rows.dtype.kind != "i":
        # 0.3 - 0.2 and 0.2 - 0.1 are equal, though float64 says otherwise
        grain = ROUNDING * np.abs(rows).max(axis=0, initial=0.0)
        compared = np.rint(rows / np.where(grain > 0, grain, 1.0))
    keys = np.column_stack([owner, compared])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    total = np.bincount(place.reshape(-1), weight, len(first))
    n_owners = 1 if n_respondents is None else n_respondents
    return ChoiceRows(rows[first], whole_if_possible(total), owner[first], n_owners)


def whole_if_possible(values: Array) -> Any:
    """Return numbers as integers if all of them are: data that are whole stay exact.

    >>> whole_if_possible(np.array([1.0, 2.0])).dtype.kind, whole_if_possible(np.array([0.5])).dtype.kind
    ('i', 'f')
    """
    whole = np.rint(values)
    return whole.astype(np.int64) if (whole == values).all() else values


@dataclass(frozen=True, eq=False)
class Program:
    """A choice model as a quadratic program; `shrinkage` is None for one set of part-worths, γ for a pool."""

    rows: ChoiceRows
    orders: Array
    shrinkage: float | None = None

    @property
    def d(self) -> int:
        """The number of part-worths of one respondent."""
        return int(self.rows.rows.shape[1])

    @cached_property
    def A(self) -> Any:
        """The rows of choices, then those of orders; sparse for a pool."""
        if self.shrinkage is None:
            return np.vstack([self.rows.rows, self.orders])
        n = self.rows.n_owners
        everyone = np.repeat(np.arange(n), len(self.orders))
        orders = pooled_rows(np.tile(self.orders, (n, 1)), everyone, n)
        common = pooled_rows(self.orders, np.full(len(self.orders), -1), n)
        return csr_array(vstack([pooled_rows(self.rows.rows, self.rows.owner, n), common, orders]))

    @cached_property
    def W(self) -> Array | None:
        """The diagonal of W in rationals, None for ones."""
        if self.shrinkage is None:
            return None
        # 0.3 as it is written: the fraction of the float has a denominator of 2^54, and so would every
        # number of a certificate
        g = Fraction(repr(self.shrinkage))
        return np.repeat(np.array([g, 1 - g], dtype=object), [self.d, self.rows.n_owners * self.d])

    @property
    def diagonal(self) -> Array:
        """The diagonal of W in float64."""
        return np.ones(self.A.shape[1]) if self.W is None else self.W.astype(float)

    @cached_property
    def readout(self) -> Any:
        """The sparse matrix W Aᵀ, of z in dual variables."""
        transposed = csr_array(self.A.T, dtype=float)
        return transposed if self.W is None else diags_array(self.diagonal) @ transposed

    def dual(self) -> pqp.ParametricQP:
        """Return the dual of CBC(C) in μ = C, one variable per row of A."""
        cost = np.repeat([-1, 0], self._sizes)
        return pqp.ParametricQP(P=pqp.Gram(self.A, weights=self.W), c=cost, lower=0, upper=self._prices())

    def soft(self) -> pqp.ParametricQP:
        """Return CBC(C) in μ = C as it stands, one variable per entry of z, choices as soft rows."""
        lower = np.repeat([1, 0], self._sizes)
        return pqp.ParametricQP(
            P=diags_array(1 / self.diagonal, format="csr"),
            c=0,
            A=self.A,
            row_lower=lower,
            penalty=self._prices(),
        )

    def hard(self) -> pqp.ParametricQP:
        """Return CBC, in which all choices must be explained, as it stands: it does not depend on μ."""
        lower = np.repeat([1, 0], self._sizes)
        return pqp.ParametricQP(
            P=diags_array(1 / self.diagonal, format="csr"), c=0, A=self.A, row_lower=lower
        )

    @property
    def _sizes(self) -> list[int]:
        """The numbers of rows of choices and of orders."""
        return [len(self.rows), self.A.shape[0] - len(self.rows)]

    def _prices(self) -> Any:
        """Return what a violation of each row costs, which bounds its multiplier."""
        s, p = self._sizes
        prices = pqp.mu * np.concatenate([self.rows.weight, np.zeros(p, dtype=np.int64)])
        # orders are hard at every C: no price is high enough to violate one
        return prices + np.repeat([0.0, np.inf], [s, p]) if p else prices

    def part_worths(self, z: Array) -> Array:
        """Return the part-worths of all owners, one row each, from z; leading axes are kept."""
        if self.shrinkage is None:
            return np.asarray(z)[..., None, :]
        common, own = np.split(np.asarray(z), [self.d], axis=-1)
        return np.asarray(common[..., None, :] + own.reshape(*own.shape[:-1], self.rows.n_owners, self.d))

    def common(self, z: Array) -> Array:
        """Return v_0, or the only part-worths there are."""
        return np.asarray(z[: self.d])


def pooled_rows(rows: Array, owner: Array, n: int) -> Any:
    """Return rows in the variables of a pool, sparse; those of owner -1 are about v_0 alone.

    >>> pooled_rows(np.array([[1, -1]]), np.array([1]), 2).toarray()
    array([[ 1, -1,  0,  0,  1, -1]])
    """
    s, d = rows.shape
    row, column = np.nonzero(rows)
    value = rows[row, column]
    has_owner = owner[row] >= 0
    entries = np.concatenate([value, value[has_owner]])
    places = np.concatenate([column, (d + owner[row] * d + column)[has_owner]])
    return csr_array((entries, (np.concatenate([row, row[has_owner]]), places)), shape=(s, d + n * d))


def trace(
    program: Program, C_max: float, time_limit: float | None = None
) -> tuple[pqp.Path, Literal["dual", "primal"]]:
    """Return the path of a program from C = 0 on, and the form that was traced: the dual if possible."""
    try:
        return pqp.solve_path(program.dual(), (0.0, C_max), time_limit=time_limit), "dual"
    except pqp.NumericalTroubleError:
        # P is the ridge here, which is definite however many choices are at their margin
        return pqp.solve_path(program.soft(), (0.0, C_max), time_limit=time_limit), "primal"


def readout(program: Program, path: pqp.Path) -> Any:
    """Return the sparse matrix B of z = B x, x being what the path has: z itself, or dual variables."""
    # the dual has bounds only, the program itself one row per choice and order
    is_dual = path.problem.m == 0
    return program.readout if is_dual else eye_array(path.problem.n, format="csr")


def z_at(program: Program, path: pqp.Path, C: float) -> Array:
    """Return z at one C."""
    return np.asarray(readout(program, path) @ np.asarray(path.x(C), dtype=float))


def worth_lines(program: Program, path: pqp.Path) -> list[PiecewiseLinear]:
    """Return the part-worths of every owner as lines in C, on the pieces of the path."""
    images = path.images(readout(program, path))
    # where several choices reach their margin at one C there are pieces without length
    is_long = images.hi > images.lo
    edges = np.append(images.lo[is_long], images.hi[-1])
    constant, slope = (program.part_worths(part[is_long]) for part in (images.constant, images.slope))
    return [
        PiecewiseLinear.on_edges(edges, constant[:, owner], slope[:, owner])
        for owner in range(constant.shape[1])
    ]
