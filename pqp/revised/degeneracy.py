r"""Degeneracy: which of several items that reach an end together change their state just beyond.

The items at an end at mu′ have gap 0 and slopes τ. Just beyond, gaps w and moves ζ of the fixed values
satisfy

.. math:: w = \tau + \Lambda \zeta, \qquad w, \zeta \ge 0, \qquad w^\top \zeta = 0

with the local dictionary Λ: how the dependent quantity of one item follows the fixed one of another. That is
the symbolic ε of the paper on the few items it concerns, and the criss-cross method of the tableau engine
solves it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pqp.errors import EXACT_REMEDY, NumericalTroubleError
from pqp.lcp.crisscross import LEAST_INDEX, Infeasible, Solved, criss_cross
from pqp.lcp.dictionary import first_dictionary
from pqp.lcp.pivot_log import Pivot
from pqp.lcp.problem import ParametricLCP, PerturbedMu, unnamed_lcp
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, Array, Field
from pqp.linalg.tolerances import COARSENING, COARSEST_ZERO, ROUNDING, SINGULAR, ZERO

if TYPE_CHECKING:
    from pqp.revised.trace import Tracer


def local_dictionary(tracer: "Tracer", items: Array) -> tuple[Array, Array]:
    """Return Λ for some items: how the dependent quantity of one follows the fixed one of another.

    Entries that may be rounding error are 0. Also return the rounding errors of its diagonal.
    """
    basis, system = tracer.basis, tracer.system
    positions = np.array([basis.place(item) for item in items.tolist()], dtype=np.int64)
    order = np.argsort(positions < 0, kind="stable")  # those in R first
    count = int(np.sum(positions >= 0))
    inside, others = positions[order][:count], items[order][count:]
    R, signs = basis.items, system.signs
    units = np.zeros((len(R), count))
    units[inside, np.arange(count)] = 1.0
    # The errors of a fresh factorisation are below what counts as noise.
    K = _refined(tracer, units) if basis.changes else basis.solve(units) * signs[R[inside]]
    across = system.block(R, others)
    back = signs[others, None] * across.T * signs[R]  # J M is symmetric
    solved, corner = _refined(tracer, across), system.block(others, others)
    size = len(items)
    Lambda, noise = np.empty((size, size)), np.empty((size, size))
    Lambda[:count, :count], Lambda[:count, count:] = K[inside], -solved[inside]
    Lambda[count:, :count], Lambda[count:, count:] = back @ K, corner - back @ solved
    magnitude, width = _largest(K, 0), _largest(solved, 0)
    solving = ROUNDING * np.multiply.outer(magnitude, _largest(across, 0))
    noise[:count, :count] = SINGULAR * np.minimum.outer(magnitude, magnitude)
    noise[:count, count:] = SINGULAR * width + solving
    noise[count:, :count] = noise[:count, count:].T
    noise[count:, count:] = SINGULAR * (np.abs(corner) + np.multiply.outer(_largest(back, 1), width))
    classes = signs[items[order]] * np.where(positions[order] < 0, 1.0, -1.0)
    result, errors = np.empty((size, size)), np.empty(size)
    result[np.ix_(order, order)] = _cleared(Lambda, noise, classes)
    errors[order] = ROUNDING / SINGULAR * np.diag(noise)
    return result, errors


def _refined(tracer: "Tracer", right: Array) -> Array:
    """Return M_RR⁻¹ times a block, refined until it leaves nothing but rounding errors.

    A linearly dependent item must give 0 on the diagonal of Λ, not the error of the inverse.
    """
    basis, system, R = tracer.basis, tracer.system, tracer.basis.items
    signs = system.signs[R, None]
    solved = basis.solve(signs * right)
    if not right.size:
        return solved
    for _ in range(MOST_REFINEMENTS):
        rest = right - system.product(R, solved)[R]
        solved = solved + basis.solve(signs * rest)
        if np.all(_largest(rest, 0) <= ROUNDING * np.maximum(_largest(solved, 0), _largest(right, 0))):
            break
    return solved


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


# Steps of refinement of what decides about a tie or a ray: one is enough for an inverse with half its digits.
MOST_REFINEMENTS = 3
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
    pivots: list[Pivot] = field(default_factory=list)


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
    tracer: "Tracer", tie: Tie, names: Sequence[str] | None = None, check: Callable[[], None] = lambda: None
) -> TieSolution:
    """Return the solution of the local problem, as positions in the tie.

    The problem is solved on the closing gaps first. Others join when the solution makes them close, or when
    they could make an infeasible row feasible. `check` is called before every pivot and may raise.
    """
    if len(tie.items) == 1:
        alone, _ = local_dictionary(tracer, np.array(tie.items))
        return TieSolution([0], None) if alone[0, 0] > 0 else TieSolution([], 0)
    pivots: list[Pivot] = []
    # A column of Λ costs a solve with R, so a large tie is first tried without most of its columns.
    if len(tie.items) * max(len(tracer.basis.items), SMALLEST_BASIS) > LARGE_TIE:
        solution = _solve_part(tracer, tie, names, check)
        if solution is not None:
            return solution
    local = _local(tracer, tie, np.arange(len(tie.items)), names)
    chosen = [position for position, slope in enumerate(tie.slopes) if slope < 0]
    while True:
        crossed, row = _solved(local, chosen, pivots, check)
        joining = local.falling(crossed) if row is None else local.raising(crossed, row)
        joining = [i for i in joining if i not in chosen]
        if not joining:
            return TieSolution(crossed, row, pivots)
        chosen += joining


def _solve_part(
    tracer: "Tracer", tie: Tie, names: Sequence[str] | None, check: Callable[[], None]
) -> TieSolution | None:
    """Return the solution of the problem of the closing gaps; others join when it makes them close.

    Entries of Λ do not depend on which others are computed with them, so the solution is that of the whole
    tie. Return None if the problem has no solution, which other items may change, or if more and more join.
    """
    pivots: list[Pivot] = []
    chosen = np.flatnonzero(np.array(tie.slopes) < 0)
    for _ in range(JOIN_ROUNDS):
        local = _local(tracer, tie, chosen, names)
        crossed, row = _solved(local, list(range(len(chosen))), pivots, check)
        if row is not None:
            return None
        late = np.setdiff1d(_made_to_close(tracer, tie, chosen, local, crossed), chosen)
        if not len(late):
            return TieSolution([int(chosen[k]) for k in crossed], None, pivots)
        chosen = np.append(chosen, late[:JOIN_AT_ONCE])
    return None


def _made_to_close(tracer: "Tracer", tie: Tie, chosen: Array, local: _LocalLCP, crossed: list[int]) -> Array:
    """Return which gaps of a tie close when some chosen positions are crossed."""
    items, sense = np.array(tie.items), 1.0 - 2.0 * np.array(tie.ends)
    # Sizes collect all terms, so that a slope is compared with its own rounding error.
    slopes = np.array(tie.slopes)
    sizes = np.abs(slopes)
    for k, move in zip(crossed, local.moves(crossed), strict=True):
        response, _ = tracer.response(int(items[chosen[k]]))
        effect = sense * sense[chosen[k]] * response[items] * move
        slopes, sizes = slopes + effect, sizes + np.abs(effect)
    return np.flatnonzero(slopes < -np.maximum(tie.zero * sizes, tie.flat))


def _local(tracer: "Tracer", tie: Tie, chosen: Array, names: Sequence[str] | None) -> _LocalLCP:
    """Return the local problem of some positions of a tie."""
    items, sense = np.array(tie.items)[chosen], 1.0 - 2.0 * np.array(tie.ends)[chosen]
    labels = None if names is None else [names[item] for item in items]
    Lambda, errors = local_dictionary(tracer, items)
    Lambda = sense[:, None] * Lambda * sense
    # Where a pivot is small already, what it leaves of another one may be rounding error of both.
    diagonal = np.diag(Lambda)
    relative = np.divide(errors, diagonal, out=np.zeros(len(items)), where=diagonal > 0)
    zero = min(max(tie.zero, float(relative.max(initial=0.0))), COARSEST_ZERO)
    return _LocalLCP(Lambda, _evened(np.array(tie.slopes), tie.flat)[chosen], tie.flat, zero, labels)


def _solved(
    local: _LocalLCP, chosen: list[int], pivots: list[Pivot], check: Callable[[], None]
) -> tuple[list[int], int | None]:
    """Solve the local problem of the chosen positions: which are crossed, and an infeasible row."""
    if len(chosen) == 1:
        return (chosen, None) if local.Lambda[chosen[0], chosen[0]] > 0 else ([], chosen[0])
    zero = local.zero
    while zero <= COARSEST_ZERO:
        part = local.part(chosen, replace(FLOAT, zero=zero))
        solving = criss_cross(first_dictionary(part), PerturbedMu(0), LEAST_INDEX)
        while True:
            check()
            try:
                pivots.append(next(solving))
            except StopIteration as stop:
                outcome = stop.value
                break
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
