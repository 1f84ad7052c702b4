"""certificate: float pieces that are not exactly optimal are corrected or bounded, wrong ones refused."""

import contextlib
import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import pqp
from pqp.certificate import check, correction
from pqp.certificate.bounds import BOUND_TOLERANCE
from pqp.certificate.points import Completion
from pqp.certificate.proving import Work
from pqp.errors import CertificateError
from pqp.io.writing import path_document
from tests.pqp.documents import EXAMPLES, affine, as_float, optimal, path, unbounded
from tests.pqp.families import FAMILIES
from tests.pqp.test_certificate import UNTRUTHS, change

JUST_ABOVE = 0.1 * 3  # the next float64 number above 0.3


@pytest.fixture
def only_bounds(monkeypatch):
    """No piece of a float path is solved exactly."""
    monkeypatch.setattr(Work, "allows", lambda *_: False)


def fused(size, order=1, seed=0):
    """minimise ½|x − y|² + mu Σ|differences of x|: the fused lasso, or a trend filter with order 2."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.normal(size=size // 10 + 1) * 3, 10)[:size] + rng.normal(size=size)
    D = scipy.sparse.eye_array(size).tocsr()
    for _ in range(order):
        D = D[1:] - D[:-1]
    return pqp.ParametricQP(
        scipy.sparse.eye_array(size).tocsr(), -y, A=D, row_lower=0, row_upper=0, penalty=pqp.mu
    )


def lasso(rows=30, columns=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    return pqp.catalog.lasso(X, X[:, :3] @ [3, -2, 1] + rng.normal(size=rows))


def frontier():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(12, 12))
    return pqp.catalog.markowitz(0.1 * rng.normal(size=12), F @ F.T / 12 + 0.1 * np.eye(12))


def svm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return pqp.catalog.svm(X, np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0, 1, -1))


MODELS = {"fused": lambda: fused(40), "trend": lambda: fused(40, 2), "lasso": lasso, "svm": svm,
          "frontier": frontier, "choice": lambda: pqp.catalog.choice(choices())}  # fmt: skip


def choices():
    rows = np.random.default_rng(0).integers(-1, 2, size=(40, 6))
    return rows[np.any(rows, axis=1)]


@cache
def traced(model):
    return pqp.solve_path(MODELS[model](), (0, math.inf))


def plain(traced_path):
    """The document of a path as JSON has it, which may be changed."""
    return json.loads(json.dumps(path_document(traced_path), default=list))


def scaled(numbers, factor):
    """Numbers of a piece times a factor: x, or y where x does not move."""
    name = "x" if numbers["variables"] else "y"
    return numbers | {f"{name}{k}": [factor * v for v in numbers[f"{name}{k}"]] for k in (0, 1)}


def exchanged(segments, k):
    """Two neighbours with each other's numbers."""
    a, b = segments[k]["moving"], segments[k + 1]["moving"]
    segments[k]["moving"], segments[k + 1]["moving"] = b, a


def moved(segments, k):
    """The changes of a piece made to the next item instead: another one changes its state."""
    for kind, part in segments[k]["changes"].items():
        segments[k]["changes"][kind] = {
            str(int(i) + 1 if int(i) < 5 else int(i) - 1): v for i, v in part.items()
        }


# What is done to a piece in the middle of a path, and its neighbours.
MUTATIONS = {
    "sign_flipped": lambda segments, k: segments[k].update(moving=scaled(segments[k]["moving"], -1)),
    "scaled": lambda segments, k: segments[k].update(moving=scaled(segments[k]["moving"], 1 + 1e-6)),
    "slope_flipped": lambda segments, k: segments[k]["moving"].update(
        {key: [-v for v in segments[k]["moving"][key]] for key in ("x1", "y1")}),
    "gap_between_pieces": lambda segments, k: segments[k].update(
        hi=(segments[k]["lo"] + 99 * segments[k]["hi"]) / 100),
    "overlap_of_pieces": lambda segments, k: segments[k].update(
        lo=(101 * segments[k]["lo"] - segments[k]["hi"]) / 100),
    "piece_dropped": lambda segments, k: segments.pop(k),
    "piece_dropped_and_closed": lambda segments, k: segments[k].update(hi=segments.pop(k + 1)["hi"]),
    "changes_dropped": lambda segments, k: segments[k].update(changes={}),
    "changes_of_another_item": moved,
    "numbers_exchanged": exchanged,
    "declared_infeasible": lambda segments, k: segments[k].update(status="infeasible"),
    "declared_unbounded": lambda segments, k: segments[k].update(status="unbounded"),
}  # fmt: skip


