"""States: where the value and the multiplier of an item may be, by the optimality conditions.

Items are variables and rows alike. An item has a value and a multiplier; together they are in one state:

    state      value               multiplier
    BELOW      at most lower       at +cap       (soft items only)
    LOWER      at lower            0 to cap
    BETWEEN    lower to upper      0
    UPPER      at upper            -cap to 0
    ABOVE      at least upper      at -cap       (soft items only)
    EQUAL      lower = upper       -cap to cap   (instead of LOWER, BETWEEN and UPPER)

In each state one of the two is *fixed*: an affine function of the parameter. The other one is *dependent*: it
follows from all fixed ones and may move between `lo` and `hi`. At `lo` the next state begins, in which the
fixed one increases; at `hi` one in which it decreases.

A redundant equality stays in BETWEEN. A free variable that nothing determines stays in EQUAL at 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pqp.linalg.field import Array

BETWEEN, LOWER, UPPER, EQUAL, BELOW, ABOVE = range(6)
STATE_NAMES = ("between", "lower", "upper", "equal", "below", "above")
# In these states the value is fixed and the multiplier is dependent.
VALUE_FIXED = np.array([False, True, True, True, False, False])


@dataclass(frozen=True, eq=False)
class StateTable:
    """One entry per state and item; affine functions have the columns constant and slope."""

    fixed: Array
    lo: Array
    hi: Array
    next_at_lo: Array
    next_at_hi: Array

    def __len__(self) -> int:
        return self.fixed.shape[1]


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bounds of all values and the caps of all multipliers, affine; infinite ones have slope 0."""

    lower: Array
    upper: Array
    cap: Array
    is_equal: Array

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def is_free(self) -> Array:
        """Which items have no bounds."""
        return np.isinf(self.lower[:, 0]) & np.isinf(self.upper[:, 0])


def build_state_table(bounds: Bounds) -> StateTable:
    """Return the state table of some bounds, in O(number of items).

    >>> import numpy as np
    >>> from pqp.revised.states import BELOW, LOWER
    >>> line = np.array([[1.0, 0.0]])
    >>> hinge = Bounds(line, np.array([[np.inf, 0.0]]), np.array([[0.0, 1.0]]), np.array([False]))
    >>> table = build_state_table(hinge)
    >>> table.hi[LOWER, 0].tolist(), int(table.next_at_hi[LOWER, 0]) == BELOW
    ([0.0, 1.0], True)
    """
    low, high, cap = bounds.lower, bounds.upper, bounds.cap
    zero, far = np.zeros_like(low), np.column_stack([np.full(len(bounds), np.inf), np.zeros(len(bounds))])
    # A free item that nothing determines rests at 0, and its multiplier must be 0 without help
    # (docs/method.md, From the problem to a complementarity problem).
    width = np.where(bounds.is_free[:, None], 0.0, cap)
    at_rest = np.where(bounds.is_free[:, None], 0.0, low)
    return StateTable(
        fixed=np.stack([zero, low, high, at_rest, cap, -cap]),
        lo=np.stack([low, zero, -cap, -width, -far, high]),
        hi=np.stack([high, cap, zero, width, low, far]),
        next_at_lo=_next(bounds, [None, BETWEEN, ABOVE, ABOVE, EQUAL, None]),
        next_at_hi=_next(bounds, [None, BELOW, BETWEEN, BELOW, None, EQUAL]),
    )


def _next(bounds: Bounds, neighbours: Sequence[int | None]) -> Array:
    """Return the neighbouring states; None stands for the state in which the value is fixed."""
    at_lo = neighbours[ABOVE] is None
    pinned_low, pinned_high = (np.where(bounds.is_equal, EQUAL, state) for state in (LOWER, UPPER))
    ends = {BETWEEN: pinned_low if at_lo else pinned_high, ABOVE: pinned_high, BELOW: pinned_low}
    rows = [
        np.full(len(bounds), neighbour) if neighbour is not None else ends[state]
        for state, neighbour in enumerate(neighbours)
    ]
    # A free item has no cap to go to: when it leaves its rest it is solved for.
    rows[EQUAL] = np.where(bounds.is_free, BETWEEN, rows[EQUAL])
    return np.stack(rows).astype(np.int8)
