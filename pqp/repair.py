"""Repair: lines that float64 got wrong, or could not get at all, from exact pieces.

Room: lines and a rescuer in, lines out.
May touch: `errors`, `field`, `compact`, `revised`, `translation`, `equilibration`, `rescue`, `collecting`,
`verification`, `tableau` (its records).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from pqp.collecting import Leg, glue
from pqp.equilibration import Scene
from pqp.errors import NumericalTroubleError
from pqp.field import ACCURATE, KKT_RESIDUAL, TIE, Array, Number
from pqp.rescue import ExactPiece, Rescuer
from pqp.revised import NO_CHANGES, Changes, Line
from pqp.tableau import Stretch
from pqp.translation import Translation
from pqp.verification import misses, misses_again, place_on
from pqp.walk import Walk


@dataclass(frozen=True)
class Repair:
    """What it takes to turn exact pieces of a problem into lines of its reduction."""

    translation: Translation
    scene: Scene
    rescuer: Rescuer

    def lines(self, steps: Array | None, begin: Number, stop: Number) -> Iterator[Line | Stretch]:
        """Yield exact lines from one mu to another, each with all its steps."""
        states = None if steps is None else self.translation.all_states(steps)
        for piece in self.rescuer.pieces(states, begin, stop):
            yield piece if isinstance(piece, Stretch) else self._line(piece)

    def _line(self, piece: ExactPiece) -> Line:
        steps = self.translation.steps(piece.states)
        unknowns = np.flatnonzero(self.scene.setting.is_unknown(steps))
        values = np.concatenate([piece.x, piece.y])[self.translation.items[unknowns]]
        values = values / self.scene.d[unknowns, None]
        return Line(float(piece.start), float(piece.end), steps, NO_CHANGES, unknowns, values)

    def repaired(self, leg: Leg) -> Leg:
        """Return the leg, lines that miss the optimality conditions replaced by exact ones."""
        known = misses(leg, self.scene.setting)
        wrong = np.flatnonzero(~(known <= ACCURATE))
        if not len(wrong):
            return leg
        leg = self._recomputed(leg, wrong)
        left = misses_again(leg, self.scene.setting, known, wrong)
        if self.rescuer.is_able:
            return self._replaced(leg, set(np.flatnonzero(~(left <= ACCURATE)).tolist()))
        worst = int(np.argmax(left))
        if not left[worst] <= KKT_RESIDUAL:
            raise self._lost(leg.lines[worst], float(left[worst]))
        return leg

    def _recomputed(self, leg: Leg, wrong: Array) -> Leg:
        """Return the leg, some lines solved for anew from the data."""
        lines = list(leg.lines)
        for number in wrong.tolist():
            walk = Walk(self.scene.setting, _steps_on(leg, number), place_on(lines[number]))
            walk.polish()
            items = walk.inverse.items.copy()
            lines[number] = replace(lines[number], unknowns=items, values=walk.unknown_lines())
        return Leg(leg.first, tuple(lines))

    def _replaced(self, leg: Leg, wrong: set[int]) -> Leg:
        """Return the leg, some lines replaced by what exact arithmetic says there."""
        if not wrong:
            return leg
        result: Leg | None = None
        steps = leg.first.copy()
        for number, line in enumerate(leg.lines):
            steps[line.changes.items] = line.changes.after
            part = Leg(steps.copy(), (replace(line, changes=NO_CHANGES),))
            if number in wrong:
                part = self._exact_leg(part)
            result = part if result is None else glue(result, part)
        assert result is not None
        return result

    def _exact_leg(self, part: Leg) -> Leg:
        """Return what exact arithmetic says between the ends of one line."""
        line = part.lines[0]
        found = list(self.lines(part.first, line.start, line.end))
        pieces = [piece for piece in found if isinstance(piece, Line)]
        # a rounded end may lie just outside the solvable stretch
        if not pieces or any(isinstance(piece, Stretch) and not _is_rounding(piece) for piece in found):
            raise self._lost(line, np.inf)
        pieces[0], pieces[-1] = replace(pieces[0], start=line.start), replace(pieces[-1], end=line.end)
        return joined(pieces)

    def _lost(self, line: Line, miss: float) -> NumericalTroubleError:
        R = line.unknowns
        condition = np.linalg.cond(self.scene.system.block(R, R)) if len(R) else 1.0
        return NumericalTroubleError(
            f"float64 lost accuracy on [{line.start}, {line.end}]: the solution misses the optimality "
            f"conditions by {miss:.1e}, the basis has condition {condition:.0e}; "
            'use arithmetic="exact", or scale the data',
            interval=(line.start, line.end),
        )


def joined(lines: list[Line]) -> Leg:
    """Return lines that all state their steps as one leg."""
    legs = [
        Leg(line.steps, (replace(line, steps=None, changes=NO_CHANGES),))
        for line in lines
        if line.steps is not None
    ]
    result = legs[0]
    for leg in legs[1:]:
        result = glue(result, leg)
    return result


def changes_between(before: Array, after: Array) -> Changes:
    """Return what changes from some steps to others."""
    items = np.flatnonzero(before != after)
    return Changes(items, before[items], after[items])


def _steps_on(leg: Leg, number: int) -> Array:
    return Leg(leg.first, leg.lines[: number + 1]).last()


def _is_rounding(stretch: Stretch) -> bool:
    """Tell whether a stretch is no longer than the rounding of its ends."""
    return abs(float(stretch.end) - float(stretch.start)) <= TIE * (1.0 + abs(float(stretch.start)))
