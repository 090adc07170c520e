"""Clustering points that no centre could tell apart: three rings, one inside the other.

pip install kostra
python examples/cluster_points.py
"""

import numpy as np

from kostra.cluster import SingleLinkage


def rings(points_each, radii, noise, seed):
    """Points on circles around the origin, and the circle of each."""
    rng = np.random.default_rng(seed)
    circle = np.repeat(np.arange(len(radii)), points_each)
    angle = rng.uniform(0, 2 * np.pi, len(circle))
    radius = np.asarray(radii)[circle] + rng.normal(0, noise, len(circle))
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], circle


def main():
    points, circle = rings(2000, [1.0, 2.0, 3.0], 0.05, seed=7)

    model = SingleLinkage(distance_threshold=0.4).fit(points)
    print(f"{len(points)} points, merged where nearer than 0.4: {model.n_clusters_} clusters")
    for label, size in enumerate(np.bincount(model.labels_)):
        of = np.bincount(circle[model.labels_ == label], minlength=3)
        print(f"  cluster {label}: {size} points, of the rings {of.tolist()}")

    again = SingleLinkage(n_clusters=3).fit_predict(points)
    assert (again == model.labels_).all()
    gaps = model.distances_[-4:]
    print(f"the last merges bridge {', '.join(f'{gap:.3f}' for gap in gaps)}: the jump shows how many clusters there are")


if __name__ == "__main__":
    main()
