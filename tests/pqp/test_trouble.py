"""Where float64 finds no answer: an error with the good part, or a path that says where it is unverified."""

import numpy as np
import pytest

import pqp
from pqp import mu
from pqp.certificate import check
from pqp.cli import main
from pqp.cli.program import FAILED
from pqp.errors import CertificateError, NoSolutionError, NumericalTroubleError, ProblemError
from pqp.io.writing import path_document
from pqp.lcp.crisscross import Cycled
from pqp.revised import exact_repair
from pqp.revised import runner as revised_runner
from pqp.revised.trace import Tracer
from pqp.tableau import trace as tableau
from tests.engines import EVERY_ENGINE, REVISED, TABLEAU
from tests.refusals import refuses

# Infeasible before 0, bends at 1 and 5.
BUDGET = pqp.ParametricQP([[2, 0], [0, 2]], [-4, -6], A=[[1, 1]], row_upper=mu, lower=0)
DIRECTIONS = ("left-to-right", "right-to-left")


def blocked(monkeypatch, at, before, behind):
    """Let no trace pass a mu: it ends before or behind it, depending on where it comes from."""
    run = Tracer.run

    def failing(tracer, stop, *others, **options):
        if min(tracer.mu, stop) < at < max(tracer.mu, stop):
            if not before <= tracer.mu <= behind:
                run(tracer, before if tracer.mu < at else behind, *others, **options)
            raise NumericalTroubleError(
                "rounding wins", remedy="use {setting}", setting=("arithmetic", "exact")
            )
        return run(tracer, stop, *others, **options)

    monkeypatch.setattr(Tracer, "run", failing)
    monkeypatch.setattr(exact_repair, "MOST_PAIRS", 0)
    monkeypatch.setattr(revised_runner._Run, "_extend_neighbours", lambda run, a, b: None)
    monkeypatch.setattr(revised_runner._Run, "_restart", lambda run, a, b: None)


@pytest.fixture
def gap(monkeypatch):
    """No trace passes mu = 3.3 from 3 to 4."""
    blocked(monkeypatch, 3.3, 3.0, 4.0)


@pytest.fixture(params=DIRECTIONS)
def marked(gap, request):
    """A path with a gap."""
    return pqp.solve_path(BUDGET, (-2, 8), on_trouble="mark", direction=request.param)


@pytest.mark.usefixtures("gap")
def test_error_carries_the_pieces_on_both_sides_of_the_gap():
    with pytest.raises(NumericalTroubleError, match="rounding wins") as caught:
        pqp.solve_path(BUDGET, (-2, 8))
    assert [(s.lo, s.hi) for s in caught.value.segments] == [(-2, 0), (0, 1), (1, 3), (4, 5), (5, 8)]
    assert caught.value.interval == (3, 4)


