"""Objects with ordinal labels for tests, and what the fixed margin programs mean, written out."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st


@st.composite
def labelled(draw, most=7, most_levels=4):
    """X of small integers, so that objects coincide, and labels 0, 1, ..., l, each of which occurs."""
    n_levels = draw(st.integers(2, most_levels))
    n, m = draw(st.integers(n_levels, max(most, n_levels))), draw(st.integers(1, 2))
    entries = draw(st.lists(st.integers(-2, 2), min_size=n * m, max_size=n * m))
    rest = draw(st.lists(st.integers(0, n_levels - 1), min_size=n - n_levels, max_size=n - n_levels))
    return np.array(entries, dtype=float).reshape(n, m), np.array([*range(n_levels), *rest])


@st.composite
def separable(draw, most=7):
    """Objects whose labels follow their first column, with at least two levels."""
    n, m = draw(st.integers(2, most)), draw(st.integers(1, 2))
    entries = draw(st.lists(st.integers(-2, 2), min_size=n * m, max_size=n * m))
    X = np.array(entries, dtype=float).reshape(n, m)
    X[:2, 0] = [-2, 2]
    return X, np.unique(X[:, 0] // 2, return_inverse=True)[1]


def exact(array):
    """The same numbers as Fractions."""
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=float))


def asked(codes, scope="adjacent"):
    """(i, k, s) for everything an object asks: s (f_i - p_k) >= 1, thresholds p_0, ..., p_{l-1}."""
    for i, label in enumerate(codes):
        for k in range(max(codes)):
            if scope == "all" or k in (label - 1, label):
                yield i, k, 1 if k < label else -1


def violations(f, p, codes, scope="adjacent"):
    """How much everything that is asked is violated, 0 if it is not."""
    return [max(0, 1 - s * (f[i] - p[k])) for i, k, s in asked(codes, scope)]


def value(norm_squared, f, p, codes, C, norm=1, scope="adjacent"):
    """½‖w‖² + C Σ ξ or C Σ ξ²."""
    return norm_squared / 2 + C * sum(xi**norm for xi in violations(f, p, codes, scope))


def mixture(seed, n=60, m=3, noise=0.5, cuts=(-1.0, 0.0, 1.0)):
    """Objects of a linear model with noise, every level of which occurs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    latent = X @ np.ones(m) + noise * rng.normal(size=n)
    return X, np.unique(np.digitize(latent, cuts), return_inverse=True)[1]
