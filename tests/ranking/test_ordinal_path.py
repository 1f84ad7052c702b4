"""OrdinalSVMPath: the model of every C, the hard margin at its end, selection and generation along it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from ranking import DataError, NotSeparableError
from ranking.metrics import mean_absolute_error
from ranking.ordinal import OrdinalSVM, OrdinalSVMPath
from ranking.ordinal.hard_margin import is_conflict
from ranking.ordinal.students import students
from tests.ranking.test_ordinal_model import objects, whole_data
from tests.refusals import refuses

CS = [0.003, 0.1, 2.0, 50.0]


@pytest.mark.parametrize("scope", ["adjacent", "all"])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_path_is_at_every_C_the_model_of_that_C(kernel, ordered, scope):
    X, y = objects(50, noise=2.0)
    options = {"kernel": kernel, "gamma": 0.2, "ordered": ordered, "scope": scope}
    path = OrdinalSVMPath(C_max=50, **options).fit(X, y)
    for C in CS:
        model, at = OrdinalSVM(C, **options).fit(X, y), path.at(C)
        assert at.objective_ == pytest.approx(model.objective_, rel=1e-9)
        assert_allclose(path.predict_projection(X, C), model.predict_projection(X), atol=1e-7)
        assert_array_equal(path.predict(X, C), at.predict(X))
        assert abs(at.duality_gap_) <= 1e-9
    assert_allclose(
        path.predict_projection(X, CS), np.column_stack([path.predict_projection(X, C) for C in CS])
    )


@settings(max_examples=15, deadline=None)
@given(whole_data(), st.booleans())
def test_the_path_of_whole_data_is_proved_exactly(data, ordered):
    path = OrdinalSVMPath(C_max=10, ordered=ordered).fit(*data)
    assert "Proved in exact rationals" in str(path.path_.certify())


@settings(max_examples=25, deadline=None)
@given(whole_data(), st.sampled_from(["linear", "rbf"]))
def test_the_end_of_the_path_is_the_hard_margin_or_its_objects_conflict(data, kernel):
    X, y = data
    path = OrdinalSVMPath(C_max=np.inf, kernel=kernel, gamma=0.5).fit(X, y)
    hard = OrdinalSVM(C=np.inf, kernel=kernel, gamma=0.5)
    if path.is_separable_:
        hard.fit(X, y)
        assert hard.objective_ == pytest.approx(path.at(path.C_end_ + 1).objective_, rel=1e-7)
        assert hard.margin_ == pytest.approx(2 / np.sqrt(2 * hard.objective_))
        slack = hard.training_.hinges.slack(hard.training_.representation.scores(hard._b), hard.thresholds_)
        assert slack.max() <= 1e-8 * max(1.0, np.abs(hard._b).max())
        assert abs(hard.duality_gap_) <= 1e-8
    else:
        with refuses(NotSeparableError, "X") as caught:
            hard.fit(X, y)
        rows = hard.training_.representation.gram if hasattr(hard, "training_") else X
        if kernel == "linear":
            assert is_conflict(caught.value.certificate, rows, y)


def test_a_separable_set_has_a_margin_and_one_more_object_may_spoil_it():
    X, y = np.array([[0.0], [1.0], [3.0], [4.0], [8.0]]), np.array([1, 1, 2, 2, 3])
    hard = OrdinalSVM(C=np.inf).fit(X, y)
    assert hard.margin_ == pytest.approx(2.0)
    assert OrdinalSVMPath(C_max=np.inf).fit(X, y).is_separable_
    with pytest.raises(NotSeparableError) as caught:
        OrdinalSVM(C=np.inf).fit(np.vstack([X, [[0.5]]]), np.append(y, 3))
    assert 5 in caught.value.rows
    assert OrdinalSVMPath(C_max=5).fit(X, y).is_separable_ is None


@pytest.mark.parametrize("metric", ["mean_absolute_error", "accuracy", "quadratic_weighted_kappa"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_selection_is_the_metric_of_predictions_at_every_C(kernel, metric):
    from ranking.metrics.levels import LEVEL_METRICS, confusion_table

    X, y = objects(80, noise=3.0)
    path = OrdinalSVMPath(C_max=100, kernel=kernel, gamma=0.2).fit(X[:50], y[:50])
    curve = path.select(X[50:], y[50:], metric)
    for C in np.geomspace(1e-4, 99, 80):
        table = confusion_table(y[50:], path.predict(X[50:], C), 4)
        assert curve.at(C) == pytest.approx(float(LEVEL_METRICS[metric].of(table)), abs=1e-12)
    assert curve.C_best == path.C_


def test_nothing_changes_on_the_last_piece_of_a_path_without_end():
    """Slopes of scores are round-off there, and made steps at C of 10^12."""
    exams = students()
    X, y = exams[["midterm", "final"]], exams["grade"]
    path = OrdinalSVMPath(C_max=np.inf).fit(X, y)
    edges = path.select(X, y, "accuracy").edges
    assert edges[-1] == np.inf
    assert edges[-2] <= path.breakpoints_[-1]


def test_levels_the_training_data_lack_are_compared_but_not_predicted():
    X, y = objects(60)
    seen = y != 2
    path = OrdinalSVMPath(C_max=10).fit(X[seen], y[seen])
    curve = path.select(X, y)
    assert curve.at(path.C_) == pytest.approx(mean_absolute_error(y, path.predict(X), levels=[0, 1, 2, 3]))
    assert 2 not in path.predict(X)


class TestGeneration:
    @pytest.mark.parametrize("add", [None, 1, 7])
    @pytest.mark.parametrize("working_set", ["extremes", "random", list(range(20))])
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_the_path_on_working_sets_is_the_whole_path(self, kernel, working_set, add):
        X, y = objects(70, noise=0.7)
        options = {"C_min": 0.05, "C_max": 60, "kernel": kernel, "gamma": 0.1}
        whole = OrdinalSVMPath(**options).fit(X, y)
        part = OrdinalSVMPath(**options, working_set=working_set, add=add, random_state=0).fit(X, y)
        assert part.sectioned_path_.hi == 60
        for C in np.geomspace(0.05, 60, 15):
            assert part.at(C).objective_ == pytest.approx(whole.at(C).objective_, rel=1e-9)
            assert_allclose(part.predict_projection(X, C), whole.predict_projection(X, C), atol=1e-6)
        assert_allclose(part.select(X, y).values.min(), whole.select(X, y).values.min(), atol=1e-12)

    def test_working_sets_grow_along_the_path_and_stay_small(self):
        X, y = objects(400, noise=0.1)
        path = OrdinalSVMPath(C_min=2, C_max=500, working_set="extremes", add=20).fit(X, y)
        sizes = [len(section.items) for section in path.sectioned_path_.sections]
        assert sizes == sorted(sizes)
        assert sizes[-1] < 200
        assert list(path.rounds_.columns) == [
            "C",
            "objective",
            "working",
            "joining",
            "pieces",
            "seconds",
            "start",
        ]
        for section in path.sectioned_path_.sections:
            section.path.certify()

    def test_an_object_joins_where_it_is_first_violated_and_the_path_goes_on(self):
        X, y = objects(150, features=6, levels=3, noise=0.1, seed=4)
        options = {"C_min": 0.5, "C_max": 100}
        path = OrdinalSVMPath(**options, working_set="extremes", add=1).fit(X, y)
        sections, whole = path.sectioned_path_.sections, OrdinalSVMPath(**options).fit(X, y)
        grown = [k for k in range(1, len(sections)) if len(sections[k].items) > len(sections[k - 1].items)]
        assert len(grown) >= 2
        for k in grown:
            (item,) = np.setdiff1d(sections[k].items, sections[k - 1].items)
            hinges, C = path.training_.hinges.part(np.array([item])), sections[k].lo
            f = path.training_.representation.scores(path.coef_at(C))[[item]]
            assert hinges.slack(f, path.thresholds_at(C)).max() == pytest.approx(0.0, abs=1e-9)
            assert path.at(1.01 * C).objective_ == pytest.approx(whole.at(1.01 * C).objective_, rel=1e-10)

    @pytest.mark.parametrize(("C", "norm"), [(0.5, 1), (20.0, 1), (2.0, 2), (np.inf, 1)])
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_a_model_by_generation_is_the_same_model(self, kernel, C, norm):
        X, y = objects(100, noise=0.0)
        options = {"C": C, "norm": norm, "kernel": kernel, "gamma": 0.1}
        whole = OrdinalSVM(**options).fit(X, y)
        part = OrdinalSVM(**options, working_set="extremes", add=5).fit(X, y)
        assert part.objective_ == pytest.approx(whole.objective_, rel=1e-8)
        assert_allclose(part.predict_projection(X), whole.predict_projection(X), atol=1e-5)
        assert abs(part.duality_gap_) <= 1e-8
        assert len(part.rounds_) > 1
        objectives = part.rounds_["objective"].to_numpy()
        assert (np.diff(objectives) >= -1e-9 * objectives[-1]).all()
        assert objectives[-1] == pytest.approx(part.objective_, rel=1e-7)
        assert len(part.working_set_) <= 100

    def test_a_limit_that_leaves_nothing_is_told(self):
        path = OrdinalSVMPath(C_min=0.05, working_set="extremes", time_limit=1e-9)
        with refuses(DataError, "time_limit", found="a limit was reached first"):
            path.fit(*objects(70, noise=0.7))

    def test_a_limit_stops_a_generated_path(self):
        X, y = objects(70, noise=0.7)
        path = OrdinalSVMPath(C_min=0.05, C_max=60, working_set="extremes", max_pieces=5).fit(X, y)
        assert path.sectioned_path_.stopped is not None
        assert path.C_end_ < 60
        with refuses(DataError, "C", found=59):
            path.predict(X, 59)


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"C_max": 0}, {"argument": "C_max", "found": "0"}),
        ({"C_min": -1}, {"argument": "C_min", "found": "-1"}),
        ({"C_min": 5, "C_max": 5}, {"argument": "C_min", "found": "5"}),
        ({"C": 7, "C_max": 5}, {"argument": "C", "found": "7"}),
        ({"working_set": "some"}, {"argument": "working_set", "found": "'some'"}),
        ({"working_set": [0, 1]}, {"argument": "working_set", "found": "0"}),
    ],
)
def test_wrong_parameters_are_named(parameters, wrong):
    with refuses(DataError, **wrong):
        OrdinalSVMPath(**parameters).fit(*objects(20))


def test_C_beyond_the_path_is_refused():
    path = OrdinalSVMPath(C_max=5).fit(*objects(20))
    with refuses(DataError, "C", found=6):
        path.predict(np.zeros((1, 3)), 6)
