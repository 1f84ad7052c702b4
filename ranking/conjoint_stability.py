"""Stability of a survey: how importances and shares of first choice move over all C.

The path of a pool of hundreds of respondents takes minutes, those of pools of 60 a second. So large studies
are followed in the pools in which C was chosen: every respondent is in one of them, with part-worths that are
lines in C, exactly.

Room: a study, a path estimator and products in; curves and conclusions over C out.
May touch: `conjoint`; joblib.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from ranking.conjoint import (
    Conclusions,
    ConjointPath,
    ConjointStudy,
    Scenario,
    ShareSteps,
    Tracks,
    first_choice_steps,
    importance_orders,
    importances,
)
from ranking.conjoint.search import respondent_groups
from ranking.conjoint.space import space_of
from ranking.conjoint.stability import concluded


@dataclass(frozen=True, eq=False)
class Stability:
    """What follows at every C: importances, their order, and with products shares of first choice."""

    tracks: Tracks
    study: ConjointStudy
    pools: int
    scenario: Scenario | None = None

    @cached_property
    def importances(self) -> pd.DataFrame:
        """The importances, averaged over respondents, at some hundred C."""
        return self.tracks.along(lambda v: importances(v, self.study))

    @cached_property
    def orders(self) -> Conclusions:
        """The attributes from the most to the least important, at every C."""
        return importance_orders(self.tracks)

    @cached_property
    def leaders(self) -> Conclusions:
        """The most important attribute at every C."""
        orders = self.orders
        return concluded(orders.edges, [order[0] for order in orders.verdicts], orders.is_exact)

    @cached_property
    def shares(self) -> ShareSteps | None:
        """The shares of first choice at every C, exactly, if there are products."""
        return None if self.scenario is None else first_choice_steps(self.tracks, self.scenario)

    @cached_property
    def winners(self) -> Conclusions | None:
        """The product with the largest share of first choice at every C, if there are products."""
        return None if self.shares is None else self.shares.winners()

    def words_at(self, C: float) -> dict[str, str]:
        """Return the conclusions at C, and how far they reach."""
        found = {"most important": self.leaders, "order of importances": self.orders}
        if self.winners is not None:
            found["largest share of first choice"] = self.winners
        return {name: told(conclusions, C) for name, conclusions in found.items()}


def follow(
    path: ConjointPath, study: ConjointStudy, group_size: int | None, seed: int, scenario: Scenario | None
) -> Stability:
    """Return what follows at every C of a path, fitted to pools of at most `group_size` respondents."""
    size = group_size if path.pooling == "shrinkage" else None
    groups = respondent_groups(len(study.respondents), size, seed)
    names = [study.respondents[group] for group in groups]
    parts = Parallel(n_jobs=path.n_jobs)(delayed(_tracks)(clone(path), study, part) for part in names)
    lines = tuple(line for part in parts for line in part.lines)
    index = pd.Index([name for part in parts for name in part.names])
    weights = np.concatenate([part.weights for part in parts])
    # what was shown to everybody, which is more than a pool has seen
    tracks = Tracks(lines, space_of(study), index, weights)
    return Stability(tracks, study, len(groups), scenario)


def told(conclusions: Conclusions, C: float) -> str:
    """Return the conclusion at C and the interval on which it is the same, in words."""
    verdict, (lo, hi) = conclusions.at(C), conclusions.interval(C)
    words = verdict if isinstance(verdict, str) else " > ".join(verdict)
    if len(conclusions.verdicts) == 1:
        return f"{words}, at every C up to {hi:.3g}"
    return f"{words}, for C from {'' if conclusions.is_exact else 'about '}{lo:.3g} to {hi:.3g}"


def _tracks(path: ConjointPath, study: ConjointStudy, names: Sequence[Any]) -> Tracks:
    """Return the part-worths of some respondents at every C, from their choices alone."""
    return path.fit(study.only(respondents=names)).tracks()
