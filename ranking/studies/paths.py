"""Studies: a path fitted to training items, C chosen on validation items or by folds, results measured."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from ranking import metrics
from ranking.core.labels import Levels, read_levels
from ranking.core.validation import Array, counted, require_choice
from ranking.errors import DataError, must_have
from ranking.io.items import Items, same_features
from ranking.metrics.levels import LEVEL_METRICS, confusion_table, level_metric_table
from ranking.metrics.rankings import metric_table
from ranking.ordinal.path import OrdinalSVMPath, OrdinalSVMPathCV
from ranking.ranksvm.path import RankSVMPath, RankSVMPathCV
from ranking.selection.choice_along_path import NAMES, SelectionCurve
from ranking.selection.search import PathSearch

Choice = Literal["best", "one-standard-error"]
# Receives the progress of the work, in words.
TextProgress = Callable[[str], None]

# The metrics C can be chosen by.
METRICS: dict[str, Callable[..., float]] = {name: getattr(metrics, name) for name in NAMES}


@dataclass(frozen=True)
class Plan:
    """How C is chosen: by which metric, which rule, and into how many folds rows are split if need be."""

    metric: str = "pairwise_accuracy"
    choice: Choice = "best"
    folds: int = 5
    seed: int = 0

    def require_sense(self, known: Iterable[str]) -> None:
        """Raise unless the metric is one of those known, and the rule one of the two."""
        require_choice(self.metric, known, "metric")
        require_choice(self.choice, ("best", "one-standard-error"), "choice")


@dataclass(frozen=True, eq=False)
class PathStudy:
    """A fitted path with the chosen C in use, and the items it was fitted to, chosen by and measured on.

    A subclass names the search over folds for its kind of path, and what its models take of items.
    """

    search: ClassVar[type[PathSearch]]
    takes: ClassVar["attrgetter[tuple[Any, ...]]"]

    model: Any
    curve: SelectionCurve
    plan: Plan
    seconds: float
    train: Items
    validation: Items | None
    test: Items | None

    @property
    def C(self) -> float:
        """The chosen C."""
        return float(self.model.C_)

    @property
    def parts(self) -> dict[str, Items]:
        """The items by their part in the study."""
        found = {"training": self.train, "validation": self.validation, "test": self.test}
        return {name: items for name, items in found.items() if items is not None}

    @property
    def how_chosen(self) -> str:
        """What the metric was taken of, in words."""
        if self.validation is not None:
            return "the validation items"
        return f"{self.plan.folds} folds of the training items"


class Study(PathStudy):
    """A study of a ranking path."""

    search = RankSVMPathCV
    takes = attrgetter("X", "y", "qid")
    model: RankSVMPath

    def measure(self, items: Items) -> float:
        """Return the metric of the plan at the chosen C."""
        return float(METRICS[self.plan.metric](items.y, self.model.decision_function(items.X), items.qid))

    def table(self, items: Items) -> pd.DataFrame:
        """Return every metric at the chosen C; see `ranking.metrics.metric_table`."""
        return metric_table(items.y, self.model.decision_function(items.X), items.qid)


def conduct(
    model: RankSVMPath,
    train: Items,
    validation: Items | None = None,
    test: Items | None = None,
    plan: Plan | None = None,
    watch: TextProgress | None = None,
) -> Study:
    """Return a study of a path that is not fitted yet; without validation items C is chosen by folds."""
    chosen = Plan() if plan is None else plan
    chosen.require_sense(METRICS)
    validation, test = (None if x is None else same_features(x, train) for x in (validation, test))
    for items in (train, validation, test):
        if items is not None:
            try:
                METRICS[chosen.metric](items.y, np.zeros(len(items)), items.qid)
            except DataError as error:
                place = {"argument": items.source, "expected": chosen.metric}
                message = "{argument} cannot be measured by {expected}: {found}"
                raise DataError(message, found=str(error), **place) from None
    return Study(*chosen_path(Study, model, train, validation, chosen, watch), train, validation, test)


def chosen_path(
    kind: type[PathStudy],
    model: Any,
    train: Items,
    validation: Items | None,
    plan: Plan,
    watch: TextProgress | None,
) -> tuple[Any, SelectionCurve, Plan, float]:
    """Return a path fitted to training items with the chosen C in use, and how it was chosen: by which curve,
    by which plan, and in how many seconds.
    """
    begin = time.perf_counter()
    if validation is None:
        options: dict[str, Any] = {"cv": plan.folds, "metric": plan.metric, "random_state": plan.seed}
        search: Any = kind.search(model, choice=plan.choice.replace("-", "_"), **options)
        folds_done = None if watch is None else (lambda done, total: watch(f"{done} of {total} folds"))
        search.fit(*kind.takes(train), progress=folds_done)
        return search.best_estimator_, search.curve_, plan, time.perf_counter() - begin
    if watch is None:
        model.fit(*kind.takes(train))
    else:
        pieces = "C = {:.4g}: {}".format
        model.fit(
            *kind.takes(train), progress=lambda at: watch(pieces(float(at.mu), counted(at.pieces, "piece")))
        )
        watch(f"{counted(len(model.path_.segments), 'piece')} traced, choosing C")
    curve = model.select(*kind.takes(validation), plan.metric)
    model.C_ = curve.C_best if plan.choice == "best" else curve.C_one_standard_error
    return model, curve, plan, time.perf_counter() - begin


LEVEL_PLAN = Plan(metric="mean_absolute_error")


@dataclass(frozen=True, eq=False)
class LevelStudy(PathStudy):
    """A study of an ordinal path; `levels` are those of all its items, lowest first."""

    search = OrdinalSVMPathCV
    takes = attrgetter("X", "y")
    levels: Levels

    def predicted(self, items: Items) -> Array:
        """Return the level of every item at the chosen C."""
        return np.asarray(self.model.predict(items.X))

    def measure(self, items: Items) -> float:
        """Return the metric of the plan at the chosen C, NaN where these labels do not allow it."""
        return float(self.table(items).set_index("metric")["value"][self.plan.metric])

    def table(self, items: Items) -> pd.DataFrame:
        """Return every metric at the chosen C; see `ranking.metrics.levels.level_metric_table`."""
        return level_metric_table(items.y, self.predicted(items), list(self.levels.names))

    def counts(self, items: Items) -> Array:
        """Return how many items have each level."""
        return np.bincount(self.levels.codes(items.y), minlength=len(self.levels))

    def confusion(self, items: Items) -> pd.DataFrame:
        """Return how many items of each level, a row, were given which level, a column."""
        true, predicted = self.levels.codes(items.y), self.levels.codes(self.predicted(items))
        names = [str(name) for name in self.levels.names]
        return pd.DataFrame(confusion_table(true, predicted, len(names)).astype(int), names, names)


def conduct_levels(
    model: OrdinalSVMPath,
    train: Items,
    validation: Items | None = None,
    test: Items | None = None,
    plan: Plan = LEVEL_PLAN,
    watch: TextProgress | None = None,
) -> LevelStudy:
    """Return a study of an ordinal path that is not fitted yet; without validation items folds choose C."""
    plan.require_sense(LEVEL_METRICS)
    validation, test = (None if x is None else same_features(x, train) for x in (validation, test))
    # the levels of all items, which must have a place among those declared, if any are
    levels = read_levels(train.y, model.levels, f"{train.source}: label")
    for items in (train, validation, test):
        if items is None:
            continue
        if model.levels is None:
            levels = levels.extended(items.y, f"{items.source}: label")
        levels.codes(items.y, f"{items.source}: label")
    if len(np.unique(levels.codes(train.y))) < 2:
        raise must_have(train.source, "labels of at least two levels", found=levels.shown)
    chosen = chosen_path(LevelStudy, model, train, validation, plan, watch)
    return LevelStudy(*chosen, train, validation, test, levels)
