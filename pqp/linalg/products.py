r"""Compiled products with M, and columns of M, for every structure a system can have.

A low-rank part, L Rᵀ + diag, and a paired one, D K Dᵀ, are multiplied through a short inner vector: v enters
M v by Rᵀv, or by Dᵀv, alone, and every entry of M v is then a short product with L, or a difference of two
entries of K Dᵀv.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from pqp.linalg.field import Array
from pqp.linalg.jit import compiled, compiled_inside, summed_in_any_order
from pqp.linalg.structure import (
    ABSENT,
    DENSE,
    FACTORED,
    GROUPED,
    PAIRED,
    SPARSE,
    SPARSE_FACTORED,
    Form,
    Part,
    Rows,
    is_low_rank,
    single_part,
)

# Long sums are split into sums of this many terms: rounding errors then grow with the number of parts alone.
TERMS_PER_SUM = 512
# Python asks these questions too, and should not have to load compiled code for that.
_is_low_rank, _single_part = compiled(is_low_rank), compiled(single_part)


def product_of(part: Part, size: int, items: Array, values: Array) -> Array:
    """Return the columns of a symmetric part times a vector, or times a block of vectors."""
    # BLAS multiplies blocks faster than the compiled loops, which are made for one vector
    if values.ndim > 1 and part.kind == DENSE:
        return (values.T @ part.left[items]).T
    if values.ndim > 1 and values.shape[1] > 1 and part.kind == PAIRED:
        return _paired_block(part, items, values)
    return _by_columns(lambda column, out: add_symmetric(part, items, column, out), size, values)


def _paired_block(part: Part, items: Array, values: Array) -> Array:
    """Return D K Dᵀ times a block: Dᵀ gives weights of objects, K their scores, D differences of scores."""
    places = (np.concatenate([part.first[items], part.second[items]]), np.tile(np.arange(len(items)), 2))
    signs = np.repeat([1.0, -1.0], len(items))
    weights = csr_array((signs, places), shape=(len(part.left), len(items))) @ values
    moved = np.flatnonzero(np.any(weights, axis=1))
    are_few = 2 * len(moved) < len(weights)  # otherwise copying their rows costs more than it saves
    scores = part.left[moved].T @ weights[moved] if are_few else part.left @ weights
    return scores[part.first] - scores[part.second]


def system_product(form: Form, size: int, items: Array, values: Array) -> Array:
    """Return M[:, items] times a vector or a block of them."""
    return _by_columns(lambda column, out: add_product(form, items, column, out), size, values)


def _by_columns(add: Callable[[Array, Array], None], size: int, values: Array) -> Array:
    columns = np.ascontiguousarray(np.atleast_2d(values.T), dtype=float)
    result = np.zeros((len(columns), size))
    for column, out in zip(columns, result, strict=True):
        add(column, out)
    return result.T if values.ndim > 1 else result[0]


@compiled
def add_product(form: Form, items: Array, values: Array, out: Array) -> None:
    """Add M[:, items] values to a vector."""
    n = form.size
    target, moves = out, values
    if len(form.units):
        target, moves = np.zeros(len(out)), values * form.units[items]
    if form.G.kind == ABSENT and n == len(out):
        add_symmetric(form.H, items, moves, target)
    elif n == 0:
        add_symmetric(form.G, items, moves, target)
    else:
        is_row = items >= n
        variables, rows = items[~is_row], items[is_row] - n
        x, y = moves[~is_row], moves[is_row]
        add_symmetric(form.H, variables, x, target[:n])
        add_symmetric(form.G, rows, y, target[n:])
        _add_coupled(form.B[1], form.sparse[1], variables, x, target[n:])
        _add_coupled(form.B[0], form.sparse[0], rows, -y, target[:n])
    if len(form.units):
        for i in range(len(out)):
            out[i] += form.units[i] * target[i]


@compiled
def add_products(form: Form, items: Array, values: Array, out: Array) -> None:
    """Add M[:, items] times two vectors to two others, reading factors once for both."""
    # reading a large factor from memory takes longer than the arithmetic on it
    is_moved = np.any(values[0]), np.any(values[1])
    if is_moved[0] and is_moved[1] and _is_low_rank(form, out.shape[1]):
        part = _single_part(form)
        _add_two_products(part.left, _two_sums(part.right, items, values), out)
        for side in range(2):
            _add_diagonal(part, items, values[side], out[side])
        return
    if is_moved[0] and is_moved[1] and is_grouped(form) and len(form.units) == 0:
        sums = _sums_by_group(form.H, items, values[0]), _sums_by_group(form.H, items, values[1])
        _add_two_by_group(form.H, sums, out)
        for side in range(2):
            _add_diagonal(form.H, items, values[side], out[side])
        return
    for side in range(2):
        if is_moved[side]:
            add_product(form, items, values[side], out[side])


@compiled_inside
def _two_sums(matrix: Array, items: Array, values: Array) -> Array:
    """Return the sums of some rows of a matrix with two weights each."""
    result = np.zeros((2, matrix.shape[1]))
    for begin in range(0, len(items), TERMS_PER_SUM):
        some = np.zeros((2, matrix.shape[1]))
        first, second = some[0], some[1]
        for k in range(begin, min(begin + TERMS_PER_SUM, len(items))):
            row, one, other = matrix[items[k]], values[0, k], values[1, k]
            for j in range(len(row)):
                first[j] += one * row[j]
                second[j] += other * row[j]
        result += some
    return result


@summed_in_any_order
def _add_two_products(matrix: Array, inner: Array, out: Array) -> None:
    """Add a matrix times two vectors to two others."""
    first, second, out_first, out_second = inner[0], inner[1], out[0], out[1]
    for i in range(len(matrix)):
        row, one, other = matrix[i], 0.0, 0.0
        for j in range(len(row)):
            one += row[j] * first[j]
            other += row[j] * second[j]
        out_first[i] += one
        out_second[i] += other


@summed_in_any_order
def _add_one_product(matrix: Array, inner: Array, out: Array) -> None:
    """Add a matrix times a vector to another one."""
    for i in range(len(matrix)):
        row, one = matrix[i], 0.0
        for j in range(len(row)):
            one += row[j] * inner[j]
        out[i] += one


@compiled_inside
def _add_diagonal(part: Part, items: Array, values: Array, out: Array) -> None:
    if len(part.added):
        for k in range(len(items)):
            out[items[k]] += part.added[items[k]] * values[k]


@compiled
def add_symmetric(part: Part, items: Array, values: Array, out: Array) -> None:
    """Add the columns of one symmetric part, times values, to a vector."""
    if not len(items) or part.kind == ABSENT:
        return
    if part.kind == DENSE:
        _add_rows(part.left, items, values, out)
    elif part.kind == FACTORED:
        inner = np.zeros(part.right.shape[1])
        _add_rows(part.right, items, values, inner)
        _add_one_product(part.left, inner, out)
    elif part.kind == PAIRED:
        _add_paired(part, items, values, out)
    elif part.kind == SPARSE:
        _add_sparse_rows(part.rows, items, values, out)
    elif part.kind == GROUPED:
        _add_by_group(part, _sums_by_group(part, items, values), out)
    else:
        _add_sparse_factored(part, items, values, out)
    _add_diagonal(part, items, values, out)


@compiled_inside
def _add_rows(matrix: Array, items: Array, values: Array, out: Array) -> None:
    for k in range(len(items)):
        row, value = matrix[items[k]], values[k]
        for j in range(len(out)):
            out[j] += value * row[j]


@compiled_inside
def _add_sparse_rows(rows: Rows, items: Array, values: Array, out: Array) -> None:
    for k in range(len(items)):
        for e in range(rows.indptr[items[k]], rows.indptr[items[k] + 1]):
            out[rows.indices[e]] += values[k] * rows.data[e]


@compiled_inside
def _add_paired(part: Part, items: Array, values: Array, out: Array) -> None:
    """Add D K Dᵀ times values: weights of objects, their scores, differences of scores."""
    K, first, second = part.left, part.first, part.second
    weights, scores = np.zeros(len(K)), np.zeros(len(K))
    for k in range(len(items)):
        weights[first[items[k]]] += values[k]
        weights[second[items[k]]] -= values[k]
    moved = np.flatnonzero(weights)  # weights of an object often cancel, and its row of K is then not read
    _add_rows(K, moved, weights[moved], scores)
    for i in range(len(out)):
        out[i] += scores[first[i]] - scores[second[i]]


@compiled_inside
def _add_sparse_factored(part: Part, items: Array, values: Array, out: Array) -> None:
    inner, rows = np.zeros(len(part.weights)), part.rows
    _add_sparse_rows(rows, items, values, inner)
    inner *= part.weights
    for i in range(len(out)):
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            out[i] += rows.data[e] * inner[rows.indices[e]]


@compiled_inside
def is_grouped(form: Form) -> bool:
    """Return whether all of M is one grouped part, apart from units."""
    is_one = form.G.kind == ABSENT and len(form.B[0]) == 0 and len(form.sparse[0].indptr) == 1
    return is_one and form.H.kind == GROUPED


@compiled_inside
def _sums_by_group(part: Part, items: Array, values: Array) -> Array:
    """Return the inner vector of every group: sums over all items in shared columns, else over its own."""
    L, group, shared = part.left, part.first, part.shared
    result, total = np.zeros((len(part.second), L.shape[1])), np.zeros(shared)
    for k in range(len(items)):
        row, own, value = L[items[k]], result[group[items[k]]], values[k]
        for j in range(shared):
            total[j] += value * row[j]
        for j in range(shared, len(row)):
            own[j] += value * row[j]
    for own in result:
        own[:shared] = total
    return result


@summed_in_any_order
def _add_by_group(part: Part, sums: Array, out: Array) -> None:
    """Add rows times the sums of their group to a vector."""
    for i in range(len(out)):
        row, inner, one = part.left[i], sums[part.first[i]], 0.0
        for j in range(len(row)):
            one += row[j] * inner[j]
        out[i] += one


@summed_in_any_order
def _add_two_by_group(part: Part, sums: tuple[Array, Array], out: Array) -> None:
    """Add rows times two sums of their group to two vectors."""
    out_first, out_second = out[0], out[1]
    for i in range(out.shape[1]):
        row, first, second = part.left[i], sums[0][part.first[i]], sums[1][part.first[i]]
        one, other = 0.0, 0.0
        for j in range(len(row)):
            one += row[j] * first[j]
            other += row[j] * second[j]
        out_first[i] += one
        out_second[i] += other


@compiled_inside
def _add_coupled(dense: Array, rows: Rows, items: Array, values: Array, out: Array) -> None:
    """Add rows of B, or of its transpose, times values."""
    if len(dense):
        _add_rows(dense, items, values, out)
    elif len(rows.data):
        _add_sparse_rows(rows, items, values, out)


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
    """Return all entries of the column of B of a variable, or of the row of B of a row."""
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
    """Return the product of two rows of L: over shared columns, and within a group over all."""
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
    """Return the weighted product of two sparse rows, merging their columns, which are in order."""
    rows, result = part.rows, 0.0
    a, b = rows.indptr[i], rows.indptr[j]
    while a < rows.indptr[i + 1] and b < rows.indptr[j + 1]:
        if rows.indices[a] == rows.indices[b]:
            result += rows.data[a] * part.weights[rows.indices[a]] * rows.data[b]
        step = rows.indices[a] - rows.indices[b]
        a, b = a + (step <= 0), b + (step >= 0)
    return result


def is_single_product(form: Form, size: int) -> bool:
    """Return whether all of M is one product through an inner vector: of factors, or over pairs."""
    kind = form.H.kind if form.size else form.G.kind
    is_one = form.size == 0 or (form.G.kind == ABSENT and form.size == size)
    return is_one and kind in (FACTORED, PAIRED) and len(form.units) == 0


def inner_size(part: Part) -> int:
    """Return the length of inner vectors."""
    return int(part.left.shape[0] if part.kind == PAIRED else part.right.shape[1])


def inner_of(part: Part, vectors: Array) -> Array:
    """Return the inner vectors Rᵀv, or Dᵀv, of a few dense vectors, one per row."""
    if part.kind == FACTORED:
        return vectors @ part.right
    n = inner_size(part)
    return np.stack([np.bincount(part.first, v, n) - np.bincount(part.second, v, n) for v in vectors])


def scores_of(part: Part, inner: Array) -> Array:
    """Return what entries of M v are computed from: Rᵀv itself, or K Dᵀv, one vector per row."""
    return inner @ part.left if part.kind == PAIRED else inner


@compiled
def add_to_inner(part: Part, item: int, value: float, inner: Array) -> None:
    """Add what one item with a value contributes to an inner vector."""
    if value == 0.0:
        return
    if part.kind == PAIRED:
        inner[part.first[item]] += value
        inner[part.second[item]] -= value
        return
    for j in range(len(inner)):
        inner[j] += value * part.right[item, j]


@compiled
def product_of_row(part: Part, item: int, inner: Array) -> float:
    """Return one entry of M v without diag, from what `scores_of` returned for v."""
    if part.kind == PAIRED:
        return inner[part.first[item]] - inner[part.second[item]]
    total = 0.0
    for j in range(len(inner)):
        total += part.left[item, j] * inner[j]
    return total


@compiled
def products_of_tile(part: Part, begin: int, end: int, inner: Array) -> Array:
    """Return neighbouring entries of M v without diag, for many v at once."""
    if part.kind != PAIRED:
        return np.dot(inner, part.left[begin:end].T)
    result = np.empty((len(inner), end - begin))
    first, second = part.first[begin:end], part.second[begin:end]
    for p in range(len(inner)):
        scores = inner[p]
        for i in range(end - begin):
            result[p, i] = scores[first[i]] - scores[second[i]]
    return result
