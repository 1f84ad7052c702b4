"""hastie: the path in λ is optimal everywhere, continuous, and says where it cannot go on."""

import ast
import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import lsq_linear
from scipy.spatial.distance import cdist

import ranking.hastie
from ranking import hastie_path
from ranking.errors import DataError, RankingError, SingularActiveSetError
from ranking.hastie import PairGram
from tests.data_folder import DATA, mixture, needs
from tests.refusals import refuses

# What a margin or α may miss.
MISS = 1e-9
SEEDS = st.integers(0, 10**6)
FEATURES = {
    "auto_mpg": ["cylinders", "displacement", "horsepower", "weight", "acceleration", "model_year", "origin"],
    "pima": ["pregnant", "glucose", "pressure", "triceps", "insulin", "mass", "pedigree", "age"],
    "wdbc": None,
}
TARGETS = {"auto_mpg": "mpg", "pima": "diabetes", "wdbc": "target"}


def rbf(X, gamma):
    return np.exp(-gamma * cdist(X, X, "sqeuclidean"))


def random_tree(rng, items):
    """Pairs that join every item to an earlier one, in either direction: P K Pᵀ is nonsingular if K is."""
    pairs = np.array([(i, rng.integers(i)) for i in range(1, items)])
    return np.where(rng.integers(2, size=(items - 1, 1)) == 1, pairs, pairs[:, ::-1])


def random_problem(seed, kernel):
    """Gaussian points in general position with a random tree of pairs."""
    rng = np.random.default_rng(seed)
    items = int(rng.integers(2, 16))
    X = rng.normal(size=(items, items + 1 if kernel == "linear" else 3))
    return (X @ X.T if kernel == "linear" else rbf(X, 0.5)), random_tree(rng, items)


def level_tree(y):
    """Figure 3 of the paper: an upper level joined to one item of the lower, one of the upper to the rest."""
    levels = [np.flatnonzero(y == value) for value in np.unique(y)]
    return np.array(
        [
            pair
            for low, high in pairwise(levels)
            for pair in [*((i, low[0]) for i in high), *((high[0], i) for i in low[1:])]
        ]
    )


def incidence(pairs, items):
    return np.eye(items)[pairs[:, 0]] - np.eye(items)[pairs[:, 1]]


def misses(K, pairs, lambda_, alpha):
    """Return by how much α fails to be optimal, from the conditions of the dual: 0 ≤ α ≤ 1 and margins."""
    better, worse = pairs.T
    f = K @ (np.bincount(better, alpha, len(K)) - np.bincount(worse, alpha, len(K))) / lambda_
    margin = f[better] - f[worse]
    low = np.where(alpha < 1 - MISS, 1 - margin, 0)
    high = np.where(alpha > MISS, margin - 1, 0)
    return max(low.max(), high.max(), -alpha.min(), alpha.max() - 1)


def solution(K, pairs, lambda_):
    """Return α of the dual by bounded least squares: with Q = FᵀF it is min ‖Fα - λF⁻ᵀ1‖, 0 ≤ α ≤ 1."""
    P = incidence(pairs, len(K))
    F = np.linalg.cholesky(P @ K @ P.T).T
    target = np.linalg.solve(F.T, np.full(len(pairs), lambda_))
    return lsq_linear(F, target, (0, 1), method="bvls", tol=1e-14).x


def inner_lambdas(path):
    """All positive breakpoints, and three places inside every piece and one above the first."""
    high, low = path.lambdas[:-1], path.lambdas[1:]
    inside = [low + share * (high - low) for share in (0.01, 0.5, 0.9)]
    places = np.concatenate([path.lambdas, *inside, [2 * path.lambdas[0] + 1]])
    return places[places > 0]


def assert_optimal(path, K, pairs):
    assert max(misses(K, pairs, x, path.alpha_at(x)) for x in inner_lambdas(path)) <= MISS


