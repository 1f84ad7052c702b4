r"""From the problem to the complementarity problem of the paper (section 3.1), and the map back.

Variables are shifted to their finite limit, fixed ones substituted; free variables and equality
multipliers become free pairs, so nothing is split. A soft row adds one pair for its violation ξ, whose
partner says that the multiplier is capped:  ξ ≥ 0,  penalty − y ≥ 0.

Room: a `ParametricQP` in, a `ParametricLCP` and the meaning of its pairs out. Pivots nothing.
May touch: `errors`, `field`, `problem`, `lcp`.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pqp.errors import NumericalTroubleError
from pqp.field import FLOAT, Array, Field, Number, infinite, is_infinite
from pqp.lcp import ParametricLCP
from pqp.problem import Affines, ParametricQP, QPData

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
    shift: Affines

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
    limit: tuple[Number, Number]
    cap: tuple[Number, Number] | None = None


def compile_problem(problem: ParametricQP, field: Field) -> CompiledQP:
    r"""Return the LCP with :math:`M = \begin{pmatrix} P & -G^\top \\ G & 0 \end{pmatrix}` [paper, (4)].

    >>> from pqp import paper_form
    >>> from pqp.field import RATIONAL
    >>> compiled = compile_problem(paper_form(Q=[[1]], c=[-2], A=[[3]], b=[1]), RATIONAL)
    >>> compiled.lcp.M.astype(int).tolist(), compiled.lcp.q0.astype(int).tolist()
    ([[2, -3], [3, 0]], [-2, -1])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is found below, in M and q
        compiled = _compiled(problem, problem.data(field))
    lcp = compiled.lcp
    if field is FLOAT and not all(np.isfinite(part).all() for part in (lcp.M, lcp.q0, lcp.q1)):
        raise NumericalTroubleError('the data overflow float64; scale them, or use arithmetic="exact"')
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


def _shift(problem: ParametricQP, data: QPData) -> tuple[Array, Affines]:
    """Return the sign of every variable and the affine point its z is measured from."""
    has_lower, has_upper = (~infinite(limit[0]) for limit in (data.lower, data.upper))
    signs = np.where(problem.is_fixed, 0, np.where(has_lower | ~has_upper, 1, -1))
    zero = data.field.array(0)
    shift = [
        np.where(has_lower, data.lower[part], np.where(has_upper, data.upper[part], zero)) for part in (0, 1)
    ]
    return signs, (shift[0], shift[1])


def _bound_rows(problem: ParametricQP, data: QPData, moving: list[int]) -> list[_Row]:
    """Return x ≤ upper as a row for every variable measured from its lower limit."""
    rows = []
    for place, j in enumerate(moving):
        if _variable_side(problem, j) == "lower" and not is_infinite(data.upper[0][j]):
            g = data.field.array(np.zeros(len(moving)))
            g[place] = data.field.number(-1)
            limit = tuple(data.lower[part][j] - data.upper[part][j] for part in (0, 1))
            rows.append(_Row(Pair("bound", j, "upper"), g, (limit[0], limit[1])))
    return rows


def _row_sides(problem: ParametricQP, data: QPData, signs: Array, shift: Affines) -> list[_Row]:
    moving = signs != 0
    at_shift = data.A @ shift[0], data.A @ shift[1]
    rows = []
    for i in range(problem.m):
        for side in _sides(problem, i):
            sense = -1 if side == "upper" else 1
            given = data.row_upper if side == "upper" else data.row_lower
            limit = tuple(sense * (given[part][i] - at_shift[part][i]) for part in (0, 1))
            g = sense * (data.dense_A[i] * signs)[moving]
            cap = _cap(data, i, side) if problem.is_soft[i] else None
            rows.append(_Row(Pair("row", i, side), g, (limit[0], limit[1]), cap))
    return rows


def _cap(data: QPData, i: int, side: Side) -> tuple[Number, Number]:
    """Return the cap of a soft side's multiplier; an equality's runs from −penalty, a range twice as wide."""
    width = 2 if side == "equal" else 1
    return width * data.penalty[0][i], width * data.penalty[1][i]


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


def _right_hand_side(data: QPData, signs: Array, shift: Affines, rows: list[_Row], part: int) -> Array:
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
