r"""The hard margin of objects, or a least set of objects that contradict one another.

Conflicts. Hinges :math:`s\,(f(x_i) - p_k) \ge 1` with multipliers α ≥ 0, Σ α = 1, such that

.. math:: \sum_h s_h \alpha_h\, x_{i(h)} = 0, \qquad \sum_{h:\,k(h) = k} s_h \alpha_h = 0 \text{ for all } k

add up to 0 ≥ 1: no w and no p satisfy all of them. With a kernel the first sum is one of feature vectors,
and is 0 if and only if the same sum over rows of K is.

Separation. Rows of X are separated by (H) in w and p, whose Farkas vector is a `LevelConflict`. A kernel
matrix K is separated by the dual, with one α ≥ 0 per hinge and D with one row per hinge,

.. math:: \min_\alpha \; \tfrac12 \alpha^\top D K D^\top \alpha - \mathbf 1^\top \alpha
          \quad\text{s.t.}\quad \sum_{h:\,k(h) = k} s_h \alpha_h = 0 \text{ for every threshold } k,

whose multipliers are the thresholds and whose rays are conflicts. Both see distinct items only. Where K is
singular up to rounding, it could be separated by its rounding alone, at a margin of nothing; there (H̃) is
solved in the columns of items that are independent, up to `SINGULAR`.

What conflicts. Two equal objects with labels k < k' do if k' = k + 1: the threshold between them would be
above and below their score. Otherwise only objects of the levels between link the thresholds, by
:math:`p_{k+1} + 2 \le p_{k+2}`: a conflict takes one of each of these levels too, and without objects in such
a level there is none. With hinges of scope "all" the two objects conflict by themselves.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dpstrf

import pqp
from ranking.core.representation import Representation
from ranking.core.validation import Array, Integers, as_dense, as_table
from ranking.errors import NotSeparableError, must_be
from ranking.ordinal.base import Hinges, Scope, Training, hinges_of
from ranking.ordinal.programs import dual_program, exact_entries, hard_margin

# Sums of float multipliers may miss 0 by rounding, relative to the largest entry that is added.
ROUNDING = 1e-8
# How many objects a message names.
MOST = 10


@dataclass(frozen=True, eq=False)
class LevelConflict:
    """Hinges that contradict one another: object, threshold (from 0), sign and multiplier of each.

    The multipliers are Fractions where the contradiction is exact for the numbers of X or K at face value.
    """

    row: Integers
    threshold: Integers
    sign: Array
    alpha: Array

    @property
    def rows(self) -> tuple[int, ...]:
        """The objects that conflict."""
        return tuple(np.unique(self.row).tolist())


def is_conflict(conflict: LevelConflict, rows: Any, codes: Integers, scope: Scope = "adjacent") -> bool:
    """Return whether multipliers prove that objects with these labels are not separable, by the definition.

    `rows` are those of X, or of K; they are taken at face value if the multipliers are Fractions, and up to
    rounding otherwise.

    >>> both = LevelConflict(np.array([0, 1]), np.array([0, 0]), np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    >>> [is_conflict(both, X, np.array([0, 1])) for X in ([[3.0], [3.0]], [[3.0], [4.0]])]
    [True, False]
    """
    alpha, is_exact = conflict.alpha, conflict.alpha.dtype == object
    table = as_dense(as_table(rows, "X or K")[conflict.row]).T
    signed = conflict.sign.astype(int) * alpha
    slack = 0.0 if is_exact else ROUNDING * max(1.0, float(np.abs(table).max(initial=0.0)))
    combined = (exact_entries(table) if is_exact else table) @ signed
    # the hinges must be those of objects with these labels
    hinges = hinges_of(codes, int(codes.max()) + 1, scope=scope)
    asked = set(zip(hinges.item.tolist(), hinges.threshold.tolist(), hinges.sign.tolist(), strict=True))
    found = zip(conflict.row.tolist(), conflict.threshold.tolist(), conflict.sign.tolist(), strict=True)
    return bool(
        asked.issuperset(found)
        and (alpha > 0).all()
        and abs(alpha.sum() - 1) <= slack
        and all(abs(signed[conflict.threshold == k].sum()) <= slack for k in np.unique(conflict.threshold))
        and (np.abs(combined) <= slack).all()
    )


# What rounding may leave of a pivot that is zero, relative to the largest one.
SINGULAR = 1e-13
# By how much a rounded Gram matrix may miss being positive semidefinite, relative to its largest entry.
INDEFINITE = 1e-8


def separate(training: Training, scope: Scope = "adjacent") -> Array:
    """Return the multipliers of the hinges at the hard margin, or raise `NotSeparableError`.

    >>> import ranking
    >>> ranking.OrdinalSVM(C=np.inf).fit([[0.0], [1.0], [3.0]], [0, 1, 2]).margin_
    1.0
    >>> ranking.OrdinalSVM(C=np.inf).fit([[0.0], [1.0], [3.0]], [0, 1, 0])
    Traceback (most recent call last):
    ranking.errors.NotSeparableError: these objects conflict: rows 0 (level 0), 1 (level 1), 2 (level 0); ...
    """
    representation = training.representation
    if not representation.is_linear:
        K = representation.gram
        least = float(eigvalsh(K, subset_by_index=[0, 0])[0])
        if least < -INDEFINITE * float(np.abs(K).max()):
            raise must_be("K", "a matrix of inner products", found=f"the eigenvalue {least:g} < 0")
    # first, because equal objects need no program, and their multipliers are exact
    conflict = _twins(training, scope)
    if conflict is None:
        found = _solve(representation, training.hinges)
        if not isinstance(found, LevelConflict):
            return found
        conflict = found
    conflict = _reduced(conflict, training, scope)
    table = (representation.X if representation.is_linear else representation.gram)[training.items]
    # exact for a basis of K, but perhaps not for all of it
    if not is_conflict(conflict, table, training.codes, scope):
        conflict = replace(conflict, alpha=conflict.alpha.astype(float))
    names = training.levels.labels(training.codes)
    shown = [f"{training.rows[k]} (level {names[k]})" for k in conflict.rows[:MOST]]
    more = f" and {len(conflict.rows) - MOST} more" if len(conflict.rows) > MOST else ""
    remedy = "a kernel" if representation.is_linear else "another kernel"
    renumbered = replace(conflict, row=training.rows[conflict.row])
    raise NotSeparableError(
        "these objects conflict: rows {found}; "
        "no weights and thresholds put each of them between its thresholds",
        renumbered.rows,
        renumbered,
        argument="X",
        found=f"{', '.join(shown)}{more}",
        remedy=f"use a finite C or {remedy}",
    )


def _twins(training: Training, scope: Scope) -> LevelConflict | None:
    """Return a conflict of two equal objects, with labels as near as possible, if there are such.

    An object z of a level between holds its two thresholds apart: its hinges cancel in the sum over x.
    """
    codes, items = training.codes, training.items
    order = np.lexsort((codes, items))
    step = np.diff(codes[order])
    differ = np.flatnonzero((np.diff(items[order]) == 0) & (step > 0))
    if not len(differ):
        return None
    low, high = (order[differ[step[differ].argmin()] + side] for side in (0, 1))
    begin, end = int(codes[low]), int(codes[high])
    between = range(begin + 1, end) if scope == "adjacent" else range(0)
    links = [int(np.flatnonzero(codes == level)[0]) for level in between]
    row = np.array([low, *np.repeat(links, 2), high], dtype=np.int64)
    threshold = begin + np.repeat(np.arange(len(links) + 1), 2)
    sign = np.tile([-1.0, 1.0], len(links) + 1)
    return LevelConflict(row, threshold, sign, np.array([Fraction(1, len(row))] * len(row), dtype=object))


def _reduced(conflict: LevelConflict, training: Training, scope: Scope) -> LevelConflict:
    """Return a conflict none of whose objects can be left out, by trying each of them."""
    # one pass is enough: if the rest without a row is separable, so is every part of that rest
    for row in conflict.rows:
        rest = np.array([other for other in conflict.rows if other != row])
        if len(rest) == len(conflict.rows):
            continue
        items, group = np.unique(training.items[rest], return_inverse=True)
        hinges = hinges_of(training.codes[rest], len(training.levels), group, scope=scope)
        found = _solve(training.representation.part(items), hinges)
        if isinstance(found, LevelConflict):
            conflict = replace(found, row=rest[found.row])
    return conflict


def _solve(representation: Representation, hinges: Hinges) -> Array | LevelConflict:
    """Return the multipliers of the hinges of some items, or hinges that conflict, by numbers of objects."""
    if not representation.is_linear:
        return _from_kernel(representation, hinges)
    point = pqp.solve(hard_margin(representation.X, hinges).problem, 0)
    return _conflict(point.segment.farkas, hinges) if point.status == "infeasible" else point.y


def _from_kernel(representation: Representation, hinges: Hinges) -> Array | LevelConflict:
    """Return the solution of the dual, or a ray of it; that of (H̃) over a basis where K is singular."""
    # signed α of a threshold add up to 0, so only differences φ(x_i) - φ(x_0) count; a K that is singular
    # because of its origin alone needs no basis
    K = representation.gram
    differences = K - (K[0] + K[:, :1]) + K[0, 0]
    largest = differences.diagonal().max()
    basis = np.arange(0)
    if largest > 0:
        # rows that are independent and span it, up to rounding; LAPACK numbers them from 1
        _, order, rank, _ = dpstrf(differences, tol=SINGULAR * largest)
        basis = np.sort(order[:rank] - 1).astype(np.int64)
    # the difference of item 0 is 0, so the rank is at most n - 1
    if len(basis) < len(K) - 1:
        return _over_basis(differences, basis, hinges)
    point = pqp.solve(dual_program(representation, hinges, ordered=False, caps=np.inf), 0)
    if point.status == "unbounded":
        return _conflict(point.segment.ray, hinges)
    return point.x


def _over_basis(differences: Array, basis: Integers, hinges: Hinges) -> Array | LevelConflict:
    r"""Return the solution of (H̃), or its Farkas vector, with w in the span of a basis of differences.

    Signed multipliers of a threshold add up to 0, so w is a sum of differences :math:`\phi(x_i) - \phi(x_0)`.
    Scores are those of differences too: a shift of all scores shifts the thresholds.
    """
    scores, metric = differences[:, basis], differences[np.ix_(basis, basis)]
    P = np.pad(metric, (0, hinges.n_thresholds))
    A = np.hstack([hinges.sign[:, None] * scores[hinges.item], -hinges.incidence.T.toarray()])
    point = pqp.solve(pqp.ParametricQP(P, np.zeros(len(P)), A, row_lower=1), 0)
    return _conflict(point.segment.farkas, hinges) if point.status == "infeasible" else point.y


def _conflict(multipliers: Array | None, hinges: Hinges) -> LevelConflict:
    """Return multipliers as a conflict of objects: one of those that share a hinge represents it."""
    assert multipliers is not None
    used = np.flatnonzero(multipliers > 0)
    columns = hinges.shares.tocsc()
    owner = columns.indices[columns.indptr[:-1]].astype(np.int64)
    alpha = multipliers[used] / multipliers[used].sum()
    return LevelConflict(owner[used], hinges.threshold[used], hinges.sign[used], alpha)
