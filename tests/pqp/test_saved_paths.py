"""Paths saved by earlier versions load, are proved and can be extended."""

from pathlib import Path

import pytest

import pqp

SAVED = sorted((Path(__file__).parent / "saved").glob("*-*.*"))


@pytest.mark.parametrize("file", SAVED, ids=lambda file: file.name)
class TestPathOfAnEarlierVersion:
    def test_it_is_proved(self, file):
        path = pqp.load_path(file)
        assert path.certify().pieces == len(path.segments)

    def test_tracing_the_problem_again_gives_the_same_path(self, file):
        old = pqp.load_path(file)
        arithmetic = "exact" if file.name.startswith("budget") else "float"
        new = pqp.solve_path(old.problem, (old.lo, old.hi), arithmetic=arithmetic)
        assert new.intervals == old.intervals
        assert [float(mu) for mu in new.breakpoints] == pytest.approx([float(mu) for mu in old.breakpoints])

    def test_it_goes_on_where_it_began(self, file):
        longer = pqp.load_path(file).extend(-3)
        assert longer.lo == -3
        assert longer.certify().interval == (-3, longer.hi)
