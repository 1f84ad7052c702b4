"""degeneracy: rounding errors of a local dictionary are cleared as a bisymmetric matrix demands."""

import numpy as np

from pqp.revised.degeneracy import _cleared

SAME, OTHER = np.ones(2), np.array([1.0, -1.0])


def test_entries_of_one_class_become_equal_and_of_two_classes_opposite():
    Lambda, noise = np.array([[2.0, 1.0], [1.0 + 2e-9, 3.0]]), np.zeros((2, 2))
    cleared = _cleared(Lambda, noise, SAME)
    assert cleared[0, 1] == cleared[1, 0]
    turned = _cleared(np.array([[2.0, 1.0], [-1.0 - 2e-9, 3.0]]), noise, OTHER)
    assert turned[0, 1] == -turned[1, 0]


def test_response_that_is_zero_takes_those_of_its_class_along():
    """Λ_ij² ≤ Λ_ii Λ_jj: with a zero diagonal, what is left in the row is rounding error."""
    Lambda, noise = np.array([[1e-13, 1e-6], [1e-6, 4.0]]), np.full((2, 2), 1e-11)
    assert _cleared(Lambda, noise, SAME).tolist() == [[0, 0], [0, 4]]


def test_response_to_the_other_class_stays():
    Lambda, noise = np.array([[0.0, 0.5], [-0.5, 0.0]]), np.full((2, 2), 1e-11)
    assert _cleared(Lambda, noise, OTHER).tolist() == Lambda.tolist()


def test_entry_that_no_round_off_explains_stays():
    """A zero diagonal with a large entry is not positive semidefinite: the tie must say so."""
    Lambda, noise = np.array([[0.0, 0.5], [0.5, 4.0]]), np.full((2, 2), 1e-11)
    assert _cleared(Lambda, noise, SAME)[0, 1] == 0.5
