"""metrics: every number against its definition written out, and against independent programs."""

import math
from itertools import combinations, pairwise, permutations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import average_precision_score, ndcg_score

from ranking.core.validation import as_symmetric, as_vector, item_pairs
from ranking.errors import DataError
from ranking.metrics import (
    average_precision,
    kendall_tau,
    mean_average_precision,
    mean_ndcg,
    metric_table,
    ndcg,
    pairwise_accuracy,
    per_query,
    spearman,
)
from ranking.metrics.rankings import count_pairs, ndcg_curve
from tests.data_folder import DATA, needs
from tests.refusals import refuses
from tests.strategies import QUICK

LEVELS = st.integers(0, 4)
SCORES = st.sampled_from((-1.0, 0.0, 0.25, 0.5, 2.0, 1e300))
ITEMS = st.lists(st.tuples(LEVELS, SCORES, st.sampled_from("abc")), min_size=2, max_size=14)


def columns(items):
    y, scores, qid = (list(column) for column in zip(*items, strict=True))
    return y, scores, qid


def listed_pairs(y, qid):
    """All (i, j) with y_i > y_j in one query, written out."""
    n = len(y)
    return [(i, j) for i in range(n) for j in range(n) if qid[i] == qid[j] and y[i] > y[j]]


def textbook_ndcg(y, order, m, d):
    """NDCG@m of one order, as the paper writes it, in exact powers of two."""
    ideal = sorted(y, reverse=True)
    gained = sum((2 ** y[order[i]] - 1) * d(i + 1) for i in range(m))
    return gained / sum((2 ** ideal[i] - 1) * d(i + 1) for i in range(m))


def letor(i):
    return 1 / math.log2(max(2, i))


class TestPairwiseAccuracy:
    @QUICK
    @given(items=ITEMS)
    def test_pooled_share_is_that_of_the_listed_pairs(self, items):
        y, scores, qid = columns(items)
        pairs = listed_pairs(y, qid)
        if not pairs:
            with refuses(DataError, "y"):
                pairwise_accuracy(y, scores, qid, average="pairs")
            return
        right = sum(scores[i] > scores[j] for i, j in pairs)
        tied = sum(scores[i] == scores[j] for i, j in pairs)
        strict = pairwise_accuracy(y, scores, qid, average="pairs", ties="wrong")
        half = pairwise_accuracy(y, scores, qid, average="pairs")
        assert strict == right / len(pairs)
        assert half == (right + tied / 2) / len(pairs)

    @QUICK
    @given(items=ITEMS)
    def test_counts_are_those_of_the_listed_pairs(self, items):
        y, scores, _ = (np.array(column) for column in columns(items))
        pairs = listed_pairs(y, np.zeros(len(y)))
        right = sum(scores[i] > scores[j] for i, j in pairs)
        tied = sum(scores[i] == scores[j] for i, j in pairs)
        assert count_pairs(y, scores) == (right, tied, len(pairs))

    def test_queries_weigh_the_same_however_long_they_are(self):
        y, qid = [1, 0, 2, 1, 0], ["short"] * 2 + ["long"] * 3
        scores = [0.0, 1.0, 3.0, 2.0, 1.0]
        assert pairwise_accuracy(y, scores, qid) == 0.5
        assert pairwise_accuracy(y, scores, qid, average="pairs") == 0.75

    def test_reversed_scores_turn_the_share_round(self):
        rng = np.random.default_rng(0)
        y, scores, qid = rng.integers(0, 3, 60), rng.integers(0, 5, 60), rng.integers(0, 6, 60)
        there, back = pairwise_accuracy(y, scores, qid), pairwise_accuracy(y, -scores, qid)
        assert there + back == pytest.approx(1, abs=1e-15)

    def test_a_million_items_need_no_list_of_pairs(self):
        n = 1_000_000
        y = np.arange(n)
        scores = np.where(y % 2, y, y + 2)  # every odd item falls behind exactly one even item below it
        assert count_pairs(y, scores.astype(float)).right == n * (n - 1) // 2 - n // 2

    @pytest.mark.parametrize(("option", "value"), [("average", "items"), ("ties", "right")])
    def test_an_unknown_option_is_named(self, option, value):
        with refuses(DataError, option, found=repr(value)):
            pairwise_accuracy([1, 0], [1, 0], **{option: value})


