"""Operations of few instructions in each type, beside a copy of the same bytes

python benchmarks/bench_operations.py [--out FOLDER] [--quick] [--types int8,float16]
"""

from functools import partial

import numpy as np
import records
from bench_elementwise import COPY, OVER_COPY
from bench_kernels import Way, copying, rows, timed

import cupola

TYPES = ("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64")
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "fmod",
    "power",
    "maximum",
    "fmin",
    "bitwise_and",
    "left_shift",
    "right_shift",
    "less",
    "equal",
    "logical_and",
    "copysign",
]
UNARY = [
    "negative",
    "absolute",
    "sign",
    "square",
    "reciprocal",
    "sqrt",
    "rint",
    "invert",
    "isnan",
    "logical_not",
]
MANY = "power", "floor_divide", "remainder", "fmod"  # functions of reals, other than of integers


PAIRS = ["float32 float64", "int32 int64", "complex64 float32", "int8 int32", "int8 float32"]
PAIRS += ["float16 float32", "int16 float32"]


def result_of(name, dtype):
    """The result's dtype for operands of that dtype if it is computed in that dtype, else None."""
    if dtype.kind == "f" and name in MANY:
        return None
    ufunc = getattr(np, name)
    try:
        *operands, result = ufunc.resolve_dtypes((dtype,) * ufunc.nin + (None,))
    except TypeError:
        return None
    return result if set(operands) == {dtype} else None


def measure(title, name, x, y, room):
    """A row; its floor is a copy of what it reads and writes."""
    ufunc = getattr(np, name)
    alike = x.dtype == y.dtype
    out = room.view(result_of(name, x.dtype) if alike else np.result_type(x, y))[: x.size]
    moved = x.nbytes + (ufunc.nin - 1) * y.nbytes + out.nbytes
    halves = [cupola.empty(moved // 2, np.uint8) for _ in range(2)]
    ways = [
        Way(COPY, copying(halves[0].address, halves[1].address, moved // 2), []),
        Way(title, partial(ufunc, *(x, y)[: ufunc.nin], out=out), []),
    ]
    timed(ways, calls=4)
    return rows(ways, goals={title: OVER_COPY})[1]


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="1 MiB arrays, not 1 GiB")
    parser.add_argument("--types", type=lambda names: names.split(","), default=TYPES)
    asked = parser.parse_args()
    nbytes = 2**20 if asked.quick else 2**30
    some = np.random.default_rng(0).integers(1, 100, (2, 2**20))  # a sequence that repeats
    room, made = cupola.empty(nbytes, np.uint8), []
    for dtype in map(np.dtype, asked.types):
        x, y = (
            cupola.to_device(np.resize(row, nbytes // dtype.itemsize)) for row in some.astype(dtype)
        )
        made += [
            measure(f"{name}, {dtype.name}", name, x, y, room)
            for name in (*BINARY, *UNARY)
            if result_of(name, dtype) is not None
        ]
    for pair in PAIRS:
        count = nbytes // np.result_type(*pair.split()).itemsize
        x, y = (
            cupola.to_device(np.resize(row, count).astype(dtype))
            for row, dtype in zip(some, pair.split(), strict=True)
        )
        made.append(measure(f"add, {pair.replace(' ', ' and ')}", "add", x, y, room))
    extra = {"arrays": f"{nbytes >> 20} MiB"}
    records.publish(asked.out, __file__, __doc__, made, extra=extra)


if __name__ == "__main__":
    main()
