"""The work of eight.cu, and some of access_patterns.cu, by others: OpenCL (PoCL) and Numba.

bench_cpu_device.py runs this with an interpreter that has them, and asks for a kernel by a line of
its name: seconds and a file with the result come back, as JSON.
"""

import functools
import re
import sys

import bench_cpu_device as bench
import cpu_cases
import numpy as np

CASES = cpu_cases.cases()
EIGHT = {name: case for name, case in CASES.items() if case.file == "eight"}
# Kernels of access_patterns.cu that become OpenCL by a change of words.
PATTERNS = (
    *("stencil_3d", "stencil_3d_flat", "matmul_blocked", "sparse_ell", "lu_panel", "bfs_level"),
    *("find_pattern", "permute", "few_bins"),
)


def opencl_source():
    """eight.cu in OpenCL's words; without `radix`, as OpenCL has no ballot."""
    text = (bench.HERE / "eight.cu").read_text()
    text = re.sub(r"// Each block sorts.*?\n}\n", "", text, flags=re.DOTALL)
    more = (bench.HERE / "access_patterns.cu").read_text()
    for name in PATTERNS:
        text += re.search(rf'extern "C" __global__ void {name}\(.*?\n}}\n', more, re.DOTALL)[0]

    def signature(match):
        return re.sub(r"(const )?(unsigned char|\w+)\*", r"__global \g<0>", match[0])

    text = re.sub(r"\bhalf\b", "step", text)  # `half` is a type in OpenCL C
    text = re.sub(r'extern "C" __global__ void \w+\([^)]*\)', signature, text)
    text = re.sub(r"static_cast<(.*?)>", r"(\1)", text)
    for cuda, opencl in (
        ("float* panel =", "__global float* panel ="),
        ("long long", "long"),
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
        host = case.initial.copy()
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
            cl.enqueue_copy(queue, out, case.initial)
            queue.finish()

        def run():
            kernel(queue, shape, block, *passed)
            queue.finish()

        took = bench.timed(reset, run)
        cl.enqueue_copy(queue, host, out)
        return took, host

    names = [name for name in (*EIGHT, *PATTERNS) if name != "radix"]
    return {name: functools.partial(turn, name, CASES[name]) for name in names}


def numba():
    """The work of eight.cpp, and of access_patterns.cpp where a loop of a few lines does it."""
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
                ones = 256  # the begin of the ones
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

    @compiled
    def stencil_3d(source, out, nx, ny, nz):
        for z in prange(1, nz - 1):
            for y in range(1, ny - 1):
                for x in range(1, nx - 1):
                    total = source[z, y, x - 1] + source[z, y, x + 1] + source[z, y - 1, x]
                    total += source[z, y + 1, x] + source[z - 1, y, x] + source[z + 1, y, x]
                    here = source[z, y, x]
                    out[z, y, x] = here + f(0.1) * (total - f(6) * here)

    @compiled
    def sparse_ell(columns, values, x, y, rows, width):
        for row in prange(rows):
            total = f(0)
            for k in range(width):
                if columns[k, row] >= 0:
                    total += values[k, row] * x[columns[k, row]]
            y[row] = total

    @compiled
    def sobel(source, out, width, height):
        for y in prange(height):
            above, below = max(y - 1, 0), min(y + 1, height - 1)
            for x in range(width):
                left, right = max(x - 1, 0), min(x + 1, width - 1)
                across = np.int32(source[above, right]) + 2 * source[y, right]
                across += np.int32(source[below, right]) - source[above, left]
                across -= 2 * np.int32(source[y, left]) + source[below, left]
                down = np.int32(source[below, left]) + 2 * source[below, x]
                down += np.int32(source[below, right]) - source[above, left]
                down -= 2 * np.int32(source[above, x]) + source[above, right]
                out[y, x] = min(abs(across) + abs(down), 255)

    @compiled
    def bfs_level(first, neighbours, distance, vertices, level):
        for v in prange(vertices):
            if distance[v] == level - 1:
                for k in range(first[v], first[v + 1]):
                    if distance[neighbours[k]] < 0:
                        distance[neighbours[k]] = level

    @compiled
    def find_pattern(text, size, pattern, length, found):
        for i in prange(size - length + 1):
            k = 0
            while k < length and text[i + k] == pattern[k]:
                k += 1
            found[i] = k == length

    @compiled
    def row_sums(source, out, rows, columns):
        for row in prange(rows):
            total = f(0)
            for i in range(row * columns, (row + 1) * columns):
                total += source[i]
            out[row] = total

    @compiled
    def tile_sums(source, out, segments):
        for segment in prange(segments):
            total = np.int32(0)
            for i in range(64):
                total += source[segment * 64 + i]
            out[segment] = total

    @compiled
    def permute(source, index, out, n):
        for i in prange(n):
            out[i] = source[index[i]]

    functions = (
        *(mandelbrot, saxpy, convolution, product, reduction, histogram, radix, bodies),
        *(stencil_3d, sparse_ell, sobel, bfs_level, find_pattern, row_sums, tile_sums, permute),
    )

    def turn(function, case):
        out = case.initial.copy()
        passed = [out if isinstance(a, str) else a for a in case.arguments]
        return bench.timed(lambda: np.copyto(out, case.initial), lambda: function(*passed)), out

    return {
        function.__name__: functools.partial(turn, function, CASES[function.__name__])
        for function in functions
    }


if __name__ == "__main__":
    which = {"opencl": opencl, "numba": numba}[sys.argv[1]]
    bench.serve(0.0, which())
