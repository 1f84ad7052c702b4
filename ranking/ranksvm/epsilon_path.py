r"""Functions for every C of an interval whose relative duality gap is at most ε at each of them.

Between two values of C with known solutions everything is known that a gap needs. With
:math:`C = (1 - \theta) C_0 + \theta C_1` let w and α be the same mixture of the two solutions and their dual
points. Then α is feasible at C, the loss of w is at most the mixture of the losses, since it is convex, and
the dual value is at least the mixture of its parts but for the norm, since :math:`\alpha^2 / C` is convex in
both. So the gap and the objective have bounds that are parabolas in θ, and whether the gap keeps ε on the
whole interval follows from the vertex of one parabola. Intervals are as long as this allows.

A path takes about :math:`1/\sqrt\varepsilon` pieces; fewer with w a mixture (`is_linear`) than with w as it
is at the lower end. Where α does not move either, :math:`1/\varepsilon` are needed [Giesen et al. 2012].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from ranking.core.validation import Array
from ranking.ranksvm.spaces import Point, Solution, Space, no_convergence

# Knots are solved to this share of ε: what they leave open cannot be used by the intervals.
KNOT_SHARE = 0.1
# The first ratio of two knots, and by how much a ratio changes at most from one interval to the next.
FIRST_RATIO, MAX_GROWTH = 1.2, 4.0
# Intervals aim at this share of ε, so that few are tried in vain.
AIM = 0.8
# A knot closer to its neighbour than this cannot be told from it.
LEAST_RATIO = 1 + 1e-9

Solver: TypeAlias = Callable[[float, Solution | None, float], Solution]


class _Knot(NamedTuple):
    """What is known of a solution: v = ΦᵀDᵀα, the loss Σωℓ(r), and Δᵀα less what α² costs."""

    C: float
    point: Point
    v: Point
    loss: float
    reward: float
    solution: Solution


class _Parabola(NamedTuple):
    """A function a + bθ + cθ² of θ in [0, 1]."""

    a: float
    b: float
    c: float

    def __call__(self, theta: float) -> float:
        return self.a + theta * (self.b + theta * self.c)

    def greatest(self) -> float:
        """Return the largest value in [0, 1]."""
        ends = max(self(0.0), self(1.0))
        inside = -self.b / (2 * self.c) if self.c < 0 else -1.0
        return max(ends, self(inside)) if 0 < inside < 1 else ends

    def least(self) -> float:
        """Return the smallest value in [0, 1]."""
        return -_Parabola(-self.a, -self.b, -self.c).greatest()


@dataclass(frozen=True, eq=False)
class EpsilonPath:
    """The knots of a path in C, and for each interval between two of them the largest relative gap proved.

    `coefs` has one row per knot, `steps` what the solver took at each.
    """

    epsilon: float
    is_linear: bool
    C: Array
    coefs: Array
    gaps: Array
    steps: Array

    def coef(self, C: float) -> Array:
        """Return the coefficients at a C between the first and the last knot."""
        k = min(int(np.searchsorted(self.C, C, side="right")) - 1, len(self.C) - 2)
        if not self.is_linear:
            # the lower end's function holds up to the next knot, whose own begins there
            return np.asarray(self.coefs[k + (self.C[k + 1] == C)])
        theta = (C - self.C[k]) / (self.C[k + 1] - self.C[k])
        return np.asarray((1 - theta) * self.coefs[k] + theta * self.coefs[k + 1])


def trace_epsilon_path(
    space: Space,
    solve: Solver,
    C_lo: float,
    C_hi: float,
    epsilon: float,
    *,
    is_linear: bool = True,
    max_pieces: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> EpsilonPath:
    """Return a path of relative duality gaps at most ε over [C_lo, C_hi].

    `solve` takes C, a solution close by to start from or None, and the relative gap to reach; every solver
    of the loss will do. `progress` receives the C that is reached. With `max_pieces` the path may end before
    C_hi.
    """

    def knot(C: float, start: Solution | None) -> _Knot:
        found = solve(C, start, KNOT_SHARE * epsilon)
        v = space.adjoint(found.dual_balance)
        norm = space.inner(found.point, found.point) / 2
        dual = found.objective * (1 - found.gap)
        return _Knot(C, found.point, v, (found.objective - norm) / C, dual + space.inner(v, v) / 2, found)

    knots = [knot(C_lo, None)]
    gaps: list[float] = []
    ratio = FIRST_RATIO
    # knots that turned out to be too far away, the nearest last: they are met again later
    ahead: list[_Knot] = []
    while len(gaps) != max_pieces and C_hi > knots[-1].C:
        low = knots[-1]
        C = min(low.C * ratio, C_hi)
        high = ahead.pop() if ahead and ahead[-1].C <= C else knot(C, low.solution)
        gap = _largest_gap(space, low, high, is_linear)
        if gap > epsilon:
            if high.C <= low.C * LEAST_RATIO:
                raise no_convergence(high.solution._replace(gap=gap), epsilon)
            ahead.append(high)
        else:
            knots.append(high)
            gaps.append(gap)
            if progress:
                progress(high.C)
        # the gap between two knots grows like the square of their distance
        growth = (AIM * epsilon / gap) ** 0.5 if gap > 0 else MAX_GROWTH
        ratio = max((high.C / low.C) ** min(max(growth, 1 / MAX_GROWTH), MAX_GROWTH), LEAST_RATIO)
    return EpsilonPath(
        epsilon,
        is_linear,
        np.array([k.C for k in knots]),
        np.array([k.point.coef for k in knots]),
        np.array(gaps),
        np.array([k.solution.iterations for k in knots]),
    )


def _largest_gap(space: Space, low: _Knot, high: _Knot, is_linear: bool) -> float:
    """Return a bound on the relative gap between two knots."""
    step_C, step_loss = high.C - low.C, high.loss - low.loss
    norm = _half_square(space, low.point, high.point)
    if is_linear:
        loss = _Parabola(low.C * low.loss, low.C * step_loss + step_C * low.loss, step_C * step_loss)
    else:
        norm, loss = _Parabola(norm.a, 0.0, 0.0), _Parabola(low.C * low.loss, step_C * low.loss, 0.0)
    proved = _half_square(space, low.v, high.v)
    objective = _Parabola(*(n + m for n, m in zip(norm, loss, strict=True)))
    dual = _Parabola(low.reward - proved.a, high.reward - low.reward - proved.b, -proved.c)
    gap = _Parabola(*(p - d for p, d in zip(objective, dual, strict=True)))
    # the least ε, to three digits and from above, with gap − ε · objective ≤ 0 everywhere
    low_bound, bound = 0.0, max(gap.greatest(), 0.0) / objective.least()
    while bound - low_bound > 1e-3 * bound:
        middle = (low_bound + bound) / 2
        if _Parabola(*(g - middle * p for g, p in zip(gap, objective, strict=True))).greatest() <= 0:
            bound = middle
        else:
            low_bound = middle
    return bound


def _half_square(space: Space, u: Point, w: Point) -> _Parabola:
    """Return half of the squared norm of (1 − θ) u + θ w."""
    step = w.plus(-1.0, u)
    return _Parabola(space.inner(u, u) / 2, space.inner(u, step), space.inner(step, step) / 2)
