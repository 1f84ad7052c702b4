"""A check of a path from the definitions, which shares no code with the library's own residuals.

Problems are read as plain arrays. A piece is right where its x meets the limits and where multipliers that
have the right sign, lie within the penalties and vanish at limits that are not met make the gradient vanish.
Every number is compared with the largest of its kind on the whole path, row by row and variable by variable:
at one mu a solution may be exactly zero, and rounding error has nothing to be small against. Values are
compared with Clarabel, and stretches without a solution with HiGHS.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

import pqp

# What the conditions may miss, relative to the scales of the path.
TOLERANCE = 1e-8
# What an optimal value may differ from Clarabel's, relative to the terms it is the sum of.
VALUE = 1e-6
# The value at one mu is compared with at least this share of the largest terms on the path.
PART = 1e-2
# A scale is at least this share of the largest one: rounding error spreads from large items to small ones.
SHARE = 1e-5
# Where all of a path is zero, its scales are.
NOTHING = 1e-9
# Pieces that are looked at; the first and the last are always among them.
PIECES = 60
# Stretches shorter than this share of the interval have no inside that an LP solver could judge.
SHORT = 1e-5
# What Clarabel says where there is no solution: an ear for both, since either may be fooled by tolerances.
WORDS = {"infeasible": "PrimalInfeasible", "unbounded": "DualInfeasible"}
# HiGHS may err by 1e-7: a descent counts from here.
CLEARLY = 1e-6


def moved(affine: Any, mu: float) -> Any:
    """Return constant + mu slope as floats; an infinite limit stays infinite."""
    return np.asarray(affine.constant, dtype=float) + mu * np.asarray(affine.slope, dtype=float)


def hessian(problem: pqp.ParametricQP) -> Any:
    """Return the entries of P, from a matrix or from its factors."""
    P = problem.P
    if isinstance(P, pqp.Gram):
        F = sp.csr_array(P.F).astype(float) if sp.issparse(P.F) else np.asarray(P.F, dtype=float)
        weighted = F if P.w is None else F * np.asarray(P.w, dtype=float)
        product = weighted @ F.T
        if P.d is None:
            return product
        added = np.asarray(P.d, dtype=float)
        return product + (sp.diags_array(added) if sp.issparse(product) else np.diag(added))
    if isinstance(P, pqp.PairGram):
        K, pairs = np.asarray(P.K, dtype=float), np.asarray(P.pairs)
        D = np.zeros((len(pairs), len(K)))
        D[np.arange(len(pairs)), pairs[:, 0]] += 1
        D[np.arange(len(pairs)), pairs[:, 1]] -= 1
        return D @ K @ D.T
    return P.values.astype(float) if sp.issparse(P.values) else np.asarray(P.values, dtype=float)


class Arrays:
    """The numbers of a problem, and the problem at one mu for other solvers."""

    def __init__(self, problem: pqp.ParametricQP) -> None:
        self.problem = problem
        self.P = sp.csr_array(hessian(problem))
        A = problem.A
        self.A = sp.csr_array(A.astype(float) if sp.issparse(A) else np.asarray(A, dtype=float))
        self.absolute_P, self.absolute_A = abs(self.P), abs(self.A)
        self.soft = np.isfinite(np.asarray(problem.penalty.constant, dtype=float))
        self.n, self.m = len(problem.names), len(problem.row_names)
        row, bound = (
            _coincide(problem, *sides) for sides in (("row_lower", "row_upper"), ("lower", "upper"))
        )
        # Equalities at every mu, so that the form for other solvers does not change with mu.
        self.equal = np.concatenate([row & ~self.soft, bound])

    def at(self, mu: float) -> dict[str, Any]:
        """Return c, the limits and the penalties at one mu."""
        names = ("c", "row_lower", "row_upper", "lower", "upper", "penalty")
        return {name: moved(getattr(self.problem, name), mu) for name in names}

    def constant(self, mu: float) -> float:
        """Return k(mu)."""
        k0, k1, k2 = (float(k) for k in self.problem.constant)
        return k0 + mu * (k1 + mu * k2)

    def terms(self, mu: float, x: Any) -> Any:
        """Return what the cost of x is the sum of: curvature, linear part, penalties, constant."""
        data, activity = self.at(mu), self.A @ x
        violation = np.maximum(0, np.maximum(data["row_lower"] - activity, activity - data["row_upper"]))
        paid = data["penalty"][self.soft] @ violation[self.soft]
        return np.array([x @ (self.P @ x) / 2, data["c"] @ x, paid, self.constant(mu)])

    def split(self, mu: float) -> tuple[Any, ...]:
        """Return cost, equalities and inequalities G (x, v) ≤ h in x and the violations v ≥ 0."""
        data, soft = self.at(mu), np.flatnonzero(self.soft)
        slack = sp.csr_array((np.ones(len(soft)), (soft, range(len(soft)))), shape=(self.m, len(soft)))
        low = np.concatenate([data["row_lower"], data["lower"]])
        high = np.concatenate([data["row_upper"], data["upper"]])
        rows = sp.vstack([self.A, sp.eye_array(self.n)], format="csr")
        slack = sp.vstack([slack, sp.csr_array((self.n, len(soft)))], format="csr")
        same = self.equal
        below, above = np.isfinite(low) & ~same, np.isfinite(high) & ~same
        E = sp.hstack([rows[same], sp.csr_array((int(same.sum()), len(soft)))], format="csr")
        signs = sp.hstack([sp.csr_array((len(soft), self.n)), -sp.eye_array(len(soft))], format="csr")
        G = sp.vstack(
            [
                sp.hstack([-rows[below], -slack[below]]),
                sp.hstack([rows[above], -slack[above]]),
                signs,
            ],
            format="csr",
        )
        h = np.concatenate([-low[below], high[above], np.zeros(len(soft))])
        cost = np.concatenate([data["c"], data["penalty"][soft]])
        return cost, E, low[same], G, h


def _coincide(problem: pqp.ParametricQP, lower: str, upper: str) -> Any:
    """Return which limits are one and the same function of mu."""
    low, high = getattr(problem, lower), getattr(problem, upper)
    return np.asarray((low.constant == high.constant) & (low.slope == high.slope), dtype=bool)


def clarabel_form(arrays: Arrays, mu: float) -> tuple[Any, ...]:
    """Return the arguments of a Clarabel solver: P, cost, rows, right-hand side and cones."""
    import clarabel

    cost, E, e, G, h = arrays.split(mu)
    extra = len(cost) - arrays.n
    P = sp.block_diag([arrays.P, sp.csc_array((extra, extra))], format="csc") if extra else arrays.P
    rows = sp.csc_matrix(sp.vstack([E, G]))
    cones = [clarabel.ZeroConeT(len(e)), clarabel.NonnegativeConeT(len(h))]
    return sp.csc_matrix(sp.triu(P)), cost, rows, np.concatenate([e, h]), cones


class ClarabelGrid:
    """Clarabel in its best form for many mu: set up once, then only cost and right-hand side are updated."""

    def __init__(self, arrays: Arrays, tolerance: float = 1e-8) -> None:
        import clarabel

        self.P, self.cost, self.A, self.limits, self.cones = clarabel_form(arrays, 0.0)
        # The data are affine in mu: two values give them all, and an update costs two products.
        _, cost, _, limits, _ = clarabel_form(arrays, 1.0)
        self.cost_slope, self.limit_slope = cost - self.cost, limits - self.limits
        self.settings = clarabel.DefaultSettings()
        self.settings.verbose = False
        self.settings.max_threads = 1
        # Presolve drops rows, and then nothing can be updated.
        self.settings.presolve_enable = False
        self.settings.tol_gap_abs = self.settings.tol_gap_rel = self.settings.tol_feas = tolerance
        self.make = clarabel.DefaultSolver

    def setup(self, mu: float) -> "ClarabelGrid":
        """Set up the solver from scratch."""
        cost, limits = self.at(mu)
        self.solver = self.make(self.P, cost, self.A, limits, self.cones, self.settings)
        return self

    def at(self, mu: float) -> tuple[Any, Any]:
        """Return cost and right-hand side at one mu."""
        return self.cost + mu * self.cost_slope, self.limits + mu * self.limit_slope

    def solve(self, mu: float | None = None) -> tuple[str, float, Any]:
        """Return Clarabel's word on the problem, at another mu if one is given, its value and its x."""
        if mu is not None:
            cost, limits = self.at(mu)
            self.solver.update(q=cost, b=limits)
        solution = self.solver.solve()
        return str(solution.status), solution.obj_val, solution.x

    def solve_all(self, mus: Any) -> list[tuple[str, float, Any]]:
        """Return the answers at many mu, with one set-up."""
        self.setup(mus[0])
        return [self.solve(mu) for mu in mus]