@pytest.mark.usefixtures("only_bounds")
class TestBounded:
    @pytest.mark.parametrize("model", MODELS)
    def test_every_piece_of_a_sound_path_is_bounded_at_rounding_level(self, model):
        traced_path = traced(model)
        proof = traced_path.certify()
        assert (proof.exact, proof.corrected, proof.bounded) == (0, 0, len(traced_path.segments))
        assert 0 <= proof.largest_violation <= BOUND_TOLERANCE
        assert 0 <= proof.largest_gap <= BOUND_TOLERANCE
        assert f"bound: {proof.bounded}" in str(proof)

    @pytest.mark.parametrize("example", EXAMPLES)
    def test_rounded_example_is_accepted(self, example):
        proof = check(as_float(EXAMPLES[example]()))
        assert proof.exact + proof.bounded == proof.pieces

    @pytest.mark.parametrize("untruth", UNTRUTHS)
    def test_untruth_is_found_without_exact_solutions(self, untruth):
        example, changes = UNTRUTHS[untruth]
        document = as_float(EXAMPLES[example]())
        for place, value in changes.items():
            change(document, place, value)
        with pytest.raises(CertificateError):
            check(document)

    @pytest.mark.parametrize(("shift", "is_accepted"), [(1e-13, True), (1e-5, False), (-1e-5, False)])
    @pytest.mark.parametrize("model", MODELS)
    def test_number_may_be_off_by_rounding_only(self, model, shift, is_accepted):
        document = plain(traced(model))
        segment = document["segments"][len(document["segments"]) // 2]
        name = "x" if segment["moving"]["variables"] else "y"
        numbers = segment["moving"][f"{name}0"]
        numbers[0] += shift * max(map(abs, numbers))
        with contextlib.nullcontext() if is_accepted else pytest.raises(CertificateError):
            check(document)

    def test_number_that_refinement_moves_counts_as_deviation(self):
        document = plain(traced("trend"))
        numbers = document["segments"][len(document["segments"]) // 2]["moving"]["y0"]
        numbers[0] += 1e-9 * max(map(abs, numbers))
        assert check(document).deviation > 1e-11

    @pytest.mark.parametrize("model", MODELS)
    def test_breakpoint_may_not_be_shifted(self, model):
        document = plain(traced(model))
        segments = document["segments"]
        k = len(segments) // 2
        segments[k]["hi"] = segments[k + 1]["lo"] = (segments[k]["hi"] + segments[k + 1]["hi"]) / 2
        with pytest.raises(CertificateError):
            check(document)

    @pytest.mark.parametrize(
        ("shift", "is_accepted"), [(3e-8, True), (-3e-8, True), (1e-5, False), (-1e-5, False)]
    )
    @pytest.mark.parametrize("model", MODELS)
    def test_inaccurate_breakpoint_is_replaced_as_far_as_stated_numbers_may_be_off(
        self, model, shift, is_accepted
    ):
        document = plain(traced(model))
        segments = document["segments"]
        k = max(range(len(segments) - 1), key=lambda k: segments[k]["hi"] - segments[k]["lo"])
        segments[k]["hi"] = segments[k + 1]["lo"] = segments[k]["hi"] + shift * (1 + segments[k]["hi"])
        with contextlib.nullcontext() if is_accepted else pytest.raises(CertificateError):
            assert check(document).largest_gap <= BOUND_TOLERANCE

    @pytest.mark.parametrize("mutation", MUTATIONS)
    @pytest.mark.parametrize("model", MODELS)
    def test_mutated_piece_is_found(self, model, mutation):
        document = plain(traced(model))
        MUTATIONS[mutation](document["segments"], len(document["segments"]) // 2)
        with pytest.raises(CertificateError):
            check(document)

    @pytest.mark.parametrize(("factor", "is_accepted"), [(1, True), (3, True), (0, False), (-1, False)])
    def test_ray_may_be_longer_but_not_point_elsewhere(self, factor, is_accepted):
        document = as_float(EXAMPLES["falling"]())
        for segment in document["segments"]:
            if segment["status"] == "unbounded":
                segment["ray"] = [factor * v for v in segment["ray"]]
        with contextlib.nullcontext() if is_accepted else pytest.raises(CertificateError):
            check(document)

    def test_end_of_a_bounded_piece_is_the_stated_one(self):
        traced_path = traced("lasso")
        assert [float(mu) for mu in traced_path.certify().breakpoints] == list(traced_path.breakpoints)

    @settings(max_examples=60, deadline=None)
    @given(factor=st.floats(1e-6, 1e6), units=st.floats(1e-6, 1e6))
    def test_bounds_do_not_depend_on_units(self, factor, units):
        """The objective times a factor, and x in other units: as accurate as before."""
        document = as_float(EXAMPLES["threshold"]())
        problem = document["problem"]
        for key in ("c", "penalty"):
            problem[key] = {k: [float(v) * factor * units for v in vs] for k, vs in problem[key].items()}
        problem["P"] = [[factor * units * units]]
        problem["A"] = [[1.0]]
        for segment in document["segments"]:
            segment |= {k: [float(v) / units for v in segment[k]] for k in ("x0", "x1")}
            segment |= {k: [float(v) * factor * units for v in segment[k]] for k in ("y0", "y1", "z0", "z1")}
        assert check(document).largest_violation <= BOUND_TOLERANCE


def kite(shift=0.0):
    """minimise −x with 0.1 u + 0.2 v = 0.3, u, v ≥ 0: unbounded, as u = v = 1 is feasible up to rounding."""
    problem = {"P": [[0] * 3] * 3, "c": affine([-1, 0, 0]), "A": [[0, 0.1, 0.2]], "lower": affine([0, 0, 0])}
    problem |= {"row_lower": affine([0.3]), "row_upper": affine([0.3])}
    piece = unbounded(0.0, 1.0, [1, 0, 0], [0.0, 1.0 + shift, 1.0], [0.0] * 3, [0])
    return path(problem, (0.0, 1.0), [piece]) | {"arithmetic": "float"}


class TestUnbounded:
    def test_feasible_point_may_miss_limits_by_rounding(self):
        proof = check(kite())
        assert (proof.exact, proof.bounded) == (0, 1)
        assert 0 < proof.largest_violation < 1e-15

    @pytest.mark.parametrize(("limit", "is_accepted"), [(-5e-15, True), (-1e-6, False)])
    def test_row_whose_terms_are_all_0_may_have_a_limit_that_is_a_rounding_error(self, limit, is_accepted):
        """minimise −x with 0.1 u ≤ limit at u = 0, and v = 10 in no row."""
        problem = {"P": [[0] * 3] * 3, "c": affine([-1, 0, 0]), "A": [[0, 0.1, 0]]}
        problem |= {"row_upper": affine([limit])}
        piece = unbounded(0.0, 1.0, [1, 0, 0], [0.0, 0.0, 10.0], [0.0] * 3, [0])
        document = path(problem, (0.0, 1.0), [piece]) | {"arithmetic": "float"}
        with contextlib.nullcontext() if is_accepted else pytest.raises(CertificateError):
            assert check(document).bounded == 1

    @pytest.mark.parametrize("shift", [1e-6, -1e-6])
    def test_feasible_point_may_not_miss_limits_by_more(self, shift):
        with pytest.raises(CertificateError):
            check(kite(shift))

    def test_exact_document_needs_a_feasible_point(self):
        with pytest.raises(CertificateError):
            check(kite() | {"arithmetic": "exact"})


def tied():
    """minimise ½(x² + y²) − mu (x + y), x ≤ 0.3, y ≤ 0.1 · 3: limits that differ by one unit of rounding.

    Both are stated to change at 0.3, so that y is at its limit, exactly, 4e-17 too early.
    """
    problem = {"P": [[1, 0], [0, 1]], "c": affine([0, 0], [-1, -1]), "upper": affine([0.3, JUST_ABOVE])}
    pieces = [
        optimal(0.0, 0.3, ("between between", ""), x1=[1.0, 1.0]),
        optimal(0.3, 1.0, ("upper upper", ""), x0=[0.3, JUST_ABOVE], z0=[0.3, JUST_ABOVE], z1=[-1.0, -1.0]),
    ]
    return path(problem, (0.0, 1.0), pieces) | {"arithmetic": "float"}


class TestCorrected:
    def test_basis_that_is_off_by_a_rounding_error_is_corrected_by_exact_pivots(self):
        proof = check(tied())
        assert (proof.exact, proof.corrected, proof.bounded) == (1, 1, 0)
        assert proof.breakpoints == (Fraction(0.3),)
        assert "Corrected by exact pivots: 1" in str(proof)

    def test_correction_is_no_excuse_for_a_wrong_basis(self):
        document = tied()
        document["segments"][0]["hi"] = document["segments"][1]["lo"] = 0.29
        with pytest.raises(CertificateError):
            check(document)

    def test_exact_document_has_to_be_right_as_it_is(self):
        with pytest.raises(CertificateError):
            check(tied() | {"arithmetic": "exact"})


def drifting():
    """minimise ½|x|² + (mu − 1) x₂, x₁ ≥ (1 + 2⁻⁵²) mu, x₂ ≥ 0, and −mu x₁ on top: x = (mu, max(1 − mu, 0)).

    x₁ leaves its limit, which it should not: from mu = 0 on it is below, by a rounding error.
    """
    problem = {"P": [[1, 0], [0, 1]], "c": affine([0, -1], [-1, 1]), "lower": affine([0, 0], [1 + 2**-52, 0])}
    pieces = [
        optimal(-1.0, 1.0, ("between between", ""), x0=[0.0, 1.0], x1=[1.0, -1.0]),
        optimal(1.0, 2.0, ("between lower", ""), x1=[1.0, 0.0], z0=[0.0, -1.0], z1=[0.0, 1.0]),
    ]
    return path(problem, (-1.0, 2.0), pieces) | {"arithmetic": "float"}


def doubled(share=0.5):
    """minimise ½x² − mu x, x ≤ 1 stated by two rows, both held: they are dependent, and their y add up."""
    problem = {"P": [[1]], "c": affine([0], [-1]), "A": [[1], [1]], "row_upper": affine([1, 1])}
    pieces = [
        optimal(0.0, 1.0, ("between", "off off"), x1=[1.0]),
        optimal(1.0, 2.0, ("between", "upper upper"), x0=[1.0],
                y0=[share, 1 - share], y1=[-share, share - 1]),
    ]  # fmt: skip
    return path(problem, (0.0, 2.0), pieces) | {"arithmetic": "float"}


class TestSingular:
    def test_right_numbers_of_dependent_rows_are_bounded(self):
        proof = check(doubled())
        assert (proof.exact, proof.bounded) == (1, 1)

    def test_wrong_numbers_of_dependent_rows_are_refused(self):
        with pytest.raises(CertificateError):
            check(doubled(share=-0.5))

    def test_exact_document_needs_a_basis(self):
        with pytest.raises(CertificateError, match="nonsingular"):
            check(doubled() | {"arithmetic": "exact"})


def nearly_dependent(share):
    """minimise ½|x|² − mu x₁, x₁ ≤ 1, x₁ + 10⁻¹³ x₂ ≤ 1, both held: x and the sum of the two y are clear."""
    problem = {"P": [[1, 0], [0, 1]], "c": affine([0, 0], [-1, 0]), "A": [[1, 0], [1, 1e-13]]}
    problem |= {"row_upper": affine([1, 1])}
    y = {"y0": [1 + share, -share], "y1": [-1.0, 0.0]}
    piece = optimal(1.5, 2.0, ("between between", "upper upper"), x0=[1.0, 0.0], **y)
    return path(problem, (1.5, 2.0), [piece]) | {"arithmetic": "float"}


class TestSolvedAfterAll:
    @pytest.mark.parametrize("model", ["fused", "lasso"])
    def test_piece_whose_bound_is_too_large_is_solved_exactly_whatever_that_costs(self, model, monkeypatch):
        """Nothing is cheap enough at first, and nothing refines the number that is off by 10⁻⁸."""
        for name in ("TRACES", "SPARE", "BEGIN"):
            monkeypatch.setattr(Work, name, 0.0)
        monkeypatch.setattr(Completion, "refine", lambda *_: None)
        document = plain(traced(model))
        numbers = document["segments"][len(document["segments"]) // 2]["moving"]
        values = numbers["x0" if numbers["variables"] else "y0"]
        values[0] += 1e-8 * max(map(abs, values))
        proof = check(document)
        assert proof.exact > 0
        assert proof.bounded > 0
        assert proof.exact + proof.bounded == proof.pieces
        assert proof.deviation > 1e-9


class TestNearlySingular:
    def test_multipliers_that_refinement_would_move_far_may_be_as_good(self):
        proof = check(nearly_dependent(0.1))
        assert proof.exact == 0
        assert proof.largest_gap <= BOUND_TOLERANCE

    @pytest.mark.parametrize("share", [10.0, -0.1])
    def test_multipliers_that_balance_no_gradient_or_have_a_wrong_sign_are_refused(self, share):
        with pytest.raises(CertificateError):
            check(nearly_dependent(share))


def crossing(c, x, y, state):
    """minimise ½x² + cx + 10 max(1 − x, x + 1): a soft row with crossing limits 1 ≤ x ≤ −1."""
    problem = {"P": [[1]], "c": affine([c]), "A": [[1]], "penalty": affine([10])}
    problem |= {"row_lower": affine([1]), "row_upper": affine([-1])}
    piece = optimal(0.0, 1.0, ("between", state), x0=[float(x)], y0=[float(y)])
    return path(problem, (0.0, 1.0), [piece]) | {"arithmetic": "float"}


class TestCrossingLimits:
    @pytest.mark.parametrize(("c", "x", "state"), [(10.5, -0.5, "below"), (-10.5, 0.5, "above")])
    def test_row_beyond_the_limit_that_it_misses_more_is_certified(self, c, x, state, monkeypatch):
        document = crossing(c, x, 10 if state == "below" else -10, state)
        assert check(document).exact == 1
        monkeypatch.setattr(Work, "allows", lambda *_: False)
        assert check(document).bounded == 1

    @pytest.mark.parametrize(
        ("c", "x", "y", "state"),
        [(0, 1, 1, "lower"), (0, -1, -1, "upper"), (9.5, 0.5, 10, "below"), (-9.5, -0.5, -10, "above")],
    )
    def test_row_at_or_beyond_the_limit_that_it_misses_less_is_refused(self, c, x, y, state, monkeypatch):
        document = crossing(c, x, y, state)
        with pytest.raises(CertificateError):
            check(document)
        monkeypatch.setattr(Work, "allows", lambda *_: False)
        with pytest.raises(CertificateError):
            check(document)


class TestHalfExact:
    """The first piece is exact on a half of it."""

    def test_piece_is_corrected_where_it_falls_short(self):
        proof = check(drifting())
        assert (proof.exact, proof.corrected, proof.bounded) == (0, 2, 0)

    def test_bounded_neighbour_does_not_stand_in_for_half_a_piece(self, monkeypatch):
        monkeypatch.setattr(correction, "MOST_PIVOTS", 0)
        proof = check(drifting())
        assert (proof.exact, proof.corrected, proof.bounded) == (0, 0, 2)
        assert proof.breakpoints == (1,)


# features and answers of a support vector regression whose residuals tie, but for rounding to float64
FEATURES = np.array([[-1.1, 0.4, -0.8, 1.7], [1.6, 0.4, -0.4, 0.9], [0.7, 0.3, -0.9, 0.5]])
ANSWERS = FEATURES + np.array([[2, -3, -1, 3], [3, 2, -1, 2], [-25, 11, -3, 10]]) / 10
TIES = list(zip(FEATURES, ANSWERS, strict=True))


class TestOrdinaryModels:
    """Sound paths that were refused once."""

    def test_slab_where_all_rows_are_at_their_limits_is_corrected(self):
        """x = 0 for all mu, in float64 5e-17: no number of the path says how large x may be."""
        document = plain(pqp.solve_path(*FAMILIES["one_class_slab"](3)))
        rows = {0: "lower", 9: "below", 15: "below", 17: "lower", 20: "below"}
        document["states"] = {"variables": ["between"] * 3, "rows": [rows.get(i, "off") for i in range(50)]}
        numbers = {"variables": [0, 1, 2], "x0": [0.0, -(2.0**-54), -(2.0**-54)], "x1": [0.0] * 3}
        numbers |= {"rows": [0, 17], "y0": [0.2 - 2.0**-54, 0.2 - 2.0**-55], "y1": [0.0, 0.0]}
        changes = {"variables": {}, "rows": {}}
        piece = {"lo": 0.0, "hi": 3.0, "status": "optimal", "changes": changes, "moving": numbers}
        proof = check(document | {"segments": [piece]})
        assert (proof.corrected, proof.pieces) == (1, 1)
        piece["moving"]["y0"] = [0.2 - 1e-6, 0.2 - 1e-6]
        with pytest.raises(CertificateError):
            check(document | {"segments": [piece]})

    def test_piece_shorter_than_a_rounding_error_is_bounded_in_the_scales_of_the_path(self):
        """At C = 0 all multipliers are 0: on a first piece of length 3e-18 they have no size of their own."""
        document = plain(pqp.solve_path(*FAMILIES["svr_primal_in_c"](7)))
        first = document["segments"][0]
        proof = check(document)
        assert proof.exact + proof.corrected + proof.bounded == proof.pieces
        numbers = first["moving"]
        numbers["x0"] = [v + 1e-5 for v in numbers["x0"]]
        with pytest.raises(CertificateError):
            check(document)

    @pytest.mark.parametrize("method", ["revised", "tableau"])
    @pytest.mark.parametrize(("X", "y"), TIES)
    def test_decimals_that_tie_but_not_in_float64_are_certified(self, X, y, method):
        A, P = np.c_[X, np.ones(4)], np.diag([1.0, 0.0])
        problem = pqp.ParametricQP(P, 0, A=A, row_lower=y - pqp.mu, row_upper=y + pqp.mu, penalty=0.5)
        path = pqp.solve_path(problem, (0, 6), method=method)
        assert path.certify().pieces == len(path.segments)

    def test_limits_that_meet_at_one_mu_are_not_one(self):
        """At C = 0 both limits of every dual variable are 0: a correction there may not fix it."""
        X = np.array([1.6, 0.4, -0.4, 0.9])
        y = X + np.array([-1, -3, 3, 1]) / 10
        factor, cost = pqp.Gram(np.r_[X, -X][:, None]), np.r_[0.1 - y, 0.1 + y]
        sums = np.r_[np.ones(4), -np.ones(4)][None]
        problem = pqp.ParametricQP(factor, cost, A=sums, row_lower=0, row_upper=0, lower=0, upper=pqp.mu)
        path = pqp.solve_path(problem, (0, 5))
        assert path.certify().pieces == len(path.segments)

    @pytest.mark.usefixtures("only_bounds")
    def test_rows_with_high_prices_are_summed_exactly(self):
        proof = pqp.solve_path(*FAMILIES["large_penalties"](6)).certify()
        assert proof.bounded == proof.pieces
        assert proof.largest_gap <= BOUND_TOLERANCE


class TestRoundedHessian:
    def problem(self, share):
        """A Gram matrix of rank 3, rounded, with one eigenvalue lowered by a share of the largest."""
        F = np.random.default_rng(0).normal(size=(6, 3))
        P = F @ F.T
        values, vectors = np.linalg.eigh((P + P.T) / 2)
        P = P - share * values[-1] * np.outer(vectors[:, 0], vectors[:, 0])
        return (P + P.T) / 2

    def document(self, share):
        """x = 0 is held by its bounds, whatever P is."""
        zeros = [0.0] * 6
        problem = {"P": self.problem(share).tolist(), "c": affine([1.0] * 6), "lower": affine(zeros)}
        piece = optimal(0.0, 1.0, (" ".join(["lower"] * 6), ""), z0=[1.0] * 6)
        return path(problem, (0.0, 1.0), [piece]) | {"arithmetic": "float"}

    def test_gram_matrix_that_lost_convexity_by_rounding_is_bounded(self):
        proof = check(self.document(1e-15))
        assert proof.bounded == proof.pieces == 1

    def test_matrix_that_is_not_convex_is_refused(self):
        with pytest.raises(CertificateError, match="positive semidefinite"):
            check(self.document(1e-6))

    def test_exact_document_needs_a_convex_matrix(self):
        with pytest.raises(CertificateError, match="positive semidefinite"):
            check(self.document(1e-15) | {"arithmetic": "exact"})


class TestEffort:
    def test_thorough_proof_is_exact_where_the_short_one_is_bounded(self, monkeypatch):
        monkeypatch.setattr(Work, "TRACES", 0.0)
        monkeypatch.setattr(Work, "SPARE", 0.0)
        monkeypatch.setattr(Work, "BEGIN", 0.0)
        traced_path = traced("frontier")
        assert traced_path.certify().exact == 0
        assert traced_path.certify(thorough=True).bounded == 0

    def test_no_piece_is_solved_exactly_after_the_time_limit(self):
        proof = traced("lasso").certify(time_limit=0)
        assert proof.bounded == proof.pieces

    def test_small_integer_problem_is_proved_exactly_as_a_whole(self):
        proof = traced("choice").certify()
        assert proof.exact == proof.pieces
        assert (proof.largest_violation, proof.largest_gap) == (0, 0)

    def test_saved_certificate_says_how_pieces_were_proved(self, tmp_path):
        proof = traced("lasso").certify(time_limit=0)
        proof.save(tmp_path / "proof.json")
        saved = json.loads((tmp_path / "proof.json").read_text(encoding="utf-8"))
        assert saved["certificate"]["bounded"] == proof.bounded
        assert saved["certificate"]["largest_gap"] == proof.largest_gap
        assert check(saved).pieces == proof.pieces

    @pytest.mark.parametrize("seed", range(3))
    def test_exact_and_bounded_pieces_meet(self, seed, monkeypatch):
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(Work, "allows", lambda *_: bool(rng.random() < 0.5))
        proof = traced("choice").certify()
        assert 0 < proof.exact < proof.pieces == proof.exact + proof.bounded

    def test_interrupt_gets_through(self, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(Work, "allows", interrupted)
        traced_path = traced("choice")
        with pytest.raises(KeyboardInterrupt):
            traced_path.certify()
