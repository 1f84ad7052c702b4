r"""From the problem to the linear complementarity problem (LCP) of the paper (section 3.1), and back.

Variables are shifted to their finite limit, fixed ones substituted; free variables and equality
multipliers become free pairs, so nothing is split. A soft row adds one pair for its violation ξ, whose
partner says that the multiplier is capped:  ξ ≥ 0,  penalty − y ≥ 0. The map back reads x, multipliers,
states and proofs from the pairs of the LCP.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pqp.errors import NumericalTroubleError
from pqp.lcp.problem import ParametricLCP
from pqp.linalg.affine import AffineArray, AffineNumber
from pqp.linalg.field import FLOAT, RATIONAL, Array, Field, Number, exact_array, infinite, is_infinite
from pqp.model.problem import ParametricQP, QPData
from pqp.records.residuals import Sizes
from pqp.records.segment import Segment
from pqp.records.states import Basis
from pqp.records.unsolvable import Farkas, Obstruction, descent

Side = Literal["lower", "upper", "equal"]


@dataclass(frozen=True)
class Pair:
    """What one complementary pair (w, z) stands for.

    kind       z                                           w
    variable   distance of x_j from the limit `side`       its reduced cost
    bound      multiplier of the upper limit of x_j        distance from it
    row        multiplier of side `side` of row i          slack of that side
    violation  violation ξ of side `side` of soft row i    what its multiplier lacks to the cap
    """

    kind: Literal["variable", "bound", "row", "violation"]
    index: int
    side: Side


@dataclass(frozen=True, eq=False)
class CompiledQP:
    """A problem's data in one arithmetic, its LCP, and what the pairs mean.

    x = shift(mu) + sign · z of the variable pairs; `signs` is 0 for fixed variables.
    """

    problem: ParametricQP
    lcp: ParametricLCP
    pairs: tuple[Pair, ...]
    signs: Array
    shift: AffineArray

    @property
    def field(self) -> Field:
        """The arithmetic of the LCP."""
        return self.lcp.field

    def feasibility(self) -> "CompiledQP":
        """Return the same constraints with nothing to minimise: solvable where a feasible x exists."""
        primal = np.array([pair.kind in ("variable", "violation") for pair in self.pairs], dtype=bool)
        M = self.lcp.M.copy()
        M[np.ix_(primal, primal)] = self.field.number(0)
        q0, q1 = (np.where(primal, self.field.array(0), q) for q in (self.lcp.q0, self.lcp.q1))
        return replace(self, lcp=replace(self.lcp, M=M, q0=q0, q1=q1))


@dataclass(frozen=True, eq=False)
class _Row:
    """One side of a row over the shifted variables: g·z ≥ constant + mu slope, maybe softened."""

    pair: Pair
    g: Array
    limit: AffineNumber
    cap: AffineNumber | None = None


def compile_problem(problem: ParametricQP, field: Field) -> CompiledQP:
    r"""Return the LCP with :math:`M = \begin{pmatrix} P & -G^\top \\ G & 0 \end{pmatrix}` [paper, (4)].

    >>> from pqp import paper_form
    >>> from pqp.linalg.field import RATIONAL
    >>> compiled = compile_problem(paper_form(Q=[[1]], c=[-2], A=[[3]], b=[1]), RATIONAL)
    >>> compiled.lcp.M.astype(int).tolist(), compiled.lcp.q0.astype(int).tolist()
    ([[2, -3], [3, 0]], [-2, -1])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is found below, in M and q
        compiled = _compiled(problem, problem.data(field))
    lcp = compiled.lcp
    if field is FLOAT and not all(np.isfinite(part).all() for part in (lcp.M, lcp.q0, lcp.q1)):
        raise NumericalTroubleError(
            "the data overflow float64",
            remedy="scale them, or use {setting}",
            setting=("arithmetic", "exact"),
        )
    return compiled


def _compiled(problem: ParametricQP, data: QPData) -> CompiledQP:
    signs, shift = _shift(problem, data)
    moving = [j for j in range(problem.n) if signs[j] != 0]
    rows = _bound_rows(problem, data, moving) + _row_sides(problem, data, signs, shift)
    variables = [Pair("variable", j, _variable_side(problem, j)) for j in moving]
    violations = [Pair("violation", row.pair.index, row.pair.side) for row in rows if row.cap is not None]
    pairs = (*variables, *violations, *(row.pair for row in rows))
    M = _matrix(data, signs, rows)
    q0, q1 = (_right_hand_side(data, signs, shift, rows, part) for part in (0, 1))
    free = np.array([_is_free(problem, pair) for pair in pairs], dtype=bool)
    w_names, z_names = zip(*(_names(problem, pair) for pair in pairs), strict=True) if pairs else ((), ())
    lcp = ParametricLCP(M, q0, q1, free, tuple(w_names), tuple(z_names), data.field)
    return CompiledQP(problem, lcp, pairs, signs, shift)


