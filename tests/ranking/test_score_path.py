"""The path in scores: every point is optimal by definition, and the path is that of the pairs."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from ranking import RankSVMPath, hastie_path, kernel_matrix
from ranking.core.preferences import Preferences, preferences_from_labels, preferences_from_pairs
from ranking.errors import DataError
from ranking.ranksvm.score_certificate import ProofError, prove_gap, prove_piece, require_cover
from ranking.ranksvm.score_kernels import MARGIN, SATISFIED, VIOLATED
from ranking.ranksvm.score_path import NO_LENGTH, follow_scores
from ranking.ranksvm.score_trace import gram_factor
from tests.data_folder import mixture, needs
from tests.ranking.rankings import gaussian
from tests.ranking.test_hastie import SEEDS as HASTIE_SEEDS
from tests.ranking.test_hastie import random_problem

# What rounding may add to a gap, a margin or a score.
GAP = 1e-9
MISS = 1e-8
GAMMA = 0.5
KERNELS = ["linear", "rbf"]
SEEDS = st.integers(0, 10**6)


def gram(random, kernel, whole):
    """Return the Gram matrix of whole features with ties and duplicates, or of points at random."""
    n, features = int(random.integers(4, 24)), int(random.integers(1, 4))
    X = random.integers(-2, 3, (n, features)).astype(float) if whole else random.normal(size=(n, features))
    return kernel_matrix(X, kernel=kernel, gamma=GAMMA)


def two_levels(seed, kernel):
    """Return a Gram matrix, and all pairs of two levels in some queries."""
    return labelled(seed, kernel, 2)


def labelled(seed, kernel, levels):
    random = np.random.default_rng(seed)
    K = gram(random, kernel, seed % 2)
    y, qid = random.integers(0, levels, len(K)), random.integers(0, random.integers(1, 4), len(K))
    y[:2], qid[:2] = (0, 1), 0
    return K, preferences_from_labels(y, qid)


def several_levels(seed, kernel):
    """Return a Gram matrix, and all pairs of up to five levels in some queries."""
    return labelled(seed, kernel, 3 + seed % 3)


def weighted(seed, kernel):
    """Return a Gram matrix, and some of the pairs of several levels with weights."""
    K, pairs = several_levels(seed, kernel)
    random = np.random.default_rng(seed)
    chosen = random.permutation(len(pairs))[: max(1, len(pairs) // 2)]
    weight = random.choice([0.5, 1, 2], len(chosen))
    return K, Preferences(
        pairs.pairs[chosen], weight, pairs.margin[chosen], pairs.group[chosen], pairs.n_items
    )


def contradictory(seed, kernel):
    """Return a Gram matrix, and pairs at random: contradictions, cycles, pairs that are there twice."""
    random = np.random.default_rng(seed)
    K = gram(random, kernel, seed % 2)
    n, m = len(K), int(random.integers(2, 60))
    better = random.integers(0, n, m)
    pairs = np.stack([better, (better + random.integers(1, n, m)) % n], axis=1)
    return K, preferences_from_pairs(pairs, n, pair_weight=random.uniform(0.5, 2, m))


PROBLEMS = [two_levels, several_levels, weighted, contradictory]


def some_C(path, count, seed=0, most=1e3):
    """Return values of C at and between breakpoints, where the problem is not dominated by rounding."""
    bends = path.breakpoints
    bends = bends[bends < most]
    between = np.exp(np.random.default_rng(seed).uniform(np.log(1e-3), np.log(most), count))
    return [C for C in [*between, *bends[:: max(1, len(bends) // count)]] if path.hi >= C]


def margins(path, preferences, K, alpha):
    better, worse = preferences.pairs.T
    f = K @ (np.bincount(better, alpha, len(K)) - np.bincount(worse, alpha, len(K)))
    return f[better] - f[worse]


def gap(path, preferences, K, C):
    """The relative duality gap of α, which is feasible, and of the scores that it gives."""
    alpha = path.x(C)
    assert alpha.min() >= 0
    assert (alpha <= C * preferences.weight * (1 + 1e-12)).all()
    better, worse = preferences.pairs.T
    beta = np.bincount(better, alpha, len(K)) - np.bincount(worse, alpha, len(K))
    norm, slack = beta @ K @ beta, 1 - margins(path, preferences, K, alpha)
    primal = norm / 2 + C * preferences.weight @ np.maximum(0, slack)
    return (primal - (alpha.sum() - norm / 2)) / primal


def assert_optimal(path, preferences, K, C):
    """Assert the definition: α feasible, its scores those of the path, and complementary."""
    alpha, status = path.x(C), path.statuses(C)
    line = path.beta(path.piece_of(C))
    margin = margins(path, preferences, K, alpha)
    f = K @ (line.constant + C * line.slope)
    better, worse = preferences.pairs.T
    size = MISS * max(1, C)
    assert_allclose(margin, f[better] - f[worse], atol=size)
    assert (margin[status == VIOLATED] <= 1 + size).all()
    assert (margin[status == SATISFIED] >= 1 - size).all()
    assert_allclose(margin[status == MARGIN], 1, atol=size)
    assert_allclose(alpha[status == VIOLATED], (C * preferences.weight)[status == VIOLATED])
    assert (alpha[status == SATISFIED] == 0).all()
    assert abs(gap(path, preferences, K, C)) <= GAP


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("problem", PROBLEMS)
class TestEveryPoint:
    @given(seed=SEEDS)
    @settings(max_examples=25, deadline=None)
    def test_it_is_optimal(self, problem, kernel, seed):
        K, preferences = problem(seed, kernel)
        path = follow_scores(gram_factor(K), preferences)
        for C in some_C(path, 8, seed):
            assert_optimal(path, preferences, K, C)

    @given(seed=SEEDS)
    @settings(max_examples=10, deadline=None)
    def test_it_is_that_of_the_path_in_pairs(self, problem, kernel, seed):
        K, preferences = problem(seed, kernel)
        path = follow_scores(gram_factor(K), preferences)
        pairs = RankSVMPath(kernel="precomputed", C_max=1e3).fit(K, pairs=preferences)
        for C in some_C(path, 6, seed):
            line = path.beta(path.piece_of(C))
            assert_allclose(K @ (line.constant + C * line.slope), pairs.decision_function(K, C=C), atol=1e-7)

    @given(seed=SEEDS)
    @settings(max_examples=5, deadline=None)
    def test_scores_do_not_jump(self, problem, kernel, seed):
        K, preferences = problem(seed, kernel)
        path = follow_scores(gram_factor(K), preferences)
        for k, C in enumerate(path.breakpoints, start=1):
            if C < 1e3:
                before, after = (K @ (line.constant + C * line.slope) for line in map(path.beta, (k - 1, k)))
                assert_allclose(before, after, atol=MISS)


class TestReading:
    def test_pieces_are_the_same_in_any_order(self):
        K, preferences = two_levels(4, "rbf")
        forwards, backwards = (follow_scores(gram_factor(K), preferences, 100.0) for _ in range(2))
        ahead = [forwards.beta(k) for k in range(len(forwards))]
        for k in reversed(range(len(backwards))):
            assert_allclose(backwards.beta(k).slope, ahead[k].slope, atol=1e-9)

    def test_a_path_ends_at_C_max(self):
        K, preferences = two_levels(4, "rbf")
        whole, part = (follow_scores(gram_factor(K), preferences, C_max) for C_max in (np.inf, 0.5))
        assert (part.hi, whole.hi, part.stopped) == (0.5, np.inf, None)
        assert_allclose(part.breakpoints, whole.breakpoints[whole.breakpoints < 0.5])

    def test_a_path_that_is_stopped_says_why_and_is_right_up_to_there(self):
        K, preferences = two_levels(4, "rbf")
        path = follow_scores(gram_factor(K), preferences, should_stop=lambda C, events: "5" * (events == 5))
        assert (path.stopped, path.events) == ("5", 5)
        for C in np.linspace(path.hi / 9, path.hi, 9):
            assert_optimal(path, preferences, K, C)

    def test_an_interrupt_keeps_what_was_found(self):
        def interrupt(C, events):
            if events == 7:
                raise KeyboardInterrupt

        K, preferences = two_levels(4, "rbf")
        path = follow_scores(gram_factor(K), preferences, should_stop=interrupt)
        assert (path.stopped, path.events) == ("interrupted", 7)
        assert_optimal(path, preferences, K, path.hi)

    def test_the_last_piece_goes_on_for_ever(self):
        K, preferences = two_levels(5, "linear")
        path = follow_scores(gram_factor(K), preferences)
        end = path.breakpoints[-1]
        for C in (2 * end, 1000 * end):
            assert abs(gap(path, preferences, K, C)) <= GAP

    def test_counts_are_those_of_the_statuses(self):
        K, preferences = two_levels(4, "rbf")
        path = follow_scores(gram_factor(K), preferences, 10.0)
        middles = (path.edges[1:] + path.edges[:-1]) / 2
        table = path.counts()[["lower", "between", "upper"]].to_numpy()
        for counts, C in zip(table, middles, strict=True):
            status = path.statuses(C)
            assert counts.tolist() == [(status == kind).sum() for kind in (SATISFIED, MARGIN, VIOLATED)]


class TestLongPaths:
    @needs("mixture")
    def test_all_pairs_of_the_mixture_are_optimal_from_the_first_event_to_the_last_snapshots(self):
        X, y = mixture()
        K, preferences = kernel_matrix(X, kernel="rbf", gamma=1.0), preferences_from_labels(y)
        path = follow_scores(gram_factor(K), preferences, 1.0)
        assert path.events > 20 * len(y)
        for C in some_C(path, 20, most=1.0):
            assert_optimal(path, preferences, K, C)

    @pytest.mark.parametrize("kernel", KERNELS)
    @given(seed=HASTIE_SEEDS)
    @settings(max_examples=15, deadline=None)
    def test_trees_have_the_path_in_lambda(self, kernel, seed):
        K, pairs = random_problem(seed, kernel)
        path, other = (
            follow_scores(gram_factor(K), preferences_from_pairs(pairs, len(K))),
            hastie_path(K, pairs),
        )
        bends, end = other.lambdas[:-1], other.lambdas[-1]
        lambdas = 1 / path.breakpoints
        assert_allclose(lambdas[lambdas > end * (1 + MISS)], bends, rtol=MISS)
        for lambda_ in [*bends, *((bends + np.append(bends[1:], end)) / 2)]:
            assert_allclose(lambda_ * path.x(1 / lambda_), other.alpha_at(lambda_), atol=MISS)

    def test_it_is_the_path_in_lambda(self):
        random = np.random.default_rng(0)
        X = random.normal(size=(14, 14))
        K, preferences = X @ X.T, preferences_from_labels([0] * 13 + [1])
        path = follow_scores(gram_factor(K), preferences)
        other = hastie_path(K, preferences.pairs)
        assert_allclose(1 / path.breakpoints, other.lambdas[:-1], rtol=1e-8)
        for lambda_ in other.lambdas[:-1]:
            assert_allclose(lambda_ * path.x(1 / lambda_), other.alpha_at(lambda_), atol=MISS)


class TestFlows:
    @given(seed=SEEDS)
    @settings(max_examples=20, deadline=None)
    def test_general_flows_find_the_splits_that_sorting_finds(self, seed):
        K, preferences = two_levels(seed, "rbf")
        heavy = preferences_from_pairs(preferences.pairs, len(K), pair_weight=2)
        once, twice = (follow_scores(gram_factor(K), each) for each in (preferences, heavy))
        assert (once.table.is_complete, twice.table.is_complete) == (True, False)
        for C in some_C(twice, 6, seed):
            slow, fast = twice.beta(twice.piece_of(C)), once.beta(once.piece_of(2 * C))
            assert_allclose(
                K @ (slow.constant + C * slow.slope), K @ (fast.constant + 2 * C * fast.slope), atol=1e-7
            )


class TestTies:
    """Ties that are solved at once, by a complementarity problem, give the same path."""

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("problem", PROBLEMS)
    @given(seed=SEEDS)
    @settings(max_examples=4, deadline=None)
    def test_every_point_is_optimal(self, problem, kernel, seed):
        K, preferences = problem(2 * seed + 1, kernel)
        path = follow_scores(gram_factor(K), preferences, patience=0)
        for C in some_C(path, 6, seed):
            assert_optimal(path, preferences, K, C)

    def test_there_are_such_ties(self):
        found = [follow_scores(gram_factor(K), pairs, patience=0).ties for K, pairs in map(twins, range(5))]
        assert min(found) > 0


class TestProof:
    @pytest.mark.parametrize("problem", PROBLEMS)
    @given(seed=SEEDS)
    @settings(max_examples=6, deadline=None)
    def test_all_pieces_are_proved_and_meet_exactly(self, problem, seed):
        K, preferences = problem(2 * seed, "linear")
        K = np.rint(8 * K)
        K = K @ K + 64 * np.eye(len(K))
        path = follow_scores(gram_factor(K), preferences, gram=lambda: K)
        certificate = path.certify()
        assert certificate.is_convex
        for piece, line in zip(certificate.pieces, map(path.beta, self.long_pieces(path)), strict=True):
            assert_allclose(np.array(piece.constant, float), line.constant, atol=MISS)
            assert_allclose(np.array(piece.slope, float), line.slope, atol=MISS)

    @staticmethod
    def long_pieces(path):
        ends = path.edges
        return [
            k
            for k in range(len(path))
            if ends[k + 1] - ends[k] > NO_LENGTH * ends[k + 1] or k + 1 == len(path)
        ]

    def test_wrong_statuses_are_rejected(self):
        K, preferences = two_levels(4, "rbf")
        path = follow_scores(gram_factor(K), preferences)
        for k in range(3, 13):
            C = float(path.edges[k : k + 2].mean())
            statuses = path.statuses(C)
            prove_piece(K, preferences.pairs, preferences.weight, statuses, C)
            wrong = statuses.copy()
            # α on the margin is not unique, so a margin pair may rightly be called violated
            off = np.flatnonzero(wrong != MARGIN)
            wrong[off[k % len(off)]] *= -1
            with pytest.raises(ProofError):
                prove_piece(K, preferences.pairs, preferences.weight, wrong, C)

    def test_a_piece_is_not_optimal_elsewhere(self):
        K, preferences = two_levels(4, "rbf")
        path = follow_scores(gram_factor(K), preferences)
        C = float(path.edges[5:7].mean())
        with pytest.raises(ProofError):
            prove_piece(K, preferences.pairs, preferences.weight, path.statuses(C), 2 * C)

    def test_pieces_that_leave_a_gap_are_rejected(self):
        K, preferences = two_levels(4, "rbf")
        pieces = follow_scores(gram_factor(K), preferences).certify().pieces
        with pytest.raises(ProofError):
            require_cover([*pieces[:3], *pieces[4:]], np.inf)

    @pytest.mark.parametrize("problem", PROBLEMS)
    def test_the_gap_of_a_flow_is_proved_and_small(self, problem):
        K, preferences = problem(6, "rbf")
        path = follow_scores(gram_factor(K), preferences)
        for C in some_C(path, 4, most=10):
            # the product C ω is rounded, so the next smaller number is surely within the limit
            alpha = np.minimum(path.x(C), np.nextafter(C * preferences.weight, 0))
            primal, gap = prove_gap(K, preferences.pairs, preferences.weight, alpha, float(C))
            assert 0 <= gap <= GAP * primal

    def test_dual_variables_beyond_their_limits_prove_nothing(self):
        K, preferences = two_levels(4, "rbf")
        ones = np.ones(len(preferences))
        with pytest.raises(ProofError):
            prove_gap(K, preferences.pairs, preferences.weight, ones, 0.5)


def twins(seed):
    """Return a Gram matrix and all pairs of two levels, every item there twice."""
    K, preferences = two_levels(seed, "rbf")
    n = len(K)
    copies = [np.add(preferences.pairs, (a * n, b * n)) for a in range(2) for b in range(2)]
    return np.tile(K, (2, 2)), preferences_from_pairs(np.concatenate(copies), 2 * n)


@pytest.fixture(scope="module", params=["linear", "rbf", "more features than rows"])
def both(request):
    """The path of a ranking in scores and in pairs, rows for validation and their labels."""
    features = 30 if request.param == "more features than rows" else 4
    kernel = "rbf" if request.param == "rbf" else "linear"
    X, y = gaussian(40, features, seed=1)
    models = [
        RankSVMPath(kernel=kernel, gamma=GAMMA, C_max=20, solver=solver).fit(X[:25], y[:25])
        for solver in ("scores", "pairs")
    ]
    return (*models, X[25:], y[25:])


class TestEstimator:
    def test_scores_of_new_rows_are_the_same(self, both):
        scores, pairs, X, _ = both
        C = [0.01, 0.3, 5, 20]
        assert_allclose(scores.decision_function(X, C=C), pairs.decision_function(X, C=C), atol=1e-7)
        assert_allclose(scores.decision_function(X), pairs.decision_function(X), atol=1e-7)

    def test_the_model_at_one_C_is_the_same(self, both):
        scores, pairs, _, _ = both
        for C in (0.01, 0.3, 5):
            one, other = scores.at(C), pairs.at(C)
            assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)
            assert abs(one.duality_gap_) <= GAP

    def test_selection_is_the_same(self, both):
        scores, pairs, X, y = both
        one, other = scores.select(X, y), pairs.select(X, y)
        C = np.exp(np.random.default_rng(0).uniform(np.log(1e-3), np.log(20), 200))
        assert_allclose(one.at(C), other.at(C))
        assert pytest.approx(pairs.C_, rel=1e-6) == scores.C_

    def test_pair_sets_hold_every_pair_once(self, both):
        scores, _, _, _ = both
        for C in (0.01, 0.3, 5):
            sets = scores.pair_sets(C)
            assert sorted(np.concatenate(sets)) == list(range(len(scores.preferences_)))
            assert (scores.alpha_at(C)[sets.satisfied] == 0).all()

    def test_counts_and_ends_are_read_alike(self, both):
        scores, pairs, _, _ = both
        table = scores.pair_counts()
        assert list(table) == list(pairs.pair_counts())
        assert (table["C_lo"].iloc[0], table["C_hi"].iloc[-1]) == (0, 20) == (0, scores.C_end_)
        assert (table[["satisfied", "margin", "violated"]].sum(axis=1) == len(scores.preferences_)).all()

    def test_a_copy_reads_the_same(self, both):
        scores, _, X, _ = both
        copy = pickle.loads(pickle.dumps(scores))
        assert_allclose(copy.decision_function(X, C=[5, 0.1]), scores.decision_function(X, C=[5, 0.1]))

    def test_pieces_are_proved(self, both):
        assert len(both[0].path_.certify(range(5)).pieces) == 5


class TestChoiceOfSolver:
    def test_many_pairs_are_followed_in_scores_to_the_last_event(self):
        X, y = gaussian(160, 3, seed=0)
        model = RankSVMPath(max_pieces=20).fit(X, y)
        assert (model.solver_, model.path_.stopped) == ("scores", "max_pieces = 20 was reached")
        assert len(model.path_.segments) == 20

    def test_few_pairs_and_other_margins_are_followed_pair_by_pair(self):
        X, y = gaussian(10, 3, seed=0)
        assert RankSVMPath().fit(X, y).solver_ == "pairs"
        X, y = gaussian(160, 3, seed=0)
        assert RankSVMPath(C_max=1e-9).fit(X, y, margin=2).solver_ == "pairs"

    def test_a_path_without_C_max_ends_where_nothing_changes_any_more(self):
        X, y = gaussian(15, 3, seed=0)
        model = RankSVMPath(solver="scores").fit(X, y)
        assert np.isinf(model.path_.hi)
        assert_allclose(model.coef_at(1e3 * model.C_end_), model.coef_at(model.C_end_), rtol=1e-9)

    def test_other_margins_are_refused_by_scores(self):
        X, y = gaussian(10, 3, seed=0)
        with pytest.raises(DataError) as error:
            RankSVMPath(solver="scores").fit(X, y, margin=2)
        assert error.value.argument == "solver"

    def test_a_matrix_that_is_not_semidefinite_is_refused(self):
        K = np.array([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]])
        with pytest.raises(DataError) as error:
            RankSVMPath(solver="scores", kernel="precomputed").fit(K, [1, 2, 3])
        assert error.value.argument == "kernel"

    def test_progress_is_told(self):
        X, y = gaussian(15, 3, seed=0)
        seen = []
        RankSVMPath(solver="scores", C_max=1).fit(X, y, progress=seen.append)
        assert seen[-1].mu > seen[0].mu == 0

    def test_a_time_limit_stops(self):
        X, y = gaussian(15, 3, seed=0)
        with pytest.raises(DataError) as error:
            RankSVMPath(solver="scores", time_limit=1e-9).fit(X, y)
        assert error.value.argument == "time_limit"
