"""Which libcupola.so is loaded: the packaged one, or CUPOLA_LIBRARY; never a mismatched one."""

import importlib.machinery
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_driver import compile_library, good, run

import cupola
from cupola import library, paths

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


def of_another_build(folder):
    """A library with all functions and another build's identifier."""
    names = exported(paths.library())
    functions = "\n".join(
        f"void* {name}(void) {{ return 0; }}"
        for name in names
        if name not in ("cupola_abi_version", "cupola_build_id", "cupola_library_path")
    )
    source = f"""
    int cupola_abi_version(void) {{ return 1; }}
    const char* cupola_build_id(void) {{ return "another"; }}
    const char* cupola_library_path(void) {{ return "{folder}/libcupola.so"; }}
    {functions}"""
    return compile_library(folder, "libcupola.so", source, versioned(folder, 1))


def test_other_build(tmp_path):
    refused("another", CUPOLA_LIBRARY=of_another_build(tmp_path))


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


def test_truncated(tmp_path):
    """At 99 % only the table of sections is gone, which the loader does not need."""
    for percent in (10, 50, 99):
        file = tmp_path / f"{percent}" / "libcupola.so"
        file.parent.mkdir()
        shutil.copy(paths.library(), file)
        cut(file, percent)
        text = f"it is truncated: it has {file.stat().st_size} bytes, and its header describes "
        refused(text, CUPOLA_LIBRARY=file)


def test_an_older_glibc(tmp_path):
    """A library of C's name with a symbol of glibc 2.99 stands for a newer system."""
    script = tmp_path / "version.map"
    script.write_text("GLIBC_2.99 { global: newer; };\n")
    compiler = os.environ.get("CC", "cc")
    flags = ["-shared", "-fPIC", "-nostdlib", "-x", "c", "-"]
    system = ["-Wl,-soname,libc.so.6", f"-Wl,--version-script={script}"]
    for source, name, more in (
        ("int newer(void) { return 1; }", "libc.so.6", system),
        ("int newer(void); int cupola_abi_version(void) { return newer(); }", "libcupola.so",
         ["-Wl,-soname,libcupola.so", "-Wl,--no-as-needed", "-L.", "-l:libc.so.6"]),
    ):  # fmt: skip
        command = [compiler, *flags, "-o", name, *more]
        subprocess.run(command, input=source, text=True, check=True, cwd=tmp_path)
    refused(
        f"it needs glibc 2.99 or newer, and this machine has {os.confstr('CS_GNU_LIBC_VERSION')}",
        CUPOLA_LIBRARY=tmp_path / "libcupola.so",
    )


def test_an_older_libstdcxx():
    found = library.older_system("libstdc++.so.6: version `GLIBCXX_3.4.99' not found (required by")
    assert found == "it needs a libstdc++ with GLIBCXX_3.4.99, and this machine's is older"
    assert library.older_system("file too short") is None


@pytest.fixture
def installed(tmp_path):
    """The package, one file of which a test replaces. Only its libraries, which find each other by
    their real paths, are copies.
    """
    folder = tmp_path / "installed" / "cupola"

    def copy(source, target):
        (shutil.copy if f"{os.sep}lib{os.sep}" in source else os.symlink)(source, target)

    shutil.copytree(os.path.dirname(library.FOLDER), folder, copy_function=copy)
    return folder


def cut(file, percent):
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[: len(content) * percent // 100])


@pytest.mark.parametrize("module", ["abi", "stream", "kernel"])
def test_a_truncated_module(installed, module):
    """At the import of cupola, by a name, and by another module in C."""
    (name,) = (one.name for one in installed.glob(f"{module}.*.so"))
    content = (installed / name).read_bytes()
    for percent in (0, 50, 99):
        (installed / name).unlink()
        (installed / name).write_bytes(content[: len(content) * percent // 100])
        answer = run("import cupola; import cupola.launch", PYTHONPATH=installed.parent)
        assert answer.returncode == 1, answer.stderr
        last = answer.stderr.splitlines()[-1]
        assert last.startswith(f"cupola.LibraryError: cupola's module {installed / name} can't be")
        assert "it is truncated: it has " in last or "not a readable ELF library" in last
        assert last.endswith("; install cupola again")


@pytest.mark.parametrize("device", ["0", "'cpu'"])
@pytest.mark.parametrize("percent", [10, 50, 99])
def test_a_truncated_cpu_device(installed, device, percent):
    """The loader maps such a file, and the process would end with a bus error."""
    cut(installed / "lib" / "cpu" / "libcupola_cpu.so.1", percent)
    code = f"import cupola; cupola.Device({device}).synchronize()"
    answer = run(code, PYTHONPATH=installed.parent, CUPOLA_DRIVER="cpu")
    assert answer.returncode == 1, answer.stderr
    assert "libcupola_cpu.so.1 is truncated: it has " in answer.stderr
    assert "install its package again" in answer.stderr


def test_another_python(installed):
    for other in installed.glob("abi.*.so"):  # `make pythons` builds for several
        if other.name != f"abi{importlib.machinery.EXTENSION_SUFFIXES[0]}":
            other.unlink()
    (module,) = installed.glob("abi.*.so")
    module.rename(installed / "abi.cpython-27-x86_64-linux-gnu.so")
    answer = run("import cupola", PYTHONPATH=installed.parent)
    assert answer.returncode == 1
    last = answer.stderr.splitlines()[-1]
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0][1:-3]
    assert last == (
        f"cupola.LibraryError: cupola at {installed} has no modules for this Python ({suffix}): it "
        "was built for cpython-27-x86_64-linux-gnu; build and install cupola for this Python"
    )


def test_two_libraries_in_a_process(tmp_path):
    """A program that loads the library of another build first, such as one of C++."""
    other = of_another_build(tmp_path)
    answer = run(f"import ctypes; ctypes.CDLL({str(other)!r}); import cupola")
    assert answer.returncode == 1
    last = answer.stderr.splitlines()[-1]
    assert f"the libcupola.so that is loaded ({other}) is of build another" in last
    assert "load no other libcupola.so before" in last
