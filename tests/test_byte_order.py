"""Byte orders and alignments at every way to a kernel, with NumPy as the reference.

A short slice of what `make sweep` does, which sets CUPOLA_SOAK=full. Each example ends in NumPy's
result or in one error; a kernel that accessed a misaligned address would end the context.
"""

import ctypes
import os

import images
import ml_dtypes
import numpy as np
import operations
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_arguments import BOX
from test_op import made
from working import assert_works, refused

import cupola

searched = settings(
    max_examples=20_000 if os.environ.get("CUPOLA_SOAK") == "full" else 150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
KERNELS = {"f2": "__half", "f4": "float", "i4": "int", "u1": "unsigned char"}
NUMBERS = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]
N = 5


def other_order(dtype):
    return np.dtype(dtype).newbyteorder()


def numbers(dtype):
    return np.arange(1, N + 1).astype(dtype)


def at(offset, host):
    """Host memory that begins so many bytes behind an aligned address, with the same elements."""
    whole = np.zeros(host.nbytes + 64, np.uint8)
    begin = -whole.ctypes.data % 32 + offset
    found = whole[begin : begin + host.nbytes].view(host.dtype)
    found[...] = host
    return found


def there(offset, host):
    """The bytes of a host array in a device's memory, behind an aligned address."""
    whole = cupola.zeros(host.nbytes + 64, np.uint8)
    whole[offset : offset + host.nbytes] = host.view(np.uint8)
    return whole[offset : offset + host.nbytes].view(host.dtype)


