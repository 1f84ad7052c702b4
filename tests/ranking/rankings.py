"""Ranking problems for tests of estimators, and the conditions their solutions have to meet."""

import numpy as np

# Items, features, kernel, reduction: D K Dᵀ is singular in most of them.
TIED = {
    "all pairs, rank 1": (12, 1, "linear", "full"),
    "all pairs, rank 3": (12, 3, "linear", "full"),
    "levels": (12, 3, "rbf", "levels"),
    "all pairs, gaussian": (12, 2, "rbf", "full"),
    "tree": (14, 4, "rbf", "tree"),
}


def whole(items, features, seed):
    """Small whole features with duplicate rows, three labels, rows of three queries in any order."""
    random = np.random.default_rng(seed)
    X = random.integers(-2, 3, (items, features)).astype(float)
    X[items // 2 : items // 2 + 3] = X[:3]
    return X, random.integers(0, 3, items), random.integers(0, 3, items)


def gaussian(items, features, seed):
    """Points in general position whose labels follow a noisy linear score, in one query."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(items, features))
    scores = X @ random.normal(size=features) + random.normal(size=items)
    return X, np.digitize(scores, [-0.7, 0.7])


def margins(model, K, alpha):
    """f_i - f_j of every pair, for the f that dual variables give."""
    better, worse = model.preferences_.pairs.T
    f = K @ (np.bincount(better, alpha, len(K)) - np.bincount(worse, alpha, len(K)))
    return f[better] - f[worse]


def violation(model, K, alpha, C):
    """By how much dual variables fail to be optimal: 0 ≤ α ≤ Cω, margin ≥ Δ if α < Cω, ≤ Δ if α > 0."""
    preferences, size = model.preferences_, 1e-9 * max(1.0, C)
    cap, above = C * preferences.weight, margins(model, K, alpha) - preferences.margin
    low = np.where(alpha < cap - size, -above, 0)
    high = np.where(alpha > size, above, 0)
    return max(low.max(), high.max(), -alpha.min(), (alpha - cap).max())


def gap(model, K, alpha, C):
    """The duality gap of dual variables, relative to the primal value, both from their definitions."""
    preferences = model.preferences_
    better, worse = preferences.pairs.T
    beta = np.bincount(better, alpha, len(K)) - np.bincount(worse, alpha, len(K))
    slack = np.maximum(0, preferences.margin - margins(model, K, alpha))
    primal = beta @ K @ beta / 2 + C * preferences.weight @ slack
    return (primal - (preferences.margin @ alpha - beta @ K @ beta / 2)) / primal