class TestNdcg:
    @QUICK
    @given(items=st.lists(st.tuples(LEVELS, st.integers(0, 2)), min_size=2, max_size=5))
    def test_it_is_the_mean_of_the_definition_over_all_orders_of_equal_scores(self, items):
        y, scores = (list(column) for column in zip(*items, strict=True))
        if len(set(y)) == 1:
            return
        n = len(y)
        orders = [
            order
            for order in permutations(range(n))
            if all(scores[a] >= scores[b] for a, b in pairwise(order))
        ]
        at = [np.mean([textbook_ndcg(y, order, m, letor) for order in orders]) for m in range(1, n + 1)]
        assert [ndcg(y, scores, k=m) for m in range(1, n + 1)] == pytest.approx(at, rel=1e-12)
        assert mean_ndcg(y, scores) == pytest.approx(np.mean(at), rel=1e-12)

    @QUICK
    @given(items=ITEMS, k=st.integers(1, 20))
    def test_the_standard_discount_is_that_of_scikit_learn(self, items, k):
        y, scores, _ = columns(items)
        if len(set(y)) == 1:
            return
        gains = [[2**label - 1 for label in y]]
        assert ndcg(y, scores, k=k, discount="standard") == pytest.approx(ndcg_score(gains, [scores], k=k))

    def test_the_ideal_order_has_1_and_no_order_has_more(self):
        y = [0, 1, 2, 1]
        values = [mean_ndcg(y, scores) for scores in permutations([1.0, 2.0, 3.0, 4.0])]
        assert max(values) == mean_ndcg(y, y) == 1
        assert min(values) > 0

    def test_labels_like_years_do_not_overflow(self):
        """2^2020 is beyond float64; adding t to all labels tends to the limit of ratios 2^(y_i − y_j)."""
        years, scores = [2018.0, 2020.0, 2019.0], [3.0, 2.0, 1.0]
        limit = (0.25 + 1 + 0.5 * letor(3)) / (1 + 0.5 + 0.25 * letor(3))
        assert ndcg(years, scores) == pytest.approx(limit, rel=1e-15)

    def test_labels_beyond_every_power_of_two_have_a_finite_ndcg(self):
        """The most relevant item outweighs all others: NDCG is its discount, here that of position 3."""
        assert ndcg([1e300, 1e200, 0.0], [1.0, 2.0, 3.0]) == pytest.approx(letor(3), rel=1e-15)

    def test_small_labels_keep_their_ratios(self):
        """2^y − 1 = y ln 2 to first order, which 2^y − 1 computed as written would lose."""
        y, scores = [1e-12, 3e-12], [2.0, 1.0]
        assert ndcg(y, scores, k=1) == pytest.approx(1 / 3, rel=1e-10)

    def test_a_query_without_a_pair_is_left_out_unless_all_are_asked_for(self):
        y, scores, qid = [1, 0, 0, 0, 1, 1], [1, 2, 1, 2, 1, 2], [1, 1, 2, 2, 3, 3]
        assert per_query("ndcg", y, scores, qid, k=1).isna().tolist() == [False, True, True]
        assert ndcg(y, scores, qid, k=1) == 0
        assert ndcg(y, scores, qid, k=1, queries="all") == pytest.approx(1 / 3)

    def test_negative_labels_are_refused(self):
        with refuses(DataError, "y", found="-1"):
            ndcg([-1, 1], [0, 1])

    @pytest.mark.parametrize("k", [0, -1, 2.5, True])
    def test_a_cutoff_that_is_no_count_is_refused(self, k):
        with refuses(DataError, "k", expected="a whole number of at least 1, or None for the whole list"):
            ndcg([0, 1], [0, 1], k=k)

    @pytest.mark.parametrize(("option", "value"), [("discount", "log"), ("queries", "some")])
    def test_an_unknown_option_is_named(self, option, value):
        with refuses(DataError, option, found=repr(value)):
            mean_ndcg([1, 0], [1, 0], **{option: value})