class Foreign:
    """An array of another library."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


def launched(kernel, x, y):
    kernel[1, 32](x, y, N)


def foreign(kernel, x, y):
    kernel[1, 32](Foreign(x), Foreign(y), N)


def prepared(kernel, x, y):
    kernel.prepare(1, 32, x, y, N)()


def for_all(kernel, x, y):
    kernel.forall(N)(x, y, N)


def node(kernel, x, y):
    graph = cupola.Graph()
    graph.add_kernel(kernel, 1, 32, x, y, N)
    graph.instantiate().launch()


def captured(kernel, x, y):
    stream = cupola.Stream()
    with stream.capture() as graph:
        kernel[1, 32](x, y, N)
    graph.instantiate().launch()


WAYS = [launched, foreign, prepared, for_all, node, captured]


@searched
@given(data=st.data())
def test_kernels_get_aligned_elements_in_the_machines_order(driver, data):
    dtype = np.dtype(data.draw(st.sampled_from(list(KERNELS))))
    swapped, way = data.draw(st.booleans()), data.draw(st.sampled_from(WAYS))
    offset = data.draw(st.integers(0, 2 * dtype.itemsize))
    host = numbers(other_order(dtype) if swapped else dtype)
    kernel = operations.module()[f"copy<{KERNELS[dtype.str[1:]]}>"]
    x, y = there(offset, host), cupola.zeros(N, dtype)
    if swapped and dtype.itemsize > 1:
        with pytest.raises(cupola.ArgumentTypeError, match=r"byte order.*cupola\.to_device"):
            way(kernel, x, y)
    elif offset % dtype.itemsize:
        for pair in [(x, y), (y, x)]:
            with pytest.raises(cupola.ArgumentValueError, match=f"multiple of {dtype.itemsize}"):
                way(kernel, *pair)
    else:
        way(kernel, x, y)
        np.testing.assert_array_equal(y.get(), host)
    cupola.Device().synchronize()


@searched
@given(data=st.data())
def test_host_arrays_around_a_call(driver, data):
    dtype = np.dtype(data.draw(st.sampled_from(list(KERNELS))))
    orders = [dtype, other_order(dtype)]
    host, out = (
        at(data.draw(st.integers(0, 8)), numbers(data.draw(st.sampled_from(orders))) * n)
        for n in (1, 0)
    )
    kind = data.draw(st.sampled_from([cupola.In, cupola.InOut]))
    kernel = operations.module()[f"copy<{KERNELS[dtype.str[1:]]}>"]
    kernel[1, 32](kind(host), cupola.Out(out), N)
    np.testing.assert_array_equal(out, numbers(dtype))
    np.testing.assert_array_equal(host, numbers(dtype))


@searched
@given(data=st.data())
def test_operations_copy_what_their_kernels_could_not_read(driver, data):
    dtype = np.dtype(data.draw(st.sampled_from(list(KERNELS))))
    swapped, on_host = data.draw(st.booleans()), data.draw(st.booleans())
    offset = data.draw(st.integers(0, 8))
    host = numbers(other_order(dtype) if swapped else dtype)
    x = at(offset, host) if on_host else there(offset, host)
    options = {"device": 0} if on_host and driver == "cuda" else {}
    copy = made(operations.COPY)
    for _ in range(2):  # the second call takes the fast path
        if swapped and dtype.itemsize > 1 and not on_host:
            with pytest.raises(cupola.ArgumentTypeError, match="no operation takes elements"):
                copy(x)
            continue
        y = copy(x, **options)
        assert type(y) is type(x) and y.dtype == dtype
        np.testing.assert_array_equal(y if on_host else y.get(), host)


@searched
@given(data=st.data())
def test_makers_copy_what_their_kernels_could_not_read(driver, add_one, data):
    dtype = np.dtype(data.draw(st.sampled_from(NUMBERS[1:])))
    swapped = data.draw(st.booleans()) and dtype.itemsize > 1
    on_host = data.draw(st.booleans()) and driver == "cpu"
    offset = data.draw(st.integers(0, 16))
    host = numbers(other_order(dtype) if swapped else dtype)
    x = at(offset, host) if on_host else there(offset, host)
    if swapped and not on_host:
        with pytest.raises(cupola.ArgumentTypeError):
            add_one(x)
        return
    np.testing.assert_array_equal(add_one(x).get(), host + dtype.type(1))
    if on_host:
        out = np.zeros(N, host.dtype)
        add_one(x, out=out)
        np.testing.assert_array_equal(out, host + dtype.type(1))


@pytest.fixture(scope="module")
def add_one():
    return cupola.elementwise("const T* x, T* out", "out[i] = x[i] + T(1)", "add_one")


def test_an_operation_refuses_what_it_would_have_to_write_elsewhere(driver):
    options = {"device": 0} if driver == "cuda" else {}
    copy, x = made(operations.COPY), numbers("f4")
    with refused(cupola.ArgumentTypeError, saying=["output y", "byte order"]):
        copy(x, out=np.zeros(N, ">f4"), **options)
    if driver == "cpu":
        with refused(cupola.ArgumentValueError, saying=["output y", "multiple of 4 bytes"]):
            copy(x, out=at(1, x))
    cache = numbers(">f4")
    with refused(cupola.ArgumentTypeError, saying=["argument cache", "byte order"]):
        made(operations.ACCUMULATE)(cache, x, **options)
    refuse = made(operations.COPY, noncontiguous="refuse")
    if driver == "cpu":
        for value, text in [(at(1, x), "multiple of 4 bytes"), (x.astype(">f4"), "byte order")]:
            with refused(cupola.ArgumentValueError, saying=["argument x", text]):
                refuse(value)


def test_vectors_have_the_alignment_of_their_type(driver):
    kernel = cupola.load(images.SCALE)["scale"]
    kernel.declare("float4* values, float factor, int n")
    x = cupola.to_device(np.arange(16, dtype=np.float32))
    kernel[1, 8](x[4:8], 2.0, 4)
    np.testing.assert_array_equal(x[4:8].get(), [8, 10, 12, 14])
    for begin in (1, 2, 3):
        for value in (x[begin:], Foreign(x[begin:])):
            with refused(cupola.ArgumentValueError, saying=["argument 0", "multiple of 16"]):
                kernel[1, 8](value, 2.0, 4)


@pytest.mark.parametrize(
    ("name", "alignment"),
    {
        "float": 4, "const double": 8, "unsigned char": 1, "float2": 8, "float3": 4, "float4": 16,
        "double2": 16, "double4": 16, "double4_32a": 32, "uchar4": 4, "char3": 1, "longlong2": 16,
        "ulonglong3": 8, "ushort4": 8, "__half2": 4, "cuda::std::complex<double>": 16,
        "thrust::complex<float>": 8, "float*": 8, "Box": 1, "float5": 1, "int": 4,
    }.items(),
)  # fmt: skip
def test_alignments_of_types(name, alignment):
    from cupola.element import natural_alignment

    assert natural_alignment(name) == alignment


@pytest.mark.parametrize(
    ("dtype", "alignment"),
    [
        ("f8", 8), ("c16", 16), ("S3", 1), ("V7", 1), ("U2", 4), (ml_dtypes.bfloat16, 2),
        ([("a", "u1"), ("b", "f4")], 1), (np.dtype("u1,f8", align=True), 8),
        ([("a", "f4", (3,)), ("b", "i4")], 4), ([("a", [("b", "f8")])], 8),
    ],
)  # fmt: skip
def test_alignments_of_dtypes(dtype, alignment):
    from cupola.element import natural_alignment

    assert natural_alignment(np.dtype(dtype)) == alignment


@pytest.mark.parametrize("dtype", [*NUMBERS, "M8[s]", BOX])
def test_new_memory_has_the_machines_order(driver, dtype):
    dtype, other = np.dtype(dtype), other_order(dtype)
    host = np.zeros(N, other)
    for array in (
        cupola.empty(N, other), cupola.zeros(N, other), cupola.empty_like(host),
        cupola.managed(N, other), cupola.to_device(host), cupola.asarray(host),
        cupola.empty_pinned(N, other),
    ):  # fmt: skip
        assert array.dtype == dtype and array.dtype.isnative


# Each copies a host array to or from all elements of an array.
TO_DEVICE = {
    "set": lambda x, host: x.set(host),
    "set(stream=)": lambda x, host: x.set(host, stream=cupola.Stream.current()),
    "set of an Array": lambda x, host: x.set(cupola.to_device(host)),
    "x[:] =": lambda x, host: x.__setitem__(slice(None), host),
    "x[:] = Array": lambda x, host: x.__setitem__(slice(None), cupola.to_device(host)),
    "set of a view": lambda x, host: x[::-1].set(host[::-1]),
}


@pytest.mark.parametrize("call", TO_DEVICE.values(), ids=TO_DEVICE)
@pytest.mark.parametrize("target", NUMBERS)
def test_copies_to_the_device_convert_by_one_rule(driver, call, target):
    """Byte orders always, dtypes by the rule same_kind, as ``x[:] = value``."""
    for source in NUMBERS:
        for host in (numbers(source), numbers(other_order(source))):
            x = cupola.zeros(N, target)
            if np.can_cast(host.dtype, target, "same_kind"):
                call(x, host)
                np.testing.assert_array_equal(x.get(), host.astype(target))
            else:
                with pytest.raises(cupola.ArgumentTypeError, match=r"same_kind.*astype"):
                    call(x, host)
                assert not x.get().any()


@pytest.mark.parametrize("target", NUMBERS)
@pytest.mark.parametrize("is_pinned", [False, True])
def test_copies_to_the_host_convert_by_the_same_rule(driver, target, is_pinned):
    for source in NUMBERS:
        x = cupola.to_device(numbers(source))
        for dtype in (np.dtype(target), other_order(target)):
            out = cupola.empty_pinned(N * dtype.itemsize, np.uint8).view(dtype)
            out = out if is_pinned else np.zeros(2 * N, dtype)[::2]
            out[...] = 0
            if np.can_cast(source, dtype, "same_kind"):
                assert x.get(out=out, stream=cupola.Stream.current()) is out
                cupola.Device().synchronize()
                np.testing.assert_array_equal(out, numbers(source).astype(target))
            else:
                with pytest.raises(cupola.ArgumentTypeError, match=r"same_kind.*astype"):
                    x.get(out=out)
                assert not out.any()


def test_swapped_arrays_of_a_device_are_copied_to_both_orders(driver):
    host = numbers(">f4")
    x = there(0, host)
    for dtype in (">f4", "<f4", "f8"):
        np.testing.assert_array_equal(x.get(out=np.zeros(N, dtype)), host)
    x.set(host.astype("<f4") + 1)
    np.testing.assert_array_equal(x.get(), host + 1)


def test_a_graph_converts_no_host_arrays(driver):
    """Each launch copies bytes from and to the array itself."""
    stream, x = cupola.Stream(), cupola.zeros(N, np.float32)
    cupola.Device().synchronize()
    with stream.capture() as graph:
        for dtype in (">f4", "f8"):
            with pytest.raises(cupola.ArgumentTypeError, match=r"numpy.array\(array, 'float32'"):
                x.set(np.zeros(N, dtype))
            with pytest.raises(cupola.ArgumentTypeError, match="pass an array of float32"):
                x.get(out=np.zeros(N, dtype))
        x.set(numbers(">f4").astype("float32"))
    graph.instantiate()(stream)
    np.testing.assert_array_equal(x.get(stream=stream), numbers("f4"))
    nodes = cupola.Graph()
    for pair in [(x, np.zeros(N, ">f4")), (np.zeros(N, ">f4"), x)]:
        with refused(cupola.ArgumentTypeError, saying=[">f4", "float32", "view"]):
            nodes.add_copy(*pair)


def test_shapes_are_not_converted(driver):
    x = cupola.zeros(N, np.float32)
    for call in (x.set, lambda host: x.get(out=host)):
        with refused(cupola.ArgumentValueError, saying=["shape (3,)", "(5,)"]):
            call(np.zeros(3, ">f4"))


def test_random_integers_in_another_order(driver):
    for dtype in ("i2", "i4", "u8"):
        expected = cupola.random.default_rng(3).integers(0, 100, 50, dtype=dtype)
        found = cupola.random.default_rng(3).integers(0, 100, 50, dtype=other_order(dtype))
        np.testing.assert_array_equal(found.get(), expected.get())


class Swapped(ctypes.BigEndianStructure):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float), ("c", ctypes.c_double))


@pytest.mark.parametrize("form", images.CHECKED)
@pytest.mark.parametrize(
    "value", [np.array((-5, 0.25, 1e300), other_order(BOX))[()], Swapped(-5, 0.25, 1e300)],
    ids=["numpy", "ctypes"],
)  # fmt: skip
def test_structs_by_value_in_another_order(driver, form, value):
    out = cupola.empty(3, np.float64)
    images.module(form)["unpack"][1, 1](value, out)
    np.testing.assert_array_equal(out.get(), [-5, 0.25, 1e300])


def test_variables_in_another_order(driver):
    weights = cupola.load(images.ptx()).globals["weights"]
    host = np.arange(weights.nbytes // 4, dtype=">f4")
    weights.set(host)
    np.testing.assert_array_equal(weights.get("f4"), host)
    found = weights.get(">f4")
    assert found.dtype == ">f4"
    np.testing.assert_array_equal(found, host)


STRUCT = "struct Inner { short a[2]; double b; }; struct Outer { float x; Inner y[2]; int z; };"
OUTER = [("x", "f4"), ("y", [("a", "i2", (2,)), ("b", "f8")], (2,)), ("z", "i4")]
SUM = "p.x + p.y[0].a[1] + p.y[1].a[0] + (float)p.y[1].b + p.z"


def swapped_fields(kind):
    """The struct's dtype with fields in the other order: all of them, the nested, or the others."""

    def swap(dtype, depth):
        if dtype.subdtype:
            return np.dtype((swap(dtype.subdtype[0], depth), dtype.shape))
        if dtype.names:
            fields = [(name, swap(dtype[name], depth + 1)) for name in dtype.names]
            return np.dtype(fields, align=True)
        return (
            dtype.newbyteorder() if kind in ("all", "nested" if depth > 1 else "outer") else dtype
        )

    return swap(np.dtype(OUTER, align=True), 0)


