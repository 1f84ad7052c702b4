"""crossvalidation: folds, the mean of their curves, what is chosen, and the same on several processes."""

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from ranking import RankSVMPath, RankSVMPathCV, kernel_matrix
from ranking.errors import DataError
from ranking.metrics import kendall_tau, pairwise_accuracy
from ranking.ranksvm.path import split_rows
from tests.ranking.rankings import gaussian
from tests.refusals import refuses

X, Y = gaussian(36, 3, seed=0)
QID = np.random.default_rng(0).integers(0, 6, 36)
PATH = RankSVMPath(C_max=20)
GRID = {"kernel": ["rbf"], "gamma": [0.1, 1.0]}


def assert_same(found, wanted, digits=16):
    """Two fitted estimators chose the same from the same curves, whose C agree to so many digits."""
    assert found.best_params_ == wanted.best_params_
    assert pytest.approx(wanted.C_, rel=10**-digits) == found.C_
    for one, other in zip(found.candidates_, wanted.candidates_, strict=True):
        for a, b in zip((*one.folds, one.mean), (*other.folds, other.mean), strict=True):
            assert_allclose(a.edges, b.edges, rtol=10**-digits)
            assert_array_equal(a.values, b.values)
            assert_array_equal(a.errors, b.errors)


@pytest.fixture(scope="module")
def model():
    """What one process finds."""
    return RankSVMPathCV(PATH, GRID, cv=3).fit(X, Y, QID)


class TestFolds:
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("cv", [2, 3, 6])
    def test_a_query_is_never_split(self, cv, seed):
        folds = split_rows(cv, Y, QID, seed)
        assert len(folds) == cv
        assert sorted(np.concatenate([there for _, there in folds])) == list(range(36))
        for train, there in folds:
            assert not set(QID[train]) & set(QID[there])
            assert len(train) + len(there) == 36

    def test_queries_that_numpy_takes_for_one_are_two(self):
        folds = split_rows(2, Y, [1, "1"] * 18, 0)
        assert sorted(there.tolist() for _, there in folds) == [list(range(0, 36, 2)), list(range(1, 36, 2))]

    @pytest.mark.parametrize("y", [Y, Y / 2 + 0.25, np.arange(36) * 1.5], ids=["few", "halves", "many"])
    def test_rows_of_one_query_are_spread_by_label(self, y):
        folds = split_rows(4, y, None, 0)
        assert sorted(np.concatenate([there for _, there in folds])) == list(range(36))
        for label in np.unique(y):
            counts = [(y[there] == label).sum() for _, there in folds]
            assert max(counts) - min(counts) <= 1

    def test_a_splitter_or_a_list_is_taken_as_it_is(self):
        splitter = KFold(3)
        for cv in (splitter, list(splitter.split(X))):
            for found, wanted in zip(split_rows(cv, Y, None, 0), splitter.split(X), strict=True):
                assert_array_equal(found[1], wanted[1])

    @pytest.mark.parametrize(
        ("cv", "qid", "wrong"),
        [
            (1, None, {"argument": "cv", "found": "1"}),
            (7, QID, {"argument": "cv", "found": 7}),
            (19, None, {"argument": "cv", "found": 19}),
        ],
    )
    def test_too_many_folds_are_refused(self, cv, qid, wrong):
        with refuses(DataError, **wrong):
            split_rows(cv, Y, qid, 0)


