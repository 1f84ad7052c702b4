r"""From the problem to the linear complementarity problem (LCP) of the paper (section 3.1), and back.

Variables are shifted to their finite limit, fixed ones substituted; free variables and equality
multipliers become free pairs, so nothing is split. A soft row adds one pair for its violation ξ, whose
partner says that the multiplier is capped:  ξ ≥ 0,  penalty − y ≥ 0. The map back reads x, multipliers,
states and proofs from the pairs of the LCP.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from pqp.errors import EXACT_SETTING, NumericalTroubleError
from pqp.lcp.problem import ParametricLCP
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, RATIONAL, Array, Field, Number, exact_array, infinite, is_infinite
from pqp.model.affine import Affine
from pqp.model.problem import ParametricQP, QPData
from pqp.records.residuals import Sizes
from pqp.records.segment import Segment
from pqp.records.states import Basis
from pqp.records.unsolvable import Farkas, Obstruction, descent

Side = Literal["lower", "upper", "equal"]
Kind = Literal["variable", "bound", "row", "violation"]


@dataclass(frozen=True)
class Pair:
    """What one complementary pair (w, z) stands for.

    kind       z                                           w
    variable   distance of x_j from the limit `side`       its reduced cost
    bound      multiplier of the upper limit of x_j        distance from it
    row        multiplier of side `side` of row i          slack of that side
    violation  violation ξ of side `side` of soft row i    what its multiplier lacks to the cap
    """

    kind: Kind
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

    @cached_property
    def _by_kind(self) -> dict[str, tuple[Array, Array]]:
        kinds = np.array([pair.kind for pair in self.pairs], dtype=object)
        indices = np.array([pair.index for pair in self.pairs], dtype=np.int64)
        places = {kind: np.flatnonzero(kinds == kind) for kind in get_args(Kind)}
        return {kind: (chosen, indices[chosen]) for kind, chosen in places.items()}

    def where(self, kind: Kind) -> tuple[Array, Array]:
        """Return the positions of the pairs of one kind, and the variables or rows that they belong to."""
        return self._by_kind[kind]

    @cached_property
    def is_shifted(self) -> Array:
        """Which rows are soft equalities: their multipliers are measured from −penalty."""
        return self.problem.is_soft & self.problem.is_equality

    def feasibility(self) -> "CompiledQP":
        """Return the same constraints with nothing to minimise: solvable where a feasible x exists."""
        primal = np.array([pair.kind in ("variable", "violation") for pair in self.pairs], dtype=bool)
        M = self.lcp.M.copy()
        M[np.ix_(primal, primal)] = self.field.number(0)
        q = self.lcp.q.mapped(lambda part: np.where(primal, self.field.array(0), part))
        return replace(self, lcp=replace(self.lcp, M=M, q=q))


def compile_problem(problem: ParametricQP, field: Field) -> CompiledQP:
    r"""Return the LCP with :math:`M = \begin{pmatrix} P & -G^\top \\ G & 0 \end{pmatrix}` [paper, (4)].

    >>> from pqp import paper_form
    >>> from pqp.linalg.field import RATIONAL
    >>> compiled = compile_problem(paper_form(Q=[[1]], c=[-2], A=[[3]], b=[1]), RATIONAL)
    >>> compiled.lcp.M.astype(int).tolist(), compiled.lcp.q.constant.astype(int).tolist()
    ([[2, -3], [3, 0]], [-2, -1])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is found below, in M and q
        compiled = _compiled(problem, problem.data(field))
    lcp = compiled.lcp
    if field is FLOAT and not all(np.isfinite(part).all() for part in (lcp.M, *lcp.q)):
        remedy = "scale them, or use {setting}"
        raise NumericalTroubleError("the data overflow float64", remedy=remedy, setting=EXACT_SETTING)
    return compiled


