"""Markets for tests of results: studies with a linear price, part-worths, estimators."""

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import log_softmax

from ranking.conjoint import Attribute, ConjointStudy, example_study
from ranking.conjoint.results.predictions import task_weights

COFFEE = example_study()
COLUMNS = COFFEE.columns
PACKS = {
    "ours": {"brand": "Alba", "roast": "dark", "size": "large", "price": 12},
    "theirs": {"brand": "Brio", "roast": "medium", "size": "large", "price": 9},
    "cheap": {"brand": "Cima", "roast": "light", "size": "small", "price": 9},
}
# Attributes of `mixed_study`: the price in units of 10.
MIXED = {"brand": ("A", "B", "C"), "price": Attribute.linear("price", unit=10)}


def worths(n, seed=0, columns=COLUMNS, names=None):
    """Normal part-worths of n respondents."""
    numbers = np.random.default_rng(seed).normal(size=(n, len(columns)))
    return pd.DataFrame(numbers, index=range(1, n + 1) if names is None else names, columns=columns)


def mixed_study(seed=0, respondents=20, tasks=6, truth=(1.0, 0.0, -1.0, -1.5, -0.5)):
    """Tasks of two or three alternatives and none, by a logit model: three brands, a linear price, none."""
    chance = np.random.default_rng(seed)
    rows = []
    for who in range(1, respondents + 1):
        for task in range(1, tasks + 1):
            brands, prices = chance.choice(list("ABC"), size=3), chance.choice([5, 10, 20, 30], size=3)
            shown = 2 + task % 2
            utility = [truth["ABC".index(b)] + truth[3] * p / 10 for b, p in zip(brands, prices, strict=True)]
            offered = np.append(utility[:shown], truth[4]) + chance.gumbel(size=shown + 1)
            for place in range(shown + 1):
                row = {"who": who, "task": task, "alt": place, "taken": int(place == offered.argmax())}
                is_none = place == shown
                row |= {
                    "brand": None if is_none else brands[place],
                    "price": None if is_none else prices[place],
                }
                rows.append({**row, "weight": 1 + who % 3})
    roles = {"respondent": "who", "task": "task", "alternative": "alt", "chosen": "taken", "weight": "weight"}
    return ConjointStudy.from_frame(pd.DataFrame(rows), attributes=MIXED, none=True, **roles)


def conditional_logit(study):
    """Part-worths of the likeliest logit model of all respondents, found by scipy with a tiny ridge."""
    choices, X = study.choices, study.design.astype(float)
    is_there = np.arange(choices.size.max()) < choices.size[:, None]
    weights, ridge = task_weights(study), 1e-8

    def cost(v):
        U = np.full(is_there.shape, -np.inf)
        U[is_there] = X @ v
        logs = log_softmax(U, axis=1)
        chosen = logs[np.arange(len(U)), choices.chosen]
        p = np.exp(logs[is_there]) * np.repeat(weights, choices.size)
        gradient = X.T @ p - X[choices.chosen_rows].T @ weights
        return -chosen @ weights + ridge / 2 * v @ v, gradient + ridge * v

    start = np.zeros(X.shape[1])
    found = minimize(cost, start, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 1000})
    return pd.Series(found.x, index=study.columns)


def counted_worths(study):
    """A quick stand-in for a model: how much oftener a level is chosen than shown, for all respondents."""
    chosen = study.design[study.choices.chosen_rows].mean(axis=0)
    return pd.Series(chosen - study.design.mean(axis=0), index=study.columns)
