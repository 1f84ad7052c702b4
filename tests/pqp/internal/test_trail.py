"""trail: a trail of changes says the same as dense segments, in memory, in files and under proof."""

import copy
import dataclasses
import functools
import math
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, eye

import pqp
import pqp.revised.postsolve
from pqp import mu
from pqp.certificate import check
from pqp.errors import CertificateError, FileFormatError
from pqp.files import load_document, load_path
from pqp.io.writing import path_document, write_document
from pqp.records.states import Basis, State
from pqp.records.trail import Trail, trail_of
from tests.pqp import compacting
from tests.pqp.compacting import compacted
from tests.pqp.test_certificate import DROP, change
from tests.pqp.test_images import ranking_path
from tests.refusals import refuses
from tests.strategies import for_all, instances


@pytest.fixture(autouse=True)
def simple_completion(monkeypatch):
    """Trails made here state all unknowns, so that a simple completion will do whatever the engine's is."""
    monkeypatch.setattr(pqp.revised.postsolve, "completion", compacting.completion)


def choice(rows: int = 30, columns: int = 5, seed: int = 0) -> pqp.ParametricQP:
    """min ½|w|² + mu Σ max(0, 1 − a w): the problem compact paths were made for."""
    generator = np.random.default_rng(seed)
    A = generator.integers(-2, 3, (rows, columns))
    A[A @ generator.normal(size=columns) < 0.7 * generator.normal(size=rows)] *= -1
    return pqp.ParametricQP(np.eye(columns, dtype=int), [0] * columns, A=A, row_lower=1, penalty=mu)


def total_variation(size: int) -> pqp.ParametricQP:
    """min ½|x − y|² + mu Σ|x_i+1 − x_i|: sparse, and most lines hold on many pieces."""
    noise, one = np.random.default_rng(0).normal(size=size), csr_array(eye(size))
    return pqp.ParametricQP(one, -noise, A=one[1:] - one[:-1], row_lower=0, row_upper=0, penalty=mu)


def boxed() -> pqp.ParametricQP:
    """Variables at either bound, rows of all kinds, infeasible on both sides."""
    return pqp.ParametricQP(
        [[2, 1, 0], [1, 2, 0], [0, 0, 0]], [mu, -mu, 1 - mu], A=[[1, 1, 1], [1, -1, 0], [0, 1, 1]],
        row_lower=[mu - 3, -2, -1], row_upper=[np.inf, 2, 1], lower=[-1, -1, -2], upper=[2, 3, 1],
        penalty=[None, 1, mu + 5],
    )  # fmt: skip


CASES = {
    "choice": (choice(), (0, 9)),
    "choice_to_infinity": (choice(12, 3, 1), (0, math.inf)),
    "boxed": (boxed(), (-9, 9)),
}


@pytest.fixture(params=CASES)
def dense(request) -> pqp.Path:
    problem, interval = CASES[request.param]
    return pqp.solve_path(problem, interval, method="tableau")


class TestTrail:
    def trail(self, *pieces) -> Trail:
        return trail_of(choice(6, 2), np.full(6, State.OFF), lambda *_: None, pieces)

    def test_states_are_those_after_all_changes_up_to_the_piece(self):
        generator = np.random.default_rng(0)
        pieces, expected = [], []
        states = np.full(6, State.OFF, dtype=np.int8)
        for _ in range(200):
            changed = generator.permutation(6)[: generator.integers(0, 3)]
            states = states.copy()
            states[changed] = generator.integers(0, len(State), len(changed))
            pieces.append((changed, states[changed], [], []))
            expected.append(states)
        trail = self.trail(*pieces)
        for number in generator.permutation(200):
            assert trail.states(number).tolist() == expected[number].tolist()

    def test_unknowns_are_what_was_added(self):
        trail = self.trail(([], [], [1, 4], [[1, 2], [3, 4]]), ([0], [State.UPPER], [2], [[5, 6]]))
        items, values = trail.unknowns(1)
        assert (items.tolist(), values.tolist()) == ([2], [[5, 6]])

    @pytest.mark.parametrize("number", [-1, 1])
    def test_piece_that_is_not_there_is_refused(self, number):
        trail = self.trail(([], [], [], []))
        with pytest.raises(IndexError, match=f"pieces 0 to 0, not {number}"):
            trail.states(number)

    def test_trail_is_packed_and_cannot_be_changed(self):
        trail = self.trail(([0, 3], [1, 2], [2], [[5, 6]]))
        lines, piece = 4 + 16 + 4, 8 + 8 + 4
        assert trail.nbytes == 6 + 2 * (4 + 1) + 2 * 8 + lines + piece
        with pytest.raises(ValueError, match="read-only"):
            trail.lines.values[0] = 0

    def test_one_piece_is_completed_once_for_all_its_parts(self):
        path, calls = compacted(pqp.solve_path(choice(), (0, 2), method="tableau")), []
        trail = path.segments[0].trail
        counted = dataclasses.replace(
            trail, complete=lambda *args: (calls.append(1), trail.complete(*args))[1]
        )
        segment = dataclasses.replace(path.segments[0], trail=counted)
        assert (segment.x0 is not None, segment.y1 is not None, segment.z0 is not None) == (True,) * 3
        assert len(calls) == 1


