r"""The exact solution of pieces where P is diagonal and positive, one elimination per piece, with integers.

With :math:`P^{-1} = \operatorname{diag}(e) / E`, held rows :math:`A = B / b`, and limits and gradient
:math:`t = T / s` and :math:`g = \Gamma / s`, all of them integers,

.. math:: A x = t, \quad P x - A^\top y = -g \quad \Longrightarrow \quad
          B \operatorname{diag}(e) B^\top (s y) = b^2 E\, T + b B \operatorname{diag}(e) \Gamma, \quad
          E b s\, x = e \circ (B^\top (s y) - b \Gamma) .

From one piece to the next one or two rows enter or leave, and filling a matrix takes longer than eliminating
it. So the matrices are kept: every held row has a slot in them, and only slots that change are written.
"""

from collections.abc import Mapping, Sequence
from operator import mul

from flint import fmpz, fmpz_mat

from pqp.certificate.problem import Problem
from pqp.certificate.rationals import ZERO, Affine, AffineBlock

# Held rows times free variables up to which all are eliminated at once; beyond, reading off may spare most.
LARGEST_DIAGONAL_CASE = 2**14
# So many slots are left free, so that matrices are not made anew whenever a row enters.
SPARE_SLOTS = 2
INTEGER_ZERO = fmpz(0)


def is_diagonal_case(problem: Problem, free: Sequence[int], held: Sequence[int]) -> bool:
    """Return whether a `DiagonalSystem` applies: few rows, and P diagonal with short positive entries."""
    if problem.reciprocals is None or len(free) * len(held) > LARGEST_DIAGONAL_CASE:
        return False
    return all(map(problem.reciprocals[1].__getitem__, free))


class DiagonalSystem:
    """The matrices of the last solve.

    With K slots, `_weighted` is B diag(e) and `_rows` is B with two more rows b Γ, so that their product has
    the matrix and, in its last two columns, a part of the right-hand side; `_offsets` is the other part, and
    a unit on the diagonal of every empty slot. Empty slots come last.
    """

    def __init__(self, problem: Problem) -> None:
        assert problem.reciprocals is not None
        self._A = problem.A
        self._E, self._e = problem.reciprocals
        assert problem.denominators is not None
        self._b, self._s = problem.denominators
        self._begin([], 0)

    def _begin(self, free: Sequence[int], count: int) -> None:
        """Empty all slots, for other columns or more rows."""
        n, size = len(free), count + SPARE_SLOTS
        self._free, self._size = free, size
        self._factors = [self._e[j] for j in free]
        self._is_unit = self._factors.count(fmpz(1)) == n
        self._held: list[int] = []
        self._slot: dict[int, int] = {}
        self._targets: list[Affine] = [ZERO] * size
        self._gradient: list[Affine] = [ZERO] * n
        self._weighted, self._rows = fmpz_mat(size, n), fmpz_mat(size + 2, n)
        self._offsets, self._pull = fmpz_mat(size, size + 2), fmpz_mat(n, 2)
        for k in range(size):
            self._offsets[k, k] = 1
        self._last = fmpz_mat(size + 2, 2, [0] * (2 * size) + [1, 0, 0, 1])

    def solve(
        self, free: Sequence[int], gradient: Sequence[Affine], targets: Mapping[int, Affine]
    ) -> tuple[AffineBlock, AffineBlock]:
        """Return x of the free variables and y of the held rows, the keys of `targets`.

        A singular system raises ZeroDivisionError.
        """
        spare = self._size - len(targets)
        if not 0 <= spare <= 2 * SPARE_SLOTS or free != self._free:
            self._begin(free, len(targets))
        self._take_rows(targets)
        self._take_sides(gradient, targets)
        system = self._weighted * self._rows.transpose() + self._offsets
        # [D 1 | U]: the solution is U / D, and D 1 is found unless the matrix is singular
        solved, D, _ = system.rref()
        if self._size and not solved[self._size - 1, self._size - 1]:
            raise ZeroDivisionError
        if D < 0:
            solved, D = -solved, -D
        U = solved * self._last
        below = D * self._s
        x = AffineBlock(free, self._weighted.transpose() * U - self._pull * D, self._E * self._b * below)
        return x, AffineBlock(self._held.copy(), U, below)

    def _take_rows(self, targets: Mapping[int, Affine]) -> None:
        """Give a slot to every row that is held now, and to no other."""
        empty = [k for k, i in enumerate(self._held) if i not in targets]
        for i in targets:
            if i not in self._slot:
                if not empty:
                    self._held.append(i)
                self._write(empty.pop() if empty else len(self._held) - 1, i)
        for k in reversed(empty):
            last = self._held.pop()
            if k < len(self._held):
                self._write(k, last)
            self._write(len(self._held), None)
        self._slot = {i: k for k, i in enumerate(self._held)}

    def _write(self, k: int, i: int | None) -> None:
        """Write a row to a slot, or empty it."""
        row = [INTEGER_ZERO] * len(self._free)
        if i is not None:
            self._held[k] = i
            below, entries = self._A.integers(i)
            row = entries if len(entries) == len(self._free) else [entries[j] for j in self._free]
            row = row if below == self._b else [v * (self._b // below) for v in row]
        for c, value in enumerate(row):
            self._rows[k, c] = value
        # P = I, as in support vector machines: no product needs to be written out
        for c, value in enumerate(row if self._is_unit else map(mul, row, self._factors)):
            self._weighted[k, c] = value
        self._offsets[k, k] = int(i is None)
        self._set_target(k, ZERO)

    def _set_target(self, k: int, target: Affine) -> None:
        factor = self._b * self._b * self._E
        self._targets[k] = target
        for part, value in enumerate(self._integers(target)):
            self._offsets[k, self._size + part] = factor * value

    def _take_sides(self, gradient: Sequence[Affine], targets: Mapping[int, Affine]) -> None:
        """Write limits and gradient where they changed."""
        for k, i in enumerate(self._held):
            if targets[i] is not self._targets[k]:
                self._set_target(k, targets[i])
        for c, (line, old) in enumerate(zip(gradient, self._gradient, strict=True)):
            if line is not old:
                for part, value in enumerate(self._integers(line)):
                    self._rows[self._size + part, c] = self._b * value
                    self._pull[c, part] = self._factors[c] * self._b * value
        self._gradient = list(gradient)

    def _integers(self, line: Affine) -> tuple[fmpz, fmpz]:
        """Return a function times s."""
        constant, slope = line.constant, line.slope
        return constant.p * (self._s // constant.q), slope.p * (self._s // slope.q)
