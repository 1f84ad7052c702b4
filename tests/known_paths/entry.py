"""What a catalogue entry knows: a problem, and facts about its path that do not come from our engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import ModuleType
from typing import Any

import pqp

INFINITY = float("inf")
F = Fraction


@dataclass(frozen=True, eq=False)
class Entry:
    """A named problem with what is known of its path.

    `bends` are the interior mu at which x(mu), unique elsewhere, changes its slope, jumps, begins or ends;
    None says that x is not unique on some piece. `kinks` are the mu at which the optimal value changes its
    formula. `statuses` default to optimal throughout; an optimal interval contains its ends. `derivation` is
    the proof.
    """

    name: str
    source: str
    derivation: str
    build: Callable[[], pqp.ParametricQP]
    interval: tuple[Any, Any]
    bends: tuple[Any, ...] | None
    statuses: tuple[tuple[Any, Any, str], ...]
    jumps: tuple[Any, ...] = ()
    kinks: tuple[Any, ...] | None = None
    x: Mapping[Any, tuple[Any, ...]] = field(default_factory=dict)
    values: Mapping[Any, Any] = field(default_factory=dict)


def entry(
    source: str,
    interval: tuple[Any, Any],
    bends: tuple[Any, ...] | None,
    statuses: tuple[tuple[Any, Any, str], ...] | None = None,
    **facts: Any,
) -> Callable[[Callable[[], pqp.ParametricQP]], Entry]:
    """Turn a function that builds a problem, with the derivation as its docstring, into an entry."""

    def wrap(build: Callable[[], pqp.ParametricQP]) -> Entry:
        name, derivation = build.__name__.replace("_", " "), build.__doc__ or ""
        throughout = ((*interval, "optimal"),)
        return Entry(name, source, derivation, build, interval, bends, statuses or throughout, **facts)

    return wrap


def entries_of(*modules: ModuleType) -> dict[str, Entry]:
    """Return the entries that modules define, by name, in the order they are written in."""
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Entry)]
    return {item.name: item for item in found}
