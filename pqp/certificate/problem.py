"""The problem of a document, every number exact and convexity proved.

Room: the `problem` block of a document in, exact matrices and limits out. Shares no code with the engines.
May touch: `errors`, python-flint, `certificate.reading`, `certificate.lines`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from flint import fmpq, fmpq_mat

from pqp.certificate.lines import Limit, Line, column, part
from pqp.certificate.reading import entry, items, matrix, number, numbers, shown
from pqp.errors import CertificateError


def limits(datum: Any, length: int, infinite: str, place: str) -> list[Limit]:
    """Return affine limits, None where the constant is the string `infinite` (then the slope must be 0)."""
    constants = items(entry(datum, "constant", place), length, f"{place}.constant")
    slopes = numbers(entry(datum, "slope", place), length, f"{place}.slope")
    found: list[Limit] = []
    for i, (constant, slope) in enumerate(zip(constants, slopes, strict=True)):
        is_infinite = isinstance(constant, str) and constant == infinite
        if is_infinite and slope:
            raise CertificateError(f"{place}.slope[{i}] must be 0 if infinite, got {shown(slope)}")
        found.append(None if is_infinite else Line(number(constant, f"{place}.constant[{i}]"), slope))
    return found


@dataclass(frozen=True)
class Hessian:
    """P = left core leftᵀ, where an absent factor is the identity; P itself is never formed."""

    left: fmpq_mat | None
    core: fmpq_mat | None

    def times(self, columns: fmpq_mat) -> fmpq_mat:
        """Return P times some columns."""
        inner = columns if self.left is None else self.left.transpose() * columns
        inner = inner if self.core is None else self.core * inner
        return inner if self.left is None else self.left * inner

    def block(self, kept: Sequence[int]) -> fmpq_mat:
        """Return the rows and columns of P with the given indices."""
        if self.left is None:
            assert self.core is not None
            return part(self.core, kept, kept)
        left = part(self.left, kept, range(self.left.ncols()))
        return (left if self.core is None else left * self.core) * left.transpose()


def require_convex(core: fmpq_mat, place: str) -> None:
    r"""Raise unless the matrix is symmetric and positive semidefinite.

    The eigenvalues of a symmetric matrix are real, so they are all nonnegative if and only if the
    coefficients :math:`(-1)^k e_k` of its characteristic polynomial alternate weakly in sign.
    """
    size = core.nrows()
    for i, j in combinations(range(size), 2):
        if core[i, j] != core[j, i]:
            pair = f"{shown(core[i, j])} at [{i}][{j}] and {shown(core[j, i])} at [{j}][{i}]"
            raise CertificateError(f"{place} must be symmetric, got {pair}")
    for power, coefficient in enumerate(core.charpoly().coeffs()):
        if coefficient * (-1) ** (size - power) < 0:
            raise CertificateError(
                f"{place} must be positive semidefinite: the coefficient of t^{power} in its characteristic "
                f"polynomial has the wrong sign, {shown(coefficient)}"
            )


def read_hessian(value: Any, size: int, place: str) -> Hessian:
    """Return P from its rows, from {"gram": F}, or from {"pair_gram": {"K": K, "pairs": pairs}}."""
    if isinstance(value, Mapping) and "gram" in value:
        return Hessian(matrix(value["gram"], (size, None), f"{place}.gram"), None)
    if isinstance(value, Mapping):
        return _read_pair_gram(entry(value, "pair_gram", place), size, f"{place}.pair_gram")
    core = matrix(value, (size, size), place)
    require_convex(core, place)
    return Hessian(None, core)


def _read_pair_gram(value: Any, size: int, place: str) -> Hessian:
    count = len(items(entry(value, "K", place), None, f"{place}.K"))
    core = matrix(value["K"], (count, count), f"{place}.K")
    require_convex(core, f"{place}.K")
    left = fmpq_mat(size, count)
    for r, pair in enumerate(items(entry(value, "pairs", place), size, f"{place}.pairs")):
        for index, sign in zip(items(pair, 2, f"{place}.pairs[{r}]"), (1, -1), strict=True):
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
                raise CertificateError(
                    f"{place}.pairs[{r}] must hold indices below {count}, got {shown(index, 'null')}"
                )
            left[r, index] += sign
    return Hessian(left, core)


@dataclass(frozen=True)
class Problem:
    """The problem of a document, every number exact; `c` has the columns constant and slope."""

    P: Hessian
    c: fmpq_mat
    A: fmpq_mat
    lower: list[Limit]
    upper: list[Limit]
    row_lower: list[Limit]
    row_upper: list[Limit]
    penalty: list[Limit]
    constant: list[fmpq]

    @property
    def hard_limits(self) -> dict[str, list[Limit]]:
        """The limits that no x may violate: those of soft rows are left out."""
        is_hard = [penalty is None for penalty in self.penalty]
        row_lower = [limit if hard else None for limit, hard in zip(self.row_lower, is_hard, strict=True)]
        row_upper = [limit if hard else None for limit, hard in zip(self.row_upper, is_hard, strict=True)]
        return {"row_lower": row_lower, "row_upper": row_upper, "lower": self.lower, "upper": self.upper}

    def gradient(self, x: fmpq_mat, y: fmpq_mat) -> fmpq_mat:
        """Return P x + c − Aᵀy."""
        return self.P.times(x) + self.c - self.A.transpose() * y

    def system(self, free: Sequence[int], held: Sequence[int]) -> fmpq_mat:
        """Return the matrix [[P, −Aᵀ], [A, 0]] restricted to free variables and held rows."""
        active = part(self.A, held, free)
        upper = zip(self.P.block(free).tolist(), (-active).transpose().tolist(), strict=True)
        rows = [[*row, *side] for row, side in upper]
        rows += [[*row, *[fmpq(0)] * len(held)] for row in active.tolist()]
        return fmpq_mat(len(rows), len(rows), [v for row in rows for v in row])

    def objective(self, x: fmpq_mat, mu: fmpq) -> fmpq:
        """Return ½ xᵀP x + c(mu)ᵀx + k(mu) + Σ penalty · violation for one column x."""
        slope = self.P.times(x) / 2 + self.c * column([fmpq(1), mu])
        value = (x.transpose() * slope)[0, 0] + sum(k * mu**power for power, k in enumerate(self.constant))
        for i, activity in enumerate((self.A * x).entries()):
            lower, upper, penalty = self.row_lower[i], self.row_upper[i], self.penalty[i]
            if penalty is not None:
                below = fmpq(0) if lower is None else lower.at(mu) - activity
                above = fmpq(0) if upper is None else activity - upper.at(mu)
                value += penalty.at(mu) * max(fmpq(0), below, above)
        return value


def read_problem(data: Any, place: str = "problem") -> Problem:
    """Return the problem after checking shapes and that P is symmetric and positive semidefinite."""
    cost = entry(data, "c", place)
    constant = numbers(entry(cost, "constant", f"{place}.c"), None, f"{place}.c.constant")
    slope = numbers(entry(cost, "slope", f"{place}.c"), len(constant), f"{place}.c.slope")
    n, rows = len(constant), items(data.get("A", []), None, f"{place}.A")

    def read_limits(key: str, length: int, infinite: str) -> list[Limit]:
        return limits(data[key], length, infinite, f"{place}.{key}") if key in data else [None] * length

    return Problem(
        P=read_hessian(entry(data, "P", place), n, f"{place}.P"),
        c=fmpq_mat(n, 2, [v for pair in zip(constant, slope, strict=True) for v in pair]),
        A=matrix(rows, (None, n), f"{place}.A"),
        lower=read_limits("lower", n, "-inf"),
        upper=read_limits("upper", n, "inf"),
        row_lower=read_limits("row_lower", len(rows), "-inf"),
        row_upper=read_limits("row_upper", len(rows), "inf"),
        penalty=read_limits("penalty", len(rows), "inf"),
        constant=numbers(data.get("constant", [0, 0, 0]), 3, f"{place}.constant"),
    )