def read(folder):
    """Standardised features and the target of a data set, without incomplete rows."""
    with (DATA / folder / f"{folder}.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if "" not in row.values()]
    target = TARGETS[folder]
    names = FEATURES[folder] or [name for name in rows[0] if name != target]
    X = np.array([[float(row[name]) for name in names] for row in rows])
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array([float(row[target]) for row in rows])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
class TestRandomProblems:
    @given(seed=SEEDS)
    @settings(max_examples=30)
    def test_every_place_of_the_path_is_optimal(self, kernel, seed):
        K, pairs = random_problem(seed, kernel)
        assert_optimal(hastie_path(K, pairs), K, pairs)

    @given(seed=SEEDS)
    @settings(max_examples=30)
    def test_margins_lie_on_the_side_their_set_says(self, kernel, seed):
        K, pairs = random_problem(seed, kernel)
        path = hastie_path(K, pairs)
        for t, (high, low) in enumerate(pairwise(path.lambdas)):
            middle = (high + low) / 2
            f = path.scores_at(K, middle)
            margin, codes = f[pairs[:, 0]] - f[pairs[:, 1]], path.codes[t]
            assert (margin[codes == 0] > 1).all()
            assert (margin[codes == 1] < 1).all()
            assert_allclose(margin[codes == 2], 1, rtol=0, atol=MISS)
            assert np.array_equal(np.sort(path.active[t]), np.flatnonzero(codes == 2))

    @given(seed=SEEDS, share=st.floats(0.01, 1.2))
    @settings(max_examples=30)
    def test_path_equals_a_solution_by_bounded_least_squares(self, kernel, seed, share):
        K, pairs = random_problem(seed, kernel)
        path = hastie_path(K, pairs)
        lambda_ = share * path.lambdas[0]
        assert_allclose(path.alpha_at(lambda_), solution(K, pairs, lambda_), rtol=0, atol=1e-7)

    @given(seed=SEEDS)
    @settings(max_examples=30)
    def test_breakpoints_fall_strictly_from_the_closed_form_to_zero(self, kernel, seed):
        K, pairs = random_problem(seed, kernel)
        path = hastie_path(K, pairs)
        P = incidence(pairs, len(K))
        assert_allclose(path.lambdas[0], (P @ K @ P.T).sum(axis=1).max(), rtol=1e-12)
        assert (np.diff(path.lambdas) < 0).all()
        assert path.lambdas[-1] == 0
        assert (path.alpha_at(np.nextafter(path.lambdas[0], np.inf)) == 1).all()

    @given(seed=SEEDS)
    @settings(max_examples=30)
    def test_alpha_is_continuous_and_linear_between_breakpoints(self, kernel, seed):
        K, pairs = random_problem(seed, kernel)
        path = hastie_path(K, pairs)
        for high, low in pairwise(path.lambdas):
            ends = [path.alpha_at(x) for x in (high, low)]
            near = [path.alpha_at(x) for x in (high - 1e-13 * (high - low), low + 1e-13 * (high - low))]
            assert_allclose(near, ends, rtol=0, atol=1e-12)
            assert_allclose(path.alpha_at((high + low) / 2), np.mean(ends, axis=0), rtol=0, atol=1e-12)

    @given(seed=SEEDS, share=st.floats(0.0, 1.5))
    @settings(max_examples=20)
    def test_a_path_cut_at_lambda_min_is_the_upper_part_of_the_whole(self, kernel, seed, share):
        K, pairs = random_problem(seed, kernel)
        whole = hastie_path(K, pairs)
        end = share * whole.lambdas[0]
        part = hastie_path(K, pairs, lambda_min=end)
        assert part.lambdas[-1] == end
        assert np.array_equal(part.lambdas[:-1], whole.lambdas[whole.lambdas > end])
        assert_allclose(part.alpha_at(end), whole.alpha_at(end), rtol=0, atol=1e-12)


class TestTies:
    @given(seed=SEEDS)
    @settings(max_examples=60)
    def test_equal_items_in_a_random_tree_tie_and_the_path_is_optimal(self, seed):
        rng = np.random.default_rng(seed)
        items = int(rng.integers(2, 14))
        pairs, K = random_tree(rng, items), np.eye(items)
        path = hastie_path(K, pairs)
        assert_optimal(path, K, pairs)
        assert_allclose(path.alpha_at(0.7), solution(K, pairs, 0.7), rtol=0, atol=1e-9)

    @given(seed=SEEDS)
    @settings(max_examples=30)
    def test_integer_features_tie_and_the_path_is_optimal(self, seed):
        rng = np.random.default_rng(seed)
        X = rng.integers(-1, 2, size=(8, 3))
        pairs, K = random_tree(rng, 8), (X @ X.T + np.eye(8))
        assert_optimal(hastie_path(K, pairs), K, pairs)

    def test_all_pairs_of_a_star_enter_at_the_first_breakpoint(self):
        path = hastie_path(np.eye(5), [(0, i) for i in range(1, 5)])
        assert [(event.lambda_, event.kind, event.pair) for event in path.events] == [
            (5.0, "1->alpha", pair) for pair in range(4)
        ]


class TestByHand:
    # Q = [[1, ½], [½, 3/10]]: pair 0 is alone on the margin, α₀ = λ - ½, until it leaves at λ = ½; pair 1 has
    # the margin (3/10)/λ then, and enters at λ = 3/10.
    K = np.array([[1, 0, 0.5, 0], [0, 0, 0, 0], [0.5, 0, 0.3, 0], [0, 0, 0, 0]])
    pairs = np.array([(0, 1), (2, 3)])

    def test_path_starts_again_when_no_pair_is_on_the_margin(self):
        path = hastie_path(self.K, self.pairs)
        assert_allclose(path.lambdas, [1.5, 0.5, 0.3, 0], atol=1e-15)
        assert [event.kind for event in path.events] == ["1->alpha", "alpha->0", "1->alpha"]
        assert_allclose(path.alphas, [[1, 1], [0, 1], [0, 1], [0, 0]], atol=1e-15)
        assert path.codes.tolist() == [[2, 1], [0, 1], [0, 2], [0, 2]]

    def test_scores_are_the_kernel_combination_over_lambda(self):
        path = hastie_path(self.K, self.pairs)
        # At λ = 1 it is α = (½, 1) and β = Pᵀα = (½, -½, 1, -1).
        assert_allclose(path.scores_at(self.K, 1.0), self.K @ [0.5, -0.5, 1, -1], atol=1e-15)

    def test_contradicting_pairs_stay_violated_down_to_zero(self):
        path = hastie_path(np.eye(2), [(0, 1), (1, 0)])
        assert path.lambdas.tolist() == [0]
        assert path.alpha_at(1e-6).tolist() == [1, 1]

    def test_a_pair_of_equal_items_stays_violated_down_to_zero(self):
        K = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])
        path = hastie_path(K, [(0, 1), (0, 2)])
        assert path.lambdas.tolist() == [2, 0]
        assert_allclose(path.alpha_at(0.5), [1, 0.25], atol=1e-15)

    def test_more_pairs_than_rank_are_traced_to_zero_if_their_margins_do_not_tie(self):
        rng = np.random.default_rng(3)
        X, pairs = rng.normal(size=(20, 2)), random_tree(rng, 20)
        path = hastie_path(X @ X.T, pairs)
        assert max(map(len, path.active)) <= 2
        assert path.lambdas[-1] == 0
        assert_optimal(path, X @ X.T, pairs)


