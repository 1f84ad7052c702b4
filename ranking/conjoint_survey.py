"""A survey: part-worths fitted to a study, parameters chosen and utilities calibrated on its training tasks.

Tasks held out take no part in anything but the measures of agreement.

Room: a study, a plan and products in; one record of the fitted model and what follows from it out.
May touch: `errors`, `study`, `conjoint`, `conjoint_stability`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd
from sklearn.base import clone

from ranking.conjoint import (
    Calibration,
    Conflict,
    ConjointPath,
    ConjointPathCV,
    ConjointStudy,
    Scenario,
    Simulator,
    agreement,
    attribute_ranges,
    common_shares,
    find_conflicts,
    refit_bootstrap,
    respondent_bootstrap,
)
from ranking.conjoint.bootstrap import Bootstrap
from ranking.conjoint.fitted import Pooling
from ranking.conjoint.simulator import Rule
from ranking.conjoint_stability import Stability, follow
from ranking.errors import DataError
from ranking.selection import SelectionCurve
from ranking.study import Plan, Watch

# Draws that a model is fitted to anew where respondents learn from one another. Part-worths that are only
# drawn, as they were estimated, would not scatter as they do: see docs/conjoint-evidence.md.
REFITS = 100


class Parts(NamedTuple):
    """A whole study, the part to learn from, and the part held out, if any is."""

    study: ConjointStudy
    train: ConjointStudy
    held: ConjointStudy | None


@dataclass(frozen=True)
class SurveyPlan(Plan):
    """How part-worths are estimated; `shrinkage` are the γ to compare, `group_size` pools while choosing.

    `refits` is how many draws of respondents the model is fitted to anew for intervals: 0 draws part-worths
    as they were estimated, which is what belongs to everyone alone; None is the usual.
    """

    metric: str = "hit_rate"
    folds: int = 3
    pooling: Pooling = "shrinkage"
    shrinkage: tuple[float, ...] = (0.1, 0.3, 0.5, 0.8)
    orders: Mapping[str, Any] = field(default_factory=dict)
    C_max: float = 0.5
    group_size: int | None = 60
    refits: int | None = None
    n_jobs: int | None = None

    def search(self) -> ConjointPathCV:
        """Return the search for C, and γ if there is one."""
        path = ConjointPath(C_max=self.C_max, pooling=self.pooling, orders=self.orders or None)
        return ConjointPathCV(
            path,
            {"shrinkage": list(self.shrinkage)} if self.pooling == "shrinkage" else None,
            cv=self.folds,
            metric=self.metric,
            choice=self.choice.replace("-", "_"),
            group_size=self.group_size,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )


@dataclass(frozen=True)
class Market:
    """Products to simulate, which one is varied, and by which rule respondents choose."""

    scenario: Scenario
    product: str
    rule: Rule = "share_of_preference"


@dataclass(frozen=True, eq=False)
class Survey:
    """A fitted model with what it was fitted to and chosen by, and how its utilities become probabilities."""

    source: str
    parts: Parts
    plan: SurveyPlan
    search: ConjointPathCV
    bootstrap: Bootstrap
    stability: Stability
    conflicts: dict[Any, Conflict]
    price: str | None
    market: Market | None
    seconds: float

    @property
    def C(self) -> float:
        """The chosen C."""
        return float(self.search.C_)

    @property
    def shrinkage(self) -> float | None:
        """The chosen γ, if respondents are pooled."""
        return self.search.best_params_.get("shrinkage")

    @property
    def calibration(self) -> Calibration:
        """The scale that makes probabilities of utilities, from the folds that C was chosen by."""
        return self.search.calibration_

    @property
    def curve(self) -> SelectionCurve:
        """The metric over C that C was chosen by."""
        return self.search.curve_

    @property
    def metric(self) -> str:
        """What C was chosen by, in words."""
        return self.plan.metric.replace("_", " ")

    @property
    def how_chosen(self) -> str:
        """What the metric was taken of, in words."""
        return f"{self.plan.folds} folds of the training tasks"

    @property
    def is_grouped(self) -> bool:
        """Whether parameters were chosen in pools of some of the respondents."""
        size, pooling = self.plan.group_size, self.plan.pooling
        return pooling == "shrinkage" and size is not None and size < len(self.parts.train.respondents)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What a look at the study should not miss."""
        return self.parts.study.card().remarks

    @property
    def is_better_than_chance(self) -> bool:
        """Whether utilities say anything of choices they were not learnt from."""
        found = self.calibration
        return found.verdict != "zero" and found.root_likelihood > found.chance

    @cached_property
    def part_worths(self) -> pd.DataFrame:
        """The part-worths, one row a respondent."""
        return self.search.individual_part_worths_

    @cached_property
    def agreement(self) -> "pd.Series[Any] | None":
        """Hit rate and root likelihood in the tasks held out, if there are any."""
        held = self.parts.held
        return None if held is None else agreement(self.part_worths, held, self.calibration.scale)

    @cached_property
    def common_shares(self) -> pd.DataFrame | None:
        """Shares, observed and predicted, in tasks held out that several saw alike, if there are any."""
        if self.parts.held is None:
            return None
        try:
            return common_shares(self.part_worths, self.parts.held, self.calibration.scale)
        except DataError:  # everybody saw other tasks
            return None

    def simulator(self, rule: Rule) -> Simulator:
        """Return what simulates markets by a rule."""
        return Simulator(self.bootstrap, self.parts.train, rule, scale=self.calibration.scale)

    @cached_property
    def orders(self) -> dict[str, Any]:
        """What should be ordered: the price falls, and the orders of the plan."""
        if self.price is None:
            return dict(self.plan.orders)
        attribute = self.parts.study.attributes[self.price]
        falls = "falls" if attribute.is_linear else sorted(attribute.labels, reverse=True)
        return {self.price: falls, **self.plan.orders}


