"""Conjoint analysis: studies of choices, part-worths from them at every C, and what is done with these.

Part-worths, however they were estimated, are scaled, calibrated to probabilities, put into shares of
products, and followed along a solution path.
"""

from ranking.conjoint.data.attributes import Attribute
from ranking.conjoint.data.card import StudyCard
from ranking.conjoint.data.example import example_part_worths, example_study
from ranking.conjoint.data.study import ConjointStudy
from ranking.conjoint.estimation.conflicts import Conflict, find_conflict, find_conflicts
from ranking.conjoint.estimation.cv import ConjointPathCV
from ranking.conjoint.estimation.model import ConjointSVM
from ranking.conjoint.estimation.path import ConjointPath
from ranking.conjoint.results.bootstrap import refit_bootstrap, respondent_bootstrap
from ranking.conjoint.results.calibration import Calibration, calibrate
from ranking.conjoint.results.importances import (
    attribute_ranges,
    importance_summary,
    importances,
    part_worth_summary,
    zero_centred_diffs,
)
from ranking.conjoint.results.market import (
    Noise,
    Scenario,
    Simulator,
    price_curve,
    read_scenario,
    sensitivity,
    simulate,
)
from ranking.conjoint.results.orders import order_reversals, reversal_counts
from ranking.conjoint.results.predictions import (
    agreement,
    common_shares,
    hit_rate,
    log_likelihood,
    root_likelihood,
    share_error,
    utilities,
)
from ranking.conjoint.results.stability import (
    Conclusions,
    PartWorthLines,
    ShareSteps,
    first_choice_steps,
    importance_orders,
    part_worth_lines,
)
from ranking.conjoint.results.willingness import WillingnessToPay, willingness_to_pay

__all__ = [
    "Attribute",
    "Calibration",
    "Conclusions",
    "Conflict",
    "ConjointPath",
    "ConjointPathCV",
    "ConjointSVM",
    "ConjointStudy",
    "Noise",
    "PartWorthLines",
    "Scenario",
    "ShareSteps",
    "Simulator",
    "StudyCard",
    "WillingnessToPay",
    "agreement",
    "attribute_ranges",
    "calibrate",
    "common_shares",
    "example_part_worths",
    "example_study",
    "find_conflict",
    "find_conflicts",
    "first_choice_steps",
    "hit_rate",
    "importance_orders",
    "importance_summary",
    "importances",
    "log_likelihood",
    "order_reversals",
    "part_worth_lines",
    "part_worth_summary",
    "price_curve",
    "read_scenario",
    "refit_bootstrap",
    "respondent_bootstrap",
    "reversal_counts",
    "root_likelihood",
    "sensitivity",
    "share_error",
    "simulate",
    "utilities",
    "willingness_to_pay",
    "zero_centred_diffs",
]
