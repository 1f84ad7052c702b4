"""certificate: true documents are accepted in both arithmetics, and every kind of untruth is found."""

import contextlib
import copy
import dataclasses
import json
import math
from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from pqp.certificate import check
from pqp.certificate.cover import ProvedPiece, require_continuity
from pqp.certificate.problem import read_problem
from pqp.certificate.rationals import Affine, AffineBlock, Span
from pqp.certificate.solution import PrimalVector, derive
from pqp.certificate.states import ActiveSet
from pqp.errors import CertificateError
from tests.pqp.documents import (
    EXAMPLES,
    VECTORS,
    affine,
    as_float,
    budget,
    jump,
    optimal,
    path,
    shared,
    threshold,
)
from tests.refusals import refuses

EXACT_AND_FLOAT = pytest.mark.parametrize("form", [copy.deepcopy, as_float], ids=["exact", "float"])
GARBAGE = [None, "x", "", [], {}, [[]], math.nan, True, -1, 10**5000]
DROP = object()
NO_FARKAS = {"row_lower": [0], "row_upper": [0], "lower": [0, 0], "upper": [0, 0]}

# What is put where: the place is a path of keys, a callable is given what was there, DROP removes it.
UNTRUTHS = {
    "breakpoint_shifted": ("budget", {"segments.1.hi": 2, "segments.2.lo": 2}),
    "piece_dropped": ("budget", {"segments.2": DROP}),
    "last_piece_dropped": ("budget", {"segments.3": DROP}),
    "piece_duplicated": ("budget", {"segments": lambda old: [*old[:2], old[1], *old[2:]]}),
    "states_of_another_piece": ("budget", {"segments.1.variables.0": "between"}),
    "solutions_swapped": ("jump", {"segments": lambda old: [exchange(old, 1, 0), exchange(old, 0, 1)]}),
    "multiplier_of_row_flipped": ("budget", {"segments.1.y0.0": 6, "segments.1.y1.0": -2}),
    "multiplier_of_bound_flipped": ("budget", {"segments.1.z0.0": -2, "segments.1.z1.0": 2}),
    "multipliers_of_neighbour": ("budget", {"segments.2.y0.0": -6, "segments.2.y1.0": 2}),
    "infeasible_declared_optimal": ("budget", {"segments.1.lo": -2, "segments.0": DROP}),
    "optimal_declared_infeasible": ("slot", {"segments": lambda old: [old[0], exchange(old, 0, 1), old[2]]}),
    "optimal_declared_unbounded": ("falling", {"segments": lambda old: [old[0], exchange(old, 0, 1)]}),
    "unbounded_declared_infeasible": (
        "falling", {"segments.0.status": "infeasible", "segments.0.farkas": NO_FARKAS}),
    "infeasible_declared_unbounded": ("closing", {"segments": lambda old: [old[0], exchange(old, 0, 1)]}),
    "unbounded_declared_optimal": ("falling", {"segments.1.lo": -1, "segments.0": DROP}),
    "farkas_negated": ("slot", {"segments.0.farkas.row_upper": [-1], "segments.0.farkas.lower": [-1]}),
    "farkas_of_another_piece": ("slot", {"segments.0.farkas": {
        "row_lower": [1], "row_upper": [0], "lower": [0], "upper": [1]}}),
    "farkas_unbalanced": ("budget", {"segments.0.farkas.lower": [1, 2]}),
    "farkas_of_infinite_limit": (
        "budget", {"segments.0.farkas.row_lower": [1], "segments.0.farkas.row_upper": [2]}),
    "farkas_of_soft_row": ("slot", {"problem.penalty": affine([100])}),
    "farkas_zero": ("budget", {"segments.0.farkas": NO_FARKAS}),
    "ray_with_wrong_sign": ("single_point", {"segments.0.ray": [-1]}),
    "ray_leaves_a_bound": ("falling", {"segments.0.ray": [0, -1]}),
    "ray_leaves_a_new_bound": ("falling", {"problem.upper": affine(["inf", 5])}),
    "ray_with_curvature": ("falling", {"segments.0.ray": [1, 1]}),
    "ray_leaves_a_row": ("falling", {"problem.row_upper": affine([9])}),
    "ray_zero": ("falling", {"segments.0.ray": [0, 0]}),
    "violation_negative": ("hinge", {"segments.0.violation": [-1]}),
    "violation_of_hard_row": ("falling", {"segments.0.violation": [1]}),
    "violation_zero": ("hinge", {"segments.0.violation": [0]}),
    "feasible_point_removed": ("falling", {"segments.0.x0": DROP}),
    "feasible_point_infeasible": ("falling", {"segments.0.x0": [1, -1]}),
    "feasible_point_fails_in_places": ("falling", {"segments.0.x0": [0, 1]}),
    "feasible_point_moves_away": ("closing", {"segments.0.x1": [0, 3]}),
    "interval_longer_than_covered": ("budget", {"interval": [-2, 9], "asked": [-2, 9]}),
    "interval_shorter_than_covered": ("budget", {"interval": [-2, 7], "asked": [-2, 7]}),
    "interval_reversed": ("budget", {"interval": [8, -2], "asked": [8, -2]}),
    "interval_not_asked": ("budget", {"asked": [-2, 9]}),
    "interval_beyond_asked": ("budget", {"asked": [-2, 7], "stopped": "no time"}),
    "gap_between_pieces": ("budget", {"segments.1.hi": "1/2"}),
    "overlap_of_pieces": ("budget", {"segments.2.lo": "1/2"}),
    "piece_reversed": ("budget", {"segments.1.hi": -1, "segments.2.lo": -1}),
    "order_reversed": ("budget", {"segments": lambda old: old[::-1]}),
    "first_piece_stretched": ("budget", {"segments.0.hi": 1, "segments.1.lo": 1}),
    "last_bend_ignored": ("budget", {"segments.2.hi": 8, "segments.3": DROP}),
    "unbounded_stretched": ("closing", {"segments.0.hi": "1/2", "segments.1.lo": "1/2"}),
    "infeasible_stretched": ("closing", {"segments.0.hi": "1/4", "segments.1.lo": "1/4"}),
    "solvable_point_dropped": ("single_point", {"segments.1": DROP}),
    "solvable_point_stretched": ("single_point", {"segments.1.hi": "1/2", "segments.2.lo": "1/2"}),
    "solvable_point_shifted": ("single_point", {
        "segments.0.hi": "1/2", "segments.1.lo": "1/2", "segments.1.hi": "1/2", "segments.2.lo": "1/2"}),
    "jump_shifted": ("jump", {"segments.0.hi": "1/4", "segments.1.lo": "1/4"}),
    "infinite_end_inside": ("whole_line", {"segments.0.hi": "inf", "segments.1.lo": "-inf"}),
    "bends_of_the_line_ignored": ("whole_line", {"segments": lambda old: [
        {**old[1], "lo": "-inf", "hi": "inf"}]}),
    "no_pieces": ("budget", {"segments": []}),
    "P_indefinite": ("budget", {"problem.P": [[2, 3], [3, 2]]}),
    "P_not_symmetric": ("budget", {"problem.P.0.1": 1}),
    "P_ragged": ("budget", {"problem.P.0": [2]}),
    "F_changed": ("gram_budget", {"problem.P.gram.0.0": 2}),
    "weight_changed": ("weighted_budget", {"problem.P.weights.0": "1/2"}),
    "weight_negative": ("weighted_budget", {"problem.P.weights": [-1, 3, 2]}),
    "weight_missing": ("weighted_budget", {"problem.P.weights": ["1/3", "5/3"]}),
    "K_indefinite": ("pair_budget", {"problem.P.pair_gram.K.0.0": -1}),
    "pair_out_of_range": ("pair_budget", {"problem.P.pair_gram.pairs.1": [2, 4]}),
    "pair_negative": ("pair_budget", {"problem.P.pair_gram.pairs.1": [2, -1]}),
    "cost_changed": ("budget", {"problem.c.constant.0": -5}),
    "cost_slope_changed": ("jump", {"problem.c.slope.0": 4}),
    "row_changed": ("budget", {"problem.A.0.1": 2}),
    "row_limit_changed": ("budget", {"problem.row_upper.constant.0": 1}),
    "bound_changed": ("budget", {"problem.lower.constant.0": "1/10"}),
    "unused_bound_tightened": ("budget", {"problem.upper": affine(["inf", "5/2"])}),
    "unused_row_tightened": ("falling", {"problem.row_lower.constant.0": "1/2"}),
    "equality_no_longer_equal": ("shared", {"problem.row_upper.constant.0": 1}),
    "penalty_smaller": ("threshold", {"problem.penalty.constant.0": "1/2"}),
    "penalty_negative": ("threshold", {"problem.penalty.constant.0": -1}),
    "penalty_infinite": ("threshold", {"problem.penalty.constant.0": "inf"}),
    "penalty_falls": ("hinge", {"problem.penalty.slope.0": -1}),
    "soft_row_on_the_wrong_side": ("threshold", {"segments.0.rows.0": "above"}),
    "status_unknown": ("budget", {"segments.1.status": "solved"}),
    "state_unknown": ("budget", {"segments.1.variables.1": "free"}),
    "row_state_unknown": ("budget", {"segments.1.rows.0": ["upper"]}),
    "state_without_its_limit": ("budget", {"segments.1.variables.0": "upper"}),
    "states_singular": ("jump", {"segments.0.variables.0": "between"}),
    "states_too_few": ("budget", {"segments.1.variables": ["lower"]}),
    "vector_truncated": ("budget", {"segments.2.x0": ["-1/2"]}),
    "vector_missing": ("budget", {"segments.2.z1": DROP}),
    "number_nan": ("budget", {"segments.2.x0.0": math.nan}),
    "number_infinite": ("budget", {"segments.2.x0.0": math.inf}),
    "number_garbage": ("budget", {"segments.2.x0.0": "one half"}),
    "number_divided_by_zero": ("budget", {"segments.2.x0.0": "1/0"}),
    "number_true": ("budget", {"segments.2.x0.0": True}),
    "infinite_limit_moves": ("closing", {"problem.upper.slope.0": 1}),
    "lower_limit_plus_infinity": ("budget", {"problem.lower.constant.0": "inf"}),
    "constant_too_short": ("hinge", {"problem.constant": [1, 2]}),
    "format_wrong": ("budget", {"format": "pqp-problem"}),
    "version_wrong": ("budget", {"version": 2}),
    "version_true": ("budget", {"version": True}),
    "arithmetic_unknown": ("budget", {"arithmetic": "interval"}),
    "stopped_is_no_sentence": ("budget", {"stopped": 0}),
}  # fmt: skip


