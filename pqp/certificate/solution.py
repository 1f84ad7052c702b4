r"""The exact solution that the states of a piece determine: one solve of the KKT system.

The states leave open x of the free variables and y of the active ("held") rows. They satisfy

.. math:: P_{FF} x_F - A_{WF}^\top y_W = r_F, \qquad A_{WF} x_F = t_W .

Singletons are eliminated first: a held row with one free entry gives that x, and its own y is read off at the
end; a free column without curvature that meets one held row gives that y, and its own x at the end. Variables
that P does not couple to other free ones are eliminated next. What remains is dense and solved by
python-flint. Where P is diagonal and positive for all free variables, all this is one elimination with
integers (`diagonal`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from flint import fmpq, fmpq_mat

from pqp.certificate import lifting
from pqp.certificate.diagonal import is_diagonal_case
from pqp.certificate.problem import Problem, Product
from pqp.certificate.rationals import ZERO, Affine, AffineBlock, ExactMatrix, Sparse, Vector, pair_table
from pqp.certificate.states import ActiveSet, Snapshot
from pqp.errors import CertificateError

RATIONAL_ZERO = fmpq(0)
# Larger systems would take more than a fraction of a second in one call, which Ctrl-C cannot interrupt.
LARGEST_CALL = 150


@dataclass
class KKTSystem:
    """The equations that are left, and what is known already; solved in place."""

    problem: Problem
    gradient: dict[int, Affine]
    targets: dict[int, Affine]
    x: dict[int, Affine] = field(default_factory=dict)
    y: dict[int, Affine] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Restrict the held rows to the free columns."""
        self.free, self.rest = set(self.gradient), dict(self.targets)
        self.right = dict(self.gradient)
        self.rows: dict[int, Sparse] = {}
        self.columns: dict[int, set[int]] = {j: set() for j in self.free}
        for i in self.targets:
            row = self.problem.A.row(i)
            self.rows[i] = {j: value for j, value in row.items() if j in self.free}
            for j in self.rows[i]:
                self.columns[j].add(i)
        self.order: list[tuple[str, int, int]] = []

    def solve(self) -> tuple[dict[int, Affine], dict[int, Affine]]:
        """Return x and y of the unknowns; a singular system raises ZeroDivisionError."""
        # rationals grow with every operation of a dense elimination; most equations of real problems
        # have one unknown left once the states are known, and reading it off makes no number longer
        waiting = [("row", i) for i in self.rows] + [("column", j) for j in self.columns]
        while waiting:
            kind, item = waiting.pop()
            if kind == "row" and item in self.rows and len(self.rows[item]) == 1:
                waiting += self._eliminate_row(item)
            elif kind == "column" and len(self.columns.get(item, ())) == 1:
                # with curvature, stationarity in x[j] holds other unknown x as well
                waiting += [] if self.problem.P.curved[item] else self._eliminate_column(item)
        self._solve_dense()
        # in reverse order: the unknown left out of an equation needs all that were found after it
        for kind, i, j in reversed(self.order):
            if kind == "row":
                self.y[i] = self._multiplier(i, j)
            else:
                self.x[j] = self._value(i, j)
        return self.x, self.y

    def _eliminate_row(self, i: int) -> list[tuple[str, int]]:
        """Read x off a row with one entry; return what may have become single."""
        ((j, value),) = self.rows.pop(i).items()
        self.x[j] = self.rest[i].scaled(1 / value)
        self.order.append(("row", i, j))
        touched = self.columns.pop(j) - {i}
        for other in touched:
            self.rest[other] -= self.x[j].scaled(self.rows[other].pop(j))
        return [("row", other) for other in touched]

    def _eliminate_column(self, j: int) -> list[tuple[str, int]]:
        """Read y off a column with one entry and no curvature; return what may have become single."""
        (i,) = self.columns.pop(j)
        row = self.rows.pop(i)
        self.y[i] = -self.right[j].scaled(1 / row.pop(j))
        self.order.append(("column", i, j))
        for other, value in row.items():
            self.columns[other].discard(i)
            self.right[other] += self.y[i].scaled(value)
        return [("column", other) for other in row]

    def _multiplier(self, i: int, j: int) -> Affine:
        """Return y[i] from stationarity in x[j], everything else in it being known."""
        column = self.problem.A.column(j)
        total = self._curvature[j] - self.gradient[j]
        for other, value in column.items():
            if other != i and other in self.targets:
                total -= self.y[other].scaled(value)
        return total.scaled(1 / column[i])

    @cached_property
    def _curvature(self) -> Product:
        """P x, asked for when all x that P touches are known."""
        return self._product()

    def _product(self) -> Product:
        known = {j: line for j, line in self.x.items() if not line.is_zero}
        return Product(self.problem.P, known, self.problem.inner(known))

    def _value(self, i: int, j: int) -> Affine:
        """Return x[j] from row i, everything else in it being known."""
        row = self.problem.A.row(i)
        total = self.targets[i]
        for other, value in row.items():
            if other != j and other in self.free:
                total -= self.x[other].scaled(value)
        return total.scaled(1 / row[j])

    def _solve_dense(self) -> None:
        free, held = sorted(self.columns), sorted(self.rows)
        if self.x and free:
            moved = self._product()
            for j in free:
                self.right[j] -= moved[j]
        dense = DenseKKTSystem.assembled(self.problem, free, [self.rows[i] for i in held])
        right = [self.right[j] for j in free], [self.rest[i] for i in held]
        x, y = dense.solve(*right)
        self.x |= dict(zip(free, x, strict=True))
        self.y |= dict(zip(held, y, strict=True))


