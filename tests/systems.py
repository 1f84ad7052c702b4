"""Small systems of every structure, random bounds and bases, to test the parts of the revised engine on."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, currently_in_test_context, reject, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

import pqp
from pqp.errors import NumericalTroubleError, ProblemError
from pqp.linalg.field import RATIONAL
from pqp.linalg.operators import (
    DenseOperator,
    LowRankOperator,
    Operator,
    PairOperator,
    SparseOperator,
)
from pqp.linalg.system import System
from pqp.revised.pieces import Piece, PieceRecord, PieceSequence
from pqp.revised.presolve import presolve
from pqp.revised.runner import RevisedRunner
from pqp.revised.scaling import ScaledProblem, scale_problem
from pqp.revised.start import NoStart, find_start
from pqp.revised.states import ABOVE, BELOW, BETWEEN, EQUAL, LOWER, UPPER, Bounds, MixedLCP, build_state_table
from pqp.revised.trace import Tracer, TraceSettings, UnblockedRay
from pqp.stopping import StopLimits, Watch
from tests.engines import EXACT
from tests.refusals import may_refuse

# The same few examples in every run.
FEW = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
SEEDS = st.integers(0, 10_000)
INFINITY = np.inf


def positive(random: np.random.Generator, size: int) -> Any:
    """A positive definite matrix, far from singular."""
    F = random.integers(-2, 3, (size, size))
    return F @ F.T + np.eye(size, dtype=int)


def singular(random: np.random.Generator, size: int) -> Any:
    """A positive semidefinite matrix of half the full rank at most."""
    F = random.integers(-2, 3, (size, size // 2))
    return F @ F.T


def mixed(n: int, m: int, seed: int, sparse: bool = False, lower_block: bool = True) -> System:
    """A system of n variables and m rows in which every basis is regular if there is a lower block."""
    random = np.random.default_rng(seed)
    B = random.integers(-2, 3, (m, n)).astype(float)
    H, G = (positive(random, size).astype(float) for size in (n, m))
    if sparse:
        upper, lower = (SparseOperator(csr_array(part)) for part in (H, G))
        return System(upper, csr_array(B), lower if lower_block else None)
    return System(DenseOperator(H), B, DenseOperator(G) if lower_block else None)


def with_singular_curvature(n: int, m: int, seed: int, sparse: bool = False) -> System:
    """A system of n variables and m rows in which many bases are singular."""
    random = np.random.default_rng(seed)
    H, B = singular(random, n).astype(float), random.integers(-2, 3, (m, n)).astype(float)
    return System(SparseOperator(csr_array(H)), csr_array(B)) if sparse else System(DenseOperator(H), B)


def pooled(owners: int, rows: int, seed: int, added: bool = False) -> LowRankOperator:
    """A pool: two columns for all owners and two for each of them, many of its blocks singular."""
    random = np.random.default_rng(seed)
    entries = random.choice([-2.0, -1.0, 1.0, 2.0], (owners * rows, 2))
    owner = np.repeat(np.arange(owners), rows)
    own = np.zeros((owners * rows, 2 * owners))
    for column in (0, 1):
        own[np.arange(owners * rows), 2 * owner + column] = entries[:, column]
    factor = csr_array(np.hstack([random.permutation(entries) + entries, own]))
    return LowRankOperator(factor, factor, random.integers(0, 2, owners * rows) + 0.0 if added else None)


def factor_model(n: int, m: int, seed: int) -> System:
    """Low rank plus a diagonal with zeros, and rows."""
    H = LowRankOperator(
        _factor(seed, n), _factor(seed, n), np.random.default_rng(seed).integers(0, 3, n) + 0.0
    )
    return System(H, mixed(n, m, seed).B if m else None)


def _factor(seed: int, rows: int = 6) -> Any:
    return np.random.default_rng(seed).integers(-2, 3, (rows, 2)).astype(float)


def _units(seed: int, size: int) -> Any:
    return 2.0 ** np.random.default_rng(seed).integers(-3, 4, size)


_PAIRS = np.array([(0, 1), (2, 3), (4, 5), (5, 0), (3, 1), (0, 1), (2, 2)])
# Every structure an operator can have, of six or seven items.
OPERATORS: dict[str, Callable[[int], Operator]] = {
    "dense": lambda seed: DenseOperator(positive(np.random.default_rng(seed), 6).astype(float)),
    "sparse": lambda seed: SparseOperator(csr_array(singular(np.random.default_rng(seed), 6).astype(float))),
    "low rank": lambda seed: LowRankOperator(_factor(seed), _factor(seed)),
    "low rank and diagonal": lambda seed: LowRankOperator(
        _factor(seed), _factor(seed), np.random.default_rng(seed).integers(0, 3, 6).astype(float)
    ),
    "weighted low rank": lambda seed: LowRankOperator(_factor(seed) * (0.5, 3.0), _factor(seed)),
    "sparse low rank": lambda seed: LowRankOperator(csr_array(_factor(seed)), csr_array(_factor(seed))),
    "sparse low rank and diagonal": lambda seed: LowRankOperator(
        csr_array(_factor(seed)), csr_array(_factor(seed)), np.ones(6)
    ),
    "pairs": lambda seed: PairOperator(
        positive(np.random.default_rng(seed), 6).astype(float), _PAIRS[:, 0], _PAIRS[:, 1]
    ),
    "pairs in units": lambda seed: PairOperator(
        positive(np.random.default_rng(seed), 6).astype(float), _PAIRS[:, 0], _PAIRS[:, 1], _units(seed, 7)
    ),
}

# Every structure a system can have, of five or more items.
SYSTEMS: dict[str, Callable[[int], System]] = {
    "variables only": lambda seed: System(OPERATORS["dense"](seed)),
    "a sparse matrix": lambda seed: System(OPERATORS["sparse"](seed)),
    "pairs": lambda seed: System(OPERATORS["pairs"](seed).restricted(np.arange(5))),
    "a factor": lambda seed: System(OPERATORS["low rank and diagonal"](seed)),
    "a sparse factor": lambda seed: System(OPERATORS["sparse low rank and diagonal"](seed)),
    "rows only": lambda seed: System(None, None, OPERATORS["weighted low rank"](seed)),
    "dense": lambda seed: mixed(3, 2, seed),
    "sparse": lambda seed: mixed(3, 4, seed, sparse=True),
    "without lower block": lambda seed: mixed(4, 2, seed, lower_block=False),
    "sparse without lower block": lambda seed: mixed(3, 2, seed, sparse=True, lower_block=False),
    "singular curvature": lambda seed: with_singular_curvature(4, 2, seed),
    "a factor and rows": lambda seed: System(OPERATORS["low rank"](seed), mixed(6, 2, seed).B),
    "scaled": lambda seed: mixed(3, 3, seed).scaled(_units(seed, 6)),
}


def entries_of(operator: Operator) -> Any:
    """The matrix an operator stands for, from its parts and by its definition."""
    if isinstance(operator, DenseOperator):
        return operator.values
    if isinstance(operator, SparseOperator):
        return operator.values.toarray()
    if isinstance(operator, LowRankOperator):
        left, right = (part.toarray() if issparse(part) else part for part in (operator.left, operator.right))
        return left @ right.T + np.diag(np.zeros(len(left)) if operator.added is None else operator.added)
    assert isinstance(operator, PairOperator)
    D = np.zeros((operator.size, len(operator.kernel)))
    np.add.at(D, (np.arange(operator.size), operator.first), 1.0)
    np.add.at(D, (np.arange(operator.size), operator.second), -1.0)
    D = D if operator.units is None else operator.units[:, None] * D
    return D @ operator.kernel @ D.T


def dense(system: System) -> Any:
    """M = [[H, −Bᵀ], [B, G]], from its parts."""
    if system.B is None:
        single = system.G if system.H is None else system.H
        assert single is not None
        return entries_of(single)
    assert system.H is not None
    B = system.B.toarray() if issparse(system.B) else system.B
    G = np.zeros((len(B), len(B))) if system.G is None else entries_of(system.G)
    return np.block([[entries_of(system.H), -B.T], [B, G]])


def bounds_of(random: np.random.Generator, size: int) -> Bounds:
    """Bounds of every kind: missing, one-sided, two-sided, equal; hard and soft; they never cross."""
    line = random.integers(-2, 3, (size, 2)).astype(float)
    lower, upper = line.copy(), line + np.array([1.0, 0.0]) * random.integers(1, 4, (size, 1))
    cap = np.column_stack([random.integers(1, 4, size), np.zeros(size)]).astype(float)
    kind = random.integers(0, 5, size)
    lower[(kind == 0) | (kind == 1)], upper[(kind == 0) | (kind == 2)] = (-INFINITY, 0), (INFINITY, 0)
    upper[kind == 4] = lower[kind == 4]
    cap[random.random(size) < 0.5] = (INFINITY, 0)
    return Bounds(lower, upper, cap, kind == 4)


def proper_states(bounds: Bounds, item: int) -> list[int]:
    """The states an item can be in, without those of redundant items."""
    sides = [(bounds.lower, LOWER, BELOW), (bounds.upper, UPPER, ABOVE)]
    present = [(pinned, beyond) for limit, pinned, beyond in sides if np.isfinite(limit[item, 0])]
    states = [EQUAL] if bounds.is_equal[item] else [BETWEEN, *(pinned for pinned, _ in present)]
    return [*states, *(beyond for _, beyond in present)] if np.isfinite(bounds.cap[item, 0]) else states


def any_states(random: np.random.Generator, bounds: Bounds) -> Any:
    """A proper state for every item."""
    return np.array([random.choice(proper_states(bounds, i)) for i in range(len(bounds))], dtype=np.int8)


def scaled_problem(problem: pqp.ParametricQP) -> ScaledProblem:
    """A problem, reduced and scaled."""
    return scale_problem(presolve(problem))


def setting_of(kind: str, seed: int) -> tuple[MixedLCP, Bounds]:
    """A system with limits of all kinds and integer lines q."""
    system, random = SYSTEMS[kind](seed), np.random.default_rng(seed)
    bounds = bounds_of(random, system.size)
    q = random.integers(-3, 4, (system.size, 2)).astype(float)
    return MixedLCP(system, q, build_state_table(bounds)), bounds


def tracer_at(lcp: MixedLCP, states: Any, mu: float = 0.0) -> Tracer:
    """A tracer on some states; a singular basis is refused, which the test has to allow."""
    with may_refuse():
        return Tracer(lcp, states, mu)


def off_staircase(low: float, high: float, cap: float, value: float, multiplier: float) -> float:
    """How far a value and its multiplier are from what optimality allows, in the larger of both."""
    steps = [((low, high), (0.0, 0.0))]
    if np.isfinite(low):
        steps += [((low, low), (0.0, cap)), *([((-INFINITY, low), (cap, cap))] if np.isfinite(cap) else [])]
    if np.isfinite(high):
        steps += [((high, high), (-cap, 0.0))]
        steps += [((high, INFINITY), (-cap, -cap))] if np.isfinite(cap) else []
    return min(
        max(max(0.0, a - value, value - b), max(0.0, c - multiplier, multiplier - d))
        for (a, b), (c, d) in steps
    )


def off_optimality(bounds: Bounds, system: System, q: Any, mu: float, v: Any) -> float:
    """How far v is from a solution at mu, by the data alone."""
    g = dense(system) @ v + q @ (1.0, mu)
    here = bounds.at(mu)
    return max(
        (
            off_staircase(*corners, *((g[i], v[i]) if system.is_row[i] else (v[i], g[i])))
            for i, corners in enumerate(zip(here.lower[:, 0], here.upper[:, 0], here.cap[:, 0], strict=True))
        ),
        default=0.0,
    )


@dataclass(frozen=True)
class Traced:
    """One trace of a problem from one mu towards another, without verification."""

    runner: RevisedRunner
    tracer: Tracer
    begin: float
    end: float
    ray: UnblockedRay | None

    @property
    def lcp(self) -> MixedLCP:
        """The scaled problem."""
        return self.runner.scaled.lcp

    @property
    def sequence(self) -> PieceSequence:
        """Its pieces, ascending; a trace without any is no example."""
        example_if(len(self.tracer.pieces) > 0)
        return self.tracer.pieces.sequence().ascending()


def pieces_of(sequence: PieceSequence) -> list[Piece]:
    """Every piece on its own."""
    return [sequence.piece(number) for number in range(len(sequence))]


def sequence_of(pieces: Iterable[Piece]) -> PieceSequence:
    """Pieces in one direction, as a sequence."""
    record = PieceRecord()
    for piece in pieces:
        record.append_whole(piece)
    return record.sequence().ascending()


def example_if(condition: bool) -> None:
    """Require something of an example: a property skips it, any other test fails."""
    assert condition or currently_in_test_context()
    if not condition:
        reject()


def unlimited() -> Watch:
    """A watch without limits."""
    return Watch(StopLimits(), 0)


def has_its_widths(problem: pqp.ParametricQP, at: float) -> bool:
    """Whether no limits of soft rows have crossed: that is refused before a start is sought."""
    try:
        problem.require_uncrossed_soft_rows(at, at)
    except ProblemError:
        return False
    return True


def begin_at(problem: pqp.ParametricQP, mu: float) -> tuple[RevisedRunner, Any]:
    """A runner, and states at mu or why there are none; mu where bounds have crossed are no example."""
    runner = RevisedRunner(problem, False)
    example_if(runner.crossing_bounds.violated(RATIONAL.number(mu)) is None)
    return runner, find_start(runner.scaled, lambda: runner.program, mu, unlimited())


def trace_of(problem: pqp.ParametricQP, interval: tuple[Any, Any], **settings: Any) -> Traced:
    """A trace from a mu with a solution; what has none there is no example."""
    begin, stop = map(float, interval)
    example_if(np.isfinite(begin))
    try:
        runner, states = begin_at(problem, begin)
    except NumericalTroubleError:
        example_if(EXACT.solve(problem, begin).status == "optimal")
        raise
    example_if(not isinstance(states, NoStart))
    direction = 1 if stop >= begin else -1
    edge, _ = runner.crossing_bounds.edge(RATIONAL.number(stop), direction)
    tracer = Tracer(runner.scaled.lcp, states, begin, TraceSettings(**settings))
    with np.errstate(over="ignore", invalid="ignore"):  # as in a run: there is nothing at infinity
        ray = tracer.run(float(edge))
    return Traced(runner, tracer, begin, float(edge), ray)