@pytest.mark.parametrize("kind", ["all", "nested", "outer", "none"])
@pytest.mark.parametrize("maker", ["elementwise", "reduction", "scan"])
def test_makers_convert_structs_by_value(driver, maker, kind):
    dtype = swapped_fields(kind)
    options = {"preamble": STRUCT, "structs": {"Outer": dtype}}
    parameters = "const float* v, const Outer p, float* out"
    if maker == "elementwise":
        made_function = cupola.elementwise(parameters, f"out[i] = v[i] * ({SUM})", **options)
    else:
        map_and_join = (parameters, f"v[i] * ({SUM})", "a + b", "0")
        made_function = getattr(cupola, maker)(*map_and_join, **options)
    v = cupola.to_device(np.array([1, 2, 3], np.float32))
    element = (0.5, [((9, 1), 9), ((2, 9), 4)], 8)
    factors = {"elementwise": [1, 2, 3], "reduction": 6, "scan": [1, 3, 6]}[maker]
    for value in (np.array(element, dtype)[()], np.array(element, np.dtype(OUTER, align=True))):
        assert made_function(v, value).get().tolist() == (15.5 * np.array(factors)).tolist()


def test_makers_refuse_arrays_of_swapped_structs(driver):
    pair = np.dtype([("value", ">f4"), ("index", ">i4")])
    options = {"preamble": "struct Pair { float value; int index; };", "structs": {"Pair": pair}}
    host = np.array([(1.5, 2), (3, 4)], pair)
    read = cupola.elementwise("const Pair* x, float* out", "out[i] = x[i].value", **options)
    write = cupola.elementwise("Pair* x", "x[i] = Pair{2, 3}", **options)
    assert read(cupola.to_device(host)).get().tolist() == [1.5, 3]
    array = there(0, host)
    for function in (read, write):
        with refused(cupola.ArgumentTypeError, saying=["argument x", "byte order", "to_device"]):
            function(array)
    np.testing.assert_array_equal(array.get(), host)


