"""Arguments: what `ParametricQP` is handed, checked entry by entry, each message with the remedy.

Room: one argument in, its checked data out, or a `ProblemError`. Knows no problem.
May touch: `errors`, `field`, `matrices`, `affine`.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from pqp.affine import Affine, affine_vector, as_affine
from pqp.errors import ProblemError
from pqp.field import CLEARLY_POSITIVE, RATIONAL, Array, Number, as_numbers, infinite, is_infinite
from pqp.matrices import MatrixData, as_matrix

# The smallest and the largest normal number of float64.
SMALLEST, LARGEST = (float(end) for end in (np.finfo(float).tiny, np.finfo(float).max))


def as_rows(A: Any, n: int) -> MatrixData:
    """Return A as a matrix with n columns, without rows if there is none."""
    rows = as_matrix(np.zeros((0, n), dtype=np.int64) if A is None else A, "A")
    if rows.shape[1] != n:
        raise ProblemError(f"A must have {counted(n, 'column')} to match P, got shape {rows.shape}")
    return rows


def as_cost(c: Any, n: int) -> Affine:
    """Return c as finite affine data."""
    data = affine_vector(c, n, "c")
    _require_finite(data.constant, "c")
    _require_finite(data.slope, "c (its slope)")
    return data


def as_limit(value: Any, length: int, name: str, default: float) -> Affine:
    """Return one side's limits; the slope of an infinite one is 0."""
    data = affine_vector(default if value is None else value, length, name)
    _require_finite(data.slope, f"{name} (its slope)")
    wrong = np.flatnonzero(data.constant == -default)
    for i in wrong[:1]:
        raise ProblemError(
            f"{name}[{i}] is {data.constant[i]}, which no value satisfies; use {default} for no limit"
        )
    return Affine(data.constant, np.where(infinite(data.constant), 0, data.slope))


def as_penalty(value: Any, length: int) -> Affine:
    """Return the penalties of rows, infinite where none is given."""
    if isinstance(value, Sequence):
        value = [np.inf if entry is None else entry for entry in value]
    data = as_limit(value, length, "penalty", np.inf)
    negative = np.flatnonzero((data.slope == 0) & (data.constant < 0))
    for i in negative[:1]:
        raise ProblemError(
            f"penalty[{i}] is {data.constant[i]}: a negative penalty rewards violation without end"
        )
    return data


def forbid_limits_without_rows(*given: Any) -> None:
    """Raise if limits or penalties are given without rows."""
    for name, value in zip(("row_lower", "row_upper", "penalty"), given, strict=True):
        if value is not None and as_affine(value, name).shape != (0,):
            raise ProblemError(f"{name} is given, but there are no rows: A is missing")


def forbid_idle_penalties(penalty: Affine, row_lower: Affine, row_upper: Affine) -> None:
    """A row that nothing can violate has no use for a penalty: more likely its limit was forgotten."""
    given = ~infinite(penalty.constant)
    open_ended = infinite(row_lower.constant) & infinite(row_upper.constant)
    for i in np.flatnonzero(given & open_ended)[:1]:
        raise ProblemError(
            f"penalty[{i}] is {penalty[i]}, but row {i} has no limit to violate; give row_lower[{i}] or "
            f"row_upper[{i}], or penalty None"
        )


def as_constant(value: Any) -> tuple[Number, Number, Number]:
    """Return k0, k1, k2 of the constant k0 + k1 mu + k2 mu²."""
    data = as_affine(value, "constant")
    if data.shape == ():
        numbers = as_numbers([data.constant[()], data.slope[()], 0], "constant")
    elif data.shape == (3,) and not np.any(data.slope != 0):
        numbers = data.constant
    else:
        raise ProblemError(
            f"constant must be one number, affine data or three numbers, got shape {data.shape}"
        )
    _require_finite(numbers, "constant")
    k0, k1, k2 = (
        number if isinstance(number, float) else RATIONAL.number(number) for number in numbers.tolist()
    )
    return k0, k1, k2


def as_labels(names: Any, length: int, argument: str, stem: str) -> tuple[str, ...]:
    """Return labels that differ from one another, numbered ones if none are given."""
    if names is None:
        return tuple([f"{stem}{i}" for i in range(1, length + 1)])
    labels = tuple(str(name) for name in names)
    if isinstance(names, str) or len(labels) != length:
        raise ProblemError(f"{argument} must have {counted(length, 'label')}, got {names!r}")
    if len(set(labels)) < length:
        twice = min(label for label, times in Counter(labels).items() if times > 1)
        raise ProblemError(f"{argument} must differ from one another, but {twice!r} appears twice")
    return labels


def forbid_crossing(low: Affine, high: Affine, low_name: str, high_name: str) -> None:
    """Raise if two limits of equal slope exclude each other at every mu."""
    finite = ~infinite(low.constant) & ~infinite(high.constant)
    for i in np.flatnonzero(finite & (low.slope == high.slope) & (low.constant > high.constant))[:1]:
        raise ProblemError(
            f"{low_name}[{i}] = {low[i]} exceeds {high_name}[{i}] = {high[i]} at every mu: "
            f"no x can satisfy both; swap them or correct one"
        )


def forbid_crossing_within(low: Affine, high: Affine, rows: Array, interval: tuple[Number, Number]) -> None:
    """Raise if the limits of one of the rows exclude each other somewhere in an interval."""
    both = ~infinite(low.constant[rows]) & ~infinite(high.constant[rows])
    rows = rows[both & (low.slope[rows] != high.slope[rows])]
    if not len(rows):
        return
    doubtful = [_may_have_crossed(low[rows], high[rows], RATIONAL.number(mu)) for mu in interval]
    for i in rows[doubtful[0] | doubtful[1]]:
        gap, slope = (
            RATIONAL.number(upper[i]) - RATIONAL.number(lower[i])
            for lower, upper in ((low.constant, high.constant), (low.slope, high.slope))
        )
        if any(gap + RATIONAL.number(mu) * slope < 0 for mu in interval):
            raise ProblemError(
                f"row_lower[{i}] = {low[i]} and row_upper[{i}] = {high[i]} cross at mu = {-gap / slope}, and "
                f"row {i} is soft: trace an interval on one side, or write its limits as two soft rows"
            )


def _may_have_crossed(low: Affine, high: Affine, mu: Number) -> Array:
    """Tell which limits of different slopes may have crossed at mu: those that float64 is not sure about."""
    parts = (high.constant, -low.constant, high.slope, -low.slope)
    if is_infinite(mu):
        return np.asarray(high.slope < low.slope if mu > 0 else high.slope > low.slope, dtype=bool)
    if any(part.dtype == object for part in parts) or not _is_ordinary(mu):
        return np.ones(low.shape, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is not sure
        terms = np.array([parts[0], parts[1], float(mu) * parts[2], float(mu) * parts[3]])
        return ~(terms.sum(axis=0) > CLEARLY_POSITIVE * np.abs(terms).sum(axis=0) + SMALLEST)


def _is_ordinary(mu: Number) -> bool:
    """Tell whether a number is rounded to float64 with a small relative error."""
    return mu == 0 or SMALLEST <= mu <= LARGEST or SMALLEST <= -mu <= LARGEST


def _require_finite(values: Array, name: str) -> None:
    for i in np.flatnonzero(infinite(values))[:1]:
        raise ProblemError(f"{name}[{i}] is {values[i]}: it must be finite")


def counted(number: int, word: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"
