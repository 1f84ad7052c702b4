r"""Responses: Λ, how what depends at one item follows what is held at another, for few items of a basis.

Ties: which of several items that reach an end together change their step just beyond.

The items at an end at mu′ have gap 0 and slopes τ; just beyond, gaps w and moves ζ of what is held satisfy

.. math:: w = \tau + \Lambda \zeta, \qquad w, \zeta \ge 0, \qquad w^\top \zeta = 0

with the local dictionary Λ. That is the symbolic ε of the paper on the few items it concerns, and the
criss-cross method of the tableau engine solves it.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pqp.errors import NumericalTroubleError
from pqp.lcp.crisscross import LEAST_INDEX, Infeasible, Solved, criss_cross
from pqp.lcp.dictionary import first_dictionary
from pqp.lcp.log import Pivot
from pqp.lcp.problem import ParametricLCP, PerturbedMu, unnamed_lcp
from pqp.linalg.field import FLOAT, Array, Field
from pqp.linalg.kernels import system_product
from pqp.linalg.tolerances import COARSENING, COARSEST_ZERO, ROUNDING, ZERO
from pqp.revised.basis import Walk


@dataclass(frozen=True, eq=False)
class Responses:
    """The dictionary of a walk, by parts; what is below `walk.singular` beside its terms is zero."""

    walk: Walk

    @property
    def count(self) -> int:
        """|R|: how many numbers a response is solved for with."""
        return self.walk.inverse.count

    def response(self, item: int) -> float:
        """Return Λ_ii: how what depends at an item follows what is held there; 0 if it does not."""
        inverse, p = self.walk.inverse, self.walk.inverse.place[item]
        if p >= 0:
            column = inverse.column(item)
            value, size = column[p], np.abs(column).max()
        else:
            _, value, size = self.walk.reach(item)
        return 0.0 if abs(value) <= self.walk.singular * size else float(value * self.walk.signs[item])

    def dictionary(self, items: Array) -> Array:
        """Return Λ for the given items: how what depends at one follows what is held at another."""
        places = self.walk.inverse.place[items]
        order = np.argsort(places < 0, kind="stable")  # those in R first
        inside, others = places[order][: int(np.sum(places >= 0))], items[order][int(np.sum(places >= 0)) :]
        Lambda, noise = self._ordered_dictionary(inside, others)
        classes = self.walk.signs[items[order]] * np.where(places[order] < 0, 1.0, -1.0)
        back = np.argsort(order)
        return _cleared(Lambda, noise, classes)[back[:, None], back]

    def _ordered_dictionary(self, inside: Array, others: Array) -> tuple[Array, Array]:
        """Return Λ for places in R, then items outside, and how much of its entries may be round-off.

        That is a share of the terms they are made of and, for what was solved for, of the inverse too.
        """
        inverse, system = self.walk.inverse, self.walk.setting.system
        K = inverse.columns(inside) * self.walk.signs[inverse.items[inside]]
        across, signs = system.block(inverse.items, others), self.walk.signs
        back = signs[others, None] * across.T * signs[inverse.items]  # J M is symmetric
        solved, corner = self.walk.refined(across), system.block(others, others)
        height, width = _largest(K, 0), _largest(solved, 0)
        count, size = len(inside), len(inside) + len(others)
        Lambda, noise = np.empty((size, size)), np.empty((size, size))
        Lambda[:count, :count], Lambda[:count, count:] = K[inside], -solved[inside]
        Lambda[count:, :count], Lambda[count:, count:] = back @ K, corner - back @ solved
        singular, solving = self.walk.singular, ROUNDING * np.multiply.outer(height, _largest(across, 0))
        noise[:count, :count] = singular * np.minimum.outer(height, height)
        noise[:count, count:] = singular * width + solving
        noise[count:, :count] = noise[:count, count:].T
        noise[count:, count:] = singular * (np.abs(corner) + np.multiply.outer(_largest(back, 1), width))
        return Lambda, noise

    def column(self, item: int) -> Array:
        """Return how everything that depends follows what is held at one item."""
        inverse, system, R = self.walk.inverse, self.walk.setting.system, self.walk.inverse.items
        p = inverse.place[item]
        alone = np.array([item])
        if p >= 0:
            step = inverse.column(item) * self.walk.signs[item]
            change = self._product(R, step)
        else:
            step = -inverse.times(self.walk.signs[R, None] * system.block(R, alone))[:, 0]
            change = self._product(np.append(R, item), np.append(step, 1.0))
        change[R] = step
        return change

    def _product(self, items: Array, values: Array) -> Array:
        """Return M[:, items] times values."""
        setting = self.walk.setting
        return system_product(setting.form, setting.system.size, items, values)


def _cleared(Lambda: Array, noise: Array, classes: Array) -> Array:
    """Return Λ without round-off: what could be zero is, and signs are those of a bisymmetric matrix.

    Entries between items of one class are equal, of two classes opposite; a positive semidefinite Λ has
    Λ_ij² ≤ Λ_ii Λ_jj within a class, so a response that is zero takes those beside it along.
    """
    mirror = np.multiply.outer(classes, classes)
    Lambda = np.where(np.abs(Lambda) <= noise, 0.0, (Lambda + mirror * Lambda.T) / 2)
    diagonal = np.diag(Lambda)
    largest = np.abs(diagonal) + np.diag(noise)
    bound = np.sqrt(np.multiply.outer(largest, largest))
    is_still = (mirror > 0) & ((diagonal == 0)[:, None] | (diagonal == 0)) & (np.abs(Lambda) <= bound)
    return np.where(is_still, 0.0, Lambda)


def _largest(values: Array, axis: int) -> Array:
    return np.abs(values).max(axis=axis, initial=0.0)


# How many items join a local problem at a time: a few are enough as a rule, all would make it large.
JOIN_AT_ONCE = 4
# Of larger ties only the part that the falling items touch is looked at, as long as that has a solution and
# few others join: where many do, as over kernels singular in float64, one look at all of them costs less.
# Large are ties whose columns have more than `MANY` numbers on R, a small R counting as `SMALL`.
MANY, SMALL, JOINS = 2**14, 64, 4


@dataclass(frozen=True, eq=False)
class Tie:
    """Ends that are reached together: of which items, and the slopes of their gaps.

    Slopes that differ by no more than `flat` are equal, and entries of Λ below `zero` of their terms are 0.
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
class Verdict:
    """Which of the tied ends are stepped over; `stuck` is the one that would have to be but cannot."""

    crossed: list[int]
    stuck: int | None


