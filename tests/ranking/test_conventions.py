"""Conventions of scikit-learn: its own checks, clones, pickles, pipelines, searches and routed queries."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ranking import (
    ConjointPath,
    OrdinalSVM,
    OrdinalSVMPath,
    OrdinalSVMPathCV,
    RankSVM,
    RankSVMPath,
    RankSVMPathCV,
)
from ranking.metrics import pairwise_accuracy
from tests.ranking.rankings import gaussian

X, Y = gaussian(30, 3, seed=0)
QID = np.arange(30) % 5
# Few pairs and short paths: the checks fit some hundred models, the largest to 150 rows.
ESTIMATORS = [
    RankSVM(reduction="tree"),
    RankSVM(loss="squared_hinge"),
    RankSVMPath(reduction="tree", C_max=1),
    RankSVMPath(reduction="tree", C_max=1, kernel="precomputed"),
    RankSVM(reduction="tree", kernel="minmax"),
    RankSVMPathCV(RankSVMPath(reduction="tree", C_max=1), cv=2),
    OrdinalSVM(),
    OrdinalSVM(kernel="rbf", gamma="auto"),
    OrdinalSVMPath(C_max=1),
    OrdinalSVMPathCV(OrdinalSVMPath(C_max=1), cv=2),
]
# What scikit-learn does to a Gram matrix, which is none any more.
NO_GRAM_MATRIX = {
    "check_positive_only_tag_during_fit": "the mean of all entries is subtracted",
    "check_estimators_dtypes": "entries are rounded to 32 bits, or to whole numbers",
}
NO_ORDER = {"check_classifiers_classes": "strings have no order of their own, and are refused without levels"}
FITTED = [
    RankSVM(kernel="rbf"),
    RankSVMPath(kernel="rbf", C_max=5),
    RankSVMPathCV(RankSVMPath(C_max=5), cv=2),
]


def failures(estimator):
    """Checks that cannot pass, and why."""
    if isinstance(estimator, OrdinalSVM | OrdinalSVMPath | OrdinalSVMPathCV):
        return NO_ORDER
    return NO_GRAM_MATRIX if getattr(estimator, "kernel", None) == "precomputed" else {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=failures)
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
class TestCopies:
    def test_a_pickled_model_scores_the_same(self, model):
        model = clone(model).fit(X, Y, QID)
        again = pickle.loads(pickle.dumps(model))
        assert_allclose(again.predict(X), model.predict(X), rtol=1e-12)
        assert again.get_params().keys() == model.get_params().keys()

    def test_a_clone_is_not_fitted(self, model):
        with pytest.raises(sklearn.exceptions.NotFittedError):
            clone(clone(model).fit(X, Y, QID)).predict(X)


def test_a_pickled_path_is_the_path():
    model = RankSVMPath(kernel="rbf", C_max=5).fit(X, Y, QID)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.breakpoints_, model.breakpoints_)
    assert_array_equal(again.alpha_at(0.3), model.alpha_at(0.3))
    assert_array_equal(again.select(X, Y, QID).values, model.select(X, Y, QID).values)


def test_a_pipeline_hands_queries_to_its_ranker():
    pipeline = make_pipeline(StandardScaler(), RankSVM()).fit(10 * X, Y, ranksvm__qid=QID)
    alone = RankSVM().fit(StandardScaler().fit_transform(X), Y, QID)
    assert_allclose(pipeline.predict(10 * X), alone.predict(StandardScaler().fit_transform(X)), atol=1e-9)


class TestRouting:
    def test_a_search_over_C_keeps_queries_together_and_scores_by_query(self):
        with sklearn.config_context(enable_metadata_routing=True):
            model = RankSVM(kernel="rbf").set_fit_request(qid=True).set_score_request(qid=True)
            search = GridSearchCV(model, {"C": [0.01, 1.0]}, cv=GroupKFold(5))
            search.fit(X, Y, qid=QID, groups=QID)
        scores = []
        for train, test in GroupKFold(5).split(X, Y, QID):
            fold = RankSVM(1.0, kernel="rbf").fit(X[train], Y[train], QID[train])
            scores.append(fold.score(X[test], Y[test], QID[test]))
        at_one = search.cv_results_["param_C"].tolist().index(1.0)
        assert search.cv_results_["mean_test_score"][at_one] == pytest.approx(np.mean(scores))
        assert_array_equal(search.predict(X), search.best_estimator_.predict(X))

    def test_queries_pass_through_a_pipeline(self):
        """A scorer judges the pipeline: its own `score` asks for sample_weight, scikit-learn issue 30937."""
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = make_pipeline(StandardScaler(), RankSVM().set_fit_request(qid=True))
            scorer = make_scorer(pairwise_accuracy).set_score_request(qid=True)
            search = GridSearchCV(pipeline, {"ranksvm__C": [0.5]}, scoring=scorer, cv=GroupKFold(2))
            search.fit(X, Y, qid=QID, groups=QID)
        scores = []
        for train, test in GroupKFold(2).split(X, Y, QID):
            scaler = StandardScaler().fit(X[train])
            fold = RankSVM(0.5).fit(scaler.transform(X[train]), Y[train], QID[train])
            scores.append(fold.score(scaler.transform(X[test]), Y[test], QID[test]))
        assert search.best_score_ == pytest.approx(np.mean(scores))

    def test_cross_validation_of_cross_validation_gets_its_queries(self):
        with sklearn.config_context(enable_metadata_routing=True):
            model = RankSVMPathCV(RankSVMPath(C_max=5), cv=2)
            model.set_fit_request(qid=True).set_score_request(qid=True)
            scores = cross_val_score(model, X, Y, cv=GroupKFold(2), params={"qid": QID, "groups": QID})
        train, test = next(GroupKFold(2).split(X, Y, QID))
        first = RankSVMPathCV(RankSVMPath(C_max=5), cv=2).fit(X[train], Y[train], QID[train])
        assert scores[0] == first.score(X[test], Y[test], QID[test])


def test_all_path_models_have_the_same_names_for_the_same_things():
    shared = {"kind", "C_end_", "breakpoints_", "at", "select"}
    for model in (RankSVMPath, OrdinalSVMPath, ConjointPath):
        assert shared <= set(dir(model))
        assert {"C_max", "C"} <= set(model().get_params())
    for model in (RankSVMPath, OrdinalSVMPath):
        assert {"coef_at", "score_lines"} <= set(dir(model))
