"""exact_solve: the solution of a system in rationals, in steps between which an interrupt is heard."""

import numpy as np
import pytest

from pqp.linalg.exact_solve import SOLVED_AT_ONCE, solve_exactly
from pqp.linalg.field import exact_array, exact_product

SIZES = (1, 5, SOLVED_AT_ONCE + 5)


def system(size, kind, seed=0):
    """A matrix and two right-hand sides, of small integers or of all digits of float64."""
    random = np.random.default_rng(seed)
    shapes = (size, size), (size, 2)
    if kind == "integers":
        return tuple(exact_array(random.integers(-9, 10, shape)) for shape in shapes)
    return tuple(exact_array(random.normal(size=shape)) for shape in shapes)


@pytest.mark.parametrize("kind", ["integers", "floats"])
@pytest.mark.parametrize("size", SIZES)
def test_solution_solves_the_system_exactly(size, kind):
    matrix, right = system(size, kind)
    solution = solve_exactly(matrix, right)
    assert (exact_product(matrix, solution) == right).all()
    assert (solve_exactly(matrix, right[:, 0]) == solution[:, 0]).all()


@pytest.mark.parametrize("size", SIZES)
def test_singular_system_is_refused(size):
    matrix, right = system(size, "integers")
    matrix[-1] = 3 * matrix[0] if size > 1 else 0
    with pytest.raises(ZeroDivisionError):
        solve_exactly(matrix, right)


def test_nothing_has_the_empty_solution():
    assert solve_exactly(exact_array(np.empty((0, 0))), exact_array(np.empty(0))).shape == (0,)


@pytest.mark.parametrize("last", [1, 4, 20])
def test_interrupt_is_heard_between_any_two_steps(last):
    calls = []

    def check():
        calls.append(None)
        if len(calls) == last:
            raise KeyboardInterrupt

    matrix, right = system(SOLVED_AT_ONCE + 10, "floats")
    with pytest.raises(KeyboardInterrupt):
        solve_exactly(matrix, right, check)
    assert len(calls) == last


def test_steps_are_as_many_as_the_digits_of_the_solution():
    """Every digit in base 2^62 is a step of its own: Cramer's rule gives some 60 bits per unknown."""
    counts = []
    for size in (60, 120):
        calls = []
        solve_exactly(*system(size, "floats"), lambda calls=calls: calls.append(None))
        counts.append(len(calls))
        assert len(calls) >= size
    assert counts[1] > 1.5 * counts[0]