@dataclass(frozen=True, eq=False)
class _Local:
    """The local problem: its dictionary and slopes, ends turned so that every gap is measured from below."""

    Lambda: Array
    slopes: Array
    flat: float
    zero: float
    names: Sequence[str] | None

    def part(self, chosen: list[int], field: Field) -> ParametricLCP:
        """Return the local problem of the chosen positions alone, named if anyone wants to read about it."""
        Lambda = self.Lambda[np.ix_(chosen, chosen)]
        lcp = unnamed_lcp(Lambda, self.slopes[chosen], np.zeros(len(chosen)), field)
        if self.names is None:
            return lcp
        names = [self.names[position] for position in chosen]
        return replace(
            lcp,
            w_names=tuple(f"gap[{name}]" for name in names),
            z_names=tuple(f"move[{name}]" for name in names),
        )

    def moves(self, crossed: list[int]) -> Array:
        """Return by how much what is held moves at the positions that are stepped over."""
        return np.linalg.solve(self.Lambda[np.ix_(crossed, crossed)], -self.slopes[crossed])

    def falling(self, crossed: list[int]) -> list[int]:
        """Return which positions still fall through their end when some are stepped over, worst first."""
        terms = self.Lambda[:, crossed] * self.moves(crossed)
        slopes, sizes = self.slopes + terms.sum(axis=1), np.abs(self.slopes) + np.abs(terms).sum(axis=1)
        slopes[crossed] = 0.0
        worst = np.flatnonzero(slopes < -np.maximum(self.zero * sizes, self.flat))
        return _some(worst[np.argsort(slopes[worst])])

    def raising(self, crossed: list[int], row: int) -> list[int]:
        """Return which positions would stop the fall of a row if what is held there moved, best first."""
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


