r"""Exact proofs of a path in scores, in rationals, from the Gram matrix, the pairs and their statuses alone.

Nothing here is shared with the trace. float64 numbers are rationals, so a claim about them can be proved:

- `prove_piece`: with pairs violated, satisfied or on the margin as stated, the exact line of β, and the exact
  interval of C on which it is optimal: scores on the right side of their margins, and a flow 0 ≤ α ≤ Cω on
  the margin pairs that carries β − C d. Two flows, at the ends, prove all C between them.
- `require_cover`: the intervals of consecutive pieces meet exactly.
- `prove_gap`: by how much the value at dual variables exceeds the least one at most.

Both need K to be positive semidefinite; `is_surely_convex` proves it where K has no zero eigenvalue.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
from flint import fmpq, fmpz, fmpz_mat

from ranking.core.validation import Array
from ranking.errors import RankingError

VIOLATED, MARGIN, SATISFIED = 1, 0, -1


class ProofError(RankingError):
    """What was stated about a piece of a path in scores is wrong."""


class ProvedPiece(NamedTuple):
    """The C from lo to hi (None: without end) on which statuses are optimal, and β = constant + C · slope."""

    lo: Fraction
    hi: Fraction | None
    constant: list[Fraction]
    slope: list[Fraction]


class Line(NamedTuple):
    """The function constant + C · slope."""

    constant: fmpq
    slope: fmpq

    def at(self, C: fmpq) -> fmpq:
        return self.constant + C * self.slope


def prove_piece(K: Array, pairs: Array, weight: Array, statuses: Array, C: float) -> ProvedPiece:
    """Return the exact interval around C on which pairs with these statuses are optimal, or raise.

    >>> K = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 3.0], [0.0, 3.0, 9.0]])
    >>> statuses = np.array([MARGIN, VIOLATED])
    >>> proved = prove_piece(K, np.array([(2, 0), (2, 1)]), np.ones(2), statuses, 0.1)
    >>> proved.lo, proved.hi
    (Fraction(1, 15), Fraction(1, 6))
    """
    n, within = len(K), fmpq(*C.as_integer_ratio())
    ways = [(int(i), int(j)) for i, j in pairs]
    weights = [fmpq(*float(value).as_integer_ratio()) for value in weight]
    margin = [p for p in range(len(ways)) if statuses[p] == MARGIN]
    root, offset = _offsets(n, [ways[p] for p in margin])
    demand = [fmpq(0)] * n
    for p in np.flatnonzero(statuses == VIOLATED).tolist():
        demand[ways[p][0]] += weights[p]
        demand[ways[p][1]] -= weights[p]

    # c with BᵀK(C d + B c) = Bᵀe; columns of B are differences of objects and the roots of their blocks
    table, below = _integers(K)
    free = [i for i in range(n) if root[i] != i]
    image = _product(table, below, demand)
    supply = [Line(fmpq(0), fmpq(0))] * n
    if free:
        rows = [[table[i, k] - table[root[i], k] for k in range(n)] for i in free]
        G = fmpz_mat([[row[k] - row[root[k]] for k in free] for row in rows])
        scale = 1
        for i in free:
            scale = _lcm(scale, int((image[i] - image[root[i]]).q))
        sides = fmpz_mat([[offset[i] * scale, -fmpz(((image[i] - image[root[i]]) * scale).p)] for i in free])
        try:
            c = G.solve(sides)
        except ZeroDivisionError:
            raise ProofError(
                "differences within the blocks of the margin pairs depend on one another"
            ) from None
        lines = [Line(*(fmpq(c[k, m]) * below / scale for m in (0, 1))) for k in range(len(free))]
        for i, line in zip(free, lines, strict=True):
            supply[i] = line
            supply[root[i]] = Line(*(old - new for old, new in zip(supply[root[i]], line, strict=True)))
    beta = [Line(line.constant, line.slope + d) for line, d in zip(supply, demand, strict=True)]
    columns = [_product(table, below, [line[m] for line in beta]) for m in (0, 1)]
    score = [Line(*parts) for parts in zip(*columns, strict=True)]

    lo, hi = fmpq(0), None
    for p, (i, j) in enumerate(ways):
        if statuses[p] != MARGIN:
            gap = Line(score[i].constant - score[j].constant - 1, score[i].slope - score[j].slope)
            sign = -1 if statuses[p] == VIOLATED else 1
            lo, hi = _narrowed(Line(sign * gap.constant, sign * gap.slope), within, lo, hi)
    lo, hi = _flow_interval([(*ways[p], weights[p]) for p in margin], supply, within, lo, hi)
    parts = ([_fraction(line[m]) for line in beta] for m in (0, 1))
    return ProvedPiece(_fraction(lo), None if hi is None else _fraction(hi), *parts)


def prove_gap(K: Array, pairs: Array, weight: Array, alpha: Array, C: float) -> tuple[Fraction, Fraction]:
    """Return the value of the scores of dual variables, and by how much it may exceed the least one at most.

    >>> primal, gap = prove_gap(np.eye(2), np.array([(0, 1)]), np.ones(1), np.array([0.25]), 0.25)
    >>> primal, gap
    (Fraction(3, 16), Fraction(0, 1))
    """
    cost, n = fmpq(*C.as_integer_ratio()), len(K)
    beta, total = [fmpq(0)] * n, fmpq(0)
    weights = [fmpq(*float(value).as_integer_ratio()) for value in weight]
    for p, value in enumerate(fmpq(*float(a).as_integer_ratio()) for a in alpha):
        if not 0 <= value <= cost * weights[p]:
            raise ProofError(f"alpha[{p}] = {float(alpha[p])!r} is not between 0 and C times its weight")
        beta[int(pairs[p, 0])] += value
        beta[int(pairs[p, 1])] -= value
        total += value
    score = _product(*_integers(K), beta)
    norm = sum((b * s for b, s in zip(beta, score, strict=True)), start=fmpq(0))
    loss = fmpq(0)
    for p, (i, j) in enumerate(pairs):
        loss += weights[p] * max(fmpq(0), 1 - score[int(i)] + score[int(j)])
    primal = norm / 2 + cost * loss
    return _fraction(primal), _fraction(primal - total + norm / 2)


def require_cover(pieces: Sequence[ProvedPiece], end: float) -> None:
    """Raise unless proved pieces cover all C from 0 to an end, without a gap."""
    for before, after in pairwise(pieces):
        if before.hi != after.lo:
            raise ProofError(f"proved pieces do not meet: {before.hi} and {after.lo}")
    last = pieces[-1].hi
    if pieces[0].lo != 0 or (last is not None and last < end):
        raise ProofError(f"the pieces do not cover the path from 0 to {end:g}")


def is_surely_convex(K: Array) -> bool:
    """Return whether K is proved positive semidefinite, by a Cholesky factorisation that leaves room.

    K is shifted by more than the error of the factorisation can be [Rump 2006, BIT 46, 433-452].

    >>> is_surely_convex(np.eye(2)), is_surely_convex(np.array([[1.0, 2.0], [2.0, 1.0]]))
    (True, False)
    """
    n = len(K)
    shift = 2 * (n + 2) * np.finfo(float).eps * float(np.trace(K)) + n * np.finfo(float).tiny
    try:
        np.linalg.cholesky(K - shift * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True


def _offsets(n: int, edges: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return for every object the root of its block, and how many margins it is above it."""
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    above = set(edges)
    root, offset = list(range(n)), [0] * n
    for block in nx.connected_components(graph):
        start = min(block)
        for i, j in nx.bfs_edges(graph, start):
            root[j], offset[j] = start, offset[i] - 1 if (i, j) in above else offset[i] + 1
    for i, j in edges:
        if offset[i] != offset[j] + 1:
            raise ProofError(f"the margin pairs around ({i}, {j}) contradict one another")
    return root, offset