class TestWhatCannotBeTraced:
    def test_duplicate_pairs_raise_at_the_lambda_where_both_are_on_the_margin(self):
        with refuses(SingularActiveSetError, "pairs", expected="4") as caught:
            hastie_path(np.eye(4), [(0, 1), (2, 3), (0, 1)])
        assert caught.value.lambda_ == 4

    def test_duplicate_items_raise_at_the_lambda_where_their_pairs_meet_the_margin(self):
        X = np.array([[0.0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0]])
        pairs = np.array([(0, 2), (1, 2), (3, 0)])
        with pytest.raises(SingularActiveSetError) as caught:
            hastie_path(X @ X.T, pairs)
        # Q1 = (3, 3, 0): both meet the margin at the start.
        assert caught.value.lambda_ == 3

    def test_a_cycle_of_four_pairs_raises_when_three_of_them_are_on_the_margin(self):
        # Q1 = (4, 4, 4, 4), and pair 3 is pair 1 plus pair 2 less pair 0.
        with refuses(SingularActiveSetError, "pairs", expected="4") as caught:
            hastie_path(np.eye(4), [(0, 2), (0, 3), (1, 2), (1, 3)])
        assert caught.value.lambda_ == 4

    @given(seed=SEEDS)
    @settings(max_examples=30)
    def test_with_all_pairs_of_two_classes_the_path_is_optimal_as_far_as_it_goes(self, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10, int(rng.integers(1, 12))))
        K, pairs = X @ X.T, np.array([(i, j) for i in range(5) for j in range(5, 10)])
        try:
            path = hastie_path(K, pairs)
        except SingularActiveSetError as error:
            path = hastie_path(K, pairs, lambda_min=error.lambda_)
        assert_optimal(path, K, pairs)

    @given(seed=SEEDS)
    @settings(max_examples=30)
    def test_a_kernel_singular_in_float64_is_traced_with_optimal_breakpoints_or_refused(self, seed):
        rng = np.random.default_rng(seed)
        X, pairs = rng.normal(size=(25, 2)), random_tree(rng, 25)
        K = rbf(X, 0.05)
        try:
            path = hastie_path(K, pairs)
        except SingularActiveSetError as error:
            path = hastie_path(K, pairs, lambda_min=error.lambda_)
        # Twice, because the margins are summed up in another order here.
        assert max(misses(K, pairs, x, path.alpha_at(x)) for x in path.lambdas[:-1]) <= 2 * MISS

    def test_too_many_events_raise(self):
        K, pairs = random_problem(8, "rbf")
        with refuses(RankingError, "max_events"):
            hastie_path(K, pairs, max_events=1)

    def test_as_many_events_as_there_are_suffice(self):
        K, pairs = random_problem(8, "rbf")
        events = hastie_path(K, pairs).events
        assert len(hastie_path(K, pairs, max_events=len(events)).events) == len(events)

    def test_sets_that_come_back_at_the_same_lambda_raise(self):
        state = ranking.hastie._start(PairGram.of(np.eye(2), [(0, 1)]), 0.0)
        seen = set()
        ranking.hastie._require_new(state, seen, 0)
        with refuses(SingularActiveSetError, "pairs", expected="2"):
            ranking.hastie._require_new(state, seen, 0)

    @pytest.mark.parametrize(
        ("alpha", "wrong"),
        [(0.4, {"argument": "pairs", "expected": "2"}), (1.1, {"argument": "pairs", "expected": "2"})],
    )
    def test_a_state_that_drifted_is_not_handed_out(self, alpha, wrong):
        gram = PairGram.of(np.eye(2), [(0, 1)])
        state, _ = ranking.hastie._changed(gram, ranking.hastie._start(gram, 0.0), 0)
        drifted = np.array([alpha])
        with refuses(SingularActiveSetError, **wrong):
            ranking.hastie._require_optimal(
                state,
                replace(state, alpha=drifted, lambda_=1.0 if alpha < 1 else 2.2, g=gram.product(drifted)),
                MISS,
            )

    @pytest.mark.parametrize(
        ("wrong", "error"),
        [
            ({"lambda_min": -1}, {"argument": "lambda_min", "found": "-1"}),
            ({"lambda_min": np.nan}, {"argument": "lambda_min", "found": "nan"}),
            ({"max_events": 0}, {"argument": "max_events", "found": "0"}),
        ],
    )
    def test_limits_that_make_no_sense_are_named(self, wrong, error):
        with refuses(DataError, **error):
            hastie_path(np.eye(2), [(0, 1)], **wrong)


