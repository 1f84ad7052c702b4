"""Conjoint analysis: studies of choices, part-worths from them at every C, and what is done with these.

Part-worths, however they were estimated, are scaled, calibrated to probabilities, put into shares of
products, and followed along a solution path.
"""

from ranking.conjoint.attributes import Attribute
from ranking.conjoint.bootstrap import refit_bootstrap, respondent_bootstrap
from ranking.conjoint.calibration import Calibration, calibrate
from ranking.conjoint.card import StudyCard
from ranking.conjoint.conflicts import Conflict, find_conflict, find_conflicts
from ranking.conjoint.example import example_part_worths, example_study
from ranking.conjoint.holdouts import common_shares, share_error
from ranking.conjoint.model import ConjointSVM
from ranking.conjoint.noise import Noise
from ranking.conjoint.path import ConjointPath
from ranking.conjoint.reversals import order_reversals, reversal_counts
from ranking.conjoint.scaling import (
    attribute_ranges,
    importance_summary,
    importances,
    part_worth_summary,
    zero_centred_diffs,
)
from ranking.conjoint.scenario import Scenario, read_scenario
from ranking.conjoint.search import ConjointPathCV
from ranking.conjoint.sensitivity import price_curve, sensitivity
from ranking.conjoint.simulator import Simulator, simulate
from ranking.conjoint.stability import Conclusions, ShareSteps, first_choice_steps, importance_orders
from ranking.conjoint.study import ConjointStudy
from ranking.conjoint.tracks import Tracks, tracks_of
from ranking.conjoint.utilities import agreement, hit_rate, log_likelihood, root_likelihood, utilities
from ranking.conjoint.willingness import WillingnessToPay, willingness_to_pay

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
    "Scenario",
    "ShareSteps",
    "Simulator",
    "StudyCard",
    "Tracks",
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
    "tracks_of",
    "utilities",
    "willingness_to_pay",
    "zero_centred_diffs",
]
