"""What the logger `kostra` is told."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kostra import _kostra
    from kostra._graph import Graph


def _logger() -> Any:
    """The logger, where somebody listens to it; nobody does where logging was never imported."""
    logging: Any = sys.modules.get("logging")
    logger = logging.getLogger("kostra") if logging else None
    return logger if logger and logger.isEnabledFor(logging.DEBUG) else None


def solve(graph: Graph, native: _kostra.Forest, algorithm: str, device: str, start: float) -> None:
    if logger := _logger():
        seconds = perf_counter() - start
        where, what = graph._native.resolve(algorithm, device)
        sizes = (graph.vertex_count, graph.edge_count, len(native), native.tree_count)
        text = "%s on %s: %d vertices, %d edges; forest of %d edges in %d trees, in %.3f ms"
        logger.debug(text, what, where, *sizes, 1e3 * seconds)


def load(done: str, name: str, graph: Graph, start: float) -> None:
    if logger := _logger():
        seconds = perf_counter() - start
        sizes = (graph.vertex_count, graph.edge_count)
        logger.debug("%s %s: %d vertices, %d edges, in %.3f ms", done, name, *sizes, 1e3 * seconds)
