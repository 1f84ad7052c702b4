"""Compact paths without their engine: dense paths turned into trails, and a completion for simple trails."""

import dataclasses

import numpy as np

import pqp
from pqp import Segment
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT
from pqp.records.states import State
from pqp.records.trail import Completion, trail_of


def completion(problem: pqp.ParametricQP) -> Completion:
    """A completion for trails that state every x that is "between" and every y of a held row."""
    data, n, m = problem.data(FLOAT), problem.n, problem.m
    held = ((State.LOWER, data.lower), (State.UPPER, data.upper), (State.FIXED, data.lower))

    def complete(states, unknowns, values):
        table = np.zeros((n + m, 2))
        for part in (0, 1):
            for state, limit in held:
                places = np.flatnonzero(states[:n] == state)
                table[places, part] = limit[part][places]
            for state, sign in ((State.BELOW, 1), (State.ABOVE, -1)):
                places = np.flatnonzero(states[n:] == state)
                table[n + places, part] = sign * data.penalty[part][places]
        table[unknowns] = values
        x, y = (AffineArray(*part.T.copy()) for part in (table[:n], table[n:]))
        z = [data.P @ x[k] + data.c[k] - data.A.T @ y[k] for k in (0, 1)]
        for part in z:
            part[states[:n] == State.BETWEEN] = 0
        return x, y, AffineArray(*z)

    return complete


def unknowns(segment) -> tuple[np.ndarray, np.ndarray]:
    n = segment.problem.n
    free = [j for j, state in enumerate(segment.basis.variables) if state == "between"]
    held = [i for i, state in enumerate(segment.basis.rows) if state in ("lower", "upper", "equal")]
    x, y = np.array(segment.x, dtype=float).T[free], np.array(segment.y, dtype=float).T[held]
    return np.array([*free, *(n + i for i in held)], dtype=int), np.concatenate([x, y])


def compacted(path: pqp.Path, backwards: bool = False) -> pqp.Path:
    """The same float path with its optimal segments on one trail, in the order of a trace to either side."""
    optimal = [segment for segment in path.segments if segment.status == "optimal"]
    order = optimal[::-1] if backwards else optimal
    before, pieces, numbers = order[0].basis.codes(), [], {}
    for segment in order:
        now = segment.basis.codes()
        changed = np.flatnonzero(now != before)
        numbers[id(segment)] = len(pieces)
        pieces.append((changed, now[changed], *unknowns(segment)))
        before = now
    trail = trail_of(path.problem, order[0].basis.codes(), completion(path.problem), pieces)
    segments = tuple(
        Segment(s.lo, s.hi, s.status, s.problem, s.arithmetic, trail=trail, number=numbers[id(s)])
        if id(s) in numbers
        else s
        for s in path.segments
    )
    return dataclasses.replace(path, segments=segments)
