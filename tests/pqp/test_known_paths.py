"""known_paths: published or hand-computed results about each problem hold for the path we trace."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import pqp
from pqp.lcp.crisscross import RULES
from tests.engines import ENGINES, EXACT, REVISED
from tests.known_paths import CATALOGUE, mairal_yu

# The data have two or three digits and the paths a few pieces: rounding error stays far below this.
CLOSE = 1e-9


@cache
def traced(name, engine, rule="least-index", direction="left-to-right"):
    entry = CATALOGUE[name]
    return engine.trace(entry.build(), entry.interval, rule=rule, direction=direction)


@pytest.fixture(params=CATALOGUE)
def entry(request):
    return CATALOGUE[request.param]


# Where x is not unique another solution may bend and jump elsewhere; the value may still be known.
where_x_is_unique = pytest.mark.parametrize(
    "entry", [name for name, entry in CATALOGUE.items() if entry.bends is not None], indirect=True
)
where_kinks_are_known = pytest.mark.parametrize(
    "entry", [name for name, entry in CATALOGUE.items() if entry.kinks is not None], indirect=True
)


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


@pytest.fixture
def arithmetic(engine):
    return engine.arithmetic


@pytest.fixture
def path(entry, engine):
    return traced(entry.name, engine)


def agree(found, known, arithmetic):
    """Equality in exact arithmetic, closeness in floats; lengths always count."""
    found, known = np.asarray(found, dtype=object), np.asarray(known, dtype=object)
    if found.shape != known.shape:
        return False
    if arithmetic == "exact":
        return bool((found == known).all())
    return np.allclose(found.astype(float), known.astype(float), rtol=CLOSE, atol=CLOSE)


def changes(path, quantities):
    """Where the status, or the function given by some coefficients of a segment, is not the one before."""
    arithmetic = path.arithmetic.name
    found = []
    for left, right in zip(path.segments, path.segments[1:], strict=False):
        both = left.status == right.status == "optimal"
        same = agree(quantities(left), quantities(right), arithmetic) if both else left.status == right.status
        if not same:
            found.append(right.lo)
    return tuple(dict.fromkeys(found))


def bends(path):
    return changes(path, lambda segment: [*segment.x0, *segment.x1])


def kinks(path):
    return changes(path, lambda segment: segment.objective)


def probes(path):
    """The finite ends of every optimal piece, and a mu inside it."""
    for segment in path.segments:
        if segment.status == "optimal":
            ends = [mu for mu in (segment.lo, segment.hi) if not math.isinf(mu)]
            inside = sum(ends) / len(ends) if len(ends) == 2 else (ends[0] if ends else 0)
            outside = (
                [inside + 1] if math.isinf(segment.hi) else [inside - 1] if math.isinf(segment.lo) else []
            )
            yield from ((segment, mu) for mu in dict.fromkeys([*ends, inside, *outside]))


class TestKnownFacts:
    def test_status_is_known_at_every_mu(self, entry, path, arithmetic):
        assert [interval.status for interval in path.intervals] == [known[2] for known in entry.statuses]
        assert agree(ends_of(path), [known[:2] for known in entry.statuses], arithmetic)

    def test_optimal_stretch_owns_its_ends(self, path):
        for interval in path.intervals:
            first, last = interval.lo == path.lo, interval.hi == path.hi
            optimal = interval.status == "optimal"
            assert interval.lo_closed == (optimal or first)
            assert interval.hi_closed == (optimal or last)

    @where_x_is_unique
    def test_bends_are_the_known_ones(self, entry, path, arithmetic):
        assert agree(bends(path), entry.bends, arithmetic)

    @where_kinks_are_known
    def test_value_changes_its_formula_where_known(self, entry, path, arithmetic):
        assert agree(kinks(path), entry.kinks, arithmetic)

    @where_x_is_unique
    def test_jumps_are_the_known_ones(self, entry, path, arithmetic):
        assert agree([jump.mu for jump in path.jumps], entry.jumps, arithmetic)

    def test_solution_is_the_known_one(self, entry, path, arithmetic):
        for mu, x in entry.x.items():
            assert agree(path(mu).x, x, arithmetic), f"mu = {mu}"

    def test_value_is_the_known_one(self, entry, path, arithmetic):
        for mu, value in entry.values.items():
            assert agree(path.objective(mu), value, arithmetic), f"mu = {mu}"

    def test_uniqueness_is_recognised(self, entry, path):
        proper = [
            segment.unique
            for segment in path.segments
            if segment.status == "optimal" and segment.lo < segment.hi
        ]
        assert all(proper) == (entry.bends is not None or not proper)


class TestProof:
    def test_optimality_conditions_hold_at_ends_and_midpoints(self, path, arithmetic):
        for segment, mu in probes(path):
            largest = segment.at(mu).residuals().largest
            assert largest == 0 if arithmetic == "exact" else largest <= CLOSE

    def test_path_is_certified(self, path):
        path.certify()

    def test_facts_of_the_catalogue_are_consistent(self, entry):
        lo, hi = entry.interval
        assert all(lo < mu < hi for mu in (*(entry.bends or ()), *(entry.kinks or ()), *entry.jumps))
        assert set(entry.jumps) <= set(entry.bends or ())
        assert entry.derivation
        assert entry.source


class TestOtherWays:
    def test_right_to_left_gives_the_same_values(self, entry, path, engine):
        assert has_same_values(path, traced(entry.name, engine, direction="right-to-left"))

    @where_x_is_unique
    def test_right_to_left_gives_the_same_solutions(self, entry, path, engine, arithmetic):
        reverse = traced(entry.name, engine, direction="right-to-left")
        assert agree(bends(reverse), bends(path), arithmetic)
        for segment, mu in probes(path):
            if segment.lo < mu < segment.hi:
                assert agree(reverse(mu).x, segment.at(mu).x, arithmetic)

    @pytest.mark.parametrize("rule", sorted(set(RULES) - {"least-index"}))
    def test_every_rule_gives_the_same_values(self, entry, path, engine, rule):
        assert has_same_values(path, traced(entry.name, engine, rule=rule))

    @where_x_is_unique
    def test_every_engine_gives_the_same_solutions(self, entry, path, engine):
        exact = traced(entry.name, EXACT)
        assert agree(bends(path), bends(exact), engine.arithmetic)
        for segment, mu in probes(exact):
            if segment.lo < mu < segment.hi:
                assert agree(path(mu).x, segment.at(mu).x, engine.arithmetic)

    def test_every_engine_gives_the_same_values(self, entry, path, engine):
        exact, found = traced(entry.name, EXACT), path
        assert [interval.status for interval in found.intervals] == [
            interval.status for interval in exact.intervals
        ]
        for segment, mu in probes(exact):
            assert agree(found.objective(clamped(mu, found)), segment.at(mu).objective, engine.arithmetic)


def has_same_values(path, other):
    """Whether statuses agree, and values wherever either path has an end or a midpoint."""
    arithmetic = path.arithmetic.name
    if [interval.status for interval in path.intervals] != [interval.status for interval in other.intervals]:
        return False
    if not agree(ends_of(path), ends_of(other), arithmetic):
        return False
    pairs = [(a, b, mu) for a, b in ((path, other), (other, path)) for _, mu in probes(a)]
    return all(agree(a.objective(mu), b.objective(clamped(mu, b)), arithmetic) for a, b, mu in pairs)


def ends_of(path):
    return [(interval.lo, interval.hi) for interval in path.intervals]


def clamped(mu, path):
    """The mu of the optimal stretch next to one that rounding error may have put just outside it."""
    (optimal,) = [interval for interval in path.intervals if interval.status == "optimal"]
    return min(max(mu, optimal.lo), optimal.hi)


def test_catalogue_is_large_enough():
    assert len(CATALOGUE) >= 28


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6])
def test_revised_engine_finds_exponentially_many_pieces_in_floats(p):
    path = REVISED.trace(mairal_yu(p), (0, 2))
    assert len(bends(path)) + 1 == (3**p + 1) // 2
    path.certify()


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5])
def test_mairal_yu_lasso_path_has_exponentially_many_pieces(p):
    path = pqp.solve_path(mairal_yu(p), (0, 2), arithmetic="exact")
    assert len(bends(path)) + 1 == (3**p + 1) // 2
    assert path.intervals[0].status == "optimal"
    assert path(0).x.all()
    assert (path(Fraction(3, 2)).x == 0).all()
    path.certify()
