# counted from here
import torch
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"width": width, "height": height}, num_warps=warps)
    for width in (32, 64, 128)
    for height in (1, 2, 4, 8)
    for warps in (2, 4)
]


@triton.autotune(CONFIGS, key=["rows", "columns"], cache_results=True)
# counted up to here
@triton.jit
def kernel(result, x, rows, columns, width: tl.constexpr, height: tl.constexpr):
    column = tl.program_id(0) * width + tl.arange(0, width)[None, :]
    row = tl.program_id(1) * height + tl.arange(0, height)[:, None]
    there = (row < rows) & (column < columns)
    inside = (row > 0) & (column > 0) & (row < rows - 1) & (column < columns - 1)
    at = row * columns + column
    above = tl.load(x + at - columns, inside, 0.0)
    below = tl.load(x + at + columns, inside, 0.0)
    left = tl.load(x + at - 1, inside, 0.0)
    right = tl.load(x + at + 1, inside, 0.0)
    middle = tl.load(x + at, there, 0.0)
    around = 0.2 * (middle + ((above + below) + (left + right)))
    tl.store(result + at, tl.where(inside, around, middle), there)


# counted from here
def smooth(x):
    rows, columns = x.shape
    result = torch.empty_like(x)
    kernel[
        lambda chosen: (triton.cdiv(columns, chosen["width"]), triton.cdiv(rows, chosen["height"]))
    ](result, x, rows, columns)
    return result
