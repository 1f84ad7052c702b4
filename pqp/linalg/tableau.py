"""Tableaux: arrays of numbers that can be pivoted, in float64 and in integers over one common denominator.

A tableau is the array T of a linear system  basic = T · (nonbasic, 1, mu): one row per basic variable, one
column per nonbasic variable, then one column for the constant and one for mu.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

import numpy as np
from flint import fmpz_mat

from pqp.errors import InternalError
from pqp.linalg.affine import AffineArray
from pqp.linalg.field import FLOAT, RATIONAL, Array, Field, Number, to_flint_matrix

# The sign of a value at a perturbed mu is that of the first nonzero a·constant + b·slope over pairs (a, b).
Weights = Sequence[tuple[Number, Number]]


@dataclass(frozen=True, eq=False)
class FloatTableau:
    """A tableau in float64; what is below `zero`, relative to the numbers it is made of, is 0."""

    values: Array
    zero: float = FLOAT.zero

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.values.shape[0], self.values.shape[1]

    def entry(self, row: int, column: int) -> float:
        """One number of the tableau."""
        return float(self.values[row, column])

    def row_signs(self, row: int, count: int) -> list[int]:
        """The signs of the first entries of a row; one below `zero` of the row's largest, or of 1, is 0."""
        entries = self.values[row, :count]
        # the scaled data are about 1, so rounding errors are of that size even in a row of small entries
        scale = max(1.0, float(np.max(np.abs(entries), initial=0.0)))
        return _signs(entries, np.full(count, self.zero * scale))

    def value_signs(self, weights: Weights, terms: AffineArray | None = None) -> list[int]:
        """The sign of every basic variable, its last columns weighted; below `zero` of its terms it is 0."""
        constants, slopes = np.maximum(1.0, np.abs(self.values[:, -2:])).T if terms is None else terms
        result = np.zeros(len(self.values), dtype=int)
        for a, b in weights:
            values = float(a) * self.values[:, -2] + float(b) * self.values[:, -1]
            signs = _signs(values, self.zero * (abs(float(a)) * constants + abs(float(b)) * slopes))
            result = np.where(result == 0, signs, result)
        return [int(sign) for sign in result]

    def pivot(self, row: int, column: int) -> "FloatTableau":
        """The tableau after the basic variable of a row and the nonbasic one of a column trade places."""
        pivot = self.values[row, column]
        pivot_row, pivot_column = self.values[row].copy(), self.values[:, column] / pivot
        values = self.values - np.outer(pivot_column, pivot_row)
        values[row] = -pivot_row / pivot
        values[:, column] = pivot_column
        values[row, column] = 1.0 / pivot
        return FloatTableau(values, self.zero)

    def permuted(self, order: Sequence[int]) -> "FloatTableau":
        """The tableau with rows and columns in another order; the last two columns stay last."""
        return FloatTableau(
            self.values[np.ix_(order, _with_right_hand_side(order, self.shape[1]))], self.zero
        )


@dataclass(frozen=True, eq=False)
class ExactTableau:
    """A table of integers over one positive common denominator, with the methods of a `FloatTableau`.

    Pivots are fraction-free: every division is exact, and entries stay minors of the first table
    (Edmonds 1967, Bareiss 1968), so they grow linearly in bits with the number of pivots.
    """

    numerators: Any
    denominator: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.numerators.nrows(), self.numerators.ncols()

    def entry(self, row: int, column: int) -> Fraction:
        return Fraction(int(self.numerators[row, column]), int(self.denominator))

    def row_signs(self, row: int, count: int) -> list[int]:
        entries = (self.numerators[row, j] for j in range(count))
        return [(entry > 0) - (entry < 0) for entry in entries]

    def value_signs(self, weights: Weights, terms: AffineArray | None = None) -> list[int]:
        # sums of integers: a Fraction would look for a common divisor after every operation
        whole = [_integers(pair) for pair in weights]
        T, (rows, columns) = self.numerators, self.shape
        values = ((a * T[i, columns - 2] + b * T[i, columns - 1] for a, b in whole) for i in range(rows))
        first = (next(filter(None, candidates), 0) for candidates in values)
        return [(value > 0) - (value < 0) for value in first]

    def pivot(self, row: int, column: int) -> "ExactTableau":
        """The tableau after one fraction-free pivot."""
        rows, columns = self.shape
        T, pivot = self.numerators, self.numerators[row, column]
        pivot_row = fmpz_mat(1, columns, [T[row, j] for j in range(columns)])
        pivot_column = fmpz_mat(rows, 1, [T[i, column] for i in range(rows)])
        result = (T * pivot - pivot_column * pivot_row) / self.denominator
        for j in range(columns):
            result[row, j] = -pivot_row[0, j]
        for i in range(rows):
            result[i, column] = pivot_column[i, 0]
        result[row, column] = self.denominator
        # the denominator stays positive, so that signs can be read off the numerators
        return ExactTableau(result, pivot) if pivot > 0 else ExactTableau(-result, -pivot)

    def permuted(self, order: Sequence[int]) -> "ExactTableau":
        columns = _with_right_hand_side(order, self.shape[1])
        entries = [self.numerators[i, j] for i in order for j in columns]
        return ExactTableau(fmpz_mat(len(order), len(columns), entries), self.denominator)


Tableau: TypeAlias = FloatTableau | ExactTableau


def float_tableau(values: Array, field: Field = FLOAT) -> FloatTableau:
    """Return a float table of the given numbers."""
    return FloatTableau(np.array(values, dtype=float), field.zero)


def exact_tableau(values: Array) -> ExactTableau:
    """Return an exact table of whole numbers; scale rows first, or divisions would not be exact.

    >>> exact_tableau(np.array([[2, 3], [1, 4]])).pivot(0, 0).entry(0, 0)
    Fraction(1, 2)
    """
    numerators, denominator = to_flint_matrix(np.asarray(values)).numer_denom()
    if denominator != 1:
        raise InternalError(f"an exact table needs whole numbers, got 1/{denominator}")
    return ExactTableau(numerators, denominator)


def build_tableau(values: Array, field: Field) -> Tableau:
    """Return a table in the given arithmetic."""
    return exact_tableau(values) if field is RATIONAL else float_tableau(values, field)


def _signs(values: Array, noise: Array) -> list[int]:
    return [int(sign) for sign in np.where(np.abs(values) > noise, np.sign(values), 0)]


def _integers(pair: tuple[Number, Number]) -> tuple[int, int]:
    """Return the pair times its common denominator, which leaves signs as they are."""
    a, b = (Fraction(number) for number in pair)
    common = lcm(a.denominator, b.denominator)
    return int(a * common), int(b * common)


def _with_right_hand_side(order: Sequence[int], columns: int) -> list[int]:
    return [*order, columns - 2, columns - 1]
