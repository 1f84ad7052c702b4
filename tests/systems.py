"""Small systems of every structure, random bounds and bases, to test the parts of the revised engine on."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import pqp
from pqp.linalg.system import Mixed, Pure, Scaled, System
from pqp.model.hessian import Matrix
from pqp.revised.basis import MixedLCP, WorkingBasis
from pqp.revised.presolve import presolve
from pqp.revised.scaling import ScaledProblem, scale_problem
from pqp.revised.states import ABOVE, BELOW, BETWEEN, EQUAL, LOWER, UPPER, Bounds
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


def mixed(n: int, m: int, seed: int, sparse: bool = False, lower_block: bool = True) -> Mixed:
    """A system of n variables and m rows in which every basis is regular if there is a lower block."""
    random = np.random.default_rng(seed)
    B = random.integers(-2, 3, (m, n)).astype(float)
    G = Matrix(positive(random, m)) if lower_block else None
    return Mixed(Matrix(positive(random, n)), csr_array(B) if sparse else B, G)


def pool(X: Any, owner: Any, diagonal: Any = None, share: float = 0.5) -> pqp.Gram:
    """Rows with some columns shared by all, and others shared by the rows of one owner."""
    X, owner = np.asarray(X), np.asarray(owner)
    own = (owner[:, None] == np.arange(owner.max() + 1))[:, :, None] * X[:, None, :]
    rows = np.hstack([share * X, own.reshape(len(X), -1)])
    return pqp.Gram(csr_array(rows), diagonal)


def nine_groups(seed: int, diagonal: Any = None) -> pqp.Gram:
    """Nine groups of two independent rows each."""
    random = np.random.default_rng(seed)
    X = np.concatenate([[[1, random.integers(-2, 3)], [0, 1]] for _ in range(9)])
    return pool(X, np.repeat(np.arange(9), 2), diagonal)


# Every structure a system can have, of five or more items.
SYSTEMS: dict[str, Callable[[int], System]] = {
    "variables only": lambda seed: Pure(Matrix(positive(np.random.default_rng(seed), 5))),
    "a sparse matrix": lambda seed: Pure(Matrix(csr_array(positive(np.random.default_rng(seed), 5)))),
    "pairs": lambda seed: Pure(
        pqp.PairGram(positive(np.random.default_rng(seed), 6), [(0, 1), (2, 3), (4, 5), (5, 0), (3, 1)])
    ),
    "a sparse factor": lambda seed: Pure(
        pqp.Gram(csr_array(np.random.default_rng(seed).integers(-1, 2, (6, 3))), np.ones(6))
    ),
    "groups": lambda seed: Pure(nine_groups(seed)),
    "groups and a diagonal": lambda seed: Pure(nine_groups(seed, np.ones(18))),
    "groups, scaled": lambda seed: Scaled(
        Pure(nine_groups(seed)), 2.0 ** np.random.default_rng(seed).integers(-3, 4, 18)
    ),
    "a factor": lambda seed: Pure(pqp.Gram(np.random.default_rng(seed).integers(-2, 3, (6, 2)), np.ones(6))),
    "dense": lambda seed: mixed(3, 2, seed),
    "sparse": lambda seed: mixed(3, 4, seed, sparse=True),
    "without lower block": lambda seed: mixed(4, 2, seed, lower_block=False),
    "scaled": lambda seed: Scaled(mixed(3, 3, seed), 2.0 ** np.random.default_rng(seed).integers(-3, 4, 6)),
}


def dense(system: System) -> Any:
    """M, column by column."""
    everything = np.arange(system.size)
    return system.block(everything, everything)


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


def working_basis(lcp: MixedLCP, states: Any) -> WorkingBasis:
    """A basis; singular ones are refused, which the test has to allow."""
    with may_refuse():
        return WorkingBasis(lcp, states)
