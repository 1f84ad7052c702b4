"""The pivot log: what was pivoted, where, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, overload

from pqp.lcp.dictionary import Dictionary, dictionary_of
from pqp.lcp.problem import ParametricLCP, PerturbedMu
from pqp.linalg.affine import AffineNumber
from pqp.linalg.field import Number, is_infinite, shown


@dataclass(frozen=True)
class Pivot:
    """One pivot of the criss-cross method.

    Pair r was chosen because its basic variable, `r_value`, is negative at `place`, pair s because Λ_rs > 0.
    A diagonal pivot exchanges w and z of one pair, an exchange pivot those of two.
    """

    number: int
    place: PerturbedMu
    rule: str
    r: int
    r_value: AffineNumber
    s: int
    kind: Literal["diagonal", "exchange"]
    moved: tuple[int, ...]
    element: Number
    before: frozenset[int]
    after: frozenset[int]
    lcp: ParametricLCP

    def dictionary(self, when: Literal["before", "after"] = "before") -> Dictionary:
        """Return the whole dictionary before or after the pivot, computed on demand."""
        return dictionary_of(self.lcp, getattr(self, when))

    @property
    def leaving(self) -> tuple[str, ...]:
        """The names of the variables that leave the basis."""
        return tuple(self._name(i, i in self.before) for i in self.moved)

    @property
    def entering(self) -> tuple[str, ...]:
        """The names of the variables that enter the basis."""
        return tuple(self._name(i, i not in self.before) for i in self.moved)

    @property
    def r_reason(self) -> str:
        """Why r: in a sentence."""
        return f"{self._name(self.r, self.r in self.before)} = {self._shown_value()} < 0, {_RULES[self.rule]}"

    @property
    def s_reason(self) -> str:
        """Why s: in a sentence."""
        partner = self._name(self.s, self.s not in self.before)
        if self.s == self.r:
            return f"its own partner {partner} raises it"
        return f"raising {partner} raises it, {_RULES[self.rule]}"

    def _shown_value(self) -> str:
        constant, slope = self.r_value
        mu = self.place.mu
        if is_infinite(mu):
            return _sum(constant, slope, "mu")
        return _sum(constant + mu * slope, self.place.side * slope, "ε")

    def _name(self, i: int, is_z: bool) -> str:
        return (self.lcp.z_names if is_z else self.lcp.w_names)[i]

    def __str__(self) -> str:
        return (
            f"{self.number:4d}  mu = {self.place}: {self.kind} pivot on {shown(self.element)}, "
            f"{', '.join(self.leaving)} out, {', '.join(self.entering)} in\n"
            f"      r: {self.r_reason}\n"
            f"      s: {self.s_reason}\n"
            f"      basic z: {', '.join(self.lcp.z_names[i] for i in sorted(self.after)) or 'none'}"
        )


@dataclass(frozen=True)
class Crossing:
    """One event of the revised engine: items that change from one state to another at the same mu.

    `kind` says why: they reached the end of their range ("event"), or x moves along the optimal set at this
    mu ("jump"). `tied` counts all items that were at an end there; the pivots that decided between them come
    before this record.
    """

    number: int
    place: PerturbedMu
    kind: Literal["event", "jump"]
    names: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    tied: int

    def __str__(self) -> str:
        steps = zip(self.names, self.before, self.after, strict=True)
        moves = ", ".join(f"{name} from {old} to {new}" for name, old, new in steps)
        tie = f" ({self.tied} at an end)" if self.tied > 1 else ""
        return f"{self.number:4d}  mu = {self.place}: {self.kind}{tie}: {moves}"


Entry = Pivot | Crossing

_RULES = {
    "least-index": "the smallest index",
    "lifo": "the one that moved last",
    "most-often-selected": "the one chosen most often",
}


@dataclass(frozen=True)
class PivotLog(Sequence[Entry]):
    """All pivots and events of a trace, in order; print it to read them."""

    pivots: tuple[Entry, ...]

    def __len__(self) -> int:
        return len(self.pivots)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> "PivotLog": ...
    def __getitem__(self, index: int | slice) -> "Entry | PivotLog":
        return PivotLog(self.pivots[index]) if isinstance(index, slice) else self.pivots[index]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.pivots)

    def by_place(self) -> list[tuple[PerturbedMu, int]]:
        """Return where the method was started, in order, each with its number of pivots."""
        counts: list[tuple[PerturbedMu, int]] = []
        for pivot in self.pivots:
            if counts and counts[-1][0] == pivot.place:
                counts[-1] = (pivot.place, counts[-1][1] + 1)
            else:
                counts.append((pivot.place, 1))
        return counts

    def __str__(self) -> str:
        if not self.pivots:
            return "no pivots"
        first, lines = self.pivots[0], [str(pivot) for pivot in self.pivots]
        # free pairs are brought in before the method starts, by pivots that no rule chooses
        if isinstance(first, Pivot) and first.before:
            brought_in = ", ".join(first.lcp.z_names[i] for i in sorted(first.before))
            lines.insert(0, f"      before the first pivot: {brought_in} basic")
        return "\n".join(lines)


def numbered(pivots: Sequence[Entry]) -> PivotLog:
    """Return a log of the pivots, numbered from 1."""
    return PivotLog(tuple(replace(pivot, number=i) for i, pivot in enumerate(pivots, start=1)))


def _sum(constant: Number, slope: Number, symbol: str) -> str:
    if not slope:
        return shown(constant)
    size = -slope if slope < 0 else slope
    term = symbol if size == 1 else f"{shown(size)} {symbol}"
    if not constant:
        return f"-{term}" if slope < 0 else term
    return f"{shown(constant)} {'-' if slope < 0 else '+'} {term}"
