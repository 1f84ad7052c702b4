"""ConjointPath: part-worths at every C, proven; the hit rate at every C; choice of C."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqp
from ranking import ConjointPath, ConjointSVM, DataError
from ranking.conjoint import example_study
from ranking.conjoint.data.choice_table import Choices
from ranking.conjoint.estimation.path import count_hits, hit_rate_curve
from ranking.conjoint.estimation.programs import Program
from ranking.selection.piecewise import PiecewiseLinear
from tests.refusals import refuses

TRAIN, HELD = example_study().split_holdout()
FEW, FEW_HELD = (part.only(respondents=range(1, 6)) for part in (TRAIN, HELD))
POOLINGS = ("aggregate", "individual", "shrinkage")


def lost(self):
    raise pqp.NumericalTroubleError("on purpose")


@pytest.fixture(scope="module", params=POOLINGS)
def path(request):
    return ConjointPath(C_max=2.0, pooling=request.param).fit(FEW)


class TestPath:
    def test_it_is_proven_exactly(self, path):
        assert len(path.certify()) == len(path.paths_)

    def test_it_starts_with_no_preference(self, path):
        assert not path.part_worths_at(0).to_numpy().any()

    @pytest.mark.parametrize("C", [0.013, 0.21, 1.7])
    def test_at_every_C_it_is_the_model_of_that_C(self, path, C):
        single = ConjointSVM(C, pooling=path.pooling).fit(FEW)
        np.testing.assert_allclose(path.individual_part_worths_at(C), single.coef_, atol=1e-8)
        taken = path.at(C)
        np.testing.assert_allclose(taken.common_part_worths_, single.common_part_worths_, atol=1e-8)
        assert taken.score(FEW_HELD) == single.score(FEW_HELD)

    def test_the_hit_rate_is_right_at_every_step(self, path):
        curve = path.select(FEW_HELD)
        for lo, hi in zip(curve.edges[:-1], curve.edges[1:], strict=True):
            for share in (0.1, 0.63, 0.9):
                C = lo + share * (hi - lo)
                assert path.at(C).score(FEW_HELD) == pytest.approx(float(curve.at(C)), abs=1e-12)

    def test_the_hit_rate_does_not_change_without_an_edge(self, path):
        curve = path.select(FEW_HELD)
        for C in np.random.default_rng(0).uniform(0, 2, size=20):
            assert path.at(C).score(FEW_HELD) == pytest.approx(float(curve.at(C)), abs=1e-12)

    def test_select_uses_the_best_C(self, path):
        curve = path.select(FEW_HELD)
        assert curve.C_best == path.C_
        assert path.score(FEW_HELD) == pytest.approx(curve.best)
        np.testing.assert_array_equal(path.part_worths_, path.part_worths_at(path.C_))

    def test_breakpoints_are_those_of_all_paths(self, path):
        bends = {float(C) for part in path.paths_ for C in part.breakpoints}
        assert path.breakpoints_.tolist() == sorted(bends)

    def test_part_worths_are_the_part_worths_at_every_C(self, path):
        part_worths = path.part_worth_lines()
        assert (part_worths.lo, part_worths.hi) == (0, 2)
        for C in np.random.default_rng(0).uniform(0, 2, size=20):
            worths = part_worths.at(C).to_numpy()
            np.testing.assert_allclose(
                np.broadcast_to(worths, (len(FEW.respondents), worths.shape[1])),
                path.individual_part_worths_at(C),
                atol=1e-9,
            )


class TestPathOfChoices:
    def test_the_whole_path_ends_where_all_is_settled(self):
        path = ConjointPath(C_max=np.inf).fit(FEW)
        assert path.C_ == path.C_end_ == float(path.path_.segments[-1].lo)
        np.testing.assert_allclose(path.part_worths_at(10 * path.C_end_), path.part_worths_, atol=1e-9)

    def test_a_certificate_of_another_path_is_refused(self):
        path = ConjointPath(C_max=1.0).fit(FEW)
        document = pqp.solve_path(path.programs_[0].dual(), (0.0, 1.0))
        segment = document.segments[3]
        object.__setattr__(segment, "hi", float(segment.hi) * 1.01)
        path.paths_ = [document]
        with pytest.raises(pqp.CertificateError):
            path.certify()

    def test_orders_hold_at_every_C(self):
        path = ConjointPath(C_max=2.0, pooling="shrinkage", orders={"price": "falls"}).fit(FEW)
        for C in path.breakpoints_[::20]:
            assert (path.individual_part_worths_at(C)["price"].diff(axis=1).iloc[:, 1:] < 1e-9).all(axis=None)

    @pytest.mark.parametrize("orders", [None, {"price": "falls"}])
    def test_where_the_dual_is_lost_the_program_itself_has_the_same_part_worths(self, monkeypatch, orders):
        usual = ConjointPath(C_max=1.0, orders=orders).fit(FEW)
        monkeypatch.setattr(Program, "dual", lost)
        other = ConjointPath(C_max=1.0, orders=orders).fit(FEW)
        assert other.path_.problem.m > 0
        assert (usual.solved_by_, other.solved_by_) == (("dual",), ("primal",))
        assert ConjointSVM(C=0.2, orders=orders).fit(FEW).solved_by_ == ("primal",)
        for C in (0.01, 0.2, 0.9):
            np.testing.assert_allclose(other.part_worths_at(C), usual.part_worths_at(C), atol=1e-9)
        np.testing.assert_allclose(other.select(FEW_HELD).values, usual.select(FEW_HELD).values)

    def test_two_processes_find_the_same(self):
        alone, spread = (ConjointPath(C_max=2.0, pooling="individual", n_jobs=n).fit(FEW) for n in (1, 2))
        np.testing.assert_allclose(spread.individual_part_worths_, alone.individual_part_worths_, atol=1e-12)

    def test_respondents_alone_have_no_single_path(self):
        with pytest.raises(AttributeError, match="there are 5 paths"):
            _ = ConjointPath(pooling="individual").fit(FEW).path_

    @pytest.mark.parametrize(
        ("parameters", "wrong"),
        [
            ({"C_max": -1}, {"argument": "C_max", "found": "-1"}),
            ({"C": 3, "C_max": 1}, {"argument": "C", "found": 3}),
            ({"pooling": "shrinkage", "shrinkage": 0}, {"argument": "shrinkage", "found": 0}),
        ],
    )
    def test_bad_arguments_are_named(self, parameters, wrong):
        with refuses(DataError, **wrong):
            ConjointPath(**parameters).fit(FEW)

    def test_C_beyond_the_end_is_refused(self):
        with refuses(DataError, "C", found=2):
            ConjointPath(C_max=1.0).fit(FEW).at(2)

    def test_only_the_hit_rate_is_known(self):
        with refuses(DataError, "metric", found="'ndcg'"):
            ConjointPath(C_max=1.0).fit(FEW).select(FEW_HELD, metric="ndcg")


def choices_of(chosen, sizes):
    n = len(sizes)
    return Choices(np.zeros(n, dtype=np.int64), np.arange(n), np.array(sizes), np.array(chosen))


class TestHits:
    @given(data=st.data())
    def test_hits_along_lines_are_hits_at_every_C(self, data):
        sizes = data.draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
        chosen = [data.draw(st.integers(0, size - 1)) for size in sizes]
        whole = st.integers(-3, 3).map(float)
        cells = [data.draw(st.lists(whole, min_size=sum(sizes), max_size=sum(sizes))) for _ in range(4)]
        lines = PiecewiseLinear(
            np.array([0.0, 2.0]), np.array([2.0, 5.0]), np.array(cells[:2]), np.array(cells[2:])
        )
        choices, weight = choices_of(chosen, sizes), np.arange(1.0, len(sizes) + 1)
        curve = hit_rate_curve([count_hits(choices, weight, [lines])])
        for C in np.linspace(0, 5, 24, endpoint=False) + 0.0317:
            piece = int(C >= 2)
            utilities = lines.constant[piece] + C * lines.slope[piece]
            hits = [self.hit(utilities[list(choices.rows(t))], chosen[t]) for t in range(len(sizes))]
            assert curve.at(C) == pytest.approx(weight @ hits / weight.sum(), abs=1e-12)

    @staticmethod
    def hit(utilities, chosen):
        best = np.abs(utilities - utilities.max()) < 1e-9
        return best[chosen] / best.sum()

    def test_standard_errors_are_those_of_a_mean(self):
        lines = PiecewiseLinear(
            np.array([0.0]), np.array([1.0]), np.array([[1.0, 0, 1, 0, 0, 1]]), np.zeros((1, 6))
        )
        curve = hit_rate_curve([count_hits(choices_of([0, 0, 0], [2, 2, 2]), np.ones(3), [lines])])
        hits = np.array([1.0, 1.0, 0.0])
        assert curve.errors[0] == pytest.approx(hits.std(ddof=1) / np.sqrt(3))

    def test_tasks_that_flip_at_one_point_leave_no_step_between(self):
        lines = PiecewiseLinear(
            np.array([0.0]), np.array([1.0]), np.array([[0.1, 0.3, 0.3, 0.1]]), np.array([[0.6, 0, 0, 0.6]])
        )
        curve = hit_rate_curve([count_hits(choices_of([0, 0], [2, 2]), np.ones(2), [lines])])
        assert curve.values.tolist() == [0.5]