def _flow_interval(
    edges: list[tuple[int, int, fmpq]], supply: list[Line], within: fmpq, lo: fmpq, hi: fmpq | None
) -> tuple[fmpq, fmpq | None]:
    """Return the part of an interval around `within` in which the edges can carry the supply, or raise.

    For each cut X the room h(C) = C out(X) − supply(X) is affine. From the ends, the worst cut of a flow
    gives a better end, until there is a flow.
    """
    if not edges:
        return lo, hi
    capacities = [(i, j, Line(fmpq(0), weight)) for i, j, weight in edges]
    # the side without end is asked for slopes: where these can be carried, no cut is ever used up
    for side in (1, -1):
        while True:
            end = hi if side == 1 else lo
            cut = _worst_cut(capacities, supply, end)
            if cut is None:
                break
            out = sum((w for i, j, w in edges if i in cut and j not in cut), start=fmpq(0))
            taken = [sum((supply[i][m] for i in cut), start=fmpq(0)) for m in (0, 1)]
            room = Line(-taken[0], out - taken[1])
            lo, hi = _narrowed(room, within, lo, hi)
    return lo, hi


def _worst_cut(edges: list[tuple[int, int, Line]], supply: list[Line], C: fmpq | None) -> set[int] | None:
    """Return a cut that cannot carry its supply at C (None: infinity), or None if there is a flow."""
    needs = {i: line.slope if C is None else line.at(C) for i, line in enumerate(supply)}
    rooms = [(i, j, line.slope if C is None else line.at(C)) for i, j, line in edges]
    scale = 1
    for number in [*needs.values(), *(room for _, _, room in rooms)]:
        scale = _lcm(scale, int(number.q))
    graph = nx.DiGraph()
    graph.add_nodes_from(["source", "sink"])
    for i, j, room in rooms:
        old = graph.get_edge_data(i, j, {"capacity": 0})["capacity"]
        graph.add_edge(i, j, capacity=old + int((room * scale).p))
    total = 0
    for i, need in needs.items():
        amount = int((need * scale).p)
        total += max(amount, 0)
        graph.add_edge(*(("source", i) if amount > 0 else (i, "sink")), capacity=abs(amount))
    flow, (inside, _) = nx.minimum_cut(graph, "source", "sink")
    return None if flow == total else {i for i in inside if i != "source"}


