"""The work of eight.cu by others: OpenCL (PoCL) and Numba.

bench_cpu_device.py runs this with an interpreter that has them, and asks for a kernel by a line of
its name: seconds and a file with the result come back, as JSON.
"""

import functools
import re
import sys

import bench_cpu_device as bench
import cpu_cases
import numpy as np

EIGHT = {name: case for name, case in cpu_cases.cases().items() if case.file == "eight"}


def opencl_source():
    """eight.cu in OpenCL's words; without `radix`, as OpenCL has no ballot."""
    text = (bench.HERE / "eight.cu").read_text()
    text = re.sub(r"// Each block sorts.*?\n}\n", "", text, flags=re.DOTALL)

    def signature(match):
        return re.sub(r"(const )?(float4|float|unsigned)\*", r"__global \g<0>", match[0])

    text = re.sub(r"\bhalf\b", "step", text)  # a type there
    text = re.sub(r'extern "C" __global__ void \w+\([^)]*\)', signature, text)
    for cuda, opencl in (
        ('extern "C" __global__', "__kernel"),
        ("__shared__", "__local"),
        ("__syncthreads()", "barrier(CLK_LOCAL_MEM_FENCE)"),
        ("atomicAdd", "atomic_add"),
        ("sqrtf(", "sqrt("),
        ("make_float4(", "(float4)("),
    ):
        text = text.replace(cuda, opencl)
    for name, function in (
        ("threadIdx", "get_local_id"),
        ("blockIdx", "get_group_id"),
        ("blockDim", "get_local_size"),
        ("gridDim", "get_num_groups"),
    ):
        for n, axis in enumerate("xyz"):
            text = text.replace(f"{name}.{axis}", f"(int){function}({n})")
    return text


def opencl():
    import pyopencl as cl

    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, opencl_source()).build()

    def turn(name, case):
        kernel = cl.Kernel(program, name)
        blocks, threads = np.atleast_1d(case.grid), np.atleast_1d(case.block)
        host, nothing = case.initial.copy(), case.initial
        out = cl.Buffer(context, cl.mem_flags.READ_WRITE, host.nbytes)
        passed = []
        for a in case.arguments:
            given = a
            if isinstance(a, str):
                given = out
            elif isinstance(a, np.ndarray):
                given = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=a)
            passed.append(given)
        shape = tuple(int(n) for n in blocks * threads)
        block = tuple(int(n) for n in threads)

        def reset():
            cl.enqueue_copy(queue, out, nothing)
            queue.finish()

        def run():
            kernel(queue, shape, block, *passed)
            queue.finish()

        took = bench.timed(reset, run)
        cl.enqueue_copy(queue, host, out)
        return took, host

    return {
        name: functools.partial(turn, name, case) for name, case in EIGHT.items() if name != "radix"
    }


def numba():
    """The work of eight.cpp."""
    import math

    from numba import get_num_threads, njit, prange

    compiled = njit(parallel=True, fastmath=False)
    f = np.float32

    @compiled
    def mandelbrot(out, n, iterations):
        for y in prange(n):
            for x in range(n):
                cr = f(-2) + f(3) * f(x) / f(n)
                ci = f(-1.5) + f(3) * f(y) / f(n)
                zr = zi = f(0)
                k = 0
                while k < iterations and zr * zr + zi * zi <= f(4):
                    zr, zi = zr * zr - zi * zi + cr, f(2) * zr * zi + ci
                    k += 1
                out[y, x] = k

    @compiled
    def saxpy(x, y, out, a, n):
        for i in prange(n):
            out[i] = a * x[i] + y[i]

    @compiled
    def convolution(source, weights, out, n):
        for y in prange(2, n - 2):
            for x in range(2, n - 2):
                total = f(0)
                for j in range(5):
                    for i in range(5):
                        total += weights[j * 5 + i] * source[y + j - 2, x + i - 2]
                out[y, x] = total

    @compiled
    def product(a, b, c, n):
        for row in prange(n):
            c[row, :] = f(0)
            for k in range(n):
                for column in range(n):
                    c[row, column] += a[row, k] * b[k, column]

    @compiled
    def reduction(source, out, n):
        parts = get_num_threads()
        for t in prange(parts):
            total = f(0)
            for i in range(n * t // parts, n * (t + 1) // parts):
                total += source[i]
            out[t] = total

    @compiled
    def histogram(source, out, n):
        parts = get_num_threads()
        bins = np.zeros((parts, 256), np.uint32)
        for t in prange(parts):
            for i in range(n * t // parts, n * (t + 1) // parts):
                bins[t, source[i] & 255] += 1
        out[:] = bins.sum(axis=0)

    @compiled
    def radix(source, out):
        for block in prange(len(source) // 256):
            keys = source[256 * block : 256 * block + 256].copy()
            to = np.empty_like(keys)
            for bit in range(32):
                ones = 256  # where they begin
                for key in keys:
                    ones -= key >> bit & 1
                zeros = 0
                for key in keys:
                    if key >> bit & 1:
                        to[ones] = key
                        ones += 1
                    else:
                        to[zeros] = key
                        zeros += 1
                keys, to = to, keys
            out[256 * block : 256 * block + 256] = keys

    @compiled
    def bodies(source, out, n):
        for i in prange(n):
            ax = ay = az = f(0)
            for j in range(n):
                x = source[j, 0] - source[i, 0]
                y = source[j, 1] - source[i, 1]
                z = source[j, 2] - source[i, 2]
                inverse = f(1) / f(math.sqrt(x * x + y * y + z * z + f(1e-3)))
                force = source[j, 3] * inverse * inverse * inverse
                ax += x * force
                ay += y * force
                az += z * force
            out[i, 0] = ax
            out[i, 1] = ay
            out[i, 2] = az

    functions = (mandelbrot, saxpy, convolution, product, reduction, histogram, radix, bodies)

    def turn(function, name, case):
        out = case.initial.copy()
        passed = [out if isinstance(a, str) else a for a in case.arguments]
        return bench.timed(lambda: out.fill(0), lambda: function(*passed)), out

    return {
        name: functools.partial(turn, function, name, case)
        for function, (name, case) in zip(functions, EIGHT.items(), strict=True)
    }


if __name__ == "__main__":
    which = {"opencl": opencl, "numba": numba}[sys.argv[1]]
    bench.serve(0.0, which())
