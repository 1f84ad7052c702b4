"""Compiled loops of the path in scores: the next merge, the next split, and what changes at them.

Objects are numbered as the rows of the data. The pairs of object i as the preferred one are
`first[i]:first[i + 1]`, with the other object in `lower`; those of j as the other one are
`into[j]:into[j + 1]`, with the preferred object in `upper` and the number of the pair in `entering`. Members
of a block form a ring, `successor`; `block` is a number that they share, `offset` the place of an object in
its block, in units of the margin.
"""

import numpy as np
from numba import njit

from ranking.core.validation import Array

VIOLATED, MARGIN, SATISFIED = 1, 0, -1
# Rows of `flows`: d, β − C d, and the slope of the latter in C.
DEMAND, SUPPLY, SUPPLY_RATE = 0, 1, 2
# Rates below this part of the largest velocity are rounding errors.
SLOWEST = 1e-11
# By how much a cut may lack capacity, relative to the flow through its block: rounding errors of the sums.
FLOW_NOISE = 1e-10
# What is not worth sending along a path, relative to that.
ROUTE_NOISE = 1e-3
# What a flow may lack, relative to the largest supply: the rounding errors of the trace.
SUPPLY_NOISE = 1e-13

_compiled = njit(cache=True, error_model="numpy", nogil=True)


@_compiled
def next_merge(
    first: Array, lower: Array, status: Array, score: Array, velocity: Array
) -> tuple[float, int, int]:
    """Return the first step at which a pair reaches its margin, inf if none does, and the pair."""
    n, step, owner, partner = len(score), np.inf, -1, -1
    slowest = 0.0
    for i in range(n):
        slowest = max(slowest, SLOWEST * abs(velocity[i]))
    their_score, their_velocity = np.empty(n), np.empty(n)
    for i in range(n):
        begin, end = first[i], first[i + 1]
        if begin == end:
            continue
        height, speed, count = score[i] - 1.0, velocity[i], end - begin
        start = lower[begin]
        if lower[end - 1] - start == count - 1:
            at, their = score[start : start + count], velocity[start : start + count]
        else:
            at, their = their_score[:count], their_velocity[:count]
            for k in range(count):
                at[k], their[k] = score[lower[begin + k]], velocity[lower[begin + k]]
        signs = status[begin:end]
        hits = 0
        for k in range(count):
            # +1 for a violated pair, -1 for a satisfied one: either way the gap is positive and closes. A
            # count instead of an early return, so that the loop vectorises.
            sign = np.float64(signs[k])
            closing = sign * (speed - their[k])
            gap = sign * (at[k] - height)
            hits += int((closing > slowest) & (gap < step * closing))
        if hits > 0:
            for k in range(count):
                closing = signs[k] * (speed - their[k])
                gap = signs[k] * (at[k] - height)
                if closing > slowest and gap < step * closing:
                    # a gap below zero is a rounding error: statuses are kept, never read off scores
                    step, owner, partner = max(gap, 0.0) / closing, i, lower[begin + k]
                    if step == 0.0:
                        return step, owner, partner
    return step, owner, partner


@_compiled
def worst_gap(first: Array, lower: Array, status: Array, score: Array) -> float:
    """Return by how much a score difference is on the wrong side of the margin of its pair at most."""
    worst = 0.0
    for i in range(len(score)):
        for p in range(first[i], first[i + 1]):
            worst = max(worst, status[p] * (score[i] - 1.0 - score[lower[p]]))
    return worst


