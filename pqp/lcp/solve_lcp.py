"""The criss-cross method on its own: `solve_lcp` solves any linear complementarity problem."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pqp.errors import EXACT_SETTING, InternalError, NumericalTroubleError, ProblemError
from pqp.lcp.crisscross import RULES, Cycled, Infeasible, Outcome, Solved, criss_cross
from pqp.lcp.dictionary import Dictionary, first_dictionary
from pqp.lcp.pivot_log import Pivot, PivotLog
from pqp.lcp.problem import PerturbedMu, spread, unnamed_lcp
from pqp.lcp.proofs import NotSufficient, disprove_sufficiency, is_obstruction, row_vector, unconfirmed
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import (
    FIELDS,
    FLOAT,
    RATIONAL,
    Arithmetic,
    Array,
    as_numbers,
    entry_name,
    infinite,
)
from pqp.linalg.tolerances import WIDE_RANGE


@dataclass(frozen=True, eq=False)
class LCPAnswer:
    """What the criss-cross method found out about w = Mz + q, w ≥ 0, z ≥ 0, wᵀz = 0.

    "solved": z and w. "infeasible": `farkas` t ≥ 0 with Mᵀt ≤ 0 and tᵀq < 0, so no w, z ≥ 0 satisfy
    the equations at all. "not sufficient": `witness` proves that M is outside the class the method
    is made for. Both proofs are exact rationals in either arithmetic.
    """

    status: Literal["solved", "infeasible", "not sufficient"]
    log: PivotLog
    z: Array | None = None
    w: Array | None = None
    farkas: Array | None = None
    witness: NotSufficient | None = None

    def __repr__(self) -> str:
        return f"LCPAnswer({self.status!r}, {len(self.log)} pivots)"


def solve_lcp(M: object, q: object, arithmetic: Arithmetic = "exact", rule: str = "least-index") -> LCPAnswer:
    """Solve w = Mz + q, w ≥ 0, z ≥ 0, wᵀz = 0 by the criss-cross method; it always ends.

    >>> solve_lcp([[2, 1], [1, 2]], [-5, -6]).z
    array([Fraction(4, 3), Fraction(7, 3)], dtype=object)
    >>> solve_lcp([[0, -1], [1, 0]], [1, -1])
    LCPAnswer('solved', 1 pivots)
    >>> solve_lcp([[-1]], [-1])
    LCPAnswer('infeasible', 0 pivots)
    """
    for argument, value, known in (("arithmetic", arithmetic, FIELDS), ("rule", rule, RULES)):
        if value not in known:
            raise ProblemError(argument=argument, found=repr(value), expected=f"one of {', '.join(known)}")
    matrix, vector = _checked(M, q)
    lcp, exact = (
        unnamed_lcp(field.array(matrix), AffineArray(vector, 0 * vector).mapped(field.array), field)
        for field in (FIELDS[arithmetic], RATIONAL)
    )
    pivots, outcome = run(
        criss_cross(first_dictionary(lcp), PerturbedMu(0), replace(RULES[rule], paper=False))
    )
    log, dictionary = PivotLog(tuple(pivots)), outcome.dictionary
    if isinstance(outcome, Solved):
        # over a wide range of sizes the signs of small floats are rounding error, and no proof
        is_doubtful = lcp.field is FLOAT and spread(lcp) > WIDE_RANGE
        if is_doubtful and unconfirmed(exact, dictionary.basis, (0, 0)) is not None:
            raise _trouble(dictionary, "the solution is not confirmed in exact arithmetic")
        return LCPAnswer("solved", log, z=dictionary.z().constant, w=dictionary.w().constant)
    # proofs are computed from the basis in exact arithmetic: a rounded one would prove nothing
    if isinstance(outcome, Infeasible):
        t = row_vector(exact, dictionary.basis, outcome.row)
        if is_obstruction(exact, t) and t @ exact.q.constant < 0:
            return LCPAnswer("infeasible", log, farkas=t)
        raise _trouble(dictionary, "an infeasible row is not confirmed in exact arithmetic")
    bases = outcome.bases if isinstance(outcome, Cycled) else (dictionary.basis,)
    witness = disprove_sufficiency(exact, bases, exact.q.constant)
    if witness is None:
        raise _trouble(dictionary, "the method broke down, but M was not shown to lack sufficiency")
    return LCPAnswer("not sufficient", log, witness=witness)


def run(steps: Generator[Pivot, None, Outcome]) -> tuple[list[Pivot], Outcome]:
    """Return all pivots of the criss-cross method and its outcome."""
    pivots: list[Pivot] = []
    while True:
        try:
            pivots.append(next(steps))
        except StopIteration as stop:
            return pivots, stop.value


def _checked(M: object, q: object) -> tuple[Array, Array]:
    matrix, vector = as_numbers(M, "M"), as_numbers(q, "q")
    if vector.ndim != 1 or matrix.shape != (len(vector), len(vector)):
        found = f"shapes {matrix.shape} and {vector.shape}"
        raise ProblemError(argument="M and q", found=found, expected="k x k and of length k")
    for name, values in (("M", matrix), ("q", vector)):
        for index in np.argwhere(infinite(values))[:1]:
            found = str(values[tuple(index)])
            raise ProblemError(argument=entry_name(name, index), found=found, expected="finite")
    return matrix, vector


def _trouble(dictionary: Dictionary, what: str) -> Exception:
    if dictionary.lcp.field is RATIONAL:
        return InternalError(what)
    remedy = "rounding errors are too large: use {setting}"
    return NumericalTroubleError(what, remedy=remedy, setting=EXACT_SETTING)