def _compiled(problem: ParametricQP, data: QPData) -> CompiledQP:
    signs, shift = _shift(problem, data)
    moving = np.flatnonzero(signs)
    limits = problem.lower, problem.upper
    variables = [Pair("variable", j, (*_finite_sides(*limits, j), "equal")[0]) for j in moving.tolist()]
    # x is measured from its lower limit, which z ≥ 0 keeps; only a second limit needs a row
    both = ~infinite(data.lower.constant) & ~infinite(data.upper.constant)
    bounds = moving[both[moving]]
    rows = [Pair("row", i, side) for i in range(problem.m) for side in _sides(problem, i)]
    violations = [Pair("violation", row.index, row.side) for row in rows if problem.is_soft[row.index]]
    pairs = (*variables, *violations, *(Pair("bound", j, "upper") for j in bounds.tolist()), *rows)

    # all rows over the shifted variables: G z ≥ limits
    of_row = np.array([row.index for row in rows], dtype=np.int64)
    soft = np.flatnonzero(problem.is_soft[of_row])
    sense = np.array([-1 if row.side == "upper" else 1 for row in rows], dtype=np.int64)
    G = data.field.array(np.zeros((len(bounds) + len(rows), len(moving))))
    G[np.arange(len(bounds)), np.searchsorted(moving, bounds)] = data.field.number(-1)
    G[len(bounds) :] = sense[:, None] * (data.dense_A[of_row] * signs)[:, moving]
    # the multiplier of a soft equality runs from −penalty to penalty, a range twice as wide as that of a side
    width = np.array([2 if pair.side == "equal" else 1 for pair in violations], dtype=np.int64)

    def right_hand_side(part: int) -> Array:
        """Return the constant (part 0) or the slope (part 1) of q = (c', caps, −limits)."""
        cost = ((data.c[part] + data.P @ shift[part]) * signs)[moving]
        caps = width * data.penalty[part][of_row[soft]]
        for r, cap in zip(soft[width == 2], caps[width == 2], strict=True):
            cost = cost + G[len(bounds) + r] * cap / 2  # what measuring y from −penalty adds to Px + c − Aᵀy
        given = np.where(sense < 0, data.row_upper[part][of_row], data.row_lower[part][of_row])
        row_limits = sense * (given - (data.A @ shift[part])[of_row])
        limits = [data.lower[part][bounds] - data.upper[part][bounds], row_limits]
        return data.field.array(np.concatenate([cost, caps, *(-limit for limit in limits)]))

    n, s = len(variables), len(violations)
    M = data.field.array(np.zeros((len(pairs), len(pairs))))
    M[:n, :n] = data.dense_P[np.ix_(moving, moving)] * np.outer(signs[moving], signs[moving])
    M[n + s :, :n], M[:n, n + s :] = G, -G.T
    softened = n + s + len(bounds) + soft
    M[softened, n + np.arange(s)] = data.field.number(1)
    M[n + np.arange(s), softened] = data.field.number(-1)
    # a soft equality is no free pair: its multiplier, measured from −penalty, is nonnegative
    hard = ~problem.is_soft
    is_free = [
        p.side == "equal" and (p.kind == "variable" or (p.kind == "row" and hard[p.index])) for p in pairs
    ]
    w_names, z_names = zip(*(_names(problem, pair) for pair in pairs), strict=True) if pairs else ((), ())
    q = AffineArray(right_hand_side(0), right_hand_side(1))
    lcp = ParametricLCP(M, q, np.array(is_free, dtype=bool), tuple(w_names), tuple(z_names), data.field)
    return CompiledQP(problem, lcp, pairs, signs, shift)


def _shift(problem: ParametricQP, data: QPData) -> tuple[Array, AffineArray]:
    """Return the sign of every variable and the affine point its z is measured from."""
    has_lower, has_upper = (~infinite(limit.constant) for limit in (data.lower, data.upper))
    signs = np.where(problem.is_fixed, 0, np.where(has_lower | ~has_upper, 1, -1))
    zero = data.field.array(0)
    sides = zip(data.lower, data.upper, strict=True)
    shift = (np.where(has_lower, low, np.where(has_upper, high, zero)) for low, high in sides)
    return signs, AffineArray(*shift)


def _sides(problem: ParametricQP, i: int) -> list[Side]:
    """Return the sides of a row that have limits."""
    return ["equal"] if problem.is_equality[i] else _finite_sides(problem.row_lower, problem.row_upper, i)


def _finite_sides(lower: Affine, upper: Affine, i: int) -> list[Side]:
    limits: dict[Side, Affine] = {"lower": lower, "upper": upper}
    return [side for side, limit in limits.items() if not is_infinite(limit.constant[i])]


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
    places, variables = compiled.where("variable")
    x = compiled.shift.mapped(np.copy)
    for part, moves in zip(x, z, strict=True):
        part[variables] += compiled.signs[variables] * moves[places]
    return x


def _read_y(compiled: CompiledQP, z: AffineArray) -> AffineArray:
    """Return the multiplier of every row: lower minus upper side; a soft equality's starts at −penalty."""
    penalty, moved = compiled.problem.data(compiled.field).penalty, compiled.is_shifted
    places, rows = compiled.where("row")
    sense = np.array([-1 if compiled.pairs[place].side == "upper" else 1 for place in places], dtype=np.int64)
    y = AffineArray(*(compiled.field.array(np.zeros(compiled.problem.m)) for _ in (0, 1)))
    for part, moves, start in zip(y, z, penalty, strict=True):
        np.add.at(part, rows, sense * moves[places])  # a row with two limits has two pairs
        part[moved] -= start[moved]
    return y


