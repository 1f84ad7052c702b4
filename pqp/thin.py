r"""Thin parts: M = L Rᵀ + diag, or D K Dᵀ over pairs, multiplied through a few numbers.

A vector enters M v by Rᵀv, or by Dᵀv, alone; every entry of M v is then a short product with L, or a
difference of two entries of K Dᵀv.

Room: a part and sparse changes in, these few numbers and entries of products out.
May touch: `field`, `forms`.
"""

import numpy as np

from pqp.field import Array
from pqp.forms import FACTORED, NOTHING, PAIRED, Form, Part, compiled


def can_sweep(form: Form, size: int) -> bool:
    """Tell whether all of M is one thin part."""
    kind = form.H.kind if form.size else form.G.kind
    is_one = form.size == 0 or (form.G.kind == NOTHING and form.size == size)
    return is_one and kind in (FACTORED, PAIRED) and len(form.units) == 0


def width_of(part: Part) -> int:
    """Return how many numbers a vector is known by."""
    return int(part.left.shape[0] if part.kind == PAIRED else part.right.shape[1])


def entering(part: Part, vectors: Array) -> Array:
    """Return Rᵀv, or Dᵀv, of a few dense vectors, one a row."""
    if part.kind == FACTORED:
        return vectors @ part.right
    n = width_of(part)
    return np.stack([np.bincount(part.first, v, n) - np.bincount(part.second, v, n) for v in vectors])


def passing(part: Part, inner: Array) -> Array:
    """Return what entries of M v are read from: Rᵀv itself, or K Dᵀv, one vector a row."""
    return inner @ part.left if part.kind == PAIRED else inner


@compiled
def add_row(part: Part, item: int, value: float, inner: Array) -> None:
    """Let an item enter with a value."""
    if value == 0.0:
        return
    if part.kind == PAIRED:
        inner[part.first[item]] += value
        inner[part.second[item]] -= value
        return
    for j in range(len(inner)):
        inner[j] += value * part.right[item, j]


@compiled
def row_product(part: Part, item: int, inner: Array) -> float:
    """Return one entry of M v but for diag, from what `passing` returned for v."""
    if part.kind == PAIRED:
        return inner[part.first[item]] - inner[part.second[item]]
    total = 0.0
    for j in range(len(inner)):
        total += part.left[item, j] * inner[j]
    return total


@compiled
def tile_products(part: Part, begin: int, end: int, inner: Array) -> Array:
    """Return neighbouring entries of M v but for diag, for many v at once."""
    if part.kind != PAIRED:
        return np.dot(inner, part.left[begin:end].T)
    result = np.empty((len(inner), end - begin))
    first, second = part.first[begin:end], part.second[begin:end]
    for p in range(len(inner)):
        scores = inner[p]
        for i in range(end - begin):
            result[p, i] = scores[first[i]] - scores[second[i]]
    return result