def exchange(segments, source, target):
    """The piece `source` on the ends of the piece `target`."""
    return {**segments[source], "lo": segments[target]["lo"], "hi": segments[target]["hi"]}


def change(document, place, value):
    *parents, last = place.split(".")
    for key in parents:
        document = document[int(key) if isinstance(document, list) else key]
    last = int(last) if isinstance(document, list) else last
    if value is DROP:
        del document[last]
    else:
        document[last] = value(document[last]) if callable(value) else value


def repr_start(value):
    return "huge" if isinstance(value, int) and value > 9 else repr(value)


def places(value, place=()):
    """Every place in a document, as a tuple of keys."""
    yield place
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        yield from places(child, (*place, key))


@pytest.mark.parametrize("example", EXAMPLES)
class TestTruth:
    def test_exact_document_is_accepted_without_deviation(self, example):
        assert check(EXAMPLES[example]()).deviation == 0

    def test_rounded_document_is_accepted_with_a_deviation_of_rounding(self, example):
        assert check(as_float(EXAMPLES[example]())).deviation < 1e-15

    def test_both_arithmetics_prove_the_same_breakpoints_and_statuses(self, example):
        exact, rounded = check(EXAMPLES[example]()), check(as_float(EXAMPLES[example]()))
        assert (exact.breakpoints, exact.statuses) == (rounded.breakpoints, rounded.statuses)

    def test_saved_certificate_is_json_and_passes_again(self, example, tmp_path):
        check(EXAMPLES[example]()).save(tmp_path / "proof.json")
        saved = json.loads((tmp_path / "proof.json").read_text(encoding="utf-8"))
        assert saved["certificate"]["pieces"] == check(saved).pieces

    def test_document_is_left_as_it_was(self, example):
        document = EXAMPLES[example]()
        check(document)
        assert document == EXAMPLES[example]()


