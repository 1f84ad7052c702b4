"""A study of an ordinal path: fitted, C chosen by a metric of levels, predictions measured."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ranking.core.labels import Levels, read_levels
from ranking.core.validation import Array
from ranking.errors import must_have
from ranking.io.items import Items, same_features
from ranking.metrics.levels import LEVEL_METRICS, confusion_table, level_metric_table
from ranking.ordinal.cv import OrdinalSVMPathCV
from ranking.ordinal.path import OrdinalSVMPath
from ranking.studies.ranksvm import Kind, PathStudy, Plan, Watch, chosen_path

ORDINAL = Kind(OrdinalSVMPathCV, lambda items: (items.X, items.y))
LEVEL_PLAN = Plan(metric="mean_absolute_error")


@dataclass(frozen=True, eq=False)
class LevelStudy(PathStudy):
    """A study of an ordinal path; `levels` are those of all its items, lowest first."""

    levels: Levels

    def predicted(self, items: Items) -> Array:
        """Return the level of every item at the chosen C."""
        return np.asarray(self.model.predict(items.X))

    def measure(self, items: Items) -> float:
        """Return the metric of the plan at the chosen C, NaN where these labels do not allow it."""
        measured = self.table(items).set_index("metric")["value"]
        return float(measured[self.plan.metric])

    def table(self, items: Items) -> pd.DataFrame:
        """Return every metric at the chosen C; see `ranking.metrics.levels.level_metric_table`."""
        return level_metric_table(items.y, self.predicted(items), list(self.levels.names))

    def counts(self, items: Items) -> Array:
        """Return how many items have each level."""
        return np.bincount(self.levels.codes(items.y), minlength=len(self.levels))

    def confusion(self, items: Items) -> pd.DataFrame:
        """Return how many items of each level, a row, were given which level, a column."""
        true, predicted = self.levels.codes(items.y), self.levels.codes(self.predicted(items))
        table = confusion_table(true, predicted, len(self.levels)).astype(int)
        names = [str(name) for name in self.levels.names]
        return pd.DataFrame(table, index=names, columns=names)


def conduct_levels(
    model: OrdinalSVMPath,
    train: Items,
    validation: Items | None = None,
    test: Items | None = None,
    plan: Plan = LEVEL_PLAN,
    watch: Watch | None = None,
) -> LevelStudy:
    """Return a study of an ordinal path that is not fitted yet; without validation items folds choose C."""
    plan.require_sense(LEVEL_METRICS)
    validation, test = (None if x is None else same_features(x, train) for x in (validation, test))
    levels = _levels_of(model.levels, train, validation, test)
    begin = time.perf_counter()
    fitted, curve = chosen_path(model, ORDINAL, train, validation, plan, watch)
    seconds = time.perf_counter() - begin
    return LevelStudy(fitted, curve, plan, train, validation, test, seconds, levels)


def _levels_of(declared: Any, train: Items, *others: Items | None) -> Levels:
    """Return the levels of all items, which must have a place among those declared, if any are."""
    levels = read_levels(train.y, declared, f"{train.source}: label")
    given = [items for items in (train, *others) if items is not None]
    for items in given:
        if declared is None:
            levels = levels.extended(items.y, f"{items.source}: label")
        levels.codes(items.y, f"{items.source}: label")
    if len(np.unique(levels.codes(train.y))) < 2:
        raise must_have(train.source, "labels of at least two levels", found=levels.shown)
    return levels
