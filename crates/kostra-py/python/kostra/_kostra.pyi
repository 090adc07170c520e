from collections.abc import Callable
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

_Progress = Callable[[str, int, int], Any] | None

__all__ = [
    "DeviceGraph",
    "Forest",
    "Graph",
    "Stream",
    "StreamForest",
    "__version__",
    "algorithms",
    "columns",
    "cut",
    "devices",
    "expand_rows",
    "forest_of_files",
    "generate",
    "linkage_matrix",
    "nx_adjacency",
    "nx_edges",
    "nx_order",
    "nx_tuples",
    "nx_weights",
    "point_tree",
    "read",
    "release_memory",
    "tie_order",
    "tree_of_rows",
]

__version__: str

@final
class Graph:
    def __new__(
        cls,
        src: NDArray[Any],
        dst: NDArray[Any],
        weight: NDArray[Any] | None = None,
        vertices: int | None = None,
        threads: int | None = None,
    ) -> Graph: ...
    @property
    def vertices(self) -> int: ...
    @property
    def edges(self) -> int: ...
    @property
    def weight_type(self) -> str: ...
    @property
    def src(self) -> NDArray[np.uint32]: ...
    @property
    def dst(self) -> NDArray[np.uint32]: ...
    @property
    def weight(self) -> NDArray[Any] | None: ...
    def names(self) -> list[bytes] | None: ...
    def solve(
        self,
        algorithm: str,
        device: str,
        maximum: bool,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> Forest: ...
    def verify(
        self, edges: NDArray[Any], maximum: bool, threads: int | None = None, progress: _Progress = None
    ) -> None: ...
    def resolve(self, algorithm: str, device: str) -> tuple[str, str]: ...
    def write(
        self,
        path: str | PathLike[str],
        format: str | None = None,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> None: ...

@final
class DeviceGraph:
    def __new__(
        cls,
        owners: list[Any],
        number: int,
        edges: int,
        arrays: tuple[tuple[int, str], tuple[int, str], tuple[int, str] | None],
        vertices: int | None = None,
    ) -> DeviceGraph: ...
    @property
    def vertices(self) -> int: ...
    @property
    def edges(self) -> int: ...
    def solve(
        self,
        algorithm: str,
        device: str,
        maximum: bool,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> Forest: ...
    def resolve(self, algorithm: str, device: str) -> tuple[str, str]: ...

@final
class Forest:
    def __len__(self) -> int: ...
    @property
    def edges(self) -> NDArray[np.uint32]: ...
    @property
    def src(self) -> NDArray[np.uint32]: ...
    @property
    def dst(self) -> NDArray[np.uint32]: ...
    @property
    def weight(self) -> NDArray[Any]: ...
    @property
    def labels(self) -> NDArray[np.uint32]: ...
    @property
    def tree_count(self) -> int: ...
    @property
    def total_weight(self) -> int | float: ...
    @property
    def digest(self) -> str: ...
    @property
    def maximum(self) -> bool: ...
    def write(
        self,
        path: str | PathLike[str],
        format: str | None = None,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> None: ...

@final
class Stream:
    def __new__(
        cls,
        algorithm: str,
        device: str,
        maximum: bool,
        memory: int | None = None,
        vertices: int | None = None,
        threads: int | None = None,
    ) -> Stream: ...
    def push(self, src: NDArray[Any], dst: NDArray[Any], weight: NDArray[Any] | None = None) -> None: ...
    @property
    def edges(self) -> int: ...
    def finish(self) -> StreamForest: ...

@final
class StreamForest:
    def __len__(self) -> int: ...
    @property
    def edges(self) -> NDArray[np.uint64]: ...
    @property
    def src(self) -> NDArray[np.uint32]: ...
    @property
    def dst(self) -> NDArray[np.uint32]: ...
    @property
    def weight(self) -> NDArray[Any]: ...
    @property
    def labels(self) -> NDArray[np.uint32]: ...
    @property
    def vertices(self) -> int: ...
    @property
    def streamed(self) -> int: ...
    @property
    def tree_count(self) -> int: ...
    @property
    def total_weight(self) -> int | float: ...
    @property
    def digest(self) -> str: ...
    def names(self) -> list[bytes] | None: ...
    def write(self, path: str | PathLike[str], format: str | None = None, progress: _Progress = None) -> None: ...
    def verify(
        self,
        paths: list[str],
        reading: tuple[str | None, bool, tuple[str, str, str | None] | None, int | None],
        maximum: bool,
        threads: int | None = None,
        progress: _Progress = None,
    ) -> None: ...

def forest_of_files(
    paths: list[str],
    reading: tuple[str | None, bool, tuple[str, str, str | None] | None, int | None],
    algorithm: str,
    device: str,
    maximum: bool,
    checkpoint: str | None = None,
    threads: int | None = None,
    progress: _Progress = None,
) -> StreamForest: ...
def read(
    path: str | PathLike[str],
    format: str | None = None,
    sparse: bool = False,
    columns: tuple[str, str, str | None] | None = None,
    threads: int | None = None,
    progress: _Progress = None,
) -> Graph: ...
def generate(spec: str, threads: int | None = None, progress: _Progress = None) -> Graph: ...
def algorithms() -> list[tuple[str, str, bool]]: ...
def devices() -> list[tuple[str, str, int]]: ...
def release_memory() -> None: ...
def columns(capsule: Any) -> list[tuple[str, Any]]: ...
def expand_rows(offsets: NDArray[np.int32] | NDArray[np.int64], entries: int) -> NDArray[np.uint32]: ...
def tree_of_rows(
    data: NDArray[np.float64],
    columns: NDArray[np.int32],
    offsets: NDArray[np.int32],
    threads: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]: ...
def nx_edges(
    adjacency: dict[Any, Any], index: dict[Any, int], multigraph: bool, weight: Any
) -> tuple[
    NDArray[np.uint32],
    NDArray[np.uint32],
    list[Any],
    list[Any] | None,
    NDArray[np.int64] | NDArray[np.float64] | None,
]: ...
def nx_weights(datas: list[Any], weight: Any) -> NDArray[np.int64] | NDArray[np.float64] | None: ...
def nx_order(
    edges: NDArray[np.uint32], weights: NDArray[np.int64] | NDArray[np.float64], maximum: bool
) -> NDArray[np.uint32]: ...
def nx_tuples(
    nodes: list[Any],
    src: NDArray[np.uint32],
    dst: NDArray[np.uint32],
    edges: NDArray[np.uint32],
    keys: list[Any] | None = None,
    datas: list[Any] | None = None,
) -> list[tuple[Any, ...]]: ...
def nx_adjacency(
    nodes: list[Any],
    src: NDArray[np.uint32],
    dst: NDArray[np.uint32],
    edges: NDArray[np.uint32],
    datas: list[Any],
    keys: list[Any] | None = None,
) -> dict[Any, Any]: ...
def linkage_matrix(forest: Forest) -> NDArray[np.float64]: ...
def cut(matrix: NDArray[np.float64], merges: int) -> NDArray[np.int64]: ...
def point_tree(
    coordinates: NDArray[np.float64], dimensions: int, threads: int | None = None, progress: _Progress = None
) -> Graph: ...
def tie_order(
    src: NDArray[np.uint32],
    dst: NDArray[np.uint32],
    id: NDArray[np.uint64] | None = None,
    threads: int | None = None,
) -> NDArray[np.uint32] | None: ...
