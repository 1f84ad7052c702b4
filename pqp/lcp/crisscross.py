"""The criss-cross method: from any dictionary to one whose values are nonnegative, or to a proof.

Paper, section 3.2: r = an index with a negative value; if no Λ_rj is positive the row proves
infeasibility; else s = an index with Λ_rs > 0, and a diagonal or an exchange pivot follows.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from pqp.lcp.dictionary import Dictionary
from pqp.lcp.pivot_log import Pivot
from pqp.lcp.problem import PerturbedMu

Ranks = list[int]
# r, s and the pairs to pivot on.
Choice = tuple[int, int, tuple[int, ...]]


@dataclass(frozen=True)
class Rule:
    """How an index is chosen among several: highest rank first, then smallest index.

    Ranks start at 0 and are updated after every pivot. Least index leaves them alone; the other
    two are s-monotone rules (Csizmadia, Illés and Nagy 2013), finite for sufficient matrices.
    `paper` pivots on Λ_ss alone where the paper does, instead of exchanging r and s.
    """

    name: str
    rank: Callable[[int, int], int]
    paper: bool = False


LEAST_INDEX = Rule("least-index", lambda old, step: 0, paper=True)
LIFO = Rule("lifo", lambda old, step: step)
MOST_OFTEN = Rule("most-often-selected", lambda old, step: old + 1)
RULES = {rule.name: rule for rule in (LEAST_INDEX, LIFO, MOST_OFTEN)}


@dataclass(frozen=True)
class Solved:
    """Every basic value is nonnegative at the perturbed mu: a complementary solution."""

    dictionary: Dictionary


@dataclass(frozen=True)
class Infeasible:
    """The basic variable of `row` has a forbidden `sign` for every nonnegative choice of the others.

    The sign is -1, or either one if the variable must vanish (the w of a free pair).
    """

    dictionary: Dictionary
    row: int
    sign: int


@dataclass(frozen=True)
class Broken:
    """Λ has signs no sufficient matrix has: Λ_rr < 0, or Λ_rs > 0 with Λ_rr = 0 and Λ_sr ≥ 0."""

    dictionary: Dictionary
    r: int
    s: int


@dataclass(frozen=True)
class Cycled:
    """A basis came back: impossible for a sufficient matrix in exact arithmetic. `bases` is the cycle."""

    dictionary: Dictionary
    bases: tuple[frozenset[int], ...]


Outcome = Solved | Infeasible | Broken | Cycled


def criss_cross(
    dictionary: Dictionary, place: PerturbedMu, rule: Rule = LEAST_INDEX
) -> Generator[Pivot, None, Outcome]:
    """Yield the pivots of the criss-cross method at a perturbed mu, and return how it ended."""
    ranks = [0] * dictionary.size
    trail: list[frozenset[int]] = []
    seen: set[frozenset[int]] = set()
    while True:
        # no rule cycles on a sufficient matrix, but M may not be sufficient, and rounding may reverse a sign
        if dictionary.basis in seen:
            return Cycled(dictionary, tuple(trail[trail.index(dictionary.basis) :]))
        outcome = _outcome_or_pivot(dictionary, place, rule, ranks)
        if not isinstance(outcome, tuple) and dictionary.age:
            # a float dictionary collects rounding errors: no outcome is accepted before it is recomputed
            dictionary = dictionary.fresh()
            outcome = _outcome_or_pivot(dictionary, place, rule, ranks)
        if not isinstance(outcome, tuple):
            return outcome
        seen.add(dictionary.basis)
        trail.append(dictionary.basis)
        pivot = _record(dictionary, place, rule, outcome, number=len(trail))
        dictionary = dictionary.pivot(pivot.moved)
        for i in pivot.moved:
            ranks[i] = rule.rank(ranks[i], len(trail))
        yield pivot


def _outcome_or_pivot(
    dictionary: Dictionary, place: PerturbedMu, rule: Rule, ranks: Ranks
) -> Outcome | Choice:
    """Return the outcome, or r, s and the pairs to pivot on."""
    values = dictionary.value_signs(place)
    for i, sign in enumerate(values):
        # no pivot can change this value, so it must be zero by itself
        if sign and dictionary.idle(i):
            return Infeasible(dictionary, i, sign)
    negative = [i for i, sign in enumerate(values) if sign < 0]
    if not negative:
        return Solved(dictionary)
    r = _choose(negative, ranks)
    row = dictionary.row_signs(r)
    if all(sign <= 0 for sign in row):
        return Infeasible(dictionary, r, -1)
    # its own partner first: a diagonal pivot on Λ_rr > 0 makes the value positive at once
    s = r if row[r] > 0 else _choose([j for j, sign in enumerate(row) if sign > 0], ranks)
    return _pivot_pairs(dictionary, rule, r, s, row[r])


def _pivot_pairs(dictionary: Dictionary, rule: Rule, r: int, s: int, diagonal: int) -> Broken | Choice:
    # pivots keep a matrix sufficient, and the diagonal of a sufficient matrix is nonnegative
    if diagonal < 0:
        return Broken(dictionary, r, r)
    if s == r:
        return r, s, (r,)
    if rule.paper and s > r and (own := dictionary.diagonal_sign(s)):
        return (r, s, (s,)) if own > 0 else Broken(dictionary, s, s)
    # with Λ_rr = 0 a sufficient matrix has Λ_rs and Λ_sr of opposite signs
    if dictionary.row_signs(s)[r] >= 0:
        return Broken(dictionary, r, s)
    return r, s, (r, s)


def _choose(candidates: Sequence[int], ranks: Ranks) -> int:
    return max(candidates, key=lambda i: (ranks[i], -i))


def _record(
    dictionary: Dictionary,
    place: PerturbedMu,
    rule: Rule,
    choice: Choice,
    number: int,
) -> Pivot:
    r, s, moved = choice
    row, column = (moved[0], moved[0]) if len(moved) == 1 else (r, s)
    return Pivot(
        number=number,
        place=place,
        rule=rule.name,
        r=r,
        r_value=dictionary.value(r),
        s=s,
        kind="diagonal" if len(moved) == 1 else "exchange",
        moved=moved,
        element=dictionary.entry(row, column),
        before=dictionary.basis,
        after=dictionary.basis ^ set(moved),
        lcp=dictionary.lcp,
    )
