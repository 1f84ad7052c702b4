"""ranksvm_path: every point of the path is the RankSVM at its C, whatever ties or depends on one another."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import pqp
from ranking import RankSVM, RankSVMPath, kernel_matrix
from ranking.errors import DataError
from ranking.metrics import kendall_tau, pairwise_accuracy
from tests.ranking.rankings import TIED, gap, gaussian, violation, whole
from tests.refusals import refuses
from tests.systems import FEW

GAP = 1e-9
# The rounding error in the optimality conditions, relative to C.
MISS = 1e-8
GAMMA = 0.5
X, Y = gaussian(15, 3, seed=3)


def random_costs(low, high, count, seed=0):
    return np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), count))


@pytest.fixture(scope="module", params=TIED)
def tied(request):
    """A path through ties to its very end, its Gram matrix, and some C on it."""
    items, features, kernel, reduction = TIED[request.param]
    X, y, qid = whole(items, features, seed=1)
    model = RankSVMPath(C_max=np.inf, kernel=kernel, gamma=GAMMA, reduction=reduction).fit(X, y, qid)
    return model, kernel_matrix(X, kernel=kernel, gamma=GAMMA), random_costs(1e-3, 1e3, 12)


class TestEveryPoint:
    def test_it_is_optimal(self, tied):
        model, K, costs = tied
        for C in [*costs, *model.breakpoints_]:
            assert violation(model, K, model.alpha_at(C), C) <= MISS * max(1, C)

    def test_its_duality_gap_is_nothing(self, tied):
        model, K, costs = tied
        for C in [*costs, *model.breakpoints_]:
            assert abs(gap(model, K, model.alpha_at(C), C)) <= GAP
            assert model.at(C).duality_gap_ == pytest.approx(gap(model, K, model.alpha_at(C), C), abs=GAP)

    def test_its_sets_are_those_of_the_margins(self, tied):
        model, _, costs = tied
        X, w = model.representation_.X, model.preferences_
        for C in costs:
            f, alpha = model.decision_function(X, C=C), model.alpha_at(C)
            margin = f[w.pairs[:, 0]] - f[w.pairs[:, 1]]
            satisfied, at_margin, violated = model.pair_sets(C)
            assert sorted([*satisfied, *at_margin, *violated]) == list(range(len(w)))
            assert (margin[satisfied] >= 1 - MISS).all()
            assert_allclose(margin[at_margin], 1, atol=MISS)
            assert (margin[violated] <= 1 + MISS).all()
            assert_allclose(alpha[satisfied], 0, atol=MISS)
            assert_allclose(alpha[violated], C, rtol=MISS)

    def test_it_is_the_model_at_one_C(self, tied):
        model, _, costs = tied
        params = {name: value for name, value in model.get_params().items() if name in RankSVM().get_params()}
        for C in costs[:4]:
            X, edges = model.representation_.X, model.preferences_.pairs
            alone = RankSVM(**params | {"C": C, "reduction": "full"}).fit(X, pairs=edges)
            assert alone.objective_ == pytest.approx(model.at(C).objective_, rel=1e-9)
            assert_allclose(alone.decision_function(X), model.decision_function(X, C=C), atol=1e-6)
            assert abs(alone.duality_gap_) <= GAP

    def test_the_counts_are_the_sizes_of_the_sets(self, tied):
        model, _, costs = tied
        table = model.pair_counts()
        assert table["C_lo"].iloc[0] == 0
        assert table["C_hi"].iloc[-1] == np.inf
        for C in costs:
            row = table[(table["C_lo"] <= C) & (table["C_hi"] > C)].iloc[-1]
            sizes = [len(part) for part in model.pair_sets(C)]
            assert [row["satisfied"], row["margin"], row["violated"]] == sizes
            assert row["lambda_lo"] <= 1 / C <= row["lambda_hi"]


class TestChecks:
    """The conditions these tests rely on see what is wrong."""

    def test_wrong_dual_variables_are_not_optimal(self, tied):
        model, K, costs = tied
        for C in costs[:4]:
            alpha = model.alpha_at(C)
            for wrong in (alpha + 1e-3 * C, alpha - 1e-3 * C, np.where(np.arange(len(alpha)), alpha, 2 * C)):
                assert violation(model, K, wrong, C) > MISS * max(1, C)

    def test_the_solution_at_another_C_has_a_gap(self, tied):
        model, K, _ = tied
        first = model.breakpoints_[0]
        assert gap(model, K, model.alpha_at(first / 2), first) > GAP


class TestProof:
    @pytest.mark.parametrize("features", [1, 3])
    def test_whole_features_and_a_linear_kernel_are_proved_exactly(self, features):
        X, y, qid = whole(12, features, seed=2)
        model = RankSVMPath(C_max=np.inf).fit(X, y, qid)
        assert (model.path_.lo, model.path_.hi) == (0, np.inf)
        model.path_.certify()

    def test_pairs_that_are_there_twice_weigh_twice(self):
        X, y = gaussian(8, 3, seed=0)
        once = RankSVMPath(kernel="rbf", gamma=GAMMA).fit(X, y)
        pairs = once.preferences_.pairs
        double = RankSVMPath(kernel="rbf", gamma=GAMMA).fit(X, pairs=np.concatenate([pairs, pairs]))
        heavy = RankSVMPath(kernel="rbf", gamma=GAMMA).fit(X, pairs=pairs, pair_weight=2)
        for C in random_costs(0.01, 400, 8):
            wanted = once.decision_function(X, C=2 * C)
            assert_allclose(double.decision_function(X, C=C), wanted, atol=1e-8)
            assert_allclose(heavy.decision_function(X, C=C), wanted, atol=1e-8)

    def test_weights_and_margins_are_those_of_the_problem(self):
        random = np.random.default_rng(0)
        X, y = gaussian(12, 3, seed=1)
        pairs = RankSVMPath().fit(X, y).preferences_.pairs
        weight, margin = random.uniform(0.5, 2, len(pairs)), random.uniform(-0.5, 2, len(pairs))
        model = RankSVMPath(C_max=np.inf, kernel="rbf", gamma=GAMMA)
        model.fit(X, pairs=pairs, pair_weight=weight, margin=margin)
        K = kernel_matrix(X, kernel="rbf", gamma=GAMMA)
        for C in [*random_costs(1e-3, 1e2, 8), *model.breakpoints_[::5]]:
            assert violation(model, K, model.alpha_at(C), C) <= MISS * max(1, C)
            assert abs(gap(model, K, model.alpha_at(C), C)) <= GAP

    def test_rows_that_are_all_equal_score_nothing(self):
        model = RankSVMPath(C_max=np.inf).fit(np.ones((4, 2)), [1, 2, 3, 3])
        assert model.decision_function(np.ones((2, 2)), C=5).tolist() == [0, 0]
        assert model.alpha_at(5).tolist() == [5] * 5


@pytest.fixture(scope="module", params=["linear", "rbf"])
def model(request):
    return RankSVMPath(C_max=50, kernel=request.param, gamma=GAMMA).fit(X, Y)


class TestReading:
    def test_scores_at_several_C_are_those_at_each(self, model):
        costs = [0.01, 0.5, 50]
        table = model.decision_function(X, C=costs)
        assert table.shape == (15, 3)
        for column, C in zip(table.T, costs, strict=True):
            assert_allclose(column, model.decision_function(X, C=C), atol=1e-12)
            assert_allclose(column, model.at(C).decision_function(X), atol=1e-12)
        assert model.decision_function(X, C=[]).shape == (15, 0)

    def test_coefficients_give_the_scores(self, model):
        b = model.coef_at(0.3)
        rows = X if model.kernel == "linear" else kernel_matrix(X, kernel="rbf", gamma=GAMMA)
        assert_allclose(rows @ b, model.decision_function(X, C=0.3), atol=1e-12)

    def test_score_lines_give_the_scores(self, model):
        for lines in model.score_lines(X):
            C = (lines.lo + lines.hi) / 2
            for k in range(0, len(C), 7):
                wanted = model.decision_function(X, C=C[k])
                assert_allclose(lines.constant[k] + C[k] * lines.slope[k], wanted, atol=1e-9)

    def test_breakpoints_are_where_the_slope_changes(self, model):
        bends = model.breakpoints_
        assert (np.diff(bends) > 0).all()
        assert_allclose(model.lambdas_ * bends, 1)
        assert (bends > 0).all()
        assert (bends < 50).all()
        for a, b in pairwise(bends[:10]):
            ends, middle = (model.alpha_at(a) + model.alpha_at(b)) / 2, model.alpha_at((a + b) / 2)
            assert_allclose(middle, ends, atol=1e-9)

    def test_C_in_use_is_the_end_or_the_one_asked_for(self, model):
        assert (model.C_, model.C_end_) == (50, 50)
        fitted = RankSVMPath(C_max=50, C=2).fit(X, Y)
        assert (fitted.C_, fitted.C_end_) == (2, 50)
        assert_allclose(fitted.predict(X), fitted.decision_function(X, C=2))

    def test_a_path_without_end_is_used_at_its_last_bend(self):
        model = RankSVMPath(C_max=np.inf).fit(X, Y)
        assert model.C_ == model.C_end_ == model.breakpoints_[-1]
        assert_allclose(model.predict(X), model.decision_function(X, C=1e6), atol=1e-6)

    @pytest.mark.parametrize("C", [51, -1, np.nan, np.inf, "1", [[1]]])
    def test_C_beyond_the_path_is_refused(self, model, C):
        with refuses(DataError, "C"):
            model.decision_function(X, C=C)

    @pytest.mark.parametrize("read", ["alpha_at", "coef_at", "at", "pair_sets"])
    def test_C_beyond_the_path_is_refused_everywhere(self, model, read):
        with refuses(DataError, "C", found=51):
            getattr(model, read)(51)

    def test_a_path_stopped_early_says_so(self):
        model = RankSVMPath(max_pieces=4).fit(X, Y)
        assert model.path_.stopped is not None
        assert model.C_ == model.C_end_ < 1000
        with refuses(DataError, "C", found=999):
            model.alpha_at(999)

    def test_a_path_stopped_before_its_first_piece_is_none(self):
        with refuses(DataError, "time_limit"):
            RankSVMPath(time_limit=1e-12).fit(X, Y)

    @pytest.mark.parametrize(
        ("parameters", "wrong"),
        [
            ({"C_max": 0}, {"argument": "C_max", "found": "0"}),
            ({"C_max": np.nan}, {"argument": "C_max", "found": "nan"}),
            ({"C": 2, "C_max": 1}, {"argument": "C", "found": 2}),
            ({"C": -1}, {"argument": "C", "found": "-1"}),
            ({"kernel": "cubic"}, {"argument": "kernel", "found": "'cubic'"}),
            ({"kernel_params": {"a": 1}}, {"argument": "kernel_params", "found": "{'a': 1}"}),
            ({"gamma": -1, "kernel": "rbf"}, {"argument": "gamma", "found": "-1"}),
            ({"reduction": "half"}, {"argument": "reduction", "found": "'half'"}),
        ],
    )
    def test_bad_parameters_are_named(self, parameters, wrong):
        with refuses(DataError, **wrong):
            RankSVMPath(**parameters).fit(X, Y)

    def test_progress_is_heard(self):
        heard = []
        RankSVMPath().fit(X, Y, progress=heard.append)
        assert heard


class TestSelection:
    @FEW
    @given(seed=st.integers(0, 1000), kernel=st.sampled_from(["linear", "rbf"]))
    def test_the_curve_is_the_metric_of_the_model_at_every_C(self, seed, kernel):
        random = np.random.default_rng(seed)
        X, y, qid = whole(10, 2, seed)
        rows, labels, queries = random.normal(size=(8, 2)), random.permutation(8) % 3, np.arange(8) % 2
        if len(set(zip(y, qid, strict=True))) == len(set(qid)):
            return
        model = RankSVMPath(C_max=np.inf, kernel=kernel, gamma=GAMMA).fit(X, y, qid)
        for name, metric in (("pairwise_accuracy", pairwise_accuracy), ("kendall_tau", kendall_tau)):
            curve = model.select(rows, labels, queries, name)
            for C in random_costs(1e-3, 1e3, 8, seed):
                scores = model.decision_function(rows, C=C).round(10)
                assert curve.at(C) == pytest.approx(metric(labels, scores, queries), abs=1e-9)

    def test_the_chosen_C_is_used_from_then_on(self):
        X, y = gaussian(20, 3, seed=5)
        rows, labels = gaussian(20, 3, seed=6)
        model = RankSVMPath(kernel="rbf", C_max=100).fit(X, y)
        curve = model.select(rows, labels)
        assert curve.C_best == model.C_
        assert model.score(rows, labels) == pytest.approx(curve.best)
        assert pqp.Path is type(model.path_)
