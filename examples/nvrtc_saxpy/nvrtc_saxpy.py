# examples/nvrtc_saxpy/nvrtc_saxpy.py - CUDA C++ in a string, compiled, launched and checked.
"""saxpy of 16,777,216 elements; saxpy.cpp beside this file is the same program in C++.

python examples/nvrtc_saxpy/nvrtc_saxpy.py [--elements N]

benchmarks/bench_nvrtc_saxpy.py runs the two in turns.
"""

import argparse
import statistics
import time

import numpy as np

# cupola imports what a name stands for when it is first used. Named here, that is done before the
# clock starts; what a C++ program needs is loaded by then, too.
from cupola import Device, Event, Module, Stream, compiler, empty  # noqa: F401

SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""
THREADS, BLOCKS = 512, 32_768
PIECE = 1 << 16  # elements that are checked at a time: they stay in the processor's cache


def is_saxpy(out, a, x, y):
    """Whether each element is a x + y by NumPy, with both operations rounded: bit for bit."""
    expected = np.empty(PIECE, np.float32)
    for start in range(0, out.size, PIECE):
        part = slice(start, min(start + PIECE, out.size))
        piece = expected[: part.stop - start]
        np.multiply(a, x[part], out=piece)
        piece += y[part]
        if not np.array_equal(piece, out[part]):
            return False
    return True


def main(n):
    compiler.nvrtc()  # the compiler's library, which the C++ program is linked with
    a = np.float32(2.5)
    host_x = np.arange(n, dtype=np.float32) / n
    host_y = 1 - host_x
    host_out = np.empty_like(host_x)
    host_out.fill(0)

    start = time.perf_counter()
    print(f"device: {Device().name}")
    # --fmad=false: a multiplication and an addition, each rounded, as NumPy does it. PTX for
    # compute_75 runs on every device since; cache=False, so that it is compiled each time.
    module = compiler.compile(SOURCE, options=["--fmad=false"], arch="compute_75", cache=False)
    saxpy = module["saxpy"]
    blocks = -(-n // THREADS)
    stream = Stream()
    x, y, out = (empty(n, np.float32, stream=stream) for _ in range(3))
    x.set(host_x, stream=stream)  # queued, as all that follows
    y.set(host_y, stream=stream)
    saxpy[blocks, THREADS, stream](a, x, y, out, n)
    out.get(out=host_out, stream=stream)
    stream.synchronize()
    right = is_saxpy(host_out, a, host_x, host_y)
    application = time.perf_counter() - start
    assert right, "the result is not NumPy's"

    # All are queued before the first is waited for: so the device goes from one to the next, and
    # between two events is a kernel, without the time that the host takes to launch it.
    events = [(Event(), Event()) for _ in range(20)]
    for begin, end in events:
        begin.record(stream)
        saxpy[blocks, THREADS, stream](a, x, y, out, n)
        end.record(stream)
    times = [end.elapsed_since(begin) for begin, end in events]
    print(f"{n} elements, {blocks} blocks of {THREADS} threads, checked")
    print(f"kernel {statistics.median(times) * 1e3:.4f} ms")
    print(f"application {application * 1e3:.2f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=THREADS * BLOCKS)
    main(parser.parse_args().elements)
