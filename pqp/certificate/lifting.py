r"""Exact solutions of large dense systems, digit by digit modulo a prime [Dixon 1982].

With :math:`C = A^{-1} \bmod p`, every step finds the next digit :math:`d = C r \bmod p` of the solution of
:math:`A x = b` in base p and leaves :math:`r \leftarrow (r - A d) / p`, from :math:`r = b` on. Enough digits
determine the rational solution, which is then checked by one product. `fmpq_mat.solve` is no faster, but one
call: here Ctrl-C is heard between the digits.
"""

from contextlib import suppress

from flint import fmpz, fmpz_mat, nmod_mat

# Primes just below 2^62: a matrix that is singular modulo all of them is taken for singular.
PRIMES = (2**62 - 57, 2**62 - 87, 2**62 - 117)
# Digits after which a solution is looked for the first time; then after twice as many, and so on.
FIRST_DIGITS = 16


def solve(A: fmpz_mat, b: fmpz_mat) -> tuple[fmpz_mat, fmpz]:
    """Return x of A x = b as integers and their denominator; a singular system raises ZeroDivisionError.

    >>> solve(fmpz_mat(2, 2, [2, 1, 0, 3]), fmpz_mat(2, 1, [1, 1]))
    ([1]
    [1], 3)
    """
    p, inverse = _inverse(A)
    rest, number, power = b, fmpz_mat(*_shape(b)), fmpz(1)
    count, wanted = 0, FIRST_DIGITS
    while True:
        found = inverse * nmod_mat(rest, int(p))
        digit = fmpz_mat(*_shape(b), [int(value) for value in found.entries()])
        number += digit * power
        # A x = b up to a multiple of p^count, and what is left is divided by it
        rest, power, count = (rest - A * digit) / p, power * p, count + 1
        if count == wanted:
            wanted *= 2
            answer = _rational(number, power)
            if answer is not None and A * answer[0] == b * answer[1]:
                return answer


def _shape(table: fmpz_mat) -> tuple[int, int]:
    return table.nrows(), table.ncols()


def _inverse(A: fmpz_mat) -> tuple[fmpz, nmod_mat]:
    """Return a prime and the inverse modulo that."""
    for prime in PRIMES:
        with suppress(ZeroDivisionError):
            return fmpz(prime), nmod_mat(A, prime).inv()
    raise ZeroDivisionError


def _rational(number: fmpz_mat, modulus: fmpz) -> tuple[fmpz_mat, fmpz] | None:
    """Return short integers over a denominator that are the given numbers modulo a power of p."""
    limit = modulus.isqrt() // 2
    above: list[fmpz] = []
    below = fmpz(1)
    for value in number.entries():
        # most entries have the denominator that those before them had
        rest, factor = _shortest(value * below % modulus, modulus, limit)
        if below * factor > limit:
            return None
        above = [other * factor for other in above] + [rest] if factor != 1 else [*above, rest]
        below *= factor
    return fmpz_mat(*_shape(number), above), below


def _shortest(value: fmpz, modulus: fmpz, limit: fmpz) -> tuple[fmpz, fmpz]:
    """Return a short integer and a positive factor: their quotient is the value modulo the modulus."""
    before, rest = modulus, value if 2 * value < modulus else value - modulus
    factor_before, factor = fmpz(0), fmpz(1)
    while abs(rest) > limit:
        quotient = before // rest
        before, rest = rest, before - quotient * rest
        factor_before, factor = factor, factor_before - quotient * factor
    return (rest, factor) if factor > 0 else (-rest, -factor)
