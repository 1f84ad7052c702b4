"""ranker: every way to hand in preferences means the same, and what follows from scores is as defined."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone

from ranking import RankSVM, RankSVMPath, kernel_matrix, preferences_from_signs, retention_pairs
from ranking.errors import DataError
from ranking.metrics import pairwise_accuracy
from tests.ranking.rankings import gaussian, whole
from tests.refusals import refuses

ESTIMATORS = {
    "hinge": RankSVM(kernel="rbf", gamma=0.5),
    "linear": RankSVM(),
    "squared": RankSVM(loss="squared_hinge"),
    "path": RankSVMPath(kernel="rbf", gamma=0.5, C=2, C_max=5),
}
X, Y, QID = whole(14, 3, seed=4)


@pytest.fixture(params=ESTIMATORS)
def model(request):
    return clone(ESTIMATORS[request.param])


class TestInputs:
    def test_the_order_of_rows_does_not_matter(self, model):
        order = np.random.default_rng(0).permutation(len(X))
        wanted = model.fit(X, Y, QID).predict(X)
        assert_allclose(model.fit(X[order], Y[order], QID[order]).predict(X), wanted, atol=1e-7)

    def test_pairs_of_different_queries_are_not_compared(self, model):
        pairs = [(i, j) for i in range(14) for j in range(14) if Y[i] > Y[j] and QID[i] == QID[j]]
        assert_array_equal(sorted(map(tuple, model.fit(X, Y, QID).preferences_.pairs)), sorted(pairs))
        wanted = model.predict(X)
        assert_allclose(model.fit(X, pairs=pairs).predict(X), wanted, atol=1e-7)
        assert_allclose(model.fit(X, pairs=nx.DiGraph(pairs)).predict(X), wanted, atol=1e-7)

    def test_edges_of_a_graph_carry_weights_and_margins(self, model):
        graph = nx.DiGraph([(0, 5, {"weight": 2, "margin": 0.5}), (3, 1, {})])
        wanted = model.fit(X, pairs=[(0, 5), (3, 1)], pair_weight=[2, 1], margin=[0.5, 1]).predict(X)
        assert_allclose(model.fit(X, pairs=graph).predict(X), wanted)

    def test_comparisons_by_sign_are_pairs(self, model):
        compared = preferences_from_signs([0, 1, 2], [5, 3, 7], [+1, -1, +1], len(X), pair_weight=[1, 2, 3])
        wanted = model.fit(X, pairs=[(0, 5), (3, 1), (2, 7)], pair_weight=[1, 2, 3]).predict(X)
        assert_allclose(model.fit(X, pairs=compared).predict(X), wanted)

    def test_retention_times_of_several_systems_are_labels_in_queries(self, model):
        times = np.random.default_rng(0).uniform(1, 9, len(X)).round(1)
        wanted = model.fit(X, times, QID).predict(X)
        assert_allclose(model.fit(X, pairs=retention_pairs(times, QID)).predict(X), wanted, atol=1e-9)

    @pytest.mark.parametrize("place", ["column", "index"])
    def test_a_frame_may_carry_its_queries(self, model, place):
        names = ["length", "mass", "charge"]
        plain = pd.DataFrame(X, columns=names)
        frame = plain.assign(qid=QID)
        frame = frame[["length", "qid", "mass", "charge"]] if place == "column" else frame.set_index("qid")
        wanted = model.fit(X, Y, QID).predict(X)
        model.fit(frame, Y)
        assert model.feature_names_in_.tolist() == names
        assert model.n_features_in_ == 3
        for rows in (frame, plain):
            assert_allclose(model.predict(rows), wanted, atol=1e-12)
        assert model.score(frame, Y) == model.score(plain, Y, QID) != model.score(plain, Y)
        assert_array_equal(model.rank(frame), model.rank(plain, QID))

    def test_selection_on_a_frame_uses_its_queries(self):
        frame = pd.DataFrame(X).add_prefix("x").assign(qid=QID)
        path = RankSVMPath().fit(frame, Y)
        inside, other = path.select(frame, Y), path.select(frame.drop(columns="qid"), Y, QID)
        assert_array_equal(inside.values, other.values)

    @pytest.mark.parametrize("convert", [csr_array, csr_matrix])
    def test_sparse_rows_are_rows(self, model, convert):
        wanted = model.fit(X, Y, QID).predict(X)
        assert_allclose(model.fit(convert(X), Y, QID).predict(convert(X)), wanted, atol=1e-9)

    def test_a_precomputed_kernel_is_the_kernel(self):
        K = kernel_matrix(X, kernel="rbf", gamma=0.5)
        for model in (RankSVM(kernel="rbf", gamma=0.5), RankSVMPath(kernel="rbf", gamma=0.5)):
            wanted = model.fit(X, Y, QID).predict(X[:4])
            given = model.set_params(kernel="precomputed").fit(K, Y, QID)
            assert_allclose(given.predict(K[:4]), wanted, atol=1e-9)
            assert_allclose(given.fit(csr_array(K), Y, QID).predict(csr_array(K[:4])), wanted, atol=1e-9)

    def test_a_function_is_a_kernel(self):
        model = RankSVMPath(kernel=lambda a, b, power: (a @ b + 1) ** power, kernel_params={"power": 2})
        wanted = RankSVMPath(kernel="poly", degree=2, gamma=1.0).fit(X, Y, QID).predict(X)
        assert_allclose(model.fit(X, Y, QID).predict(X), wanted, atol=1e-7)


class TestContradictions:
    def test_a_cycle_is_weighed_and_shown(self, model):
        model.fit(X, pairs=[(0, 1), (1, 2), (2, 0), (5, 6)])
        assert model.cycle_ == model.preferences_.cycle == (0, 1, 2)
        f = model.predict(X)
        assert np.isfinite(f).all()

    def test_a_preference_and_its_opposite_cancel(self, model):
        f = model.fit(X, pairs=[(0, 1), (1, 0)]).predict(X)
        assert_allclose(f, 0, atol=1e-12)
        assert model.cycle_ == (0, 1)

    def test_labels_contradict_nothing(self, model):
        assert model.fit(X, Y, QID).cycle_ is None


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "wrong"),
        [
            ({"X": np.where(X[0, 0] == X, np.nan, X)}, {"argument": "X with y"}),
            ({"X": X[0]}, {"argument": "X with y"}),
            ({"X": X[:1], "y": Y[:1]}, {"argument": "X with y"}),
            ({"X": X[:, :0]}, {"argument": "X with y"}),
            ({"y": Y[:-1]}, {"argument": "X with y"}),
            ({"y": np.where(Y == 2, np.nan, Y)}, {"argument": "X with y"}),
            ({"y": None}, {"argument": "y"}),
            ({"y": np.ones(14)}, {"argument": "y", "found": "0 of 3 queries have a single item"}),
            ({"qid": np.arange(14)}, {"argument": "y"}),
            ({"qid": QID[:-1]}, {"argument": "qid", "found": "shape (13,)"}),
            ({"qid": [None, *QID[1:]]}, {"argument": "qid[0]"}),
            ({"pairs": [(0, 1)]}, {"argument": "y", "found": "both"}),
            ({"y": None, "pairs": [(0, 14)]}, {"argument": "pairs[0]", "found": "(0, 14)"}),
            ({"y": None, "pairs": []}, {"argument": "pairs"}),
            ({"y": None, "pairs": nx.Graph([(0, 1)])}, {"argument": "pairs", "found": "an undirected one"}),
            (
                {"y": None, "pairs": [(0, 1)], "qid": np.arange(14)},
                {"argument": "pairs[0] is (0, 1)", "found": "0 and 1"},
            ),
            ({"y": None, "pairs": [(0, 1)], "margin": [1, 2]}, {"argument": "margin", "found": 2}),
            (
                {"y": None, "pairs": [(0, 1)], "pair_weight": -1},
                {"argument": "pair_weight[0]", "found": "-1.0"},
            ),
            ({"pair_weight": [1, 2]}, {"argument": "pair_weight", "found": 2}),
            (
                {"y": None, "pairs": preferences_from_signs([0], [1], [1], 3)},
                {"argument": "pairs", "found": "3 items"},
            ),
            (
                {"y": None, "pairs": preferences_from_signs([0], [1], [1], 14), "margin": 2},
                {"argument": "pairs"},
            ),
            ({"X": pd.DataFrame(X).assign(qid=1)}, {"argument": "qid"}),
        ],
    )
    def test_it_is_named(self, model, arguments, wrong):
        given = {"X": X, "y": Y, "qid": None if "pairs" in arguments else QID} | arguments
        with refuses(DataError, **wrong):
            model.fit(**given)

    def test_other_features_are_refused(self, model):
        model.fit(X, Y, QID)
        with refuses(DataError, "X"):
            model.predict(X[:, :2])

    @pytest.mark.parametrize("given", [{}, {"y": Y, "pairs": [(0, 1)]}])
    def test_a_score_needs_labels_or_pairs(self, model, given):
        model.fit(X, Y, QID)
        with refuses(DataError, "y"):
            model.score(X, **given)


class TestScores:
    def test_predictions_are_scores(self, model):
        model.fit(X, Y, QID)
        assert_array_equal(model.predict(X), model.decision_function(X))

    def test_ranks_count_better_rows_of_the_query(self, model):
        f = model.fit(X, Y, QID).predict(X)
        ranks = model.rank(X, QID)
        assert ranks.tolist() == [1 + ((QID[i] == QID) & (f > f[i])).sum() for i in range(len(X))]
        assert model.rank(X).min() == 1
        assert ranks.dtype.kind == "i"

    def test_equal_scores_share_a_rank(self):
        model = RankSVM().fit([[0.0], [1.0]], [0, 1])
        assert model.rank([[1.0], [2.0], [1.0], [0.0]]).tolist() == [2, 1, 2, 4]
        assert model.rank([[1.0], [2.0], [1.0], [0.0]], ["a", "b", "b", "a"]).tolist() == [1, 1, 2, 2]

    def test_predicted_preferences_are_signs_of_differences(self, model):
        f = model.fit(X, Y, QID).predict(X)
        pairs = [(0, 1), (1, 0), (4, 9)]
        wanted = [np.sign(f[i] - f[j]) for i, j in pairs]
        assert model.predict_pairs(X, pairs).tolist() == wanted
        assert sorted(model.predict_pairs(X, nx.DiGraph(pairs))) == sorted(wanted)
        assert model.score(X, pairs=pairs) == np.mean([(1 + sign) / 2 for sign in wanted])

    def test_the_score_is_the_mean_of_the_accuracies_of_queries(self, model):
        rows, labels = gaussian(12, 3, seed=8)
        queries = np.repeat(["short", "long"], [3, 9])
        labels[[0, 3]] = 0, 2
        labels[[1, 4]] = 1, 0
        model.fit(X, Y, QID)
        f = model.predict(rows)
        parts = [pairwise_accuracy(labels[queries == q], f[queries == q]) for q in ("short", "long")]
        assert model.score(rows, labels, queries) == pytest.approx(np.mean(parts))
