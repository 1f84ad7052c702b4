"""Verification: every line of a trace against the optimality conditions, from the data, in blocks.

Room: a leg and its setting in; the numbers of the lines that miss the conditions, and by how much, out.
May touch: `field`, `stairs`, `scanning`, `walk`, `revised`, `collecting`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from pqp.collecting import Leg
from pqp.field import ACCURATE, Array
from pqp.revised import Line
from pqp.scanning import fill_held, largest_miss, seam
from pqp.stairs import PINNED
from pqp.walk import Setting

# Lines checked together: enough for products of blocks to pay, few enough to stay small.
BLOCK = 64
# A line without end is checked this many times farther out than it starts.
FAR = 10.0


def misses(leg: Leg, setting: Setting) -> Array:
    """Return by how much every line misses the optimality conditions, beside the numbers it is made of.

    Lines are checked at their ends, and at their starts where they do not continue the line before.
    """
    result = np.zeros(len(leg.lines))
    checks = _checks(leg, setting)
    while block := list(islice(checks, BLOCK)):
        numbers, mus = np.array([check.number for check in block]), np.array([check.mu for check in block])
        v, states = np.stack([check.v for check in block]), np.stack([check.steps for check in block])
        np.maximum.at(result, numbers, _block_misses(setting, states, mus, v))
    return result


@dataclass(frozen=True, eq=False)
class _Check:
    """All v of line `number` at one mu, and the steps it stands on."""

    number: int
    mu: float
    v: Array
    steps: Array


def _checks(leg: Leg, setting: Setting) -> Iterator[_Check]:
    """Yield what has to be checked, line by line."""
    steps = leg.first.astype(np.int8)
    held = setting.stairs.held[steps, np.arange(len(steps))]
    before: Array | None = None
    for number, line in enumerate(leg.lines):
        _advance(steps, held, line, setting)
        if before is None or not _continues(before, line, held):
            yield _Check(number, _start(line), _values(line, held, _start(line)), steps.copy())
        before = _values(line, held, _end(line))
        yield _Check(number, _end(line), before, steps.copy())


def _values(line: Line, held: Array, mu: float) -> Array:
    v = np.empty(len(held))
    fill_held(held, mu, v)
    v[line.unknowns] = line.values[:, 0] + mu * line.values[:, 1]
    return v


def _continues(before: Array, line: Line, held: Array) -> bool:
    """Tell whether a line begins where the one before ended, looking only at what may differ."""
    moved, mu = line.changes.items, _start(line)
    gap, height = seam(before, held, moved, line.unknowns, line.values, mu)
    return bool(gap <= ACCURATE * (1.0 + height))


def _advance(steps: Array, held: Array, line: Line, setting: Setting) -> None:
    """Bring steps and held lines from one line to the next."""
    items, after = line.changes.items, line.changes.after
    steps[items] = after
    held[items] = setting.stairs.held[after, items]


def _block_misses(setting: Setting, states: Array, mus: Array, v: Array) -> Array:
    g = np.ascontiguousarray(setting.system.times(v.T).T)
    g += setting.q[:, 0] + mus[:, None] * setting.q[:, 1]
    stairs = setting.stairs
    tables, kinds = (stairs.held, stairs.lo, stairs.hi), (PINNED, setting.is_row)
    return np.asarray(largest_miss(tables, kinds, states, mus, v, g))


def _start(line: Line) -> float:
    """Return where a line starts, or a place on it if that is infinitely far."""
    return line.start if np.isfinite(line.start) else line.end if np.isfinite(line.end) else 0.0


def _end(line: Line) -> float:
    """Return where a line ends, or a place far out on it if that is infinitely far."""
    if np.isfinite(line.end):
        return line.end
    start = _start(line)
    return start + np.sign(line.end) * FAR * (1.0 + abs(start))
