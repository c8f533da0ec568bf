"""`python -m cupola compile` and `inspect`: PTX, cubins, fatbins, wheels and archives."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import cli

import cupola
from cupola import paths
from cupola.toolkit import libraries

# -- compile and inspect ---------------------------------------------------------------------------

SOURCE = """
template <int n> __global__ void scaled(float* x, double by) { x[threadIdx.x] *= n * by; }
template __global__ void scaled<3>(float*, double);
struct Pair { int a, b; };
extern "C" __global__ void plain(const int* x, int n, Pair pair) {
    __shared__ int parts[32];
    parts[threadIdx.x % 32] = x[threadIdx.x] + pair.a;
    __syncthreads();
    const_cast<int*>(x)[threadIdx.x] = parts[n % 32] + pair.b;
}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "kernels.cu"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def nvrtc():
    import images

    return images.nvrtc()


def compiled(source, name, *arguments):
    target = source.with_name(name)
    answer = cli("compile", "-o", target, source, *arguments)
    assert answer.returncode == 0, answer.stderr
    assert str(target) in answer.stdout and "plain" in answer.stdout
    return target


def inspected(path, *arguments):
    answer = cli("inspect", path, *arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_compile_to_ptx_that_loads(source, driver, nvrtc):
    target = compiled(source, "k.ptx", "--arch", "compute_75", "--option=-DUNUSED")
    module = cupola.load(target)
    x = cupola.ones(4, np.float32)
    module["scaled<3>"][1, 4](x, 0.5)
    np.testing.assert_array_equal(x.get(), [1.5] * 4)
    text = inspected(target)
    assert "compute_75" in text and "PTX" in text
    assert "scaled<3>(float*, double)" in text
    assert "plain(pointer or 8-byte integer, 4-byte integer, struct of 8 bytes)" in text


def test_a_source_for_other_commands(source):
    for arguments in (("inspect", source), ("run", source), ("debug", source)):
        answer = cli(*arguments)
        assert answer.returncode == 1 and "compile it" in answer.stderr, answer.stderr
        assert "Traceback" not in answer.stderr


@pytest.mark.parametrize("words", [["-arch=sm_80"], ["-arch", "sm_80"], ["--option=-arch=sm_80"]])
def test_machine_codes_architecture_for_ptx(source, nvrtc, words):
    """As with nvcc -ptx."""
    assert b".target sm_80" in compiled(source, "k.ptx", *words).read_bytes()


def test_macros_and_lines(source, nvrtc, monkeypatch):
    source.write_text('extern "C" __global__ void plain(int* x) { *x = N; }')
    assert b".loc" not in compiled(source, "k.ptx", "-DN=1234", "--no-cache").read_bytes()
    monkeypatch.setenv("CUPOLA_CPU_CHECK", "memory")
    text = compiled(source, "k.ptx", "-D", "N=1234").read_bytes()
    assert b".loc" in text and b"1234" in text


CALLED = "#include <vector>\n__device__ int half(int x) { return x / 2; }\nint main() {}\n"
CALLER = """
__device__ int half(int);
template <int n> __global__ void times(int* out) { *out = half(n); }
extern "C" __global__ void plain(int* out, int n) { *out = half(n); }
"""


@pytest.fixture
def two(tmp_path, nvrtc):
    import images

    images.nvcc()  # the host's header is nvcc's
    libraries.load("nvJitLink")
    (tmp_path / "half.cu").write_text(CALLED)
    path = tmp_path / "caller.cu"
    path.write_text(CALLER)
    return path


def test_several_sources_become_ptx(two, driver):
    target = compiled(two, "k.ptx", two.with_name("half.cu"), "--name", "times<6>")
    module = cupola.load(target)
    for name, arguments in (("times<6>", ()), ("plain", (6,))):
        out = cupola.zeros((), np.int32)
        module[name][1, 1](out, *arguments)
        assert out.get() == 3
    assert b"cupola_name" not in target.read_bytes()


def test_several_sources_become_a_cubin_and_a_fatbin(two):
    more = two.with_name("half.cu")
    assert "machine code for sm_90" in inspected(compiled(two, "k.cubin", more, "--arch", "sm_90"))
    text = inspected(compiled(two, "k.fatbin", more, "--arch", "sm_90"))
    assert "machine code for sm_90" in text and "plain(int* out, int n)" in text
    words = ["-rdc=true", "-arch=sm_90", "-cubin"]
    part = more.with_suffix(".cubin")
    subprocess.run(["nvcc", *words, more, "-o", part], check=True)
    compiled(two, "linked.cubin", "--link", part, "--arch", "sm_90")


@pytest.mark.parametrize("debug", [[], ["--option=-G"]])
def test_several_sources_with_host_code_become_a_cubin(two, debug):
    import images

    images.nvcc()
    host = two.with_name("host.cu")
    host.write_text(
        f"#include <vector>\n{two.read_text()}\nint main() {{ plain<<<1, 1>>>(0, 1); }}"
    )
    half = two.with_name("half.cu")
    text = inspected(compiled(host, "k.cubin", half, "--arch", "sm_90", *debug))
    assert "machine code for sm_90" in text and "plain" in text
    if debug:
        answer = cli("compile", host, half, "-o", two.with_name("k.ptx"), *debug)
        assert answer.returncode == 1 and "options: -G: nvcc makes no LTO-IR" in answer.stderr
        assert "-lineinfo" in answer.stderr and "Traceback" not in answer.stderr


def test_compile_to_a_cubin(source, nvrtc):
    text = inspected(compiled(source, "k.cubin", "--arch", "sm_90"))
    assert "machine code for sm_90" in text
    row = next(line.split() for line in text.splitlines() if line.split()[:1] == ["sm_90"])
    assert row[2] == "128" and row[3] == "0" and 0 < int(row[1]) < 256  # plain comes first


def test_compile_is_for_the_present_device(source, driver, nvrtc):
    code = "from cupola.build.architectures import present_devices; print(*present_devices())"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    target = source.with_name("k.cubin")
    answer = cli("compile", source, "-o", target)
    if asked.stdout.split():
        assert f"machine code for sm_{asked.stdout.split()[-1]}" in answer.stdout
    else:
        assert answer.returncode == 1 and "--arch sm_90" in answer.stderr and not target.exists()


def test_compile_to_a_fatbin_with_its_manifest(source):
    import json

    import images

    images.nvcc()
    target = compiled(source, "k.fatbin", "--arch", "sm_80,sm_90")
    assert "plain(const int* x, int n, Pair pair)" in inspected(target)
    found = json.loads(inspected(target, "--json", "--kernel", "scaled*"))
    assert {(part["what"].split()[0], part["architecture"]) for part in found["parts"]} == {
        ("machine", "sm_80"),
        ("machine", "sm_90"),
        ("PTX", "compute_75"),
        ("PTX", "compute_90"),
    }
    (kernel,) = found["kernels"]
    assert kernel["title"] == "scaled<3>" and kernel["parameters"] == ["float* x", "double by"]
    assert [one["architecture"] for one in kernel["resources"]] == ["sm_80", "sm_90"]


SPILLING = """
extern "C" __global__ void __launch_bounds__(1024) spilling(const float* a, float* out) {
    float v[96];
#pragma unroll
    for (int i = 0; i < 96; ++i) v[i] = a[i * 1024 + threadIdx.x];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 96; ++i) sum = sum * v[i] + v[95 - i];
    out[threadIdx.x] = sum;
}
"""


def test_inspect_reports_spills_by_ptxas(tmp_path, nvrtc):
    import json

    import images

    images.nvcc()
    path = tmp_path / "s.cu"
    path.write_text(SPILLING)
    target = tmp_path / "s.ptx"
    assert cli("compile", path, "-o", target).returncode == 0
    assert "no resources before it is compiled" in inspected(target)
    (kernel,) = json.loads(inspected(target, "--json", "--ptxas", "sm_80"))["kernels"]
    (found,) = kernel["resources"]
    # 1024 threads share 65536 registers, which is 64 for each: 96 values do not fit.
    assert found["registers"] <= 64
    assert found["spill_stores"] >= 96 * 4 - 64 * 4 and found["spill_loads"] > 0
    assert found["local"] >= found["spill_stores"] // 2
    text = inspected(target, "--ptxas", "sm_80")
    assert "warning: spills for sm_80" in text and f"{found['spill_stores']:,} bytes stored" in text
    answer = cli("inspect", target, "--ptxas", "sm_1")
    assert answer.returncode == 1 and "sm_1" in answer.stderr and "Traceback" not in answer.stderr
    assert "resources for sm_80, with spills, are those of ptxas" in text
    cubin = tmp_path / "s.cubin"
    assert cli("compile", path, "-o", cubin, "--arch", "sm_80").returncode == 0
    answer = cli("inspect", cubin, "--ptxas", "sm_80")
    assert answer.returncode == 1 and "s.cubin has no PTX" in answer.stderr


def test_inspect_finds_the_shipped_kernels_in_the_library():
    text = inspected(paths.library())
    assert "library with" in text and "compute_75" in text
    assert "saxpy(float a, const float* x, const float* y, float* out, unsigned long n)" in text
    # One for the shipped kernels; for each source of array kernels one of PTX and, where the build
    # made any, one of machine code.
    sources = list((Path(__file__).parent.parent / "csrc/kernels/array").glob("*.cu"))
    count = 1 + len(sources) * (2 if "machine code" in text else 1)
    assert "arithmetic_f32(struct of" in text and f"with {count} fatbins" in text
    only = inspected(paths.library(), "--kernel", "mandel*")
    assert "mandelbrot_ker(const float* lattice" in only and "saxpy" not in only


INDEXED = """
extern "C" __global__ void indexed(int* out, int n) {
    int v[40];
    for (int i = 0; i < n; ++i) v[i * 7 % 40] = out[i];
    *out = v[n];
}
"""


def test_inspect_distinguishes_stack_from_spills(tmp_path):
    """An array on the stack is no spill; machine code alone does not show the difference."""
    import images

    path = tmp_path / "indexed.cu"
    path.write_text(INDEXED)
    images.nvcc()
    target = tmp_path / "indexed.fatbin"
    assert cli("compile", path, "-o", target, "--arch", "sm_80").returncode == 0
    text = inspected(target)
    assert "note: 160 bytes of stack for sm_80 may be" in text
    text = inspected(target, "--ptxas", "sm_80")
    assert "warning" not in text


def wheel(path, members):
    import zipfile

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_inspect_reads_a_wheel(tmp_path):
    import json

    import images

    image = images.described()
    members = {
        "heat/kernels.fatbin": image.read_bytes(),
        "heat/kernels.json": image.with_suffix(".json").read_bytes(),
        "heat/more.ptx": images.SCALE.read_bytes(),
        "heat/extension.cpython-311-x86_64-linux-gnu.so": b"\x7fELF of none",
        "heat/notes.json": b"{}",
    }
    path = wheel(tmp_path / "heat-1.0-py3-none-any.whl", members)
    text = inspected(path)
    assert "heat/kernels.fatbin: fatbin" in text and "heat/more.ptx: PTX" in text
    assert "axpy(float a, const float* x, const float* y, float* out, unsigned int n)" in text
    assert "scale(" in text and "extension" not in text
    found = json.loads(inspected(path, "--json", "--kernel", "axpy"))
    assert [one["file"] for one in found["images"]] == ["heat/kernels.fatbin", "heat/more.ptx"]
    assert [len(one["kernels"]) for one in found["images"]] == [1, 0]


def test_inspect_of_a_folder_names_an_image(tmp_path):
    place = tmp_path / "src" / "heat"
    place.mkdir(parents=True)
    (place / "a.so").write_bytes(b"")
    (place / "kernels.fatbin").write_bytes(b"")
    for folder in (tmp_path, place):
        answer = cli("inspect", folder)
        assert answer.returncode == 1
        assert "is a folder: expected a .fatbin, .cubin or .ptx" in answer.stderr
        assert f"such as {place / 'kernels.fatbin'}" in answer.stderr


def test_inspect_refuses_archives_without_images(tmp_path):
    import gzip

    good = wheel(tmp_path / "good.whl", {"a.ptx": Path(__file__).read_bytes() * 50}).read_bytes()
    cases = {
        "no.whl": (wheel(tmp_path / "no.whl", {"a.py": b""}).read_bytes(), "without an image"),
        "sdist.tar.gz": (gzip.compress(b"sources"), "source distributions"),
        "cut.whl": (good[: len(good) // 2], "can't be read"),
        "changed.whl": (good[:60] + bytes(40) + good[100:], "can't be read"),
        "text.whl": (good, "neither"),
    }
    for name, (content, says) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        answer = cli("inspect", path)
        assert answer.returncode == 1 and answer.stdout == ""
        assert "Traceback" not in answer.stderr and says in answer.stderr, answer.stderr


@pytest.mark.parametrize("codes", [("compute_75",), ("compute_75", "sm_90")])
def test_inspect_unpacks_compressed_images(codes):
    import images

    plain, packed = (inspected(images.fatbin(*codes, compress=one)) for one in (False, True))
    assert "weigh(" in plain
    assert packed.splitlines()[1:] == plain.splitlines()[1:]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "neither"),
        (b"\x7fELF\x02\x01" + bytes(40), "without a fatbin"),
        (b"\x50\xed\x55\xba", "truncated: the version"),
        (
            b"\x50\xed\x55\xba\x01\x00\x10\x00" + (999).to_bytes(8, "little"),
            "truncated: the fatbin",
        ),
        (b"int main() {}", "neither"),
    ],
    ids=["empty", "an ELF header", "a magic number", "a cut fatbin", "C"],
)
def test_inspect_refuses_a_file_that_is_no_image(tmp_path, content, says):
    path = tmp_path / "file"
    path.write_bytes(content)
    answer = cli("inspect", path)
    assert answer.returncode == 1 and answer.stdout == ""
    assert "Traceback" not in answer.stderr and str(path) in answer.stderr and says in answer.stderr


