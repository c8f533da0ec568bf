# ruff: noqa: N803 E501 - constants are in capitals, as is usual in Triton
"""Kernels in Triton, and the command that makes their PTX without a GPU.

    python kernels.py            (where triton is installed: pip install triton)

writes NAME.CAPABILITY.ptx beside this file, each with a line that says what made it and how it is
launched. tests/ptx/test_triton.py runs them.
"""

import os
import pathlib
import re

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language.extra import libdevice


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    i = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        left, right = tl.load(a + m * K + k + i[None, :]), tl.load(b + (k + i[:, None]) * N + n)
        total = tl.dot(left, right, total, out_dtype=SUM)
    tl.store(c + m * N + n, total)


@triton.jit
def attention(q, k, v, out, n, scale, BLOCK: tl.constexpr, D: tl.constexpr):
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + columns[None, :])
    greatest = tl.full((BLOCK,), -float("inf"), tl.float32)
    weight, total = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, n, BLOCK):
        at = (start + tl.arange(0, BLOCK))[:, None] * D + columns[None, :]
        scores = tl.dot(query, tl.trans(tl.load(k + at))) * scale
        higher = tl.maximum(greatest, tl.max(scores, axis=1))
        e, fade = tl.exp(scores - higher[:, None]), tl.exp(greatest - higher)
        weight = weight * fade + tl.sum(e, axis=1)
        total = tl.dot(e.to(tl.float16), tl.load(v + at), total * fade[:, None])
        greatest = higher
    tl.store(out + rows[:, None] * D + columns[None, :], total / weight[:, None])


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.atomic_add(out, tl.sum(v, axis=0))
    tl.atomic_max(out + 1, tl.max(v, axis=0))
    tl.atomic_min(out + 2, tl.min(v, axis=0), sem="relaxed", scope="sys")


