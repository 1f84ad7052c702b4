"""event_kernels: numpy and compiled versions do what plain loops over the items do."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pqp
from pqp.revised import basis, dense_basis, event_kernel_choice, event_kernels, trace, verify
from pqp.revised.event_kernel_choice import WORTH_COMPILING, KernelChoice
from pqp.revised.event_kernels import (
    AT_HI,
    AT_LO,
    DUAL,
    FIXED_SLOPE,
    G_SLOPE,
    HI,
    HI_SLOPE,
    INSIDE,
    LO,
    LO_SLOPE,
    SLOPE,
    VALUE,
)
from tests.systems import FEW, SEEDS

CLOSE = 1e-12
SIZES = st.sampled_from((1, 5, 127, 128, 129, 300))


@pytest.fixture(scope="module", params=["numpy", "compiled"])
def kernel(request):
    """The functions of one kind."""
    if request.param == "numpy":
        return KernelChoice().current
    pytest.importorskip("numba")
    from pqp.revised import compiled_event_kernels

    return compiled_event_kernels


def lines_of(random, size, whole=True):
    """Items within their ranges at mu, some without ends, some at them; whole numbers tie often."""
    lines = random.integers(-3, 4, (8, size)).astype(float) if whole else random.normal(size=(8, size))
    lines[HI] = lines[LO] + np.abs(lines[HI])
    lines[HI_SLOPE] = lines[LO_SLOPE]
    lines[VALUE] = np.clip(lines[VALUE], lines[LO], lines[HI])
    for end, slope, far in ((LO, LO_SLOPE, -np.inf), (HI, HI_SLOPE, np.inf)):
        gone = random.random(size) < 0.3
        lines[end, gone], lines[slope, gone] = far, 0.0
    return lines, random.random((4, size)) < 0.4


def ends_of(lines):
    """Every end: its number, item, constant, slope, and the sense in which it is approached."""
    size = lines.shape[1]
    for i in range(size):
        yield i, i, lines[LO, i], lines[LO_SLOPE, i], 1
        yield size + i, i, lines[HI, i], lines[HI_SLOPE, i], -1


def distances(lines, flags, mu, direction, flats):
    """The distance to every end that is approached, by its number."""
    found = {}
    for number, i, constant, slope, sense in ends_of(lines):
        decided = flags[AT_LO if sense > 0 else AT_HI, i]
        gap = sense * (lines[VALUE, i] - constant - mu * slope)
        rate = sense * (slope - lines[SLOPE, i]) * direction
        if rate > flats[int(flags[DUAL, i])] and not decided and np.isfinite(gap):
            found[number] = gap / rate
    return found


@pytest.mark.parametrize("direction", [1, -1])
@FEW
@given(seed=SEEDS, size=SIZES, whole=st.booleans(), flats=st.sampled_from(((0.0, 0.0), (1.5, 0.5))))
def test_ratio_test_is_the_nearest_one_that_is_open(kernel, direction, seed, size, whole, flats):
    lines, flags = lines_of(np.random.default_rng(seed), size, whole)
    wanted = distances(lines, flags, 0.0, direction, flats)
    distance, which = kernel.ratio_test(lines, flags, 0.0, float(direction), *flats)
    if wanted:
        assert distance == pytest.approx(min(wanted.values()), abs=CLOSE)
        assert wanted[which] == pytest.approx(distance, abs=CLOSE)
    else:
        assert (distance, which) == (np.inf, -1)


@FEW
@given(seed=SEEDS, size=SIZES, mu=st.sampled_from((0.0, 1.0, -2.5)))
def test_ratio_test_is_where_the_line_meets_its_end(kernel, seed, size, mu):
    """Wherever mu is: the ends are lines in mu itself."""
    lines, flags = lines_of(np.random.default_rng(seed), size, whole=False)
    # So that ends at mu are where they were at 0.
    for end, slope in ((LO, LO_SLOPE), (HI, HI_SLOPE)):
        lines[end] -= mu * lines[slope]
    distance, which = kernel.ratio_test(lines, flags, mu, 1.0, 0.0, 0.0)
    wanted = distances(lines, flags, mu, 1, (0.0, 0.0))
    assert distance == pytest.approx(min(wanted.values(), default=np.inf), abs=1e-9)
    if which >= 0:
        at_hi, i = divmod(which, size)
        end, slope = (HI, HI_SLOPE) if at_hi else (LO, LO_SLOPE)
        moved = lines[VALUE, i] + distance * lines[SLOPE, i]
        assert moved == pytest.approx(lines[end, i] + (mu + distance) * lines[slope, i], abs=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@FEW
@given(seed=SEEDS, size=SIZES, whole=st.booleans(), tie=st.sampled_from((0.0, 1e-11, 0.1)))
def test_move_finds_the_ends_that_are_reached(kernel, noise, seed, size, whole, tie):
    random = np.random.default_rng(seed)
    lines, flags = lines_of(random, size, whole)
    before, marks, found = lines.copy(), flags.copy(), np.empty(2 * size, dtype=np.int64)
    items, tops = np.flatnonzero(flags[INSIDE]), random.random((2, 4))
    room, fixed, offsets = np.array([0.0, 0.0, noise]), *np.split(tops[0] + 2.0 * tops[1], 2)
    count = kernel.move(lines, flags, items, 0.5, -2.0, tie, tops, room, found)
    value = before[VALUE] + 0.5 * before[SLOPE]
    sizes = np.abs(before[VALUE, items]) + 0.5 * np.abs(before[SLOPE, items])
    tops = [sizes[marks[DUAL, items] == kind].max(initial=fixed[kind]) for kind in (0, 1)]
    rooms = [max(tie * top, noise * max(*tops, offset)) for top, offset in zip(tops, offsets, strict=True)]
    assert room[:2].tolist() == rooms
    wanted = set()
    for number, i, constant, slope, _ in ends_of(before):
        room = rooms[int(marks[DUAL, i])] + tie * (abs(value[i]) + abs(2.0 * slope))
        if abs(value[i] - (constant - 2.0 * slope)) <= room:
            wanted.add(number)
    assert set(found[:count].tolist()) == wanted
    assert len(wanted) == count
    assert set(np.flatnonzero(flags[[AT_LO, AT_HI]]).tolist()) == wanted
    assert np.allclose(lines[VALUE], value, atol=CLOSE)
    assert np.array_equal(np.delete(lines, VALUE, 0), np.delete(before, VALUE, 0))
    assert np.array_equal(flags[[INSIDE, DUAL]], marks[[INSIDE, DUAL]])


@FEW
@given(seed=SEEDS, size=SIZES)
def test_apply_adds_steps_inside_and_the_change_of_g_elsewhere(seed, size):
    random = np.random.default_rng(seed)
    lines, flags = lines_of(random, size, whole=False)
    items = random.permutation(np.flatnonzero(flags[INSIDE]))
    lines[SLOPE, ~flags[INSIDE]] = lines[G_SLOPE, ~flags[INSIDE]]
    steps, change, before = random.normal(size=len(items)), random.normal(size=size), lines.copy()
    rest, primal_top, dual_top = event_kernels.apply(lines, flags, items, steps, change)
    g, slopes = before[G_SLOPE] + change, before[G_SLOPE] + change
    slopes[items] = before[SLOPE, items] + steps
    assert np.allclose(lines[G_SLOPE], g, atol=CLOSE)
    assert np.allclose(lines[SLOPE], slopes, atol=CLOSE)
    assert rest == pytest.approx(max([abs(before[FIXED_SLOPE, i] - g[i]) for i in items], default=0.0))
    tops = [max([abs(slopes[i]) for i in items if flags[DUAL, i] == kind], default=0.0) for kind in (0, 1)]
    assert [primal_top, dual_top] == pytest.approx(tops)


@pytest.mark.parametrize("leaves", [True, False])
@FEW
@given(seed=SEEDS, size=SIZES, begins=st.integers(0, 1))
def test_cross_puts_an_item_on_the_line_of_its_new_state(kernel, leaves, seed, size, begins):
    """On R all slopes of v change by steps, outside by what g changes; the item itself changes sides."""
    random = np.random.default_rng(seed)
    lines, flags = lines_of(random, size, whole=False)
    item, mu, pushed, table = int(random.integers(size)), 1.5, 0.5, random.normal(size=(6, 6, size))
    flags[INSIDE, item] = leaves
    others = random.permutation(np.flatnonzero(flags[INSIDE]))
    items = others if leaves else np.append(others, item)
    steps, change, before = random.normal(size=len(items)), random.normal(size=size), lines.copy()
    is_dual = not flags[DUAL, item]
    found = kernel.cross(
        lines, flags, table, items, steps, change, item, (2, 4), bool(is_dual), begins, mu, pushed
    )
    g = before[G_SLOPE] + change
    fixed, slopes = before[FIXED_SLOPE].copy(), g.copy()
    slopes[items] = before[SLOPE, items] + steps
    if leaves:
        fixed[item] += pushed
        inside = slopes.copy()
        slopes[item] = g[item]
    else:
        fixed[item] = table[4, 1, item]
        slopes[item] = table[2, 1, item] + steps[-1]
        inside = slopes
    kinds = flags[DUAL, items] if not leaves else np.where(items == item, not is_dual, flags[DUAL, items])
    tops = [np.abs(inside[items][kinds == kind]).max(initial=0.0) for kind in (False, True)]
    assert found == pytest.approx((np.abs(fixed - g)[items].max(initial=0.0), *tops))
    assert np.allclose(lines[SLOPE], slopes, atol=CLOSE)
    assert np.allclose(lines[G_SLOPE], g, atol=CLOSE)
    fixed[item] = table[4, 1, item]
    assert np.allclose(lines[FIXED_SLOPE], fixed, atol=CLOSE)
    assert lines[VALUE, item] == table[2, 0, item] + mu * table[2, 1, item]
    assert lines[LO : HI_SLOPE + 1, item].tolist() == table[4, 2:, item].tolist()
    assert flags[[INSIDE, DUAL, AT_LO, AT_HI], item].tolist() == [not leaves, is_dual, not begins, begins]


@FEW
@given(seed=SEEDS, size=st.integers(0, 12), spare=st.integers(0, 3))
def test_rank_one_adds_to_the_leading_block_alone(kernel, seed, size, spare):
    random = np.random.default_rng(seed)
    inverse, step = random.normal(size=(size + spare, size + spare)), random.normal(size=size)
    wanted = inverse.copy()
    for i in range(size):
        for j in range(size):
            wanted[i, j] += 0.7 * step[i] * step[j]
    kernel.rank_one(inverse, size, step, 0.7)
    assert np.allclose(inverse, wanted, atol=CLOSE)


@FEW
@given(seed=SEEDS, size=st.integers(0, 300))
def test_largest_is_the_largest_absolute_value(kernel, seed, size):
    vector = np.random.default_rng(seed).normal(size=size)
    assert kernel.largest(vector) == max(map(abs, vector.tolist()), default=0.0)


@FEW
@given(seed=SEEDS, size=SIZES, at=st.sampled_from((0.0, 1.0, -2.5)))
def test_record_keeps_the_lines_of_the_unknowns(kernel, seed, size, at):
    lines, flags = lines_of(np.random.default_rng(seed), size, whole=False)
    items = np.flatnonzero(flags[INSIDE])
    unknowns, values = np.empty(len(items), dtype=np.int32), np.empty((len(items), 2))
    kernel.record(lines, items, at, unknowns, values)
    assert unknowns.tolist() == items.tolist()
    assert np.allclose(values @ (1.0, at), lines[VALUE, items], atol=CLOSE)
    assert np.array_equal(values[:, 1], lines[SLOPE, items])


class TestExchange:
    """Compiled kernels take over in mid-path once that pays."""

    def test_short_traces_stay_with_numpy(self):
        choice = KernelChoice()
        choice.count(WORTH_COMPILING / 2)
        assert choice.current.ratio_test is event_kernels.ratio_test

    def test_long_ones_are_compiled(self):
        pytest.importorskip("numba")
        from pqp.revised import compiled_event_kernels

        choice = KernelChoice()
        choice.count(2 * WORTH_COMPILING)
        assert choice.current is compiled_event_kernels

    def test_without_numba_numpy_goes_on(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pqp.revised.compiled_event_kernels", None)
        monkeypatch.delattr("pqp.revised.compiled_event_kernels", raising=False)
        choice = KernelChoice()
        choice.count(2 * WORTH_COMPILING)
        assert choice.current.ratio_test is event_kernels.ratio_test


def test_compiled_kernels_trace_the_same_path_to_the_last_bit(monkeypatch):
    pytest.importorskip("numba")
    random = np.random.default_rng(0)
    F = random.normal(size=(60, 40))
    problem = pqp.ParametricQP(F @ F.T, -pqp.mu * random.normal(size=60), lower=0, upper=1)
    found = []
    for seconds in (0.0, 2 * WORTH_COMPILING):
        choice = KernelChoice()
        choice.count(seconds)
        for module in (basis, dense_basis, trace, verify, event_kernel_choice):
            monkeypatch.setattr(module, "KERNELS", choice)
        path = pqp.solve_path(problem, (0, 50))
        found.append([path.breakpoints, [segment.x0.tolist() for segment in path.segments]])
    assert len(found[0][0]) > 10
    assert found[0] == found[1]