class TestCorrelations:
    @QUICK
    @given(items=st.lists(st.tuples(LEVELS, st.integers(-2, 2)), min_size=2, max_size=12))
    def test_kendall_is_tau_b_written_out(self, items):
        y, scores = (list(column) for column in zip(*items, strict=True))
        if len(set(y)) == 1:
            return
        signs = [
            (np.sign(y[a] - y[b]), np.sign(scores[a] - scores[b])) for a, b in combinations(range(len(y)), 2)
        ]
        unequal = sum(u != 0 for u, _ in signs) * sum(v != 0 for _, v in signs)
        expected = sum(u * v for u, v in signs) / math.sqrt(unequal) if unequal else 0
        assert kendall_tau(y, scores) == pytest.approx(expected, abs=1e-12)

    def test_spearman_is_one_less_six_squared_rank_differences(self):
        y, scores = np.array([3, 1, 4, 5, 9, 2]), np.array([2.0, 7.0, 1.0, 8.0, 2.5, 3.0])
        differences = scipy.stats.rankdata(y) - scipy.stats.rankdata(scores)
        assert spearman(y, scores) == pytest.approx(1 - 6 * (differences**2).sum() / (6 * 35), rel=1e-12)

    @pytest.mark.parametrize(("metric", "reference"), [(kendall_tau, "kendalltau"), (spearman, "spearmanr")])
    def test_means_over_queries_are_those_of_scipy(self, metric, reference):
        rng = np.random.default_rng(1)
        y, scores, qid = rng.integers(0, 5, 200), rng.integers(0, 9, 200), rng.integers(0, 8, 200)
        of = getattr(scipy.stats, reference)
        expected = np.mean([of(y[qid == q], scores[qid == q]).statistic for q in range(8)])
        assert metric(y, scores, qid) == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("metric", [kendall_tau, spearman])
    def test_scores_that_express_no_order_count_0(self, metric):
        assert metric([0, 1, 2, 0, 1], [5, 5, 5, 1, 2], [1, 1, 1, 2, 2]) == pytest.approx(0.5, rel=1e-15)


class TestAveragePrecision:
    @QUICK
    @given(items=ITEMS)
    def test_it_is_the_mean_precision_at_the_relevant_items(self, items):
        y, scores, _ = columns(items)
        relevant = [i for i, label in enumerate(y) if label > 1]
        if len(relevant) in (0, len(y)):
            with refuses(DataError, "y", found="the only query"):
                average_precision(y, scores, threshold=1)
            return
        above = [[k for k in range(len(y)) if scores[k] >= scores[i]] for i in relevant]
        expected = np.mean([sum(y[k] > 1 for k in those) / len(those) for those in above])
        assert average_precision(y, scores, threshold=1) == pytest.approx(expected, rel=1e-12)

    def test_means_over_queries_are_those_of_scikit_learn(self):
        rng = np.random.default_rng(2)
        y, scores, qid = rng.integers(0, 3, 90), rng.normal(size=90), np.repeat(np.arange(6), 15)
        parts = [average_precision_score(y[qid == q] > 0, scores[qid == q]) for q in range(6)]
        assert mean_average_precision(y, scores, qid) == pytest.approx(np.mean(parts), rel=1e-12)

    def test_over_all_queries_none_relevant_counts_0_and_all_relevant_1(self):
        y, scores, qid = [1, 0, 0, 0, 1, 1], [2, 1, 1, 2, 1, 2], [1, 1, 2, 2, 3, 3]
        assert mean_average_precision(y, scores, qid) == 1
        assert mean_average_precision(y, scores, qid, queries="all") == pytest.approx(2 / 3)


class TestAgainstTrecEval:
    """pytrec_eval is NIST's trec_eval, a program in C that shares nothing with this one."""

    @pytest.fixture
    def results(self):
        pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")
        rng = np.random.default_rng(3)
        y, qid = rng.integers(0, 4, 400), np.repeat(np.arange(20), 20)
        scores = np.concatenate([rng.permutation(20) for _ in range(20)]).astype(float)
        rows = [
            (str(q), f"d{i}", int(2**label - 1), score)
            for i, (q, label, score) in enumerate(zip(qid, y, scores, strict=True))
        ]
        gains: dict = {}
        run: dict = {}
        for q, item, gain, score in rows:
            gains.setdefault(q, {})[item] = gain
            run.setdefault(q, {})[item] = float(score)
        measures = pytrec_eval.RelevanceEvaluator(gains, {"map", "ndcg", "ndcg_cut_5"}).evaluate(run)
        table = pd.DataFrame(measures).T
        table.index = table.index.astype(int)
        return y, scores, qid, table

    def test_map_and_ndcg_of_every_query_agree(self, results):
        y, scores, qid, table = results
        standard = {"discount": "standard"}
        pd.testing.assert_series_equal(
            per_query("average_precision", y, scores, qid), table["map"], check_names=False
        )
        pd.testing.assert_series_equal(
            per_query("ndcg", y, scores, qid, **standard), table["ndcg"], check_names=False
        )
        pd.testing.assert_series_equal(
            per_query("ndcg", y, scores, qid, k=5, **standard), table["ndcg_cut_5"], check_names=False
        )


