"""matrices: dense stays dense, sparse stays sparse, and a bad entry is named by its place."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from pqp.errors import ProblemError
from pqp.linalg.field import exact_array
from pqp.linalg.matrices import as_matrix, dense_matrix, exact_matrix, exact_times, float_matrix, is_sparse
from tests.refusals import refuses

ENTRIES = [[0, 2, 0], [-1, 0, 0]]
FORMATS = ["csr", "csc", "coo", "lil", "dok"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", [scipy.sparse.coo_matrix, scipy.sparse.coo_array], ids=["matrix", "array"])
def test_every_sparse_format_becomes_rows_of_integers(form, kind):
    matrix = as_matrix(kind(ENTRIES).asformat(form), "A")
    assert (type(matrix), matrix.dtype, matrix.nnz) == (scipy.sparse.csr_array, np.int64, 2)
    assert dense_matrix(matrix).tolist() == exact_matrix(matrix).tolist() == ENTRIES


@pytest.mark.parametrize(
    ("dtype", "kept"), [(np.int8, np.int64), (bool, np.int64), (np.float32, float), (float, float)], ids=str
)
def test_numbers_are_int64_or_float64(dtype, kept):
    assert as_matrix(scipy.sparse.csr_array(np.eye(2, dtype=dtype)), "A").dtype == kept


def test_duplicates_are_added_before_they_can_wrap_around():
    entries = (np.array([100, 100], dtype=np.int8), ([0, 0], [0, 0]))
    assert as_matrix(scipy.sparse.coo_array(entries, shape=(1, 1)), "A").toarray().tolist() == [[200]]


def test_long_integers_become_fractions():
    matrix = as_matrix(scipy.sparse.csr_array(np.array([[2**60 + 1, 0]])), "A")
    assert not is_sparse(matrix)
    assert matrix.tolist() == [[Fraction(2**60 + 1), 0]]


@pytest.mark.parametrize(
    ("entries", "wrong"),
    [
        ([[0.0, np.nan]], {"argument": "A[0, 1]", "found": "nan"}),
        ([[0.0, 1.0], [-np.inf, 0.0]], {"argument": "A[1, 0]", "found": "-inf"}),
        ([[1j]], {"argument": "A", "found": "complex numbers"}),
    ],
    ids=str,
)
def test_bad_entry_of_a_sparse_matrix_is_named(entries, wrong):
    with refuses(ProblemError, **wrong):
        as_matrix(scipy.sparse.csr_array(np.array(entries)), "A")


def test_matrices_are_copied_and_read_only():
    given = scipy.sparse.csr_array(np.eye(2))
    matrix = as_matrix(given, "A")
    given.data[0] = 7
    assert matrix.toarray().tolist() == [[1, 0], [0, 1]]
    for part in (matrix.data, matrix.indices, matrix.indptr, float_matrix(matrix).data):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1
    assert given.data.flags.writeable


def test_data_frames_are_read_by_position():
    assert as_matrix(pd.DataFrame(ENTRIES, columns=["a", "b", "c"]), "A").tolist() == ENTRIES


def test_what_is_not_a_matrix_is_refused():
    with refuses(ProblemError, "A", found="shape (2,)"):
        as_matrix([1, 2], "A")


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, exact_array])
def test_exact_product_with_a_vector_is_the_sum_of_fractions(kind):
    random = np.random.default_rng(0)
    dense = random.normal(size=(6, 5)) * random.integers(0, 2, (6, 5))
    vector = exact_array(random.integers(-2, 3, 5)) / 7
    assert exact_times(kind(dense), vector).tolist() == (exact_matrix(dense) @ vector).tolist()
    assert all(isinstance(entry, Fraction) for entry in exact_times(kind(dense), vector))
