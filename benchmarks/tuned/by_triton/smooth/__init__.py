# counted from here
import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"TX": tx, "TY": ty}, num_warps=warps)
    for tx in (32, 64, 128)
    for ty in (1, 2, 4, 8)
    for warps in (2, 4)
]


@triton.autotune(CONFIGS, key=["rows", "columns"], cache_results=True)
# counted up to here
@triton.jit
def kernel(result, x, rows, columns, TX: tl.constexpr, TY: tl.constexpr):
    column = tl.program_id(0) * TX + tl.arange(0, TX)[None, :]
    row = tl.program_id(1) * TY + tl.arange(0, TY)[:, None]
    there = (row < rows) & (column < columns)
    inside = (row > 0) & (column > 0) & (row < rows - 1) & (column < columns - 1)
    at = row * columns + column
    above, below = (tl.load(x + at + step, inside, 0.0) for step in (-columns, columns))
    left, right = (tl.load(x + at + step, inside, 0.0) for step in (-1, 1))
    around = 0.25 * ((above + below) + (left + right))
    tl.store(result + at, tl.where(inside, around, tl.load(x + at, there, 0.0)), there)


# counted from here
def smooth(x):
    rows, columns = x.shape
    result = torch.empty_like(x)
    kernel[
        lambda chosen: (triton.cdiv(columns, chosen["TX"]), triton.cdiv(rows, chosen["TY"]))
    ](result, x, rows, columns)
    return result