@needs("mq2008_fold1")
class TestOnLetor:
    def read(self, part):
        file = DATA / "mq2008_fold1" / f"{part}.svm.gz"
        features, y, qid = load_svmlight_file(str(file), query_id=True)
        return y, features[:, 24].toarray().ravel(), qid

    def test_the_pairs_are_as_many_as_published(self):
        """MQ2008, first fold, training part: 471 queries and 52 325 pairs (Kuo et al. 2014, Table 1)."""
        y, scores, qid = self.read("train")
        pairs = sum(count_pairs(y[qid == q], scores[qid == q]).pairs for q in np.unique(qid))
        assert (len(np.unique(qid)), pairs) == (471, 52325)

    def test_mean_ndcg_over_all_queries_is_that_of_the_letor_program(self):
        """Its rules: 0/0 is 0, every query counts, items of equal score stay in file order."""
        y, scores, qid = self.read("test")
        scores = scores + 1e-9 * np.arange(len(y))[::-1] / len(y)  # ties in file order
        values = []
        for q in pd.unique(qid):
            labels, order = y[qid == q].astype(int).tolist(), np.argsort(-scores[qid == q], kind="stable")
            at = [
                textbook_ndcg(labels, order, m, letor) if any(labels) else 0
                for m in range(1, len(labels) + 1)
            ]
            values.append(np.mean(at))
        assert mean_ndcg(y, scores, qid, queries="all") == pytest.approx(np.mean(values), rel=1e-12)


class TestTables:
    Y, SCORES, QID = [2, 1, 0, 1, 0, 1, 1], [3.0, 1.0, 2.0, 0.0, 1.0, 5.0, 4.0], list("aaabbcc")

    def test_the_table_holds_the_metrics_and_their_definitions(self):
        table = metric_table(self.Y, self.SCORES, self.QID, k=2).set_index("metric")
        assert table.value["pairwise_accuracy"] == pairwise_accuracy(self.Y, self.SCORES, self.QID)
        assert table.value["ndcg@2"] == ndcg(self.Y, self.SCORES, self.QID, k=2)
        assert table.value["mean_ndcg"] == mean_ndcg(self.Y, self.SCORES, self.QID)
        assert table.value["kendall_tau"] == kendall_tau(self.Y, self.SCORES, self.QID)
        assert table.value["spearman"] == spearman(self.Y, self.SCORES, self.QID)
        assert table.value["average_precision"] == mean_average_precision(self.Y, self.SCORES, self.QID)
        assert (table.queries == 2).all()
        assert "y_i > y_j" in table.definition["pairwise_accuracy"]
        assert all(text.endswith(".") for text in table.definition)

    def test_the_standard_error_is_that_of_the_mean_over_queries(self):
        values = per_query("pairwise_accuracy", self.Y, self.SCORES, self.QID).dropna()
        table = metric_table(self.Y, self.SCORES, self.QID).set_index("metric")
        expected = np.std(values, ddof=1) / np.sqrt(2)
        assert table.standard_error["pairwise_accuracy"] == pytest.approx(expected, rel=1e-12)

    def test_one_query_has_no_standard_error(self):
        assert metric_table([0, 1], [0, 1]).standard_error.isna().all()

    def test_a_metric_that_the_labels_do_not_allow_says_why(self):
        table = metric_table([-1, 1], [0, 1]).set_index("metric")
        assert table.value[["ndcg@10", "mean_ndcg"]].isna().all()
        assert "Undefined here: y holds -1" in table.definition["mean_ndcg"]
        assert table.value["pairwise_accuracy"] == 1

    def test_a_threshold_decides_what_is_relevant(self):
        table = metric_table([1, 2, 3], [3, 1, 2], threshold=2).set_index("metric")
        assert table.value["average_precision"] == 0.5

    def test_queries_come_in_order_of_first_appearance(self):
        series = per_query("kendall_tau", [0, 1, 1, 0], [1, 2, 3, 4], ["z", "a", "z", "a"])
        assert series.to_dict() == {"z": 1.0, "a": -1.0}
        assert list(series.index) == ["z", "a"]

    def test_an_unknown_metric_is_named(self):
        with refuses(DataError, "metric", found="'auc'"):
            per_query("auc", [0, 1], [0, 1])

    @settings(QUICK, max_examples=15)
    @given(items=ITEMS, seed=st.integers(0, 99))
    def test_no_metric_depends_on_the_order_of_the_items(self, items, seed):
        y, scores, qid = (np.array(column) for column in columns(items))
        if not listed_pairs(y, qid):
            return
        shuffled = np.random.default_rng(seed).permutation(len(y))
        there = metric_table(y, scores, qid)
        back = metric_table(y[shuffled], scores[shuffled], qid[shuffled])
        pd.testing.assert_frame_equal(there, back)


