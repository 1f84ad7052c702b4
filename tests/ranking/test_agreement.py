"""agreement, level_metrics, jackknife: metrics of levels against their definitions and other programs."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn import metrics as reference

from ranking import metrics
from ranking.errors import DataError
from ranking.metrics.levels import LEVEL_METRICS, confusion_table, table_errors, weighted_errors
from tests.refusals import refuses
from tests.systems import FEW

OBJECTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=14
)
ALL = range(4)


def of_scikit_learn(name, y, predicted, weight=None):
    """The metric of another program, NaN where that has none."""
    y, predicted = np.array(y), np.array(predicted)
    weights = {"sample_weight": weight}
    if name == "mean_absolute_error":
        return reference.mean_absolute_error(y, predicted, **weights)
    if name == "accuracy":
        return reference.accuracy_score(y, predicted, **weights)
    if name == "off_by_one_accuracy":
        near = np.where(np.abs(y - predicted) <= 1, y, predicted)
        return reference.accuracy_score(y, near, **weights)
    if name == "macro_mean_absolute_error":
        weight = np.ones(len(y)) if weight is None else np.array(weight)
        rows = [np.flatnonzero((y == k) & (weight > 0)) for k in ALL]
        of = reference.mean_absolute_error
        return np.mean([of(y[r], predicted[r], sample_weight=weight[r]) for r in rows if len(r)])
    if name == "quadratic_weighted_kappa":
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.simplefilter("ignore")
            return reference.cohen_kappa_score(y, predicted, labels=ALL, weights="quadratic", **weights)
    y, predicted = (np.repeat(labels, 1 if weight is None else weight) for labels in (y, predicted))
    if len(set(y)) == 1:
        return np.nan
    return stats.kendalltau(y, predicted).statistic if len(set(predicted)) > 1 else 0.0


def of_ours(name, *arguments, **options):
    try:
        return getattr(metrics, name)(*arguments, ALL, **options)
    except DataError:
        return np.nan


def naive_error(name, y, predicted, weight):
    """The jackknife over objects, one refit of the metric an object."""
    rows = [i for i in range(len(y)) if weight[i] > 0]
    without = []
    for i in rows:
        rest = [k for k in rows if k != i]
        if rest:
            without.append(
                of_ours(
                    name,
                    [y[k] for k in rest],
                    [predicted[k] for k in rest],
                    sample_weight=[weight[k] for k in rest],
                )
            )
    values = np.array(without)[np.isfinite(without)]
    n = len(values)
    return np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum()) if n > 1 else np.nan


@pytest.mark.parametrize("name", LEVEL_METRICS)
class TestEveryMetric:
    @FEW
    @given(objects=OBJECTS)
    def test_it_is_that_of_other_programs(self, name, objects):
        y, predicted, weight = (list(column) for column in zip(*objects, strict=True))
        assert of_ours(name, y, predicted) == pytest.approx(of_scikit_learn(name, y, predicted), nan_ok=True)
        if sum(weight):
            wanted = of_scikit_learn(name, y, predicted, weight)
            assert of_ours(name, y, predicted, sample_weight=weight) == pytest.approx(wanted, nan_ok=True)

    @FEW
    @given(objects=OBJECTS, level=st.integers(0, 3))
    def test_constant_predictions_are_measured(self, name, objects, level):
        y = [true for true, _, _ in objects]
        found, wanted = of_ours(name, y, [level] * len(y)), of_scikit_learn(name, y, [level] * len(y))
        assert found == pytest.approx(wanted, nan_ok=True)

    @FEW
    @given(stack=st.lists(OBJECTS, min_size=1, max_size=4))
    def test_a_stack_of_tables_is_measured_like_each_of_them(self, name, stack):
        tables = [confusion_table(*np.array(objects).T[:2], 4) for objects in stack]
        of = LEVEL_METRICS[name].of
        assert_allclose(of(np.stack(tables)), [of(table) for table in tables])
        assert_allclose(
            table_errors(of, np.stack([tables, tables])), [[table_errors(of, table) for table in tables]] * 2
        )

    @FEW
    @given(objects=OBJECTS)
    def test_its_error_is_that_of_leaving_out_every_object(self, name, objects):
        y, predicted, weight = np.array(objects).T
        of, cells = LEVEL_METRICS[name].of, y * 4 + predicted
        table = confusion_table(y, predicted, 4)
        if np.isfinite(of(table)):
            wanted = naive_error(name, y, predicted, np.ones(len(y)))
            assert float(table_errors(of, table)) == pytest.approx(wanted, abs=1e-12, nan_ok=True)
            found = weighted_errors(of, table, cells, np.ones(len(y)))
            assert found == pytest.approx(wanted, abs=1e-12, nan_ok=True)
        if weight.any():
            table = confusion_table(y, predicted, 4, weight)
            wanted = naive_error(name, y, predicted, weight) if np.isfinite(of(table)) else np.nan
            found = weighted_errors(of, table, cells, weight.astype(float))
            assert found == pytest.approx(wanted, abs=1e-12, nan_ok=True)

    def test_the_better_of_two_predictions_is_better(self, name):
        y, good, bad = [0, 0, 1, 2, 3, 3], [0, 1, 1, 2, 3, 3], [3, 1, 3, 0, 1, 0]
        is_greater = of_ours(name, y, good) > of_ours(name, y, bad)
        assert is_greater == LEVEL_METRICS[name].greater_is_better

    def test_it_is_reached_by_name_and_defined_in_a_sentence(self, name):
        assert name in metrics.__all__
        assert LEVEL_METRICS[name].definition.endswith(".")


class TestLevels:
    def test_differences_are_counted_in_levels(self):
        assert metrics.mean_absolute_error([1, 10], [10, 1]) == 1
        assert metrics.mean_absolute_error([1, 10], [10, 1], [1, 5, 10]) == 2
        assert metrics.mean_absolute_error([1, 10], [5, 10]) == 0.5
        assert metrics.mean_absolute_error([1, 10, 10], [5, 10, 1]) == 1

    def test_categories_that_no_object_has_count_as_levels(self):
        y = pd.Categorical(["a", "c"], categories=["a", "b", "c"], ordered=True)
        assert metrics.mean_absolute_error(y, ["c", "c"]) == 1
        assert metrics.off_by_one_accuracy(y, ["c", "c"]) == 0.5


class TestTable:
    def test_a_row_holds_value_error_and_definition(self):
        y, predicted = [0, 1, 2, 2, 1, 0], [0, 1, 1, 2, 2, 0]
        table = metrics.level_metric_table(y, predicted, ALL).set_index("metric")
        assert list(table.index) == list(LEVEL_METRICS)
        for name, row in table.iterrows():
            assert row["value"] == of_ours(name, y, predicted)
            assert row["standard_error"] == pytest.approx(naive_error(name, y, predicted, [1] * 6))
            assert row["definition"] == LEVEL_METRICS[name].definition

    def test_the_error_of_an_accuracy_is_that_of_a_mean(self):
        table = metrics.level_metric_table([0, 0, 1, 1, 1], [0, 1, 1, 0, 1]).set_index("metric")
        assert table.loc["accuracy", "standard_error"] == pytest.approx(stats.sem([1, 0, 1, 0, 1]))

    def test_what_is_not_defined_says_why(self):
        table = metrics.level_metric_table([1, 1], [1, 1]).set_index("metric")
        undefined = table.loc[["quadratic_weighted_kappa", "level_kendall_tau"]]
        assert undefined["value"].isna().all()
        assert undefined["standard_error"].isna().all()
        assert undefined["definition"].str.contains("Undefined here: all labels of y_true").all()
        assert table.loc["accuracy", "value"] == 1


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (([], []), {"argument": "y_true"}),
        (([1, 2], [1]), {"argument": "y_pred", "found": 1}),
        ((["a", "b"], ["a", "b"]), {"argument": "y_true", "found": "'a', 'b'"}),
        (([1, 2], ["a", "b"]), {"argument": "y_pred[0]", "found": "'a'"}),
        (([1, 2], [1, 3], [1, 2]), {"argument": "y_pred[1]", "found": "3"}),
        (([1, None], [1, 2]), {"argument": "y_true[1]"}),
        (([1, 2], [[1], [2]]), {"argument": "y_pred", "found": "2 dimensions"}),
    ],
)
def test_bad_labels_are_named(arguments, wrong):
    with refuses(DataError, **wrong):
        metrics.accuracy(*arguments)


@pytest.mark.parametrize(
    ("weight", "wrong"),
    [
        ([1], {"argument": "sample_weight", "found": 1}),
        ([1, -1], {"argument": "sample_weight[1]", "found": "-1"}),
        ([0, 0], {"argument": "sample_weight", "found": "0 for all"}),
        ([1, np.nan], {"argument": "sample_weight[1]"}),
    ],
)
def test_bad_weights_are_named(weight, wrong):
    with refuses(DataError, **wrong):
        metrics.accuracy([1, 2], [1, 2], sample_weight=weight)


@pytest.mark.parametrize("name", ["quadratic_weighted_kappa", "level_kendall_tau"])
def test_a_metric_without_a_value_is_refused(name):
    with refuses(DataError, name):
        getattr(metrics, name)([1, 1], [1, 1])
