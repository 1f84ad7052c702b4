"""Ways: one direction of a run of the revised engine, its lines and the stretches before and behind them.

Room: lines and stretches in the order of a trace in; steps, states and aligned lines out. Traces nothing.
May touch: `compact`, `translation`, `revised`, `tableau` (its records), `collecting`, `repair`.
"""

from dataclasses import dataclass, field, replace

from pqp.collecting import Leg
from pqp.compact import States
from pqp.field import Array
from pqp.repair import changes_between
from pqp.revised import Line
from pqp.tableau import Stretch
from pqp.translation import Translation


@dataclass
class Way:
    """One direction of a run: stretches before the lines, the lines, stretches behind them."""

    before: list[Stretch] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    behind: list[Stretch] = field(default_factory=list)

    def add(self, event: Line | Stretch) -> None:
        """Add a line, its changes told from the line before, or a stretch."""
        if isinstance(event, Stretch):
            (self.behind if self.lines else self.before).append(event)
        elif self.lines and event.steps is not None:
            self.lines.append(replace(event, steps=None, changes=changes_between(self.steps(), event.steps)))
        else:
            self.lines.append(event)

    def steps(self) -> Array:
        """Return the steps on the last line."""
        assert self.lines[0].steps is not None
        return Leg(self.lines[0].steps, tuple(self.lines)).last()

    def first_states(self, translation: Translation) -> States | None:
        """Return the states where the way begins, if it begins with a line."""
        if self.before or not self.lines or self.lines[0].steps is None:
            return None
        return translation.all_states(self.lines[0].steps)

    def aligned(self) -> list[Line]:
        """Return the lines, the outer ones ending where the proofs of their unsolvable neighbours do."""
        lines = self.lines.copy()
        if self.before:
            lines[0] = replace(lines[0], start=float(self.before[-1].end))
        if self.behind:
            lines[-1] = replace(lines[-1], end=float(self.behind[0].start))
        return lines

    def trimmed(self, end: float, short: float) -> "Way | None":
        """Return the way without lines that begin closer to its end than some length; None if none is."""
        kept = [line for line in self.lines if abs(line.start - end) > short]
        return Way(self.before, kept, self.behind) if kept else None