def clarabel_value(
    arrays: Arrays, mu: float, scales: "Scales | None" = None, tolerance: float = 1e-10
) -> tuple[str, float]:
    """Return Clarabel's word on the problem at one mu, and its optimal value.

    Its tolerances are absolute: with scales, it gets variables, rows and cost in units that make them near 1.
    """
    grid, unit = ClarabelGrid(arrays, tolerance), 1.0
    if scales is not None:
        unit = scales.value
        columns = sp.diags_array(np.concatenate([scales.variables, scales.rows[arrays.soft]]))
        A = sp.csr_array(grid.A @ columns)
        rows = sp.diags_array(1 / np.maximum(abs(A).max(axis=1).toarray().ravel(), NOTHING))
        grid.P = sp.csc_matrix(columns @ grid.P @ columns / unit)
        grid.A = sp.csc_matrix(rows @ A)
        grid.cost, grid.cost_slope = (columns @ part / unit for part in (grid.cost, grid.cost_slope))
        grid.limits, grid.limit_slope = (rows @ part for part in (grid.limits, grid.limit_slope))
    status, value, _ = grid.setup(mu).solve()
    return status, unit * value + arrays.constant(mu)


def linear_verdict(arrays: Arrays, mu: float) -> str:
    """Return "infeasible", "unbounded" or "optimal", by the definitions and two linear programs.

    The problem is unbounded if it is feasible and its cost falls along a direction which no limit and no
    curvature ever stops.
    """
    cost, E, e, G, h = arrays.split(mu)
    size, free = len(cost), [(None, None)] * len(cost)
    found = linprog(0 * cost, A_ub=G, b_ub=h, A_eq=E, b_eq=e, bounds=free)
    if found.status == 2:
        return "infeasible"
    if found.status != 0:
        return f"HiGHS failed: {found.message}"
    flat = sp.hstack([arrays.P, sp.csr_array((arrays.n, size - arrays.n))], format="csr")
    stays = sp.vstack([E, flat], format="csr")
    scale = np.abs(cost).max(initial=0) or 1.0
    found = linprog(
        cost / scale, A_ub=G, b_ub=0 * h, A_eq=stays, b_eq=np.zeros(stays.shape[0]), bounds=[(-1, 1)] * size
    )
    if found.status != 0:
        return f"HiGHS failed: {found.message}"
    return "unbounded" if found.fun < -CLEARLY else "optimal"


