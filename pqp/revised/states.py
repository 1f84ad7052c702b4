"""States: where the value and the multiplier of an item may be, by the optimality conditions.

Items are variables and rows alike. An item has a value and a multiplier; together they are in one state:

    state      value               multiplier
    BELOW      at most lower       at top        (soft items only)
    LOWER      at lower            zero to top
    BETWEEN    lower to upper      zero
    UPPER      at upper            bottom to zero
    ABOVE      at least upper      at bottom     (soft items only)
    EQUAL      lower = upper       bottom to top (instead of LOWER, BETWEEN and UPPER)

with top = cap, bottom = -cap and zero = 0, except in the homotopy of `start`, which shifts them. In each
state one of the two is *fixed*: an affine function of the parameter. The other one is *dependent*: it
follows from all fixed ones and may move between `lo` and `hi`. At `lo` the next state begins, in which the
fixed one increases; at `hi` one in which it decreases.

A redundant equality stays in BETWEEN. A free variable that nothing determines stays in EQUAL at 0.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pqp.linalg.field import Array
from pqp.linalg.system import System

BETWEEN, LOWER, UPPER, EQUAL, BELOW, ABOVE = range(6)
STATE_NAMES = ("between", "lower", "upper", "equal", "below", "above")
# In these states the value is fixed and the multiplier is dependent.
VALUE_FIXED = np.array([False, True, True, True, False, False])
# The two ends of the range of a dependent quantity.
LO, HI = 0, 1
# Rows of a table: the fixed quantity and the range of the dependent one, each as constant and slope.
FIXED, RANGE = slice(0, 2), slice(2, 6)


@dataclass(frozen=True, eq=False)
class Bounds:
    """The corners of the states of all items, affine: one row (constant, slope) per item.

    Infinite ones have slope 0. `zero`, `top` and `bottom` are 0, cap and -cap unless they are given.
    """

    lower: Array
    upper: Array
    cap: Array
    is_equal: Array
    zero: Array | None = None
    top: Array | None = None
    bottom: Array | None = None

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def is_free(self) -> Array:
        """Which items have no bounds."""
        return np.isinf(self.lower[:, 0]) & np.isinf(self.upper[:, 0])

    def at(self, mu: float) -> "Bounds":
        """Return the bounds at one mu as constants."""
        lower, upper, cap = (constants_at(lines, mu) for lines in (self.lower, self.upper, self.cap))
        return Bounds(lower, upper, cap, self.is_equal)


def constants_at(lines: Array, mu: float) -> Array:
    """Return affine functions as constants: their values at mu."""
    result = np.zeros_like(lines)
    result[:, 0] = lines[:, 0] + mu * lines[:, 1]
    return result


@dataclass(frozen=True, eq=False)
class StateTable:
    """What is fixed and what may move in every state of every item.

    `lines[state, :, item]` are constant and slope of the fixed quantity, of `lo` and of `hi`;
    `following[end, state, item]` is the state beyond that end.
    """

    lines: Array
    following: Array

    def __len__(self) -> int:
        return int(self.lines.shape[2])

    def of(self, states: Array) -> Array:
        """Return the lines of the given states, one column per item."""
        return self.lines[states, np.arange(6)[:, None], np.arange(len(self))]


def build_state_table(bounds: Bounds) -> StateTable:
    """Return the state table of some bounds, in O(number of items).

    >>> import numpy as np
    >>> from pqp.revised.states import BELOW, LOWER
    >>> line = np.array([[1.0, 0.0]])
    >>> hinge = Bounds(line, np.array([[np.inf, 0.0]]), np.array([[0.0, 1.0]]), np.array([False]))
    >>> table = build_state_table(hinge)
    >>> table.lines[LOWER, 4:, 0].tolist(), int(table.following[HI, LOWER, 0]) == BELOW
    ([0.0, 1.0], True)
    """
    size, free, is_equal = len(bounds), bounds.is_free, bounds.is_equal
    low, high = bounds.lower.T, bounds.upper.T
    zero = np.zeros((2, size)) if bounds.zero is None else bounds.zero.T
    top = (bounds.cap if bounds.top is None else bounds.top).T
    bottom = -bounds.cap.T if bounds.bottom is None else bounds.bottom.T
    far = np.array([[np.inf], [0.0]])
    # A free item that nothing determines rests at 0, and its multiplier must be 0 without help
    # (docs/method.md, From the problem to a complementarity problem). An item whose bounds differ cannot be
    # in EQUAL: its range there is empty.
    at_rest = np.where(free, 0.0, low)
    pinned_lo = np.where(free, zero, np.where(is_equal, bottom, far))
    pinned_hi = np.where(free, zero, np.where(is_equal, top, -far))
    rows = (
        (zero, low, high),
        (low, zero, top),
        (high, bottom, zero),
        (at_rest, pinned_lo, pinned_hi),
        (top, -far, low),
        (bottom, high, far),
    )
    lines = np.empty((len(rows), 6, size))
    for state, parts in enumerate(rows):
        for part, values in enumerate(parts):
            lines[state, 2 * part : 2 * part + 2] = values
    low_state, high_state = np.where(is_equal, EQUAL, LOWER), np.where(is_equal, EQUAL, UPPER)
    # A free item has no cap to go to: when it leaves its rest it is solved for. BELOW and ABOVE have an end
    # only on one side: what begins at the other one must not look the same.
    neighbours: tuple[tuple[Array | int, ...], ...] = (
        (low_state, BETWEEN, ABOVE, np.where(free, BETWEEN, ABOVE), BELOW, high_state),
        (high_state, BELOW, BETWEEN, np.where(free, BETWEEN, BELOW), low_state, ABOVE),
    )
    following = np.empty((2, len(rows), size), dtype=np.int8)
    for end, states in enumerate(neighbours):
        for state, neighbour in enumerate(states):
            following[end, state] = neighbour
    return StateTable(lines, following)


@dataclass(frozen=True, eq=False)
class MixedLCP:
    """A complementarity problem in one parameter: g = M v + q(mu), and for every item a table of states."""

    system: System
    q: Array
    table: StateTable

    @cached_property
    def offset_tops(self) -> tuple[list[float], list[float]]:
        """The largest |q| of rows and of variables, each as constant and slope."""
        sizes = np.abs(self.q)
        kinds = self.system.is_row, ~self.system.is_row
        rows, costs = (sizes[kind].max(axis=0, initial=0.0).tolist() for kind in kinds)
        return rows, costs

    def is_unknown(self, states: Array) -> Array:
        """Return which items are in R: their v is solved for."""
        return VALUE_FIXED[states] == self.system.is_row
