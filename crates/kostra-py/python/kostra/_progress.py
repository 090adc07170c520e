"""Progress of long work: callbacks, and bars of tqdm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Callback = Callable[[str, int, int], Any]


class Bars:
    """Draws a bar of `tqdm` for every phase."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm = tqdm
        self.bar: Any = None
        self.phase = ""

    def __call__(self, phase: str, done: int, total: int) -> None:
        if self.bar is None or phase != self.phase:
            self.close()
            self.bar, self.phase = self.tqdm(desc=phase, total=total or None), phase
        self.bar.total = total or None
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


@contextmanager
def watching(progress: Any) -> Iterator[Callback | None]:
    """What to call during some work; bars are closed after it."""
    call = callback(progress)
    try:
        yield call
    finally:
        if isinstance(call, Bars):
            call.close()


def callback(progress: Any) -> Callback | None:
    """What to call with (phase, done, total): `progress` itself, or bars where it is `True` or tqdm's class."""
    if progress is None or progress is False:
        return None
    if progress is True:
        from tqdm.auto import tqdm

        return Bars(tqdm)
    if hasattr(progress, "update") and hasattr(progress, "set_description"):
        return Bars(progress)
    if not callable(progress):
        raise ValueError("progress must be callable as progress(phase, done, total), tqdm's class, or True")
    return progress