@EXACT_AND_FLOAT
@pytest.mark.parametrize("untruth", UNTRUTHS)
def test_untruth_is_found(untruth, form):
    example, changes = UNTRUTHS[untruth]
    document = form(EXAMPLES[example]())
    check(document)
    for place, value in changes.items():
        change(document, place, value)
    with pytest.raises(CertificateError):
        check(document)


@given(data=st.data(), delta=st.fractions().filter(bool))
def test_any_perturbed_end_or_number_of_an_optimal_piece_is_found(data, delta):
    document = EXAMPLES[data.draw(st.sampled_from(sorted(EXAMPLES)))]()
    i = data.draw(st.integers(0, len(document["segments"]) - 1))
    segment = document["segments"][i]
    vectors = VECTORS if segment["status"] == "optimal" else ()
    spots = [(segment, key) for key in ("lo", "hi") if segment[key] not in ("inf", "-inf")]
    spots += [(segment[key], j) for key in vectors for j in range(len(segment[key]))]
    owner, key = data.draw(st.sampled_from(spots))
    owner[key] = str(Fraction(owner[key]) + delta)
    with pytest.raises(CertificateError):
        check(document)


@given(data=st.data(), garbage=st.sampled_from([*GARBAGE, DROP]))
def test_garbage_anywhere_raises_nothing_but_a_certificate_error(data, garbage):
    document = EXAMPLES[data.draw(st.sampled_from(sorted(EXAMPLES)))]()
    *parents, last = data.draw(st.sampled_from([place for place in places(document) if place]))
    owner = document
    for key in parents:
        owner = owner[key]
    owner.pop(last) if garbage is DROP else owner.__setitem__(last, garbage)
    with contextlib.suppress(CertificateError):
        check(document)