class TestRecord:
    path = hastie_path(np.eye(3), [(0, 1), (0, 2)], lambda_min=0.5)

    @pytest.mark.parametrize("lambda_", [0.4, -1, np.nan])
    def test_a_lambda_below_the_end_is_refused(self, lambda_):
        with refuses(DataError, "lambda_", expected="at least 0.5, where the path ends"):
            self.path.alpha_at(lambda_)

    def test_scores_at_zero_are_refused(self):
        with refuses(DataError, "lambda_", found=0):
            hastie_path(np.eye(3), [(0, 1), (0, 2)]).scores_at(np.eye(3), 0)

    def test_kernel_rows_of_another_width_are_refused(self):
        with refuses(DataError, "K_test_rows", found="shape (2, 2)"):
            self.path.scores_at(np.eye(2), 1.0)

    def test_arrays_are_read_only(self):
        assert not any(a.flags.writeable for a in (self.path.lambdas, self.path.pairs, *self.path.active))

    def test_arguments_are_left_alone(self):
        K, pairs = random_problem(1, "rbf")
        before = K.copy(), pairs.copy()
        hastie_path(K, pairs)
        assert np.array_equal(K, before[0])
        assert np.array_equal(pairs, before[1])
        pairs[0] = K[0] = 0


@pytest.mark.parametrize("change", [1e-6, -1e-6])
def test_the_conditions_reject_a_solution_that_is_slightly_wrong(change):
    K, pairs = random_problem(5, "linear")
    path = hastie_path(K, pairs)
    alpha = path.alpha_at(path.lambdas[0] / 3)
    alpha[np.argmax(path.codes_below(0) == 2)] += change
    assert misses(K, pairs, path.lambdas[0] / 3, alpha) > MISS


