"""Arrays in a GPU's memory: those of CuPy, PyTorch, and whatever else has `__cuda_array_interface__` or DLPack."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from kostra import _kostra

# DLPack's numbers of devices that a CUDA kernel can read: CUDA memory, and memory that CUDA manages.
_CUDA = (2, 13)
_TYPES = {"<u4": "u32", "<i4": "i32", "<u8": "u64", "<i8": "i64", "<f4": "f32", "<f8": "f64"}
# Narrow types are widened on the GPU, by the library that the array is from.
_WIDER = {"|b1": "int32", "|i1": "int32", "|u1": "int32", "<i2": "int32", "<u2": "int32", "<f2": "float32"}


def device_of(array: Any) -> int | None:
    """The number of the GPU that the array is on; None where it is on none."""
    if isinstance(array, (np.ndarray, list, tuple)) or array is None:
        return None
    if hasattr(array, "__dlpack_device__"):
        kind, number = array.__dlpack_device__()
        return int(number) if kind in _CUDA else None
    return 0 if hasattr(array, "__cuda_array_interface__") else None


def graph(src: Any, dst: Any, weight: Any, vertices: int | None) -> tuple[_kostra.DeviceGraph, list[Any]]:
    """The graph of these arrays, and the arrays as they were given to it."""
    given = {"src": src, "dst": dst} | ({} if weight is None else {"weight": weight})
    devices = {name: device_of(array) for name, array in given.items()}
    if len(set(devices.values())) != 1:
        places = ", ".join(f"{name} on {'the host' if at is None else f'cuda:{at}'}" for name, at in devices.items())
        raise ValueError(f"the arrays must be on one device, but there is {places}")
    arrays = {name: _plain(array, name) for name, array in given.items()}
    lengths = {name: array.__cuda_array_interface__["shape"][0] for name, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        counts = [lengths["src"], lengths["dst"], lengths.get("weight", lengths["src"])]
        text = "the graph's arrays differ in length: {} sources, {} targets, {} weights"
        raise ValueError(text.format(*counts))
    described = {name: _described(array) for name, array in arrays.items()}
    kept = list(arrays.values())
    number, edges = devices["src"], lengths["src"]
    parts = (described["src"], described["dst"], described.get("weight"))
    native = _kostra.DeviceGraph(kept, number or 0, edges, parts, vertices)
    return native, kept


def to_numpy(array: Any) -> np.ndarray:
    """A copy in the host's memory."""
    return array.get() if hasattr(array, "get") else array.cpu().numpy()


def _plain(array: Any, what: str) -> Any:
    """The array, contiguous, of a type that the kernels know."""
    if hasattr(array, "detach"):
        array = array.detach()
    if not hasattr(array, "__cuda_array_interface__"):
        array = _through_dlpack(array)
    about = array.__cuda_array_interface__
    if len(about["shape"]) != 1:
        raise ValueError(f"{what}: one array of one dimension is wanted, not of shape {tuple(about['shape'])}")
    if about["typestr"] in _WIDER:
        wider = _WIDER[about["typestr"]]
        array = array.to(getattr(sys.modules["torch"], wider)) if hasattr(array, "to") else array.astype(wider)
    elif about["typestr"] not in _TYPES:
        raise ValueError(f"{what}: integers or floats are wanted, not {about['typestr']}")
    if array.__cuda_array_interface__.get("strides") is not None:
        array = array.contiguous() if hasattr(array, "contiguous") else array.copy()
    return array


def _through_dlpack(array: Any) -> Any:
    for library in ("cupy", "torch"):
        try:
            module = __import__(library)
        except ImportError:
            continue
        return module.from_dlpack(array)
    raise ValueError("this array on a GPU can be read through CuPy or PyTorch only, and there is neither")


def _described(array: Any) -> tuple[int, str]:
    about = array.__cuda_array_interface__
    return int(about["data"][0] or 0), _TYPES[about["typestr"]]
