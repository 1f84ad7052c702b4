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

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dpstrf

import pqp
from ranking.core.labels import Levels
from ranking.core.validation import Array, Integers, as_dense, as_symmetric, as_table, require_choice
from ranking.errors import DataError, NotSeparableError, must_be, must_have
from ranking.ordinal.base import Hinges, Scope, distinct_rows, hinges_of
from ranking.ordinal.programs import exact_entries, hard_margin

Given = Literal["primal", "kernel"]
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

    def renumbered(self, rows: Integers) -> "LevelConflict":
        """Return the conflict with the objects 0, 1, ... called by other numbers."""
        return LevelConflict(rows[self.row], self.threshold, self.sign, self.alpha)


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


def not_separable(
    conflict: LevelConflict, codes: Integers, form: Given, levels: Levels | None = None
) -> NotSeparableError:
    """Return the error that names the objects in conflict and their levels."""
    names = codes if levels is None else levels.labels(codes)
    shown = [f"{row} (level {names[row]})" for row in conflict.rows[:MOST]]
    more = f" and {len(conflict.rows) - MOST} more" if len(conflict.rows) > MOST else ""
    remedy = "a kernel" if form == "primal" else "another kernel"
    return NotSeparableError(
        "these objects conflict: rows {found}; "
        "no weights and thresholds put each of them between its thresholds",
        conflict.rows,
        conflict,
        argument="X",
        found=f"{', '.join(shown)}{more}",
        remedy=f"use a finite C or {remedy}",
    )


# What rounding may leave of a pivot that is zero, relative to the largest one.
SINGULAR = 1e-13
# By how much a rounded Gram matrix may miss being positive semidefinite, relative to its largest entry.
INDEFINITE = 1e-8


@dataclass(frozen=True, eq=False)
class Separation:
    """A hard margin: f and λ (`dual_coef`) of every object, thresholds, margin 2/‖w‖; w if X was given.

    `alpha` are the multipliers of `hinges`, those of distinct items; the objective is ½‖w‖².
    """

    w: Array | None
    dual_coef: Array
    thresholds: Array
    f: Array
    margin: float
    objective: float
    alpha: Array = field(repr=False)
    hinges: Hinges = field(repr=False)


def separate(
    rows: Any,
    codes: Integers,
    form: Given = "primal",
    scope: Scope = "adjacent",
    levels: Levels | None = None,
) -> Separation:
    """Return the hard margin of objects with labels 0, 1, ..., or raise `NotSeparableError`.

    Parameters
    ----------
    rows
        X, or for the form "kernel" the matrix K of inner products.
    codes
        Labels as numbers; every level up to the largest must occur.
    levels
        What messages call the levels.

    >>> separate([[0.0], [1.0], [3.0]], np.array([0, 1, 2])).margin
    1.0
    >>> separate([[0.0], [1.0], [3.0]], np.array([0, 1, 0]))
    Traceback (most recent call last):
    ranking.errors.NotSeparableError: these objects conflict: rows 0 (level 0), 1 (level 1), 2 (level 0); ...
    """
    require_choice(form, ("primal", "kernel"), "form")
    if form == "primal":
        table = as_table(rows, "X")
    else:
        table = as_symmetric(as_dense(rows), "K")
        least = float(eigvalsh(table, subset_by_index=[0, 0])[0])
        if least < -INDEFINITE * float(np.abs(table).max()):
            raise must_be("K", "a matrix of inner products", found=f"the eigenvalue {least:g} < 0")
    counts = np.bincount(codes)
    if len(counts) < 2:
        raise must_have("codes", "at least two levels", found="one")
    for level in np.flatnonzero(counts == 0)[:1]:
        message = "level {found} has no object"
        raise DataError(message, argument="codes", found=str(level), remedy="leave it out")
    task = _Task(table, codes, len(counts), form, scope)
    # first, because equal objects need no program, and their multipliers are exact
    twins = task.twins()
    found: Separation | LevelConflict = task.solve(np.arange(len(codes))) if twins is None else twins
    if isinstance(found, Separation):
        return found
    conflict = task.reduced(found)
    if not is_conflict(conflict, task.table, codes, scope):  # exact for a basis of K, but not for all of it
        conflict = replace(conflict, alpha=conflict.alpha.astype(float))
    raise not_separable(conflict, codes, form, levels)


