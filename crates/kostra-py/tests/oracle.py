"""A naive Kruskal that nobody optimises, and graphs for it: what every test compares with."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

# Every type of weights that NumPy has and that can be ordered.
WEIGHT_TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
ID_TYPES = ["u4", "i4", "i8", "u8", "i2", "u2", "i1", "u1"]


def kruskal(vertices, src, dst, weight=None, maximum=False):
    """Edge ids, ascending; ties go to the smaller id."""
    parent = list(range(vertices))

    def find(v):
        while parent[v] != v:
            v = parent[v]
        return v

    weight = [1] * len(src) if weight is None else [w.item() if hasattr(w, "item") else w for w in weight]
    chosen = []
    for e in sorted(range(len(src)), key=weight.__getitem__, reverse=maximum):
        u, v = find(int(src[e])), find(int(dst[e]))
        if u != v:
            parent[u] = v
            chosen.append(e)
    return sorted(chosen)


def random_graph(seed, vertices=40, edges=120, kind="i8", values=6):
    """Many ties, loops, parallel edges, several components."""
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(0, vertices, (2, edges)).astype("u4")
    low = -values if np.dtype(kind).kind in "if" else 0
    high = 2 if kind == "?" else values
    return vertices, src, dst, rng.integers(low, high, edges).astype(kind)


@st.composite
def graphs(draw, weight_types=WEIGHT_TYPES, most=12):
    """Vertices, ends and weights, biased to ties and disconnection."""
    vertices = draw(st.integers(1, most))
    edges = draw(st.integers(0, 3 * most))
    ends = st.lists(st.integers(0, vertices - 1), min_size=edges, max_size=edges)
    src, dst = draw(ends), draw(ends)
    kind = np.dtype(draw(st.sampled_from(weight_types)))
    weights = st.lists(values_of(kind), min_size=edges, max_size=edges)
    return vertices, np.array(src, "i8"), np.array(dst, "i8"), np.array(draw(weights), kind)


def values_of(kind):
    if kind.kind == "b":
        return st.booleans()
    if kind.kind == "f":
        exact = st.sampled_from([0.0, -0.0, 1.0, 0.5, -1.0, float("inf"), float("-inf")])
        return exact | st.floats(width=8 * kind.itemsize, allow_nan=False)
    info = np.iinfo(kind)
    few = st.sampled_from([0, 1, 2, info.max, info.max - 1, info.min])
    return few | st.integers(int(info.min), int(info.max))
