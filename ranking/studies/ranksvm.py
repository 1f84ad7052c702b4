"""A study: a path fitted to training items, C chosen on validation items or by folds, scores measured."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from ranking.core.validation import counted, require_choice
from ranking.errors import DataError
from ranking.io.items import Items, same_features
from ranking.metrics import tables as metrics
from ranking.metrics.tables import metric_table
from ranking.ranksvm.cv import RankSVMPathCV
from ranking.ranksvm.path import RankSVMPath
from ranking.selection.curve import NAMES, SelectionCurve
from ranking.selection.search import PathSearch

Choice = Literal["best", "one-standard-error"]
# Receives the progress of the work, in words.
Watch = Callable[[str], None]

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


@dataclass(frozen=True)
class Kind:
    """What differs between kinds of paths: how they are searched by folds, and what they take of items."""

    search: type[PathSearch]
    takes: Callable[[Items], tuple[Any, ...]]


RANKING = Kind(RankSVMPathCV, lambda items: (items.X, items.y, items.qid))


@dataclass(frozen=True, eq=False)
class PathStudy:
    """A fitted path with the chosen C in use, and the items it was fitted to, chosen by and measured on."""

    model: Any
    curve: SelectionCurve
    plan: Plan
    train: Items
    validation: Items | None
    test: Items | None
    seconds: float

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

    model: RankSVMPath

    def measure(self, items: Items) -> float:
        """Return the metric of the plan at the chosen C."""
        return float(METRICS[self.plan.metric](items.y, self.model.decision_function(items.X), items.qid))

    def table(self, items: Items) -> pd.DataFrame:
        """Return every metric at the chosen C; see `ranking.metrics.tables.metric_table`."""
        return metric_table(items.y, self.model.decision_function(items.X), items.qid)


def conduct(
    model: RankSVMPath,
    train: Items,
    validation: Items | None = None,
    test: Items | None = None,
    plan: Plan | None = None,
    watch: Watch | None = None,
) -> Study:
    """Return a study of a path that is not fitted yet; without validation items C is chosen by folds."""
    chosen = Plan() if plan is None else plan
    chosen.require_sense(METRICS)
    validation, test = (None if x is None else same_features(x, train) for x in (validation, test))
    for items in (train, validation, test):
        if items is not None:
            _require_measurable(items, chosen.metric)
    begin = time.perf_counter()
    fitted, curve = chosen_path(model, RANKING, train, validation, chosen, watch)
    return Study(fitted, curve, chosen, train, validation, test, time.perf_counter() - begin)


def chosen_path(
    model: Any, kind: Kind, train: Items, validation: Items | None, plan: Plan, watch: Watch | None
) -> tuple[Any, SelectionCurve]:
    """Return a path fitted to training items with the chosen C in use, and the curve it was chosen by."""
    if validation is None:
        options: dict[str, Any] = {"cv": plan.folds, "metric": plan.metric, "random_state": plan.seed}
        search: Any = kind.search(model, choice=plan.choice.replace("-", "_"), **options)
        fold_progress = None if watch is None else (lambda done, total: watch(f"{done} of {total} folds"))
        search.fit(*kind.takes(train), progress=fold_progress)
        return search.best_estimator_, search.curve_
    if watch is None:
        model.fit(*kind.takes(train))
    else:
        say = watch
        model.fit(
            *kind.takes(train),
            progress=lambda at: say(f"C = {float(at.mu):.4g}: {counted(at.pieces, 'piece')}"),
        )
        say(f"{counted(len(model.path_.segments), 'piece')} traced, choosing C")
    curve = model.select(*kind.takes(validation), plan.metric)
    model.C_ = curve.C_best if plan.choice == "best" else curve.C_one_standard_error
    return model, curve


def _require_measurable(items: Items, metric: str) -> None:
    """Raise before any work if these labels do not allow the metric."""
    try:
        METRICS[metric](items.y, np.zeros(len(items)), items.qid)
    except DataError as error:
        message = "{argument} cannot be measured by {expected}: {found}"
        raise DataError(message, argument=items.source, found=str(error), expected=metric) from None