ROW = """
struct Row { int n; float v[3]; };
extern "C" __global__ void add_up(Row row, float* out) {
    out[0] = row.n + row.v[0] + 10 * row.v[1] + 100 * row.v[2];
}
extern "C" __global__ void of_memory(const Row* row, float* out) {
    out[0] = row->n + row->v[0] + 10 * row->v[1] + 100 * row->v[2];
}
"""


class SwappedRow(ctypes.BigEndianStructure):
    _fields_ = (("n", ctypes.c_int), ("v", ctypes.c_float * 3))


def test_arrays_in_structs_in_another_order(driver):
    """NumPy's `isnative` does not see the byte order of arrays in structs."""
    swapped = np.dtype([("n", "i4"), ("v", ">f4", (3,))])
    assert swapped.isnative
    module = cupola.compile(ROW)
    host, out = np.array((5, (1, 2, 3)), swapped), cupola.zeros(1, np.float32)
    for value in (host[()], SwappedRow(5, (1, 2, 3))):
        out.fill(0)
        module["add_up"][1, 1](value, out)
        assert out.item() == 326
    native = [cupola.to_device(host.reshape(1)), cupola.In(host.reshape(1))]
    for value in native:
        out.fill(0)
        module["of_memory"][1, 1](value, out)
        assert out.item() == 326
    assert native[0].dtype == np.dtype([("n", "i4"), ("v", "f4", (3,))])
    with refused(cupola.ArgumentTypeError, saying=["byte order", "to_device"]):
        module["of_memory"][1, 1](there(0, host.reshape(1)), out)
    changed = np.zeros(1, swapped)
    module["of_memory"][1, 1](cupola.InOut(changed), out)
    assert out.item() == 0 and changed[0]["n"] == 0