@dataclass
class Verdict:
    """What a check found: faults as sentences, and the largest miss of each condition."""

    faults: list[str] = field(default_factory=list)
    misses: dict[str, float] = field(default_factory=dict)
    # Values of mu at which the other solver gave no answer to compare with.
    unjudged: int = 0

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def note(self, condition: str, miss: float, limit: float, where: str) -> None:
        """Keep the largest miss of a condition, and a fault where it exceeds its limit; nan is a fault."""
        self.misses[condition] = max(self.misses.get(condition, 0.0), miss)
        if not miss <= limit:
            self.faults.append(f"{condition} misses by {miss:.1e} at {where}")


def chosen(pieces: list[Any], count: int = PIECES) -> list[Any]:
    """Return some of the pieces, evenly chosen, the first and the last among them."""
    places = np.unique(np.linspace(0, len(pieces) - 1, min(len(pieces), count)).round().astype(int))
    return [pieces[place] for place in places]


def points_of(pieces: Iterable[Any]) -> list[tuple[Any, float]]:
    """Return the ends and the middle of every piece."""
    return [
        (piece, mu)
        for piece in pieces
        for mu in dict.fromkeys((float(piece.lo), (float(piece.lo) + float(piece.hi)) / 2, float(piece.hi)))
    ]


def check_cover(path: Any, interval: tuple[float, float], verdict: Verdict, hole: float = 0.0) -> None:
    """Pieces follow each other from one end of the interval to the other, without a hole or an overlap."""
    if path.stopped:
        verdict.faults.append(f"stopped: {path.stopped}")
    pieces = list(path.segments)
    if not pieces:
        verdict.faults.append("there is no piece")
        return
    ends = [interval[0], *(float(end) for piece in pieces for end in (piece.lo, piece.hi)), interval[1]]
    scale = (interval[1] - interval[0]) or 1.0
    for left, right in zip(ends[::2], ends[1::2], strict=True):
        verdict.note("cover", abs(right - left) / scale, hole, f"mu = {left:.17g} to {right:.17g}")
    for piece in pieces:
        if not piece.lo <= piece.hi:
            verdict.faults.append(f"a piece runs from {piece.lo} back to {piece.hi}")
        if piece.status not in ("optimal", "infeasible", "unbounded"):
            verdict.faults.append(f"unknown status {piece.status!r}")