class TestSegment:
    def test_compact_segments_read_like_dense_ones(self, dense):
        for one, other in zip(dense.segments, compacted(dense).segments, strict=True):
            assert (one.basis, one.status) == (other.basis, other.status)
            for name in ("x0", "x1", "y0", "y1", "z0", "z1") if one.status == "optimal" else ():
                np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-12)
            if one.status == "optimal":
                assert other.objective == pytest.approx(one.objective, abs=1e-9)

    def test_paths_answer_alike(self, dense):
        compact = compacted(dense)
        assert (compact.breakpoints, compact.intervals) == (dense.breakpoints, dense.intervals)
        assert len(compact.jumps) == len(dense.jumps)
        lo, hi = next((s.lo, s.hi) for s in dense.segments if s.status == "optimal")
        mus = np.linspace(lo, hi, 7)
        np.testing.assert_allclose(compact.x(mus), dense.x(mus), atol=1e-12)
        assert compact.to_frame().shape == dense.to_frame().shape

    def test_replaced_segment_stays_compact(self, dense):
        segment = next(s for s in compacted(dense).segments if s.status == "optimal")
        shorter = dataclasses.replace(segment, hi=segment.lo)
        assert (shorter.hi, shorter.trail, shorter.number) == (segment.lo, segment.trail, segment.number)
        assert shorter.__dict__["x"] is None
        assert shorter.x0.tolist() == segment.x0.tolist()

    def test_solutions_cannot_be_changed(self, dense):
        segment = next(s for s in compacted(dense).segments if s.status == "optimal")
        with pytest.raises(ValueError, match="read-only"):
            segment.x0[0] = 1


@pytest.mark.parametrize("backwards", [False, True], ids=["rightwards", "leftwards"])
class TestFiles:
    @pytest.mark.parametrize("suffix", [".json", ".npz"])
    def test_compact_path_is_read_back_compact_and_unchanged(self, dense, backwards, suffix, tmp_path):
        path = compacted(dense, backwards)
        path.save(tmp_path / f"path{suffix}")
        found = load_path(tmp_path / f"path{suffix}")
        assert path_document(found) == path_document(path)
        assert all(s.trail is not None for s in found.segments if s.status == "optimal")
        assert check(load_document(tmp_path / f"path{suffix}")).pieces == len(path.segments)

    def test_dense_and_compact_segments_may_alternate(self, dense, backwards, tmp_path):
        compact = compacted(dense, backwards)
        pairs = zip(dense.segments, compact.segments, strict=True)
        mixed = dataclasses.replace(compact, segments=tuple(pair[k % 2] for k, pair in enumerate(pairs)))
        mixed.certify()
        for name in ("path.json", "path.npz"):
            mixed.save(tmp_path / name)
            assert path_document(load_path(tmp_path / name)) == path_document(mixed)

    def test_certificate_of_a_compact_path_is_saved(self, dense, backwards, tmp_path):
        compacted(dense, backwards).certify().save(tmp_path / "proof.json")
        assert load_path(tmp_path / "proof.json").certify().pieces == len(dense.segments)


@for_all(instance=instances())
def test_compact_path_proves_what_the_dense_one_does(instance):
    path = pqp.solve_path(*instance, method="tableau")
    if any(segment.status == "optimal" for segment in path.segments):
        proof, other = path.certify(), compacted(path).certify()
        assert (other.statuses, other.breakpoints) == (proof.statuses, proof.breakpoints)


@functools.cache
def document() -> dict:
    """A compact path as plain data: min ½|w|² + mu Σ max(0, 1 − a w) for 30 rows."""
    path = compacted(pqp.solve_path(*CASES["choice"], method="tableau"))
    found = path_document(path)
    return found | {"segments": list(found["segments"])}


