"""Host cost of a graph's launch, beside a C++ loop over cuGraphLaunch

python benchmarks/bench_graph.py [--out FOLDER]
"""

from functools import partial

import bench_launch
import floor
import numpy as np
import records

import cupola

BATCH = 200  # launches; the device's queue holds more


def run():
    """Nanoseconds a launch and the ratio to the C++ loop of the same graph."""
    n = bench_launch.N
    x = cupola.to_device(np.arange(n, dtype=np.float32))
    out = cupola.zeros(n, np.float32)
    kernel = cupola.shipped_kernels()["saxpy"]
    library = floor.build()
    bare = floor.bare()
    launch = bench_launch.driver_call("cuGraphLaunch")
    rows = []
    for nodes in (1, 10):
        graph, last = cupola.Graph(), None
        for _ in range(nodes):
            last = graph.add_kernel(kernel, 1, 32, 1.0, x, out, out, n, after=last)
        run_graph = graph.instantiate()
        stream = cupola.Stream()

        def cpp(exec_=run_graph.handle, stream=stream):
            elapsed = library.floor_graph(launch, exec_, stream.handle, BATCH)
            assert elapsed > 0
            stream.synchronize()
            return elapsed

        def python(call, stream=stream):
            with stream:
                return bench_launch.timed(call, BATCH)

        alone = bare.bare_graph(launch, run_graph.handle, stream.handle)
        calls = {
            f"C++ loop over cuGraphLaunch, nodes: {nodes}": cpp,
            f"the driver's call alone, from Python, nodes: {nodes}": partial(python, alone),
            f"run(), nodes: {nodes}": partial(python, run_graph),
        }
        goals = {f"run(), nodes: {nodes}": "ratio <= 1.02"}
        rows += bench_launch.interleaved(calls, BATCH, goals)
    return rows


if __name__ == "__main__":
    records.main(__file__, __doc__, run)
