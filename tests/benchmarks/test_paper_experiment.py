"""The paper's experiment (section 5): CBC(C), 24 levels, 40 choices, from C = 1, in the v ≥ 0 form.

Run with `pytest -m slow -s tests/benchmarks/test_paper_experiment.py`; docs/paper-experiment.md has a run.
"""

import math

import pytest

import pqp
from tests.benchmarks.problems import choice_rows, choice_with_slacks

RULES = ("least-index", "lifo", "most-often-selected")
KINDS = {"at random": None, "by a hidden utility": 0.0, "by a noisy utility": 1.0}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_bends_need_far_fewer_pivots_than_the_start(kind):
    """The paper's claim: the start takes hundreds of pivots, going on at a bend takes few."""
    print(f"\nchoices made {kind}; the paper reports 580 for the start, then 47 and 22, or 4 and 48")
    print("| seed | rule | start | first three bends | most at a bend | bends | last bend at C |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for seed in range(5):
        problem = choice_with_slacks(choice_rows(40, seed, KINDS[kind]))
        for rule in RULES:
            path = pqp.solve_path(problem, (1, math.inf), arithmetic="exact", rule=rule, log=True)
            path.certify()
            start, bends = _pivots(path)
            first, last = ", ".join(map(str, bends[:3])), float(path.breakpoints[-1])
            print(f"| {seed} | {rule} | {start} | {first} | {max(bends)} | {len(bends)} | {last:.1f} |")
            assert max(bends) < start / 10


def _pivots(path):
    """Return the number of pivots at C = 1 and just beyond, and at each breakpoint."""
    counts = path.log.by_place()
    start = sum(count for place, count in counts if place.mu == 1)
    return start, [count for place, count in counts if place.mu != 1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_float_arithmetic_makes_the_same_pivots(seed):
    """At 40 choices rounding errors do not yet decide anything."""
    problem = choice_with_slacks(choice_rows(40, seed))
    exact, rounded = (
        pqp.solve_path(problem, (1, math.inf), arithmetic=arithmetic, log=True)
        for arithmetic in ("exact", "float")
    )
    assert [pivot.moved for pivot in rounded.log] == [pivot.moved for pivot in exact.log]


@pytest.mark.slow
def test_eighty_choices_take_thousands_of_pivots_to_start():
    """Twice the choices, many times the pivots of a cold start; whatever float returns is certified."""
    print("\n| seed | rule | start, 80 random choices, float |\n| --- | --- | --- |")
    for seed in range(3):
        problem = choice_with_slacks(choice_rows(80, seed))
        for rule in ("least-index", "lifo"):
            path = pqp.solve_path(problem, (1, math.inf), rule=rule, log=True)
            path.certify()
            start, _ = _pivots(path)
            print(f"| {seed} | {rule} | {start} |")
            assert start > 2000