def first_change(kind: str = "rows") -> tuple[int, str, str]:
    """The first segment that changes a state, and what it changes to what."""
    for number, segment in enumerate(document()["segments"]):
        for label, state in segment["changes"][kind].items():
            return number, label, state
    raise AssertionError("the path has no bend")


NUMBER, LABEL, STATE = first_change()
HERE = f"segments.{NUMBER}"
UNTRUTHS = {
    "change_missing": {f"{HERE}.changes.rows": {}},
    "change_of_another_row": {f"{HERE}.changes.rows": lambda old: {str((int(LABEL) + 1) % 30): STATE}},
    "change_to_another_state": {f"{HERE}.changes.rows.{LABEL}": "off" if STATE != "off" else "below"},
    "change_too_early": {f"segments.{NUMBER - 1}.changes.rows.{LABEL}": STATE},
    "change_added": {f"{HERE}.changes.rows": lambda old: old | {str((int(LABEL) + 1) % 30): "off"}},
    "change_of_a_variable": {f"{HERE}.changes.variables": {"0": "zero"}},
    "change_to_no_state": {f"{HERE}.changes.rows.{LABEL}": "free"},
    "change_to_a_state_it_cannot_have": {f"{HERE}.changes.rows.{LABEL}": "upper"},
    "change_of_no_row": {f"{HERE}.changes.rows": {"30": "off"}},
    "change_of_a_negative_row": {f"{HERE}.changes.rows": {"-1": "off"}},
    "changes_without_states": {"states": DROP},
    "first_state_wrong": {f"states.rows.{LABEL}": "off"},
    "first_states_too_few": {"states.rows": lambda old: old[:-1]},
    "moving_value_wrong": {f"{HERE}.moving.x0.1": lambda old: old + 1e-3},
    "moving_slope_wrong": {f"{HERE}.moving.x1.1": lambda old: old + 1e-3},
    "moving_multiplier_wrong": {f"{HERE}.moving.y0.0": lambda old: old + 1e-3},
    "moving_value_nan": {f"{HERE}.moving.x0.1": math.nan},
    "moving_value_missing": {f"{HERE}.moving.x0": lambda old: old[:-1]},
    "moving_variables_swapped": {f"{HERE}.moving.variables": lambda old: [old[1], old[0], *old[2:]]},
    "moving_row_out_of_range": {f"{HERE}.moving.rows.0": 30},
    "moving_removed": {f"{HERE}.moving": DROP},
    "end_shifted": {
        f"{HERE}.hi": lambda old: old + 1e-4, f"segments.{NUMBER + 1}.lo": lambda old: old + 1e-4},
    "beginning_shifted": {
        f"{HERE}.lo": lambda old: old - 1e-4, f"segments.{NUMBER - 1}.hi": lambda old: old - 1e-4},
    "piece_dropped": {HERE: DROP},
    "pieces_swapped": {"segments": lambda old: [
        *old[:NUMBER], old[NUMBER] | {"changes": old[NUMBER + 1]["changes"]},
        old[NUMBER + 1] | {"changes": old[NUMBER]["changes"]}, *old[NUMBER + 2:]]},
    "row_changed": {f"problem.A.{LABEL}.0": lambda old: old + 1},
    "limit_changed": {f"problem.row_lower.constant.{LABEL}": 2},
    "penalty_changed": {f"problem.penalty.slope.{LABEL}": 2},
}  # fmt: skip


@pytest.mark.parametrize("untruth", UNTRUTHS)
def test_untruth_in_a_compact_path_is_found(untruth):
    wrong = copy.deepcopy(document())
    check(wrong)
    for place, value in UNTRUTHS[untruth].items():
        change(wrong, place, value)
    with pytest.raises(CertificateError):
        check(wrong)


def test_any_single_change_left_out_is_found_unless_the_old_state_holds_as_well():
    whole = document()
    A, limit = np.array(whole["problem"]["A"], dtype=float), whole["problem"]["row_lower"]["constant"]
    states, refused = list(whole["states"]["rows"]), 0
    for number, segment in enumerate(whole["segments"]):
        for label in segment["changes"]["rows"]:
            wrong = copy.deepcopy(whole)
            del wrong["segments"][number]["changes"]["rows"][label]
            try:
                check(wrong)
            except CertificateError:
                refused += 1
            else:
                # limits meet: the row is at its limit on the whole piece, so nothing untrue is stated
                x0, x1 = segment["moving"]["x0"], segment["moving"]["x1"]
                assert states[int(label)] == "lower"
                assert A[int(label)] @ x0 == pytest.approx(limit[int(label)], abs=1e-12)
                assert A[int(label)] @ x1 == pytest.approx(0, abs=1e-12)
        for label, state in segment["changes"]["rows"].items():
            states[int(label)] = state
    assert refused > 50


