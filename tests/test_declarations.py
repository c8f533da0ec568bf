"""Modules that cimport cupola's are refused where they were compiled with other declarations."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cupola.build import declarations

PYX = Path(__file__).parent.parent / "pyx" / "cupola"

SOURCE = """
from cupola.kernel cimport Kernel

def buffer_bytes(Kernel kernel):
    return kernel.buffer_bytes()
"""
# This module neither names nor uses the class: `Launch` only has a field of that type.
UNUSED = """
from cupola.launch cimport Launch

def nothing():
    return None
"""


def declared(text, tmp_path):
    path = tmp_path / "kernel.pxd"
    path.write_text(text)
    return declarations.read(path)


CLASS = """
from x cimport Y

cdef class Kernel:
    cdef int a  # a remark
    cdef readonly str name

    # another
    cdef int one(self, int x) except -1 nogil
    cdef void two(
        self, void* data, size_t n) noexcept nogil

cdef int function(Kernel kernel) except -1
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a remark", "# it says something else"),
        ("\n    # another\n", "\n"),
        ("\n        self, void* data", "self, void *data"),
        ("cdef int function(Kernel kernel)", "cdef long function(Kernel kernel, int x)"),
    ],
)
def test_what_means_nothing_to_a_compiled_module(tmp_path, old, new):
    assert old in CLASS
    (before,) = declared(CLASS, tmp_path)
    assert declared(CLASS.replace(old, new), tmp_path) == [before]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cdef int a ", "cdef long a "),
        ("    cdef readonly str name\n", ""),
        ("one(self, int x)", "one(self, long x)"),
        ("one(self, int x) except -1", "one(self, int x) noexcept"),
        ("cdef class Kernel", "cdef class Kernel(Y)"),
    ],
)
def test_what_means_something(tmp_path, old, new):
    assert old in CLASS
    (before,) = declared(CLASS, tmp_path)
    (after,) = declared(CLASS.replace(old, new), tmp_path)
    assert before.marker != after.marker and before.title == after.title


def test_a_method_at_the_end_leaves_those_before(tmp_path):
    (before,) = declared(CLASS, tmp_path)
    more = CLASS.replace("\ncdef int function", "    cdef int three(self)\n\ncdef int function")
    (after,) = declared(more, tmp_path)
    assert after.layout == before.layout and len(before.methods) == 2
    assert after.methods[:2] == before.methods and len(after.methods) == 3


def test_each_public_class_is_marked():
    marked = {one.name for path in PYX.glob("*.pxd") for one in declarations.read(path)}
    assert {"Array", "Device", "Event", "Kernel", "Launch", "Memory", "Stream"} <= marked
    assert "Signature" not in marked  # a .pxd of cupola itself


def edit(text, old, new):
    assert text.count(old) == 1, old
    return text.replace(old, new)


def swapped(text):
    """`get_handle` and `buffer_bytes` take each other's place, which have no argument both."""
    one = "    cdef void* get_handle(self) noexcept nogil  # the driver's CUfunction\n"
    two = "    cdef size_t buffer_bytes(self) noexcept nogil\n"
    return edit(edit(text, two, ""), one, two + one)


def older(text):
    """Without its last methods, as before those were added."""
    start = text.index("    cdef int put_bytes(")
    return text[:start] + text[text.index("\n\n", start) :]


def with_field(text):
    """A field takes the place of another one: the size is what it was."""
    return edit(text, "    cdef object parameters\n", "    cdef Stream parameters\n")


VARIANTS = {
    "same": lambda text: text,
    "older": older,
    "swapped": swapped,
    "field": with_field,
}


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The folder of the modules, each compiled with its variant of kernel.pxd."""
    pytest.importorskip("Cython")
    folder = tmp_path_factory.mktemp("modules")
    for name, change in VARIANTS.items():
        place = folder / name
        shutil.copytree(PYX, place / "cupola", ignore=shutil.ignore_patterns("*.pyx"))
        kernel = place / "cupola" / "kernel.pxd"
        kernel.write_text(change(kernel.read_text()))
        for path in (place / "cupola").glob("*.pxd"):
            path.write_text(declarations.installed(path))
        (place / f"{name}_user.pyx").write_text(SOURCE)
        (place / f"{name}_other.pyx").write_text(UNUSED)
        command = [sys.executable, "-m", "Cython.Build.Cythonize", "-3", "-i", "-j", "2"]
        done = subprocess.run(
            [*command, f"{name}_user.pyx", f"{name}_other.pyx"],
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(place), "CFLAGS": "-O0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        for made in place.glob("*.so"):
            made.rename(folder / made.name)
    return folder


def imported(folder, name):
    """The result of importing the module in a process of its own, with a call of it."""
    call = f"import {name}; print('imported')"
    if name.endswith("_user"):
        call += f"; import cupola; print({name}.buffer_bytes(cupola.shipped_kernels()['saxpy']))"
    done = subprocess.run(
        [sys.executable, "-c", call],
        env={**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
    )
    return done.stdout.split(), done.stderr


@pytest.mark.parametrize("name", ["same", "older"])
def test_what_fits_works(driver, modules, name):
    assert imported(modules, f"{name}_user") == (["imported", "40"], "")
    assert imported(modules, f"{name}_other") == (["imported"], "")


@pytest.mark.parametrize("name", ["swapped", "field"])
@pytest.mark.parametrize("kind", ["user", "other"])
def test_what_does_not_fit_is_refused(modules, name, kind):
    """Cython itself sees nothing: the sizes are the same."""
    import cupola

    printed, errors = imported(modules, f"{name}_{kind}")
    assert not printed
    last = errors.splitlines()[-1]
    assert last.startswith("cupola.LibraryError: the module being imported")
    assert (
        f"other declarations of cupola's Kernel than those of cupola {cupola.__version__}" in last
    )
    assert last.endswith("rebuild it with this cupola")


def test_other_names_are_no_attributes():
    from cupola import abi

    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = abi.nonsense
    with pytest.raises(ImportError, match="other declarations of cupola's Nothing"):
        _ = abi.kernel_Nothing_00000000_0_00000000