MOVES = {
    "x[key]": lambda x, y, i, m: x[i],
    "x[key] of a mask": lambda x, y, i, m: x[m],
    "x[key] of a list": lambda x, y, i, m: x[[0, 1]],
    "x[key] = value": lambda x, y, i, m: x.__setitem__(i, 1),
    "x[key] = value of a mask": lambda x, y, i, m: x.__setitem__(m, 1),
    "x[key] = value of a value": lambda x, y, i, m: y.__setitem__(i, x[:2]),
    "x[key] of an index": lambda x, y, i, m: y[x],
    "take": lambda x, y, i, m: cupola.take(x, i),
    "take of an index": lambda x, y, i, m: cupola.take(y, x),
    "put": lambda x, y, i, m: cupola.put(x, i, 1),
    "put of an index": lambda x, y, i, m: cupola.put(y, x, 1),
    "compress": lambda x, y, i, m: cupola.compress(m, x),
    "extract": lambda x, y, i, m: cupola.extract(m, x),
    "take_along_axis": lambda x, y, i, m: cupola.take_along_axis(x, i, 0),
    "put_along_axis": lambda x, y, i, m: cupola.put_along_axis(x, i, 1, 0),
}


@pytest.mark.parametrize("name", MOVES)
def test_moves_of_swapped_elements_are_refused_by_the_public_name(driver, name):
    x, y = there(0, numbers(">i4")), cupola.to_device(numbers("i4"))
    index = cupola.to_device(np.array([0, 1]))
    title = name.partition(" of ")[0]
    with refused(cupola.ArgumentTypeError, saying=[f"{title}: argument", "byte order", ">i4"]):
        MOVES[name](x, y, index, y > 2)
    np.testing.assert_array_equal(x.get(), numbers("i4"))
    np.testing.assert_array_equal(y.get(), numbers("i4"))


