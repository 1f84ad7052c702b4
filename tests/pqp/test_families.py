"""solve_path on families of ordinary models: right by the definitions, certified, and none refused."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pqp
from tests.path_check import check_path
from tests.pqp.families import FAMILIES, judged

# Kept out of the default run until the engine answers all of them; one instance of each family takes 12 s.
pytestmark = pytest.mark.slow
SEEDS = range(12)
# One seed for each family, so that together they are of all kinds of data and of several sizes.
SEED_OF = {name: place % 8 for place, name in enumerate(FAMILIES)}


@pytest.mark.parametrize("name", FAMILIES)
def test_one_instance_is_right_and_certified(name):
    path_found, *proof = judged(name, SEED_OF[name])
    assert path_found["verdict"] == "right", path_found["why"]
    assert proof[0]["certified"], proof[0]["why"]


@pytest.mark.parametrize("name", FAMILIES)
def test_no_instance_is_refused_or_wrong(name):
    found = [(seed, *judged(name, seed)) for seed in SEEDS]
    bad = {seed: first["why"] for seed, first, *_ in found if first["verdict"] != "right"}
    assert not bad
    unproved = {seed: rest[0]["why"] for seed, _, *rest in found if not rest[0]["certified"]}
    assert not unproved


def test_there_are_at_least_five_hundred_instances():
    assert len(FAMILIES) * len(SEEDS) >= 500


# ---- the check is shown wrong paths and must object ------------------------------------------------------


@dataclass(frozen=True)
class FakePiece:
    """A piece with numbers of its own."""

    lo: float
    hi: float
    status: str
    at: Any


def copied(piece, **changes):
    """Return a piece that says what another says, but for some changes: functions of the true array."""

    def at(mu):
        point = piece.at(mu)
        parts = {name: getattr(point, name) for name in ("x", "y", "z", "objective")}
        return SimpleNamespace(**{name: changes.get(name, lambda v: v)(v) for name, v in parts.items()})

    return FakePiece(float(piece.lo), float(piece.hi), piece.status, at)


def path_with(problem, pieces):
    return SimpleNamespace(problem=problem, segments=pieces, stopped=None)


def nudged(index, step):
    def change(values):
        values = np.array(values, dtype=float)
        values[index] += step
        return values

    return change


SMALL = 1e-6


@pytest.fixture(
    scope="module", params=["svm_primal", "frontier", "random_convex_with_equalities", "infeasible_ends"]
)
def traced(request):
    """A problem, its interval, copies of the pieces of its path, and these pieces."""
    problem, interval = FAMILIES[request.param](4)
    path = pqp.solve_path(problem, interval, method="tableau")
    pieces = [copied(piece) if piece.status == "optimal" else piece for piece in path.segments]
    assert check_path(path_with(problem, pieces), interval).is_right
    return problem, interval, pieces, list(path.segments)


class TestCheckObjects:
    def place(self, pieces):
        """The middle one of the optimal pieces."""
        optimal = [i for i, piece in enumerate(pieces) if piece.status == "optimal"]
        return optimal[len(optimal) // 2]

    def objections(self, traced, **changes):
        problem, interval, pieces, originals = traced
        place = self.place(pieces)
        wrong = [*pieces[:place], copied(originals[place], **changes), *pieces[place + 1 :]]
        return check_path(path_with(problem, wrong), interval).faults

    def test_x_that_is_moved(self, traced):
        size = float(np.abs(traced[2][self.place(traced[2])].at(traced[1][0]).x).max())
        assert self.objections(traced, x=nudged(0, SMALL * max(1.0, size)))

    def test_row_multiplier_that_is_moved(self, traced):
        y = traced[2][self.place(traced[2])].at(traced[1][0]).y
        step = SMALL * max(1.0, float(np.abs(y).max()))
        assert self.objections(traced, y=nudged(0, step))

    def test_multipliers_that_are_moved_and_keep_the_gradient_zero(self, traced):
        problem, _, pieces, _ = traced
        A = np.asarray(problem.A, dtype=float)
        y = pieces[self.place(pieces)].at(traced[1][0]).y
        step = -1e-4 * max(1.0, float(np.abs(y).max()))
        # the row multiplier and the bound multipliers move together: sign or complementarity must object
        moved = self.objections(traced, y=nudged(0, step), z=lambda z: np.asarray(z, float) - step * A[0])
        assert moved

    def test_objective_that_is_moved(self, traced):
        assert self.objections(traced, objective=lambda value: value * (1 + 1e-4) + 1e-4)

    def test_piece_that_is_missing(self, traced):
        problem, interval, pieces, _ = traced
        for place in {0, self.place(pieces), len(pieces) - 1}:
            verdict = check_path(path_with(problem, pieces[:place] + pieces[place + 1 :]), interval)
            assert any("cover" in fault for fault in verdict.faults) or len(pieces) == 1

    def test_piece_that_is_extended_over_its_neighbour(self, traced):
        problem, interval, pieces, _ = traced
        place = self.place(pieces)
        if place + 1 == len(pieces) or pieces[place + 1].status != "optimal":
            pytest.skip("the piece has no neighbour")
        longer = replace(pieces[place], hi=pieces[place + 1].hi)
        wrong = [*pieces[:place], longer, *pieces[place + 2 :]]
        assert not check_path(path_with(problem, wrong), interval).is_right

    def test_status_that_is_wrong(self, traced):
        problem, interval, pieces, _ = traced
        place = max(
            (i for i, piece in enumerate(pieces) if piece.status == "optimal"),
            key=lambda i: pieces[i].hi - pieces[i].lo,
        )
        for status in ("infeasible", "unbounded"):
            wrong = [*pieces[:place], replace(pieces[place], status=status), *pieces[place + 1 :]]
            verdict = check_path(path_with(problem, wrong), interval)
            assert any("HiGHS says optimal" in fault for fault in verdict.faults)

    def test_path_that_was_stopped(self, traced):
        problem, interval, pieces, _ = traced
        path = SimpleNamespace(problem=problem, segments=pieces, stopped="time_limit")
        assert not check_path(path, interval).is_right
