"""Threads, signals, memory, progress and logging."""

import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import kostra
from oracle import kruskal, random_graph


def python(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, **options)


def test_threads_calling_at_once():
    graphs = [random_graph(seed) for seed in range(8)]
    wanted = [kruskal(*graph) for graph in graphs]
    shared = kostra.generate("rmat:scale=10")
    digest = shared.minimum_spanning_forest().digest

    def solve(number):
        vertices, *arrays = graphs[number % 8]
        forest = kostra.minimum_spanning_forest(*arrays, vertices=vertices, threads=number % 3 + 1)
        return forest.edges.tolist() == wanted[number % 8] and shared.minimum_spanning_forest().digest == digest

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(solve, range(400)))


def test_the_gil_is_released():
    graph = kostra.generate("rmat:scale=17,degree=16")
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted[0]
        graph.minimum_spanning_forest(algorithm="prim")
        assert counted[0] > before + 10
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX does")
def test_ctrl_c_stops_a_long_solve_soon():
    code = """
import os, signal, threading, time, kostra
graph = kostra.generate("rmat:scale=19,degree=16")
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.perf_counter()
try:
    for _ in range(1000):
        graph.minimum_spanning_forest(algorithm="kruskal")
except KeyboardInterrupt:
    print("stopped", time.perf_counter() - start < 5)
print(len(graph.minimum_spanning_forest()) > 0)
"""
    done = python(code, timeout=120)
    assert done.stdout.split() == ["stopped", "True", "True"], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_has_threads_of_its_own():
    code = """
import os, kostra
graph = kostra.generate("rmat:scale=12")
digest = graph.minimum_spanning_forest().digest
child = os.fork()
if child == 0:
    os._exit(0 if graph.minimum_spanning_forest().digest == digest else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert python(code, timeout=60).stdout.strip() == "0"


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_memory_does_not_grow_over_ten_thousand_solves():
    vertices, src, dst, weight = random_graph(1)
    ids = src.astype("i8")

    def solve(times):
        for _ in range(times):
            forest = kostra.minimum_spanning_forest(ids, dst, weight, vertices=vertices)
            forest.edges, forest.weight, forest.labels, forest.total_weight  # noqa: B018
        gc.collect()
        return resident()

    before = solve(2000)
    assert solve(10_000) - before < 4 << 20


def test_progress():
    seen = []
    graph = kostra.generate("rmat:scale=18", progress=lambda *progress: seen.append(progress))
    graph.minimum_spanning_forest(algorithm="kruskal", progress=lambda *progress: seen.append(progress))
    assert seen and all(isinstance(phase, str) and done >= 0 for phase, done, _ in seen)
    assert all(total == 0 or done <= total for _, done, total in seen)


def test_progress_of_reading(tmp_path):
    kostra.generate("rmat:scale=16").write(tmp_path / "g.el")
    seen = []
    kostra.read(tmp_path / "g.el", progress=lambda *progress: seen.append(progress))
    assert seen and seen[-1][0] == "read"


def test_what_a_callback_raises_stops_the_work():
    def refuse(*_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        kostra.generate("rmat:scale=18", progress=refuse)


def test_bars_of_tqdm(capsys):
    tqdm = pytest.importorskip("tqdm")
    kostra.generate("rmat:scale=17", progress=tqdm.tqdm)
    shown = capsys.readouterr()
    assert "%" in shown.err and not shown.out
    kostra.generate("rmat:scale=17", progress=True)


def test_quiet_by_default(capfd):
    kostra.generate("rmat:scale=12").minimum_spanning_forest()
    assert capfd.readouterr() == ("", "")


def test_logging(caplog):
    with caplog.at_level(logging.DEBUG, logger="kostra"):
        kostra.generate("grid:rows=9,cols=9").minimum_spanning_forest()
    generated, solved = caplog.messages
    assert generated.startswith("generated grid:rows=9,cols=9: 81 vertices, 144 edges, in ")
    assert solved.startswith("kostra on cpu: 81 vertices, 144 edges; forest of 80 edges in 1 trees, in ")


def test_signals_are_not_lost_on_short_solves():
    caught = []
    old = signal.signal(signal.SIGUSR1, lambda *_: caught.append(1))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        kostra.minimum_spanning_forest([0], [1])
        assert caught
    finally:
        signal.signal(signal.SIGUSR1, old)
