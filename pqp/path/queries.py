"""Queries: where a variable has a value, where a criterion is smallest, the path and its states as tables."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pqp.errors import NoSolutionError, ProblemError, must_be
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import Array, Field, Number, as_numbers, float_number, infinite, is_infinite
from pqp.linalg.matrices import dense_matrix
from pqp.records.segment import Segment, product
from pqp.records.states import WORDS

if TYPE_CHECKING:
    import pandas as pd

    from pqp.path.path import Path


Ends = tuple[Number, Number]
# A message lists at most this many names.
MOST_NAMED = 20


@dataclass(frozen=True)
class Minimum:
    """The smallest value of a criterion along a path, and the smallest mu at which it is taken."""

    mu: Number
    value: Number


def evaluate(owners: Sequence[Segment], mus: Array, quantity: str, field: Field) -> Array:
    """Return x, y, z or the objective at many mu, each on its own segment, as one array operation."""
    for segment, mu in zip(owners, mus, strict=True):
        if segment.status != "optimal":
            getattr(segment.at(mu), quantity)  # raises and says why
    parts = [getattr(segment, quantity) for segment in owners]
    if not parts:
        return field.array(np.zeros(0))
    powers = [np.stack([np.asarray(part[k]) for part in parts]) for k in range(len(parts[0]))]
    column = mus.reshape(-1, *[1] * (powers[0].ndim - 1))
    return field.array(sum(power * column**k for k, power in enumerate(powers)))


def where(path: "Path", value: Number, variable: str | int | None, row: str | int | None) -> tuple[Ends, ...]:
    """Return the intervals of mu, ascending, on which a variable or a row's activity equals a value."""
    weights = _weights(path, variable, row)
    _require_known(path)
    found: list[Ends] = []
    for segment, x in _optimal(path):
        found += _solve_linear((weights @ x[0], weights @ x[1]), value, segment, path.arithmetic)
    for jump in path.jumps:
        ends = sorted([weights @ jump.left.x - value, weights @ jump.right.x - value])
        if ends[0] <= 0 <= ends[1]:
            found.append((jump.mu, jump.mu))
    return _joined(found)


def minimize(path: "Path", linear: Any, quadratic: Any) -> Minimum:
    """Return where ½xᵀHx + gᵀx is smallest along the path, its one-sided limits at jumps included."""
    H, g = _criterion(path, linear, quadratic)
    _require_known(path)
    candidates = [
        _vertex(product(x.mapped(lambda part: H @ part), x) / 2 + product(AffineArray(g, 0 * g), x), segment)
        for segment, x in _optimal(path)
    ]
    if not candidates:
        raise NoSolutionError("the path has no optimal piece to minimise over")
    return min(candidates, key=lambda minimum: (minimum.value, minimum.mu))


def to_frame(path: "Path") -> "pd.DataFrame":
    """Return one row for each finite end of each segment."""
    import pandas as pd  # takes long to import: only those who want a table wait for it

    rows: list[list[Any]] = []
    for number, segment in enumerate(path.segments):
        for mu in (segment.lo, segment.hi):
            if is_infinite(mu):
                continue
            values: list[Any] = [None] * (1 + path.problem.n + path.problem.m)
            if segment.status == "optimal":
                point = segment.at(mu)
                values = [point.objective, *point.x, *point.y]
            rows.append([number, mu, segment.status, *values])
    names = [*path.problem.names, *(f"y[{name}]" for name in path.problem.row_names)]
    return pd.DataFrame(rows, columns=["piece", "mu", "status", "objective", *names])


def state_counts(segments: Sequence[Segment]) -> "pd.DataFrame":
    """Return lo and hi of every optimal segment and how many variables, and rows, are in each state."""
    import pandas as pd  # takes a third of a second: only those who want a table wait for it

    optimal = [segment for segment in segments if segment.status == "optimal"]
    problem = segments[0].problem if segments else None
    # where the counts of the states of every item begin: of variables, then of rows
    begin = np.repeat([0, len(WORDS)], [problem.n, problem.m] if problem else 0)
    table = [np.bincount(begin + segment.codes(), minlength=2 * len(WORDS)) for segment in optimal]
    names = [*WORDS, *(f"rows {word}" for word in WORDS)]
    frame = pd.DataFrame(np.array(table, dtype=np.int64).reshape(-1, len(names)), columns=names)
    frame.insert(0, "lo", [float_number(segment.lo) for segment in optimal])
    frame.insert(1, "hi", [float_number(segment.hi) for segment in optimal])
    return frame


def _require_known(path: "Path") -> None:
    """Raise where a part of the path is unverified: nobody knows whether the answer lies there."""
    for segment in path.segments:
        if segment.status == "unverified":
            raise NoSolutionError(f"{segment.described}: the answer may lie there", segment)