def _shift(problem: ParametricQP, data: QPData) -> tuple[Array, AffineArray]:
    """Return the sign of every variable and the affine point its z is measured from."""
    has_lower, has_upper = (~infinite(limit.constant) for limit in (data.lower, data.upper))
    signs = np.where(problem.is_fixed, 0, np.where(has_lower | ~has_upper, 1, -1))
    zero = data.field.array(0)
    sides = zip(data.lower, data.upper, strict=True)
    shift = (np.where(has_lower, low, np.where(has_upper, high, zero)) for low, high in sides)
    return signs, AffineArray(*shift)


def _bound_rows(problem: ParametricQP, data: QPData, moving: list[int]) -> list[_Row]:
    """Return x ≤ upper as a row for every variable measured from its lower limit."""
    rows = []
    for place, j in enumerate(moving):
        if _variable_side(problem, j) == "lower" and not is_infinite(data.upper.constant[j]):
            g = data.field.array(np.zeros(len(moving)))
            g[place] = data.field.number(-1)
            limit = AffineNumber(*(data.lower[part][j] - data.upper[part][j] for part in (0, 1)))
            rows.append(_Row(Pair("bound", j, "upper"), g, limit))
    return rows


def _row_sides(problem: ParametricQP, data: QPData, signs: Array, shift: AffineArray) -> list[_Row]:
    moving = signs != 0
    at_shift = shift.mapped(lambda part: data.A @ part)
    rows = []
    for i in range(problem.m):
        for side in _sides(problem, i):
            sense = -1 if side == "upper" else 1
            given = data.row_upper if side == "upper" else data.row_lower
            limit = AffineNumber(*(sense * (given[part][i] - at_shift[part][i]) for part in (0, 1)))
            g = sense * (data.dense_A[i] * signs)[moving]
            cap = _cap(data, i, side) if problem.is_soft[i] else None
            rows.append(_Row(Pair("row", i, side), g, limit, cap))
    return rows


def _cap(data: QPData, i: int, side: Side) -> AffineNumber:
    """Return the cap of a soft side's multiplier; an equality's runs from −penalty, a range twice as wide."""
    width = 2 if side == "equal" else 1
    return AffineNumber(*(width * part[i] for part in data.penalty))


def _matrix(data: QPData, signs: Array, rows: list[_Row]) -> Array:
    moving = np.flatnonzero(signs)
    soft = [r for r, row in enumerate(rows) if row.cap is not None]
    n, s, k = len(moving), len(soft), len(moving) + len(soft) + len(rows)
    M = data.field.array(np.zeros((k, k)))
    M[:n, :n] = data.dense_P[np.ix_(moving, moving)] * np.outer(signs[moving], signs[moving])
    for r, row in enumerate(rows):
        M[n + s + r, :n], M[:n, n + s + r] = row.g, -row.g
    for place, r in enumerate(soft):
        M[n + s + r, n + place], M[n + place, n + s + r] = data.field.number(1), data.field.number(-1)
    return M


def _right_hand_side(data: QPData, signs: Array, shift: AffineArray, rows: list[_Row], part: int) -> Array:
    """Return the constant (part 0) or the slope (part 1) of q = (c', penalty, −limit)."""
    cost = ((data.c[part] + data.P @ shift[part]) * signs)[signs != 0]
    for row in rows:
        if row.pair.side == "equal" and row.cap is not None:
            cost = cost + row.g * row.cap[part] / 2
    caps = [row.cap[part] for row in rows if row.cap is not None]
    return data.field.array([*cost, *caps, *(-row.limit[part] for row in rows)])


def _sides(problem: ParametricQP, i: int) -> list[Side]:
    if problem.is_equality[i]:
        return ["equal"]
    finite: list[Side] = []
    if not is_infinite(problem.row_lower.constant[i]):
        finite.append("lower")
    if not is_infinite(problem.row_upper.constant[i]):
        finite.append("upper")
    return finite


