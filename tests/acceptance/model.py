"""Bolosky's cost model once more, in plain Python and independently of the Rust code: machines, policies, the optimum.

Everything is about one block. A step is (node, writes, weight): `weight` equal references in a row. Reference cost 1 where
there is a copy, r at another node's, g at global memory's; each copy added costs R, or G if global memory is involved;
dropping and the first placement are free. Sources: Bolosky 1993, sections 3.1.3, 4.1, 4.2 and 5.1.
"""
import itertools
from typing import NamedTuple

INFINITE = 1 << 60


class Machine(NamedTuple):
    """Costs in local references; no global memory if g is infinite."""

    name: str
    nodes: int
    r: int
    R: int
    g: int = INFINITE
    G: int = INFINITE
    page_bytes: int = 4096
    word_bytes: int = 4
    unit_bytes: int = 64

    @property
    def has_global(self):
        return self.g < INFINITE


# Section 5.1 and the captions of figures 5.4-5.7, for pages of 1024 words. R of the ACE is not printed: 2 G.
MACHINES = {
    "ace": Machine("ace", nodes=8, r=5, R=2 * 2248, g=2, G=2 * 1024 + 200),
    "butterfly": Machine("butterfly", nodes=8, r=15, R=3 * 1024 + 200),
}


class Ace:
    """Replicate what is read, move what is written, give up after k invalidations."""

    __slots__ = ("m", "k", "copies", "valid", "frozen", "invalidations", "keeper", "cost")

    def __init__(self, machine, k):
        self.m, self.k = machine, k
        self.copies, self.valid, self.frozen = 0, False, False  # bit set of nodes; global memory is valid; given up
        self.invalidations, self.keeper, self.cost = 0, None, 0

    def step(self, node, writes, weight):
        bit = 1 << node
        if self.keeper is None:
            self.copies, self.keeper = bit, node
            self.valid = self.m.has_global and not writes
        elif not self.frozen and (writes or not self.copies & bit):
            sole = self.copies == bit and not (self.valid and writes)
            if not sole:
                self.fault(node, bit, writes)
        self.cost += weight * self.price(bit)

    def price(self, bit):
        if self.frozen and self.m.has_global:
            return self.m.g
        return 1 if self.copies & bit else self.m.r

    def fault(self, node, bit, writes):
        if self.invalidations >= self.k:
            self.frozen = True
            if self.m.has_global:
                self.cost += 0 if self.valid else self.m.G
            self.copies = 0 if self.m.has_global else 1 << self.keeper
        elif writes:
            if self.copies != bit:
                self.invalidations += 1
            if not self.copies & bit:
                self.cost += self.m.G if self.valid else self.m.R
            self.copies, self.valid, self.keeper = bit, False, node
        else:
            if not self.m.has_global:
                self.cost += self.m.R
            else:
                self.cost += self.m.G if self.valid else 2 * self.m.G
                self.valid = True
            self.copies |= bit


