"""ordinal.crossvalidation: folds of levels, the mean of their curves, what is chosen, and missing levels."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import KFold

from ranking import OrdinalSVMPath, OrdinalSVMPathCV, kernel_matrix
from ranking.errors import DataError
from ranking.metrics import accuracy, mean_absolute_error
from ranking.ordinal.path import split_levels
from tests.ranking.rankings import gaussian
from tests.refusals import refuses

X, Y = gaussian(36, 3, seed=0)
NAMES = np.array(["low", "middle", "high"])
PATH = OrdinalSVMPath(C_max=20)
GRID = {"kernel": ["rbf"], "gamma": [0.1, 1.0]}
PLACES = (0.013, 0.11, 1.3, 7.1)


@pytest.fixture(scope="module")
def model():
    """What one process finds."""
    return OrdinalSVMPathCV(PATH, GRID, cv=3).fit(X, Y)


def assert_same(found, wanted):
    """Two fitted estimators chose the same from the same curves."""
    assert found.best_params_ == wanted.best_params_
    assert pytest.approx(wanted.C_, rel=1e-9) == found.C_
    for one, other in zip(found.candidates_, wanted.candidates_, strict=True):
        for a, b in zip((*one.folds, one.mean), (*other.folds, other.mean), strict=True):
            assert_allclose(a.edges, b.edges, rtol=1e-9)
            assert_array_equal(a.values, b.values)


class TestFolds:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("cv", [2, 5, 36])
    def test_every_level_of_several_rows_is_trained_on_in_every_fold(self, cv, seed):
        folds = split_levels(cv, Y, seed)
        assert sorted(np.concatenate([there for _, there in folds])) == list(range(36))
        for train, there in folds:
            assert set(Y[train]) == {0, 1, 2}
            assert sorted([*train, *there]) == list(range(36))

    def test_a_splitter_or_a_list_is_taken_as_it_is(self):
        splitter = KFold(3, shuffle=True, random_state=0)
        for cv in (splitter, list(splitter.split(X))):
            for found, wanted in zip(split_levels(cv, Y, 0), splitter.split(X), strict=True):
                assert_array_equal(found[0], wanted[0])
                assert_array_equal(found[1], wanted[1])

    def test_a_list_is_cut_to_the_rows_that_count(self):
        folds = split_levels([([0, 1, 2, 3], [4, 5])], np.array([0, 1, 1]), 0, np.array([1, 3, 4]))
        assert [(train.tolist(), there.tolist()) for train, there in folds] == [([0, 1], [2])]

    @pytest.mark.parametrize(
        ("cv", "wrong"),
        [
            (1, {"argument": "cv", "found": "1"}),
            (37, {"argument": "cv", "found": 37}),
            ([(np.flatnonzero(Y == 1), np.flatnonzero(Y != 1))], {"argument": "cv", "found": 0}),
        ],
    )
    def test_folds_that_train_nothing_are_refused(self, cv, wrong):
        with refuses(DataError, **wrong):
            split_levels(cv, Y, 0)


class TestChoice:
    def test_every_curve_is_that_of_a_path_of_its_fold(self, model):
        for candidate in model.candidates_:
            for curve, (train, there) in zip(candidate.folds, split_levels(3, Y, 0), strict=True):
                path = OrdinalSVMPath(C_max=20, **candidate.parameters).fit(X[train], Y[train])
                for C in PLACES:
                    wanted = mean_absolute_error(Y[there], path.predict(X[there], C=C))
                    assert curve.at(C) == pytest.approx(wanted, abs=1e-12)

    def test_the_smallest_mean_error_is_chosen_and_fitted_to_all_rows(self, model):
        assert not model.curve_.greater_is_better
        assert model.best_score_ == min(candidate.mean.values.min() for candidate in model.candidates_)
        assert model.curve_.at(model.C_) == model.best_score_
        alone = OrdinalSVMPath(C_max=20, C=model.C_, **model.best_params_).fit(X, Y)
        assert_array_equal(model.predict(X), alone.predict(X))
        assert_array_equal(model.decision_function(X), alone.decision_function(X))
        assert_array_equal(model.predict_projection(X), alone.predict_projection(X))
        assert model.score(X, Y) == accuracy(Y, alone.predict(X))
        assert (model.classes_.tolist(), model.n_features_in_) == ([0, 1, 2], 3)

    def test_the_table_has_a_row_a_candidate_the_best_first(self, model):
        table = model.results()
        assert table["gamma"].tolist()[0] == model.best_params_["gamma"]
        assert table["best"].is_monotonic_increasing
        assert (table["C_one_standard_error"] <= table["C_best"]).all()

    def test_one_standard_error_regularises_more(self, model):
        careful = OrdinalSVMPathCV(PATH, GRID, cv=3, choice="one_standard_error").fit(X, Y)
        assert careful.C_ <= model.C_
        assert careful.best_score_ <= model.best_score_ + careful.curve_.error_at(model.C_) + 1e-12

    def test_a_metric_that_grows_is_maximised(self):
        found = OrdinalSVMPathCV(PATH, cv=3, metric="accuracy").fit(X, Y)
        assert found.best_score_ == found.curve_.values.max()
        function = OrdinalSVMPathCV(PATH, cv=3, metric=lambda y, predicted: (y == predicted).mean())
        assert function.fit(X, Y).best_score_ == pytest.approx(found.best_score_)

    def test_progress_counts_the_paths(self):
        heard = []
        OrdinalSVMPathCV(PATH, cv=3).fit(X, Y, progress=lambda *state: heard.append(state))
        assert heard == [(1, 3), (2, 3), (3, 3)]

    def test_a_pickled_search_predicts_the_same(self, model):
        again = pickle.loads(pickle.dumps(model))
        assert_same(again, model)
        assert_array_equal(again.predict(X), model.predict(X))

    @pytest.mark.slow
    def test_two_processes_find_the_same(self, model):
        assert_same(OrdinalSVMPathCV(PATH, GRID, cv=3, n_jobs=2).fit(X, Y), model)


class TestLabels:
    def test_names_in_order_are_levels(self):
        wanted = OrdinalSVMPathCV(PATH, cv=3).fit(X, Y)
        ordered = pd.Categorical(NAMES[Y], categories=NAMES, ordered=True)
        series = pd.Series(ordered, index=np.arange(36)[::-1])
        named = OrdinalSVMPath(C_max=20, levels=NAMES.tolist())
        for path, y in ((PATH, ordered), (PATH, series), (named, NAMES[Y])):
            found = OrdinalSVMPathCV(path, cv=3).fit(X, y)
            assert_same(found, wanted)
            assert_array_equal(found.predict(X), NAMES[wanted.predict(X)])
            assert found.classes_.tolist() == NAMES.tolist()

    def test_a_level_that_a_fold_misses_counts_with_its_number(self):
        """One object of level 2 of 4: its fold knows 0, 1 and 3, and may be wrong by 1 at best."""
        y = np.where(Y == 2, 3, Y)
        y[5] = 2
        train, there = np.flatnonzero(np.arange(36) % 3 != 2), np.flatnonzero(np.arange(36) % 3 == 2)
        assert 5 in there
        found = OrdinalSVMPathCV(PATH, cv=[(train, there), (there, train)]).fit(X, y)
        path = clone(PATH).fit(X[train], y[train])
        assert path.classes_.tolist() == [0, 1, 3]
        for C in PLACES:
            wanted = np.abs(y[there] - path.predict(X[there], C=C)).mean()
            assert found.candidates_[0].folds[0].at(C) == pytest.approx(wanted, abs=1e-12)

    def test_a_level_that_a_fold_never_meets_still_lies_between_others(self):
        y = np.where(Y == 2, 3, Y)
        y[5] = 2
        rows = np.setdiff1d(np.arange(36), [5])
        train, there = rows[::2], rows[1::2]
        found = OrdinalSVMPathCV(PATH, cv=[(train, there), (there, train)]).fit(X, y)
        path = clone(PATH).fit(X[train], y[train])
        for C in PLACES:
            wanted = np.abs(y[there] - path.predict(X[there], C=C)).mean()
            assert found.candidates_[0].folds[0].at(C) == pytest.approx(wanted, abs=1e-12)


class TestRows:
    def test_precomputed_kernels_are_cut_in_rows_and_columns(self):
        K = kernel_matrix(X, kernel="rbf", gamma=0.5)
        wanted = OrdinalSVMPathCV(OrdinalSVMPath(C_max=20, kernel="rbf", gamma=0.5), cv=3).fit(X, Y)
        found = OrdinalSVMPathCV(OrdinalSVMPath(C_max=20, kernel="precomputed"), cv=3).fit(K, Y)
        assert_allclose(found.curve_.edges, wanted.curve_.edges, rtol=1e-7)
        assert_array_equal(found.predict(K), wanted.predict(X))

    def test_frames_keep_their_names(self):
        frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(36)[::-1])
        found = OrdinalSVMPathCV(PATH, cv=3).fit(frame, pd.Series(Y))
        assert found.feature_names_in_.tolist() == ["a", "b", "c"]
        assert_same(found, OrdinalSVMPathCV(PATH, cv=3).fit(X, Y))

    def test_rows_without_weight_are_left_out_everywhere(self):
        weight = np.tile([1.0, 2.0, 0.0], 12)
        kept = np.flatnonzero(weight)
        folds = [(np.arange(0, 36, 2), np.arange(1, 36, 2)), (np.arange(1, 36, 2), np.arange(0, 36, 2))]
        inside = [tuple(np.flatnonzero(np.isin(kept, part)) for part in fold) for fold in folds]
        for cv, same in ((3, 3), (folds, inside)):
            wanted = OrdinalSVMPathCV(PATH, cv=same).fit(X[kept], Y[kept], weight[kept])
            found = OrdinalSVMPathCV(PATH, cv=cv).fit(X, Y, weight)
            assert_same(found, wanted)
            assert_array_equal(found.predict(X), wanted.predict(X))

    def test_weights_reach_the_paths(self):
        weight = np.linspace(0.1, 3, 36)
        found = OrdinalSVMPathCV(PATH, cv=3).fit(X, Y, weight)
        train, there = split_levels(3, Y, 0)[1]
        path = clone(PATH).fit(X[train], Y[train], weight[train])
        for C in PLACES:
            wanted = mean_absolute_error(Y[there], path.predict(X[there], C=C))
            assert found.candidates_[0].folds[1].at(C) == pytest.approx(wanted, abs=1e-12)
        alone = clone(PATH).set_params(C=found.C_).fit(X, Y, weight)
        assert_array_equal(found.predict_projection(X), alone.predict_projection(X))


@pytest.mark.parametrize(
    ("parameters", "arguments", "wrong"),
    [
        ({"choice": "first"}, {}, {"argument": "choice", "found": "'first'"}),
        ({"estimator": KFold()}, {}, {"argument": "estimator", "found": "KFold"}),
        ({"metric": "auc"}, {}, {"argument": "metric", "found": "'auc'"}),
        ({}, {"y": None}, {"argument": "y", "found": "OrdinalSVMPathCV"}),
        ({}, {"y": Y[:-1]}, {"argument": "X, y and sample_weight"}),
        ({}, {"y": np.ones(36)}, {"argument": "y", "found": "1.0"}),
        ({}, {"y": NAMES[Y]}, {"argument": "y", "found": "'high', 'low', 'middle'"}),
    ],
)
def test_bad_arguments_are_named(parameters, arguments, wrong):
    with refuses(DataError, **wrong):
        OrdinalSVMPathCV(**{"estimator": PATH} | parameters).fit(**{"X": X, "y": Y} | arguments)