def test_other_operations_name_the_remedy(driver):
    x = there(0, numbers(">f4"))
    for operation in (
        lambda: x + 1, lambda: x.sum(), lambda: np.where(x > 1, x, x), lambda: x.astype("f8"),
        lambda: cupola.concatenate([x, x]), lambda: x @ x,
    ):  # fmt: skip
        with refused(cupola.ArgumentTypeError, saying=["byte order", "cupola.to_device"]):
            operation()
    copy = made(operations.COPY)
    for call in (lambda: copy(x), lambda: copy(cupola.zeros(N, "f4"), out=x)):
        with refused(cupola.ArgumentTypeError, saying=[">f4", "cupola.to_device", "byte order"]):
            call()


def test_a_refused_array_leaves_the_context_alive(driver):
    kernel, y = operations.module()["copy<float>"], cupola.zeros(N, np.float32)
    raw = cupola.zeros(64, np.uint8)
    with refused(cupola.ArgumentValueError, saying=["multiple of 4", "pass"]):
        kernel[1, 32](raw[1:-3].view("f4")[:N], y, N)
    assert_works()


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">c16", ">i2"])
def test_a_dtype_in_the_other_byte_order_means_the_native_one(driver, dtype):
    """The rule of new arrays holds for each function with ``dtype=``."""
    x = cupola.to_device(np.arange(1, 13, dtype=np.float32).reshape(3, 4))
    native = np.dtype(dtype).newbyteorder("=")
    real = native.kind != "c"
    calls = {
        "sum": lambda wanted: x.sum(dtype=wanted),
        "prod": lambda wanted: x.prod(axis=1, dtype=wanted),
        "add.reduce": lambda wanted: np.add.reduce(x, 1, dtype=wanted),
        "cumsum": lambda wanted: cupola.cumsum(x, 1, dtype=wanted),
        "cumprod": lambda wanted: cupola.cumprod(x, 0, dtype=wanted),
        "nansum": lambda wanted: cupola.nansum(x, dtype=wanted),
        "trace": lambda wanted: cupola.trace(x, dtype=wanted),
        "astype": lambda wanted: x.astype(wanted),
        "concatenate": lambda wanted: cupola.concatenate([x, x], dtype=wanted, casting="unsafe"),
        "full": lambda wanted: cupola.full(3, 2, wanted),
    }
    if native.kind in "fc":
        calls["mean"] = lambda wanted: x.mean(dtype=wanted)
        calls["var"] = lambda wanted: x.var(dtype=wanted)
        calls["add"] = lambda wanted: np.add(x, x, dtype=wanted)
        calls["sqrt"] = lambda wanted: np.sqrt(x, dtype=wanted)
    if native.kind == "f":
        calls["random"] = lambda wanted: cupola.random.default_rng(1).random(5, dtype=wanted)
    if real and native.kind == "i":
        calls["integers"] = lambda wanted: cupola.random.default_rng(1).integers(9, dtype=wanted)
    for name, call in calls.items():
        found, expected = call(dtype), call(native)
        assert found.dtype == expected.dtype and found.dtype.isnative, name
        np.testing.assert_array_equal(found.get(), expected.get(), err_msg=name)