def _narrowed(room: Line, within: fmpq, lo: fmpq, hi: fmpq | None) -> tuple[fmpq, fmpq | None]:
    """Return the part of an interval in which an affine function is not negative; `within` must be in it."""
    if room.at(within) < 0:
        size, C = (float(_fraction(value)) for value in (-room.at(within), within))
        raise ProofError(f"a condition is violated by {size:.1e} at C = {C:g}")
    if room.slope > 0:
        lo = max(lo, -room.constant / room.slope)
    elif room.slope < 0:
        end = -room.constant / room.slope
        hi = end if hi is None else min(hi, end)
    return lo, hi


def _integers(K: Array) -> tuple[fmpz_mat, int]:
    """Return a float matrix as integers over one denominator."""
    ratios = [[value.as_integer_ratio() for value in row] for row in K.tolist()]
    below = max(ratio[1] for row in ratios for ratio in row)
    return fmpz_mat([[above * (below // under) for above, under in row] for row in ratios]), below


def _product(table: fmpz_mat, below: int, vector: Iterable[fmpq]) -> list[fmpq]:
    """Return the product of a matrix, integers over a denominator, and a vector."""
    values = list(vector)
    scale = 1
    for value in values:
        scale = _lcm(scale, int(value.q))
    image = table * fmpz_mat([[(value * scale).p] for value in values])
    return [fmpq(image[k, 0], below * scale) for k in range(len(values))]


def _lcm(a: int, b: int) -> int:
    return int(fmpz(a).lcm(fmpz(b)))


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
