"""Host cost of a graph's launch, for graphs of one and of ten kernels: C++, and cupola."""

import ctypes

import bench_launch
import floor
import numpy as np

import cupola


def run():
    """Nanoseconds a launch and the ratio to the C++ loop of the same graph."""
    n = bench_launch.N
    x = cupola.to_device(np.arange(n, dtype=np.float32))
    out = cupola.zeros(n, np.float32)
    kernel = cupola.shipped_kernels()["saxpy"]
    library = floor.build()
    driver = ctypes.CDLL(cupola.driver.info().path)
    launch = ctypes.cast(driver.cuGraphLaunch, ctypes.c_void_p)
    rows = []
    for nodes in (1, 10):
        graph, last = cupola.Graph(), None
        for _ in range(nodes):
            last = graph.add_kernel(kernel, 1, 32, 1.0, x, out, out, n, after=last)
        run_graph = graph.instantiate()
        stream = cupola.Stream()

        def cpp(run_graph=run_graph, stream=stream):
            elapsed = library.floor_graph(
                launch, run_graph.handle, stream.handle, bench_launch.BATCH
            )
            assert elapsed > 0
            stream.synchronize()
            return elapsed

        def python(run_graph=run_graph, stream=stream):
            with stream:
                return bench_launch.timed(run_graph)

        calls = {
            f"C++ loop over cuGraphLaunch, nodes: {nodes}": cpp,
            f"run(), nodes: {nodes}": python,
        }
        rows += bench_launch.interleaved(calls)
    return rows


if __name__ == "__main__":
    for row in run():
        print(row)
