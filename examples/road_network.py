"""A road network drawn with its minimum spanning forest: the cheapest streets to clear so that all junctions are reached.

pip install kostra matplotlib
python examples/road_network.py [FILE]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import kostra


def streets(rows, columns, missing, seed):
    """Junctions near the points of a grid, and streets between neighbours, of which a share is missing."""
    rng = np.random.default_rng(seed)
    numbers = np.arange(rows * columns).reshape(rows, columns)
    y, x = np.divmod(numbers.ravel(), columns)
    junctions = np.c_[x, y] + rng.normal(0, 0.18, (rows * columns, 2))
    across = np.c_[numbers[:, :-1].ravel(), numbers[:, 1:].ravel()]
    along = np.c_[numbers[:-1].ravel(), numbers[1:].ravel()]
    edges = np.concatenate([across, along])
    return junctions, edges[rng.random(len(edges)) >= missing]


def main():
    file = sys.argv[1] if len(sys.argv) > 1 else "road_network.png"
    junctions, edges = streets(30, 45, missing=0.25, seed=3)
    src, dst = edges.T
    length = np.hypot(*(junctions[src] - junctions[dst]).T)

    forest = kostra.minimum_spanning_forest(src, dst, length, vertices=len(junctions))
    assert forest.verify()
    print(f"{len(junctions)} junctions, {len(edges)} streets of {length.sum():.0f} km in all")
    print(f"{len(forest)} streets of {forest.total_weight:.0f} km reach them all, in {forest.tree_count} parts")

    figure, axes = plt.subplots(figsize=(11, 7.5))
    lines = junctions[edges]
    axes.add_collection(LineCollection(lines, colors="0.82", linewidths=1))
    colours = plt.cm.tab20(forest.labels[forest.src] % 20)
    axes.add_collection(LineCollection(lines[forest.edges], colors=colours, linewidths=2))
    axes.scatter(*junctions.T, s=3, color="0.2", zorder=3)
    axes.set(aspect="equal", title=f"{len(forest)} of {len(edges)} streets")
    axes.set_axis_off()
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    print(f"drawn to {file}")


if __name__ == "__main__":
    main()