@dataclass(frozen=True)
class Solution:
    """What a piece says at one mu, as floats."""

    mu: float
    x: Any
    y: Any
    z: Any
    value: float

    @classmethod
    def of(cls, piece: Any, mu: float) -> "Solution":
        """Read a piece at one mu."""
        point = piece.at(mu)
        x, y, z = (np.asarray(part, dtype=float) for part in (point.x, point.y, point.z))
        return cls(mu, x, y, z, float(point.objective))


class Scales:
    """The largest numbers of each kind on the whole path."""

    def __init__(self, arrays: Arrays, solutions: list[Solution]) -> None:
        rows, variables, gradient = np.zeros(arrays.m), np.zeros(arrays.n), np.zeros(arrays.n)
        terms, prices = np.zeros(4), np.zeros(arrays.m)
        for solution in solutions:
            data, x = arrays.at(solution.mu), np.abs(solution.x)
            rows = np.maximum(rows, arrays.absolute_A @ x)
            variables = np.maximum(variables, x)
            for low, high, own in (("row_lower", "row_upper", rows), ("lower", "upper", variables)):
                for limit in (data[low], data[high]):
                    np.maximum(own, np.where(np.isfinite(limit), np.abs(limit), 0), out=own)
            sums = arrays.absolute_P @ x + np.abs(data["c"]) + np.abs(solution.z)
            gradient = np.maximum(gradient, sums + arrays.absolute_A.T @ np.abs(solution.y))
            terms = np.maximum(terms, np.abs(arrays.terms(solution.mu, solution.x)))
            prices = np.maximum(prices, np.abs(np.where(arrays.soft, data["penalty"], solution.y)))
        self.rows, self.variables, self.gradient = (_floored(own) for own in (rows, variables, gradient))
        # A value that is zero on the whole path is small relative to what its limits are worth.
        self.value = max(float(terms.max()), float((prices * rows).max(initial=0)), NOTHING)


def _floored(scales: Any) -> Any:
    return np.maximum(scales, max(SHARE * scales.max(initial=0), NOTHING))


def allowed(value: Any, low: Any, high: Any, slack: Any, cap: Any) -> tuple[Any, Any]:
    """Return the least and the largest multiplier that a value within its limits, or beyond them, may have.

    A limit counts as met within `slack`. A hard limit has an infinite cap; a soft one that is violated has
    its penalty as the multiplier, one that is met anything up to it, and one that is not met has zero.
    """
    meets_low, meets_high = value - low <= slack, high - value <= slack
    is_below, is_above = (low - value > slack) & np.isfinite(cap), (value - high > slack) & np.isfinite(cap)
    least = np.where(meets_high, -cap, 0.0)
    largest = np.where(meets_low, cap, 0.0)
    least = np.where(is_below, cap, least)
    largest = np.where(is_above, -cap, largest)
    # limits that both are met leave both signs; one that is violated by far leaves one number
    largest = np.where(is_below, cap, largest)
    least = np.where(is_above, -cap, least)
    return least, largest


