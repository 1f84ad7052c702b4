"""The solution that states stand for: exact lines, worked out when asked for.

Room: a ledger of states in; x, y, A x and the bound multipliers out, as lines. Judges nothing.
May touch: `errors`, python-flint, `certificate.lines`, `certificate.problem`, `certificate.states`,
`certificate.core`.
"""

from dataclasses import dataclass
from functools import cached_property

from pqp.certificate.core import System
from pqp.certificate.hessian import Product
from pqp.certificate.lines import ZERO, Line, Vector
from pqp.certificate.problem import Problem
from pqp.certificate.states import Ledger
from pqp.errors import CertificateError


@dataclass(frozen=True)
class Solution:
    """x and y of a piece as lines; `solved_x` and `solved_y` are the unknowns, zero or not.

    It looks into the ledger whenever asked, so it is good until the states change; `x` stays good.
    """

    ledger: Ledger
    solved_x: dict[int, Line]
    solved_y: dict[int, Line]
    x: dict[int, Line]

    @property
    def problem(self) -> Problem:
        """The problem it solves."""
        return self.ledger.problem

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
        for i in column.keys() & self.solved_y.keys():
            total -= self.solved_y[i].scaled(column[i])
        return total

    def activity(self, i: int) -> Line:
        """Return the value of a row."""
        known = self.ledger.targets.get(i)
        return self._vector.dot(self.problem.A.integer_row(i)) if known is None else known

    @cached_property
    def _vector(self) -> Vector:
        return Vector(self.x)

    @cached_property
    def _curvature(self) -> Product:
        inner = dict(self.ledger.inner)
        for k, line in self.problem.inner(self.solved_x).items():
            inner[k] = inner.get(k, ZERO) + line
        return self.problem.P.product(self.x, inner)


def derive(ledger: Ledger, place: str) -> Solution:
    """Return the solution that the states of the ledger stand for: the unknown x and y by one exact solve."""
    problem, free = ledger.problem, sorted(ledger.free)
    known = problem.P.product(ledger.x, ledger.inner)
    gradient = {j: -(ledger.gradient[j] + known[j]) for j in free}
    targets = {i: ledger.targets[i] - _known_part(ledger, i) for i in sorted(ledger.targets)}
    try:
        x, y = System(problem, gradient, targets).solve()
    except ZeroDivisionError:
        raise CertificateError(f"{place}: the states must give a nonsingular system") from None
    moving = {j: line for j, line in x.items() if not line.is_zero}
    return Solution(ledger, x, y, ledger.x | moving)


def _known_part(ledger: Ledger, i: int) -> Line:
    """Return what the known x contribute to a row."""
    row = ledger.problem.A.row(i)
    common = row.keys() & ledger.x.keys()
    return sum((ledger.x[j].scaled(row[j]) for j in common), ZERO)
