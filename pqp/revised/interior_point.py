"""Calls to Clarabel and HiGHS: x and y at one mu by Clarabel, and the mu with a solution by HiGHS.

Nothing relies on these numbers being right: they are where `start` begins, and its homotopy ends at a basis
that is optimal or proves that there is no solution.
"""

from dataclasses import dataclass
from functools import cached_property
from threading import Event
from typing import Any

import numpy as np
from scipy.sparse import block_diag, coo_array, csc_array, csr_array, diags_array, eye_array, hstack, triu

from pqp.linalg.field import FLOAT, Array
from pqp.model.problem import ParametricQP
from pqp.revised.presolve import lines
from pqp.stopping import Watch

# Tighter than Clarabel's default: the smaller the gap, the clearer which limits are active.
TOLERANCE = 1e-9
MOST_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """x and y at one mu, and what the library says of them."""

    x: Array
    y: Array
    status: str


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """The problem as min ½ wᵀQ w + costs(mu)ᵀw, G w + s = right(mu), s = 0 first, then s ≥ 0.

    w holds x, then u that is linked to x, so that a P known by a factor stays sparse, then a slack for each
    side of a soft row. `right` and `costs` have the columns constant and slope. `row` and `sign` say which
    dual variables add up to y.
    """

    problem: ParametricQP
    Q: csc_array
    costs: Array
    G: csc_array
    right: Array
    equations: int
    row: Array
    sign: Array

    def solve(self, mu: float, watch: Watch) -> InteriorPoint:
        """Return a solution at mu, approximately."""
        import clarabel  # takes a tenth of a second to load

        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.max_iter = MOST_ITERATIONS
        # Only a guess is asked for: on 41 problems of Maros and Mészáros as many items were outside their
        # ranges without refinement as with it, in two thirds of the time.
        settings.iterative_refinement_enable = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
        sizes = self.equations, len(self.right) - self.equations
        kinds = clarabel.ZeroConeT, clarabel.NonnegativeConeT
        cones = [kind(size) for kind, size in zip(kinds, sizes, strict=True) if size]
        right, costs = self.right @ (1.0, mu), self.costs @ (1.0, mu)
        # Its tolerances are absolute for small numbers: limits and costs are brought to size 1.
        size, price = (float(np.abs(part).max(initial=0.0)) or 1.0 for part in (right, costs))
        data = self._upper * (size / price), costs / price, self.G, right / size, cones, settings

        def solve(is_abandoned: Event) -> Any:
            solver = clarabel.DefaultSolver(*data)
            # An exception raised in this callback, as by Ctrl-C, would be printed and forgotten.
            solver.set_termination_callback(lambda info: is_abandoned.is_set())
            return solver.solve()

        answer = watch.wait_for(solve)
        x, dual = size * np.array(answer.x), price * np.array(answer.z)
        y = np.zeros(self.problem.m)
        used = self.row >= 0
        np.add.at(y, self.row[used], self.sign[used] * dual[used])
        return InteriorPoint(x[: self.problem.n], y, str(answer.status))

    @cached_property
    def _upper(self) -> csc_array:
        return csc_array(triu(self.Q, format="csc"))

    def solvable(self, lo: float, hi: float, watch: Watch) -> tuple[float, float] | None:
        """Return the part of an interval in which there is a solution, None if linear programs find none.

        A convex quadratic program has a solution where a feasible w and a feasible dual vector exist.
        """
        primal = self._extent(
            [self.G[self.equations :]], self.right[self.equations :],
            [self.G[: self.equations]], self.right[: self.equations],
            [(None, None)] * self.G.shape[1], lo, hi, watch,
        )  # fmt: skip
        if primal is None:
            return None
        curved = np.flatnonzero(np.diff(self.Q.indptr) > 0)
        signs = [(None, None)] * self.equations + [(0, None)] * (len(self.right) - self.equations)
        none = csr_array((0, len(curved) + len(self.right)))
        stationarity: Any = [csr_array(hstack([self.Q[:, curved], self.G.T]))]
        free: Any = [(None, None)] * len(curved)
        return self._extent([none], np.zeros((0, 2)), stationarity, -self.costs, free + signs, *primal, watch)

    def _extent(
        self,
        above: Any,
        upper: Array,
        equal: Any,
        target: Array,
        bounds: Any,
        lo: float,
        hi: float,
        watch: Watch,
    ) -> tuple[float, float] | None:
        """Return the extent of mu with above · ≤ upper(mu), equal · = target(mu)."""
        from scipy import optimize  # slow to import, and rarely needed

        linprog: Any = optimize.linprog
        moving_upper, moving_target = bool(np.any(upper[:, 1])), bool(np.any(target[:, 1]))
        A_ub: Any = csr_array(hstack([*above, csr_array(-upper[:, 1:])]))
        A_eq: Any = csr_array(hstack([*equal, csr_array(-target[:, 1:])]))
        ends = []
        for sense, end in ((1.0, lo), (-1.0, hi)):
            costs = np.zeros(A_ub.shape[1])
            costs[-1] = sense
            box = [*bounds, (None if np.isinf(lo) else lo, None if np.isinf(hi) else hi)]
            data = costs, A_ub, upper[:, 0], A_eq, target[:, 0], box

            def solve(is_abandoned: Event, data: tuple[Any, ...] = data) -> Any:
                # It cannot be told to stop, so an abandoned run ends at its time limit.
                left = watch.seconds_left()
                options = {"time_limit": max(left, 0.0)} if np.isfinite(left) else {}
                answer = linprog(*data, method="highs", options=options)
                if answer.status in (0, 3) or is_abandoned.is_set():
                    return answer
                # With presolve HiGHS (of scipy 1.17) calls some unbounded programs infeasible.
                return linprog(*data, method="highs", options={**options, "presolve": False})

            answer = watch.wait_for(solve)
            if answer.status == 3:
                ends.append(end)
            elif answer.status == 0:
                ends.append(sense * float(answer.fun))
            else:
                return None
            if not (moving_upper or moving_target):
                return lo, hi
        return (ends[0], ends[1]) if ends[0] <= ends[1] else None


