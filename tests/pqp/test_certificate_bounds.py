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
from pqp.certificate import check
from pqp.certificate.bounds import BOUND_TOLERANCE
from pqp.certificate.proving import Work
from pqp.errors import CertificateError
from pqp.io.writing import path_document
from tests.pqp.documents import EXAMPLES, affine, as_float, optimal, path
from tests.pqp.test_certificate import UNTRUTHS, change

NEARLY = 0.1 * 3  # the next float64 number above 0.3


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
        document = json.loads(json.dumps(path_document(traced(model)), default=list))
        segment = document["segments"][len(document["segments"]) // 2]
        name = "x" if segment["moving"]["variables"] else "y"
        numbers = segment["moving"][f"{name}0"]
        numbers[0] += shift * max(map(abs, numbers))
        with contextlib.nullcontext() if is_accepted else pytest.raises(CertificateError):
            check(document)

    def test_number_that_refinement_moves_counts_as_deviation(self):
        document = json.loads(json.dumps(path_document(traced("trend")), default=list))
        numbers = document["segments"][len(document["segments"]) // 2]["moving"]["y0"]
        numbers[0] += 1e-9 * max(map(abs, numbers))
        assert check(document).deviation > 1e-11

    @pytest.mark.parametrize("model", MODELS)
    def test_breakpoint_may_not_be_shifted(self, model):
        document = json.loads(json.dumps(path_document(traced(model)), default=list))
        segments = document["segments"]
        k = len(segments) // 2
        segments[k]["hi"] = segments[k + 1]["lo"] = (segments[k]["hi"] + segments[k + 1]["hi"]) / 2
        with pytest.raises(CertificateError):
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


def tied():
    """minimise ½(x² + y²) − mu (x + y), x ≤ 0.3, y ≤ 0.1 · 3: limits that differ by one unit of rounding.

    Both are stated to change at 0.3, so that y is at its limit, exactly, 4e-17 too early.
    """
    problem = {"P": [[1, 0], [0, 1]], "c": affine([0, 0], [-1, -1]), "upper": affine([0.3, NEARLY])}
    pieces = [
        optimal(0.0, 0.3, ("between between", ""), x1=[1.0, 1.0]),
        optimal(0.3, 1.0, ("upper upper", ""), x0=[0.3, NEARLY], z0=[0.3, NEARLY], z1=[-1.0, -1.0]),
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