def test_texels_have_the_native_byte_order(driver):
    assert cupola.CudaArray((2, 2), ">f4").dtype == np.float32
    x = cupola.to_device(np.arange(8, dtype=np.float32))
    with refused(cupola.ArgumentTypeError, saying=[">f4", "byte order", "cupola.to_device"]):
        cupola.Texture(x.view(">f4"))
    cupola.Texture(cupola.to_device(x.view(">f4").get()))


def test_operations_declare_the_elements_of_vectors(driver):
    kernel = cupola.load(images.SCALE)["scale"]
    kernel.declare("float4* values, float factor, int n")
    table = {
        "outputs": {},
        "mutates": ["values"],
        "scalars": {"factor": "float"},
        "arguments": ["values", "factor", "n"],
        "grid": [1],
        "block": [8],
        "align": 16,
    }
    cupola.op(kernel, "test.scale", inputs={"values": "float32[n]"}, **table)
    with refused(cupola.ArgumentTypeError, saying=["values", "float4", "float64"]):
        cupola.op(kernel, "test.scale", inputs={"values": "float64[n]"}, **table)


def test_operations_declare_the_alignment_of_vectors(driver):
    kernel = cupola.load(images.SCALE)["scale"]
    kernel.declare("float4* values, float factor, int n")
    table = {
        "inputs": {"values": "float32[n]"},
        "outputs": {},
        "mutates": ["values"],
        "scalars": {"factor": "float"},
        "arguments": ["values", "factor", "n"],
        "grid": [1],
        "block": [8],
    }
    x = cupola.to_device(np.arange(8, dtype=np.float32))
    for _ in range(2):
        with refused(cupola.ArgumentTypeError, saying=["values", "float4", "align = 16"]):
            cupola.op(kernel, "test.scale", **table)(x, 2.0)
    scale = cupola.op(kernel, "test.scale", align=16, **table)
    scale(x[4:], 2.0)
    np.testing.assert_array_equal(x.get(), [0, 1, 2, 3, 8, 10, 12, 14])
    with refused(cupola.ArgumentValueError, saying=["values", "multiple of 16"]):
        scale(x[1:5], 2.0)


def test_shipped_kernels_copy_inputs_that_are_not_aligned(driver):
    host = numbers("f4")
    for x, y in [(there(1, host), there(2, host)), (there(0, host), there(3, host))]:
        np.testing.assert_array_equal(cupola.saxpy(2.0, x, y).get(), 3 * host)
        with refused(cupola.ArgumentValueError, saying=["saxpy: out", "multiple of 4"]):
            cupola.saxpy(2.0, x, y, out=there(1, host))
    with refused(cupola.ArgumentTypeError, saying=["saxpy", ">f4"]):
        cupola.saxpy(2.0, there(0, host.astype(">f4")), there(0, host))
    image = there(3, np.arange(24, dtype="f4")).reshape(4, 6)
    weights = there(1, np.ones(9, "f4")).reshape(3, 3)
    expected = cupola.convolve(image.get(), weights.get())
    np.testing.assert_array_equal(cupola.convolve(image, weights).get(), expected)


