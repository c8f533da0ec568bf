"""The properties of a kernel, and the names by which it is found."""

import images
import numpy as np
import pytest
from working import refused

import cupola


@pytest.fixture(params=["fatbin", *images.CHECKED])
def form(driver, request):
    return request.param


@pytest.fixture
def module(form):
    return images.module(form)


def result(kernel, dtype=np.int32):
    out = cupola.zeros(1, dtype)
    kernel[1, 1](out)
    return out.get()[0]


@pytest.mark.parametrize(
    "name", ["inside", "outer::inside", "outer::inside(int*)", "_ZN5outer6insideEPi"]
)
def test_by_each_of_its_names(module, name):
    assert result(module[name]) == 7
    assert name in module
    assert module[name] is module["inside"] is module.kernel(name)
    assert module[name].name == "_ZN5outer6insideEPi"
    assert module[name].demangled == "outer::inside(int*)"


def test_templates_by_their_arguments(module):
    for name, factor in [("scale<2>", 2), ("void scale<3>(int*)", 3), ("_Z5scaleILi3EEvPi", 3)]:
        values = cupola.to_device(np.arange(4, dtype=np.int32))
        module[name][1, 4](values)
        np.testing.assert_array_equal(values.get(), factor * np.arange(4))


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        ("both", ("both(int*)", "both(float*)", "_Z4bothPi", "_Z4bothPf")),
        ("scale", ("scale<2>(int*)", "scale<3>(int*)")),
    ],
)
def test_ambiguous_names_list_the_candidates(module, name, candidates):
    assert result(module["both(int*)"]) == 1
    assert result(module["both(float*)"], np.float32) == 2
    with refused(cupola.NotFoundError, KeyError, saying=("ambiguous", *candidates)):
        module[name]


def test_unknown_names_tell_the_nearest(module):
    for wrong, near in [("axpi", "axpy"), ("insid", "inside"), ("Bounded", "bounded")]:
        with refused(cupola.NotFoundError, KeyError, saying=(wrong, near)):
            module[wrong]
        assert wrong not in module
    for wrong in ("", "a" * 10_000, "axpy\0", "axpy\0x", "größe", "%s%n", "both(int"):
        with refused(cupola.NotFoundError, KeyError):
            module[wrong]
    for wrong in (0, None, b"axpy"):
        with pytest.raises(TypeError):
            module[wrong]


def test_all_names(module):
    names = set(module)
    assert {"axpy", "bump", "_Z4bothPi", "_Z5storeIiEvPT_S0_"} <= names
    assert len(module) == len(module.kernels) == len(names)
    assert all(module[name].name == name for name in names)


def params(kernel):
    return [tuple(one)[:5] for one in kernel.params]


def test_parameters_by_a_manifest(driver):
    module = images.module("described")
    assert params(module["axpy"]) == [
        ("a", "float", "float", 0, 4),
        ("x", "pointer", "float", 8, 8),
        ("y", "pointer", "float", 16, 8),
        ("out", "pointer", "float", 24, 8),
        ("n", "integer", "unsigned int", 32, 4),
    ]
    assert params(module["unpack"]) == [
        ("box", "struct", "Box", 0, 16),
        ("out", "pointer", "double", 16, 8),
    ]


def test_parameters_by_the_text_of_ptx(driver):
    module = images.module("ptx")
    kinds = [(one.kind, one.offset, one.size) for one in module["axpy"].params]
    pointer = "pointer or integer"
    pointers = [(pointer, offset, 8) for offset in (8, 16, 24)]
    assert kinds == [("float", 0, 4), *pointers, ("integer", 32, 4)]
    assert [one.kind for one in module["odd"].params] == ["struct", pointer]


def test_parameters_by_the_mangled_name(form):
    found = params(images.module(form)["accumulate"])
    pairs = [("pointer", "int", 0, 8), ("pointer", "int", 8, 8), ("integer", "int", 16, 4)]
    assert [one[1:] for one in found] == pairs


def test_sizes_by_the_driver_alone(form):
    module = images.module(form)
    assert [(one.offset, one.size) for one in module["unpack"].params] == [(0, 16), (16, 8)]
    assert [(one.offset, one.size) for one in module["odd"].params] == [(0, 5), (8, 8)]
    assert [one.size for one in module["eighty"].params] == [4] * 80 + [8]
    assert module["bump"].params == ()
    sizes = [np.dtype(code).itemsize for code in "?bBhHiIqQefd"]
    names = ["bool", "signed char", "unsigned char", "short", "unsigned short", "int"]
    names += ["unsigned int", "long long", "unsigned long long", "__half", "float", "double"]
    assert [module[f"store<{name}>"].params[1].size for name in names] == sizes


def test_resources(module):
    axpy, reverse = module["axpy"], module["reverse"]
    assert 0 < axpy.registers <= 255
    assert (axpy.shared_bytes, reverse.shared_bytes) == (0, 1024)
    assert axpy.max_threads == 1024 and module["bounded"].max_threads == 128
    assert axpy.local_bytes >= 0
    assert axpy.device == module.device == cupola.Device()


def test_occupancy(module):
    kernel, device = module["reverse_dynamic"], cupola.Device()
    threads = device.attribute(39)  # MAX_THREADS_PER_MULTIPROCESSOR
    for block in (32, 128, 1024):
        assert 1 <= kernel.occupancy(block) <= threads // block
    whole = device.attribute(97)  # MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    assert kernel.occupancy(32, 16 * 1024) < kernel.occupancy(32)
    assert kernel.occupancy(32, 40 * 1024) <= kernel.occupancy(32, 20 * 1024)
    assert whole >= 48 * 1024
    assert module["bounded"].max_potential_block_size() <= 128
    assert kernel.max_potential_block_size() % device.warp_size == 0
    for wrong in (0, -1):
        with refused():
            kernel.occupancy(wrong)


def test_repr(driver):
    text = repr(images.module("described")["axpy"])
    for part in ("axpy", "float a", "float* x", "float* out", "unsigned int n", "device 0"):
        assert part in text
    assert "bump()" in repr(images.module("ptx")["bump"])
    assert "described.fatbin" in repr(images.module("described"))


def test_kernels_come_from_modules_only(driver):
    for kind in (cupola.Kernel, cupola.PreparedLaunch):
        with pytest.raises(TypeError):
            kind()
