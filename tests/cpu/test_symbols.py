"""cuGetProcAddress: the right function for a name, a version and a kind of default stream."""

import ctypes
import pathlib
import re
import subprocess
import sys
from ctypes import byref, c_int, c_uint64, c_void_p

import driver_abi
import pytest
from driver_abi import *

ROOT = pathlib.Path(__file__).parents[2]
TABLE = ROOT / "csrc/cpu/api/symbols.def"
FOUND, MISSING, TOO_OLD = 0, 1, 2


def ask(cuda, name, version, flags=0):
    out, status = c_void_p(), c_int(-1)
    code = cuda.code(
        "cuGetProcAddress_v2", name.encode(), byref(out), version, flags, byref(status)
    )
    return code, out.value, status.value


def address(cuda, symbol):
    return ctypes.cast(getattr(cuda.library, symbol), c_void_p).value


@pytest.mark.parametrize(
    "name, version, symbol",
    [
        ("cuInit", 2000, "cuInit"),
        ("cuInit", 13000, "cuInit"),
        ("cuMemAlloc", 3020, "cuMemAlloc_v2"),
        ("cuMemAlloc", 13000, "cuMemAlloc_v2"),
        ("cuCtxGetDevice", 12080, "cuCtxGetDevice"),
        ("cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"),
        ("cuCtxCreate", 3020, "cuCtxCreate_v2"),
        ("cuCtxCreate", 11040, "cuCtxCreate_v3"),
        ("cuCtxCreate", 12050, "cuCtxCreate_v4"),
        ("cuGetProcAddress", 11030, "cuGetProcAddress"),
        ("cuGetProcAddress", 12000, "cuGetProcAddress_v2"),
        ("cuStreamQuery", 13000, "cuStreamQuery"),
    ],
)
def test_choice_by_version(cuda, own, name, version, symbol):
    assert ask(cuda, name, version) == (SUCCESS, address(cuda, symbol), FOUND)


@pytest.mark.parametrize(
    "name, version, flags, symbol",
    [
        ("cuStreamQuery", 13000, 2, "cuStreamQuery_ptsz"),
        ("cuStreamQuery", 13000, 1, "cuStreamQuery"),
        ("cuMemcpyHtoD", 13000, 2, "cuMemcpyHtoD_v2_ptds"),
        ("cuLaunchKernel", 7000, 2, "cuLaunchKernel_ptsz"),
        ("cuInit", 13000, 2, "cuInit"),
    ],
)
def test_choice_by_default_stream(cuda, own, name, version, flags, symbol):
    assert ask(cuda, name, version, flags) == (SUCCESS, address(cuda, symbol), FOUND)


def test_too_old_a_version(cuda):
    assert ask(cuda, "cuMemAllocAsync", 11010) == (SUCCESS, None, TOO_OLD)
    assert ask(cuda, "cuStreamQuery", 6050, 2) == (SUCCESS, None, TOO_OLD)


def test_unknown_names(cuda):
    assert ask(cuda, "cuNoSuchFunction", 13000) == (SUCCESS, None, MISSING)
    assert ask(cuda, "", 13000) == (SUCCESS, None, MISSING)
    out = c_void_p(1)
    cuda.cuGetProcAddress_v2(b"cuNoSuchFunction", byref(out), 13000, 0, c_void_p())
    assert out.value is None


def test_the_first_form_says_not_found(cuda, own):
    out = c_void_p(1)
    assert cuda.code("cuGetProcAddress", b"cuNoSuchFunction", byref(out), 13000, 0) == NOT_FOUND
    assert out.value is None


def test_a_version_that_is_not_written_yet(cuda):
    version = c_int()
    cuda.cuDriverGetVersion(byref(version))
    assert ask(cuda, "cuInit", version.value + 1)[0] == INVALID_VALUE


def test_misuse(cuda, own):
    out, status = c_void_p(), c_int()
    call = lambda *a: cuda.code("cuGetProcAddress_v2", *a)
    assert call(c_void_p(), byref(out), 13000, 0, byref(status)) == INVALID_VALUE
    assert call(b"cuInit", c_void_p(), 13000, 0, byref(status)) == INVALID_VALUE
    assert call(b"cuInit", byref(out), 13000, 0x80, byref(status)) == INVALID_VALUE
    assert call(b"cuInit", byref(out), 13000, 0, c_void_p()) == SUCCESS


def test_works_before_init(passes):
    passes(
        """
        out = c_void_p()
        cuda.cuGetProcAddress_v2(b"cuInit", byref(out), 12000, 0, c_void_p())
        assert out.value
    """,
        start=False,
    )


