"""tests/operations.py - declared operations for the tests, and their kernels."""

import functools

import images

import cupola
from cupola.declare.compiled import compiled
from cupola.declare.operation import read
from cupola.native_operation import NativeOperation

PLANE = dict(
    kernels={"float32": "scale_plane<float>", "float64": "scale_plane<double>"},
    inputs={"u": "T[ny, nx]"},
    scalars={"alpha": "float = 2.0"},
    outputs={"v": "T[ny, nx]"},
    arguments=["u", "v", "ny", "nx", "alpha"],
    grid=["ceildiv(nx, 32)", "ceildiv(ny, 8)"],
    block=[32, 8],
)
ACCUMULATE = dict(
    kernels="accumulate",
    inputs={"cache": "float32[n]", "x": "float32[n]"},
    mutates=["cache"],
    outputs={"total": "float32[1]"},
    workspace={"sums": "float32[threads]"},
    sizes={"threads": "min(max(n, 1), most)"},
    scalars={"most": "int = 64"},
    arguments=["cache", "x", "sums", "total", "n"],
    grid=[1],
    block=["threads"],
    shared="threads * sizeof(float32)",
)
WEIGH = dict(
    kernels="weigh",
    inputs={"x": "float32[*rows, n]", "w": "float32[broadcast(n)]", "bias": "float32[n]?"},
    outputs={"y": "float32[*rows, n]"},
    arguments=["x", "w", "bias", "y", "rows", "n", "n", "1", "stride(w, 0)"],
    grid=["ceildiv(rows * n, 128)"],
    block=[128],
)
COPY = dict(
    kernels={
        "float16": "copy<__half>",
        "bfloat16": "copy<__nv_bfloat16>",
        "float32": "copy<float>",
        "int32": "copy<int>",
        "uint8": "copy<unsigned char>",
        "float8_e4m3fn": "copy<unsigned char>",
        "float8_e5m2": "copy<unsigned char>",
    },
    inputs={"x": "T[*shape]"},
    outputs={"y": "T[*shape]"},
    arguments=["x", "y", "shape"],
    grid=["ceildiv(shape, 256)"],
    block=[256],
)
BOTH = dict(
    kernels="both",
    inputs={"a": "float32[n]", "b": "float32[n]"},
    outputs={"sum": "float32[n]", "difference": "float32[n]"},
    arguments=["a", "b", "sum", "difference", "n"],
    grid=["ceildiv(n, 128)"],
    block=[128],
)
NUMBER = dict(
    kernels="number",
    inputs={"x": "float32[n]"},
    outputs={"y": "float32[n]"},
    arguments=["x", "y", "batch()", "n"],
    grid=["ceildiv(n, 32)", "batch()"],
    block=[32],
    vmap="batch",
)


@functools.cache
def module():
    return cupola.load(image())


def image():
    """Path of the kernels' PTX."""
    return images.compiled("operations.ptx", SOURCE, "-ptx", "-arch=compute_75")


SOURCE = images.SOURCE.with_name("operations.cu")


def native(table, name="test.op"):
    """The library's operation, with its kernels bound for device 0."""
    declaration = read(table, name)
    made = NativeOperation(compiled(declaration))
    for index, kernel in enumerate(declaration.kernels.values()):
        made.bind(index, module()[kernel])
    return made


def tensor(array, **changes):
    """A cupola.Array as `NativeOperation.launch` takes it."""
    code = {"f": 2, "i": 0, "u": 1}[array.dtype.kind]
    found = dict(
        address=array.ptr,
        code=code,
        bits=array.itemsize * 8,
        device_type=2,
        device=array.device.index,
        shape=array.shape,
        strides=tuple(stride // array.itemsize for stride in array.strides),
    )
    return tuple({**found, **changes}.values())