@triton.jit
def locked(lock, out, ROUNDS: tl.constexpr):
    for _ in range(ROUNDS):
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        tl.store(out, tl.load(out) + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + i, mask=i < n, other=0), BINS, mask=i < n)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def halves(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + i % 64, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def layernorm(x, w, b, out, n, eps, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    d = tl.where(i < n, v - tl.sum(v, axis=0) / n, 0.0)
    r = tl.rsqrt(tl.sum(d * d, axis=0) / n + eps)
    y = d * r * tl.load(w + i, mask=i < n) + tl.load(b + i, mask=i < n)
    tl.store(out + row * n + i, y.to(tl.float16), mask=i < n)


@triton.jit
def eight(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    f = tl.load(x + i, mask=i < n).to(tl.float8e4nv)
    tl.store(out + i, f.to(tl.float32), mask=i < n)


@triton.jit
def order(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.sort(tl.load(x + at)), axis=0))


@triton.jit
def transpose(x, out, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    v = tl.load(x + r[:, None] * C + c[None, :])
    tl.store(out + c[:, None] * R + r[None, :], tl.trans(v))


@triton.jit
def functions(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, tl.sin(v))
    tl.store(out + n + i, tl.log2(v))
    tl.store(out + 2 * n + i, tl.erf(v))
    tl.store(out + 3 * n + i, libdevice.pow(v, 1.5))
    tl.store(out + 4 * n + i, libdevice.tanh(v))
    tl.store(out + 5 * n + i, tl.fdiv(1.0, tl.sqrt(v)))


@triton.jit
def noise(out, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.randint(seed, i))


@triton.jit
def scaled(
    a,
    sa,
    b,
    sb,
    c,
    N,
    K,
    FORM: tl.constexpr,
    PACK: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """Factors with a power of two for each 32 elements, of which a byte has PACK."""
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    i, s = tl.arange(0, BK // PACK), tl.arange(0, BK // 32)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + m[:, None] * (K // PACK) + k // PACK + i[None, :])
        right = tl.load(b + n[:, None] * (K // PACK) + k // PACK + i[None, :])
        of_left = tl.load(sa + m[:, None] * (K // 32) + k // 32 + s[None, :])
        of_right = tl.load(sb + n[:, None] * (K // 32) + k // 32 + s[None, :])
        total = tl.dot_scaled(left, of_left, FORM, tl.trans(right), of_right, FORM, total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@triton.jit
def persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Each block multiplies several tiles, whose factors come by tensor maps that the kernel makes."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    out = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    wide = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * wide, tl.num_programs(0), flatten=True):
        m, n = tile // wide * BM, tile % wide * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(left.load([m, k]), right.load([n, k]).T, total)
        out.store([m, n], total.to(tl.float16))


F, H, W, N, B = "*fp32", "*fp16", "*i32", "i32", "*u8"
PRODUCT = {"BM": 64, "BN": 64, "BK": 32}
SCALED = {"BM": 128, "BN": 64, "BK": 128}
FLAT = {"BLOCK": 512}
KERNELS = {  # name: function, types of arguments, constants, capabilities
    "add": (add, (F, F, F, N), FLAT, (80, 90)),
    "softmax": (softmax, (F, F, N, N), {"BLOCK": 256}, (80, 90)),
    "matmul_f16": (matmul, (H, H, F, N, N), {**PRODUCT, "SUM": tl.float32}, (80, 90, 100)),
    "matmul_bf16": (matmul, ("*bf16", "*bf16", F, N, N), {**PRODUCT, "SUM": tl.float32}, (80,)),
    "matmul_tf32": (matmul, (F, F, F, N, N), {**PRODUCT, "BM": 32, "SUM": tl.float32}, (80, 90)),
    "matmul_e4m3": (matmul, ("*fp8e4nv", "*fp8e4nv", F, N, N), {**PRODUCT, "SUM": tl.float32}, (90, 100)),
    "matmul_i8": (matmul, ("*i8", "*i8", W, N, N), {**PRODUCT, "SUM": tl.int32}, (80, 90)),
    "attention": (attention, (H, H, H, F, N, "fp32"), {"BLOCK": 64, "D": 32}, (80, 90, 100)),
    "scaled_e4m3": (scaled, ("*fp8e4nv", B, "*fp8e4nv", B, F, N, N), {**SCALED, "FORM": "e4m3", "PACK": 1}, (100,)),
    "scaled_e2m1": (scaled, (B, B, B, B, F, N, N), {**SCALED, "FORM": "e2m1", "PACK": 2}, (100,)),
    "persistent": (persistent, (H, H, H, N, N, N), {"BM": 128, "BN": 64, "BK": 64}, (90, 100)),
    "total": (total, (F, F, N), FLAT, (80, 90)),
    "locked": (locked, (W, W), {"ROUNDS": 4}, (80, 90)),
    "histogram": (histogram, (W, W, N), {**FLAT, "BINS": 64}, (90,)),
    "halves": (halves, (H, H, N), FLAT, (80, 90)),
    "layernorm": (layernorm, (H, F, F, H, N, "fp32"), FLAT, (90,)),
    "eight": (eight, (F, F, N), FLAT, (90,)),
    "order": (order, (W, W), {"BLOCK": 128}, (90,)),
    "transpose": (transpose, (H, H), {"R": 64, "C": 32}, (90,)),
    "functions": (functions, (F, F, N), {"BLOCK": 256}, (90,)),
    "noise": (noise, (W, N), FLAT, (80,)),
}  # fmt: skip


def ptx(function, types, constants, capability):
    names = function.arg_names
    source = ASTSource(
        fn=function,
        signature=dict(zip(names, (*types, *["constexpr"] * len(constants)), strict=True)),
        constexprs={(names.index(name),): value for name, value in constants.items()},
        # Pointers, and lengths of rows of matrices, are multiples of 16, as of an allocation.
        attrs={(n,): [["tt.divisibility", 16]] for n, kind in enumerate(types)
               if kind.startswith("*") or names[n] in "NK"},
    )  # fmt: skip
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32))
    known = made.metadata
    assert known.profile_scratch_size == 0
    threads = int(re.search(r"\.reqntid (\d+)", made.asm["ptx"])[1])
    head = (
        f"// Triton {triton.__version__}, kernels.py; name {known.name}, "
        f"threads {threads}, shared {known.shared}, scratch {known.global_scratch_size}\n"
    )
    text = re.sub(r"[ \t]*//.*\n", "\n", made.asm["ptx"])
    return head + re.sub(r"\n\s*\n+", "\n", text).lstrip()


if __name__ == "__main__":
    for name, (function, types, constants, capabilities) in KERNELS.items():
        for capability in capabilities:
            file = pathlib.Path(__file__).with_name(f"{name}.{capability}.ptx")
            file.write_text(ptx(function, types, constants, capability))
            print(file.name, file.stat().st_size)