OWN = {
    "cupola_cpu_add_ahead",
    "cupola_cpu_coverage_context",
    "cupola_cpu_coverage_start",
    "cupola_cpu_coverage_stop",
    "cupola_cpu_coverage_write",
    "cupola_cpu_debug_attach",
    "cupola_cpu_debug_note",
    "cupola_cpu_debug_request",
    "cupola_cpu_describe",
    "cupola_cpu_count_traffic",
    "cupola_cpu_device",
    "cupola_cpu_execution",
    "cupola_cpu_held_output",
    "cupola_cpu_hold_output",
    "cupola_cpu_last_assertion",
    "cupola_cpu_last_fault",
    "cupola_cpu_last_refusal",
    "cupola_cpu_last_write",
    "cupola_cpu_make_ahead",
    "cupola_cpu_findings",
    "cupola_cpu_ir",
    "cupola_cpu_machine_code",
    "cupola_cpu_printed",
    "cupola_cpu_set_seed",
    "cupola_cpu_take_findings",
    "cupola_cpu_take_output",
    "cupola_cpu_take_traffic",
    "cupola_cpu_watch_writes",
}


def exported(library):
    text = subprocess.run(
        ["nm", "-D", "--defined-only", library],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {line.split()[-1] for line in text.splitlines()}


def test_the_library_exports_the_table_and_no_more(cuda, own):
    symbols = set(re.findall(r"^CUPOLA_\w+\(\w+, \d+, (\w+)\)", TABLE.read_text(), re.M))
    assert symbols
    drop_in = pathlib.Path(driver_abi.library_path())
    assert exported(drop_in) == symbols  # for linkers
    assert exported(drop_in.with_name("libcupola_cpu.so.1")) == symbols | OWN


@pytest.mark.parametrize("name", ["libcuda.so.1", "libcupola_cpu.so.1"])
def test_an_error_before_cuinit_reaches_the_caller(own, name):
    """An exception in the library is caught there, also where the drop-in has brought it in."""
    library = pathlib.Path(driver_abi.library_path()).with_name(name)
    code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).cuCheckpointProcessLock(1, None))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) in (304, 801)  # unsupported, or another user's process


# -- all that the toolkit's headers have -----------------------------------------------------------


@pytest.fixture(scope="module")
def headers():
    """The toolkit's include folder."""
    from cupola.build import toolkit

    found = next(f for f in map(pathlib.Path, toolkit.find().include) if (f / "cuda.h").exists())
    text = (found / "cuda.h").read_text()
    if re.search(r"#define CUDA_VERSION (\d+)", text)[1] != "13000":
        pytest.skip("the table is that of CUDA 13.0, and so have to be the headers")
    return found


def test_the_table_is_what_the_headers_say(headers):
    tool = ROOT / "tools/driver_symbols.py"
    subprocess.run([sys.executable, tool, headers, "--check"], check=True)


def test_every_version_of_every_name_resolves(cuda, headers):
    text = (headers / "cudaTypedefs.h").read_text()
    rows = re.findall(r"CUDAAPI \*PFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\)", text)
    assert len(rows) > 600
    for name, since, own_stream in rows:
        flags = 2 if own_stream else 0
        code, function, status = ask(cuda, name, int(since), flags)
        assert (code, status) == (SUCCESS, FOUND) and function, (name, since, own_stream)


def test_every_name_of_cuda_h_is_exported(cuda, headers):
    """Every function that it declares, and every name that its macros make."""
    text = (headers / "cuda.h").read_text()
    names = set(re.findall(r"CUDAAPI\s+(cu\w+)\s*\(", text))
    macro = r"^\s*#\s*define cu[A-Z]\w+\s+(?:__CUDA_API_(PT[DS][SZ])\()?(cu[A-Z]\w+)\)?\s*$"
    for form, name in re.findall(macro, text, re.M):
        names |= {name, f"{name}_{form.lower()}"} if form else {name}
    names -= set(re.findall(r"^static inline CUresult (cu\w+)\(", text, re.M))
    assert len(names) > 550
    assert [name for name in sorted(names) if not hasattr(cuda.library, name)] == []


def test_what_is_not_implemented_says_so(cuda, own):
    """By its name and by its number, and not before there is a driver to ask."""
    _, function, _ = ask(cuda, "cuGLGetDevices", 13000)
    call = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int)(function)
    assert call(None, None, 0, 1) == NOT_SUPPORTED
    assert cuda.code("cuMulticastCreate", *[c_void_p()] * 2) == NOT_SUPPORTED


def test_what_is_not_implemented_before_init(passes, own):
    passes(
        "assert cuda.code('cuMulticastCreate', 0, 0) == NOT_INITIALIZED",
        start=False,
    )


def test_tables_of_nvidias_own_are_not_there(cuda, own):
    table, which = c_void_p(1), (ctypes.c_ubyte * 16)(*range(16))
    assert cuda.code("cuGetExportTable", byref(table), which) == NOT_SUPPORTED
    assert table.value is None


def test_soname(cuda, own):
    text = subprocess.run(
        ["readelf", "-d", driver_abi.library_path()], check=True, capture_output=True, text=True
    ).stdout
    assert "soname: [libcuda.so.1]" in text


def test_it_says_what_it_is(cuda, own):
    cuda.library.cupola_cpu_device.restype = ctypes.c_char_p
    assert b"cupola" in cuda.library.cupola_cpu_device()


def test_found_functions_work(cuda):
    _, where, _ = ask(cuda, "cuDeviceGetCount", 13000)
    count = c_int()
    assert ctypes.CFUNCTYPE(c_int, c_void_p)(where)(ctypes.addressof(count)) == SUCCESS
    assert count.value >= 1
    assert c_uint64
