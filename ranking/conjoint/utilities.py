r"""Utilities of the alternatives of a study, and how well they agree with what was chosen.

The utility of alternative a for respondent r is :math:`u = \chi_a^\top v_r`. The hit rate is the share of
tasks whose chosen alternative has the largest utility, the root likelihood the geometric mean of the
probabilities of the chosen alternatives: 1/k by chance among k. Tasks weigh as much as their
respondent does.

Room: part-worths and a study in, utilities, probabilities and measures of agreement out.
May touch: `errors`, `arrays`, `choices`, `study`, `worths`, `rules`.
"""

from typing import Any

import numpy as np
import pandas as pd

from ranking.arrays import Array
from ranking.conjoint.choices import Choices
from ranking.conjoint.rules import first_choices, log_logit, logit, read_scale
from ranking.conjoint.study import ConjointStudy
from ranking.conjoint.worths import read_part_worths, rows_of
from ranking.errors import DataError


def utilities(part_worths: Any, study: ConjointStudy) -> Array:
    """Return the utility of every alternative, row by row of the design, for the respondent who saw it."""
    v = _worths_of_rows(part_worths, study)
    return np.asarray((study.design * v).sum(axis=1))


def probabilities(part_worths: Any, study: ConjointStudy, scale: float = 1.0) -> Array:
    """Return the probability that each alternative is chosen in its task, row by row of the design."""
    U, sizes = task_utilities(part_worths, study)
    return logit(U, read_scale(scale), sizes)[_is_there(study.choices)]


def hit_rate(part_worths: Any, study: ConjointStudy) -> float:
    """Return the share of tasks in which the chosen alternative is the best; ties count in part.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> nothing = 0 * example_part_worths()["price-minded"]
    >>> hit_rate(nothing, example_study())
    0.25
    """
    return float(np.average(hits(part_worths, study), weights=task_weights(study)))


def hits(part_worths: Any, study: ConjointStudy) -> Array:
    """Return for every task 1 if the chosen alternative is the best, 1/m if it is one of m best, else 0."""
    U, sizes = task_utilities(part_worths, study)
    return np.asarray(first_choices(U, sizes)[np.arange(len(U)), study.choices.chosen])


def log_likelihood(part_worths: Any, study: ConjointStudy, scale: float = 1.0) -> float:
    """Return the sum of the logarithms of the probabilities of the chosen alternatives."""
    return float(_log_chosen(part_worths, study, scale) @ task_weights(study))


def root_likelihood(part_worths: Any, study: ConjointStudy, scale: float = 1.0) -> float:
    """Return the geometric mean of the probabilities of the chosen alternatives; at scale 0 that of chance.

    >>> from ranking.conjoint import example_part_worths, example_study
    >>> round(root_likelihood(example_part_worths()["price-minded"], example_study(), scale=0), 12)
    0.25
    """
    logs = _log_chosen(part_worths, study, scale)
    return float(np.exp(np.average(logs, weights=task_weights(study))))


def agreement(part_worths: Any, study: ConjointStudy, scale: float = 1.0) -> "pd.Series[Any]":
    """Return hit rate, root likelihood, and both by chance."""
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


def task_utilities(part_worths: Any, study: ConjointStudy) -> tuple[Array, Array]:
    """Return utilities with one row a task, −inf where it has fewer alternatives, and their sizes."""
    if not len(study.choices):
        raise DataError("study has no task to compare utilities in")
    v = _worths_of_rows(part_worths, study)
    products = study.design * v
    is_there = _is_there(study.choices)
    U, sizes = np.full(is_there.shape, -np.inf), np.zeros(is_there.shape)
    U[is_there], sizes[is_there] = products.sum(axis=1), np.abs(products).sum(axis=1)
    return U, sizes.max(axis=1)


def task_weights(study: ConjointStudy) -> Array:
    """Return the weight of the respondent of every task."""
    return np.asarray(study.weights.to_numpy()[study.choices.respondent])


def _is_there(choices: Choices) -> Array:
    """Return which places of a table of tasks and alternatives are taken, in the order of the design."""
    return np.asarray(np.arange(choices.size.max()) < choices.size[:, None])


def _worths_of_rows(part_worths: Any, study: ConjointStudy) -> Array:
    table = read_part_worths(part_worths, study)
    rows = rows_of(table, study)[study.choices.respondent]
    return np.asarray(table.to_numpy()[rows[study.choices.task_of_row]])


def _log_chosen(part_worths: Any, study: ConjointStudy, scale: float) -> Array:
    U, sizes = task_utilities(part_worths, study)
    return log_logit(U, read_scale(scale), sizes)[np.arange(len(U)), study.choices.chosen]
