"""Reading a dictionary: from pairs of the LCP back to x, multipliers, states and proofs.

Room: a compiled problem and a basis in; segments, states and Farkas vectors out. Pivots nothing.
May touch: `field`, `problem`, `accuracy`, `compilation`, `segment`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pqp.accuracy import Sizes
from pqp.compilation import CompiledQP, Pair, Side
from pqp.field import FLOAT, RATIONAL, Array, Number, exact_array, is_infinite
from pqp.problem import Affines
from pqp.segment import Basis, Farkas, Segment, descent


def read_segment(
    compiled: CompiledQP, basis: frozenset[int], z: Affines, w: Affines, ends: tuple[Number, Number]
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


def read_x(compiled: CompiledQP, z: Affines) -> Affines:
    """Return x = shift + sign · z."""
    x = [part.copy() for part in compiled.shift]
    for place, pair in enumerate(compiled.pairs):
        if pair.kind == "variable":
            for part in (0, 1):
                x[part][pair.index] += compiled.signs[pair.index] * z[part][place]
    return x[0], x[1]


def _read_y(compiled: CompiledQP, z: Affines) -> Affines:
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
    return y[0], y[1]


def read_sizes(compiled: CompiledQP, z_sizes: Affines) -> Sizes:
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
    return Sizes(x=(x[0], x[1]), y=(y[0], y[1]))


def _read_reduced_costs(compiled: CompiledQP, z: Affines, w: Affines, x: Affines, y: Affines) -> Affines:
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
    return costs[0], costs[1]


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


@dataclass(frozen=True, eq=False)
class Obstruction:
    """An exact vector t with t ≥ 0, Mᵀt ≤ 0: where tᵀq(mu) < 0 the LCP has no solution.

    It is a pair of proofs: `ray` and `violation` form a direction of descent where `descent` is
    negative, `farkas` contradicts feasibility where `gap` is positive; tᵀq = descent − gap.
    """

    ray: Array
    violation: Array
    farkas: Farkas
    descent: tuple[Number, Number]
    gap: tuple[Number, Number]

    @property
    def value(self) -> tuple[Number, Number]:
        """tᵀq as (constant, slope)."""
        return self.descent[0] - self.gap[0], self.descent[1] - self.gap[1]

    def vanishes_at(self, mu: Number) -> bool:
        """Tell whether the proof ends at mu, which is then not covered by it."""
        return not is_infinite(mu) and self.value[0] + mu * self.value[1] == 0

    def plus(self, other: "Obstruction", weight: Number) -> "Obstruction":
        """Return the sum of this and a positive multiple of another: proofs form a cone."""
        mine, its = self.farkas, other.farkas
        names = ("row_lower", "row_upper", "lower", "upper")
        farkas = Farkas(*(getattr(mine, name) + weight * getattr(its, name) for name in names))
        return Obstruction(
            self.ray + weight * other.ray,
            self.violation + weight * other.violation,
            farkas,
            (self.descent[0] + weight * other.descent[0], self.descent[1] + weight * other.descent[1]),
            (self.gap[0] + weight * other.gap[0], self.gap[1] + weight * other.gap[1]),
        )


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
