r"""RankSVM at one C by Newton's method, over pairs that are counted and never listed.

.. math:: \min_w \; P(w) = \tfrac12\|w\|^2 + C \sum_p \omega_p \, \ell(r_p), \qquad
          r_p = \Delta_p - (f_i - f_j), \quad f = \Phi w

with :math:`\ell(r) = \max(0, r)^2` or :math:`\max(0, r)`. Every dual point α, one number per pair, bounds the
least value from below. Newton's method takes α from the loss, :math:`\alpha_p = C \omega_p \ell'(r_p)`, and
then the gap is known without it: with the gradient g, half of :math:`\|g\|^2`, as the loss and α meet in
equality. The hinge has no second derivative, so a part of length γ of it is replaced by a parabola, whose
gap to the hinge is counted too; γ falls until the whole gap is small enough.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ranking.core.validation import Array
from ranking.ranksvm.pair_counts import ListedPairs, NearPairs, PairSums
from ranking.ranksvm.spaces import Callback, Point, Solution, Space, no_convergence

# Products with the Hessian for one Newton step, at most; the step reached by then still goes down.
MAX_PRODUCTS = 100
# γ in the first problem, a whole margin, and the least share of it that the next one keeps: in steps that are
# longer, the solution found is no longer a start that helps.
FIRST_GAMMA, LEAST_SHARE = 1.0, 0.02
MAX_HALVINGS = 60


class _Loss(NamedTuple):
    """C Σ ωℓ(r) of a smooth loss at a point, with what it misses of the true loss."""

    value: float
    # the true loss, and by how much it exceeds what α proves of it
    true_value: float
    excess: float
    # Dᵀα, and the product with C Dᵀ diag(ωℓ'') D
    dual_balance: Array
    product: Callable[[Array], Array]
    # by how much a pair misses its margin, at most
    largest: float


def _squared_hinge(near: NearPairs, C: float) -> _Loss:
    value = C * near.total_of_squares
    balance = 2 * C * near.residual_balance
    return _Loss(value, value, 0.0, balance, lambda v: 2 * C * near.laplacian(v), near.largest)


def _smoothed_hinge(band: NearPairs, beyond: NearPairs, gamma: float, C: float) -> _Loss:
    r"""Return the loss r²/(2γ) in the band up to r = γ and r − γ/2 beyond, so that ℓ' = min(1, r/γ)."""
    parabola, length = band.total_of_squares / gamma, gamma * beyond.weight
    return _Loss(
        value=C * (parabola / 2 + beyond.total + length / 2),
        true_value=C * (band.total + beyond.total + length),
        # the loss r against αr = r²/γ
        excess=C * (band.total - parabola),
        dual_balance=C * (band.residual_balance / gamma + beyond.balance),
        product=lambda v: C * band.laplacian(v) / gamma,
        largest=band.largest if beyond.weight == 0 else np.inf,
    )


def minimise(
    space: Space,
    pairs: PairSums,
    C: float,
    start: Point,
    *,
    is_squared: bool,
    tol: float,
    max_iter: int,
    first_gamma: float = FIRST_GAMMA,
    callback: Callback | None = None,
) -> Solution:
    """Return a function whose relative duality gap is at most tol.

    A Newton step takes a few products with the data, O(l log l log k) time each besides for l items of k
    levels. `callback` receives the state at every step.
    """
    point, gamma = start, 0.0 if is_squared else first_gamma

    def loss_at(scores: Array) -> _Loss:
        if is_squared:
            return _squared_hinge(pairs.near(scores), C)
        return _smoothed_hinge(*pairs.band(scores, gamma), gamma, C)

    loss = loss_at(point.scores)
    for iteration in range(max_iter + 1):
        gradient = point.plus(-1.0, space.adjoint(loss.dual_balance))
        missed = space.inner(gradient, gradient) / 2
        solution = _proved(space, pairs, C, point, loss, missed, iteration)._replace(
            alpha=partial(_alpha, C=C, gamma=gamma, scores=point.scores)
        )
        if callback:
            callback(solution)
        if solution.gap <= tol:
            return solution
        if gamma and missed <= solution.gap * solution.objective / 4:
            # most of the gap is due to the parabola: shorten it as far as the gap asks for
            share = tol / (2 * solution.gap)
            gamma *= min(max(share, LEAST_SHARE), 0.5)
            loss = loss_at(point.scores)
            continue
        if iteration < max_iter:
            direction = _newton_direction(space, gradient, loss)
            point, loss = _line_search(space, point, direction, loss, loss_at)
    raise no_convergence(solution, tol)