@_compiled
def route(
    tail: Array,
    head: Array,
    capacity: Array,
    flow: Array,
    excess: Array,
    begin: Array,
    arcs: Array,
    noise: float,
    reached: Array,
) -> None:
    """Send the excess of nodes along edges to nodes that lack some, as much of it as possible (Dinic).

    `flow` and `excess` are changed. Arcs of node i are `arcs[begin[i]:begin[i + 1]]`: 2 e for edge e where
    it leaves, 2 e + 1 where it enters. If some excess stays, `reached` is the cut that keeps it: all edges
    out of it are full, those into it empty.
    """
    n = len(excess)
    depth, at, queue, path = (
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )
    while True:
        depth[:] = -1
        count, done, is_open = 0, 0, False
        for i in range(n):
            if excess[i] > noise:
                depth[i] = 0
                queue[count] = i
                count += 1
        while done < count:
            i = queue[done]
            done += 1
            is_open |= excess[i] < -noise
            for k in range(begin[i], begin[i + 1]):
                e = arcs[k] // 2
                j, room = (head[e], capacity[e] - flow[e]) if arcs[k] % 2 == 0 else (tail[e], flow[e])
                if room > noise and depth[j] < 0:
                    depth[j] = depth[i] + 1
                    queue[count] = j
                    count += 1
        if not is_open:
            for i in range(n):
                reached[i] = depth[i] >= 0
            return
        at[:] = begin[:n]
        for root in range(n):
            length = 0
            i = root
            while excess[root] > noise and depth[root] == 0:
                if excess[i] < -noise:
                    # a path is complete: send along it what all of its arcs can take
                    sent = min(excess[root], -excess[i])
                    for k in range(length):
                        e = path[k] // 2
                        sent = min(sent, capacity[e] - flow[e] if path[k] % 2 == 0 else flow[e])
                    for k in range(length):
                        flow[path[k] // 2] += sent if path[k] % 2 == 0 else -sent
                    excess[root] -= sent
                    excess[i] += sent
                    i, length = root, 0
                    continue
                if at[i] < begin[i + 1]:
                    arc = arcs[at[i]]
                    e = arc // 2
                    j, room = (head[e], capacity[e] - flow[e]) if arc % 2 == 0 else (tail[e], flow[e])
                    if room > noise and depth[j] == depth[i] + 1:
                        path[length] = arc
                        length += 1
                        i = j
                    else:
                        at[i] += 1
                elif length == 0:
                    break
                else:
                    length -= 1
                    e = path[length] // 2
                    i = tail[e] if path[length] % 2 == 0 else head[e]
                    at[i] += 1


@_compiled
def worst_sorted_cut(
    supply: Array, upper: Array, below: Array, capacity: float, is_in: Array
) -> tuple[float, float]:
    r"""Return by how much the worst cut of a block of two levels lacks capacity, and the edges out of it.

    The block is a complete bipartite graph of upper and lower objects, edges of capacity C. With r the supply
    of the upper objects, ρ what the lower ones take, and R = Σ r, a flow exists if (Gale and Ryser) for all
    sets A of upper and B of lower objects

    .. math:: r(A) + \rho(B) \le C |A| |B| + R.

    The worst A and B of every size come first when r and ρ are sorted. The cut has A and all but B.
    """
    r, rho = supply[upper], -supply[below]
    # r ρᵀ / R is a flow where it keeps the limits, which saves most blocks from being sorted
    if r.min() >= 0 and rho.min() >= 0 and r.max() * rho.max() <= capacity * r.sum():
        return 0.0, 0.0
    order, order_below = np.argsort(-r), np.argsort(-rho)
    total, above, kept, taken = r.sum(), r.sum(), len(r), 0.0
    worst, worst_q, worst_a = 0.0, 0, 0
    for q in range(len(rho) + 1):
        if q > 0:
            taken += rho[order_below[q - 1]]
        while kept > 0 and r[order[kept - 1]] <= capacity * q:
            kept -= 1
            above -= r[order[kept]]
        lack = above + taken - total - capacity * kept * q
        if lack > worst:
            worst, worst_q, worst_a = lack, q, kept
    is_in[:] = False
    for k in range(worst_a):
        is_in[upper[order[k]]] = True
    for k in range(worst_q, len(rho)):
        is_in[below[order_below[k]]] = True
    return worst, float(worst_a * worst_q)


@_compiled
def next_split(
    cost: float,
    step: float,
    flows: Array,
    share: Array,
    first: Array,
    lower: Array,
    weight: Array,
    status: Array,
    block: Array,
    offset: Array,
    successor: Array,
    objects: Array,
    is_complete: bool,
    cut: Array,
) -> tuple[float, int]:
    r"""Return the first step at which a block splits, and the size of the set that moves down.

    The set is written to `cut`; where no block splits before `step`, that is returned. The supply b = β − C d
    of a block is carried by a flow within C ω if no set X of its objects lacks capacity,

    .. math:: h(C) = C \, \mathrm{out}(X) - b(X) \ge 0.

    Each h is affine in C, so their minimum is concave, and Newton's method from the right end finds the first
    root in finitely many steps: find the worst X there, go to the root of its h, and repeat.

    `is_complete` says that all blocks are complete bipartite graphs with weights 1. Otherwise `share` has the
    part of its capacity that flows on every pair, where a search for a flow begins; it is brought up to date.
    """
    n, size = block.size, 0
    is_seen, local = np.zeros(n, np.bool_), np.empty(n, np.int64)
    ring, is_in = np.empty(n, np.int64), np.empty(n, np.bool_)
    edges, tail, head = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    begin, arcs, width = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    upper, below = np.empty(0, np.int64), np.empty(0, np.int64)
    for start in objects:
        if is_seen[start]:
            continue
        m, top, obj = 0, offset[start], start
        while not is_seen[obj]:
            is_seen[obj] = True
            top = max(top, offset[obj])
            local[obj] = m
            ring[m] = obj
            m += 1
            obj = successor[obj]
        members = ring[:m]
        supply, rate = flows[SUPPLY][members], flows[SUPPLY_RATE][members]
        # what flows out flows in; the difference is rounding, and would count as a cut
        supply -= supply.mean()
        rate -= rate.mean()
        if is_complete:
            is_top = offset[members] == top
            upper, below = np.flatnonzero(is_top), np.flatnonzero(~is_top)
        else:
            count, degree = 0, np.zeros(m + 1, np.int64)
            for k in range(m):
                for p in range(first[members[k]], first[members[k] + 1]):
                    if status[p] == MARGIN and block[lower[p]] == block[start]:
                        count += 1
            edges, tail, head = (
                np.empty(count, np.int64),
                np.empty(count, np.int64),
                np.empty(count, np.int64),
            )
            count = 0
            for k in range(m):
                for p in range(first[members[k]], first[members[k] + 1]):
                    if status[p] == MARGIN and block[lower[p]] == block[start]:
                        edges[count], tail[count], head[count] = p, k, local[lower[p]]
                        degree[k + 1] += 1
                        degree[local[lower[p]] + 1] += 1
                        count += 1
            begin = np.cumsum(degree)
            arcs, place, width = np.empty(2 * count, np.int64), begin[:-1].copy(), weight[edges]
            for e in range(count):
                arcs[place[tail[e]]] = 2 * e
                place[tail[e]] += 1
                arcs[place[head[e]]] = 2 * e + 1
                place[head[e]] += 1
        while True:
            is_endless = step == np.inf
            capacity = 1.0 if is_endless else cost + step
            now = rate if is_endless else supply + step * rate
            room = FLOW_NOISE * (capacity + np.abs(now).sum())
            if is_complete:
                lack, out = worst_sorted_cut(now, upper, below, capacity, is_in[:m])
            else:
                excess, flow = now.copy(), capacity * width * share[edges]
                for e in range(len(edges)):
                    excess[tail[e]] -= flow[e]
                    excess[head[e]] += flow[e]
                route(tail, head, capacity * width, flow, excess, begin, arcs, ROUTE_NOISE * room, is_in[:m])
                lack, out = 0.0, 0.0
                for k in range(m):
                    lack += excess[k] if is_in[k] else 0.0
                for e in range(len(edges)):
                    out += width[e] if is_in[tail[e]] and not is_in[head[e]] else 0.0
                    share[edges[e]] = flow[e] / (capacity * width[e])
            if lack <= room:
                break
            height, slope = cost * out, out
            for k in range(m):
                if is_in[k]:
                    height -= supply[k]
                    slope -= rate[k]
            if slope >= 0.0 or max(0.0, -height / slope) >= step:
                break
            step, size = max(0.0, -height / slope), 0
            for k in range(m):
                if is_in[k]:
                    cut[size] = members[k]
                    size += 1
            if step == 0.0:
                return step, size
    return step, size


@_compiled
def shift(flows: Array, i: int, j: int, cost: float, weight: float) -> None:
    """Make a violated pair (i, j) one on the margin: a flow supplies what was its demand, C ω."""
    flows[DEMAND, i] -= weight
    flows[SUPPLY, i] += cost * weight
    flows[SUPPLY_RATE, i] += weight
    flows[DEMAND, j] += weight
    flows[SUPPLY, j] -= cost * weight
    flows[SUPPLY_RATE, j] -= weight


@_compiled
def join(
    i: int,
    j: int,
    first: Array,
    lower: Array,
    into: Array,
    upper: Array,
    entering: Array,
    weight: Array,
    status: Array,
    share: Array,
    cost: float,
    flows: Array,
    block: Array,
    offset: Array,
    successor: Array,
) -> None:
    """Make one block of those of i and j, i one margin above j; their pairs at the margin now are on it."""
    lift = offset[j] + 1 - offset[i]
    # the ring with fewer members is renumbered, and looked at
    a, b = i, j
    while True:
        a, b = successor[a], successor[b]
        if b == j:
            small, other, lift = j, block[i], -lift
            break
        if a == i:
            small, other = i, block[j]
            break
    obj = small
    while True:
        offset[obj] += lift
        for p in range(first[obj], first[obj + 1]):
            partner = lower[p]
            if block[partner] == other and offset[obj] == offset[partner] + 1:
                share[p] = 1.0 if status[p] == VIOLATED else 0.0
                if status[p] == VIOLATED:
                    shift(flows, obj, partner, cost, weight[p])
                status[p] = MARGIN
        for k in range(into[obj], into[obj + 1]):
            partner, p = upper[k], entering[k]
            if block[partner] == other and offset[partner] == offset[obj] + 1:
                share[p] = 1.0 if status[p] == VIOLATED else 0.0
                if status[p] == VIOLATED:
                    shift(flows, partner, obj, cost, weight[p])
                status[p] = MARGIN
        obj = successor[obj]
        if obj == small:
            break
    while block[obj] != other:
        block[obj] = other
        obj = successor[obj]
    successor[i], successor[j] = successor[j], successor[i]


@_compiled
def divide(
    cut: Array,
    first: Array,
    lower: Array,
    into: Array,
    upper: Array,
    entering: Array,
    weight: Array,
    status: Array,
    cost: float,
    flows: Array,
    block: Array,
    offset: Array,
    successor: Array,
    parts: Array,
) -> int:
    """Split a block into the connected parts of a set that moves down and of the rest; return their number.

    Objects are written to `parts` part by part, with the largest part last; each of them is a block then.
    """
    n = len(block)
    start, size = cut[0], 0
    old = block[start]
    is_cut, members = np.zeros(n, np.bool_), np.empty(n, np.int64)
    for obj in cut:
        is_cut[obj] = True
    obj = start
    while True:
        members[size] = obj
        size += 1
        obj = successor[obj]
        if obj == start:
            break
    # edges out of the set are violated now, those into it satisfied
    for obj in members[:size]:
        if is_cut[obj] != (2 * len(cut) <= size):
            continue
        for p in range(first[obj], first[obj + 1]):
            partner = lower[p]
            if status[p] == MARGIN and block[partner] == old and is_cut[partner] != is_cut[obj]:
                status[p] = VIOLATED if is_cut[obj] else SATISFIED
                if is_cut[obj]:
                    shift(flows, obj, partner, cost, -weight[p])
        for k in range(into[obj], into[obj + 1]):
            partner, p = upper[k], entering[k]
            if status[p] == MARGIN and block[partner] == old and is_cut[partner] != is_cut[obj]:
                status[p] = VIOLATED if is_cut[partner] else SATISFIED
                if is_cut[partner]:
                    shift(flows, partner, obj, cost, -weight[p])
    # connected parts, by a search along the margin pairs that are left
    is_found = np.zeros(n, np.bool_)
    count, done, largest, where = 0, 0, 0, 0
    for root in members[:size]:
        if is_found[root]:
            continue
        begin = done
        parts[done] = root
        is_found[root] = True
        reached = done + 1
        while done < reached:
            obj = parts[done]
            done += 1
            for p in range(first[obj], first[obj + 1]):
                partner = lower[p]
                if status[p] == MARGIN and block[partner] == old and not is_found[partner]:
                    is_found[partner] = True
                    parts[reached] = partner
                    reached += 1
            for k in range(into[obj], into[obj + 1]):
                partner = upper[k]
                if status[entering[k]] == MARGIN and block[partner] == old and not is_found[partner]:
                    is_found[partner] = True
                    parts[reached] = partner
                    reached += 1
        count += 1
        if done - begin > largest:
            largest, where = done - begin, begin
        for k in range(begin, done):
            successor[parts[k]] = parts[k + 1] if k + 1 < done else parts[begin]
    whole = parts[where : where + largest].copy()
    parts[where : size - largest] = parts[where + largest : size].copy()
    parts[size - largest : size] = whole
    for obj in members[:size]:
        block[obj] = -1
    for obj in members[:size]:
        part = obj
        while block[part] != obj and block[part] == -1:
            block[part] = obj
            part = successor[part]
    return count


@_compiled
def project(g: Array, Q: Array, rank: int) -> tuple[Array, Array, float]:
    """Return Qg for the first rows of Q, what is left of g, orthogonal to them, and its squared length."""
    rows = Q[:rank]
    known = rows @ g
    q = g - known @ rows
    # once more, since what is left may be small relative to g
    again = rows @ q
    q -= again @ rows
    delta = 0.0
    for m in range(len(q)):
        delta += q[m] * q[m]
    return known + again, q, delta


@_compiled
def turn(
    force: float,
    y: Array,
    q: Array,
    F: Array,
    objects: Array,
    flows: Array,
    w_rate: Array,
    velocity: Array,
) -> None:
    """Change the direction by a multiple of y, a vector over the objects of blocks; q is Fᵀy."""
    for k in range(len(y)):
        flows[SUPPLY_RATE, objects[k]] += force * y[k]
    change = F @ q
    for m in range(len(q)):
        w_rate[m] += force * q[m]
    for i in range(len(change)):
        velocity[i] += force * change[i]


@_compiled
def attach(
    known: Array,
    q: Array,
    i: int,
    j: int,
    M: Array,
    Q: Array,
    F: Array,
    objects: Array,
    place: Array,
    count: int,
    flows: Array,
    w_rate: Array,
    velocity: Array,
) -> int:
    """Fix the difference of objects i and j: with u = e_i − e_j, `known` is QFᵀu and q what is left of Fᵀu.

    y = u − Mᵀ known is orthogonal in K to the rows of M, and becomes the row after them, its length one.
    Objects that were alone get a column of M; the number of columns is returned.
    """
    rank = len(known)
    for obj in (i, j):
        if place[obj] < 0:
            objects[count], place[obj] = obj, count
            for k in range(rank):
                M[k, count] = 0.0
            count += 1
    y = np.zeros(count)
    for k in range(rank):
        for m in range(count):
            y[m] -= known[k] * M[k, m]
    y[place[i]] += 1.0
    y[place[j]] -= 1.0
    delta, rate = 0.0, 0.0
    for m in range(len(q)):
        delta += q[m] * q[m]
        rate += q[m] * w_rate[m]
    turn(-rate / delta, y, q, F, objects, flows, w_rate, velocity)
    for m in range(count):
        M[rank, m] = y[m] / np.sqrt(delta)
    for m in range(len(q)):
        Q[rank, m] = q[m] / np.sqrt(delta)
    return count


@_compiled
def leave(obj: np.int64, M: Array, rank: int, objects: Array, place: Array, count: int, flows: Array) -> None:
    """Take away the column of an object that is alone, which is zero; the last column takes its place."""
    where, mover = place[obj], objects[count - 1]
    for k in range(rank):
        M[k, where] = M[k, count - 1]
    objects[where], place[mover] = mover, where
    place[obj] = -1
    flows[SUPPLY, obj], flows[SUPPLY_RATE, obj] = 0.0, 0.0


@_compiled
def release(
    part: Array,
    M: Array,
    Q: Array,
    rank: int,
    F: Array,
    objects: Array,
    place: Array,
    flows: Array,
    w_rate: Array,
    velocity: Array,
) -> None:
    """Keep of the span of the rows of M only the vectors whose sum over a part of a block is zero."""
    count, size = len(objects), Q.shape[1]
    x, force = np.zeros(rank), 0.0
    for obj in part:
        force -= flows[SUPPLY_RATE, obj]
        for k in range(rank):
            x[k] += M[k, place[obj]]
    length = 0.0
    for k in range(rank):
        length += x[k] * x[k]
    length = np.sqrt(length)
    y, q = np.zeros(count), np.zeros(size)
    for k in range(rank):
        x[k] /= length
        for m in range(count):
            y[m] += x[k] * M[k, m]
        for m in range(size):
            q[m] += x[k] * Q[k, m]
    turn(force / length, y, q, F, objects, flows, w_rate, velocity)
    # the reflection that maps x to the last unit vector, whose row is dropped
    last = rank - 1
    sign = -1.0 if x[last] > 0 else 1.0
    for m in range(count):
        y[m] -= sign * M[last, m]
    for m in range(size):
        q[m] -= sign * Q[last, m]
    for k in range(last):
        factor = x[k] / (sign * x[last] - 1.0)
        for m in range(count):
            M[k, m] += factor * y[m]
        for m in range(size):
            Q[k, m] += factor * q[m]


@_compiled
def advance(step: float, w: Array, w_rate: Array, score: Array, velocity: Array, flows: Array) -> None:
    """Move weights, scores and supplies along their lines."""
    for k in range(len(w)):
        w[k] += step * w_rate[k]
    for i in range(len(score)):
        score[i] += step * velocity[i]
        flows[SUPPLY, i] += step * flows[SUPPLY_RATE, i]


@_compiled
def level(velocity: Array, successor: Array, start: int | np.int64) -> None:
    """Give all members of a block their mean velocity."""
    total, size, obj = 0.0, 0, start
    while size == 0 or obj != start:
        total += velocity[obj]
        size += 1
        obj = successor[obj]
    obj, mean, size = start, total / size, 0
    while size == 0 or obj != start:
        velocity[obj] = mean
        size = 1
        obj = successor[obj]


@_compiled
def separate(
    members: Array,
    parts: int,
    block: Array,
    successor: Array,
    M: Array,
    Q: Array,
    rank: int,
    F: Array,
    objects: Array,
    place: Array,
    count: int,
    flows: Array,
    w_rate: Array,
    velocity: Array,
) -> tuple[int, int]:
    """Let the parts that `divide` found move apart; return the numbers of rows and of columns of M.

    Sums over every part but the last are zero from now on: one row less each.
    """
    heads, begin = np.empty(parts, np.int64), 0
    for k in range(parts):
        heads[k] = members[begin]
        if k + 1 < parts:
            end = begin + 1
            while block[members[end]] == block[heads[k]]:
                end += 1
            release(members[begin:end], M, Q, rank, F, objects[:count], place, flows, w_rate, velocity)
            rank -= 1
            begin = end
    for head in heads:
        if successor[head] == head:
            leave(head, M, rank, objects, place, count, flows)
            count -= 1
        else:
            level(velocity, successor, head)
    return rank, count


def flow_of(tail: Array, head: Array, capacity: Array, supply: Array) -> Array:
    """Return a flow within capacities that carries the supply of every node, as far as there is one.

    >>> flow_of(np.array([0, 0]), np.array([1, 2]), np.ones(2), np.array([1.5, -0.5, -1.0])).tolist()
    [0.5, 1.0]
    """
    n, m = len(supply), len(tail)
    arcs = np.argsort(np.stack([tail, head], axis=1).ravel(), kind="stable")
    begin = np.searchsorted(np.stack([tail, head], axis=1).ravel()[arcs], np.arange(n + 1))
    flow, excess = np.zeros(m), supply.copy()
    noise = SUPPLY_NOISE * float(np.abs(supply).max())
    route(tail, head, capacity, flow, excess, begin, arcs, noise, np.empty(n, np.bool_))
    return flow
