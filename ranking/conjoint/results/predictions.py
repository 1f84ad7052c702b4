r"""Predictions for the tasks of a study: utilities, probabilities, hit rate, likelihood, shares.

The utility of alternative a for respondent r is :math:`u_a = \chi_a^\top v_r`. First choice takes the
alternative of largest utility, ties in equal parts. The logit rule takes alternative a with probability

.. math:: p_a = e^{\beta u_a} / \sum_b e^{\beta u_b},

and tends to first choice as the scale :math:`\beta` grows.

The hit rate is the share of tasks whose chosen alternative has the largest utility. The root likelihood is
the geometric mean of the probabilities of the chosen alternatives: 1/k by chance among k. Tasks weigh as much
as their respondent. Tasks that several respondents saw alike have observed shares to compare with.
"""

from collections.abc import Hashable

import numpy as np
import pandas as pd
from scipy.special import logsumexp, softmax

from ranking.conjoint.data.choice_table import Choices
from ranking.conjoint.data.study import ConjointStudy
from ranking.conjoint.results.part_worths import PartWorths, read_part_worths, rows_of
from ranking.core.validation import Array
from ranking.errors import DataError, must_be

# Utilities that differ by less than this share of the terms they are sums of are tied: it is rounding error.
TIED = 1e-10


def first_choices(U: Array, sizes: Array) -> Array:
    """Return which alternative of every row is best, in equal parts where several are.

    `sizes` is the size of the terms that the utilities of each row are sums of; −inf is no alternative.

    >>> first_choices(np.array([[1.0, 3.0, 3.0]]), np.array([3.0]))
    array([[0. , 0.5, 0.5]])
    """
    is_best = U.max(axis=-1, keepdims=True) - U <= TIED * sizes[..., None]
    return np.asarray(is_best / is_best.sum(axis=-1, keepdims=True))


def logit(U: Array, scale: float, sizes: Array) -> Array:
    """Return choice probabilities at a scale; an infinite one is first choice.

    >>> logit(np.array([[0.0, 0.0, -np.inf]]), 2.0, np.array([1.0]))
    array([[0.5, 0.5, 0. ]])
    """
    if np.isinf(scale):
        return first_choices(U, sizes)
    return np.asarray(softmax(scaled(U, scale), axis=-1))


def log_logit(U: Array, scale: float, sizes: Array) -> Array:
    """Return logarithms of choice probabilities, precise where these are tiny."""
    if np.isinf(scale):
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(first_choices(U, sizes)))
    # the logarithm of softmax itself is −inf as soon as a probability underflows
    multiplied = scaled(U, scale)
    return np.asarray(multiplied - logsumexp(multiplied, axis=-1, keepdims=True))


def scaled(U: Array, scale: float) -> Array:
    """Return scale · U, with −inf, no alternative, as it is at scale 0 too."""
    # 0 · −inf would be NaN, and turn the whole row into NaN
    is_missing = np.isneginf(U)
    return np.where(is_missing, -np.inf, scale * np.where(is_missing, 0.0, U))


def read_scale(scale: float) -> float:
    """Return a scale: a number from 0 to infinity."""
    if not isinstance(scale, int | float | np.number) or isinstance(scale, bool) or not scale >= 0:
        raise must_be("scale", "a number of at least 0, or inf", found=scale)
    return float(scale)


def utilities(part_worths: PartWorths, study: ConjointStudy) -> Array:
    """Return the utility of every alternative, row by row of the design, for the respondent who saw it.

    Parameters
    ----------
    part_worths
        One row per respondent or one for all, with the columns of the study; or a fitted model.
    study
        The study with the tasks to predict.
    """
    v = _part_worths_of_rows(part_worths, study)
    return np.asarray((study.design * v).sum(axis=1))


def probabilities(part_worths: PartWorths, study: ConjointStudy, scale: float = 1.0) -> Array:
    """Return the probability that each alternative is chosen in its task, row by row of the design."""
    U, sizes = task_utilities(part_worths, study)
    return logit(U, read_scale(scale), sizes)[_is_there(study.choices)]


def hit_rate(part_worths: PartWorths, study: ConjointStudy) -> float:
    """Return the share of tasks in which the chosen alternative is the best; ties count in part.

    Parameters are those of `utilities`.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> nothing = 0 * example_part_worths()["price-minded"]
    >>> hit_rate(nothing, example_study())
    0.25
    """
    return float(np.average(hits(part_worths, study), weights=task_weights(study)))


def hits(part_worths: PartWorths, study: ConjointStudy) -> Array:
    """Return for every task 1 if the chosen alternative is the best, 1/m if it is one of m best, else 0."""
    U, sizes = task_utilities(part_worths, study)
    return np.asarray(first_choices(U, sizes)[np.arange(len(U)), study.choices.chosen])


def log_likelihood(part_worths: PartWorths, study: ConjointStudy, scale: float = 1.0) -> float:
    """Return the sum of the logarithms of the probabilities of the chosen alternatives.

    Parameters
    ----------
    part_worths, study
        As for `utilities`.
    scale
        What utilities are multiplied by, see `calibrate`.
    """
    U, sizes = task_utilities(part_worths, study)
    logs = log_logit(U, read_scale(scale), sizes)[np.arange(len(U)), study.choices.chosen]
    return float(logs @ task_weights(study))