def settle(
    responses: Responses, tie: Tie, names: Sequence[str] | None = None
) -> Generator[Pivot, None, Verdict]:
    """Yield the pivots of the local problem and return its verdict, as positions in the tie.

    The problem is solved on the falling items first; others join when the answer makes them fall, or when
    they could mend a row that has no solution without them.
    """
    if len(tie.items) == 1:
        return _settle_alone(responses, tie.items[0])
    if len(tie.items) * max(responses.count, SMALL) > MANY:
        verdict = yield from _settle_part(responses, tie, names)
        if verdict is not None:
            return verdict
    local = _local(responses, tie, np.arange(len(tie.items)), names)
    chosen = [position for position, slope in enumerate(tie.slopes) if slope < 0]
    while True:
        crossed, row = yield from _solved(local, chosen)
        joining = local.falling(crossed) if row is None else local.raising(crossed, row)
        joining = [i for i in joining if i not in chosen]
        if not joining:
            return Verdict(crossed, row)
        chosen += joining


def _settle_part(
    responses: Responses, tie: Tie, names: Sequence[str] | None
) -> Generator[Pivot, None, Verdict | None]:
    """Yield the pivots of the falling items' own problem, others joining when its answer makes them fall.

    Entries of Λ do not depend on which others are computed with them: the verdict is that of the whole tie.
    None if the problem has no solution, which other items may mend, or if more and more join.
    """
    chosen = np.flatnonzero(np.array(tie.slopes) < 0)
    for _ in range(JOINS):
        local = _local(responses, tie, chosen, names)
        crossed, row = yield from _solved(local, list(range(len(chosen))))
        if row is not None:
            return None
        late = np.setdiff1d(_made_to_fall(responses, tie, chosen, local, crossed), chosen)
        if not len(late):
            return Verdict([int(chosen[k]) for k in crossed], None)
        chosen = np.append(chosen, late[:JOIN_AT_ONCE])
    return None


def _made_to_fall(responses: Responses, tie: Tie, chosen: Array, local: _Local, crossed: list[int]) -> Array:
    """Return which positions of a tie fall when some chosen ones are stepped over, round-off included."""
    items, sense = np.array(tie.items), 1.0 - 2.0 * np.array(tie.ends)
    slopes = np.array(tie.slopes)
    sizes = np.abs(slopes)
    for k, move in zip(crossed, local.moves(crossed), strict=True):
        effect = sense * sense[chosen[k]] * responses.column(int(items[chosen[k]]))[items] * move
        slopes, sizes = slopes + effect, sizes + np.abs(effect)
    return np.flatnonzero(slopes < -np.maximum(tie.zero * sizes, tie.flat))


def _local(responses: Responses, tie: Tie, chosen: Array, names: Sequence[str] | None) -> _Local:
    """Return the local problem of some positions of a tie."""
    items, sense = np.array(tie.items)[chosen], 1.0 - 2.0 * np.array(tie.ends)[chosen]
    labels = None if names is None else [names[item] for item in items]
    Lambda = sense[:, None] * responses.dictionary(items) * sense
    return _Local(Lambda, _evened(np.array(tie.slopes), tie.flat)[chosen], tie.flat, tie.zero, labels)


def _solved(local: _Local, chosen: list[int]) -> Generator[Pivot, None, tuple[list[int], int | None]]:
    """Solve the local problem of the chosen positions: which are stepped over, and a row without solution."""
    if len(chosen) == 1:
        return (chosen, None) if local.Lambda[chosen[0], chosen[0]] > 0 else ([], chosen[0])
    zero = local.zero
    while zero <= COARSEST_ZERO:
        part = local.part(chosen, replace(FLOAT, zero=zero))
        outcome = yield from criss_cross(first_dictionary(part), PerturbedMu(0), LEAST_INDEX)
        if isinstance(outcome, Solved | Infeasible):
            crossed = [chosen[i] for i in sorted(outcome.dictionary.basis)]
            return crossed, chosen[outcome.row] if isinstance(outcome, Infeasible) else None
        zero *= COARSENING
    raise NumericalTroubleError(
        f'round-off leaves a tie of {len(local.slopes)} items undecided; use arithmetic="exact"'
    )


def _evened(slopes: Array, flat: float) -> Array:
    """Return the slopes, runs of them whose neighbours differ by no more than round-off made equal.

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


def _settle_alone(responses: Responses, item: int) -> Verdict:
    """Return the verdict on one falling item: it steps over if moving what is held there stops the fall."""
    if responses.response(item) > 0:
        return Verdict([0], None)
    return Verdict([], 0)