@pytest.mark.parametrize("document", [*GARBAGE, {"format": "pqp-path"}], ids=repr_start)
def test_what_is_no_path_document_is_refused(document):
    with pytest.raises(CertificateError):
        check(document)


def test_message_names_the_piece_the_entry_and_both_numbers():
    document = budget()
    document["segments"][2]["x0"][1] = "500000000001/1000000000000"
    with refuses(
        CertificateError, "segments[2] on [1, 5]: x0[1]", found="~0.500000, which is off by 1/1000000000000"
    ):
        check(document)


def test_certificate_states_the_exact_intervals_and_breakpoints():
    proof = check(as_float(shared()))
    assert proof.breakpoints == (Fraction(1, 3),)
    assert proof.statuses == ((-1, 1, "optimal"),)
    assert "optimal from -1 to 1" in str(proof)


def test_certificate_tells_what_a_long_proof_cost():
    proof = check(shared())
    assert proof.seconds > 0
    assert "The proof took 75 s." in str(dataclasses.replace(proof, seconds=75.2))
    assert "took" not in str(dataclasses.replace(proof, seconds=0.1))


def test_infinite_ends_are_floats():
    assert check(EXAMPLES["whole_line"]()).interval == (-math.inf, math.inf)


class TestFloat:
    @pytest.mark.parametrize(("shift", "is_accepted"), [(1e-9, True), (-1e-9, True), (1e-5, False)])
    def test_breakpoint_may_be_off_by_rounding_only(self, shift, is_accepted):
        document = as_float(shared())
        document["segments"][0]["hi"] = document["segments"][1]["lo"] = 1 / 3 + shift
        with contextlib.nullcontext() if is_accepted else pytest.raises(CertificateError):
            assert check(document).breakpoints == (Fraction(1, 3),)

    @pytest.mark.parametrize(("shift", "is_accepted"), [(1e-9, True), (1e-5, False)])
    def test_numbers_may_be_off_by_rounding_only(self, shift, is_accepted):
        document = as_float(shared())
        document["segments"][1]["x1"][0] += shift
        with contextlib.nullcontext() if is_accepted else pytest.raises(CertificateError):
            assert check(document).deviation > shift / 3

    def test_end_asked_for_may_miss_the_exact_bend_by_rounding_and_the_certificate_says_so(self):
        document = as_float(jump())
        document["segments"].pop()
        document["segments"][0]["hi"] = end = math.nextafter(1 / 3, 1)
        document["interval"] = document["asked"] = [-1, end]
        assert check(document).interval == (-1, Fraction(1, 3))

    def test_end_asked_for_is_not_moved_by_more_than_rounding(self):
        document = as_float(jump())
        document["segments"].pop()
        document["segments"][0]["hi"] = end = 1 / 3 + 1e-6
        document["interval"] = document["asked"] = [-1, end]
        with pytest.raises(CertificateError, match="no mu near"):
            check(document)

    def test_end_where_a_stop_cut_the_path_is_moved_to_the_exact_bend(self):
        document = as_float(jump())
        document["segments"].pop()
        document["segments"][0]["hi"] = end = math.nextafter(1 / 3, 1)
        document |= {"interval": [-1, end], "stopped": "no time left"}
        assert check(document).interval == (-1, Fraction(1, 3))