@dataclass(frozen=True, eq=False)
class _Task:
    """Objects, of which any part can be separated."""

    table: Any
    codes: Integers
    n_levels: int
    form: Given
    scope: Scope

    def solve(self, part: Integers) -> Separation | LevelConflict:
        """Return the hard margin of some objects, or hinges of theirs that conflict."""
        table = self.table[part] if self.form == "primal" else self.table[np.ix_(part, part)]
        first, group = distinct_rows(table)
        hinges = hinges_of(self.codes[part], self.n_levels, group, scope=self.scope)
        if self.form == "kernel":
            found = _from_kernel(table[np.ix_(first, first)], hinges)
        else:
            program = hard_margin(table[first], hinges)
            point = pqp.solve(program.problem, 0)
            if point.status == "infeasible":
                found = _conflict(point.segment.farkas, hinges)
            else:
                read = program.read(point.x)
                norm = 2 * point.objective
                found = _separation(read.w, point.y, read.thresholds, read.f, norm, hinges)
        if isinstance(found, LevelConflict):
            return found.renumbered(part)
        return replace(found, f=found.f[group])

    def reduced(self, conflict: LevelConflict) -> LevelConflict:
        """Return a conflict none of whose objects can be left out, by trying each of them."""
        # one pass is enough: if the rest without a row is separable, so is every part of that rest
        for row in conflict.rows:
            rest = np.array([other for other in conflict.rows if other != row])
            if len(rest) == len(conflict.rows):
                continue
            found = self.solve(rest)
            if isinstance(found, LevelConflict):
                conflict = found
        return conflict

    def twins(self) -> LevelConflict | None:
        """Return a conflict of two equal objects, with labels as near as possible, if there are such.

        An object z of a level between holds its two thresholds apart: its hinges cancel in the sum over x.
        """
        _, group = distinct_rows(self.table)
        order = np.lexsort((self.codes, group))
        step = np.diff(self.codes[order])
        differ = np.flatnonzero((np.diff(group[order]) == 0) & (step > 0))
        if not len(differ):
            return None
        low, high = (order[differ[step[differ].argmin()] + side] for side in (0, 1))
        begin, end = int(self.codes[low]), int(self.codes[high])
        between = range(begin + 1, end) if self.scope == "adjacent" else range(0)
        links = [int(np.flatnonzero(self.codes == level)[0]) for level in between]
        row = np.array([low, *np.repeat(links, 2), high], dtype=np.int64)
        threshold = begin + np.repeat(np.arange(len(links) + 1), 2)
        sign = np.tile([-1.0, 1.0], len(links) + 1)
        return LevelConflict(row, threshold, sign, np.array([Fraction(1, len(row))] * len(row), dtype=object))


def _from_kernel(K: Array, hinges: Hinges) -> Separation | LevelConflict:
    """Return the solution of the dual, or a ray of it; that of (H̃) over a basis where K is singular."""
    # signed α of a threshold add up to 0, so only differences φ(x_i) - φ(x_0) count; a K that is singular
    # because of its origin alone needs no basis
    differences = K - (K[0] + K[:, :1]) + K[0, 0]
    largest = differences.diagonal().max()
    basis = np.arange(0)
    if largest > 0:
        # rows that are independent and span it, up to rounding; LAPACK numbers them from 1
        _, order, rank, _ = dpstrf(differences, tol=SINGULAR * largest)
        basis = np.sort(order[:rank] - 1).astype(np.int64)
    # the difference of item 0 is 0, so the rank is at most n - 1
    if len(basis) < len(K) - 1:
        return _over_basis(K, differences, basis, hinges)
    # the row added is the item of score 0 that `pairs` puts opposite every item
    P = pqp.PairGram(np.pad(K, (0, 1)), hinges.pairs)
    A = hinges.incidence
    point = pqp.solve(pqp.ParametricQP(P, -np.ones(len(hinges)), A, row_lower=0, row_upper=0, lower=0), 0)
    if point.status == "unbounded":
        return _conflict(point.segment.ray, hinges)
    return _of_items(K, point.x, point.y, hinges)


def _over_basis(K: Array, differences: Array, basis: Integers, hinges: Hinges) -> Separation | LevelConflict:
    r"""Return the solution of (H̃), or its Farkas vector, with w in the span of a basis of differences.

    Signed multipliers of a threshold add up to 0, so w is a sum of differences :math:`\phi(x_i) - \phi(x_0)`.
    Scores are those of differences too: a shift of all scores shifts the thresholds.
    """
    scores, metric = differences[:, basis], differences[np.ix_(basis, basis)]
    P = np.pad(metric, (0, hinges.n_thresholds))
    A = np.hstack([hinges.sign[:, None] * scores[hinges.item], -hinges.incidence.T.toarray()])
    point = pqp.solve(pqp.ParametricQP(P, np.zeros(len(P)), A, row_lower=1), 0)
    if point.status == "infeasible":
        return _conflict(point.segment.farkas, hinges)
    found = _of_items(K, point.y, point.x[len(basis) :], hinges)
    # both scores differ by one constant up to rounding, which the mean evens out
    shift = np.mean(found.f - scores @ point.x[: len(basis)])
    return replace(found, thresholds=found.thresholds + shift)


def _of_items(K: Array, alpha: Array, thresholds: Array, hinges: Hinges) -> Separation:
    coefficients = np.bincount(hinges.item, hinges.sign * alpha, hinges.n_items)
    f = K @ coefficients
    return _separation(None, alpha, thresholds, f, float(coefficients @ f), hinges)


def _separation(
    w: Array | None, alpha: Array, thresholds: Array, f: Array, squared_norm: float, hinges: Hinges
) -> Separation:
    # hinges at distance 1 on both sides of a threshold keep two levels 2/‖w‖ apart (section 2 of the paper)
    margin = float(2 / np.sqrt(squared_norm)) if squared_norm else np.inf
    dual_coef = np.asarray(hinges.shares @ alpha).ravel()
    return Separation(w, dual_coef, thresholds, f, margin, squared_norm / 2, alpha, hinges)


def _conflict(multipliers: Array | None, hinges: Hinges) -> LevelConflict:
    """Return multipliers as a conflict of objects: one of those that share a hinge represents it."""
    assert multipliers is not None
    used = np.flatnonzero(multipliers > 0)
    columns = hinges.shares.tocsc()
    owner = columns.indices[columns.indptr[:-1]].astype(np.int64)
    alpha = multipliers[used] / multipliers[used].sum()
    return LevelConflict(owner[used], hinges.threshold[used], hinges.sign[used], alpha)