WRONG_FILES = {
    "states": (DROP, "states must be an object"),
    "states.rows.0": ("free", r'states\.rows\[0\] must be .* got "free"'),
    f"{HERE}.changes": ([], "changes must be an object"),
    f"{HERE}.changes.rows": ({"x": "off"}, r'changes.rows: "x" must be an index below 30'),
    f"{HERE}.changes.rows.{LABEL}": ("between", r'must be "off" or .* got "between"'),
    f"{HERE}.moving.rows": ([0, 0], "moving.rows must hold different indices below 30"),
    f"{HERE}.moving.variables": ([-1], "moving.variables must hold indices"),
    f"{HERE}.moving.x0": ([1], "moving.x0 must have 5 entries, got 1"),
    f"{HERE}.moving.z0": ([1], 'the key "z0" is not known'),
    f"{HERE}.x0": ([1], 'the key "x0" is not known'),
}


@pytest.mark.parametrize("place", WRONG_FILES)
def test_malformed_compact_file_is_refused(place, tmp_path):
    value, reason = WRONG_FILES[place]
    wrong = copy.deepcopy(document())
    change(wrong, place, value)
    write_document(wrong, tmp_path / "wrong.json")
    with pytest.raises(FileFormatError, match=rf"wrong\.json.*{reason}"):
        load_path(tmp_path / "wrong.json")


@pytest.mark.parametrize(
    ("block", "value", "wrong"),
    [
        (
            "changes_rows_lengths",
            lambda old: old[:-1],
            {"argument": "changes_rows_lengths", "expected": "62"},
        ),
        ("changes_rows_states", lambda old: old + 99, {"argument": "changes_rows_states"}),
        ("moving_x0", lambda old: old[:-1], {"argument": "moving_x0", "found": "one less"}),
        ("moving_variables_spans", lambda old: 0 * old, {"argument": "moving_variables_spans"}),
        ("moving_variables_spans", lambda old: old * 1.0, {"argument": "moving_variables_spans"}),
        (
            "moving_variables_begun",
            lambda old: -old,
            {"argument": "moving_variables_begun", "expected": "62"},
        ),
        (
            "moving_y1",
            lambda old: np.full_like(old, np.nan),
            {"argument": "segments[1].moving.y1", "found": "(1,)"},
        ),
    ],
)
def test_malformed_block_is_refused(block, value, wrong, tmp_path):
    compacted(pqp.solve_path(*CASES["choice"], method="tableau")).save(tmp_path / "path.npz")
    with np.load(tmp_path / "path.npz") as archive:
        blocks = {name: archive[name] for name in archive.files}
    np.savez(tmp_path / "path.npz", **blocks | {block: value(blocks[block])})
    if wrong.get("found") == "one less":
        wrong = wrong | {"found": f"({len(blocks[block]) - 1},)"}
    with refuses(FileFormatError, **wrong):
        load_path(tmp_path / "path.npz")


def test_an_npz_file_keeps_a_line_once_that_holds_on_several_segments(tmp_path):
    path = pqp.solve_path(total_variation(450), (0, 100))
    document = path_document(path)
    path.save(tmp_path / "path.npz")
    with np.load(tmp_path / "path.npz") as archive:
        kept, spans = archive["moving_y0"], archive["moving_rows_spans"]
    stated = sum(len(s["moving"]["y0"]) for s in document["segments"] if "moving" in s)
    assert len(kept) < stated / 5
    assert spans.sum() == stated
    assert path_document(load_path(tmp_path / "path.npz")) == document


def test_segment_of_a_trail_keeps_no_vectors():
    path = compacted(pqp.solve_path(*CASES["choice"], method="tableau"))
    path.to_frame()
    kept = [value for segment in path.segments for value in segment.__dict__.values()]
    assert not any(isinstance(value, np.ndarray | Basis) for value in kept)


def test_a_trail_survives_pickle():
    path = ranking_path(pieces=70)
    path.x(0.01)
    again = pickle.loads(pickle.dumps(path))
    for C in (0.0, 0.01, float(path.hi)):
        np.testing.assert_array_equal(again.x(C), path.x(C))
    assert again.segments[0].trail is again.segments[-1].trail is not None