class TestMarkedPath:
    def test_unverified_piece_fills_the_gap_and_names_the_reason(self, marked):
        assert [(s.lo, s.hi, s.status) for s in marked.segments] == [
            (-2, 0, "infeasible"),
            (0, 1, "optimal"),
            (1, 3, "optimal"),
            (3, 4, "unverified"),
            (4, 5, "optimal"),
            (5, 8, "optimal"),
        ]
        assert "rounding wins" in marked.segments[3].reason
        assert marked.segments[3].basis is None
        assert not marked.segments[3].unique

    def test_shared_ends_belong_to_the_verified_neighbours(self, marked):
        assert "optimal on [0.0, 3.0]; unverified on (3.0, 4.0); optimal on [4.0, 8.0]" in repr(marked)
        assert [marked(at, side).status for at in (3, 4) for side in ("left", "right")] == ["optimal"] * 4
        assert marked(3).x.tolist() == [1, 2]

    def test_solution_there_is_refused_with_the_reason(self, marked):
        point = marked(3.5)
        assert point.status == "unverified"
        assert "unverified" in repr(point)
        for asked in (
            lambda: point.x,
            lambda: point.objective,
            lambda: marked.x([1, 3.5]),
            lambda: marked.objective(3.5),
            lambda: marked.derivative(3.5),
            lambda: marked.segments[3].objective,
        ):
            with pytest.raises(NoSolutionError, match=r"unverified from mu = 3\.0 to 4\.0 \(rounding wins"):
                asked()

    def test_what_might_lie_there_is_not_answered(self, marked):
        with pytest.raises(NoSolutionError, match="the answer may lie there"):
            marked.minimize([1, 1])
        with pytest.raises(NoSolutionError, match="the answer may lie there"):
            marked.where(equals=1, variable=0)

    def test_table_and_picture_show_it(self, marked):
        frame = marked.to_frame()
        assert frame[frame.status == "unverified"][["mu", "x1"]].isna().sum().tolist() == [0, 2]
        axes = marked.plot()
        assert "unverified" in [text.get_text() for text in axes.get_legend().get_texts()]

    @pytest.mark.parametrize("ending", ["json", "npz"])
    def test_it_is_saved_and_read_back(self, marked, tmp_path, ending):
        marked.save(tmp_path / f"path.{ending}")
        again = pqp.load_path(tmp_path / f"path.{ending}")
        assert repr(again) == repr(marked)
        assert again.segments[3].reason == marked.segments[3].reason
        assert again(2).x.tolist() == marked(2).x.tolist()

    def test_it_has_no_certificate(self, marked, tmp_path):
        for path in (marked, pqp.Path(BUDGET, marked.segments[3:4], (3.0, 4.0), marked.arithmetic)):
            with refuses(CertificateError, "segments", found="3.0 to 4.0"):
                path.certify()

    def test_command_names_the_interval_that_is_not_proved(self, marked, tmp_path, capsys):
        marked.save(tmp_path / "path.json")
        assert main(["certify", str(tmp_path / "path.json")]) == FAILED
        assert "unverified from mu = 3.0 to 4.0: rounding wins" in capsys.readouterr().err

    def test_checker_itself_does_not_know_such_a_piece(self, marked):
        with pytest.raises(CertificateError, match="unverified"):
            check(path_document(marked))

    def test_it_says_how_every_piece_was_found(self, marked):
        rungs = [marked.info.rung_of(piece) for piece in marked.segments]
        assert rungs[3] is None
        assert set(rungs) - {None} <= set(marked.info.rungs)
        assert len(set(rungs)) > 2

    def test_extension_over_a_gap_goes_on_from_it(self, gap, monkeypatch):
        part = pqp.solve_path(BUDGET, (-2, 3.6), on_trouble="mark")
        assert [s.status for s in part.segments] == ["infeasible", "optimal", "optimal", "unverified"]
        assert part.extend(8, on_trouble="mark").segments[3].status == "unverified"
        with pytest.raises(NumericalTroubleError):
            part.extend(8)
        monkeypatch.undo()
        whole = part.extend(8)
        assert [(s.lo, s.hi) for s in whole.segments] == [(-2, 0), (0, 1), (1, 3), (3, 5), (5, 8)]
        whole.certify()


@pytest.mark.parametrize("method", ["revised", "tableau"])
def test_path_without_any_verified_piece_is_unverified_throughout(method, monkeypatch):
    def fail(*arguments, **options):
        raise NumericalTroubleError("nothing works")
        yield

    monkeypatch.setattr(exact_repair, "MOST_PAIRS", 0)
    monkeypatch.setattr(revised_runner, "find_start", lambda *arguments: next(fail()))
    monkeypatch.setattr(tableau, "criss_cross", fail)
    path = pqp.solve_path(BUDGET, (1, 8), method=method, on_trouble="mark")
    assert [tuple(interval) for interval in path.intervals] == [(1, 8, "unverified")]
    assert "no verified solution" in [text.get_text() for text in path.plot().texts]
    with pytest.raises(NoSolutionError):
        _ = path(1).x