class TestChoice:
    def test_every_curve_is_that_of_a_path_of_its_fold(self, model):
        for candidate in model.candidates_:
            folds = split_rows(3, Y, QID, 0)
            for curve, (train, there) in zip(candidate.folds, folds, strict=True):
                path = RankSVMPath(C_max=20, **candidate.parameters).fit(X[train], Y[train], QID[train])
                for C in (0.01, 0.1, 1, 7):
                    scores = path.decision_function(X[there], C=C)
                    wanted = pairwise_accuracy(Y[there], scores, QID[there])
                    assert curve.at(C) == pytest.approx(wanted, abs=1e-9)

    def test_the_mean_is_that_of_the_folds(self, model):
        for candidate in model.candidates_:
            for C in (0.01, 0.1, 1, 7):
                values = [curve.at(C) for curve in candidate.folds]
                assert candidate.mean.at(C) == pytest.approx(np.mean(values))

    def test_the_best_of_all_is_chosen_and_fitted_to_all_rows(self, model):
        assert model.best_score_ == max(candidate.mean.best for candidate in model.candidates_)
        assert model.curve_.at(model.C_) == model.best_score_
        alone = RankSVMPath(C_max=20, C=model.C_, **model.best_params_).fit(X, Y, QID)
        assert_array_equal(model.predict(X), alone.predict(X))
        assert_array_equal(model.rank(X, QID), alone.rank(X, QID))
        assert_array_equal(model.predict_pairs(X, [(0, 1)]), alone.predict_pairs(X, [(0, 1)]))
        assert model.score(X, Y, QID) == alone.score(X, Y, QID)
        assert model.n_features_in_ == 3

    def test_the_table_has_a_row_a_candidate_the_best_first(self, model):
        table = model.results()
        assert table["gamma"].tolist()[0] == model.best_params_["gamma"]
        assert table["best"].is_monotonic_decreasing
        assert len(table) == 2
        assert (table["C_one_standard_error"] <= table["C_best"]).all()

    def test_one_standard_error_regularises_more(self, model):
        careful = RankSVMPathCV(PATH, GRID, cv=3, choice="one_standard_error").fit(X, Y, QID)
        assert careful.C_ <= model.C_
        least = model.best_score_ - careful.curve_.error_at(model.C_)
        assert careful.best_score_ >= least - 1e-12

    def test_another_metric_is_that_metric(self):
        model = RankSVMPathCV(PATH, cv=2, metric="kendall_tau").fit(X, Y, QID)
        train, there = split_rows(2, Y, QID, 0)[0]
        scores = RankSVMPath(C_max=20).fit(X[train], Y[train], QID[train]).decision_function(X[there], C=1)
        assert model.candidates_[0].folds[0].at(1) == pytest.approx(kendall_tau(Y[there], scores, QID[there]))

    def test_a_fold_with_a_shorter_path_limits_the_mean(self):
        model = RankSVMPathCV(RankSVMPath(kernel="rbf", max_pieces=6), cv=3, metric="pairwise_accuracy")
        folds = split_rows(3, Y, QID, 0)
        ends = [
            RankSVMPath(kernel="rbf", max_pieces=6).fit(X[train], Y[train], QID[train]).C_end_
            for train, _ in folds
        ]
        assert len(set(ends)) > 1
        try:
            model.fit(X, Y, QID)
        except DataError as error:  # the path refitted to all rows may be shorter still
            assert "the ends of the path" in str(error)  # noqa: PT017
        assert model.curve_.edges[-1] == min(ends)

    def test_precomputed_kernels_are_cut_in_rows_and_columns(self):
        K = kernel_matrix(X, kernel="rbf", gamma=0.5)
        wanted = RankSVMPathCV(RankSVMPath(C_max=20, kernel="rbf", gamma=0.5), cv=3).fit(X, Y, QID)
        found = RankSVMPathCV(RankSVMPath(C_max=20, kernel="precomputed"), cv=3).fit(K, Y, QID)
        assert_allclose(found.curve_.edges, wanted.curve_.edges, rtol=1e-7)
        assert_allclose(found.predict(K), wanted.predict(X), atol=1e-7)

    def test_frames_lists_and_sparse_rows_are_rows(self):
        wanted = RankSVMPathCV(PATH, cv=3).fit(X, Y, QID)
        frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(36)[::-1]).assign(qid=QID)
        series = pd.Series(QID, index=np.arange(36)[::-1])
        assert_same(RankSVMPathCV(PATH, cv=3).fit(frame, pd.Series(Y)), wanted)
        assert_same(RankSVMPathCV(PATH, cv=3).fit(X.tolist(), Y.tolist(), series), wanted)
        framed = RankSVMPathCV(PATH, cv=3).fit(frame, Y)
        assert framed.feature_names_in_.tolist() == ["a", "b", "c"]
        assert_allclose(framed.predict(frame), wanted.predict(X), rtol=1e-12)

    @pytest.mark.parametrize(
        ("parameters", "arguments", "wrong"),
        [
            ({"choice": "first"}, {}, {"argument": "choice", "found": "'first'"}),
            ({"estimator": KFold()}, {}, {"argument": "estimator", "found": "KFold"}),
            ({"metric": "auc"}, {}, {"argument": "metric", "found": "'auc'"}),
            ({}, {"y": None}, {"argument": "y", "found": "RankSVMPathCV"}),
            ({}, {"y": Y[:-1]}, {"argument": "X with y"}),
            ({}, {"qid": QID[:-1]}, {"argument": "qid", "found": "shape (35,)"}),
        ],
    )
    def test_bad_arguments_are_named(self, parameters, arguments, wrong):
        with refuses(DataError, **wrong):
            RankSVMPathCV(**{"estimator": PATH} | parameters).fit(**{"X": X, "y": Y, "qid": QID} | arguments)


class TestSideBySide:
    def test_progress_counts_the_paths(self):
        heard = []
        RankSVMPathCV(PATH, GRID, cv=3).fit(X, Y, QID, progress=lambda *state: heard.append(state))
        assert heard == [(k, 6) for k in range(1, 7)]

    def test_two_processes_find_the_same(self, model):
        assert_same(RankSVMPathCV(PATH, GRID, cv=3, n_jobs=2).fit(X, Y, QID), model)

    def test_two_threads_find_the_same(self, model):
        with joblib.parallel_config(backend="threading", n_jobs=2):
            assert_same(RankSVMPathCV(PATH, GRID, cv=3).fit(X, Y, QID), model)

    def test_a_cluster_finds_the_same(self, model):
        """But for the last digits: arrays that were sent lie elsewhere in memory, and sums run otherwise."""
        distributed = pytest.importorskip("distributed")
        heard = []
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster),
            joblib.parallel_config(backend="dask"),
        ):
            found = RankSVMPathCV(PATH, GRID, cv=3)
            assert_same(found.fit(X, Y, QID, progress=lambda *state: heard.append(state)), model, digits=12)
        assert heard[-1] == (6, 6)
