"""RankSVM at one C: the pairs of a fit, counted where that is possible, and every solver by its name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ranking.core.preferences import Preferences, preferences_from_labels
from ranking.core.representation import Representation, dual_solution, hinge_value
from ranking.core.validation import Array, Integers, incidence
from ranking.errors import must_be
from ranking.ranksvm.conditional_gradient import conditional_gradient
from ranking.ranksvm.cutting_plane import cutting_plane
from ranking.ranksvm.decomposition import decompose
from ranking.ranksvm.dense_newton import solve_squared_hinge
from ranking.ranksvm.linear_program import solve_linear_program
from ranking.ranksvm.newton import minimise
from ranking.ranksvm.pair_counts import CountedPairs, ListedPairs, PairSums
from ranking.ranksvm.spaces import Callback, KernelSpace, Space, WeightSpace, zero

Loss = Literal["hinge", "squared_hinge"]
Solver = Literal[
    "auto", "exact", "newton", "cutting_plane", "decomposition", "conditional_gradient", "linear_program"
]
# Up to so many pairs "auto" solves exactly: beyond them the dual, with a variable per pair, costs more than
# Newton's method at the default tolerance.
EXACT_PAIRS = 1000
# Steps until a solver gives up; those of the conditional gradient and of decomposition are small.
MAX_STEPS = {
    "newton": 500,
    "cutting_plane": 5_000,
    "decomposition": 100_000,
    "conditional_gradient": 1_000_000,
}
# Rows of a Gram matrix that are made at once where the whole of it is too large to keep.
BLOCK_BYTES = 64e6


@dataclass(frozen=True, eq=False)
class TrainingPairs:
    """The pairs of a fit: all those that labels imply, listed only when they are asked for, or given ones."""

    labels: Array | None
    query: Integers | None
    given: Preferences | None = None

    @cached_property
    def preferences(self) -> Preferences:
        """The pairs one by one."""
        if self.given is not None:
            return self.given
        assert self.labels is not None
        return preferences_from_labels(self.labels, self.query)

    @cached_property
    def sums(self) -> PairSums:
        """The pairs as solvers use them."""
        if self.labels is None or self.query is None:
            return self.listed
        return CountedPairs(self.labels, self.query)

    @property
    def listed(self) -> ListedPairs:
        """The pairs as solvers use them that need a number per pair."""
        given = self.preferences
        return ListedPairs(given.pairs, given.weight, given.margin, given.n_items)


class Step(NamedTuple):
    """What a solver has reached: by how much `objective` may exceed the least one is at most the gap."""

    iteration: int
    objective: float
    duality_gap: float


class Fitted(NamedTuple):
    """A solution: coefficients w or β, Dᵀα, α where a solver keeps it, and what found it."""

    coef: Array
    dual_coef: Array
    alpha: Array | Callable[[], Array] | None
    objective: float
    gap: float
    solver: str
    iterations: int


def fitted_from_alpha(
    representation: Representation, pairs: TrainingPairs, alpha: Array, C: float, solver: str
) -> Fitted:
    """Return the solution of the hinge loss that a dual point gives, with its gap."""
    preferences = pairs.preferences
    objective, gap = hinge_value(representation, preferences, alpha, C)
    coef = np.asarray(representation.basis(preferences.pairs) @ alpha).ravel()
    # β = Pᵀ α / λ in Zapien et al. (2009), section 3; our α is their α / λ, so it holds the factor
    balance = incidence(preferences.pairs, preferences.n_items).T @ alpha
    return Fitted(coef, balance, alpha, objective, gap, solver, 0)


def space_of(representation: Representation, cache_size: float) -> Space:
    """Return where the functions live; a Gram matrix of more than so many MB is made anew in blocks."""
    X, n = representation.X, representation.X.shape[0]
    if representation.is_linear:
        return WeightSpace(X)
    if representation.kernel == "precomputed" or 8e-6 * n * n <= cache_size:
        gram = representation.gram
        return KernelSpace(lambda v: gram @ v, gram)
    rows = max(1, int(BLOCK_BYTES / 8 / n))

    def times(v: Array) -> Array:
        return np.concatenate([representation.evaluate(X[i : i + rows]) @ v for i in range(0, n, rows)])

    return KernelSpace(times)


def fit_at(
    representation: Representation,
    pairs: TrainingPairs,
    C: float,
    loss: Loss,
    solver: Solver,
    *,
    tol: float,
    max_iter: int | None,
    cache_size: float,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Fitted:
    """Return the solution at one C by the solver that was chosen; `start` are coefficients close by."""
    if solver == "auto":
        solver = "exact" if pairs.sums.count <= EXACT_PAIRS else "newton"
    if loss == "squared_hinge" and solver not in ("exact", "newton"):
        raise must_be("solver", "'auto', 'exact' or 'newton' with the squared hinge loss", found=repr(solver))
    if solver == "exact":
        return _exact(representation, pairs, C, loss)
    steps = max_iter or MAX_STEPS.get(solver)
    if solver == "linear_program":
        found = solve_linear_program(representation.gram, pairs.listed, C, max_iter=max_iter)
        # the program is about β; of a linear kernel w = Xᵀβ has the same scores
        coef = found.point.coef
        coef = np.asarray(representation.X.T @ coef).ravel() if representation.is_linear else coef
        return Fitted(coef, found.point.coef, None, found.objective, found.gap, solver, found.iterations)
    space = space_of(representation, cache_size)
    assert steps is not None
    options: Any = {"tol": tol, "max_iter": steps, "callback": callback}
    if solver == "newton":
        point = zero(space, pairs.sums.n_items) if start is None else space.from_coef(start)
        found = minimise(space, pairs.sums, C, point, is_squared=loss == "squared_hinge", **options)
    elif solver == "decomposition":
        found = decompose(space, pairs.listed, C, **options)
    elif solver == "cutting_plane":
        found = cutting_plane(space, pairs.sums, C, **options)
    else:
        found = conditional_gradient(space, pairs.sums, C, **options)
    alpha = partial(_listed_alpha, found.alpha, pairs) if callable(found.alpha) else found.alpha
    return Fitted(
        found.point.coef, found.dual_balance, alpha, found.objective, found.gap, solver, found.iterations
    )


def _exact(representation: Representation, pairs: TrainingPairs, C: float, loss: Loss) -> Fitted:
    """Return the solution by `pqp`, or of the squared hinge by Newton's method on pairs one by one."""
    preferences = pairs.preferences
    if loss == "hinge":
        alpha, by = dual_solution(representation.dual(preferences), C, representation.is_linear)
        return fitted_from_alpha(representation, pairs, alpha, C, by)
    solution = solve_squared_hinge(
        representation.gram, preferences.pairs, C, weights=preferences.weight, margins=preferences.margin
    )
    coef = np.asarray(representation.basis(preferences.pairs) @ solution.alpha).ravel()
    balance = incidence(preferences.pairs, preferences.n_items).T @ solution.alpha
    gap, steps = solution.duality_gap, solution.iterations
    return Fitted(coef, balance, solution.alpha, solution.objective, gap, "exact", steps)


def _listed_alpha(alpha_of: Callable[[ListedPairs], Array], pairs: TrainingPairs) -> Array:
    """Return α one by one; not a closure, since estimators are pickled."""
    return alpha_of(pairs.listed)
