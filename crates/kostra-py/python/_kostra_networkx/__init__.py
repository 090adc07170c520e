"""What NetworkX asks of the backend "kostra" when it is imported: a package of its own, so that nothing else is loaded."""

_CANONICAL = (
    "Returns the canonical forest, whatever the algorithm: that of Kruskal with ties going to the edge that comes first "
    "in G.edges, in Kruskal's order. Prim's and Borůvka's own choices among equal weights are not copied."
)

_FUNCTIONS = (
    "boruvka_mst_edges",
    "kruskal_mst_edges",
    "maximum_spanning_edges",
    "maximum_spanning_tree",
    "minimum_spanning_edges",
    "minimum_spanning_tree",
    "partition_spanning_tree",
    "prim_mst_edges",
)


def info() -> dict[str, object]:
    """The backend's description, the functions it has, and its settings: `nx.config.backends.kostra`."""
    return {
        "backend_name": "kostra",
        "project": "kostra",
        "package": "kostra",
        "short_summary": "Minimum spanning forests on all cores of a CPU or on an NVIDIA GPU.",
        "functions": {name: {"additional_docs": _CANONICAL} for name in _FUNCTIONS},
        "default_config": {"device": "auto", "threads": None},
    }
