"""generation: growing working sets end at the solution of all objects, whatever the margin and the kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import pqp
from ranking import OrdinalSVM
from ranking.core import representation
from ranking.core.kernels import kernel_matrix
from ranking.errors import DataError, NotSeparableError
from ranking.ordinal import model
from ranking.ordinal.base import hinges_of
from ranking.ordinal.generation import initial_working_set
from ranking.ordinal.hard_margin import is_conflict
from ranking.ordinal.programs import soft_margin
from tests.ranking.ordinal_data import asked, labelled, mixture, value, violations
from tests.refusals import refuses
from tests.strategies import QUICK

KERNELS = {"linear": {}, "rbf": {"kernel": "rbf", "gamma": 0.5}}
# Margins that are solved anew in every round, and how separable data they need.
MARGINS = {"squared": (2.0, 2, 0.3), "hard": (np.inf, 1, 0.0)}


def fitted(X, codes, C, norm, working_set=None, add=None, **options):
    return OrdinalSVM(C, norm=norm, working_set=working_set, add=add, **options).fit(X, codes)


def value_of(model, X, codes):
    """½‖f‖² + C Σ ξ² over all objects, by definition; of a hard margin ½‖f‖², and nothing is violated."""
    f, squared = model.predict_projection(X), model.dual_coef_ @ model.predict_projection(X)
    if np.isinf(model.C):
        assert max(violations(f, model.thresholds_, codes)) <= 1e-7
        return squared / 2
    return value(squared, f, model.thresholds_, codes, model.C, model.norm)


def violators(model, X, codes, slack=1e-6):
    """Objects with a hinge that is violated, by definition."""
    f = model.predict_projection(X)
    return {i for i, k, s in asked(codes) if 1 - s * (f[i] - model.thresholds_[k]) > slack}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("margin", MARGINS)
@pytest.mark.parametrize("add", [None, 3])
def test_the_margin_is_that_of_all_objects(kernel, margin, add):
    C, norm, noise = MARGINS[margin]
    X, codes = mixture(5, n=90, noise=noise)
    whole = fitted(X, codes, C, norm, **KERNELS[kernel])
    found = fitted(X, codes, C, norm, "extremes", add, **KERNELS[kernel])
    assert found.objective_ == pytest.approx(whole.objective_, rel=1e-9)
    assert abs(found.duality_gap_) <= 1e-8
    assert value_of(found, X, codes) == pytest.approx(whole.objective_, rel=1e-6)
    assert violators(found, X, codes) <= set(found.working_set_.tolist())
    assert (np.diff(found.rounds_["objective"]) >= -1e-9 * whole.objective_).all()


@settings(QUICK, max_examples=25)
@given(data=labelled(most=9), C=st.sampled_from((0.25, 4.0)), start=st.integers(0, 3))
def test_copies_and_ties_do_no_harm(data, C, start):
    X, codes = data
    found = fitted(X, codes, C, 2, "random", 1, random_state=start, ordered=False)
    program = soft_margin(X, hinges_of(codes, codes.max() + 1), C, norm=2)
    full = pqp.solve(program.problem, 0, arithmetic="exact")
    assert found.objective_ == pytest.approx(float(full.objective), rel=1e-9)
    assert (np.diff(found.rounds_["objective"]) >= -1e-9).all()


def test_weights_count_like_copies():
    X, codes = mixture(6, n=40)
    weight = np.where(np.arange(40) % 3, 1.0, 2.0)
    copies = np.repeat(np.arange(40), weight.astype(int))
    weighted = OrdinalSVM(1.0, norm=2, working_set="extremes").fit(X, codes, weight)
    copied = fitted(X[copies], codes[copies], 1.0, 2, "extremes")
    assert weighted.objective_ == pytest.approx(copied.objective_, rel=1e-9)


@pytest.mark.parametrize("given_as", [csr_array, lambda X: X @ X.T], ids=["sparse rows", "Gram matrix"])
def test_other_forms_of_the_same_rows_give_the_same(given_as):
    X, codes = mixture(7, n=40)
    options = {} if given_as is csr_array else {"kernel": "precomputed"}
    values = [
        fitted(X, codes, 1.0, 2, "random").objective_,
        fitted(given_as(X), codes, 1.0, 2, "random", **options).objective_,
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_conflict_is_told_in_row_numbers_of_all_objects(kernel):
    X, codes = mixture(9, n=80)
    # equal objects of different levels conflict with every kernel
    X[60], codes[60] = X[17], (codes[17] + 1) % 4
    names = np.array(["D", "C", "B", "A"])
    options = {"levels": names.tolist(), **KERNELS[kernel]}
    with refuses(NotSeparableError, "X") as caught:
        fitted(X, names[codes], np.inf, 1, "random", 5, **options)
    assert is_conflict(caught.value.certificate, X, codes)
    assert caught.value.rows == caught.value.certificate.rows


class TestRounds:
    def test_every_round_is_told(self):
        X, codes = mixture(10, n=100)
        rounds = fitted(X, codes, 5.0, 2, "extremes", 10).rounds_
        assert rounds.columns.tolist() == ["objective", "working", "violators", "seconds"]
        assert rounds["violators"].iloc[-1] == 0
        assert (np.diff(rounds["working"]) == np.minimum(10, rounds["violators"][:-1])).all()
        assert (rounds["seconds"] > 0).all()

    def test_a_kernel_is_never_asked_for_all_pairs(self, monkeypatch):
        X, codes = mixture(11, n=300, noise=0.1)
        asked_for = []

        def counting(left, right, *options):
            asked_for.append(left.shape[0] * (left if right is None else right).shape[0])
            return kernel_matrix(left, right, *options)

        monkeypatch.setattr(representation, "kernel_matrix", counting)
        found = fitted(X, codes, 10.0, 2, "extremes", 20, kernel="rbf", gamma=0.3)
        assert len(found.working_set_) < 200
        assert max(asked_for) <= 300 * len(found.working_set_)

    def test_an_oracle_that_overlooks_violations_is_found_out_by_the_definition(self, monkeypatch):
        X, codes = mixture(12, n=60)
        right = fitted(X, codes, 5.0, 2, "extremes")

        monkeypatch.setattr(model, "_violation", lambda training, b, p, rest: np.zeros(len(rest)))
        wrong = fitted(X, codes, 5.0, 2, "extremes")
        for found, is_right in ((right, True), (wrong, False)):
            assert (violators(found, X, codes) <= set(found.working_set_.tolist())) == is_right
            assert (abs(found.duality_gap_) <= 1e-9) == is_right


class TestStart:
    def test_extremes_are_the_lowest_and_highest_of_every_level(self):
        X, codes = mixture(13, n=50)
        start = initial_working_set(codes, X)
        means = np.array([X[codes == level].mean(axis=0) for level in range(4)])
        along = X @ (np.array([-1.5, -0.5, 0.5, 1.5]) @ means)
        for level in range(4):
            chosen, members = along[start[codes[start] == level]], along[codes == level]
            assert sorted(chosen) == [members.min(), members.max()]

    def test_random_starts_are_repeatable_and_hold_every_level(self):
        _, codes = mixture(14, n=50)
        one, same, other = (initial_working_set(codes, how="random", random_state=s) for s in (1, 1, 2))
        assert one.tolist() == same.tolist() != other.tolist()
        assert np.bincount(codes[one]).tolist() == [2, 2, 2, 2]

    @pytest.mark.parametrize(
        ("start", "wrong"),
        [
            ([0, 0], {"argument": "start", "found": "1"}),
            ([0, 7], {"argument": "start", "found": "7"}),
            ([0.5], {"argument": "start", "found": "dtype float64 of shape (1,)"}),
            ([[0, 1]], {"argument": "start", "found": "dtype int64 of shape (1, 2)"}),
            ("best", {"argument": "start", "found": "'best'"}),
        ],
    )
    def test_starts_that_make_no_sense_are_named(self, start, wrong):
        with refuses(DataError, **wrong):
            initial_working_set(np.array([0, 1, 1]), np.array([[0.0], [1.0], [2.0]]), start, name="start")

    def test_add_is_a_number_or_all(self):
        with refuses(DataError, "add", found="0"):
            fitted([[0.0], [1.0]], [0, 1], 1.0, 2, [0, 1], add=0)