METRICS = [pairwise_accuracy, ndcg, mean_ndcg, kendall_tau, spearman, mean_average_precision, metric_table]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
class TestBadInput:
    def test_a_missing_label_is_named(self, metric):
        with refuses(DataError, "y[1]"):
            metric([0, np.nan], [0, 1])

    def test_an_infinite_score_is_named(self, metric):
        with refuses(DataError, "scores[0]", found="inf"):
            metric([0, 1], [np.inf, 1])

    def test_lengths_must_match(self, metric):
        with refuses(DataError, "scores", found=2):
            metric([0, 1, 2], [0, 1])
        with refuses(DataError, "qid", found="shape (3,)"):
            metric([0, 1], [0, 1], [1, 1, 1])

    def test_nothing_to_rank_is_refused(self, metric):
        with refuses(DataError, "y"):
            metric([], [])

    def test_an_item_without_a_query_is_named(self, metric):
        with refuses(DataError, "qid[1]"):
            metric([0, 1], [0, 1], ["a", None])

    @pytest.mark.parametrize(
        "y", [["a", "b"], [1j, 0], [None, 1], [[0, 1]], np.array(["2020"], dtype="M8[Y]")]
    )
    def test_labels_that_are_no_vector_of_real_numbers_are_refused(self, metric, y):
        with refuses(DataError, "y"):
            metric(y, [0, 1])


@pytest.mark.parametrize("metric", METRICS[:-1], ids=lambda metric: metric.__name__)
def test_without_a_pair_there_is_nothing_to_measure(metric):
    with refuses(DataError, "y", found="each of the 2 queries"):
        metric([1, 1, 0, 0], [1, 2, 3, 4], [1, 1, 2, 2])


def test_query_numbers_may_be_strings_numbers_or_a_series():
    y, scores = [1, 0, 0, 1], [2, 1, 1, 0]
    for qid in (
        ["a", "a", "b", "b"],
        [7, 7, 9, 9],
        pd.Series([7, 7, 9, 9], index=list("wxyz")),
        np.array([1.5, 1.5, 2, 2]),
    ):
        assert pairwise_accuracy(y, scores, qid) == 0.5


def test_queries_that_numpy_takes_for_one_are_two():
    y, scores, qid = [1, 0, 1, 0, 0], [2, 1, 0, 1, 1], [1, 1, "1", "1", "1"]
    assert pairwise_accuracy(y, scores, qid) == 0.5


def test_a_table_of_query_numbers_is_refused():
    with refuses(DataError, "qid", found="[[1], [1]]"):
        pairwise_accuracy([0, 1], [0, 1], [[1], [1]])


def test_arguments_are_left_as_they_are():
    y, scores, qid = np.array([2, 0, 1]), np.array([0.1, 0.5, 0.3]), np.array([1, 1, 1])
    kept = [array.copy() for array in (y, scores, qid)]
    metric_table(y, scores, qid)
    assert all((array == copy).all() for array, copy in zip((y, scores, qid), kept, strict=True))


class TestArrays:
    def test_whole_numbers_that_float64_would_round_are_refused(self):
        with refuses(DataError, "y", found="whole numbers beyond 2^53"):
            as_vector([2**60, 2**60 + 1], "y")

    def test_masked_entries_are_refused(self):
        with refuses(DataError, "y[0]"):
            as_vector(np.ma.array([1.0, 2.0], mask=[True, False]), "y")

    def test_ragged_lists_are_refused(self):
        with refuses(DataError, "y", found="entries of different lengths"):
            as_vector([[1, 2], [3]], "y")

    def test_the_worst_asymmetry_is_named(self):
        with refuses(DataError, "K", found="K[0, 1] = 2.0 and K[1, 0] = 1.0"):
            as_symmetric([[1, 2], [1, 1]])

    @pytest.mark.parametrize(
        ("pairs", "wrong"),
        [
            ([(0, 3)], {"argument": "pairs[0]", "found": "(0, 3)"}),
            ([(1, 0), (-1, 0)], {"argument": "pairs[1]", "found": "(-1, 0)"}),
            ([(1, 1)], {"argument": "pairs[0]", "found": "(1, 1)"}),
            ([(0.0, 1.0)], {"argument": "pairs", "found": "dtype float64"}),
            ([], {"argument": "pairs"}),
            ([(0, 1, 2)], {"argument": "pairs", "found": "shape (1, 3)"}),
        ],
    )
    def test_pairs_that_make_no_sense_are_refused(self, pairs, wrong):
        with refuses(DataError, **wrong):
            item_pairs(pairs, 3)


def test_the_curve_of_a_query_without_relevant_items_is_0():
    assert ndcg_curve(np.zeros(3), np.arange(3.0)).tolist() == [0, 0, 0]
