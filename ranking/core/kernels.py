"""Kernels: Gram matrices of items, and features and kernels of pairs of items."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import sparray
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels

from ranking.core.validation import Array, Rows, as_dense, as_symmetric, as_table, item_pairs, require_choice
from ranking.errors import DataError, must_be, must_have

Kernel = str | Callable[..., float]
Gamma = float | Literal["scale", "auto"] | None

# Names of the kernels and the parameters each of them reads.
PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "linear": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "precomputed": (),
    "tanimoto": (),
    "minmax": (),
}
# Rows taken at a time, fewer where they would hold more entries than the next number: 8 MB when made dense.
BLOCK = 256
ENTRIES = 2**20


def kernel_matrix(
    X: Rows,
    Y: Rows | None = None,
    kernel: Kernel = "linear",
    gamma: Gamma = None,
    degree: float = 3,
    coef0: float = 1.0,
    kernel_params: Mapping[str, object] | None = None,
) -> Array:
    r"""Return the matrix of k(x_i, y_j) over the rows of X and of Y, or of X and X, then exactly symmetric.

    ============= ==================================================================================
    linear        :math:`\langle x, y \rangle`
    rbf           :math:`\exp(-\gamma \|x - y\|^2)`
    poly          :math:`(\gamma \langle x, y \rangle + c_0)^{\text{degree}}`
    tanimoto      :math:`\langle x, y \rangle / (\|x\|^2 + \|y\|^2 - \langle x, y \rangle)`, counts
    minmax        :math:`\sum_i \min(x_i, y_i) / \sum_i \max(x_i, y_i)`, counts
    precomputed   X itself: the Gram matrix, or with Y (the Gram matrix) one column per row of Y
    a function    k(x, y, \*\*kernel_params)
    ============= ==================================================================================

    Two empty fingerprints are equal: their 0/0 is 1, so that k(x, x) = 1 for every x. Counts may be any
    numbers :math:`\ge 0`. X and Y may be sparse. On binary fingerprints tanimoto and minmax agree.

    `gamma` is as in `sklearn.svm.SVC`: a number, "auto" for 1/columns, "scale" for 1/(columns · variance of
    X), or 1 if X is constant; None is "auto". "scale" depends on the data, so with Y it has to be fixed
    first, by `gamma_of` of the training data: otherwise new items would be measured by another kernel than
    the old ones.

    >>> kernel_matrix([[1, 0, 2], [1, 1, 0]], kernel="minmax")
    array([[1.  , 0.25],
           [0.25, 1.  ]])
    """
    name = kernel_name(kernel, kernel_params)
    if name == "precomputed" and Y is None:
        return as_symmetric(as_dense(X), "X")
    left = as_table(X, "X")
    if name == "precomputed":
        old: Any = Y  # the types of numpy do not know the shapes of tables
        values, count = as_dense(left), np.shape(old)[0]
        if values.shape[1] != count:
            raise must_have("X", f"one column per row of Y, {count}", found=f"shape {values.shape}")
        return values
    right = left if Y is None else as_table(Y, "Y")
    if left.shape[1] != right.shape[1]:
        raise must_have("Y", f"{left.shape[1]} columns like X", found=right.shape[1])
    if name in ("tanimoto", "minmax"):
        K = _of_counts(left, right, name)
    else:
        if gamma == "scale" and Y is not None:
            message, remedy = "{argument}={found} depends on the training data", "gamma_of(X_train, 'scale')"
            raise DataError(message, argument="gamma", found="'scale'", remedy=f"with Y pass {remedy}")
        given = {"gamma": gamma_of(left, gamma), "degree": degree, "coef0": coef0}
        options = kernel_params or {} if callable(kernel) else {key: given[key] for key in PARAMETERS[name]}
        K = pairwise_kernels(left, None if Y is None else right, metric=kernel, **options)
    # products of blocks may differ in the last bit; halves first, since a sum might overflow
    return K / 2 + K.T / 2 if Y is None else K


def gamma_of(X: Rows, gamma: Gamma = None) -> float:
    """Return the number that gamma stands for on the data X.

    >>> gamma_of([[0.0, 2.0], [0.0, 2.0]], "scale"), gamma_of([[0.0, 2.0]], "auto")
    (0.5, 0.5)
    """
    features = as_table(X, "X")
    if gamma is None or gamma == "auto":
        return 1 / features.shape[1]
    if gamma == "scale":
        is_dense = isinstance(features, np.ndarray)
        # zeros of a sparse matrix count too
        variance = features.var() if is_dense else features.multiply(features).mean() - features.mean() ** 2
        return float(1 / (features.shape[1] * variance)) if variance > 0 else 1.0
    if isinstance(gamma, str) or not np.isfinite(gamma) or gamma <= 0:
        raise must_be("gamma", "a positive number, 'scale', 'auto' or None", found=repr(gamma))
    return float(gamma)


def kernel_name(kernel: Kernel, kernel_params: Mapping[str, object] | None = None) -> str:
    """Return the name of a kernel, "function" if it has none, after checking that there is one.

    >>> kernel_name("rbf")
    'rbf'
    """
    require_choice(kernel, PARAMETERS, "kernel", or_function=True)
    if callable(kernel):
        return "function"
    if kernel_params:
        wanted, remedy = "None with a named kernel", "use gamma, degree, coef0"
        raise must_be("kernel_params", wanted, found=repr(kernel_params), remedy=remedy)
    return kernel


def _of_counts(X: Any, Y: Any, name: str) -> Array:
    """Return the Tanimoto or the MinMax kernel, filled block by block, the upper half only if Y is X."""
    for counts, argument in ((X, "X"), (Y, "Y")):
        if counts.min() < 0:
            # the checks of scikit-learn look for the first words in an estimator of counts
            message = "Negative values in data: {argument} holds {found}, but {expected} is for counts"
            found, kernel = f"{counts.min():g}", f"kernel={name!r}"
            raise DataError(message, argument=argument, found=found, expected=kernel)
    K = np.empty((X.shape[0], Y.shape[0]))
    for rows in _blocks(*X.shape):
        for columns in _blocks(*Y.shape):
            # the lower half is a copy, which saves half the work and makes K symmetric bit by bit
            if Y is X and columns.start < rows.start:
                K[rows, columns] = K[columns, rows].T
                continue
            a, b = as_dense(X[rows]), as_dense(Y[columns])
            if name == "minmax":
                # twice the minimum is a + b − |a − b|, twice the maximum a + b + |a − b|; minima by
                # broadcasting would need an array with one entry per row of X, row of Y and column
                total, distance = a.sum(axis=1)[:, None] + b.sum(axis=1), cdist(a, b, "cityblock")
                common, union = total - distance, total + distance
            else:
                common = a @ b.T
                union = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - common
            # counts have a denominator of 0 only where both rows are 0, and then the numerator is 0 as well
            K[rows, columns] = np.divide(common, union, out=np.ones_like(common), where=union > 0)
    return K


def _blocks(n: int, width: int) -> Iterator[slice]:
    size = max(1, min(BLOCK, ENTRIES // width))
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def difference_features(X: Rows, pairs: ArrayLike) -> Array | sparray:
    """Return x_i − x_j for each pair (i, j), sparse if X is.

    >>> difference_features([[1.0, 2.0], [0.0, 5.0]], [(0, 1)])
    array([[ 1., -3.]])
    """
    features = as_table(X, "X")
    i, j = item_pairs(pairs, features.shape[0]).T
    return features[i] - features[j]


def exterior_product_features(X: Rows, pairs: ArrayLike) -> Array:
    r"""Return the d(d − 1)/2 components of the exterior product x_i ∧ x_j of each pair (i, j).

    Differences :math:`\phi_{ij} = x_i - x_j` can only say that an item is better by what it is itself. A
    feature of the pair that still respects the order of its items has to be antisymmetric, :math:`\phi_{ji} =
    -\phi_{ij}`. The simplest that is linear in each item comes from the matrix :math:`x_i x_j^\top`,
    antisymmetrised:

    .. math:: \Phi_{ij} = x_i x_j^\top - x_j x_i^\top,
              \qquad (\Phi_{ij})_{ab} = x_{ia} x_{jb} - x_{ib} x_{ja}.

    This matrix is skew, so its entries above the diagonal hold all of it: they are the components of
    :math:`x_i \wedge x_j`, and

    .. math:: \langle x_i \wedge x_j, x_k \wedge x_m \rangle
              = \tfrac12 \operatorname{tr}(\Phi_{ij}^\top \Phi_{km})
              = \langle x_i, x_k \rangle \langle x_j, x_m \rangle
              - \langle x_i, x_m \rangle \langle x_j, x_k \rangle,

    since :math:`\operatorname{tr}(x_j x_i^\top x_k x_m^\top)` is
    :math:`\langle x_i, x_k \rangle \langle x_j, x_m \rangle`, and of the four traces of this kind each value
    occurs twice (the identity of Binet and Cauchy). The right-hand side needs inner products only, so any
    kernel may take their place: `exterior_kernel`. What these features cannot do: a model on them ranks
    pairs, not items, and its preferences may run in a circle; and they vanish where the items are parallel.

    >>> exterior_product_features([[1.0, 2.0], [3.0, 4.0]], [(0, 1), (1, 0)])
    array([[-2.],
           [ 2.]])
    """
    dense = as_dense(as_table(X, "X"))
    i, j = item_pairs(pairs, len(dense)).T
    a, b = np.triu_indices(dense.shape[1], k=1)
    return np.asarray(dense[np.ix_(i, a)] * dense[np.ix_(j, b)] - dense[np.ix_(i, b)] * dense[np.ix_(j, a)])


def exterior_kernel(K: Rows, pairs: ArrayLike, other_pairs: ArrayLike | None = None) -> Array:
    r"""Return :math:`K_{ik} K_{jm} - K_{im} K_{jk}` for each pair (i, j) and each other pair (k, m).

    K is the Gram matrix of the items; the other pairs are the same ones where none are given. K may be
    rectangular, k(new item, old item): pairs then name its rows and `other_pairs` its columns. The result is
    positive semidefinite if K is, being the Gram matrix of x_i ∧ x_j (see `exterior_product_features`).

    >>> exterior_kernel([[5.0, 11.0], [11.0, 25.0]], [(0, 1), (1, 0)])
    array([[ 4., -4.],
           [-4.,  4.]])
    """
    gram = as_dense(as_table(K, "K"))
    if other_pairs is None and gram.shape[0] != gram.shape[1]:
        raise must_be("other_pairs", "given, since K is not square", found=f"shape {gram.shape}")
    others = item_pairs(pairs if other_pairs is None else other_pairs, gram.shape[1], "other_pairs")
    (i, j), (k, m) = item_pairs(pairs, gram.shape[0]).T, others.T
    return np.asarray(gram[np.ix_(i, k)] * gram[np.ix_(j, m)] - gram[np.ix_(i, m)] * gram[np.ix_(j, k)])