def conduct_survey(
    parts: Parts,
    plan: SurveyPlan | None = None,
    *,
    source: str = "the study",
    price: str | None = None,
    market: Market | None = None,
    watch: Watch | None = None,
) -> Survey:
    """Return the survey of a study; holdouts are only measured."""
    plan = SurveyPlan() if plan is None else plan
    tell: Watch = (lambda text: None) if watch is None else watch
    begin = time.perf_counter()
    search = choose(parts.train, plan, watch)
    _require_preferences(search, parts.train)
    tell("drawing respondents")
    bootstrap = drawn(search, parts.train, plan)
    tell("following the path")
    path = ConjointPath(C_max=plan.C_max, pooling=plan.pooling, orders=plan.orders or None)
    path.set_params(**search.best_params_, n_jobs=plan.n_jobs)
    scenario = None if market is None else market.scenario
    stability = follow(path, parts.train, plan.group_size, plan.seed, scenario)
    tell("looking for contradictions")
    conflicts = find_conflicts(parts.train, plan.orders or None)
    seconds = time.perf_counter() - begin
    return Survey(source, parts, plan, search, bootstrap, stability, conflicts, price, market, seconds)


def _require_preferences(search: ConjointPathCV, train: ConjointStudy) -> None:
    """Raise if nobody finds any level better than another: there would be nothing to report."""
    if not (attribute_ranges(search.individual_part_worths_, train) > 0).any(axis=None):
        raise DataError(
            "the choices to learn from say nothing about the attributes: all levels of each have the same "
            "part-worth; are the right columns attributes, and the right column the choices?"
        )


def choose(train: ConjointStudy, plan: SurveyPlan, watch: Watch | None = None) -> ConjointPathCV:
    """Return a model with parameters chosen, and the scale of its utilities, by folds of the same tasks."""
    told = None if watch is None else lambda k, n: watch(f"{k} of {n} folds")
    return plan.search().fit(train, progress=told)


def drawn(search: ConjointPathCV, train: ConjointStudy, plan: SurveyPlan) -> Bootstrap:
    """Return how the part-worths scatter: drawn as they are, or estimated anew from draws of respondents."""
    usual = 0 if plan.pooling == "individual" else REFITS
    refits = usual if plan.refits is None else plan.refits
    if not refits:
        return respondent_bootstrap(search.individual_part_worths_, train, random_state=plan.seed)
    alone = clone(search.best_estimator_).set_params(n_jobs=None)
    return refit_bootstrap(alone, train, refits, plan.seed, plan.n_jobs)
