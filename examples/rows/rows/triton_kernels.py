# rows/triton_kernels.py - the kernels as Triton reads them; only the build imports this file.
import triton
import triton.language as tl


@triton.jit
def axpy(a, x, y, out, n, BLOCK: tl.constexpr):  # noqa: N803 - Triton's custom
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    value = a * tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside)
    tl.store(out + i, value, mask=inside)


@triton.jit
def softmax(out, x, stride, columns, BLOCK: tl.constexpr):  # noqa: N803 - Triton's custom
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < columns
    value = tl.load(x + row * stride + i, mask=inside, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + i, power / tl.sum(power, axis=0), mask=inside)