def test_compile_errors_are_readable(tmp_path, source, nvrtc):
    bad = tmp_path / "bad.cu"
    bad.write_text("\n\n__global__ void f() { nothing; }")
    for arguments, says in [
        ((bad, "-o", tmp_path / "x.ptx"), f"{bad}(3): error"),
        ((source, "-o", tmp_path / "x.o"), ".ptx, .cubin, .fatbin"),
        ((source, "-o", tmp_path / "x.cubin", "--arch", "compute_90"), "--arch sm_90"),
        ((source, "-o", tmp_path / "x.ptx", "--arch", "sm_80,sm_90"), "--arch compute_90"),
        ((source, "-o", tmp_path / "x.ptx", "--arch=sm_90", "--option=-arch=sm_80"), "sm_80"),
        ((source, "-o", tmp_path / "x.ptx", "--link", bad), "write a .cubin"),
        ((source, "-o", tmp_path / "x.fatbin", "--link", bad), ".cubin"),
        ((source, tmp_path / "no.cu", "-o", tmp_path / "x.ptx"), "no.cu"),
        ((source, "-o", tmp_path / "x.ptx", "--arch", "90"), "--arch compute_90"),
        ((source, "-o", tmp_path / "x.cubin", "--arch", "sm_80,sm_90"), ".fatbin"),
        ((tmp_path / "no.cu", "-o", tmp_path / "x.ptx"), "no.cu"),
    ]:
        answer = cli("compile", *arguments)
        assert answer.returncode == 1 and "Traceback" not in answer.stderr
        assert says in answer.stderr, answer.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.cu", "kernels.cu"]