def test_nothing_of_pqp_is_imported():
    tree = ast.parse(Path(ranking.hastie.__file__).read_text(encoding="utf-8"))
    names = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
    names |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert {name for name in names if name.startswith(("pqp", "ranking"))} <= {"ranking.errors"}


@needs("mixture")
def test_path_of_the_mixture_with_199_pairs_is_optimal_down_to_zero():
    X, y = mixture()
    K, pairs = rbf(X, 1.0), level_tree(y)
    assert len(pairs) == 199  # Zapien et al. (2009), Table 1
    path = hastie_path(K, pairs)
    assert path.lambdas[-1] == 0
    assert_optimal(path, K, pairs)


@pytest.mark.parametrize("gamma", [None, 1.0], ids=["gamma 1/features", "gamma 1"])
@pytest.mark.parametrize(
    ("folder", "count"),
    [pytest.param("pima", 767, marks=needs("pima")), pytest.param("wdbc", 568, marks=needs("wdbc"))],
)
def test_paths_of_two_levels_are_optimal_down_to_zero(folder, count, gamma):
    X, y = read(folder)
    K, pairs = rbf(X, gamma or 1 / X.shape[1]), level_tree(y)
    assert len(pairs) == count  # Zapien et al. (2009), Table 1
    path = hastie_path(K, pairs)
    assert path.lambdas[-1] == 0
    steps = path.lambdas[:-1]
    assert max(misses(K, pairs, x, path.alpha_at(x)) for x in steps[::10]) <= MISS


@needs("auto_mpg")
@pytest.mark.parametrize("gamma", [1 / 7, 1.0])
def test_many_levels_of_the_auto_data_raise_where_the_incidence_itself_is_dependent(gamma):
    """Over three levels Figure 3 of the paper has cycles: r₃x + xr₁ = r₃r₂ + r₂r₁, and their margins tie."""
    X, y = read("auto_mpg")
    K, pairs = rbf(X, gamma), level_tree(y)
    assert len(pairs) == 656  # Zapien et al. (2009), Table 1
    with refuses(SingularActiveSetError, "pairs") as caught:
        hastie_path(K, pairs)
    path = hastie_path(K, pairs, lambda_min=caught.value.lambda_)
    f = path.scores_at(K, caught.value.lambda_)
    on_margin = np.abs(f[pairs[:, 0]] - f[pairs[:, 1]] - 1) <= MISS
    P = incidence(pairs, len(K))[on_margin]
    assert np.linalg.matrix_rank(P) < len(P)
    assert_optimal(path, K, pairs)
