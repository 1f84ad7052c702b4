r"""Proposal: where the solution of an instance will be about, by moving one item or two at a time.

With limits alone, the item that gains most moves; with one equality as well, items that it couples move in
pairs that keep it, as in sequential minimal optimisation: a first one that pulls hardest, and the second one
with which it gains most,

.. math:: \frac{(G_j - G_i)^2}{2\,(M_{ii}/B_i^2 + M_{jj}/B_j^2 - 2 M_{ij}/(B_i B_j))}, \qquad G_i = g_i / B_i.

What comes out is a proposal and no more: nothing relies on it being right.

Room: a system, its q and its limits in; values v out, or nothing. Knows no basis and no parameter.
May touch: `field`, `forms`, `kernels`, `stairs`, `system`.
"""

from typing import NamedTuple

import numpy as np

from pqp.field import REFINED, Array
from pqp.forms import Form, compiled, compiled_inside, frozen
from pqp.kernels import add_product
from pqp.stairs import Limits
from pqp.system import System

# Moves at most, for each item: most items move once or twice, and what is left is a matter of few events.
MOVES = 4
# A descent has arrived if no item pulls more than this part of what the first one did.
CALM = 1e-4


class Box(NamedTuple):
    """Between which values every item may move, its curvature, and its entry in the equality, if any."""

    low: Array
    high: Array
    curvature: Array
    row: Array


def propose(system: System, q: Array, limits: Limits, is_row: Array) -> Array | None:
    """Return values v near the solution; None if items are coupled by more than one equality."""
    strict = _strict_row(system, limits, is_row)
    if strict is None:
        return None
    box, target = _box(system, limits, is_row, strict)
    v = np.clip(np.zeros(len(q)), box.low, box.high)
    g = q - target + system.times(v[:, None])[:, 0]
    for item in strict:
        if not _meet(system.form, box, v, g, item):
            return None
    _descend(system.form, box, v, g, MOVES * len(v))
    v[strict] = _multiplier(box, v, g)
    return v


def _strict_row(system: System, limits: Limits, is_row: Array) -> Array | None:
    """Return the one row that is an equality; none if there are no rows, or rows alone, with curvature."""
    rows = np.flatnonzero(is_row & ~limits.is_free)
    if not len(rows) or is_row.all():
        return rows[:0]
    is_strict = limits.is_equal & np.isinf(limits.cap[:, 0]) & (system.diagonal() <= 0)
    return rows if len(rows) == 1 and is_strict[rows[0]] else None


def _box(system: System, limits: Limits, is_row: Array, strict: Array) -> tuple[Box, Array]:
    """Return the box of v and what g is measured from; an item that may bend on the way stays put."""
    lower, upper, cap = limits.lower[:, 0], limits.upper[:, 0], limits.cap[:, 0]
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    rest = np.where(is_row, 0.0, np.clip(0.0, lower, upper))
    is_bent = np.where(is_row, has_lower & has_upper & ~limits.is_equal, np.isfinite(cap))
    low = np.where(is_row, np.where(has_upper, -cap, 0.0), lower)
    high = np.where(is_row, np.where(has_lower, cap, 0.0), upper)
    target = np.where(is_row, np.where(has_lower, lower, np.where(has_upper, upper, 0.0)), 0.0)
    row = np.zeros(system.size)
    for item in strict:
        row = np.where(is_row, 0.0, system.block(np.array([item]), np.arange(system.size))[0])
        is_bent[item] = True
    low, high = np.where(is_bent, rest, low), np.where(is_bent, rest, high)
    return Box(*(frozen(part) for part in (low, high, system.diagonal(), row))), target


@compiled
def _meet(form: Form, box: Box, v: Array, g: Array, row: int) -> bool:
    """Move items, those that cost least first, until the equality is met; tell whether it could be."""
    for _ in range(len(v) + 1):
        missing = abs(g[row])
        if missing <= REFINED * (1.0 + np.abs(v).max()):
            return True
        sense = -1.0 if g[row] > 0.0 else 1.0
        item = _keenest(box, v, g, sense)
        if item < 0:
            return False
        _put(v, g, item, _moved(box, v, item, sense, missing), _column(form, item, len(v)))
    return False


@compiled
def _descend(form: Form, box: Box, v: Array, g: Array, most: int) -> None:
    """Move one item, or two along the equality, where that gains most, while it is worth it."""
    first, size = 0.0, len(v)
    for count in range(most):
        alone, gain_alone, pull_alone = _best_alone(box, v, g)
        i = _keenest(box, v, g, 1.0)
        column = _column(form, i, size) if i >= 0 else g
        j, gain, pull = _best_partner(box, v, g, i, column)
        pull = max(pull, pull_alone)
        first = pull if count == 0 else first
        if pull <= CALM * first:
            return
        if gain_alone > gain:
            value = v[alone] - g[alone] / box.curvature[alone]
            value = min(max(value, box.low[alone]), box.high[alone])
            _put(v, g, alone, value, _column(form, alone, size))
        else:
            by = _length(box, v, g, i, j, column)
            _put(v, g, i, _moved(box, v, i, 1.0, by), column)
            _put(v, g, j, _moved(box, v, j, -1.0, by), _column(form, j, size))


