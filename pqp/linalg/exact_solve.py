r"""Exact solutions of linear systems in rationals, in steps between which a limit or Ctrl-C is heard.

Small systems are solved in one call. Large ones are solved digit by digit modulo a prime [Dixon 1982]: with
:math:`C = A^{-1} \bmod p` every step finds the next digit :math:`d = C r \bmod p` of the solution in base p
and leaves :math:`r \leftarrow (r - A d) / p`, from :math:`r = b` on. Enough digits determine the rational
solution, which one product then checks. That is as fast as a direct solution, which is a single call of
seconds for some hundred unknowns.
"""

from collections.abc import Callable
from contextlib import suppress

from flint import fmpq, fmpz, fmpz_mat, nmod_mat

from pqp.linalg.field import Array, exact_array, from_flint, from_flint_matrix, to_flint_matrix

# Systems of up to so many unknowns take at most 30 ms in one call.
SOLVED_AT_ONCE = 50
# Primes just below 2^62: a matrix that is singular modulo all of them is singular, or as good as that.
PRIMES = (2**62 - 57, 2**62 - 87, 2**62 - 117)
# Digits after which a solution is looked for the first time; then after half as many again, and so on.
FIRST_DIGITS = 8


def solve_exactly(matrix: Array, right: Array, check: Callable[[], None] = lambda: None) -> Array:
    """Return the solution of a system in rationals; a singular one raises ZeroDivisionError.

    `right` is a vector or a block of them. `check` is called before every step and may raise.

    >>> from fractions import Fraction
    >>> solve_exactly(exact_array([[2, 1], [0, 3]]), exact_array([1, 1]))
    array([Fraction(1, 3), Fraction(1, 3)], dtype=object)
    """
    check()
    if not len(matrix):
        return right
    A, b = to_flint_matrix(matrix), to_flint_matrix(right.reshape(len(matrix), -1))
    check()
    if len(matrix) <= SOLVED_AT_ONCE:
        return from_flint_matrix(A.solve(b)).reshape(right.shape)
    (whole, unit), (target, other) = A.numer_denom(), b.numer_denom()
    numbers, below = _lifted(whole, target, check)
    factor = fmpq(unit, other * below)
    return exact_array([from_flint(value * factor) for value in numbers.entries()]).reshape(right.shape)


def _lifted(A: fmpz_mat, b: fmpz_mat, check: Callable[[], None]) -> tuple[fmpz_mat, fmpz]:
    """Return x of A x = b as integers and their denominator."""
    p, inverse = _inverse(A, check)
    rest, digits, wanted = b, [], FIRST_DIGITS
    while True:
        check()
        found = inverse * nmod_mat(rest, int(p))
        digits.append(fmpz_mat(b.nrows(), b.ncols(), [int(value) for value in found.entries()]))
        # A x = b up to a multiple of a power of p, and what is left is divided by it.
        rest = (rest - A * digits[-1]) / p
        if len(digits) == wanted:
            wanted += wanted // 2
            answer = _rational(_number(digits, p), p ** len(digits), check)
            if answer is not None and A * answer[0] == b * answer[1]:
                return answer


def _number(digits: list[fmpz_mat], p: fmpz) -> fmpz_mat:
    """Return the numbers with some digits, the lowest first: halves first, so that few products are long."""
    if len(digits) == 1:
        return digits[0]
    half = len(digits) // 2
    return _number(digits[:half], p) + _number(digits[half:], p) * p**half


def _inverse(A: fmpz_mat, check: Callable[[], None]) -> tuple[fmpz, nmod_mat]:
    """Return a prime and the inverse modulo it."""
    for prime in PRIMES:
        check()
        with suppress(ZeroDivisionError):
            return fmpz(prime), nmod_mat(A, prime).inv()
    raise ZeroDivisionError


def _rational(number: fmpz_mat, modulus: fmpz, check: Callable[[], None]) -> tuple[fmpz_mat, fmpz] | None:
    """Return short integers over one denominator that are given numbers modulo a power of a prime."""
    limit = modulus.isqrt() // 2
    above: list[fmpz] = []
    factors: list[fmpz] = []
    below = fmpz(1)
    for value in number.entries():
        check()
        # Most entries have the denominator that those before them had.
        short, factor = _shortest(value * below % modulus, modulus, limit)
        below *= factor
        if below > limit:
            return None
        above.append(short)
        factors.append(factor)
    # An entry was found over the denominator that was known by then: the later factors are missing.
    missing = fmpz(1)
    for k in reversed(range(len(above))):
        above[k] *= missing
        missing *= factors[k]
    return fmpz_mat(number.nrows(), number.ncols(), above), below


def _shortest(value: fmpz, modulus: fmpz, limit: fmpz) -> tuple[fmpz, fmpz]:
    """Return a short integer and a positive factor: their quotient is the value modulo the modulus."""
    before, rest = modulus, value if 2 * value < modulus else value - modulus
    factor_before, factor = fmpz(0), fmpz(1)
    while abs(rest) > limit:
        quotient = before // rest
        before, rest = rest, before - quotient * rest
        factor_before, factor = factor, factor_before - quotient * factor
    return (rest, factor) if factor > 0 else (-rest, -factor)
