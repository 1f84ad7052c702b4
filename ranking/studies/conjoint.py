"""A survey: part-worths fitted to a study, C chosen and utilities calibrated by its training tasks.

Tasks held out are used for the measures of agreement only.

`Stability` says how importances and shares of first choice depend on C. The path of a pool of hundreds of
respondents takes minutes, those of pools of 60 a second. So large studies are traced in the pools in which C
was chosen: every respondent is in one of them, with part-worths that are piecewise linear in C, exactly.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone

from ranking.conjoint import (
    Calibration,
    Conclusions,
    Conflict,
    ConjointPath,
    ConjointPathCV,
    ConjointStudy,
    PartWorthLines,
    Scenario,
    ShareSteps,
    Simulator,
    agreement,
    attribute_ranges,
    common_shares,
    find_conflicts,
    first_choice_steps,
    importance_orders,
    importances,
    refit_bootstrap,
    respondent_bootstrap,
)
from ranking.conjoint.estimation.cv import respondent_groups
from ranking.conjoint.estimation.model import Pooling
from ranking.conjoint.results.bootstrap import Bootstrap
from ranking.conjoint.results.market import Rule
from ranking.conjoint.results.part_worths import space_of
from ranking.conjoint.results.stability import concluded
from ranking.errors import DataError
from ranking.selection.choice_along_path import SelectionCurve
from ranking.studies.paths import Plan, TextProgress


@dataclass(frozen=True, eq=False)
class Stability:
    """What follows at every C, from the exact paths of so many `pools`.

    `importances`: averages over respondents, at some hundred C. `orders`: the attributes from the most to the
    least important; `leaders`: the most important one. With products, `shares`: those of first choice,
    exactly; `winners`: the product with the largest of them.
    """

    pools: int
    importances: pd.DataFrame
    orders: Conclusions
    leaders: Conclusions
    shares: ShareSteps | None
    winners: Conclusions | None

    def words_at(self, C: float) -> dict[str, str]:
        """Return the conclusions at C, and how far they reach."""
        found = {"most important": self.leaders, "order of importances": self.orders}
        if self.winners is not None:
            found["largest share of first choice"] = self.winners
        return {name: in_words(conclusions, C) for name, conclusions in found.items()}


def stability_along_path(
    path: ConjointPath, study: ConjointStudy, group_size: int | None, seed: int, scenario: Scenario | None
) -> Stability:
    """Return what is concluded at every C of a path, fitted to pools of at most `group_size` respondents."""
    size = group_size if path.pooling == "shrinkage" else None
    groups = respondent_groups(len(study.respondents), size, seed)
    names = [study.respondents[group] for group in groups]
    parts = Parallel(n_jobs=path.n_jobs)(
        delayed(_part_worth_lines)(clone(path), study, part) for part in names
    )
    lines = tuple(line for part in parts for line in part.lines)
    index = pd.Index([name for part in parts for name in part.names])
    weights = np.concatenate([part.weights for part in parts])
    # the space of what was shown to everybody, which is more than a pool has seen
    part_worths = PartWorthLines(lines, space_of(study), index, weights)
    orders = importance_orders(part_worths)
    leaders = concluded(orders.edges, [order[0] for order in orders.verdicts], orders.is_exact)
    shares = None if scenario is None else first_choice_steps(part_worths, scenario)
    winners = None if shares is None else shares.winners()
    averages = part_worths.along(lambda v: importances(v, study))
    return Stability(len(groups), averages, orders, leaders, shares, winners)


def in_words(conclusions: Conclusions, C: float) -> str:
    """Return the conclusion at C and the interval on which it is the same, in words."""
    verdict, (lo, hi) = conclusions.at(C), conclusions.interval(C)
    words = verdict if isinstance(verdict, str) else " > ".join(verdict)
    if len(conclusions.verdicts) == 1:
        return f"{words}, at every C up to {hi:.3g}"
    return f"{words}, for C from {'' if conclusions.is_exact else 'about '}{lo:.3g} to {hi:.3g}"


def _part_worth_lines(path: ConjointPath, study: ConjointStudy, names: Sequence[Any]) -> PartWorthLines:
    """Return the part-worths of some respondents at every C, from their choices alone."""
    return path.fit(study.only(respondents=names)).part_worth_lines()


# Draws that a model is fitted to again if respondents are pooled. Part-worths that are only drawn, as they
# were estimated, would scatter too little: see docs/conjoint-evidence.md.
REFITS = 100


class Parts(NamedTuple):
    """A whole study, the part to learn from, and the part held out, if any is."""

    study: ConjointStudy
    train: ConjointStudy
    held: ConjointStudy | None


@dataclass(frozen=True)
class SurveyPlan(Plan):
    """How part-worths are estimated; `shrinkage` are the γ to compare, `group_size` pools while choosing.

    `refits` is how many draws of respondents the model is fitted to again for intervals: 0 draws part-worths
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
        """The part-worths, one row per respondent."""
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
    watch: TextProgress | None = None,
) -> Survey:
    """Return the survey of a study; holdouts are only measured."""
    plan = SurveyPlan() if plan is None else plan
    report: TextProgress = (lambda text: None) if watch is None else watch
    begin = time.perf_counter()
    search = choose(parts.train, plan, watch)
    if not (attribute_ranges(search.individual_part_worths_, parts.train) > 0).any(axis=None):
        raise DataError(
            "the choices to learn from say nothing about the attributes: all levels of each have the same "
            "part-worth",
            remedy="are the right columns attributes, and the right column the choices?",
        )
    report("drawing respondents")
    bootstrap = drawn(search, parts.train, plan)
    report("following the path")
    path = ConjointPath(C_max=plan.C_max, pooling=plan.pooling, orders=plan.orders or None)
    path.set_params(**search.best_params_, n_jobs=plan.n_jobs)
    scenario = None if market is None else market.scenario
    stability = stability_along_path(path, parts.train, plan.group_size, plan.seed, scenario)
    report("looking for contradictions")
    conflicts = find_conflicts(parts.train, plan.orders or None)
    seconds = time.perf_counter() - begin
    return Survey(source, parts, plan, search, bootstrap, stability, conflicts, price, market, seconds)


def choose(train: ConjointStudy, plan: SurveyPlan, watch: TextProgress | None = None) -> ConjointPathCV:
    """Return a model with parameters chosen, and the scale of its utilities, by folds of the same tasks."""
    progress = None if watch is None else lambda k, n: watch(f"{k} of {n} folds")
    return plan.search().fit(train, progress=progress)


def drawn(search: ConjointPathCV, train: ConjointStudy, plan: SurveyPlan) -> Bootstrap:
    """Return how the part-worths scatter: drawn as they are, or estimated again from draws of respondents."""
    usual = 0 if plan.pooling == "individual" else REFITS
    refits = usual if plan.refits is None else plan.refits
    if not refits:
        return respondent_bootstrap(search.individual_part_worths_, train, random_state=plan.seed)
    alone = clone(search.best_estimator_).set_params(n_jobs=None)
    return refit_bootstrap(alone, train, refits, plan.seed, plan.n_jobs)