@compiled_inside
def _column(form: Form, item: int, size: int) -> Array:
    """Return one column of M."""
    result = np.zeros(size)
    add_product(form, np.full(1, item), np.ones(1), result)
    return result


@compiled_inside
def _put(v: Array, g: Array, item: int, value: float, column: Array) -> None:
    """Put an item at a value, and let g follow."""
    by = value - v[item]
    for k in range(len(g)):
        g[k] += by * column[k]
    v[item] = value


@compiled_inside
def _room(box: Box, v: Array, item: int, sense: float) -> float:
    """Return how far an item can raise the value of the equality, or lower it."""
    limit = box.high[item] if box.row[item] * sense > 0.0 else box.low[item]
    return (limit - v[item]) * box.row[item] * sense


@compiled_inside
def _moved(box: Box, v: Array, item: int, sense: float, by: float) -> float:
    """Return the v with which an item raises the value of the equality, or lowers it, as far as it can."""
    if by < _room(box, v, item, sense):
        return v[item] + sense * by / box.row[item]
    return box.high[item] if box.row[item] * sense > 0.0 else box.low[item]


@compiled_inside
def _keenest(box: Box, v: Array, g: Array, sense: float) -> int:
    """Return the item that gains most by raising the value of the equality a little, or lowering it."""
    low, high, row, best, least = box.low, box.high, box.row, -1, np.inf
    for k in range(len(v)):
        along = sense * row[k]
        can_move = (along > 0.0 and v[k] < high[k]) or (along < 0.0 and v[k] > low[k])
        if can_move and g[k] / along < least:
            best, least = k, g[k] / along
    return best


@compiled_inside
def _best_alone(box: Box, v: Array, g: Array) -> tuple[int, float, float]:
    """Return the item that gains most by a move of its own, how much, and the hardest pull of all."""
    low, high, curvature, row = box
    best, most, hardest = -1, 0.0, 0.0
    for k in range(len(v)):
        if row[k] == 0.0:
            pull, room = abs(g[k]), v[k] - low[k] if g[k] > 0.0 else high[k] - v[k]
            gain = pull * min(pull / curvature[k], room)
            # what curves nowhere, and has no limit in this direction, has no best place
            if room > 0.0 and pull > 0.0 and gain < np.inf:
                hardest = max(hardest, pull)
                if gain > most:
                    best, most = k, gain
    return best, most, hardest


@compiled_inside
def _best_partner(box: Box, v: Array, g: Array, first: int, column: Array) -> tuple[int, float, float]:
    """Return the item that gains most together with the first one, how much, and the hardest pull of all."""
    low, high, curvature, row = box
    best, most, hardest = -1, 0.0, 0.0
    if first < 0:
        return best, most, hardest
    own, least = curvature[first] / row[first] ** 2, g[first] / row[first]
    for k in range(len(v)):
        if (row[k] > 0.0 and v[k] > low[k]) or (row[k] < 0.0 and v[k] < high[k]):
            pull, terms = g[k] / row[k] - least, own + curvature[k] / row[k] ** 2
            bend = max(terms - 2.0 * column[k] / (row[first] * row[k]), REFINED * terms)
            hardest = max(hardest, pull)
            if pull > 0.0 and pull * pull > most * bend:
                best, most = k, pull * pull / bend
    return best, most, hardest


@compiled_inside
def _length(box: Box, v: Array, g: Array, i: int, j: int, column: Array) -> float:
    """Return how far a pair moves: to where it gains most, or to the first limit."""
    row, curvature = box.row, box.curvature
    terms = curvature[i] / row[i] ** 2 + curvature[j] / row[j] ** 2
    bend = max(terms - 2.0 * column[j] / (row[i] * row[j]), REFINED * terms)
    return min((g[j] / row[j] - g[i] / row[i]) / bend, _room(box, v, i, 1.0), _room(box, v, j, -1.0))


@compiled
def _multiplier(box: Box, v: Array, g: Array) -> float:
    """Return the multiplier of the equality, between those of items that can raise and that can lower it."""
    up, down = _keenest(box, v, g, 1.0), _keenest(box, v, g, -1.0)
    if up < 0 or down < 0:
        only = max(up, down)
        return 0.0 if only < 0 else g[only] / box.row[only]
    return (g[up] / box.row[up] + g[down] / box.row[down]) / 2.0
