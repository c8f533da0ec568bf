"""cupola.pycuda's elementwise, reduction, scan, curandom, tools and characterize."""

import numpy as np
import pytest
from goodness_of_fit import kolmogorov_smirnov
from pycuda_context import context  # noqa: F401

import cupola.pycuda.curandom as curandom
import cupola.pycuda.driver as drv
import cupola.pycuda.gpuarray as gpuarray
from cupola.pycuda import characterize, tools
from cupola.pycuda.elementwise import ElementwiseKernel
from cupola.pycuda.reduction import ReductionKernel
from cupola.pycuda.scan import ExclusiveScanKernel, InclusiveScanKernel

RNG = np.random.default_rng(6)


def test_elementwise():
    x = RNG.random(5000).astype(np.float32)
    a, out = gpuarray.to_gpu(x), gpuarray.zeros(5000, np.float32)
    kernel = ElementwiseKernel(
        "float a, const float *x, float *z", "z[i] = a * x[i] + twice(n > i)", "axpb",
        preamble="__device__ int twice(int x) { return 2 * x; }",
    )  # fmt: skip
    kernel(3, a, out)
    np.testing.assert_allclose(out.get(), 3 * x + 2, rtol=1e-6)
    seven = ElementwiseKernel("float *z", "z[i] = 7")
    for part in (slice(5, 4000), slice(5, 4000, 17), slice(3000, 5, -1), slice(1000, -1)):
        out.fill(0)
        seven(out, slice=part, stream=drv.Stream())
        drv.Context.synchronize()
        expected = np.zeros(5000, np.float32)
        expected[part] = 7
        np.testing.assert_array_equal(out.get(), expected)
    z = (x[:50] + 1j * x[50:100]).astype(np.complex64)
    c, cout = gpuarray.to_gpu(z), gpuarray.empty(50, np.complex64)
    ElementwiseKernel(
        "pycuda::complex<float> *z, pycuda::complex<float> *out",
        "out[i] = exp(z[i]) / (z[i] * z[i] + 1.0f) - sqrt(conj(z[i]))",
    )(c, cout)
    np.testing.assert_allclose(
        cout.get(), np.exp(z) / (z * z + 1) - np.sqrt(z.conj()), rtol=1e-4, atol=1e-5
    )
    second = drv.Context.get_device().make_context()
    seven(out)
    second.detach()
    assert (out.get() == 7).all()
    with pytest.raises(RuntimeError, match="non-contiguous"):
        seven(out[::2])
    with pytest.raises(TypeError, match="takes 1 arguments"):
        seven(out, out)
    with pytest.raises(RuntimeError, match="vector"):
        ElementwiseKernel("float a", "a = 1")
    with pytest.raises(ValueError, match="quaternion"):
        ElementwiseKernel("quaternion *a", "a = 1")


