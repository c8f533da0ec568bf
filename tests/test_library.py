"""Which libcupola.so is loaded: the packaged one, or CUPOLA_LIBRARY; never a mismatched one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from test_driver import compile_library, good, run

import cupola
from cupola import paths

USE = """
import cupola
import numpy as np
print(cupola.saxpy(2.0, np.ones(3, "f4"), np.ones(3, "f4")).tolist())
print([line.split()[-1] for line in open("/proc/self/maps") if "libcupola.so" in line][0])
"""


def test_packaged_by_default():
    assert good(USE, CUPOLA_DRIVER="cpu").stdout.splitlines() == [
        "[3.0, 3.0, 3.0]",
        paths.library(),
    ]


def test_replaced_by_the_variable(tmp_path):
    other = tmp_path / "libcupola.so"
    shutil.copy(paths.library(), other)
    shutil.copytree(os.path.dirname(paths.cpu_driver()), tmp_path / "cpu")
    lines = good(USE, CUPOLA_DRIVER="cpu", CUPOLA_LIBRARY=other).stdout.splitlines()
    assert lines == ["[3.0, 3.0, 3.0]", str(other)]  # the modules bound to it, not to the packaged


def refused(*texts, **variables):
    answer = run("import cupola", **variables)
    assert answer.returncode == 1
    assert "LibraryError" in answer.stderr
    for text in texts:
        assert str(text) in answer.stderr, answer.stderr
    # the error is an ImportError, so that optional dependencies work as usual
    code = "try:\n    import cupola\nexcept ImportError as e:\n    print('optional')"
    assert run(code, **variables).stdout == "optional\n"


def test_missing(tmp_path):
    refused("CUPOLA_LIBRARY", tmp_path / "libcupola.so", CUPOLA_LIBRARY=tmp_path / "libcupola.so")


def test_not_a_library(tmp_path):
    (tmp_path / "libcupola.so").write_text("no library")
    refused(tmp_path / "libcupola.so", CUPOLA_LIBRARY=tmp_path / "libcupola.so")


def test_other_library(tmp_path):
    library = compile_library(tmp_path, "libother.so", "int x(void) { return 0; }")
    refused(library, "libother.so", CUPOLA_LIBRARY=library)


def of_the_other_machine(target):
    """The packaged library, as a file for the other architecture."""
    content = bytearray(Path(paths.library()).read_bytes())
    content[18] = 245 - content[18]  # of an ELF header: 62 is x86-64, 183 is AArch64
    target.write_bytes(content)


def test_for_another_machine(tmp_path):
    of_the_other_machine(tmp_path / "libcupola.so")
    here = os.uname().machine
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}[here]
    text = f"it is for {other}, and this Python runs on {here}"
    refused(text, CUPOLA_LIBRARY=tmp_path / "libcupola.so")


def test_a_wheel_for_another_machine(tmp_path):
    """Its modules have names that this Python does not look for, so the library comes first."""
    code = shutil.ignore_patterns("*.so*", "include", "*.pxd", "__pycache__")
    package = tmp_path / "cupola"
    shutil.copytree(Path(cupola.__file__).parent, package, ignore=code)
    (package / "lib").mkdir(exist_ok=True)
    of_the_other_machine(package / "lib" / "libcupola.so")
    refused(
        f"cupola's library {package / 'lib' / 'libcupola.so'} can't be used: it is for",
        f"; install cupola's wheel for {os.uname().machine}, or build",
        PYTHONPATH=tmp_path,
    )


def test_without_soname(tmp_path):
    source = tmp_path / "s.c"
    source.write_text("int cupola_abi_version(void) { return 1; }")
    library = tmp_path / "libcupola.so"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    refused(library, CUPOLA_LIBRARY=library)


def test_other_abi_version(tmp_path):
    """The real library with one byte of its version changed would need a disassembler; a library
    that answers another number, and has every symbol the modules want, stands for it.
    """
    names = exported(paths.library())
    functions = "\n".join(
        f"void* {name}(void) {{ return 0; }}"
        for name in names
        if name not in ("cupola_abi_version", "cupola_library_path")
    )
    source = f"""
    int cupola_abi_version(void) {{ return 999; }}
    const char* cupola_library_path(void) {{ return "{tmp_path}/libcupola.so"; }}
    {functions}"""
    library = compile_library(tmp_path, "libcupola.so", source, versioned(tmp_path, 1))
    refused("999", library, CUPOLA_LIBRARY=library)


def versioned(folder, number):
    """A flag that gives all symbols their version, as the real library's have."""
    script = folder / "version.map"
    script.write_text(f"CUPOLA_{number} {{ global: cupola_*; local: *; }};\n")
    return f"-Wl,--version-script={script}"


def test_other_symbol_versions(tmp_path):
    """The loader itself refuses them, when the first module is imported."""
    functions = "".join(
        f"void* {name}(void) {{ return 0; }}\n" for name in exported(paths.library())
    )
    library = compile_library(tmp_path, "libcupola.so", functions, versioned(tmp_path, 999))
    answer = run("import cupola", CUPOLA_LIBRARY=library)
    assert answer.returncode == 1
    last = answer.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ") and "`CUPOLA_1' not found" in last
    assert str(library) in last


def test_other_build(tmp_path):
    names = exported(paths.library())
    functions = "\n".join(
        f"void* {name}(void) {{ return 0; }}"
        for name in names
        if name not in ("cupola_abi_version", "cupola_build_id", "cupola_library_path")
    )
    source = f"""
    int cupola_abi_version(void) {{ return 1; }}
    const char* cupola_build_id(void) {{ return "another"; }}
    const char* cupola_library_path(void) {{ return "{tmp_path}/libcupola.so"; }}
    {functions}"""
    library = compile_library(tmp_path, "libcupola.so", source, versioned(tmp_path, 1))
    refused("another", library, CUPOLA_LIBRARY=library)


def exported(library):
    answer = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True)
    lines = [line.split() for line in answer.stdout.splitlines()]
    # Leaves out the name of the version itself, and the version after each other name.
    return [words[-1].partition("@")[0] for words in lines if words[-2] != "A"]


def test_only_c_is_exported():
    assert all(name.startswith("cupola_") for name in exported(paths.library()))
    names = exported(paths.cpu_library())
    assert names and all(name.startswith(("cu", "cupola_cpu_")) for name in names)


def test_the_compiler_of_ziglang_is_named_and_not_imported(tmp_path):
    zig = tmp_path / "ziglang" / "zig"
    zig.parent.mkdir()
    zig.write_text("")
    program = "import os, sys, cupola; print(os.environ.get('CUPOLA_CPU_ZIG'), *sys.modules)"
    folders = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}

    def said(**more):
        command = [sys.executable, "-c", program]
        environment = {**variables, **more}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        named, *modules = done.stdout.split()
        assert "cupola" in modules and "ziglang" not in modules
        return named

    variables.pop("CUPOLA_CPU_ZIG", None)
    assert said() != str(zig)  # the file is not executable
    zig.chmod(0o700)
    assert said() == str(zig)
    assert said(CUPOLA_CPU_ZIG="/other") == "/other"