@EXACT_AND_FLOAT
class TestPoints:
    def test_jump_may_pass_through_a_piece_of_no_length(self, form):
        document = jump()
        document["segments"].insert(1, {**document["segments"][1], "hi": "1/3"})
        assert check(form(document)).breakpoints == (Fraction(1, 3),)

    def test_single_mu_may_be_asked_for(self, form):
        piece = budget()["segments"][2] | {"lo": 2, "hi": 2}
        assert check(form(path(budget()["problem"], (2, 2), [piece]))).interval == (2, 2)

    def test_multiplier_may_have_any_sign_where_the_bounds_meet(self, form):
        """min −x on 0 ≤ x ≤ mu at mu = 0: x = 0 is the only point, although z = −1 at its lower bound."""
        problem = {"P": [[0]], "c": affine([-1]), "lower": affine([0]), "upper": affine([0], [1])}
        assert check(form(path(problem, (0, 0), [optimal(0, 0, ("lower", ""), z0=[-1])]))).pieces == 1

    def test_multiplier_may_not_have_any_sign_where_they_do_not(self, form):
        problem = {"P": [[0]], "c": affine([-1]), "lower": affine([0]), "upper": affine([0], [1])}
        with refuses(
            CertificateError, "segments[0] on [1, 1]", found="nowhere (multiplier of x[0] ≥ 0 fails)"
        ):
            check(form(path(problem, (1, 1), [optimal(1, 1, ("lower", ""), z0=[-1])])))


class TestStopped:
    @pytest.mark.parametrize("stopped", ["no time left", None])
    def test_path_without_pieces_is_not_certified(self, stopped):
        document = budget() | {"segments": [], "interval": [-2, -2], "stopped": stopped}
        with refuses(CertificateError, "segments"):
            check(document if stopped else document | {"asked": [-2, -2]})

    def test_path_may_stop_inside_a_piece(self):
        document = budget()
        document["segments"] = document["segments"][:2]
        document["segments"][1]["hi"] = "1/2"
        document |= {"interval": [-2, "1/2"], "stopped": "no time left"}
        assert check(document).interval == (-2, Fraction(1, 2))

    def test_path_may_stop_where_an_infeasible_piece_ends(self):
        document = budget() | {"interval": [-2, 0], "stopped": "no time left"}
        document["segments"] = document["segments"][:1]
        assert check(document).statuses == ((-2, 0, "infeasible"),)
        with pytest.raises(CertificateError, match="nothing is proved at mu = 0"):
            check(document | {"asked": [-2, 0], "stopped": None})


class TestSoftRows:
    @pytest.mark.parametrize(("lo", "hi", "is_accepted"), [(-3, -1, True), (-1, "-1/2", False)])
    def test_crossed_limits_cost_the_larger_violation(self, lo, hi, is_accepted):
        """Limits 1 ≤ x ≤ −1 with penalty 1 cost 1 + |x|: x = mu + 1 is optimal up to mu = −1, not up to 0."""
        problem = threshold()["problem"] | {"row_lower": affine([1]), "row_upper": affine([-1])}
        document = path(problem, (lo, hi), [optimal(lo, hi, ("between", "below"), x0=[1], x1=[1], y0=[1])])
        with contextlib.nullcontext() if is_accepted else pytest.raises(CertificateError):
            check(document)

    def test_row_without_price_does_not_matter(self):
        problem = threshold()["problem"] | {"penalty": affine([0])}
        check(path(problem, (-9, 9), [optimal(-9, 9, ("between", "off"), x1=[1])]))