def root_likelihood(part_worths: PartWorths, study: ConjointStudy, scale: float = 1.0) -> float:
    """Return the geometric mean of the probabilities of the chosen alternatives; at scale 0 that of chance.

    Parameters are those of `log_likelihood`.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> round(root_likelihood(example_part_worths()["price-minded"], example_study(), scale=0), 12)
    0.25
    """
    return float(np.exp(log_likelihood(part_worths, study, scale) / task_weights(study).sum()))


def agreement(part_worths: PartWorths, study: ConjointStudy, scale: float = 1.0) -> "pd.Series[float]":
    """Return the number of tasks, hit rate and root likelihood, and both by chance.

    Parameters are those of `log_likelihood`.
    """
    nothing = 0 * read_part_worths(part_worths, study)
    return pd.Series(
        {
            "tasks": len(study.choices),
            "hit rate": hit_rate(part_worths, study),
            "hit rate by chance": hit_rate(nothing, study),
            "root likelihood": root_likelihood(part_worths, study, scale),
            "root likelihood by chance": root_likelihood(part_worths, study, 0.0),
        }
    )


def task_utilities(part_worths: PartWorths, study: ConjointStudy) -> tuple[Array, Array]:
    """Return utilities with one row per task, −inf where it has fewer alternatives, and their sizes."""
    if not len(study.choices):
        raise DataError("{argument} has no task to compare utilities in", argument="study")
    v = _part_worths_of_rows(part_worths, study)
    products = study.design * v
    is_there = _is_there(study.choices)
    U, sizes = np.full(is_there.shape, -np.inf), np.zeros(is_there.shape)
    # terms may cancel, and rounding error is relative to them, not to their sum
    U[is_there], sizes[is_there] = products.sum(axis=1), np.abs(products).sum(axis=1)
    return U, sizes.max(axis=1)


def task_weights(study: ConjointStudy) -> Array:
    """Return the weight of the respondent of every task."""
    return np.asarray(study.weights.to_numpy()[study.choices.respondent])


def _is_there(choices: Choices) -> Array:
    """Return which places of a table of tasks and alternatives are taken, in the order of the design."""
    return np.asarray(np.arange(choices.size.max()) < choices.size[:, None])


def _part_worths_of_rows(part_worths: PartWorths, study: ConjointStudy) -> Array:
    table = read_part_worths(part_worths, study)
    rows = rows_of(table, study)[study.choices.respondent]
    return np.asarray(table.to_numpy()[rows[study.choices.task_of_row]])


def common_shares(part_worths: PartWorths, study: ConjointStudy, scale: float = 1.0) -> pd.DataFrame:
    """Return shares of the alternatives of tasks that several respondents saw alike.

    One row per alternative: how many saw it, the share that chose it, the share predicted by the logit rule
    at the scale, and by first choice; all weighted by respondent.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> held = example_study().split_holdout()[1]
    >>> common_shares(example_part_worths()["brand-minded"], held).columns.tolist()
    ['respondents', 'observed', 'predicted', 'first choice']
    """
    U, sizes = task_utilities(part_worths, study)
    rules = {"predicted": logit(U, read_scale(scale), sizes), "first choice": first_choices(U, sizes)}
    weights, choices = task_weights(study), study.choices
    # tasks of the same name with the same alternatives in the same order
    groups: dict[tuple[Hashable, bytes], list[int]] = {}
    for t in range(len(choices)):
        # bytes can be keys of a dictionary; equal alternatives in the same order have equal bytes
        shown = np.ascontiguousarray(study.design[list(choices.rows(t))])
        groups.setdefault((choices.task[t], shown.tobytes()), []).append(t)
    tables = []
    for tasks in (group for group in groups.values() if len(group) > 1):
        k = int(choices.size[tasks[0]])
        taken = np.eye(k)[choices.chosen[tasks]]
        columns = {"observed": taken, **{name: table[tasks, :k] for name, table in rules.items()}}
        shares = {name: np.average(table, axis=0, weights=weights[tasks]) for name, table in columns.items()}
        names = study.alternative[list(choices.rows(tasks[0]))]
        labels = {"task": choices.task[tasks[0]], "alternative": names, "respondents": len(tasks)}
        tables.append(pd.DataFrame({**labels, **shares}))
    if not tables:
        message = "no task was shown alike to several respondents, so there are no shares to compare with"
        raise DataError(message, argument="study")
    return pd.concat(tables).set_index(["task", "alternative"])


def share_error(part_worths: PartWorths, study: ConjointStudy, scale: float = 1.0) -> float:
    """Return the mean absolute error of predicted shares over alternatives of tasks seen alike by several.

    Parameters are those of `log_likelihood`.
    """
    shares = common_shares(part_worths, study, scale)
    return float((shares["predicted"] - shares["observed"]).abs().mean())
