"""Fatbins whose PTX is compressed, as nvcc makes them by default."""

import os
import struct
import subprocess
from ctypes import byref, c_uint64, c_void_p

import pytest
from driver_abi import *

SOURCE = """
extern "C" __global__ void tenfold(int* x) { x[threadIdx.x] *= 10; }
extern "C" __global__ void less(int* x) { x[threadIdx.x] -= 1; }
"""
LZ4, ZSTD = 0x2000, 0x8000


@pytest.fixture(scope="module")
def fatbin(tmp_path_factory):
    """The bytes of a fatbin, by its compression."""
    from cupola.build import toolkit

    folder = tmp_path_factory.mktemp("fatbins")
    source = folder / "kernels.cu"
    source.write_text(SOURCE)

    def make(mode):
        target = folder / f"{mode}.fatbin"
        if not target.exists():
            code = "-gencode=arch=compute_75,code=compute_75"
            command = [toolkit.find().nvcc, "-fatbin", code, f"--compress-mode={mode}"]
            subprocess.run([*command, source, "-o", target], check=True)
        return bytearray(target.read_bytes())

    return make


def flags(image):
    return struct.unpack_from("<Q", image, 16 + 40)[0]


def load(cuda, image):
    module = c_void_p()
    code = cuda.code("cuModuleLoadData", byref(module), bytes(image) + BEHIND)
    return code, module.value


@pytest.mark.parametrize("mode, flag", [("size", ZSTD), ("speed", LZ4), ("default", ZSTD)])
def test_they_load(cuda, fatbin, mode, flag):
    image = fatbin(mode)
    assert flags(image) & flag
    code, module = load(cuda, image)
    assert code == SUCCESS
    memory = cuda.alloc(128)
    cuda.cuMemsetD32_v2(memory, 7, 32)
    for name in ("tenfold", "less"):
        cuda.launch(cuda.function(module, name), 1, 32, c_uint64(memory))
    assert cuda.read(memory, 32) == [69] * 32
    cuda.cuModuleUnload(module)
    cuda.cuMemFree_v2(memory)


# Bytes of a fatbin by what they hold. Headers and frames are checked; a name, flags of no meaning
# here and padding are not, and a literal that differs is another text, which may be PTX as well.
MAGIC, HEADER_SIZE, KIND, ENTRY_SIZE, PAYLOAD_SIZE = (0, 4), (6, 8), (16, 18), (20, 24), (24, 32)
PACKED_SIZE, UNPACKED_SIZE = (32, 36), (72, 80)
# A driver is given no size: it believes the headers, of which a damaged one may say 64 KiB more.
BEHIND = bytes(1 << 17)
REFUSED = {INVALID_IMAGE, NO_BINARY_FOR_GPU, INVALID_PTX}


def damaged(image, ranges):
    """(offset, image) for some changes of each byte."""
    for at in (at for begin, end in ranges for at in range(begin, end)):
        for value in {0, 0xFF, image[at] ^ 1} - {image[at]}:
            spoilt = bytearray(image)
            spoilt[at] = value
            yield (at, value), spoilt


@pytest.mark.parametrize("mode", ["size", "speed"])
def test_damaged_headers_are_refused(cuda, own, fatbin, mode):
    """And so is the first word of the frame, where it has a magic number."""
    ranges = [MAGIC, HEADER_SIZE, KIND, ENTRY_SIZE, PAYLOAD_SIZE, PACKED_SIZE, UNPACKED_SIZE]
    taken = [
        place
        for place, spoilt in damaged(fatbin(mode), ranges)
        if load(cuda, spoilt)[0] not in REFUSED
    ]
    assert taken == []


@pytest.mark.parametrize("mode", ["size", "speed"])
def test_damaged_content_is_refused_or_is_other_ptx(cuda, own, fatbin, mode):
    """An image that still loads is PTX: its kernels can be counted, and it can be unloaded."""
    image, refused = fatbin(mode), 0
    changes = list(damaged(image, [(96, len(image))]))
    for place, spoilt in changes:
        code, module = load(cuda, spoilt)
        if code == SUCCESS:
            count = c_uint()
            assert cuda.code("cuModuleGetFunctionCount", byref(count), module) == SUCCESS
            assert count.value <= 2, place
            cuda.cuModuleUnload(module)
        else:
            assert code in REFUSED, (place, code)
            refused += 1
    assert refused > 0.8 * len(changes)


@pytest.mark.parametrize("mode", ["size", "speed"])
def test_a_file_that_ends_early_is_refused(cuda, own, fatbin, tmp_path, mode):
    """The image is cut at any byte: the sizes in the headers say where it should end."""
    image, path, module = fatbin(mode), tmp_path / "kernels.fatbin", c_void_p()
    end = 16 + struct.unpack_from("<Q", image, 8)[0]
    taken = []
    for size in range(1, end):
        path.write_bytes(image[:size])
        if cuda.code("cuModuleLoad", byref(module), bytes(path)) not in REFUSED:
            taken.append(size)
    assert taken == []
    path.write_bytes(image[:end])
    assert cuda.code("cuModuleLoad", byref(module), bytes(path)) == SUCCESS
    cuda.cuModuleUnload(module)


def test_an_impossible_size(cuda, own, fatbin):
    for size in (1 << 62, 1 << 40, 1 << 20, 0):
        image = fatbin("size")
        struct.pack_into("<Q", image, 16 + 56, size)
        code, _ = load(cuda, image)
        assert code != SUCCESS


@pytest.mark.parametrize("mode", ["size", "speed"])
def test_what_a_header_only_says_costs_no_memory(passes, own, fatbin, tmp_path, mode):
    image, more = fatbin(mode), 1 << 20
    packed = struct.unpack_from("<I", image, 16 + 16)[0]
    struct.pack_into("<Q", image, 8, len(image) - 16 + more)
    struct.pack_into("<Q", image, 16 + 8, struct.unpack_from("<Q", image, 16 + 8)[0] + more)
    struct.pack_into("<I", image, 16 + 16, packed + more)
    struct.pack_into("<Q", image, 16 + 56, 200 << 20)
    (tmp_path / "kernels.fatbin").write_bytes(image + bytes(more))
    passes(
        f"""
        import resource
        image = open({str(tmp_path / "kernels.fatbin")!r}, "rb").read()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert cuda.code("cuModuleLoadData", byref(c_void_p()), image) == INVALID_IMAGE
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10
    """
    )


def test_no_library_of_the_machine_is_used(script, own, fatbin, tmp_path):
    """zstd is inside: a library of its name is not loaded."""
    image = fatbin("size")
    assert flags(image) & ZSTD
    (tmp_path / "kernels.fatbin").write_bytes(image)
    subprocess.run(
        ["cc", "-shared", "-x", "c", "/dev/null", "-o", tmp_path / "libzstd.so.1"], check=True
    )
    done = script(
        f"""
        image = open({str(tmp_path / "kernels.fatbin")!r}, "rb").read()
        code = cuda.code("cuModuleLoadData", byref(c_void_p()), image)
        assert code == SUCCESS, code
        assert "zstd" not in open("/proc/self/maps").read()
    """,
        LD_LIBRARY_PATH=f"{tmp_path}{os.pathsep}{os.environ.get('LD_LIBRARY_PATH', '')}",
    )
    assert done.returncode == 0, done.stderr