def _optimal(path: "Path") -> Iterator[tuple[Segment, AffineArray]]:
    """Yield the optimal segments, each with its x."""
    for segment in path.segments:
        if segment.status == "optimal" and segment.x is not None:
            yield segment, segment.x


def _weights(path: "Path", variable: str | int | None, row: str | int | None) -> Array:
    if (variable is None) == (row is None):
        raise ProblemError("name either a variable or a row", argument="variable")
    if variable is not None:
        j = _index(variable, path.problem.names, "variable")
        return path.arithmetic.array((np.arange(path.problem.n) == j).astype(int))
    i = _index(row, path.problem.row_names, "row")
    return path.arithmetic.array(dense_matrix(path.problem.A[[i]])[0])


def _index(name: str | int | None, names: tuple[str, ...], kind: str) -> int:
    if isinstance(name, str) and name in names:
        return names.index(name)
    if isinstance(name, int | np.integer) and 0 <= name < len(names):
        return int(name)
    expected = f"one of {some_names(names, MOST_NAMED)} or an index below {len(names)}"
    raise must_be(kind, expected, repr(name))


def some_names(names: Sequence[str], most: int) -> str:
    """Return the first names, for a message."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _solve_linear(line: tuple[Any, Any], value: Number, segment: Segment, field: Field) -> list[Ends]:
    """Return where constant + slope·mu has a value within a segment."""
    constant, slope = line
    ends = [mu for mu in (segment.lo, segment.hi) if not is_infinite(mu)]
    # the size of the numbers that are compared, which exact arithmetic does not need
    terms = [constant, value, *(slope * mu for mu in ends)] if field.zero else []
    size = max((abs(float(term)) for term in terms), default=1.0)
    # a slope counts as zero if the whole segment changes the value by rounding error only: a root of such
    # a function would be anywhere
    width = ends[-1] - ends[0] if len(ends) == 2 else 0
    if field.sign(slope * (width or 1), size) == 0:
        return [(segment.lo, segment.hi)] if field.sign(constant - value, size) == 0 else []
    root = field.number((value - constant) / slope)
    scale = max(1.0, abs(float(root))) if field.zero else 1.0
    if field.sign(segment.lo - root, scale) > 0 or field.sign(root - segment.hi, scale) > 0:
        return []
    nearest = min(max(root, segment.lo), segment.hi)  # a float root at a breakpoint may miss both pieces
    return [(nearest, nearest)]


def _joined(found: list[Ends]) -> tuple[Ends, ...]:
    """Return the intervals in order, those that touch taken together."""
    result: list[Ends] = []
    for lo, hi in sorted(found):
        if result and lo <= result[-1][1]:
            result[-1] = (result[-1][0], max(hi, result[-1][1]))
        else:
            result.append((lo, hi))
    return tuple(result)


def _criterion(path: "Path", linear: Any, quadratic: Any) -> tuple[Array, Array]:
    n = path.problem.n
    if linear is None and quadratic is None:
        raise ProblemError("give a linear criterion, a quadratic one, or both", argument="linear")
    H = as_numbers(np.zeros((n, n)) if quadratic is None else quadratic, "quadratic")
    g = as_numbers(np.zeros(n) if linear is None else linear, "linear")
    if H.shape != (n, n) or g.shape != (n,):
        message = "linear must have {expected}, got {found}"
        expected = f"{n} entries and quadratic be {n} x {n}"
        found = f"{g.shape} and {H.shape}"
        raise ProblemError(message, argument="linear, quadratic", expected=expected, found=found)
    if infinite(H).any() or infinite(g).any():
        raise ProblemError("linear and quadratic must be {expected}", argument="linear", expected="finite")
    return path.arithmetic.array(H), path.arithmetic.array(g)


def _vertex(coefficients: Array, segment: Segment) -> Minimum:
    """Return the minimum of a quadratic over a segment: at an end or at its vertex."""
    a0, a1, a2 = coefficients
    candidates = [segment.lo, segment.hi]
    if a2 > 0 and segment.lo < -a1 / (2 * a2) < segment.hi:
        candidates.append(-a1 / (2 * a2))
    number = segment.arithmetic.number
    values = [Minimum(number(mu), number(_quadratic(a0, a1, a2, mu))) for mu in candidates]
    return min(values, key=lambda minimum: (minimum.value, minimum.mu))


def _quadratic(a0: Number, a1: Number, a2: Number, mu: Number) -> Number:
    """Return the value, or the limit at an infinite mu."""
    if not is_infinite(mu):
        return a0 + mu * (a1 + mu * a2)
    if a2:
        return math.copysign(math.inf, a2)
    return a0 if not a1 else math.copysign(math.inf, a1 if mu > 0 else -a1)
