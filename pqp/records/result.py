"""Results of a trace: what an engine has found so far, and how its segments are put in order and joined."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from pqp.lcp.pivot_log import Entry
from pqp.lcp.problem import PerturbedMu
from pqp.linalg.field import RATIONAL, Number
from pqp.records.segment import Segment, proof_strength


class RungInterval(NamedTuple):
    """An interval of mu and how all pieces on it were found: "trace", or the name of a rung of the ladder."""

    lo: float
    hi: float
    rung: str


@dataclass
class TraceCounts:
    """What one trace of the revised engine has done; see `TraceInfo`."""

    events: int = 0
    ties: int = 0
    largest_tie: int = 0
    rays: int = 0
    refactorisations: int = 0
    refinements: int = 0

    def add(self, other: "TraceCounts") -> None:
        """Add what another trace has done."""
        for name in ("events", "ties", "rays", "refactorisations", "refinements"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest_tie = max(self.largest_tie, other.largest_tie)


@dataclass
class TraceInfo(TraceCounts):
    """What the revised engine did to find a path, over all its extensions and parallel parts.

    Parameters
    ----------
    events
        Changes of basis on the way.
    ties, largest_tie
        Events at which several items reached an end, and the most of them at one.
    rays
        Moves along the optimal set at one mu.
    refactorisations, refinements
        How often everything was recomputed from the data, and slopes were corrected.
    rungs
        The number of pieces by how they were found: "trace", or the name of the rung of the ladder.
    worst_residual
        The largest relative violation of an optimality condition on any piece.
    seconds
        Wall-clock seconds by phase.
    """

    rungs: dict[str, int] = field(default_factory=dict)
    worst_residual: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    _found: list[RungInterval] = field(default_factory=list, repr=False)

    @property
    def rungs_by_interval(self) -> tuple[RungInterval, ...]:
        """How each part of the path was found, ascending; neighbours found in one way are taken together."""
        result: list[RungInterval] = []
        for one in sorted(self._found):
            if result and (result[-1].hi, result[-1].rung) == (one.lo, one.rung):
                one = one._replace(lo=result.pop().lo)
            result.append(one)
        return tuple(result)

    def rung_of(self, piece: Segment) -> str | None:
        """Return how a piece was found, or most of it; None if it was not found, as an unverified one."""
        lo, hi = float(piece.lo), float(piece.hi)
        touching = [one for one in self.rungs_by_interval if one.lo <= hi and lo <= one.hi]
        if piece.status == "unverified" or not touching:
            return None
        return max(touching, key=lambda one: min(hi, one.hi) - max(lo, one.lo)).rung

    def found(self, rung: str, lo: Number, hi: Number) -> None:
        """Note how an interval was found."""
        self._found.append(RungInterval(float(lo), float(hi), rung))

    def include(self, other: "TraceInfo", lo: Number = -math.inf, hi: Number = math.inf) -> None:
        """Add what another run has done for a path that both are part of; it found the part from lo to hi."""
        self.add(other)
        self.worst_residual = max(self.worst_residual, other.worst_residual)
        for rung, pieces in other.rungs.items():
            self.count(rung, pieces)
        for phase, seconds in other.seconds.items():
            self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds
        for one in other._found:
            if one.lo <= hi and lo <= one.hi:
                self.found(one.rung, max(one.lo, lo), min(one.hi, hi))

    def count(self, rung: str, pieces: int) -> None:
        """Count pieces that were found in one way."""
        if pieces:
            self.rungs[rung] = self.rungs.get(rung, 0) + pieces


@dataclass
class TraceResult:
    """What a trace has found so far; its engine fills it, so that an interrupt loses nothing."""

    segments: list[Segment] = field(default_factory=list)
    pivots: list[Entry] = field(default_factory=list)
    stopped: str | None = None
    info: TraceInfo | None = None


def ordered(one: Number, other: Number) -> tuple[Number, Number]:
    """Return two ends, the smaller first."""
    return (one, other) if one <= other else (other, one)


def in_order(segments: Sequence[Segment]) -> list[Segment]:
    """Return segments in ascending order."""
    return sorted(segments, key=attrgetter("lo", "hi"))


def join_unsolvable(segments: Sequence[Segment]) -> list[Segment]:
    """Return ascending segments, unsolvable neighbours that one proof covers taken together.

    Unbounded ones keep their own feasible points, but share a ray where one of theirs serves all.
    """
    result: list[Segment] = []
    for segment in segments:
        if result and (joined := _joined(result[-1], segment)):
            result[-1] = joined
        else:
            result.append(segment)
    sides = groupby(result, key=attrgetter("status"))
    return [segment for status, side in sides for segment in _on_one_ray(status, list(side))]


def _joined(left: Segment, right: Segment) -> Segment | None:
    """Return one segment for two infeasible neighbours if the proof of either holds on the other too."""
    if not left.status == right.status == "infeasible" or left.hi != right.lo:
        return None
    for one, other, end in ((left, right, right.hi), (right, left, left.lo)):
        # a proof may vanish just at the outer end, which the other one covers
        if _proves(one, other.lo, other.hi) and (one.covers(end) or not other.covers(end)):
            return replace(one, lo=left.lo, hi=right.hi)
    return None


def _on_one_ray(status: str, side: list[Segment]) -> list[Segment]:
    """Return neighbouring segments, with one ray if they are unbounded and one of their rays serves all."""
    if status != "unbounded" or len(side) == 1:
        return side
    ends = (side[0], side[0].lo), (side[-1], side[-1].hi)
    for one in side:
        # a ray may stop descending just at an outer end, which the piece there covers with its own
        keeps_ends = all(one.covers(end) or not piece.covers(end) for piece, end in ends)
        if keeps_ends and _proves(one, side[0].lo, side[-1].hi):
            return [replace(segment, ray=one.ray, violation=one.violation) for segment in side]
    return side


def _proves(segment: Segment, lo: Number, hi: Number) -> bool:
    """Return whether the proof of an unsolvable segment holds inside the whole interval."""
    strength = proof_strength(segment)
    assert strength is not None
    # just inside: a proof may vanish at an end, which a neighbour then covers
    ends = PerturbedMu(RATIONAL.number(lo), 1), PerturbedMu(RATIONAL.number(hi), -1)
    return all(end.sign_of(strength) > 0 for end in ends)