def cone_program(problem: ParametricQP) -> ConeProgram:
    """Return a problem as a cone program, its matrix put together entry by entry."""
    data, n = problem.data(FLOAT), problem.n
    row_lower, row_upper, lower, upper, penalty = (
        lines(limit) for limit in (data.row_lower, data.row_upper, data.lower, data.upper, data.penalty)
    )
    A, identity = coo_array(data.A), coo_array((np.ones(n), (np.arange(n), np.arange(n))), shape=(n, n))
    quadratic, link = _quadratic(problem)
    extra = link.shape[0]
    soft = np.isfinite(penalty[:, 0])
    same_rows, same = np.all(row_lower == row_upper, axis=1) & ~soft, np.all(lower == upper, axis=1)
    no_rows, none = np.zeros(len(soft), dtype=bool), np.zeros(n, dtype=bool)
    # Equations first: sense · matrix[chosen] w ≤ sense · limit[chosen]; only rows may be soft.
    blocks = [
        (A, row_lower, same_rows, -1.0, no_rows),
        (identity, lower, same, -1.0, none),
        (A, row_lower, ~same_rows, -1.0, soft),
        (A, row_upper, ~same_rows, 1.0, soft),
        (identity, lower, ~same, -1.0, none),
        (identity, upper, ~same, 1.0, none),
    ]
    entries = _Entries(extra)
    entries.add(link.row, link.col, link.data)
    right, costs = [np.zeros((extra, 2))], [lines(data.c), np.zeros((extra, 2))]
    row, sign = [np.full(extra, -1)], [np.zeros(extra)]
    slacks = 0
    equations = extra
    for number, (matrix, limit, which, sense, is_soft) in enumerate(blocks):
        chosen = np.flatnonzero(which & np.isfinite(limit[:, 0]))
        place = np.full(len(which), -1)
        place[chosen] = entries.rows + np.arange(len(chosen))
        kept = place[matrix.row] >= 0
        entries.add(place[matrix.row[kept]], matrix.col[kept], sense * matrix.data[kept])
        softened = chosen[is_soft[chosen]]
        own = n + extra + slacks + np.arange(len(softened))
        entries.add(place[softened], own, -np.ones(len(softened)))
        entries.rows += len(chosen)
        slacks += len(softened)
        equations += len(chosen) if number < 2 else 0
        right.append(sense * limit[chosen])
        costs.append(penalty[softened] if len(softened) else np.zeros((0, 2)))
        row.append(chosen if matrix is A else np.full(len(chosen), -1))
        sign.append(np.full(len(chosen), -sense))
    entries.add(entries.rows + np.arange(slacks), n + extra + np.arange(slacks), -np.ones(slacks))
    size = n + extra + slacks
    return ConeProgram(
        problem,
        csc_array((quadratic.data, quadratic.indices, _padded(quadratic.indptr, size)), shape=(size, size)),
        np.concatenate(costs),
        entries.matrix(entries.rows + slacks, size),
        np.concatenate([*right, np.zeros((slacks, 2))]),
        equations,
        np.concatenate([*row, np.full(slacks, -1)]).astype(np.int64),
        np.concatenate([*sign, np.zeros(slacks)]),
    )


class _Entries:
    """The entries of a matrix that is put together block by block."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._parts: list[tuple[Array, Array, Array]] = []

    def add(self, row: Array, column: Array, value: Array) -> None:
        """Add some entries."""
        self._parts.append((row, column, value))

    def matrix(self, rows: int, columns: int) -> csc_array:
        """Return the matrix."""
        row, column, value = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        return csc_array((value, (row.astype(np.int64), column.astype(np.int64))), shape=(rows, columns))


def _padded(indptr: Array, size: int) -> Array:
    """Return the column pointers of a matrix with empty columns added."""
    return np.append(indptr, np.full(size + 1 - len(indptr), indptr[-1]))


def _quadratic(problem: ParametricQP) -> tuple[csc_array, coo_array]:
    """Return Q of (x, u) and the rows that tie u to x: link (x, u) = 0."""
    P, n = problem.P, problem.n
    factors = P.factors()
    if factors is None:
        entries = P.operator.entries()
        return csc_array(P.matrix(FLOAT) if entries is None else entries), coo_array((0, n))
    Q = block_diag([diags_array(factors.added), factors.inner])
    return csc_array(Q), coo_array(hstack([factors.factor.T, -eye_array(factors.factor.shape[1])]))
