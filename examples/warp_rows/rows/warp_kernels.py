# rows/warp_kernels.py - the kernels as Warp reads them; only the build imports this file.
import warp as wp


@wp.kernel
def axpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a * x[i] + y[i]


@wp.kernel
def softmax(x: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    row = wp.tid()
    most = x[row, 0]
    for j in range(1, x.shape[1]):
        most = wp.max(most, x[row, j])
    total = float(0.0)  # noqa: UP018 - a variable of Warp, not a constant
    for j in range(x.shape[1]):
        power = wp.exp(x[row, j] - most)
        out[row, j] = power
        total += power
    for j in range(x.shape[1]):
        out[row, j] = out[row, j] / total