def read_sizes(compiled: CompiledQP, z_sizes: AffineArray) -> Sizes:
    """Return the size of the terms that a float x, and y, are the sums of."""
    x = compiled.shift.mapped(np.abs)
    penalty = compiled.problem.data(FLOAT).penalty
    y = penalty.mapped(lambda part: np.where(compiled.is_shifted, np.abs(part), 0.0))
    kinds: tuple[tuple[Kind, AffineArray], ...] = (("variable", x), ("row", y))
    for kind, sizes in kinds:
        places, items = compiled.where(kind)
        for size, terms in zip(sizes, z_sizes, strict=True):
            np.add.at(size, items, terms[places])
    return Sizes(x=x, y=y)


def _read_reduced_costs(
    compiled: CompiledQP, z: AffineArray, w: AffineArray, x: AffineArray, y: AffineArray
) -> AffineArray:
    """Return the multipliers of bounds: w of the variable pairs less the multiplier of a second bound."""
    data, fixed = compiled.problem.data(compiled.field), compiled.signs == 0
    (places, variables), (bound_places, bounded) = compiled.where("variable"), compiled.where("bound")
    costs = AffineArray(*(compiled.field.array(np.zeros(compiled.problem.n)) for _ in (0, 1)))
    for part, cost in enumerate(costs):
        if fixed.any():  # fixed variables have no pair
            cost[fixed] = (data.P @ x[part] + data.c[part] - data.A.T @ y[part])[fixed]
        cost[variables] += compiled.signs[variables] * w[part][places]
        cost[bounded] -= z[part][bound_places]
    return costs


def read_states(compiled: CompiledQP, basis: Iterable[int]) -> Basis:
    """Return the state of every variable and row."""
    inside = {compiled.pairs[i] for i in basis}
    variables = ["fixed"] * compiled.problem.n
    for pair in compiled.pairs:
        if pair.kind == "variable" and pair in inside:
            at_upper = Pair("bound", pair.index, "upper") in inside
            variables[pair.index] = "upper" if at_upper else "between"
        elif pair.kind == "variable":
            variables[pair.index] = "zero" if pair.side == "equal" else pair.side
    rows = (_row_state(compiled.problem, i, inside) for i in range(compiled.problem.m))
    return Basis(tuple(variables), tuple(rows))


def _row_state(problem: ParametricQP, i: int, inside: set[Pair]) -> str:
    if problem.is_equality[i]:
        if Pair("violation", i, "equal") in inside:
            return "below"
        # a soft equality out of the basis has the multiplier −penalty: it is violated from above
        out = "above" if problem.is_soft[i] else "off"
        return "equal" if Pair("row", i, "equal") in inside else out
    capped = {side: Pair("violation", i, side) in inside for side in _BOTH}
    for side in _BOTH:
        if Pair("row", i, side) in inside and not capped[side]:
            return side
    # with both multipliers at their caps, the two cancel as if the row were absent
    if capped["lower"] == capped["upper"]:
        return "off"
    return "below" if capped["lower"] else "above"


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
    ray, upper = (exact_array(np.zeros(problem.n)) for _ in range(2))
    growth, *sides = (exact_array(np.zeros(problem.m)) for _ in range(3))
    row_weights = dict(zip(_BOTH, sides, strict=True))
    for pair, weight in zip(compiled.pairs, t, strict=True):
        if pair.kind == "variable":
            ray[pair.index] = compiled.signs[pair.index] * weight
        elif pair.kind == "violation":
            growth[pair.index] += 2 * weight if pair.side == "equal" else weight
        elif pair.kind == "bound":
            upper[pair.index] = weight
        else:
            side = pair.side
            if side == "equal":
                side = "lower" if weight > 0 else "upper"
            row_weights[side][pair.index] = abs(weight)
    # a soft equality that drifts by d is violated by |d| = 2 max(−d, 0) + d, and ξ is that maximum
    growth = np.where(compiled.is_shifted, growth + data.A @ ray, growth)
    # the bounds must take up what the rows leave, so that the weighted limits add up to 0 · x
    rest = data.A.T @ (row_weights["lower"] - row_weights["upper"]) - upper
    lower, upper = np.maximum(-rest, 0), upper + np.maximum(rest, 0)
    farkas = Farkas(row_weights["lower"], row_weights["upper"], lower, upper)
    return Obstruction(ray, growth, farkas, descent(data, ray, growth), farkas.gap(data))