def _variable_side(problem: ParametricQP, j: int) -> Side:
    if not is_infinite(problem.lower.constant[j]):
        return "lower"
    return "equal" if is_infinite(problem.upper.constant[j]) else "upper"


def _is_free(problem: ParametricQP, pair: Pair) -> bool:
    soft = pair.kind == "row" and bool(problem.is_soft[pair.index])
    return pair.side == "equal" and pair.kind in ("variable", "row") and not soft


def _names(problem: ParametricQP, pair: Pair) -> tuple[str, str]:
    """Return what w and z of a pair are called in logs: u and x, v and y as in the paper."""
    if pair.kind == "variable":
        name = problem.names[pair.index]
        return f"u[{name}]", name
    if pair.kind == "bound":
        name = problem.names[pair.index]
        return f"v[{name} upper]", f"y[{name} upper]"
    two_sided = len(_sides(problem, pair.index)) == 2
    name = problem.row_names[pair.index] + (f" {pair.side}" if two_sided else "")
    return (f"v[{name}]", f"y[{name}]") if pair.kind == "row" else (f"s[{name}]", f"xi[{name}]")


def read_segment(
    compiled: CompiledQP, basis: frozenset[int], z: AffineArray, w: AffineArray, ends: tuple[Number, Number]
) -> Segment:
    """Return the optimal segment of a basis whose z and w are given."""
    x, y = read_x(compiled, z), _read_y(compiled, z)
    return Segment(
        lo=ends[0],
        hi=ends[1],
        status="optimal",
        problem=compiled.problem,
        arithmetic=compiled.field,
        basis=read_states(compiled, basis),
        x=x,
        y=y,
        z=_read_reduced_costs(compiled, z, w, x, y),
    )


def read_x(compiled: CompiledQP, z: AffineArray) -> AffineArray:
    """Return x = shift + sign · z."""
    x = [part.copy() for part in compiled.shift]
    for place, pair in enumerate(compiled.pairs):
        if pair.kind == "variable":
            for part in (0, 1):
                x[part][pair.index] += compiled.signs[pair.index] * z[part][place]
    return AffineArray(*x)


def _read_y(compiled: CompiledQP, z: AffineArray) -> AffineArray:
    """Return the multiplier of every row: lower minus upper side; a soft equality's starts at −penalty."""
    data = compiled.problem.data(compiled.field)
    y = [compiled.field.array(np.zeros(compiled.problem.m)) for _ in (0, 1)]
    for place, pair in enumerate(compiled.pairs):
        if pair.kind != "row":
            continue
        for part in (0, 1):
            y[part][pair.index] += -z[part][place] if pair.side == "upper" else z[part][place]
            if pair.side == "equal" and compiled.problem.is_soft[pair.index]:
                y[part][pair.index] -= data.penalty[part][pair.index]
    return AffineArray(*y)


def read_sizes(compiled: CompiledQP, z_sizes: AffineArray) -> Sizes:
    """Return the size of the terms that a float x, and y, are the sums of."""
    problem = compiled.problem
    x = [np.abs(part) for part in compiled.shift]
    y = [
        np.where(problem.is_soft & problem.is_equality, np.abs(part), 0.0)
        for part in problem.data(FLOAT).penalty
    ]
    for place, pair in enumerate(compiled.pairs):
        sizes = {"variable": x, "row": y}.get(pair.kind, [])
        for part, size in enumerate(sizes):
            size[pair.index] += z_sizes[part][place]
    return Sizes(x=AffineArray(*x), y=AffineArray(*y))


def _read_reduced_costs(
    compiled: CompiledQP, z: AffineArray, w: AffineArray, x: AffineArray, y: AffineArray
) -> AffineArray:
    """Return the multipliers of bounds: w of the variable pairs less the multiplier of a second bound.

    Fixed variables have no pair; theirs is Px + c − Aᵀy.
    """
    data, fixed = compiled.problem.data(compiled.field), compiled.signs == 0
    costs = [compiled.field.array(np.zeros(compiled.problem.n)) for _ in (0, 1)]
    for part in (0, 1):
        if fixed.any():
            costs[part][fixed] = (data.P @ x[part] + data.c[part] - data.A.T @ y[part])[fixed]
        for place, pair in enumerate(compiled.pairs):
            if pair.kind == "variable":
                costs[part][pair.index] += compiled.signs[pair.index] * w[part][place]
            elif pair.kind == "bound":
                costs[part][pair.index] -= z[part][place]
    return AffineArray(*costs)


