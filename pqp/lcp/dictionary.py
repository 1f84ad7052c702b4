r"""Dictionaries: the system w − Mz = q(mu) solved for its basic variables.

.. math:: \lambda_B = M_B^{-1} q(\mu) + \Lambda \lambda_N, \qquad \Lambda = -M_B^{-1} M_N \qquad [paper, (5)]

Row i and column i belong to pair i. A pair is *in* when its z is basic; the paper's B is the set of
pairs that are out.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pqp.errors import EXACT_REMEDY, InternalError, NumericalTroubleError
from pqp.lcp.problem import ParametricLCP, PerturbedMu, Scaling, scaled_rows, scaling_of
from pqp.linalg.affine import AffineArray, AffineNumber
from pqp.linalg.field import RATIONAL, Array, Number
from pqp.linalg.tableau import FloatTableau, Tableau, Weights, build_tableau, float_tableau
from pqp.linalg.tolerances import INVERSE_NOISE, REBUILD_EVERY


@dataclass(frozen=True, eq=False)
class Dictionary:
    """One dictionary of an LCP: which z are basic, and the table of all coefficients.

    `age` counts the pivots since the table was computed from the data.
    """

    lcp: ParametricLCP
    scaling: Scaling
    basis: frozenset[int]
    table: Tableau
    age: int = 0

    @property
    def size(self) -> int:
        """The number of pairs."""
        return self.lcp.size

    @cached_property
    def signed(self) -> list[bool]:
        """Which pairs have sign conditions: all but free ones."""
        return [not free for free in self.lcp.free]

    def idle(self, i: int) -> bool:
        """Return whether a free pair could not be brought in: its z is fixed at 0 and its w must vanish."""
        return not self.signed[i] and i not in self.basis

    def row_signs(self, row: int) -> list[int]:
        """Return the signs of Λ in one row, 0 in the columns of free pairs, which never move."""
        signs = self.table.row_signs(row, self.size)
        return [sign if signed else 0 for sign, signed in zip(signs, self.signed, strict=True)]

    def diagonal_sign(self, i: int) -> int:
        """Return the sign of Λ_ii."""
        return self.table.row_signs(i, self.size)[i]

    def value_signs(self, place: PerturbedMu) -> list[int]:
        """Return the sign of every basic variable at a perturbed mu; free basic ones count as 0."""
        return self._signs(place.weights)

    def slope_signs(self) -> list[int]:
        """Return the sign of the slope in mu of every basic variable; free basic ones count as 0."""
        return self._signs([(0, 1)])

    def _signs(self, weights: Weights) -> list[int]:
        signs = self.table.value_signs(weights, self._terms)
        return [s if self.signed[i] or self.idle(i) else 0 for i, s in enumerate(signs)]

    @cached_property
    def _terms(self) -> AffineArray | None:
        """Σ_j |(M_B⁻¹)_ij| |q_j| for constants and slopes: the numbers whose difference a float value is."""
        if not isinstance(self.table, FloatTableau):
            return None
        inside = np.array([i in self.basis for i in range(self.size)], dtype=bool)
        inverse = np.abs(np.where(inside[None, :], self.table.values[:, : self.size], 0.0))
        # an entry that should be 0 may be rounding error, which a large q makes visible in the value
        inverse += INVERSE_NOISE * np.maximum(np.max(inverse, axis=1, initial=0.0), 1.0)[:, None]
        sizes = self.lcp.q.mapped(lambda part: np.abs(part / self.scaling.w))
        return sizes.mapped(lambda part: inverse @ part + np.where(inside, 0.0, part))

    def value(self, i: int) -> AffineNumber:
        """Return the basic variable of pair i, affine in mu, in the units of the problem."""
        unit = self._unit(i, basic=True)
        constant, slope = (self.table.entry(i, self.size + part) for part in (0, 1))
        return AffineNumber(unit * constant, unit * slope)

    def entry(self, row: int, column: int) -> Number:
        """Return Λ_ij in the units of the problem."""
        ratio = self._unit(row, basic=True) / self._unit(column, basic=False)
        return ratio * self.table.entry(row, column)

    def matrix(self) -> Array:
        """Return Λ in the units of the problem."""
        indices = range(self.size)
        return np.array([[self.entry(i, j) for j in indices] for i in indices], dtype=object)

    def z(self) -> AffineArray:
        """Return z: basic entries from the table, zero for the others."""
        return self._values(lambda i: i in self.basis)

    def w(self) -> AffineArray:
        """Return w: basic entries from the table, zero for the others."""
        return self._values(lambda i: i not in self.basis)

    def z_sizes(self) -> AffineArray:
        """Return the size of the terms that a float z is the sum of, for constants and slopes."""
        units = np.array(
            [float(self._unit(i, basic=True)) if i in self.basis else 0.0 for i in range(self.size)]
        )
        constants, slopes = self._terms if self._terms is not None else (np.zeros(self.size),) * 2
        return AffineArray(units * constants, units * slopes)

    def _values(self, is_basic: Callable[[int], bool]) -> AffineArray:
        zero = self.lcp.field.number(0)
        parts = [self.value(i) if is_basic(i) else (zero, zero) for i in range(self.size)]
        array = self.lcp.field.array
        return AffineArray(array([part[0] for part in parts]), array([part[1] for part in parts]))

    def basic_name(self, i: int) -> str:
        """Return the name of the basic variable of pair i."""
        return (self.lcp.z_names if i in self.basis else self.lcp.w_names)[i]

    def nonbasic_name(self, i: int) -> str:
        """Return the name of the nonbasic variable of pair i."""
        return (self.lcp.w_names if i in self.basis else self.lcp.z_names)[i]

    def pivot(self, indices: Iterable[int]) -> "Dictionary":
        """Return the dictionary of the basis B ⊕ indices: one index is a diagonal pivot, two an exchange."""
        chosen = sorted(set(indices))
        if len(chosen) == 1:
            table = self.table.pivot(chosen[0], chosen[0])
        else:
            r, s = chosen
            order = list(range(self.size))
            order[r], order[s] = s, r
            # each exchange puts a variable into the row of the other pair: swapping them restores the order
            table = self.table.pivot(r, s).pivot(s, r).permuted(order)
        pivoted = Dictionary(self.lcp, self.scaling, self.basis ^ set(chosen), table, self.age + 1)
        # rounding errors grow with every pivot, and an LU factorisation removes them all
        return pivoted.fresh() if pivoted.age >= REBUILD_EVERY else pivoted

    def fresh(self) -> "Dictionary":
        """Return the same dictionary computed from the data; exact tables are always fresh."""
        if self.lcp.field is RATIONAL or self.age == 0:
            return self
        return rebuilt(self.lcp, self.scaling, self.basis)

    def _unit(self, i: int, basic: bool) -> Number:
        scale: Number = (self.scaling.z if (i in self.basis) == basic else self.scaling.w)[i]
        return scale


def first_dictionary(lcp: ParametricLCP) -> Dictionary:
    """Return the dictionary with every w basic: Λ = M."""
    scaling = scaling_of(lcp)
    return Dictionary(lcp, scaling, frozenset(), build_tableau(scaled_rows(lcp, scaling), lcp.field))


def dictionary_of(
    lcp: ParametricLCP, basis: Iterable[int], check: Callable[[], None] | None = None
) -> Dictionary:
    """Return the dictionary of a given basis; `check` is called after every exact pivot and may raise."""
    if lcp.field is not RATIONAL:  # exact tables are pivoted: their entries must stay minors of the first one
        return rebuilt(lcp, scaling_of(lcp), frozenset(basis))
    dictionary, missing = first_dictionary(lcp), set(basis)
    while missing:
        chosen = _next_pivot(dictionary, missing)
        dictionary, missing = dictionary.pivot(chosen), missing - chosen
        if check is not None:
            check()
    return dictionary


def rebuilt(lcp: ParametricLCP, scaling: Scaling, basis: frozenset[int]) -> Dictionary:
    """Return a float dictionary computed from the data by one LU factorisation of M_B."""
    rows = np.asarray(scaled_rows(lcp, scaling), dtype=float)
    k = lcp.size
    inside = np.array([i in basis for i in range(k)], dtype=bool)
    identity = np.eye(k)
    basic = np.where(inside[None, :], -rows[:, :k], identity)
    nonbasic = np.where(inside[None, :], identity, -rows[:, :k])
    # one factorisation serves all columns: Λ = −M_B⁻¹ M_N and the values M_B⁻¹ q
    table = _solve(basic, np.column_stack([-nonbasic, rows[:, k:]])) if k else rows
    return Dictionary(lcp, scaling, basis, float_tableau(table, lcp.field))


def _solve(matrix: Array, right: Array) -> Array:
    # slow to import, and not needed by the revised engine nor in exact arithmetic
    from scipy.linalg import LinAlgError, LinAlgWarning, lu_factor, lu_solve

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)  # a singular basis shows below, as infinities
            solution = lu_solve(lu_factor(matrix, check_finite=True), right)
    except (LinAlgError, ValueError) as error:
        message = "a basis could not be factorised in float64 ({found})"
        raise NumericalTroubleError(message, found=str(error), **EXACT_REMEDY) from None
    if not np.isfinite(solution).all():
        raise NumericalTroubleError("a basis is singular in float64", **EXACT_REMEDY)
    return np.asarray(solution)


def _next_pivot(dictionary: Dictionary, missing: set[int]) -> set[int]:
    """Return one or two of the missing pairs that can be brought in next."""
    for i in sorted(missing):
        if dictionary.table.entry(i, i) != 0:
            return {i}
    for i in sorted(missing):
        for j in sorted(missing):
            if dictionary.table.entry(i, j) != 0 and dictionary.table.entry(j, i) != 0:
                return {i, j}
    raise InternalError(f"the pairs {sorted(missing)} do not complete a basis")


def with_free_pairs_in(dictionary: Dictionary, check: Callable[[], None] | None = None) -> Dictionary:
    """Return the dictionary after the block pivot that brings in free pairs, as many as can be.

    `check` is called after every pivot of it and may raise.

    Free variables and equality multipliers never leave again. A free pair that stays out has a
    zero row and column: nothing determines its z, and its w must be zero already.
    """
    candidates = [i for i in range(dictionary.size) if not dictionary.signed[i]]
    while found := _entering(dictionary, [i for i in candidates if i not in dictionary.basis]):
        dictionary = dictionary.pivot(found)
        if check is not None:
            check()
    return dictionary


def _entering(dictionary: Dictionary, waiting: list[int]) -> set[int] | None:
    """Return a pivot that brings in a waiting pair: alone, with another waiting one, or with any other."""
    rows = {i: dictionary.table.row_signs(i, dictionary.size) for i in waiting}
    # a diagonal pivot costs half of an exchange, and leaves the other pairs where they are
    for i in waiting:
        if rows[i][i] != 0:
            return {i}
    for i in waiting:
        # two free pairs at once first: a partner with sign conditions would have to be pivoted again
        partners = [j for j in waiting if rows[i][j] != 0]
        partners += [j for j in range(dictionary.size) if dictionary.signed[j] and rows[i][j] != 0]
        if partners:
            return {i, partners[0]}
    return None