def check_solution(
    arrays: Arrays, scales: Scales, solution: Solution, verdict: Verdict, tolerance: float = TOLERANCE
) -> None:
    """x meets its limits, multipliers obey signs, caps and complementarity, and the gradient vanishes."""
    data, x, where = arrays.at(solution.mu), solution.x, f"mu = {solution.mu:.17g}"
    activity = arrays.A @ x
    beyond = np.maximum(data["row_lower"] - activity, activity - data["row_upper"])
    hard = ~arrays.soft
    verdict.note("rows", _largest(beyond[hard] / scales.rows[hard]), tolerance, where)
    beyond = np.maximum(data["lower"] - x, x - data["upper"])
    verdict.note("bounds", _largest(beyond / scales.variables), tolerance, where)
    gradient = arrays.P @ x + data["c"] - arrays.A.T @ solution.y - solution.z
    verdict.note("stationarity", _largest(np.abs(gradient) / scales.gradient), tolerance, where)
    # A multiplier that is not allowed is wrong by as much as its correction moves the gradient.
    cap = np.where(arrays.soft, data["penalty"], np.inf)
    limits = allowed(activity, data["row_lower"], data["row_upper"], tolerance * scales.rows, cap)
    excess = arrays.absolute_A.T @ np.abs(solution.y - np.clip(solution.y, *limits))
    verdict.note("row multipliers", _largest(excess / scales.gradient), tolerance, where)
    free = np.full(arrays.n, np.inf)
    limits = allowed(x, data["lower"], data["upper"], tolerance * scales.variables, free)
    excess = np.abs(solution.z - np.clip(solution.z, *limits))
    verdict.note("bound multipliers", _largest(excess / scales.gradient), tolerance, where)
    own = float(arrays.terms(solution.mu, x).sum())
    verdict.note("objective", abs(own - solution.value) / scales.value, tolerance, where)


def _largest(values: Any) -> float:
    """Return the largest entry, 0 if there is none above; nan if there is one."""
    return float(np.max(values, initial=0.0))


def check_path(
    path: Any,
    interval: tuple[float, float],
    hole: float = 0.0,
    pieces: int = PIECES,
    values: int = 3,
    tolerance: float = TOLERANCE,
) -> Verdict:
    """Return everything that is wrong with a path over an interval."""
    verdict = Verdict()
    check_cover(path, interval, verdict, hole)
    arrays = Arrays(path.problem)
    optimal = [piece for piece in path.segments if piece.status == "optimal"]
    some = chosen(optimal, pieces) if optimal else []
    solutions = [Solution.of(piece, mu) for piece, mu in points_of(some)]
    scales = Scales(arrays, solutions)
    for solution in solutions:
        check_solution(arrays, scales, solution, verdict, tolerance)
    # one value on the inside of each of a few pieces
    for piece in chosen(optimal, values) if optimal else []:
        solution = Solution.of(piece, (float(piece.lo) + float(piece.hi)) / 2)
        check_value(arrays, scales, solution, verdict)
    for piece in path.segments:
        check_unsolvable(arrays, piece, interval, verdict)
    return verdict


def check_value(arrays: Arrays, scales: Scales, solution: Solution, verdict: Verdict) -> None:
    """The optimal value is Clarabel's."""
    status, value = clarabel_value(arrays, solution.mu, scales)
    if status != "Solved":
        verdict.unjudged += 1
        return
    terms = np.abs(arrays.terms(solution.mu, solution.x)).max()
    miss = abs(value - solution.value) / max(float(terms), PART * scales.value)
    verdict.note("value", miss, VALUE, f"mu = {solution.mu:.17g}")


def check_unsolvable(arrays: Arrays, piece: Any, interval: tuple[float, float], verdict: Verdict) -> None:
    """A stretch without a solution has none by HiGHS either."""
    lo, hi = float(piece.lo), float(piece.hi)
    if piece.status == "optimal" or hi - lo < SHORT * (interval[1] - interval[0]):
        return
    found = linear_verdict(arrays, (lo + hi) / 2)
    if found.startswith("HiGHS"):
        verdict.unjudged += 1
    elif found != piece.status and clarabel_value(arrays, (lo + hi) / 2)[0] != WORDS[piece.status]:
        verdict.faults.append(f"{piece.status} on [{lo:.9g}, {hi:.9g}], HiGHS says {found}")
