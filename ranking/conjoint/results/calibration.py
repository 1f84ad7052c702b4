r"""Calibration: the one scale that turns utilities into choice probabilities.

Part-worths of a large-margin model have no scale of their own: twice the utilities choose the same. The
scale :math:`\beta \ge 0` maximises

.. math:: \ell(\beta) = \sum_t w_t \log \frac{e^{\beta u_{t,\mathrm{chosen}}}}{\sum_a e^{\beta u_{ta}}}

over tasks t whose utilities come from part-worths estimated without them. The function is concave, so its
derivative :math:`\sum_t w_t (u_{t,\mathrm{chosen}} - \sum_a p_{ta} u_{ta})` falls, and one root is sought.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import brentq

from ranking.conjoint.data.study import By, ConjointStudy, Seed
from ranking.conjoint.results.part_worths import Estimator, Fit, PartWorths, as_fit
from ranking.conjoint.results.predictions import TIED, log_logit, logit, task_utilities, task_weights
from ranking.core.validation import Array

Verdict = Literal["fitted", "zero", "infinite"]
# The precision of the scale, relative to the largest utility: the root is sought in utilities of size 1.
PRECISE = 1e-14
SENTENCES: dict[Verdict, str] = {
    "fitted": "scale {scale:.4g}: root likelihood {root_likelihood:.3f} in {tasks} tasks, "
    "{chance:.3f} by chance",
    "zero": "scale 0: on {tasks} tasks the utilities predict no better than chance, {chance:.3f}",
    "infinite": "scale inf: in all of {tasks} tasks the best alternative was chosen, so larger scales fit "
    "better and better; shares are those of first choice",
}


@dataclass(frozen=True)
class Calibration:
    """The scale, the root likelihood with it of the tasks it was fitted to, and the one by chance.

    `verdict` is "zero" where utilities say nothing of the choices, and "infinite" where they agree with all.
    """

    scale: float
    root_likelihood: float
    chance: float
    tasks: int
    verdict: Verdict

    def __str__(self) -> str:
        return SENTENCES[self.verdict].format(**vars(self))


class Gaps(NamedTuple):
    """Utilities D less those of the chosen alternatives, one row per task; weights and sizes of the tasks."""

    D: Array
    weights: Array
    sizes: Array


def calibrate(
    fit: Fit | Estimator,
    study: ConjointStudy,
    k: int = 5,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    by: By = "task",
) -> Calibration:
    """Return the scale of the part-worths of `fit`, from folds of the tasks to learn from.

    Utilities of the tasks of every fold, from part-worths of the other tasks, are compared with the choices.

    Parameters
    ----------
    fit, study, n_jobs
        As for `refit_bootstrap`.
    k, random_state, by
        The number of folds, their seed, and what is divided; see `ConjointStudy.folds`.

    Returns
    -------
    Calibration
        With the scale, and the root likelihood of the choices at it.
    """
    estimate = as_fit(fit)
    train = study.without_holdout()
    folds = list(train.folds(k, random_state, by))
    parts = Parallel(n_jobs=n_jobs)(delayed(_left_out)(estimate, rest, held) for rest, held in folds)
    return fit_scale(*joined(parts))


def gaps_of(part_worths: PartWorths, study: ConjointStudy) -> Gaps:
    """Return how far the alternatives of every task are from the chosen one."""
    U, sizes = task_utilities(part_worths, study)
    chosen = U[np.arange(len(U)), study.choices.chosen]
    return Gaps(U - chosen[:, None], task_weights(study), sizes)


def joined(parts: Sequence[Gaps]) -> Gaps:
    """Return the tasks of all parts as one; tasks with fewer alternatives are filled up with −inf."""
    width = max(part.D.shape[1] for part in parts)
    padding = [((0, 0), (0, width - part.D.shape[1])) for part in parts]
    padded = [np.pad(part.D, pad, constant_values=-np.inf) for part, pad in zip(parts, padding, strict=True)]
    weights, sizes = (np.concatenate([part[place] for part in parts]) for place in (1, 2))
    return Gaps(np.concatenate(padded), weights, sizes)


def fit_scale(D: Array, weights: Array, sizes: Array) -> Calibration:
    r"""Return the scale for utilities D less those of the chosen alternatives, one row per task.

    >>> D = np.array([[0.0, -1.0], [0.0, -1.0], [0.0, 1.0]])
    >>> fitted = fit_scale(D, np.ones(3), np.ones(3))  # two of three choose the better one: e^β = 2
    >>> round(float(np.exp(fitted.scale)), 9), str(fitted)
    (2.0, 'scale 0.6931: root likelihood 0.529 in 3 tasks, 0.500 by chance')
    """
    verdict: Verdict
    size = float(np.abs(np.where(np.isneginf(D), 0.0, D)).max(initial=0.0))
    # concave: if the likelihood does not rise at 0, no larger scale is better
    if size == 0 or slope_of(D, weights, 0.0) <= 0:
        verdict, scale = "zero", 0.0
    elif (D.max(axis=1) <= TIED * sizes).all():
        # nowhere is an alternative better than the chosen one, so the likelihood rises for ever
        verdict, scale = "infinite", np.inf
    else:
        # utilities of size 1, so that the precision of the root does not depend on the units of part-worths;
        # the derivative is positive at 0, falls, and is negative far out, so doubling ends beyond its root
        far = 1.0
        while slope_of(D / size, weights, far) > 0:
            far *= 2
        root = brentq(lambda beta: slope_of(D / size, weights, beta), 0.0, far, xtol=PRECISE, rtol=PRECISE)
        verdict, scale = "fitted", float(root) / size
    # the chosen alternative is the first of those with D = 0
    chosen = np.arange(len(D)), np.argmax(D == 0, axis=1)
    logs = (log_logit(D, beta, sizes)[chosen] for beta in (scale, 0.0))
    fitted, chance = (float(np.exp(np.average(log, weights=weights))) for log in logs)
    return Calibration(scale, fitted, chance, len(D), verdict)


def slope_of(D: Array, weights: Array, scale: float) -> float:
    """Return the derivative of the log likelihood of the choices at a scale."""
    expected = (logit(D, scale, np.ones(len(D))) * np.where(np.isneginf(D), 0.0, D)).sum(axis=1)
    return float(-(weights @ expected))


def _left_out(fit: Fit, rest: ConjointStudy, held: ConjointStudy) -> Gaps:
    return gaps_of(fit(rest), held)
