"""Runs: what one trace of either engine leaves behind, and how parts of a path are put together.

Room: the record both engines fill, unsolvable stretches in it, and seams between neighbouring parts.
May touch: `field`, `log`, `segment`, `stretches`, `tableau` (its records).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from pqp.field import RATIONAL, Field, Number
from pqp.log import Entry
from pqp.place import Place
from pqp.problem import ParametricQP
from pqp.segment import Segment
from pqp.stretches import explain
from pqp.tableau import Stretch


@dataclass
class Run:
    """What one run of an engine has produced so far; filled in by the run that owns it."""

    segments: list[Segment] = field(default_factory=list)
    pivots: list[Entry] = field(default_factory=list)
    stopped: str | None = None

    def add_stretches(self, pending: Sequence[Stretch], problem: ParametricQP, arithmetic: Field) -> None:
        """Add what unsolvable stretches amount to; the piece before ends where their proof does, exactly."""
        if not pending:
            return
        begin, end = pending[0].exact[0], pending[-1].exact[1]
        if self.segments:
            last, at = self.segments[-1], arithmetic.number(begin)
            self.segments[-1] = replace(last, hi=at) if begin <= end else replace(last, lo=at)
        found = explain(pending, problem, arithmetic)
        self.segments += found if begin <= end else reversed(found)


def in_order(segments: Sequence[Segment]) -> list[Segment]:
    """Return segments in ascending order."""
    return sorted(segments, key=attrgetter("lo", "hi"))


def ordered(one: Number, other: Number) -> tuple[Number, Number]:
    """Return two ends, the smaller first."""
    return (one, other) if one <= other else (other, one)


def seamless(segments: Sequence[Segment]) -> list[Segment]:
    """Return ascending segments, unsolvable neighbours that one proof covers taken together."""
    result: list[Segment] = []
    for segment in segments:
        joined = _joined(result[-1], segment) if result else None
        if joined is None:
            result.append(segment)
        else:
            result[-1] = joined
    return result


def _joined(left: Segment, right: Segment) -> Segment | None:
    """Return one segment for two unsolvable neighbours if the proof of either holds on both."""
    if left.status != right.status or left.status == "optimal" or left.hi != right.lo:
        return None
    for one in (left, right):
        whole = replace(one, lo=left.lo, hi=right.hi)
        if left.status == "infeasible" and _proves(whole, left.lo, right.hi):
            return whole
    return None


def _proves(segment: Segment, lo: Number, hi: Number) -> bool:
    """Tell whether a Farkas vector contradicts feasibility inside the whole interval."""
    assert segment.proof is not None
    gap = segment.proof.gap(segment.problem.data(RATIONAL))
    ends = (Place(RATIONAL.number(lo), 1), Place(RATIONAL.number(hi), -1))
    return all(end.sign_of(gap) > 0 for end in ends)
