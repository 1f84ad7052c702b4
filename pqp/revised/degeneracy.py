r"""Degeneracy: which of several items that reach an end together change their state just beyond.

The items at an end at mu′ have gap 0 and slopes τ. Just beyond, gaps w and moves ζ of the fixed values
satisfy

.. math:: w = \tau + \Lambda \zeta, \qquad w, \zeta \ge 0, \qquad w^\top \zeta = 0

with the local dictionary Λ: how the dependent value of one item follows the fixed value of another. That is
the symbolic ε of the paper on the few items it concerns, and the criss-cross method of the tableau engine
solves it.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.lcp.crisscross import LEAST_INDEX, Infeasible, Solved, criss_cross
from pqp.lcp.dictionary import first_dictionary
from pqp.lcp.log import Pivot
from pqp.lcp.problem import ParametricLCP, PerturbedMu, unnamed_lcp
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, Array, Field
from pqp.linalg.products import system_product
from pqp.linalg.tolerances import COARSENING, COARSEST_ZERO, ROUNDING, ZERO
from pqp.revised.basis import WorkingBasis


@dataclass(frozen=True, eq=False)
class LocalDictionary:
    """Entries of the dictionary of a basis; below `basis.singular`, relative to their terms, they are 0."""

    basis: WorkingBasis

    @property
    def count(self) -> int:
        """|R|, the size of the systems that are solved for one column."""
        return self.basis.inverse.count

    def diagonal_entry(self, item: int) -> float:
        """Return Λ_ii: how the dependent value of an item follows its fixed one; 0 if it does not."""
        inverse, p = self.basis.inverse, self.basis.inverse.position[item]
        if p >= 0:
            column = inverse.column(item)
            value, size = column[p], np.abs(column).max()
        else:
            _, value, size = self.basis.entering_pivot(item)
        return 0.0 if abs(value) <= self.basis.singular * size else float(value * self.basis.signs[item])

    def matrix(self, items: Array) -> Array:
        """Return Λ for the given items: how the dependent value of one follows the fixed value of another."""
        positions = self.basis.inverse.position[items]
        order = np.argsort(positions < 0, kind="stable")  # those in R first
        inside, others = (
            positions[order][: int(np.sum(positions >= 0))],
            items[order][int(np.sum(positions >= 0)) :],
        )
        Lambda, noise = self._ordered_dictionary(inside, others)
        classes = self.basis.signs[items[order]] * np.where(positions[order] < 0, 1.0, -1.0)
        back = np.argsort(order)
        return _cleared(Lambda, noise, classes)[back[:, None], back]

    def _ordered_dictionary(self, inside: Array, others: Array) -> tuple[Array, Array]:
        """Return Λ for positions in R, then items outside, and bounds of the rounding errors of its entries.

        An error is a share of the terms of its entry and, for solved values, of the inverse too.
        """
        inverse, system = self.basis.inverse, self.basis.lcp.system
        K = inverse.columns(inside) * self.basis.signs[inverse.items[inside]]
        across, signs = system.block(inverse.items, others), self.basis.signs
        back = signs[others, None] * across.T * signs[inverse.items]  # J M is symmetric
        # Refined: a linearly dependent item must give 0 on the diagonal, not the error of the inverse.
        solved, corner = self.basis.refined(across), system.block(others, others)
        magnitude, width = _largest(K, 0), _largest(solved, 0)
        count, size = len(inside), len(inside) + len(others)
        Lambda, noise = np.empty((size, size)), np.empty((size, size))
        Lambda[:count, :count], Lambda[:count, count:] = K[inside], -solved[inside]
        Lambda[count:, :count], Lambda[count:, count:] = back @ K, corner - back @ solved
        singular, solving = self.basis.singular, ROUNDING * np.multiply.outer(magnitude, _largest(across, 0))
        noise[:count, :count] = singular * np.minimum.outer(magnitude, magnitude)
        noise[:count, count:] = singular * width + solving
        noise[count:, :count] = noise[:count, count:].T
        noise[count:, count:] = singular * (np.abs(corner) + np.multiply.outer(_largest(back, 1), width))
        return Lambda, noise

    def column(self, item: int) -> Array:
        """Return how all dependent values follow the fixed value of one item."""
        inverse, system, R = self.basis.inverse, self.basis.lcp.system, self.basis.inverse.items
        p = inverse.position[item]
        alone = np.array([item])
        if p >= 0:
            step = inverse.column(item) * self.basis.signs[item]
            change = self._product(R, step)
        else:
            step = -inverse.times(self.basis.signs[R, None] * system.block(R, alone))[:, 0]
            change = self._product(np.append(R, item), np.append(step, 1.0))
        change[R] = step
        return change

    def _product(self, items: Array, values: Array) -> Array:
        """Return M[:, items] times values."""
        lcp = self.basis.lcp
        return system_product(lcp.form, lcp.system.size, items, values)


def _cleared(Lambda: Array, noise: Array, classes: Array) -> Array:
    """Return Λ without rounding errors: zero where it could be, with the signs of a bisymmetric matrix.

    Entries between items of one class are equal, of two classes opposite. A positive semidefinite Λ has
    Λ_ij² ≤ Λ_ii Λ_jj within a class, so a zero on the diagonal makes its row and column zero.
    """
    # Averaging with the mirror image removes what is not bisymmetric, which can only be rounding error.
    mirror = np.multiply.outer(classes, classes)
    Lambda = np.where(np.abs(Lambda) <= noise, 0.0, (Lambda + mirror * Lambda.T) / 2)
    diagonal = np.diag(Lambda)
    largest = np.abs(diagonal) + np.diag(noise)
    bound = np.sqrt(np.multiply.outer(largest, largest))
    is_q_constant = (mirror > 0) & ((diagonal == 0)[:, None] | (diagonal == 0)) & (np.abs(Lambda) <= bound)
    return np.where(is_q_constant, 0.0, Lambda)


def _largest(values: Array, axis: int) -> Array:
    return np.abs(values).max(axis=axis, initial=0.0)


# How many items join a local problem at a time: usually a few are enough, and all would make it large.
JOIN_AT_ONCE = 4
# In a large tie only the items with closing gaps are looked at, as long as their problem has a solution and
# few others join. Where many join, as with kernels that are singular in float64, all of them at once cost
# less. A tie is large if its columns on R have more than `LARGE_TIE` entries, a small R counting as
# `SMALLEST_BASIS`.
LARGE_TIE, SMALLEST_BASIS, JOIN_ROUNDS = 2**14, 64, 4


@dataclass(frozen=True, eq=False)
class Tie:
    """Ends that are reached together: of which items, and the slopes of their gaps.

    Slopes that differ by no more than `flat` are equal, and entries of Λ below `zero` times their terms are
    0.
    """

    ends: list[int]
    items: list[int]
    slopes: list[float]
    flat: float = 0.0
    zero: float = ZERO

    @property
    def is_falling(self) -> bool:
        """Whether any gap closes."""
        return any(slope < 0.0 for slope in self.slopes)


@dataclass(frozen=True, eq=False)
class TieSolution:
    """Which of the tied ends are crossed; `infeasible` is the row that proves that there is no solution."""

    crossed: list[int]
    infeasible: int | None


@dataclass(frozen=True, eq=False)
class _LocalLCP:
    """The local problem: its dictionary and slopes, with every gap measured from below."""

    Lambda: Array
    slopes: Array
    flat: float
    zero: float
    names: Sequence[str] | None

    def part(self, chosen: list[int], field: Field) -> ParametricLCP:
        """Return the local problem of the chosen positions alone, named if logging is on."""
        Lambda = self.Lambda[np.ix_(chosen, chosen)]
        lcp = unnamed_lcp(Lambda, AffineArray(self.slopes[chosen], np.zeros(len(chosen))), field)
        if self.names is None:
            return lcp
        names = [self.names[position] for position in chosen]
        return replace(
            lcp,
            w_names=tuple(f"gap[{name}]" for name in names),
            z_names=tuple(f"move[{name}]" for name in names),
        )

    def moves(self, crossed: list[int]) -> Array:
        """Return by how much the fixed values of the crossed positions move."""
        return np.linalg.solve(self.Lambda[np.ix_(crossed, crossed)], -self.slopes[crossed])

    def falling(self, crossed: list[int]) -> list[int]:
        """Return which gaps still close when some positions are crossed, worst first."""
        terms = self.Lambda[:, crossed] * self.moves(crossed)
        slopes, sizes = self.slopes + terms.sum(axis=1), np.abs(self.slopes) + np.abs(terms).sum(axis=1)
        slopes[crossed] = 0.0
        worst = np.flatnonzero(slopes < -np.maximum(self.zero * sizes, self.flat))
        return _some(worst[np.argsort(slopes[worst])])

    def raising(self, crossed: list[int], row: int) -> list[int]:
        """Return which positions would stop the closing of a row by their move, best first."""
        solved = np.linalg.solve(self.Lambda[np.ix_(crossed, crossed)], self.Lambda[crossed])
        if row in crossed:
            effect = -solved[crossed.index(row)]
            sizes = np.abs(solved).max(axis=0, initial=0.0)
        else:
            effect = self.Lambda[row] - self.Lambda[row, crossed] @ solved
            sizes = np.abs(self.Lambda[row]) + np.abs(self.Lambda[row, crossed]) @ np.abs(solved)
        effect[crossed] = 0.0
        best = np.flatnonzero(effect > self.zero * sizes)
        return _some(best[np.argsort(-effect[best])])


def solve_tie(
    dictionary: LocalDictionary, tie: Tie, names: Sequence[str] | None = None
) -> Generator[Pivot, None, TieSolution]:
    """Yield the pivots of the local problem and return its solution, as positions in the tie.

    The problem is solved on the closing gaps first. Others join when the solution makes them close, or when
    they could make an infeasible row feasible.
    """
    if len(tie.items) == 1:
        return _solve_alone(dictionary, tie.items[0])
    # A column of Λ costs a solve with R, so a large tie is first tried without most of its columns.
    if len(tie.items) * max(dictionary.count, SMALLEST_BASIS) > LARGE_TIE:
        solution = yield from _solve_part(dictionary, tie, names)
        if solution is not None:
            return solution
    local = _local(dictionary, tie, np.arange(len(tie.items)), names)
    chosen = [position for position, slope in enumerate(tie.slopes) if slope < 0]
    while True:
        crossed, row = yield from _solved(local, chosen)
        joining = local.falling(crossed) if row is None else local.raising(crossed, row)
        joining = [i for i in joining if i not in chosen]
        if not joining:
            return TieSolution(crossed, row)
        chosen += joining


def _solve_part(
    dictionary: LocalDictionary, tie: Tie, names: Sequence[str] | None
) -> Generator[Pivot, None, TieSolution | None]:
    """Yield the pivots of the problem of the closing gaps; others join when its solution makes them close.

    Entries of Λ do not depend on which others are computed with them, so the solution is that of the whole
    tie. Return None if the problem has no solution, which other items may change, or if more and more join.
    """
    chosen = np.flatnonzero(np.array(tie.slopes) < 0)
    for _ in range(JOIN_ROUNDS):
        local = _local(dictionary, tie, chosen, names)
        crossed, row = yield from _solved(local, list(range(len(chosen))))
        if row is not None:
            return None
        late = np.setdiff1d(_made_to_close(dictionary, tie, chosen, local, crossed), chosen)
        if not len(late):
            return TieSolution([int(chosen[k]) for k in crossed], None)
        chosen = np.append(chosen, late[:JOIN_AT_ONCE])
    return None


def _made_to_close(
    dictionary: LocalDictionary, tie: Tie, chosen: Array, local: _LocalLCP, crossed: list[int]
) -> Array:
    """Return which gaps of a tie close when some chosen positions are crossed."""
    items, sense = np.array(tie.items), 1.0 - 2.0 * np.array(tie.ends)
    # Sizes collect all terms, so that a slope is compared with its own rounding error.
    slopes = np.array(tie.slopes)
    sizes = np.abs(slopes)
    for k, move in zip(crossed, local.moves(crossed), strict=True):
        effect = sense * sense[chosen[k]] * dictionary.column(int(items[chosen[k]]))[items] * move
        slopes, sizes = slopes + effect, sizes + np.abs(effect)
    return np.flatnonzero(slopes < -np.maximum(tie.zero * sizes, tie.flat))


def _local(dictionary: LocalDictionary, tie: Tie, chosen: Array, names: Sequence[str] | None) -> _LocalLCP:
    """Return the local problem of some positions of a tie."""
    items, sense = np.array(tie.items)[chosen], 1.0 - 2.0 * np.array(tie.ends)[chosen]
    labels = None if names is None else [names[item] for item in items]
    Lambda = sense[:, None] * dictionary.matrix(items) * sense
    return _LocalLCP(Lambda, _evened(np.array(tie.slopes), tie.flat)[chosen], tie.flat, tie.zero, labels)


def _solved(local: _LocalLCP, chosen: list[int]) -> Generator[Pivot, None, tuple[list[int], int | None]]:
    """Solve the local problem of the chosen positions: which are crossed, and an infeasible row."""
    if len(chosen) == 1:
        return (chosen, None) if local.Lambda[chosen[0], chosen[0]] > 0 else ([], chosen[0])
    zero = local.zero
    while zero <= COARSEST_ZERO:
        part = local.part(chosen, replace(FLOAT, zero=zero))
        outcome = yield from criss_cross(first_dictionary(part), PerturbedMu(0), LEAST_INDEX)
        # A cycle, or no proof, means that signs are wrong: some entry that should be 0 is not.
        if isinstance(outcome, Solved | Infeasible):
            crossed = [chosen[i] for i in sorted(outcome.dictionary.basis)]
            return crossed, chosen[outcome.row] if isinstance(outcome, Infeasible) else None
        zero *= COARSENING
    raise NumericalTroubleError(
        "the order of {found} tied items is below rounding error", found=len(local.slopes), **EXACT_REMEDY
    )


def _evened(slopes: Array, flat: float) -> Array:
    """Return the slopes with runs that differ by no more than rounding errors made equal.

    >>> _evened(np.array([3.0, 1.0, 1.25, 0.0]), 0.5).tolist()
    [3.0, 1.0, 1.0, 0.0]
    """
    order = np.argsort(slopes, kind="stable")
    in_order = slopes[order]
    begins = np.concatenate([[True], np.diff(in_order) > flat])
    result = np.empty_like(slopes)
    result[order] = in_order[np.maximum.accumulate(np.where(begins, np.arange(len(slopes)), 0))]
    return result


def _some(positions: Array) -> list[int]:
    return [int(i) for i in positions[:JOIN_AT_ONCE]]


def _solve_alone(dictionary: LocalDictionary, item: int) -> TieSolution:
    """Return the solution for one closing gap: the item crosses if its own move stops the closing."""
    if dictionary.diagonal_entry(item) > 0:
        return TieSolution([0], None)
    return TieSolution([], 0)
