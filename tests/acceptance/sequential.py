"""Some workloads once more, in plain sequential Python: what their checksums must be at small sizes."""
import math

WORD = (1 << 64) - 1
UNSEEN = (1 << 32) - 1


def mix(x):
    """hn_mix: SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def sort(n):
    """msort and qsort_tasks: the sum does not depend on the order, the order is checked by the programs."""
    return sum(mix(mix(i) >> 32) for i in range(n)) & WORD


def matmult(n):
    """The product of two matrices of noise."""
    left = [[mix(i * n + j) for j in range(n)] for i in range(n)]
    right = [[mix((n + i) * n + j) for j in range(n)] for i in range(n)]
    columns = list(zip(*right))
    product = [sum(a * b for a, b in zip(row, column)) & WORD for row in left for column in columns]
    return sum(mix(cell ^ place) for place, cell in enumerate(product)) & WORD


def em3d_edges(side, n):
    """(source, weight) of the ten edges of each node."""
    near, edges = 256, []
    for i in range(n):
        mine = []
        for e in range(10):
            noise = mix((mix(2 * i + side) + e) & WORD)
            far = ((noise >> 32) * n) >> 32
            close = (i + n + (noise >> 32) % (2 * near + 1) - near % n) % n
            mine.append((close if noise % 5 else far, mix((mix(2 * i + side) + e) & WORD) >> 48))
        edges.append(mine)
    return edges


def em3d(n, steps):
    """Updates of both sides in turn."""
    values = [[mix(2 * i + side) for i in range(n)] for side in (0, 1)]
    edges = [em3d_edges(side, n) for side in (0, 1)]
    for _ in range(steps):
        for side in (0, 1):
            other = values[1 - side]
            values[side] = [(v - sum(w * other[j] for j, w in es)) & WORD for v, es in zip(values[side], edges[side])]
    return sum(mix(v ^ mix(2 * i + side)) for side in (0, 1) for i, v in enumerate(values[side])) & WORD


def noise(x):
    """From 0 up to 1."""
    return (x >> 11) * 2.0**-53


def bfs_targets(u, least, n):
    """Where the edges of a vertex lead."""
    degree = min(least / math.sqrt(1 - noise(mix(u))) * 1.5, 1024)
    shares = [noise(mix((mix(u) + e + 1) & WORD)) for e in range(int(degree))]
    return [int(x * x * n) for x in shares]


def bfs(n, least):
    """Levels from vertex 0, and the least parent of each."""
    level, parent = [UNSEEN] * n, [UNSEEN] * n
    level[0] = parent[0] = 0
    now = [0]
    while now:
        found = {}
        for u in now:
            for v in bfs_targets(u, least, n):
                if level[v] == UNSEEN:
                    found[v] = min(u, found.get(v, UNSEEN))
        for v, u in found.items():
            level[v], parent[v] = level[now[0]] + 1, u
        now = sorted(found)
    return sum(mix((level[v] << 32) ^ parent[v] ^ mix(v)) for v in range(n)) & WORD
