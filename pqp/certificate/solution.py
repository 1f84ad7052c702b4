"""The solution that states stand for: exact lines, worked out when asked for.

Room: a ledger of states in; x, y, A x and the bound multipliers out, as lines. Judges nothing.
May touch: `errors`, python-flint, `certificate.lines`, `certificate.problem`, `certificate.states`,
`certificate.core`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from pqp.certificate.core import System, Unknowns, is_separate, solve_separate
from pqp.certificate.hessian import Product
from pqp.certificate.lines import ZERO, Block, Line, Vector
from pqp.certificate.problem import Problem
from pqp.certificate.states import Ledger
from pqp.errors import CertificateError


@dataclass(frozen=True, eq=False)
class Entries(Mapping[int, Line]):
    """The entries of x that may differ from 0: known ones as they are, solved ones as a block."""

    known: Mapping[int, Line]
    solved: Block

    def __getitem__(self, j: int) -> Line:
        return self.solved[j] if j in self.solved else self.known[j]

    def __iter__(self) -> Iterator[int]:
        yield from self.known
        yield from self.solved

    def __len__(self) -> int:
        return len(self.known) + len(self.solved)

    def meet(self, other: "Entries", mu: fmpq) -> bool:
        """Tell whether two vectors are the same at mu."""
        changed = set(self.solved.places) ^ set(other.solved.places)
        if self.known != other.known:
            changed |= self.known.keys() | other.known.keys()
        pairs = ((self.get(j, ZERO), other.get(j, ZERO)) for j in changed)
        is_met = all(before is after or before.at(mu) == after.at(mu) for before, after in pairs)
        return is_met and self.solved.meets(other.solved, mu)


@dataclass(frozen=True)
class Solution:
    """x and y of a piece as lines; `solved_x` and `solved_y` are the unknowns, zero or not.

    It looks into the ledger whenever asked, so it is good until the states change; `x` stays good.
    """

    ledger: Ledger
    solved_x: Block
    solved_y: Block

    @property
    def problem(self) -> Problem:
        """The problem it solves."""
        return self.ledger.problem

    @cached_property
    def x(self) -> Entries:
        """x by its entries."""
        return Entries(dict(self.ledger.x), self.solved_x)

    def x_of(self, j: int) -> Line:
        """Return the value of a variable."""
        return self.x.get(j, ZERO)

    def y_of(self, i: int) -> Line:
        """Return the multiplier of a row."""
        return self.solved_y.get(i) or self.ledger.y.get(i, ZERO)

    def z_of(self, j: int) -> Line:
        """Return the multiplier of a bound, P x + c − Aᵀy."""
        if j in self.solved_x:
            return ZERO
        total = self.ledger.gradient[j] + self._curvature[j]
        column = self.problem.A.column(j)
        for i in column.keys() & self._lines_y.keys():
            total -= self._lines_y[i].scaled(column[i])
        return total

    def activity(self, i: int) -> Line:
        """Return the value of a row."""
        known = self.ledger.targets.get(i)
        if known is not None:
            return known
        row = self.problem.A.integer_row(i)
        moving = self.solved_x.vector.dot(row)
        return moving + self._known_vector.dot(row) if self.ledger.x else moving

    @cached_property
    def _lines_y(self) -> dict[int, Line]:
        return dict(self.solved_y)

    @cached_property
    def _known_vector(self) -> Vector:
        return Vector.of(self.ledger.x)

    @cached_property
    def _curvature(self) -> Product:
        inner = dict(self.ledger.inner)
        for k, line in self.problem.inner(self.solved_x).items():
            inner[k] = inner.get(k, ZERO) + line
        return self.problem.P.product(self.x, inner)


def derive(ledger: Ledger, place: str) -> Solution:
    """Return the solution that the states of the ledger stand for: the unknown x and y by one exact solve."""
    problem, free, held = ledger.problem, sorted(ledger.free), sorted(ledger.targets)
    targets = [ledger.targets[i] for i in held]
    if ledger.x:
        targets = [target - _known_part(ledger, i) for i, target in zip(held, targets, strict=True)]
    try:
        if is_separate(problem, free, held):
            gradient = [ledger.gradient[j] for j in free]
            return Solution(ledger, *solve_separate(problem, Unknowns(free, held), gradient, targets))
        known = problem.P.product(ledger.x, ledger.inner)
        right = {j: -(ledger.gradient[j] + known[j]) for j in free}
        x, y = System(problem, right, dict(zip(held, targets, strict=True))).solve()
        return Solution(ledger, Block.of(free, [x[j] for j in free]), Block.of(held, [y[i] for i in held]))
    except ZeroDivisionError:
        raise CertificateError(f"{place}: the states must give a nonsingular system") from None


def _known_part(ledger: Ledger, i: int) -> Line:
    """Return what the known x contribute to a row."""
    row = ledger.problem.A.row(i)
    common = row.keys() & ledger.x.keys()
    return sum((ledger.x[j].scaled(row[j]) for j in common), ZERO)
