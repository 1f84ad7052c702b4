r"""Pair features: what a preference of one item over another looks like to a linear model.

Room: rows of features, or their Gram matrix, and pairs in; one row a pair, or inner products of pairs, out.
May touch: `errors`, `arguments`, `arrays`.
"""

from typing import Any

import numpy as np

from ranking.arguments import item_pairs
from ranking.arrays import Array, as_dense, as_table
from ranking.errors import DataError


def difference_features(X: Any, pairs: Any) -> Any:
    """Return x_i − x_j for each pair (i, j), sparse if X is.

    >>> difference_features([[1.0, 2.0], [0.0, 5.0]], [(0, 1)])
    array([[ 1., -3.]])
    """
    features = as_table(X, "X")
    i, j = item_pairs(pairs, features.shape[0]).T
    return features[i] - features[j]


def exterior_product_features(X: Any, pairs: Any) -> Array:
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


def exterior_kernel(K: Any, pairs: Any, other_pairs: Any = None) -> Array:
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
        raise DataError(f"other_pairs must be given, since K is not square: got shape {gram.shape}")
    others = item_pairs(pairs if other_pairs is None else other_pairs, gram.shape[1], "other_pairs")
    (i, j), (k, m) = item_pairs(pairs, gram.shape[0]).T, others.T
    return np.asarray(gram[np.ix_(i, k)] * gram[np.ix_(j, m)] - gram[np.ix_(i, m)] * gram[np.ix_(j, k)])