def test_rest_of_a_float_tableau_is_unverified_from_where_it_failed(monkeypatch):
    original = tableau.criss_cross

    def fail_late(dictionary, place, rule):
        return Cycled(dictionary, ()) if place.mu == 5 else (yield from original(dictionary, place, rule))

    monkeypatch.setattr(tableau, "criss_cross", fail_late)
    path = TABLEAU.trace(BUDGET, (-2, 8), on_trouble="mark")
    assert [tuple(i) for i in path.intervals] == [
        (-2, 0, "infeasible"),
        (0, 5, "optimal"),
        (5, 8, "unverified"),
    ]
    assert path(5).status == "optimal"


def test_end_of_a_proof_next_to_a_gap_belongs_to_the_gap(monkeypatch):
    """The proof x ≤ mu, x ≥ 0 vanishes at mu = 0, where nobody else has an answer."""
    whole = REVISED.trace(BUDGET, (-2, 8))
    gap = pqp.Segment(0.0, 1.0, "unverified", BUDGET, whole.arithmetic, reason="none")
    path = pqp.Path(BUDGET, (whole.segments[0], gap, *whole.segments[2:]), (-2.0, 8.0), whole.arithmetic)
    assert "infeasible on [-2.0, 0.0); unverified on [0.0, 1.0); optimal" in repr(path)
    assert (path(0).status, path(1).status) == ("unverified", "optimal")


def test_what_float64_cannot_tell_about_one_side_leaves_the_other_pieces(monkeypatch):
    def fail(*arguments):
        raise NumericalTroubleError("no proof")

    monkeypatch.setattr(revised_runner, "unsolvable_segments", fail)
    path = pqp.solve_path(BUDGET, (-2, 8), on_trouble="mark")
    assert [tuple(i) for i in path.intervals] == [(-2, 0, "unverified"), (0, 8, "optimal")]


@EVERY_ENGINE
class TestArgument:
    def test_sound_path_is_the_same(self, engine):
        path = engine.trace(BUDGET, (-2, 8), on_trouble="mark")
        assert [s.status for s in path.segments] == ["infeasible", "optimal", "optimal", "optimal"]
        path.certify()

    def test_other_words_are_refused(self, engine):
        with refuses(ProblemError, "on_trouble", found="'ignore'"):
            engine.trace(BUDGET, (-2, 8), on_trouble="ignore")
        with refuses(ProblemError, "on_trouble", found="'ignore'"):
            engine.trace(BUDGET, (-2, 8)).extend(9, on_trouble="ignore")


class TestRungs:
    def test_trace_that_needs_no_repair_says_so_in_one_interval(self):
        path = pqp.solve_path(BUDGET, (-2, 8))
        assert path.info.rungs_by_interval == ((-2, 8, "trace"),)
        assert {path.info.rung_of(piece) for piece in path.segments} == {"trace"}

    def test_repaired_part_names_its_rung(self, monkeypatch):
        monkeypatch.setattr(revised_runner._Run, "_extend_neighbours", lambda run, a, b: None)
        run = Tracer.run

        def failing(tracer, stop, *others, **options):
            if min(tracer.mu, stop) < 3.3 < max(tracer.mu, stop):
                raise NumericalTroubleError("rounding wins")
            return run(tracer, stop, *others, **options)

        monkeypatch.setattr(Tracer, "run", failing)
        path = pqp.solve_path(BUDGET, (0, 8))
        found = path.info.rungs_by_interval
        assert "exact arithmetic" in [one.rung for one in found]
        assert (found[0].lo, found[-1].hi) == (0, 8)
        assert [one.hi for one in found[:-1]] == [one.lo for one in found[1:]]
        path.certify()

    def test_extension_and_parallel_parts_keep_them(self):
        path = pqp.solve_path(BUDGET, (-2, 8), max_pieces=2).extend(8)
        assert path.info.rungs_by_interval == ((-2, 8, "trace"),)
        parts = pqp.solve_path(BUDGET, (-2, 8), n_jobs=2)
        assert parts.info.rungs_by_interval == ((-2, 8, "trace"),)
        assert parts.info.events > 0

    def test_end_without_limit_is_covered(self):
        path = pqp.solve_path(BUDGET, (-np.inf, np.inf))
        assert path.info.rungs_by_interval == ((-np.inf, np.inf, "trace"),)
        assert {path.info.rung_of(piece) for piece in path.segments} == {"trace"}