def short_reads(machine):
    """So many reads by one node do not pay for a copy."""
    return min(machine.R // (machine.r - 1), machine.G // (machine.g - 1) if machine.has_global else INFINITE)


def solo(state, node, weight):
    """The shared offset, the node's and global memory's after `weight` writes (or as good as writes) by one node.

    The best moment for the node to fetch the block is the first of them, for global memory the first or the last."""
    m = state.m
    mine, dg = state.d.get(node, 0), state.dg
    if weight:
        mine = min(mine, state.low + m.R, state.dg + m.G) + 1 - m.r
        dg = min(dg, state.low + m.G) + weight * (m.g - m.r)
        if weight > 1:
            dg = min(dg, mine + (weight - 2) * (1 - m.r) + m.G + m.g - m.r)
        mine += (weight - 1) * (1 - m.r)
    return state.base + weight * m.r, mine, min(dg, INFINITE)


class NoReplication:
    """The optimum with one copy (algorithms after Dietz): one shared offset, work only for the referencing node."""

    __slots__ = ("m", "base", "d", "low", "dg")

    def __init__(self, machine):
        self.m, self.base, self.d, self.low, self.dg = machine, 0, {}, 0, 0

    def step(self, node, weight):
        """References by one node; reads and writes are the same here."""
        self.base, mine, self.dg = solo(self, node, weight)
        self.d[node] = mine
        if mine < self.low:
            self.low = mine

    def cost(self):
        return self.base + min(self.low, self.dg)


class Replication:
    """The optimum with replication, corrected (needs R >= G where there is global memory), P_0 free."""

    __slots__ = ("m", "base", "d", "low", "dg", "reads", "first", "leading")

    def __init__(self, machine):
        assert not machine.has_global or machine.R >= machine.G
        self.m, self.base, self.d, self.low, self.dg = machine, 0, {}, 0, 0
        self.reads, self.first, self.leading = {}, True, 0

    def step(self, node, writes, weight):
        if not writes:
            self.reads[node] = self.reads.get(node, 0) + weight
            return
        if self.first and self.reads:
            self.leading_reads(node)
        elif self.reads:
            self.close_run(node)
        else:
            self.alone(node, 1)
        self.first = False
        if weight > 1:
            self.alone(node, weight - 1)

    def solo(self, node, weight):
        """`weight` references in a row by one node, the first and the last of them writes, not more reads between two
        writes than `short_reads`: nobody else can gain by a copy and the node not by leaving, so all count as writes."""
        self.step(node, True, 1)
        if weight > 1:
            self.alone(node, weight - 1)

    def alone(self, node, weight):
        """Writes in a row by one node, with no read before the first."""
        self.base, mine, self.dg = solo(self, node, weight)
        self.d[node] = mine
        if mine < self.low:
            self.low = mine

    def leading_reads(self, node):
        """The first set is free: every reader has its copy."""
        m = self.m
        self.base = sum(self.reads.values()) + m.r
        self.d, self.low = {node: 1 - m.r}, 1 - m.r
        self.dg = m.g - m.r if m.has_global else INFINITE
        self.reads = {}

    def run(self):
        """(Z, mu) without and (ZG, muG) with global memory over the reads since the last write."""
        m, d = self.m, self.d
        z, mu, zg, mug = 0, self.low, m.G, min(self.dg - m.G, self.low)
        for k, n in self.reads.items():
            saved, have = (m.r - 1) * n, d.get(k, 0)
            z += m.r * n - max(0, saved - m.R)
            mu = min(mu, have - min(m.R, saved))
            if m.has_global:
                saved = (m.g - 1) * n
                zg += m.g * n - max(0, saved - m.G)
                mug = min(mug, have - min(m.G, saved))
        return z, mu, (zg if m.has_global else INFINITE), mug

    def close_run(self, node):
        m, d = self.m, self.d
        z, mu, zg, mug = self.run()
        shared = min(z, zg)
        after = {}
        for j in {node, *self.reads}:
            n, have = self.reads.get(j, 0), d.get(j, 0)
            saved = (m.r - 1) * n
            best = z + min(have - min(m.R, saved), max(0, m.R - saved) + mu)
            if m.has_global:
                saved = (m.g - 1) * n
                best = min(best, zg + min(have - min(m.G, saved), max(0, m.G - saved) + mug))
            after[j] = best - shared - (m.r - 1 if j == node else 0)
        if m.has_global:
            self.dg = zg + mug + m.g - shared - m.r
        d.update(after)
        self.low = min(self.low, *after.values())
        self.base += shared + m.r
        self.reads = {}

    def cost(self):
        if not self.reads:
            return self.base + min(self.low, self.dg)
        if self.first:
            return sum(self.reads.values())
        z, mu, zg, mug = self.run()
        return self.base + min(z + mu, zg + mug)


def every_placement(machine, steps, replicate):
    """Brute force: the exact minimum over all legal placements, straight from the cost definition."""
    places = list(range(machine.nodes)) + ([-1] if machine.has_global else [])
    sizes = range(1, len(places) + 1) if replicate else [1]
    sets = [frozenset(c) for n in sizes for c in itertools.combinations(places, n)]
    best = None
    for node, writes, weight in steps:
        for _ in range(weight):
            after = {}
            for p in sets:
                if writes and len(p) > 1:
                    continue
                move = 0 if best is None else min(c + added(machine, old, p) for old, c in best.items())
                after[p] = move + (1 if node in p else machine.g if -1 in p else machine.r)
            best = after
    return min(best.values()) if best else 0


def added(machine, old, new):
    """Movement cost of one transition."""
    return len(new - old) * (machine.G if -1 in old or -1 in new else machine.R)