UNALIGNED = {
    "take": lambda x, i: x[i],
    "take of rows": lambda x, i: x.reshape(-1, 1)[i],
    "where": lambda x, i: np.where(x > 2, x, x[::-1]),
    "mask": lambda x, i: x[x > 2],
    "sum": lambda x, i: x.sum(),
    "cumsum": lambda x, i: np.cumsum(x),
    "sort": lambda x, i: np.sort(x),
    "argsort": lambda x, i: np.argsort(x),
    "unique": lambda x, i: np.unique(x),
    "searchsorted": lambda x, i: np.searchsorted(x, x),
    "repeat": lambda x, i: np.repeat(x, 2),
    "concatenate": lambda x, i: np.concatenate([x, x]),
    "product": lambda x, i: x @ x,
    "sine": lambda x, i: x + 1,
    "cast": lambda x, i: x.astype("f8"),
    "copy": lambda x, i: x.copy(),
    "transpose": lambda x, i: x[:4].reshape(2, 2).T.copy(),
}


@searched
@given(data=st.data())
def test_algorithms_take_arrays_that_are_not_aligned(driver, data):
    compute = UNALIGNED[data.draw(st.sampled_from(list(UNALIGNED)))]
    host = numbers(data.draw(st.sampled_from(["i2", "i4", "u8", "f4", "f8"])))
    x = there(data.draw(st.integers(0, 16)), host)
    index = np.array([0, 3, 3, 1])
    found = compute(x, cupola.to_device(index))
    np.testing.assert_array_equal(getattr(found, "get", lambda: found)(), compute(host, index))


@searched
@given(data=st.data())
def test_algorithms_write_arrays_that_are_not_aligned(driver, data):
    dtype = np.dtype(data.draw(st.sampled_from(["i2", "i4", "u8", "f4", "c8", "c16"])))
    host, values = numbers(dtype), numbers(dtype)[:2] * 7
    x, y = (there(data.draw(st.integers(0, 16)), one) for one in (host, values))
    index, mask = np.array([4, 1]), host.real > 3
    way = data.draw(st.sampled_from(["put", "mask", "fill", "slice", "add"]))
    for array, one in ((host, values), (x, y)):
        move = cupola.to_device if array is x else np.asarray
        if way == "put":
            array[move(index)] = one
        elif way == "mask":
            array[move(mask)] = 9
        elif way == "fill":
            array.fill(9)
        elif way == "slice":
            array[1:3] = one
        else:
            array += array
    np.testing.assert_array_equal(x.get(), host)


AS = {
    "astype": lambda x, dtype: x.astype(dtype),
    "astype without a copy": lambda x, dtype: x.astype(dtype, copy=False),
    "asarray": lambda x, dtype: cupola.asarray(x, dtype=dtype),
    "array": lambda x, dtype: cupola.array(x, dtype),
    "empty_like": lambda x, dtype: cupola.zeros_like(x, dtype) + x,
}


@pytest.mark.parametrize("source", ["f4", "f8", "i4"])
@pytest.mark.parametrize("call", AS.values(), ids=AS)
def test_new_arrays_from_a_device_have_the_machines_order(driver, call, source):
    x = cupola.to_device(numbers(source))
    for dtype in (">f8", "<f8"):
        found = call(x, dtype)
        assert found.dtype == np.float64 and found.dtype.isnative
        np.testing.assert_array_equal(found.get(), numbers(source).astype("f8"))


def test_to_device_of_a_device_array_names_the_function_that_converts(driver):
    x = cupola.to_device(numbers("f4"))
    assert cupola.to_device(x, ">f4").dtype == np.float32
    with refused(cupola.ArgumentTypeError, saying="cupola.array(source, dtype)"):
        cupola.to_device(x, "f8")
    assert cupola.array(x, "f8").dtype == np.float64


def test_views_keep_bytes_in_the_order_that_they_are_given(driver):
    variable, x = images.module().globals["counter"], cupola.to_device(numbers("f4"))
    assert variable.array(">i4").get().view("i4") == variable.array("i4").get()
    assert x.view(">f4").get().tobytes() == numbers("f4").tobytes()
    there = cupola.Array.from_address(x.ptr, N, ">f4", owner=x)
    assert there.dtype == ">f4" and there.get().tobytes() == numbers("f4").tobytes()
    swapped = x.view(">f4")
    assert swapped.astype(">f4").get().tobytes() == numbers("f4").tobytes()