@pytest.mark.parametrize(
    ("expression", "expected"),
    {
        "conj(x)": np.conj, "exp(x)": np.exp, "log(x)": np.log, "log10(x)": np.log10,
        "sqrt(x)": np.sqrt, "sin(x)": np.sin, "cos(x)": np.cos, "tan(x)": np.tan,
        "sinh(x)": np.sinh, "cosh(x)": np.cosh, "tanh(x)": np.tanh, "real(x)": np.real,
        "imag(x)": np.imag, "abs(x)": np.abs, "arg(x)": np.angle, "norm(x)": lambda x: abs(x) ** 2,
        "pow(x, x)": lambda x: x**x, "pow(x, 2.0f)": lambda x: x**2, "pow(x, 2)": lambda x: x**2,
        "pow(2.0f, x)": lambda x: 2**x, "polar(abs(x))": np.abs,
        "polar(abs(x), arg(x))": lambda x: x,
    }.items(),
)  # fmt: skip
def test_functions_of_complex_numbers_have_qualified_names(expression, expected):
    """`pycuda::conj(x)` finds no friend of the class."""
    rng = np.random.default_rng(3)
    x = (rng.random(40) - 0.5 + 1j * (rng.random(40) - 0.5)).astype(np.complex64)
    kernel = ElementwiseKernel(
        "pycuda::complex<float> *in, pycuda::complex<float> *out",
        f"pycuda::complex<float> x = in[i]; out[i] = pycuda::{expression}",
    )
    out = gpuarray.empty(40, np.complex64)
    kernel(gpuarray.to_gpu(x), out)
    np.testing.assert_allclose(out.get(), expected(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [1, 255, 256, 257, 70000])
def test_reduction(size):
    x, y = RNG.integers(-50, 50, (2, size)).astype(np.int64)
    a, b = gpuarray.to_gpu(x), gpuarray.to_gpu(y)
    products = ReductionKernel(np.int64, "0", "a+b", "x[i]*y[i]", "long *x, long *y")
    assert products(a, b).get() == (x * y).sum()
    out = gpuarray.zeros(3, np.int64)
    ReductionKernel(np.int64, "-1000", "max(a, b)")(a, out=out[1])
    assert out.get().tolist() == [0, x.max(), 0]


def test_names_and_types_in_a_reduction():
    x = RNG.integers(-50, 50, 5000).astype(np.float32)
    a = gpuarray.to_gpu(x)
    names = ReductionKernel(
        np.float64, "0", "a+b", "a[i] * b[i] * value * (o > 0) + (out_type)(i > n)",
        "const float *a, float *b, double value, int o",
    )  # fmt: skip
    for value, o in ((2, 1), (np.float64(2), np.int32(1)), (2.0, 1)):
        assert names(a, a, value, o).get() == 2 * (x.astype(float) ** 2).sum()
    with pytest.raises(TypeError, match=r"#2 .*expected float64, got '2'"):
        names(a, a, "2", 1)
    # The number of an element is unsigned, as in PyCUDA.
    wraps = ReductionKernel(np.int32, "0", "a+b", "i - 1 > n", "float *x")
    assert wraps(a).get() == 1
    z = (x + 1j * x[::-1]).astype(np.complex64)
    scaled = ReductionKernel(
        np.complex64, "0", "a+b", "conj(z[i]) * by",
        "pycuda::complex<float> *z, pycuda::complex<float> by",
    )  # fmt: skip
    np.testing.assert_allclose(scaled(gpuarray.to_gpu(z), 2j).get(), 2j * z.conj().sum(), rtol=1e-4)
    empty = ReductionKernel(np.float32, "7", "a+b")
    assert empty(gpuarray.zeros(0, np.float32)).get() == 7
    order = gpuarray.to_gpu(np.asfortranarray(x[:6].reshape(2, 3)))
    stream = drv.Stream()
    assert names(order, order, 1, 1, stream=stream).get() == (x[:6].astype(float) ** 2).sum()


def test_options_and_errors_of_reductions_and_scans(capsys):
    a = gpuarray.to_gpu(np.ones(10, np.float32))
    twice = ReductionKernel(np.float32, "0", "a+b", "BY * x[i]", "float *x", options=["-DBY=2"])
    assert twice(a).get() == 20
    with pytest.raises(drv.CompileError, match=r'reduce_kernel map\(1\).*"unknown" is undefined'):
        ReductionKernel(np.float32, "0", "a+b", "unknown(x[i])", "float *x")(a)
    with pytest.raises(drv.CompileError, match=r'scan scan\(1\).*"unknown" is undefined'):
        InclusiveScanKernel(np.float32, "a+unknown")(a)
    assert ReductionKernel(np.float32, "0", "a+b", keep=True)(a).get() == 10
    assert "compiler output in" in capsys.readouterr().out


@pytest.mark.parametrize("size", [1, 2047, 2048, 2049, 2048 * 2048 + 5])
def test_scan(size):
    x = RNG.integers(0, 10, size).astype(np.int32)
    for kernel, expected in (
        (InclusiveScanKernel(np.int32, "a+b"), np.cumsum(x, dtype=np.int32)),
        (ExclusiveScanKernel(np.int32, "a+b", "0"), np.cumsum(x, dtype=np.int32) - x),
    ):
        a = gpuarray.to_gpu(x)
        other = gpuarray.empty_like(a)
        assert kernel(a, other) is other and kernel(a) is a
        np.testing.assert_array_equal(other.get(), expected)
        np.testing.assert_array_equal(a.get(), expected)


@pytest.mark.parametrize("size", [1, 33, 5000])
def test_a_scan_of_complex_numbers_and_its_first_element(size):
    z = (RNG.integers(0, 9, size) + 1j).astype(np.complex64)
    a = gpuarray.to_gpu(z)
    InclusiveScanKernel(np.complex64, "a+b")(a)
    np.testing.assert_array_equal(a.get(), np.cumsum(z))
    x = RNG.integers(-9, -1, size).astype(np.int32)
    b = gpuarray.to_gpu(x)
    # The neutral element is the first result, and is combined with no element.
    ExclusiveScanKernel(np.int32, "max(a, b)", "0")(b)
    assert b.get().tolist() == [0, *np.maximum.accumulate(x)[:-1]]


def test_a_scan_keeps_the_order():
    x = RNG.integers(0, 100, 5000).astype(np.int32)
    a = gpuarray.to_gpu(x)
    InclusiveScanKernel(np.int32, "b > 0 ? b : a")(a)  # the last positive number so far
    at = np.maximum.accumulate(np.where(x > 0, np.arange(5000), 0))
    np.testing.assert_array_equal(a.get(), x[at])
    with pytest.raises(ValueError, match="neutral"):
        ExclusiveScanKernel(np.int32, "a+b")
    with pytest.raises(ValueError, match="float64"):
        InclusiveScanKernel(np.int32, "a+b")(gpuarray.zeros(3))


NORMAL = np.vectorize(lambda x: 0.5 * (1 + __import__("math").erf(x / 2**0.5)))


@pytest.mark.parametrize("kind", ["XORWOW", "MRG32k3a", "Philox4x32_10"])
def test_random_numbers(kind):
    def seeds(n):
        return gpuarray.to_gpu(np.arange(n, dtype=np.int32) * 7919)

    make = getattr(curandom, f"{kind}RandomNumberGenerator")
    generator, again = make(seeds), make(seeds)
    for dtype in (np.float32, np.float64):
        x = generator.gen_uniform(20001, dtype).get()
        np.testing.assert_array_equal(x, again.gen_uniform(20001, dtype).get())
        assert x.min() > 0 and x.max() < 1
        assert kolmogorov_smirnov(x, lambda v: v) < 1.95  # exceeded once in a thousand
        assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.03
        assert kolmogorov_smirnov(generator.gen_normal(20001, dtype).get(), NORMAL) < 1.95
        again.gen_normal(20001, dtype)
    logs = np.log(generator.gen_log_normal(5000, np.float64, 2.0, 0.5).get())
    assert kolmogorov_smirnov((logs - 2) / 0.5, NORMAL) < 1.95
    counts = generator.gen_poisson(20000, np.uint32, 40.0).get()
    assert abs(counts.mean() - 40) < 0.25 and abs(counts.var() - 40) < 2
    means = gpuarray.zeros(20000, np.float32).fill(3)
    generator.fill_poisson(means)
    assert abs((means.get() == 0).mean() - np.exp(-3)) < 0.01
    bits = np.unpackbits(generator.gen_uniform(4096, np.uint32).get().view(np.uint8))
    assert abs(bits.mean() - 0.5) < 0.006
    with pytest.raises(NotImplementedError, match="int16"):
        generator.gen_uniform(5, np.int16)


def test_philox_has_the_published_values():
    generator = curandom.Philox4x32_10RandomNumberGenerator(lambda n: gpuarray.zeros(n, np.int32))
    count = generator._count
    first = generator.gen_uniform(4 * count, np.uint32).get().reshape(4, count)
    # Random123's known answer for a counter and a key of zeros.
    assert [f"{word:08x}" for word in first[:, 0]] == [
        "6627e8d5",
        "e169c58d",
        "bc57ac4c",
        "9b00dbd8",
    ]
    skipped = curandom.Philox4x32_10RandomNumberGenerator(
        lambda n: gpuarray.zeros(n, np.int32), offset=2
    )
    skipped.call_skip_ahead(1)
    np.testing.assert_array_equal(skipped.gen_uniform(count, np.uint32).get(), first[3])


def test_xorwow_follows_its_recurrence():
    generator = curandom.XORWOWRandomNumberGenerator(lambda n: gpuarray.zeros(n, np.int32))
    count = generator._count
    state = drv.from_device(generator.state, (count, 6), np.uint32)[5].astype(object)
    got = generator.gen_uniform(6 * count, np.uint32).get().reshape(6, count)[:, 5]
    x, counter, mask = list(state[:5]), state[5], 0xFFFFFFFF
    for value in got:
        t = x[0] ^ x[0] >> 2
        x = [*x[1:], (x[4] ^ x[4] << 4 ^ t ^ t << 1) & mask]
        counter = counter + 362437 & mask
        assert value == x[4] + counter & mask


def test_pools():
    pool = tools.DeviceMemoryPool()
    first = pool.allocate(1000)
    address = int(first)
    assert len(first) == 1000 and pool.active_blocks == 1 and pool.active_bytes == 1000
    del first
    assert pool.active_blocks == 0 and pool.held_blocks == 1
    assert int(pool.allocate(1001)) == address  # the same bin
    array = gpuarray.zeros(10, np.float32, allocator=pool.allocate)
    assert (array + 1).get().tolist() == [1] * 10
    pool.stop_holding()
    del array
    assert pool.held_blocks == 0
    host = tools.PageLockedMemoryPool()
    made = host.allocate((3, 4), np.float32, "F")
    made[:] = 1
    assert isinstance(made.base, tools.PooledHostAllocation) and made.flags.f_contiguous
    del made
    assert (host.held_blocks, host.active_blocks) == (1, 0)
    for size in [0, 1, 2, 3, 4, 5, 7, 1000, 12345, 1 << 30]:
        number = pool.bin_number(size)
        assert size <= pool.alloc_size(number) <= max(1.26 * size + 1, 1)
        assert pool.bin_number(pool.alloc_size(number)) == number


def test_c_types():
    assert tools.dtype_to_ctype(np.float32) == "float"
    assert tools.dtype_to_ctype(np.complex128) == "pycuda::complex<double>"
    pair = np.dtype([("a", "i4"), ("b", "f4")])
    with pytest.raises(ValueError, match="register_dtype"):
        tools.dtype_to_ctype(pair)
    tools.register_dtype(pair, "test_pair")
    assert tools.dtype_to_ctype(pair) == "test_pair"
    argument = tools.parse_c_arg("const unsigned int *x")
    assert isinstance(argument, tools.VectorArg) and argument.dtype == np.uint32
    assert tools.ScalarArg(np.float64, "x").declarator() == "double x"
    assert tools.get_arg_type("float x") == "f"
    names = {
        np.int64: "long",
        np.uint64: "unsigned long",
        np.float16: "half",
        np.int8: "signed char",
    }
    assert {kind: tools.dtype_to_ctype(kind) for kind in names} == names
    spelled = {
        "long long unsigned": "u8", "unsigned short int": "u2", "char": "i1", "size_t": "u8",
        "int64_t": "i8", "long": "i8", "signed": "i4", "fp_tex_cfloat": "c8", "__half": "f2",
    }  # fmt: skip
    for name, kind in spelled.items():
        assert tools.get_or_register_dtype(name) == kind == tools.parse_c_arg(f"{name} *x").dtype
    with pytest.raises(RuntimeError, match="already registered for uint64"):
        tools.get_or_register_dtype("size_t", np.float32)
    for unknown in ("quaternion", "__nv_bfloat16"):
        with pytest.raises(RuntimeError, match="unknown C type"):
            tools.get_or_register_dtype(unknown)
    assert characterize.sizeof("double") == 8 and characterize.has_double_support()


def test_occupancy_and_caches():
    data = tools.DeviceData()
    record = tools.OccupancyRecord(data, 256)
    assert record.warps_per_mp == 8 * record.tb_per_mp and 0 < record.occupancy <= 1
    small = tools.OccupancyRecord(data, 32, shared_mem=data.shared_memory)
    assert small.limited_by == "smem" and small.tb_per_mp == 1
    assert data.align(130) == 256 and data.make_valid_tex_channel_count(3) == 4
    calls = []

    @tools.context_dependent_memoize
    def counted(x):
        calls.append(x)
        return x

    assert counted(1) == counted(1) == 1 and calls == [1]
    second = drv.Context.get_device().make_context()
    counted(1)
    second.detach()
    assert calls == [1, 1]
    tools.clear_context_caches()
    counted(1)
    assert calls == [1, 1, 1]