def test_value_that_is_not_continuous_is_found():
    """No two optimal pieces can show this, so the last line of defence is tested by itself."""
    problem = read_problem(jump()["problem"])
    nothing = AffineBlock.of([], [])
    one, zero = PrimalVector({0: Affine(fmpq(1), fmpq(0))}, nothing), PrimalVector({}, nothing)
    for mu, is_accepted in ((fmpq(1, 3), True), (fmpq(1, 2), False)):
        left = ProvedPiece("left", "optimal", None, mu, Span(None, mu), one)
        right = ProvedPiece("right", "optimal", mu, None, Span(mu, None), zero)
        wrong = refuses(CertificateError, "right", match="right must continue the optimal value of left")
        with contextlib.nullcontext() if is_accepted else wrong:
            require_continuity(problem, left, right)


SMALL = st.integers(-2, 2)
STATES = st.tuples(
    st.sampled_from(["between", "lower", "upper", "fixed", "zero"]),
    st.sampled_from(["off", "lower", "upper", "equal", "below", "above"]),
)


def limit(infinite):
    return st.one_of(st.just(affine([infinite])), st.builds(lambda a, b: affine([a], [b]), SMALL, SMALL))


SMALL_PROBLEMS = st.fixed_dictionaries({
    "P": st.integers(0, 2).map(lambda p: [[p]]),
    "c": st.builds(lambda a, b: affine([a], [b]), SMALL, SMALL),
    "A": SMALL.map(lambda a: [[a]]),
    "row_lower": limit("-inf"), "row_upper": limit("inf"), "lower": limit("-inf"), "upper": limit("inf"),
    "penalty": limit("inf"),
})  # fmt: skip


def value_at(datum, mu):
    constant, slope = datum["constant"][0], datum["slope"][0]
    return float(constant) if isinstance(constant, str) else constant + slope * mu


def cost(problem, x, mu):
    """The objective of a problem with one variable and one row by its definition, infinite if not allowed."""
    P, c, a = problem["P"][0][0], value_at(problem["c"], mu), problem["A"][0][0]
    limits = (value_at(problem[key], mu) for key in ("lower", "upper", "row_lower", "row_upper", "penalty"))
    lower, upper, row_lower, row_upper, penalty = limits
    violation = max(0, row_lower - a * x, a * x - row_upper)
    if not lower <= x <= upper or violation == math.inf or (penalty == math.inf and violation > 0):
        return math.inf
    if penalty < 0:
        return -math.inf
    return Fraction(P, 2) * x * x + c * x + (penalty * violation if violation else 0)


def candidates(problem, mu):
    """Every x where the cost can be least: limits, kinks, stationary points; and two far away."""
    P, c, a = problem["P"][0][0], value_at(problem["c"], mu), problem["A"][0][0]
    row_lower, row_upper, penalty = (value_at(problem[k], mu) for k in ("row_lower", "row_upper", "penalty"))
    kinks = [row_lower, row_upper, (row_lower + row_upper) / Fraction(2)] if a else []
    slopes = [c, c + penalty * a, c - penalty * a] if P and penalty < math.inf else [c] if P else []
    points = [value_at(problem["lower"], mu), value_at(problem["upper"], mu), 10**6, -(10**6)]
    points += [kink / Fraction(a) for kink in kinks] + [-slope / Fraction(P) for slope in slopes]
    return [Fraction(x) for x in points if math.isfinite(x)]


@settings(max_examples=400)
@given(problem=SMALL_PROBLEMS, lo=SMALL, length=st.integers(0, 2), states=STATES)
def test_what_is_accepted_is_optimal_by_enumeration(problem, lo, length, states):
    """The states may be nonsense, but the numbers follow from them: only the optimality conditions object."""
    piece = optimal(lo, lo + length, states)
    with contextlib.suppress(CertificateError):
        active = ActiveSet(read_problem(problem))
        active.set_all(piece, "here")
        solution = derive(active, "here")
        for name, line in (("x", solution.x_of(0)), ("y", solution.y_of(0)), ("z", solution.z_of(0))):
            piece |= {f"{name}0": [str(line.constant)], f"{name}1": [str(line.slope)]}
        check(path(problem, (lo, lo + length), [piece]))
        for mu in (Fraction(lo), Fraction(2 * lo + length, 2), Fraction(lo + length)):
            x = Fraction(piece["x0"][0]) + mu * Fraction(piece["x1"][0])
            least = min(cost(problem, other, mu) for other in [x, *candidates(problem, mu)])
            assert math.isfinite(least)
            assert cost(problem, x, mu) == least
