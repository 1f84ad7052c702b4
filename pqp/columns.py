r"""Columns of M, compiled, for every structure a system can have.

Room: a form in, entries of one column out. Knows no staircase and no parameter.
May touch: `field`, `forms`, `kernels`.
"""

import numpy as np

from pqp.field import Array
from pqp.forms import (
    DENSE,
    FACTORED,
    GROUPED,
    PAIRED,
    SPARSE,
    SPARSE_FACTORED,
    Form,
    Part,
    compiled,
    compiled_inside,
    summed_in_any_order,
)
from pqp.kernels import is_grouped


@compiled
def column_of(form: Form, items: Array, item: int) -> Array:
    """Return M[items, item]."""
    n, result = form.size, np.empty(len(items))
    by_group = is_grouped(form)
    if by_group:
        _write_grouped_column(form.H, items, item, result)
    entries = _coupled_entries(form, item)
    for k in range(0 if by_group else len(items)):
        i = items[k]
        if i < n and item < n:
            result[k] = _entry(form.H, i, item)
        elif i >= n and item >= n:
            result[k] = _entry(form.G, i - n, item - n)
        else:
            result[k] = entries[i - n] if i >= n else -entries[i]
    if len(form.units):
        result *= form.units[items] * form.units[item]
    return result


@compiled_inside
def _coupled_entries(form: Form, item: int) -> Array:
    """Return the column of B that belongs to a variable, or the row that belongs to a row, in full."""
    n = form.size
    side, i = (1, item) if item < n else (0, item - n)
    dense, rows = (form.B[1], form.sparse[1]) if side else (form.B[0], form.sparse[0])
    if len(dense):
        return dense[i].copy()
    if len(rows.indptr) == 1:
        return np.empty(0)
    other = form.sparse[0] if side else form.sparse[1]
    result = np.zeros(len(other.indptr) - 1)
    for e in range(rows.indptr[i], rows.indptr[i + 1]):
        result[rows.indices[e]] = rows.data[e]
    return result


@compiled_inside
def _entry(part: Part, i: int, j: int) -> float:
    """Return one entry of a symmetric part."""
    result = part.added[i] if len(part.added) and i == j else 0.0
    if part.kind == DENSE:
        result += part.left[i, j]
    elif part.kind == FACTORED:
        for k in range(part.left.shape[1]):
            result += part.left[i, k] * part.right[j, k]
    elif part.kind == PAIRED:
        K, a, b, c, d = part.left, part.first[i], part.second[i], part.first[j], part.second[j]
        result += (K[a, c] - K[b, c]) - (K[a, d] - K[b, d])
    elif part.kind == SPARSE:
        for e in range(part.rows.indptr[i], part.rows.indptr[i + 1]):
            result += part.rows.data[e] if part.rows.indices[e] == j else 0.0
    elif part.kind == SPARSE_FACTORED:
        result += _sparse_entry(part, i, j)
    elif part.kind == GROUPED:
        result += _grouped_entry(part, i, j)
    return result


@summed_in_any_order
def _grouped_entry(part: Part, i: int, j: int) -> float:
    """Return the product of two rows: of shared columns, and of all others within a group."""
    one, other, result = part.left[i], part.left[j], 0.0
    for k in range(len(one) if part.first[i] == part.first[j] else part.shared):
        result += one[k] * other[k]
    return result


@compiled_inside
def _write_grouped_column(part: Part, items: Array, item: int, out: Array) -> None:
    """Write entries of a column of a grouped part."""
    for k in range(len(items)):
        out[k] = _grouped_entry(part, items[k], item)
        if len(part.added) and items[k] == item:
            out[k] += part.added[item]


@compiled_inside
def _sparse_entry(part: Part, i: int, j: int) -> float:
    """Return the product of two sparse rows, both in the order of their columns."""
    rows, result = part.rows, 0.0
    a, b = rows.indptr[i], rows.indptr[j]
    while a < rows.indptr[i + 1] and b < rows.indptr[j + 1]:
        if rows.indices[a] == rows.indices[b]:
            result += rows.data[a] * part.weights[rows.indices[a]] * rows.data[b]
        step = rows.indices[a] - rows.indices[b]
        a, b = a + (step <= 0), b + (step >= 0)
    return result