@dataclass(frozen=True)
class DenseKKTSystem:
    """The system without singletons: coupled free variables, those P leaves alone (`single`), and rows.

    `rows` are held rows, then, where P = diagonal + F Fᵀ has fewer columns F than free variables, one row for
    every column of F, whose negative multiplier stands for its product with x: `corner` has a 1 for these.
    """

    free: Sequence[int]
    coupled: list[int]
    single: dict[int, fmpq]
    block: list[Sparse]
    rows: list[Sparse]
    held: int

    @classmethod
    def assembled(cls, problem: Problem, free: Sequence[int], rows: list[Sparse]) -> "DenseKKTSystem":
        """Return the system of the given free variables and rows restricted to them."""
        P = problem.P
        single = {j: P.diagonal_entry(j) for j in free if P.diagonal_entry(j)}
        # rows for the columns of F pay off only if they are fewer than the variables they replace
        is_low_rank = P.factor is not None and P.middle is None and len(single) > P.factor.shape[1]
        if P.is_diagonal or is_low_rank:
            coupled = [j for j in free if j not in single]
            factors = [] if P.factor is None else _columns(P.factor, free)
            return cls(free, coupled, single, [{} for _ in coupled], rows + factors, len(rows))
        block = P.block(free)
        alone = {k for k, row in enumerate(block) if set(row) == {k}}
        coupled = [j for k, j in enumerate(free) if k not in alone]
        place = {k: new for new, k in enumerate(k for k in range(len(free)) if k not in alone)}
        kept = [{place[c]: v for c, v in block[k].items()} for k in place]
        return cls(free, coupled, {free[k]: block[k][k] for k in sorted(alone)}, kept, rows, len(rows))

    def solve(
        self, right_x: Sequence[Affine], right_y: Sequence[Affine]
    ) -> tuple[list[Affine], list[Affine]]:
        """Return x of the free variables and y of the held rows."""
        right = dict(zip(self.free, right_x, strict=True))
        sums = [*right_y, *[ZERO] * (len(self.rows) - self.held)]
        single = list(self.single)
        side = _matrix(self.rows, single)
        # not as a product of matrices: that would add up a zero for every other variable
        shares = [{j: row[j] / self.single[j] for j in row.keys() & self.single.keys()} for row in self.rows]
        scaled = _matrix(shares, single)
        # Schur complement: single variables are divided out, so that only rows and coupled ones are dense
        schur, moved = side * scaled.transpose(), scaled * pair_table(right[j] for j in single)
        rest = (total - Affine(moved[r, 0], moved[r, 1]) for r, total in enumerate(sums))
        sides = pair_table(chain((right[j] for j in self.coupled), rest))
        answers = _solved(self._matrix(schur), sides)
        found = [Affine(answers[r, 0], answers[r, 1]) for r in range(self.size)]
        x = dict(zip(self.coupled, found, strict=False))
        y = found[len(self.coupled) :]
        pulls = scaled.transpose() * pair_table(y)
        for k, j in enumerate(single):
            x[j] = right[j].scaled(1 / self.single[j]) + Affine(pulls[k, 0], pulls[k, 1])
        return [x[j] for j in self.free], y[: self.held]

    @property
    def size(self) -> int:
        """The number of unknowns of the dense system."""
        return len(self.coupled) + len(self.rows)

    def _matrix(self, schur: fmpq_mat) -> fmpq_mat:
        if not self.coupled and self.held == len(self.rows):
            return schur
        count, inner = len(self.coupled), schur.tolist()
        table: list[list[fmpq]] = []
        for k, j in enumerate(self.coupled):
            curvature = [self.block[k].get(c, RATIONAL_ZERO) for c in range(count)]
            table.append(curvature + [-row.get(j, RATIONAL_ZERO) for row in self.rows])
        for r, row in enumerate(self.rows):
            if r >= self.held:
                inner[r][r] += 1
            table.append([row.get(j, RATIONAL_ZERO) for j in self.coupled] + inner[r])
        return fmpq_mat(self.size, self.size, list(chain.from_iterable(table)))


def _solved(matrix: fmpq_mat, sides: fmpq_mat) -> fmpq_mat:
    """Return the solution of a dense system, in one call if that does not take long."""
    if matrix.nrows() <= LARGEST_CALL:
        return matrix.solve(sides) if matrix.nrows() else sides
    (A, below), (b, other) = matrix.numer_denom(), sides.numer_denom()
    above, divisor = lifting.solve(A, b)
    return fmpq_mat(above) * fmpq(below, other * divisor)


