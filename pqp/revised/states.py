"""Staircases: where every value and its multiplier may be, and on which step each of them stands.

Items are variables and rows alike. An item has a value and a multiplier; the optimality conditions say that
the two lie on a staircase:

    state      value               multiplier
    BELOW      at most lower       at +cap       (soft items only)
    LOWER      at lower            0 to cap
    BETWEEN    lower to upper      0
    UPPER      at upper            -cap to 0
    ABOVE      at least upper      at -cap       (soft items only)
    EQUAL      lower = upper       -cap to cap   (instead of LOWER, BETWEEN and UPPER)

On a step one of the two is *held* on a line in the parameter; the other one *depends* on all that is held
and may move between `lo` and `hi`. At `lo` the next step begins, on which the held one rises; at `hi` one
on which it falls.
An equality that follows from others rests in BETWEEN, a free variable that nothing determines in EQUAL at 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pqp.linalg.field import Array

BETWEEN, LOWER, UPPER, EQUAL, BELOW, ABOVE = range(6)
STEP_NAMES = ("between", "lower", "upper", "equal", "below", "above")
# In these states the value is held and the multiplier depends.
PINNED = np.array([False, True, True, True, False, False])


@dataclass(frozen=True, eq=False)
class Stairs:
    """Tables with one entry a state and item; lines have the columns constant and slope."""

    held: Array
    lo: Array
    hi: Array
    next_at_lo: Array
    next_at_hi: Array

    def __len__(self) -> int:
        return self.held.shape[1]


@dataclass(frozen=True, eq=False)
class Limits:
    """The limits of all values and the caps of all multipliers, as lines; infinite ones have slope 0."""

    lower: Array
    upper: Array
    cap: Array
    is_equal: Array

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def is_free(self) -> Array:
        """Which items have no limit."""
        return np.isinf(self.lower[:, 0]) & np.isinf(self.upper[:, 0])


def build_stairs(limits: Limits) -> Stairs:
    """Return the tables of all staircases, in O(number of items).

    >>> import numpy as np
    >>> from pqp.revised.states import BELOW, LOWER
    >>> line = np.array([[1.0, 0.0]])
    >>> hinge = Limits(line, np.array([[np.inf, 0.0]]), np.array([[0.0, 1.0]]), np.array([False]))
    >>> stairs = build_stairs(hinge)
    >>> stairs.hi[LOWER, 0].tolist(), int(stairs.next_at_hi[LOWER, 0]) == BELOW
    ([0.0, 1.0], True)
    """
    low, high, cap = limits.lower, limits.upper, limits.cap
    zero, far = np.zeros_like(low), np.column_stack([np.full(len(limits), np.inf), np.zeros(len(limits))])
    width = np.where(limits.is_free[:, None], 0.0, cap)
    at_rest = np.where(limits.is_free[:, None], 0.0, low)
    return Stairs(
        held=np.stack([zero, low, high, at_rest, cap, -cap]),
        lo=np.stack([low, zero, -cap, -width, -far, high]),
        hi=np.stack([high, cap, zero, width, low, far]),
        next_at_lo=_next(limits, [None, BETWEEN, ABOVE, ABOVE, EQUAL, None]),
        next_at_hi=_next(limits, [None, BELOW, BETWEEN, BELOW, None, EQUAL]),
    )


def _next(limits: Limits, steps: Sequence[int | None]) -> Array:
    """Return the neighbours; None stands for the step on which the value is held."""
    at_lo = steps[ABOVE] is None
    pinned_low, pinned_high = (np.where(limits.is_equal, EQUAL, state) for state in (LOWER, UPPER))
    ends = {BETWEEN: pinned_low if at_lo else pinned_high, ABOVE: pinned_high, BELOW: pinned_low}
    rows = [
        np.full(len(limits), step) if step is not None else ends[state] for state, step in enumerate(steps)
    ]
    rows[EQUAL] = np.where(limits.is_free, BETWEEN, rows[EQUAL])
    return np.stack(rows).astype(np.int8)
