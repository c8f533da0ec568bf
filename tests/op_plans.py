"""Plans of the C ABI: calls like one that was checked, launched without all of its checks.

test_op_plan.py runs these tests in a process of their own.
"""

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
import operations
import pytest

import cupola
from cupola.declare.compiled import compiled
from cupola.declare.operation import read

WOULD_WAIT, VALUE = -1, 3
SCALE = dict(
    kernels="scale_plane<float>",
    inputs={"u": "float32[*rows, n]", "mask": "float32[m]"},
    outputs={"v": "float32[*rows, n]"},
    scalars={"alpha": "float", "most": "int"},
    align=16,
    arguments=["u", "v", "min(rows, most)", "n", "alpha", "mask"],
    grid=["ceildiv(n, 32)", "ceildiv(rows, 8)"],
    block=[32, 8],
)


class Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Scalar(ctypes.Structure):
    """cupola_op_scalar."""

    _fields_ = [
        ("is_real", ctypes.c_int),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_double),
    ]


class Call(ctypes.Structure):
    """cupola_op_call."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("tensors", ctypes.c_void_p),
        ("tensor_count", ctypes.c_size_t),
        ("scalars", ctypes.c_void_p),
        ("scalar_count", ctypes.c_size_t),
        ("stream", ctypes.c_void_p),
        ("handle", ctypes.c_void_p),
        ("has_handle", ctypes.c_int),
        ("batched", ctypes.c_char_p),
        ("batch", ctypes.c_int64),
    ]


def lengths(values):
    return None if values is None else (ctypes.c_int64 * len(values))(*values)


def described(array, **changes):
    """An array as a DLTensor; `changes` are fields."""
    fields = dict(data=array.ptr, device_type=2, ndim=array.ndim, code=2, bits=32, lanes=1)
    fields |= {"shape": array.shape, **changes}
    tensor = Tensor()
    for name, value in fields.items():
        setattr(tensor, name, lengths(value) if name in ("shape", "strides") else value)
    return tensor


def call_of(tensors, scalars, **changes):
    """A cupola_op_call, with what it points to."""
    call = Call(size=ctypes.sizeof(Call))
    call.kept = (
        (ctypes.c_void_p * len(tensors))(*[one and ctypes.addressof(one) for one in tensors]),
        (Scalar * len(scalars))(*scalars),
        tensors,
    )
    call.tensors, call.tensor_count = ctypes.addressof(call.kept[0]), len(tensors)
    call.scalars, call.scalar_count = ctypes.addressof(call.kept[1]), len(scalars)
    for name, value in changes.items():
        setattr(call, name, value)
    return call


class Operation:
    """An operation by the C ABI alone."""

    def __init__(self):
        self.library = ctypes.CDLL(cupola.paths.library())
        self.library.cupola_last_error.restype = ctypes.c_char_p
        self.op, self.module = ctypes.c_void_p(), ctypes.c_void_p()
        whole = read(SCALE, "test.scale")
        # The kernel does not take mask. The memory of mask is compared with the memory of the other
        # tensors.
        declaration = compiled(replace(whole, arguments=whole.arguments[:-1]))
        size = ctypes.c_size_t(len(declaration))
        self.done("cupola_op_create", declaration, size, ctypes.byref(self.op))
        self.image = Path(operations.image()).read_bytes()
        self.name = operations.module()["scale_plane<float>"].name.encode()
        self.bind()

    def done(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        assert status == 0, self.library.cupola_last_error()

    def bind(self):
        """Load the kernel again, and set it."""
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        size = ctypes.c_size_t(len(self.image))
        self.done("cupola_module_load", 0, self.image, size, ctypes.byref(module))
        self.done("cupola_module_kernel", module, self.name, ctypes.byref(kernel))
        self.done("cupola_op_bind", self.op, ctypes.c_size_t(0), kernel)
        self.library.cupola_kernel_release(kernel)
        self.library.cupola_module_release(self.module)
        self.module = module

    def plan(self, call):
        plan = ctypes.c_void_p()
        self.done("cupola_op_plan_create", self.op, ctypes.byref(call), ctypes.byref(plan))
        return plan

    def again(self, plan, call, used=None, known=0):
        status = WOULD_WAIT
        for _ in range(40):  # a call like the first call also waits for the queue at times
            if status == WOULD_WAIT:
                cupola.Device().synchronize()
                status = self.library.cupola_op_plan_launch(
                    plan, ctypes.byref(call), ctypes.c_size_t(known), used
                )
        return status

    def full(self, call):
        return self.library.cupola_op_launch(self.op, ctypes.byref(call))


@pytest.fixture
def scale(driver):
    return Operation()


@pytest.fixture
def arrays(driver):
    u = np.arange(48, dtype=np.float32).reshape(2, 4, 6)
    return [cupola.to_device(u), cupola.ones(6, "f4"), cupola.zeros(u.shape, "f4")]


def given(arrays, *, most=100, alpha=2.0, tensors=None, **changes):
    tensors = tensors or [described(one) for one in arrays]
    return call_of(tensors, [Scalar(1, 0, alpha), Scalar(0, most, 0)], **changes)


def planned(scale, arrays):
    """A plan, after a launch: the first launch of a kernel may wait."""
    call = given(arrays)
    scale.done("cupola_op_launch", scale.op, ctypes.byref(call))
    return scale.plan(call)


def test_a_call_like_the_first_one(scale, arrays):
    plan = planned(scale, arrays)
    others = [arrays[0] + 1, arrays[1], cupola.zeros(arrays[2].shape, "f4")]
    used = ctypes.c_void_p()
    for alpha in (3.0, -0.5):
        assert scale.again(plan, given(others, alpha=alpha), ctypes.byref(used)) == 0
        assert used and (others[2].get() == alpha * others[0].get()).all()
    whole = cupola.zeros(52, "f4")
    tensors = [described(others[0]), None, described(arrays[2], data=whole.ptr, byte_offset=16)]
    tensors[1] = described(others[1])
    assert scale.again(plan, given(others, tensors=tensors)) == 0
    assert (whole.get() == [0] * 4 + (2 * others[0].get()).ravel().tolist()).all()
    scale.library.cupola_op_plan_release(plan)


def test_a_stream(scale, arrays):
    plan, stream = planned(scale, arrays), cupola.Stream()
    assert scale.again(plan, given(arrays, alpha=7.0, handle=stream.handle, has_handle=1)) == 0
    stream.synchronize()
    assert (arrays[2].get() == 7 * arrays[0].get()).all()


# Changes of the tensor at an index. Each changed call needs a plan of its own.
CHANGES = [
    (0, {"shape": (4, 2, 6)}),
    (0, {"shape": (8, 6), "ndim": 2}),
    (0, {"strides": (24, 6, 1)}),
    (0, {"code": 0}),
    (0, {"bits": 16}),
    (0, {"lanes": 2}),
    (0, {"device_type": 13}),
    (1, {"device": 1}),
    (1, {"shape": (5,)}),
    (2, {"shape": (2, 4, 5)}),
    (2, {"data": None}),
    (2, {"byte_offset": (1 << 64) - 16}),
    (2, {"byte_offset": 4}),
]


@pytest.mark.parametrize(("index", "changes"), CHANGES)
def test_another_call_is_left_to_the_checks(scale, arrays, index, changes):
    plan = planned(scale, arrays)
    tensors = [described(one) for one in arrays]
    tensors[index] = described(arrays[index], **changes)
    assert scale.again(plan, given(arrays, tensors=tensors)) == WOULD_WAIT


@pytest.mark.parametrize("changes", [changes for index, changes in CHANGES if index == 2])
def test_tensors_after_those_that_the_caller_has_compared(scale, arrays, changes):
    plan = planned(scale, arrays)
    assert scale.again(plan, given(arrays), known=2) == 0
    tensors = [*map(described, arrays[:2]), described(arrays[2], **changes)]
    assert scale.again(plan, given(arrays, tensors=tensors), known=2) == WOULD_WAIT


def test_other_scalars_and_counts(scale, arrays):
    plan = planned(scale, arrays)
    assert scale.again(plan, given(arrays, most=2)) == WOULD_WAIT
    tensors = [described(one) for one in arrays]
    integer = call_of(tensors, [Scalar(0, 2, 0), Scalar(0, 100, 0)])
    assert scale.again(plan, integer) == WOULD_WAIT
    assert scale.again(plan, given(arrays, scalar_count=1)) == WOULD_WAIT
    assert scale.again(plan, given(arrays, tensor_count=2)) == WOULD_WAIT
    assert scale.again(plan, given(arrays, batched=b"\1\1\1", batch=2)) == WOULD_WAIT
    tensors[1] = None
    assert scale.again(plan, given(arrays, tensors=tensors)) == WOULD_WAIT
    assert scale.again(plan, given(arrays, size=8)) == VALUE
    assert scale.again(None, given(arrays)) == VALUE
    assert scale.again(plan, given(arrays, alpha=1e300)) == VALUE
    text = scale.library.cupola_last_error()
    assert text.startswith(b"test.scale: ") and b"out of its range" in text


def test_overlap_and_alignment_are_checked_again(scale, arrays):
    plan = planned(scale, arrays)
    before = arrays[0].get()
    for output in (arrays[0].ptr, arrays[0].ptr + 176, arrays[0].ptr - 176, arrays[1].ptr):
        tensors = [*map(described, arrays[:2]), described(arrays[2], data=output)]
        call = given(arrays, tensors=tensors)
        assert scale.again(plan, call) == WOULD_WAIT and scale.full(call) == VALUE
        assert b"overlaps" in scale.library.cupola_last_error()
    tensors = [described(arrays[0], data=arrays[0].ptr + 4), *map(described, arrays[1:])]
    assert scale.again(plan, given(arrays, tensors=tensors)) == WOULD_WAIT
    assert (arrays[0].get() == before).all()


def test_a_kernel_that_was_replaced_or_unloaded(scale, arrays):
    plan = planned(scale, arrays)
    scale.bind()
    assert scale.again(plan, given(arrays)) == WOULD_WAIT
    plan = planned(scale, arrays)
    assert scale.again(plan, given(arrays)) == 0
    scale.done("cupola_module_unload", scale.module)
    assert scale.again(plan, given(arrays)) not in (0, WOULD_WAIT)
    assert scale.library.cupola_last_error().startswith(b"test.scale: ")


def test_calls_without_a_plan(scale, arrays):
    empty = [cupola.zeros((0, 4, 6), "f4"), arrays[1], cupola.zeros((0, 4, 6), "f4")]
    assert not scale.plan(given(empty))
    host = [cupola.empty_pinned(one.shape, one.dtype) for one in arrays]
    tensors = [
        described(array, data=one.ctypes.data, device_type=3)
        for array, one in zip(arrays, host, strict=True)
    ]
    assert not scale.plan(given(arrays, tensors=tensors))


def test_an_empty_tensor_beside_others(scale, arrays):
    arrays[1] = cupola.zeros(0, "f4")
    plan = planned(scale, arrays)
    assert scale.again(plan, given(arrays, alpha=5.0)) == 0
    assert (arrays[2].get() == 5 * arrays[0].get()).all()
