"""Graphs that do not fit in memory: batches of edges, and files of any size."""

from __future__ import annotations

from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from kostra import _arrays, _kostra, _progress
from kostra._forest import Tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

# How files are read: format, whether ids are sparse, columns, limit of memory.
_Reading = tuple[str | None, bool, tuple[str, str, str | None] | None, int | None]


class Stream:
    """The forest of a graph whose edges come in batches. Only the forest of those so far is kept, and a pool of some more.

    Parameters
    ----------
    memory : bytes that it may take; without a limit it merges 2^22 edges at a time, or 16 per vertex.
    vertices : how many there are at least; by default as many as the edges name.
    maximum, algorithm, device, threads : see `kostra.minimum_spanning_forest`.

    Examples
    --------
    >>> stream = kostra.Stream()
    >>> stream.push([0, 1], [1, 2], [5, 3])
    >>> stream.push([2, 2], [0, 3], [4, 9])
    >>> forest = stream.finish()
    >>> forest.edges, forest.total_weight
    (array([1, 2, 3], dtype=uint64), 16)
    """

    def __init__(
        self,
        *,
        memory: int | None = None,
        vertices: int | None = None,
        maximum: bool = False,
        algorithm: str = "auto",
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        self._native = _kostra.Stream(algorithm, device, maximum, memory, vertices, threads)

    def push(self, src: Any, dst: Any = None, weight: Any = None) -> None:
        """Adds edges: arrays of both ends and of weights, or one table as `kostra.Graph` takes them. Ids count on."""
        if dst is None:
            if not _arrays.is_table(src):
                raise ValueError("two arrays of vertex ids are wanted, or one table of edges")
            src, dst, weight = _arrays.edges_of(src, weight)
        weight = None if weight is None else _arrays.column(weight, "weight")
        self._native.push(_arrays.ids(src, "src"), _arrays.ids(dst, "dst"), _arrays.native(weight))

    @property
    def edge_count(self) -> int:
        """The number of edges so far."""
        return self._native.edges

    def finish(self) -> StreamForest:
        """The forest of all edges."""
        return StreamForest(self._native.finish())


class StreamForest(Tables):
    """The spanning forest of a stream: edge ids in 64 bits, and the edges themselves, as the graph is gone."""

    def __init__(self, native: _kostra.StreamForest, files: tuple[list[str], _Reading, bool] | None = None) -> None:
        self._native = native
        self._files = files

    @cached_property
    def edges(self) -> NDArray[np.uint64]:
        """The ids of the forest's edges, ascending: their positions in the stream."""
        return self._native.edges

    @cached_property
    def src(self) -> NDArray[np.uint32]:
        """The first end of every edge of the forest."""
        return self._native.src

    @cached_property
    def dst(self) -> NDArray[np.uint32]:
        """The second end of every edge of the forest."""
        return self._native.dst

    @cached_property
    def weight(self) -> NDArray[Any]:
        """The weight of every edge of the forest; ones where there were none."""
        return self._native.weight

    @cached_property
    def labels(self) -> NDArray[np.uint32]:
        """The tree of every vertex; trees are numbered from 0 by their smallest vertex."""
        return self._native.labels

    @cached_property
    def names(self) -> list[str] | None:
        """The names of the vertices, where files were read with ids="sparse"."""
        names = self._native.names()
        return None if names is None else [name.decode(errors="surrogateescape") for name in names]

    @property
    def vertex_count(self) -> int:
        """The number of vertices."""
        return self._native.vertices

    @property
    def edge_count(self) -> int:
        """How many edges the stream had."""
        return self._native.streamed

    @property
    def tree_count(self) -> int:
        """The number of trees; a vertex without edges is a tree of its own."""
        return self._native.tree_count

    @property
    def total_weight(self) -> int | float:
        """The sum of the weights: exact for integers; for floats added in edge-id order."""
        return self._native.total_weight

    @property
    def digest(self) -> str:
        """A hash of the edge ids, as the program prints it."""
        return self._native.digest

    def verify(self, *, threads: int | None = None, progress: Any = None) -> bool:
        """Proves that the forest of files is minimum (or maximum), by reading them once more.

        Returns True; raises ValueError with the flaw otherwise, or where the edges did not come from files.
        """
        if self._files is None:
            raise ValueError("the edges were pushed and are gone; only the forest of files can be proved")
        paths, reading, maximum = self._files
        with _progress.watching(progress) as callback:
            self._native.verify(paths, reading, maximum, threads, callback)
        return True

    def write(self, path: str | PathLike[str], *, format: str | None = None, progress: Any = None) -> None:
        """Writes lines "u v weight edge_id" to .forest or .txt, or a graph in the format that the name says."""
        with _progress.watching(progress) as callback:
            self._native.write(fspath(path), format, callback)

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        trees = f"{self.tree_count} tree" + "s" * (self.tree_count != 1)
        edges = f"{len(self)} edge" + "s" * (len(self) != 1)
        return f"<kostra.StreamForest: {edges} of {self.edge_count} in {trees}, weight {self.total_weight}>"


def minimum_spanning_forest_files(
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    format: str | None = None,
    ids: str = "dense",
    columns: tuple[str, ...] | None = None,
    memory: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    maximum: bool = False,
    algorithm: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    progress: Any = None,
) -> StreamForest:
    """The minimum spanning forest of the edges in files of any size, one after the other.

    They are read in parts; only the forest of those so far is kept, and a pool of edges that may yet be in it.

    Parameters
    ----------
    paths : a file or several, in any format; a directory stands for its files in byte order of their names.
    format, ids, columns : see `kostra.read`.
    memory : bytes that it may take, however large the files are.
    checkpoint : a file to which the work is saved now and then, and from which it goes on if it exists. It is not removed.
    maximum, algorithm, device, threads, progress : see `kostra.minimum_spanning_forest`.
    """
    sparse, named = _arrays.reading(ids, columns)
    names = [paths] if isinstance(paths, (str, PathLike)) else paths
    files = [fspath(path) for path in names]
    reading: _Reading = (format, sparse, named, memory)
    saved = None if checkpoint is None else fspath(checkpoint)
    with _progress.watching(progress) as callback:
        native = _kostra.forest_of_files(files, reading, algorithm, device, maximum, saved, threads, callback)
    return StreamForest(native, (files, reading, maximum))
