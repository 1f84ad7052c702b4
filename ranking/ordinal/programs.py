r"""Programs of ordinal regression as `pqp.ParametricQP` [Izunaga, Sato, Tatsumi and Yamamoto 2014].

======================= ========================= ==================================================
"primal": w, p          (H), (S)                  :math:`f(x_i) = x_i^\top w`
"dual": λ, p            (H̄), (S̄)                  :math:`w = X^\top\lambda,\; f(x_i) = (K\lambda)_i`
"kernel": λ, p          (H̃), (S̃)                  the same with K given: no X is needed
======================= ========================= ==================================================

Every hinge is one row, :math:`s\,(f(x_i) - p_k) \ge 1`. Hard margin programs forbid violations. Soft ones
with the 1-norm price them at C · weight, and C is μ unless it is given: rows with a penalty, or with `slacks`
the variables ξ of the paper; both have the same path. With the 2-norm they cost C · weight · ξ², which is not
affine in C, so C must be given. Thresholds are free. C and the objective are ours: see `conventions`.

Nothing in a soft program of the paper keeps thresholds in order. A hard margin does, by 2 at least where
the level between two thresholds has an object, and so do the hinges of scope "all" [Chu and Keerthi 2005];
otherwise `ordered` adds the rows :math:`p_k \le p_{k+1}`. A level without objects leaves its two thresholds
without a link: leave such levels out (`Levels.observed`).

Names: w1, w2, ..., or λ as l0, l1, ... by row; p1, p2, ... as in the paper; rows "x0<p1", "x3>p1" by row
number; slacks "xi(x0<p1)". The paper's :math:`\xi_{-i}` belong to rows with ">", its :math:`\xi_{+i}` to
those with "<".

Integers are kept exactly, K = X Xᵀ of "dual" included. K of other numbers is rounded, and then of higher
rank than X: exact arithmetic is for integers and for the primal form, and in float64 the primal form is the
one that never runs into `pqp.NumericalTroubleError` for that reason.

The dual with fixed margins, as a program in C:

.. math:: \min_\alpha \; \tfrac12 \alpha^\top S K S \alpha - \mathbf 1^\top \alpha
    \quad\text{s.t.}\quad 0 \le \alpha \le C\,\omega, \quad \sum_{r \text{ of } k} s_r \alpha_r = 0
    \text{ for every threshold } k

over hinges r (see `ranking.ordinal.base`); the multipliers of the rows are the thresholds. Thresholds that
must ascend have the sums of rows 1, ..., k instead, which may then be negative: their multipliers are
:math:`p_k - p_{k+1} \le 0`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import block_diag, csr_array, diags_array, eye_array, hstack, issparse, vstack

import pqp
from ranking.core.representation import Representation
from ranking.core.validation import (
    Array,
    as_dense,
    as_symmetric,
    as_table,
    incidence,
    positive_number,
    require_choice,
)
from ranking.errors import DataError, must_have
from ranking.ordinal.base import Hinges

Form = Literal["primal", "dual", "kernel"]
FORMS: Sequence[str] = ("primal", "dual", "kernel")


@dataclass(frozen=True, eq=False)
class Reading:
    """A solution by its parts: w or λ, the thresholds, the score of every item; w is None if only K is known.

    All are exact if the solution was.
    """

    coefficients: Array
    thresholds: Array
    f: Array
    w: Array | None


@dataclass(frozen=True, eq=False)
class Formulation:
    """A program over coefficients of scores, thresholds and perhaps slacks, in this order.

    f = `scores` @ coefficients; w = `rows`ᵀ coefficients in the dual representation.
    """

    problem: pqp.ParametricQP
    hinges: Hinges
    form: Form
    scores: Any = field(repr=False)
    rows: Any = field(repr=False)

    def read(self, x: Array) -> Reading:
        """Return the parts of a solution of the program."""
        size = self.scores.shape[1]
        coefficients, thresholds = x[:size], x[size : size + self.hinges.n_thresholds]
        is_exact = x.dtype == object
        w: Array | None = coefficients if self.form == "primal" else None
        if self.form == "dual":
            w = (exact_entries(self.rows.T) if is_exact else self.rows.T) @ coefficients
        scores = exact_entries(self.scores) if is_exact else self.scores
        return Reading(coefficients, thresholds, scores @ coefficients, w)


def hard_margin(rows: Any, hinges: Hinges, form: Form = "primal", ordered: bool = False) -> Formulation:
    r"""Return the hard margin program (H), (H̄) or (H̃), which is infeasible unless the objects are separable:

    .. math:: \min \; \tfrac12 \|w\|^2 \quad\text{s.t.}\quad s\,(f(x_i) - p_k) \ge 1 \text{ for every hinge}

    `rows` are the items, or for the form "kernel" the matrix K of their inner products.

    >>> from ranking.ordinal.base import hinges_of
    >>> program = hard_margin([[0], [1], [3]], hinges_of(np.array([0, 1, 2]), 3))
    >>> pqp.solve(program.problem, 0, arithmetic="exact").named
    {'w1': Fraction(2, 1), 'p1': Fraction(1, 1), 'p2': Fraction(3, 1)}
    """
    return _formulate(rows, hinges, form, ordered, _Loss(0.0, np.zeros(0), np.zeros(0), rows=None))


def soft_margin(
    rows: Any,
    hinges: Hinges,
    C: float | None = None,
    form: Form = "primal",
    norm: int = 1,
    slacks: bool = False,
    ordered: bool = False,
) -> Formulation:
    r"""Return the soft margin program (S), (S̄) or (S̃) with weights ω of hinges:

    .. math:: \min \; \tfrac12 \|w\|^2 + C \sum_h \omega_h \xi_h^{\text{norm}} \quad\text{s.t.}\quad
              s\,(f(x_i) - p_k) \ge 1 - \xi_h,\; \xi_h \ge 0

    Parameters
    ----------
    C
        A number, or None for the program in μ = C, with norm 1 only.
    norm
        1, or 2 for squared slacks.
    slacks
        Whether ξ are variables; they are with norm 2.

    Two objects are separated by w = 2 from C = 2 on; before, w = C.

    >>> from ranking.ordinal.base import hinges_of
    >>> program = soft_margin([[0], [1]], hinges_of(np.array([0, 1]), 2))
    >>> path = pqp.solve_path(program.problem, (0, np.inf), arithmetic="exact")
    >>> [str(path(C).named["w1"]) for C in (1, 2, 3)]
    ['1', '2', '2']
    """
    require_choice(norm, (1, 2), "norm")
    if norm == 2 and C is None:
        message = "{argument} must be {expected}: the squared loss has no path in C that is a pQP"
        raise DataError(message, argument="C", expected="a number with norm=2")
    price: Any = pqp.mu if C is None else positive_number(C, "C")
    weight, zero, no_slack = hinges.weight, np.zeros(len(hinges)), np.zeros(0)
    if norm == 2:
        # the penalty of a row is linear in its violation, so squared slacks have to be variables; C ω ξ² is
        # ½ (2 C ω) ξ²
        loss = _Loss(price, curvature=2 * price * weight, slacks=zero, rows=None)
    elif slacks:
        loss = _Loss(price, curvature=zero, slacks=weight, rows=None)
    else:
        loss = _Loss(price, curvature=no_slack, slacks=no_slack, rows=weight)
    return _formulate(rows, hinges, form, ordered, loss)


class _Loss(NamedTuple):
    """How violations are priced: `price` times the costs of slacks, or times the penalties of rows.

    `curvature` is what slacks add to the diagonal of P. Without either violations are forbidden.
    """

    price: Any
    curvature: Array
    slacks: Array
    rows: Array | None


def _formulate(rows: Any, hinges: Hinges, form: Form, ordered: bool, loss: _Loss) -> Formulation:
    """Return the program: variables are coefficients, thresholds, slacks; rows are hinges, then the order."""
    require_choice(form, FORMS, "form")
    items = as_symmetric(as_dense(rows), "K") if form == "kernel" else as_table(rows, "X")
    if items.shape[0] != hinges.n_items:
        wanted = f"a row for each of {hinges.n_items} items"
        raise must_have("X or K", wanted, found=items.shape[0])
    if not hinges.n_thresholds:
        raise must_have("hinges", "at least two levels", found=1)
    # an optimal w lies in the span of the objects (Lemma 1 of the paper), so f = K λ loses nothing
    scores = as_dense(items @ items.T) if form == "dual" else items
    size, n_thresholds, n_slacks = scores.shape[1], hinges.n_thresholds, len(loss.slacks)
    n_steps = n_thresholds - 1 if ordered else 0
    penalty = None
    if loss.rows is not None:
        # infinite as a constant: as a weight it would be an infinite slope of the penalty in μ
        hard = np.concatenate([np.zeros(len(hinges)), np.full(n_steps, np.inf)])
        penalty = loss.price * np.concatenate([loss.rows, np.zeros(n_steps)]) + hard
    letter, first = ("w", 1) if form == "primal" else ("l", 0)
    names = [f"{letter}{j}" for j in range(first, first + size)]
    names += [f"p{k}" for k in range(1, n_thresholds + 1)]
    triples = zip(hinges.item, hinges.threshold, hinges.sign, strict=True)
    row_names = [f"x{item}{'>' if sign > 0 else '<'}p{k + 1}" for item, k, sign in triples]
    problem = pqp.ParametricQP(
        _hessian(items, form, n_thresholds, loss.curvature),
        loss.price * np.concatenate([np.zeros(size + n_thresholds), loss.slacks]),
        _constraints(scores, hinges, n_slacks, n_steps),
        row_lower=np.concatenate([np.ones(len(hinges)), np.zeros(n_steps)]),
        lower=np.concatenate([np.full(size + n_thresholds, -np.inf), np.zeros(n_slacks)]),
        penalty=penalty,
        names=names + [f"xi({name})" for name in row_names[:n_slacks]],
        row_names=row_names + [f"p{k}<=p{k + 1}" for k in range(1, n_steps + 1)],
    )
    return Formulation(problem, hinges, form, scores, items)


def _hessian(items: Any, form: Form, n_thresholds: int, curvature: Array) -> Any:
    """Return P: the identity, X Xᵀ by its factor, or K; zeros for thresholds; the curvature of slacks."""
    rest = np.concatenate([np.zeros(n_thresholds), curvature])
    if form == "primal":
        return diags_array(np.concatenate([np.ones(items.shape[1]), rest])).tocsr()
    if form == "kernel":
        P = block_diag([items, diags_array(rest)], "csr")
        return P if len(curvature) else P.toarray()
    diagonal = np.concatenate([np.zeros(items.shape[0]), rest])
    # by its factor P has the rank of X; a K of numbers that are not whole is rounded and has a higher one
    factor = vstack([csr_array(items), csr_array((len(rest), items.shape[1]))], "csr")
    return pqp.Gram(factor if issparse(items) else factor.toarray(), diagonal if len(curvature) else None)


def _constraints(scores: Any, hinges: Hinges, n_slacks: int, n_steps: int) -> Any:
    """Return A: s f − s p (+ ξ) for hinges, p_{k+1} − p_k for the order."""
    A = hstack([diags_array(hinges.sign) @ csr_array(scores)[hinges.item], -hinges.incidence.T], "csr")
    A = hstack([A, eye_array(len(hinges), n_slacks)], "csr")
    if n_steps:
        steps = incidence(np.column_stack([np.arange(1, n_steps + 1), np.arange(n_steps)]), n_steps + 1)
        before, after = csr_array((n_steps, scores.shape[1])), csr_array((n_steps, n_slacks))
        A = vstack([A, hstack([before, steps, after])], "csr")
    return A if n_slacks or issparse(scores) else A.toarray()


def exact_entries(matrix: Any) -> Array:
    """Return a matrix in Fractions: times a float one of these is a float, and no longer exact."""
    dense = as_dense(matrix)
    return np.array([Fraction(entry) for entry in dense.ravel().tolist()], dtype=object).reshape(dense.shape)


def dual_program(
    representation: Representation, hinges: Hinges, ordered: bool, caps: Any = None
) -> pqp.ParametricQP:
    """Return the dual with the 1-norm penalty, in mu = C, or with other caps of α in mu."""
    upper = pqp.mu * hinges.weight if caps is None else caps
    return _program(representation.hessian(hinges.pairs), hinges, ordered, upper)


def squared_dual_program(
    representation: Representation, hinges: Hinges, ordered: bool, C: float
) -> pqp.ParametricQP:
    r"""Return the dual with the 2-norm penalty :math:`C \sum_r \omega_r \xi_r^2`, at one C.

    Nothing bounds α from above; instead :math:`\alpha_r = 2 C \omega_r \xi_r` costs
    :math:`\alpha_r^2 / (4 C \omega_r)`.
    """
    P = representation.hessian(hinges.pairs, 1 / (2 * C * hinges.weight))
    return _program(P, hinges, ordered, None)


def threshold_matrix(n_thresholds: int, ordered: bool) -> Array:
    """Return the matrix that makes thresholds of the multipliers of the rows."""
    # the multiplier of the sum of rows 1, ..., k is p_k - p_{k+1}, so p_k is the sum of those from k on
    return np.triu(np.ones((n_thresholds, n_thresholds))) if ordered else np.eye(n_thresholds)


def primal_value(
    representation: Representation, hinges: Hinges, b: Array, thresholds: Array, C: float, norm: int
) -> float:
    """Return ½‖f‖² + C Σ ω ξ, or ξ² for the 2-norm; the hard margin has no ξ."""
    # ∞ · 0 is not a number, and a slack that is rounding error would cost ∞
    if np.isinf(C):
        return representation.squared_norm(b) / 2
    slack = np.maximum(0.0, hinges.slack(representation.scores(b), thresholds))
    loss = float(hinges.weight @ (slack if norm == 1 else slack**2))
    return representation.squared_norm(b) / 2 + C * loss


def dual_value(
    representation: Representation, hinges: Hinges, b: Array, alpha: Array, C: float, norm: int
) -> float:
    """Return the value of the dual, which no primal value is below."""
    value = float(alpha.sum()) - representation.squared_norm(b) / 2
    # the largest α ξ - C ω ξ² over ξ is α² / (4 C ω)
    return value if norm == 1 else value - float((alpha**2 / hinges.weight).sum()) / (4 * C)


def _program(P: Any, hinges: Hinges, ordered: bool, upper: Any) -> pqp.ParametricQP:
    """Return a dual, with the rows that thresholds are multipliers of."""
    A, row_lower = hinges.incidence.toarray(), np.zeros(hinges.n_thresholds)
    if ordered:
        # the multiplier of the last sum is p_l itself, which is free: that row stays an equation
        A, row_lower[:-1] = np.cumsum(A, axis=0), -np.inf
    return pqp.ParametricQP(
        P, -np.ones(len(hinges)), A, row_lower=row_lower, row_upper=0, lower=0, upper=upper
    )
