r"""Forms: what M is, by plain arrays, as compiled code takes it.

A `Form` says it by two symmetric parts H and G and the rows B that couple them, each in the structure it came
with. M itself is never formed.

Room: matrices and factors in, records of arrays out. Multiplies nothing.
May touch: `field`, `matrices`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit
from scipy.sparse import csr_array

from pqp.field import Array
from pqp.matrices import MatrixData, is_sparse

# Kept on disk, since compiling takes seconds; dividing by zero gives an infinity, as in numpy; no C calls it.
KEPT: dict[str, Any] = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}
INSIDE = KEPT | {"no_cpython_wrapper": True}
Function = TypeVar("Function", bound=Callable[..., Any])
NOTHING, DENSE, FACTORED, PAIRED, SPARSE, SPARSE_FACTORED, GROUPED = range(7)


def compiled(function: Function) -> Function:
    """Return a function, compiled when it is first called."""
    return njit(**KEPT)(function)


def compiled_inside(function: Function) -> Function:
    """Return a function that compiled code alone calls: the way in from Python takes long to compile."""
    return njit(**INSIDE)(function)


def compiled_in_any_order(function: Function) -> Function:
    """Return a function compiled so that several sums or maxima may be taken at once."""
    return njit(**KEPT, fastmath=True)(function)


def summed_in_any_order(function: Function) -> Function:
    """Return a function that compiled code alone calls, whose sums, finite or not, may change their order."""
    return njit(**INSIDE, fastmath={"reassoc", "nsz", "contract"})(function)


def frozen(values: Array) -> Array:
    """Return an array as compiled code takes it: in one piece, and read-only, so that one kind suffices."""
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


NO_MATRIX, NO_VECTOR = frozen(np.empty((0, 0))), frozen(np.empty(0))
NO_INDICES = frozen(np.empty(0, dtype=np.int64))


class Rows(NamedTuple):
    """A sparse matrix by its rows."""

    data: Array
    indices: Array
    indptr: Array


NO_ROWS = Rows(NO_VECTOR, NO_INDICES, frozen(np.zeros(1, dtype=np.int64)))


class Part(NamedTuple):
    """A symmetric matrix: L, L Rᵀ + diag, differences of L over pairs, or S, S diag(weights) Sᵀ + diag.

    Which one it is `kind` tells; L is `left`, R `right`, S `rows`, and diag `added`. If it is grouped, it is
    L Lᵀ + diag where items of different groups, `first`, have but the first `shared` columns of L in common;
    no more items of a group are independent than `second` says.
    """

    kind: int
    left: Array = NO_MATRIX
    right: Array = NO_MATRIX
    rows: Rows = NO_ROWS
    weights: Array = NO_VECTOR
    added: Array = NO_VECTOR
    first: Array = NO_INDICES
    second: Array = NO_INDICES
    shared: int = 0


NO_PART = Part(NOTHING)


class Form(NamedTuple):
    """M by its parts; items below `size` belong to H. B is dense or sparse, each by rows and by columns."""

    size: int
    H: Part
    G: Part
    B: tuple[Array, Array]
    sparse: tuple[Rows, Rows]
    units: Array


def rows_of(matrix: MatrixData) -> Rows:
    """Return a sparse matrix by its rows."""
    by_rows = csr_array(matrix).sorted_indices()
    return Rows(_floats(by_rows.data), _integers(by_rows.indices), _integers(by_rows.indptr))


def part_of(matrix: MatrixData) -> Part:
    """Return a symmetric matrix given by its entries as a part."""
    return Part(SPARSE, rows=rows_of(matrix)) if is_sparse(matrix) else Part(DENSE, left=_floats(matrix))


def factored_part(left: MatrixData, right: MatrixData, added: Array) -> Part:
    """Return left rightᵀ + diag(added), both factors dense, as a part."""
    return Part(FACTORED, left=_floats(left), right=_floats(right), added=_floats(added))


def sparse_factored_part(factor: MatrixData, weights: Array, added: Array) -> Part:
    """Return factor diag(weights) factorᵀ + diag(added) as a part."""
    return Part(SPARSE_FACTORED, rows=rows_of(factor), weights=_floats(weights), added=_floats(added))


def paired_part(K: Array, first: Array, second: Array) -> Part:
    """Return the differences of K over pairs of its items as a part."""
    return Part(PAIRED, left=_floats(K), first=_integers(first), second=_integers(second))


def grouped_part(left: Array, shared: int, group: Array, ranks: Array, added: Array) -> Part:
    """Return left leftᵀ + diag(added) as a part, columns beyond the shared ones being those of a group."""
    return Part(
        GROUPED,
        left=_floats(left),
        first=_integers(group),
        second=_integers(ranks),
        added=_floats(added),
        shared=shared,
    )


def form_of(size: int, H: Part, G: Part, B: MatrixData | None) -> Form:
    """Return the form of a system without units."""
    dense, rows = (NO_MATRIX, NO_MATRIX), (NO_ROWS, NO_ROWS)
    if B is not None and is_sparse(B):
        rows = (rows_of(B), rows_of(B.T))
    elif B is not None:
        dense = (_floats(B), _floats(B.T))
    return Form(size, H, G, dense, rows, NO_VECTOR)


def restricted(part: Part, items: Array) -> Part:
    """Return the block of a symmetric part that belongs to some items."""
    left, right = part.left, part.right
    if part.kind in (DENSE, FACTORED, GROUPED):
        left = left[items][:, items] if part.kind == DENSE else left[items]
    return part._replace(
        left=_floats(left),
        right=_floats(right[items]) if len(right) else right,
        rows=_restricted_rows(part, items),
        added=_floats(part.added[items]) if len(part.added) else part.added,
        first=_integers(part.first[items]) if len(part.first) else part.first,
        second=_integers(part.second[items]) if part.kind == PAIRED else part.second,
    )


def _restricted_rows(part: Part, items: Array) -> Rows:
    if part.kind not in (SPARSE, SPARSE_FACTORED):
        return part.rows
    count = len(part.rows.indptr) - 1
    columns = count if part.kind == SPARSE else len(part.weights)
    kept = csr_array(tuple(part.rows), shape=(count, columns))[items]
    return rows_of(kept[:, items] if part.kind == SPARSE else kept)


def with_units(form: Form, units: Array) -> Form:
    """Return d M d for the units d."""
    return form._replace(units=_floats(units))


def _floats(values: Array) -> Array:
    return frozen(np.asarray(values, dtype=float))


def _integers(values: Array) -> Array:
    return frozen(np.asarray(values, dtype=np.int64))


def thin_part(form: Form) -> Part:
    """Return all of M if it is one symmetric part."""
    return form.H if form.size else form.G


def is_thin(form: Form, size: int) -> bool:
    """Tell whether all of M is one product of factors, whose rows then are all it takes to multiply."""
    kind = form.H.kind if form.size else form.G.kind
    is_one = form.size == 0 or (form.G.kind == NOTHING and form.size == size)
    return is_one and kind == FACTORED and len(form.units) == 0
