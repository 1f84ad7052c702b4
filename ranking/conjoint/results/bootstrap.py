r"""Bootstrap: how averages over respondents would scatter if other respondents had been asked.

Respondents are drawn with replacement, each with their weight. `RespondentBootstrap` draws rows of
part-worths that were estimated once: it is quick, and right for models of single respondents.
`RefitBootstrap` estimates again from the choices of every draw: it is right where respondents share
part-worths or are pooled.

Every statistic here is a weighted mean over respondents of a table computed from their part-worths,

.. math:: \bar q = \sum_r w_r q(v_r) / \sum_r w_r,

so a bootstrap returns the mean of such a table and its draws. Intervals are percentiles of the draws.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from ranking.conjoint.data.study import ConjointStudy, Seed
from ranking.conjoint.results.part_worths import (
    AttributeSpace,
    Estimator,
    Fit,
    PartWorths,
    StudyOrSpace,
    Weights,
    as_fit,
    read_part_worths,
    space_of,
    weights_of,
)
from ranking.core.validation import Array, Integers, whole_number
from ranking.errors import DataError, must_be

DRAWS, REFITS, LEVEL = 1000, 200, 0.95
# How many draws it takes to see a scatter.
ENOUGH = "a whole number of at least 2"
# From part-worths to a table with the same rows, of which the mean is taken; NaN is left out of it.
Statistic: TypeAlias = Callable[[pd.DataFrame], pd.DataFrame]


@dataclass(frozen=True, eq=False)
class Means:
    """Weighted means, their bootstrap draws, one per row, and the number of respondents that entered."""

    estimate: "pd.Series[float]"
    draws: pd.DataFrame
    respondents: "pd.Series[float]"

    def intervals(self, level: float = LEVEL) -> pd.DataFrame:
        """Return estimate, standard error and the ends of percentile intervals; NaN if there are no draws."""
        return summary_of(self.estimate, self.draws, level)


@dataclass(frozen=True, eq=False)
class RespondentBootstrap:
    """Part-worths and weights of respondents, who are drawn `draws` times; always the same for a seed."""

    part_worths: pd.DataFrame
    weights: Array
    draws: int = DRAWS
    random_state: Seed = 0

    def __post_init__(self) -> None:
        whole_number(self.draws, "draws", ENOUGH, least=2)

    def means(self, statistic: Statistic) -> Means:
        """Return the mean of a table read off the part-worths, without draws if all rows are equal."""
        values = statistic(self.part_worths)
        n = len(values)
        draws = np.empty((0, values.shape[1]))
        table = self.part_worths.to_numpy()
        # one row, or the same for all, was estimated from all together: it has no scatter
        if (table != table[0]).any():
            chance = np.random.default_rng(self.random_state)
            # a mean needs only how often each was drawn: one matrix product has the means of all draws
            counts = chance.multinomial(n, np.full(n, 1 / n), size=self.draws)
            draws = _means(values.to_numpy(dtype=float), counts * self.weights)
        return _as_means(values, self.weights, draws)


@dataclass(frozen=True, eq=False)
class RefitBootstrap:
    """Part-worths and weights of a study, and those of studies whose respondents were drawn from it."""

    part_worths: pd.DataFrame
    weights: Array
    samples: tuple[tuple[pd.DataFrame, Array], ...]

    def means(self, statistic: Statistic) -> Means:
        """Return the mean of a table read off the part-worths of the study, and of every draw."""
        values = statistic(self.part_worths)
        drawn = [weighted_mean(statistic(table), weights).to_numpy() for table, weights in self.samples]
        draws = np.array(drawn, dtype=float).reshape(len(drawn), values.shape[1])
        return _as_means(values, self.weights, draws)


Bootstrap: TypeAlias = RespondentBootstrap | RefitBootstrap
# Part-worths alone, or with the way in which respondents are drawn.
PartWorthsOrBootstrap: TypeAlias = "PartWorths | Bootstrap"


def bootstrap_of(
    part_worths: PartWorthsOrBootstrap, study: StudyOrSpace, weights: Weights = None
) -> Bootstrap:
    """Return a bootstrap of respondents with what it usually takes, or the one that is handed in."""
    if isinstance(part_worths, RespondentBootstrap | RefitBootstrap):
        if weights is not None:
            message = "the {argument} are those of the bootstrap"
            raise DataError(message, argument="weights", remedy="leave them out")
        read_part_worths(part_worths.part_worths, study)
        return part_worths
    return respondent_bootstrap(part_worths, study, weights)


def respondent_bootstrap(
    part_worths: PartWorths,
    study: StudyOrSpace,
    weights: Weights = None,
    draws: int = DRAWS,
    random_state: Seed = 0,
) -> RespondentBootstrap:
    """Return the bootstrap of part-worths that stay as they are while respondents are drawn.

    Parameters
    ----------
    part_worths
        One row per respondent, with the columns of the study; or a fitted model.
    study
        The study, or its space.
    weights
        Of the rows; by default those of the study if the rows are its respondents, else 1.
    draws, random_state
        How many draws, and the seed.

    Returns
    -------
    RespondentBootstrap
        To be passed to functions such as `importance_summary` and `simulate` instead of part-worths.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> boot = respondent_bootstrap(example_part_worths().T, example_study(), draws=100)
    >>> boot.means(lambda v: v["size"]).intervals()
           estimate  standard_error   lo   hi
    level
    small      -0.3        ...      -0.4 -0.2
    large       0.3        ...       0.2  0.4
    """
    table = read_part_worths(part_worths, study)
    return RespondentBootstrap(table, weights_of(weights, table, study), draws, random_state)


def refit_bootstrap(
    fit: Fit | Estimator,
    study: ConjointStudy,
    draws: int = REFITS,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> RefitBootstrap:
    """Return the bootstrap that estimates again from every draw of respondents, and from the study itself.

    Parameters
    ----------
    fit
        An estimator, such as `ConjointSVM(C=0.1)`, or a function from a study to part-worths.
    study
        The study; tasks marked as held out are not used.
    draws, random_state
        How many draws, and the seed.
    n_jobs
        Processes, as in joblib; results do not depend on their number.

    Returns
    -------
    RefitBootstrap
        To be passed to functions such as `importance_summary` and `simulate` instead of part-worths.
    """
    whole_number(draws, "draws", ENOUGH, least=2)
    estimate = as_fit(fit)
    train = study.without_holdout()
    space, n = space_of(train), len(train.respondents)
    # drawn before the work is divided, so that the number of processes changes nothing
    codes = np.random.default_rng(random_state).integers(n, size=(draws, n))
    samples = Parallel(n_jobs=n_jobs)(delayed(_refitted)(estimate, train, row, space) for row in codes)
    whole = read_part_worths(estimate(train), space)
    return RefitBootstrap(whole, weights_of(None, whole, train), tuple(samples))


def resampled(study: ConjointStudy, codes: Integers) -> ConjointStudy:
    """Return the study of respondents given by code, who may occur several times, named 0, 1, ...."""
    mine = [np.flatnonzero(study.choices.respondent == code) for code in range(len(study.respondents))]
    part = study.with_tasks(np.concatenate([mine[code] for code in codes]))
    who = np.repeat(np.arange(len(codes)), [len(mine[code]) for code in codes])
    names = pd.RangeIndex(len(codes), name=study.respondents.name)
    weights = study.weights.iloc[codes].set_axis(names)
    return replace(part, choices=replace(part.choices, respondent=who), weights=weights)


def summary_of(estimate: "pd.Series[float]", draws: pd.DataFrame, level: float = LEVEL) -> pd.DataFrame:
    """Return estimates with standard errors and percentile intervals of their draws, one per column."""
    if not 0 < level < 1:
        raise must_be("level", "between 0 and 1, for example 0.95", found=level)
    table = draws.to_numpy()
    error = lo = hi = np.full(len(estimate), np.nan)
    if len(table) > 1:
        error = table.std(axis=0, ddof=1)
        # percentiles need no symmetry: shares and importances are bounded, and skew near their bounds
        lo, hi = np.quantile(table, [(1 - level) / 2, (1 + level) / 2], axis=0)
    columns = {"estimate": estimate.to_numpy(), "standard_error": error, "lo": lo, "hi": hi}
    return pd.DataFrame(columns, index=estimate.index)


def _refitted(
    fit: Fit, study: ConjointStudy, codes: Integers, space: AttributeSpace
) -> tuple[pd.DataFrame, Array]:
    """Return part-worths and weights of a draw of respondents."""
    sample = resampled(study, codes)
    table = read_part_worths(fit(sample), space)
    return table, weights_of(None, table, sample)


def weighted_mean(values: pd.DataFrame, weights: Array) -> "pd.Series[float]":
    """Return the weighted mean of every column, without the entries that are NaN."""
    return pd.Series(_means(values.to_numpy(dtype=float), weights[None, :])[0], index=values.columns)


def _as_means(values: pd.DataFrame, weights: Array, draws: Array) -> Means:
    drawn = pd.DataFrame(draws, columns=values.columns)
    return Means(weighted_mean(values, weights), drawn, values.notna().sum())


def _means(values: Array, weights: Array) -> Array:
    """Return the means of columns for every row of weights, without the entries that are NaN."""
    # who has no value, such as importances without any preference, has no weight in this column either
    is_there = np.isfinite(values)
    total = weights @ is_there
    sums = weights @ np.where(is_there, values, 0.0)
    return np.divide(sums, total, out=np.full(sums.shape, np.nan), where=total > 0)