def read_states(compiled: CompiledQP, basis: Iterable[int]) -> Basis:
    """Return the state of every variable and row."""
    inside = {compiled.pairs[i] for i in basis}
    problem = compiled.problem
    variables = (_variable_state(compiled, j, inside) for j in range(problem.n))
    return Basis(tuple(variables), tuple(_row_state(compiled, i, inside) for i in range(problem.m)))


def _variable_state(compiled: CompiledQP, j: int, inside: set[Pair]) -> str:
    if compiled.signs[j] == 0:
        return "fixed"
    pair = next(pair for pair in compiled.pairs if pair.kind == "variable" and pair.index == j)
    if pair not in inside:
        return "zero" if pair.side == "equal" else pair.side
    return "upper" if Pair("bound", j, "upper") in inside else "between"


def _row_state(compiled: CompiledQP, i: int, inside: set[Pair]) -> str:
    if compiled.problem.is_equality[i]:
        return _equality_state(bool(compiled.problem.is_soft[i]), i, inside)
    held = {side: Pair("row", i, side) in inside for side in _BOTH}
    capped = {side: Pair("violation", i, side) in inside for side in _BOTH}
    for side in _BOTH:
        if held[side] and not capped[side]:
            return side
    if capped["lower"] == capped["upper"]:
        return "off"
    return "below" if capped["lower"] else "above"


def _equality_state(soft: bool, i: int, inside: set[Pair]) -> str:
    held, capped = (Pair("row", i, "equal") in inside, Pair("violation", i, "equal") in inside)
    if capped:
        return "below"
    return "equal" if held else "above" if soft else "off"


_BOTH: tuple[Side, Side] = ("lower", "upper")


def basis_of(compiled: CompiledQP, states: Basis) -> frozenset[int]:
    """Return the basis that states describe: the inverse of `read_states`."""
    return frozenset(i for i, pair in enumerate(compiled.pairs) if _is_inside(pair, states))


def _is_inside(pair: Pair, states: Basis) -> bool:
    if pair.kind == "variable":
        state = states.variables[pair.index]
        return state == "between" or (state == "upper" and pair.side == "lower")
    if pair.kind == "bound":
        return states.variables[pair.index] == "upper"
    state = states.rows[pair.index]
    capped = (state == "below" and pair.side != "upper") or (state == "above" and pair.side == "upper")
    return capped if pair.kind == "violation" else capped or state == pair.side


def read_obstruction(compiled: CompiledQP, t: Array) -> Obstruction:
    """Return what an infeasibility row t of the LCP says about the problem."""
    problem, data = compiled.problem, compiled.problem.data(RATIONAL)
    zeros = exact_array(np.zeros(problem.n)), exact_array(np.zeros(problem.m))
    ray, growth, upper = zeros[0].copy(), zeros[1].copy(), zeros[0].copy()
    row_weights = {"lower": zeros[1].copy(), "upper": zeros[1].copy()}
    for pair, weight in zip(compiled.pairs, t, strict=True):
        if pair.kind == "variable":
            ray[pair.index] = compiled.signs[pair.index] * weight
        elif pair.kind == "violation":
            growth[pair.index] += 2 * weight if pair.side == "equal" else weight
        elif pair.kind == "bound":
            upper[pair.index] = weight
        else:
            side = pair.side if pair.side != "equal" else "lower" if weight > 0 else "upper"
            row_weights[side][pair.index] = abs(weight)
    growth = _with_equality_drift(compiled, growth, ray)
    farkas = _balanced(compiled, row_weights["lower"], row_weights["upper"], upper)
    return Obstruction(ray, growth, farkas, descent(data, ray, growth), farkas.gap(data))


def _with_equality_drift(compiled: CompiledQP, growth: Array, ray: Array) -> Array:
    """Return the violation growth; a soft equality drifting upwards is violated by the drift itself."""
    problem = compiled.problem
    drifting = problem.is_soft & problem.is_equality
    drift = problem.data(RATIONAL).A @ ray
    return np.where(drifting, growth + drift, growth)


def _balanced(compiled: CompiledQP, row_lower: Array, row_upper: Array, upper: Array) -> Farkas:
    """Return the weights of bounds that make Aᵀ(row_lower − row_upper) + lower − upper vanish."""
    rest = compiled.problem.data(RATIONAL).A.T @ (row_lower - row_upper) - upper
    return Farkas(row_lower, row_upper, np.maximum(-rest, 0), upper + np.maximum(rest, 0))