def _columns(factor: ExactMatrix, free: Sequence[int]) -> list[Sparse]:
    """Return the columns of a factor over the free variables."""
    columns: list[Sparse] = [{} for _ in range(factor.shape[1])]
    for j in free:
        for k, value in factor.row(j).items():
            columns[k][j] = value
    return columns


def _matrix(rows: Sequence[Sparse], columns: Sequence[int]) -> fmpq_mat:
    return fmpq_mat(len(rows), len(columns), [row.get(j, RATIONAL_ZERO) for row in rows for j in columns])


@dataclass(frozen=True, eq=False)
class PrimalVector(Mapping[int, Affine]):
    """The entries of x that may differ from 0: known ones as they are, solved ones as a block."""

    known: Mapping[int, Affine]
    solved: AffineBlock

    def __getitem__(self, j: int) -> Affine:
        return self.solved[j] if j in self.solved else self.known[j]

    def __iter__(self) -> Iterator[int]:
        yield from self.known
        yield from self.solved

    def __len__(self) -> int:
        return len(self.known) + len(self.solved)

    def meet(self, other: "PrimalVector", mu: fmpq) -> bool:
        """Return whether two vectors are the same at mu."""
        # entries known on both sides are mostly the same objects: only those that changed are evaluated
        changed = set(self.solved.places) ^ set(other.solved.places)
        if self.known != other.known:
            changed |= self.known.keys() | other.known.keys()
        pairs = ((self.get(j, ZERO), other.get(j, ZERO)) for j in changed)
        is_met = all(before is after or before.at(mu) == after.at(mu) for before, after in pairs)
        return is_met and self.solved.meets(other.solved, mu)


@dataclass(frozen=True)
class Solution:
    """x and y of a piece as affine functions; `solved_x` and `solved_y` are the unknowns, zero or not."""

    active: Snapshot
    solved_x: AffineBlock
    solved_y: AffineBlock

    @property
    def problem(self) -> Problem:
        """The problem it solves."""
        return self.active.problem

    @cached_property
    def x(self) -> PrimalVector:
        """x by its entries."""
        return PrimalVector(self.active.x, self.solved_x)

    def x_of(self, j: int) -> Affine:
        """Return the value of a variable."""
        return self.x.get(j, ZERO)

    def y_of(self, i: int) -> Affine:
        """Return the multiplier of a row."""
        return self.solved_y.get(i) or self.active.y_of(i)

    def z_of(self, j: int) -> Affine:
        """Return the multiplier of a bound, P x + c − Aᵀy."""
        # Stationarity was solved for these, so their z is 0 without a product.
        if j in self.solved_x:
            return ZERO
        total = self.active.gradient[j] + self._curvature[j]
        column = self.problem.A.column(j)
        for i in column.keys() & self._solved_y.keys():
            total -= self._solved_y[i].scaled(column[i])
        return total

    def activity(self, i: int) -> Affine:
        """Return the value of a row."""
        known = self.active.targets.get(i)
        # A held row is at its limit by the equations that were solved.
        if known is not None:
            return known
        moving = self.solved_x.dot(self.problem.A, i)
        return moving + self._known_vector.dot(self.problem.A.integer_row(i)) if self.active.x else moving

    @cached_property
    def _solved_y(self) -> dict[int, Affine]:
        return dict(self.solved_y)

    @cached_property
    def _known_vector(self) -> Vector:
        return Vector.of(self.active.x)

    @cached_property
    def _curvature(self) -> Product:
        inner = dict(self.active.inner)
        for k, line in self.problem.inner(self.solved_x).items():
            inner[k] = inner.get(k, ZERO) + line
        return Product(self.problem.P, self.x, inner)


def derive(active: ActiveSet, place: str) -> Solution:
    """Return the solution that the states determine, the unknown x and y by one exact solve."""
    problem, free, held = active.problem, sorted(active.free), sorted(active.targets)
    targets = {i: active.targets[i] for i in held}
    for i in held if active.x else ():
        row = problem.A.row(i)
        for j in row.keys() & active.x.keys():
            targets[i] -= active.x[j].scaled(row[j])
    try:
        if is_diagonal_case(problem, free, held):
            gradient = [active.gradient[j] for j in free]
            return Solution(active.snapshot(), *active.diagonal.solve(free, gradient, targets))
        known = Product(problem.P, active.x, active.inner)
        right = {j: -(active.gradient[j] + known[j]) for j in free}
        x, y = KKTSystem(problem, right, targets).solve()
        solved_x = AffineBlock.of(free, [x[j] for j in free])
        return Solution(active.snapshot(), solved_x, AffineBlock.of(held, [y[i] for i in held]))
    except ZeroDivisionError:
        # a singular system has no solution or many: the states would not say what x is
        message = "{argument}: the states must give a nonsingular system"
        raise CertificateError(message, argument=place) from None