def _proved(
    space: Space, pairs: PairSums, C: float, point: Point, loss: _Loss, missed: float, iteration: int
) -> Solution:
    """Return the solution that a point stands for, with its gap: the point, or its multiple without loss."""
    norm = space.inner(point, point) / 2
    objective = norm + loss.true_value
    # P - D: what the gradient and what the parabola leave open
    dual = objective - missed - loss.excess
    if loss.excess and loss.largest < pairs.least_margin:
        # all pairs keep a share of their margin: enlarged, the function has no loss at all
        grown = 1 / (1 - loss.largest / pairs.least_margin)
        if norm * grown**2 < objective:
            point, objective = Point(point.coef * grown, point.scores * grown), norm * grown**2
    gap = (objective - dual) / objective if objective > 0 else 0.0
    return Solution(C, point, objective, gap, loss.dual_balance, iteration)


def _alpha(pairs: ListedPairs, C: float, gamma: float, scores: Array) -> Array:
    """Return α_p = C ω_p ℓ'(r_p) at given scores."""
    residual = np.maximum(pairs.margin - pairs.D @ scores, 0.0)
    return np.asarray(C * pairs.weight * (np.minimum(residual / gamma, 1.0) if gamma else 2 * residual))


def _newton_direction(space: Space, gradient: Point, loss: _Loss) -> Point:
    r"""Return d with (I + ΦᵀDᵀHDΦ) d = −g approximately, by conjugate gradients.

    As exact as the gradient is small, which makes the last steps quadratic [Kuo et al. 2014, section 3].
    """
    left = Point(-gradient.coef, -gradient.scores)
    square = space.inner(left, left)
    enough = square * min(0.01, np.sqrt(square) / (1 + loss.value))
    result = Point(np.zeros_like(left.coef), np.zeros_like(left.scores))
    search = left
    for _ in range(MAX_PRODUCTS):
        image = search.plus(1.0, space.adjoint(loss.product(search.scores)))
        curvature = space.inner(search, image)
        # rounding in a singular kernel: what is left has no length that could be measured
        if not curvature > 0:
            return result
        t = square / curvature
        result, left = result.plus(t, search), left.plus(-t, image)
        square, before = space.inner(left, left), square
        if not square > enough:
            return result
        search = left.plus(square / before, search)
    exact = space.solve(loss.product, -gradient.coef)
    return result if exact is None else space.from_coef(exact)


def _line_search(
    space: Space, point: Point, direction: Point, loss: _Loss, loss_at: Callable[[Array], _Loss]
) -> tuple[Point, _Loss]:
    """Return a lower point on the line, and the loss there: the full step, or by the secant of the slope."""
    linear, square = space.inner(point, direction), space.inner(direction, direction)
    norm = space.inner(point, point) / 2

    def slope(at: _Loss, t: float) -> float:
        # D is linear, so a change of scores meets Dᵀα as a change of differences meets α
        return linear + t * square - float(at.dual_balance @ direction.scores)

    first, value = slope(loss, 0.0), norm + loss.value
    t, low, high = 1.0, 0.0, np.inf
    for _ in range(MAX_HALVINGS):
        at = loss_at(point.scores + t * direction.scores)
        now = slope(at, t)
        is_lower = norm + t * linear + t * t * square / 2 + at.value <= value * (1 + 1e-15)
        if abs(now) <= 0.5 * abs(first) and is_lower:
            break
        if now > 0:
            high = t
        else:
            low = t
        secant = t * first / (first - now) if now != first else 2 * t
        # between the ends, away from both; without an upper end at most ten times as far
        ceiling = low + 0.9 * (high - low) if np.isfinite(high) else 10 * t
        t = min(max(secant, low + 0.1 * (min(high, 10 * t) - low)), ceiling)
    # afresh, as steps at large C are long and cancel each other: scores must be those of the coefficients
    reached = space.from_coef(point.coef + t * direction.coef)
    return reached, loss_at(reached.scores)
