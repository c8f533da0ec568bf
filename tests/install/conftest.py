# tests/install/conftest.py - clean copies of the checkout, and clean environments to install into.
import copy
import fcntl
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from processes import ROOT, TOOLKIT_VARIABLES, call

# Modules of a user who has cupola installed, without its sources.
FOREIGN = """
# distutils: language = c++
import numpy as np
import cupola
from cupola.array cimport Array
from cupola.driver cimport check_result, cuDeviceGetCount
from cupola.kernel cimport Kernel
from cupola.launch cimport Launch

def queued(Array x not None):
    # x is doubled twice, without Python's lock
    cdef Launch launch = cupola.shipped_kernels()["saxpy"].prepare(1, 32, 1.0, x, x, x, x.size)
    cdef int count = 0
    with nogil:
        launch.queue(None)
        launch.queue(None)
        check_result(cuDeviceGetCount(&count), "cuDeviceGetCount")
    return count

def doubled():
    cdef Kernel kernel = cupola.shipped_kernels()["doublify"]
    host = np.arange(16, dtype=np.float32)
    array = cupola.to_device(host)
    cdef unsigned long long address = array.__cuda_array_interface__["data"][0]
    cdef unsigned[3] grid = [1, 1, 1]
    cdef unsigned[3] block = [4, 4, 1]
    cdef char buffer[16]
    assert kernel.buffer_bytes() <= sizeof(buffer)
    kernel.put_pointer(buffer, 0, address)
    with nogil:
        kernel.launch_packed(grid, block, buffer, None, 0)
    return host, array.get()
"""

CHECK = """
import json, os
import numpy as np
import cupola, foreign
from cupola import paths

host, twice = foreign.doubled()
assert np.array_equal(twice, 2 * host), twice
there = cupola.to_device(host)
assert foreign.queued(there) == len(cupola.devices())
assert np.array_equal(there.get(), 4 * host)
for name in ("cupola-config.cmake", "cupola-config-version.cmake", "cupola.pc", "kernels.py"):
    assert os.path.isfile(os.path.join(paths.cmake_dir(), name)), name
x = np.linspace(-2, 2, 64, dtype=np.float32)
assert np.array_equal(cupola.saxpy(2.0, x, x), np.float32(2) * x + x)
include, library = paths.include(), paths.library()
assert os.path.isfile(os.path.join(include, "cupola", "cupola.h")), include
assert os.path.isfile(library), library
with open(os.path.join(os.path.dirname(library), "kernels.json")) as file:
    manifest = json.load(file)
print(json.dumps({"file": cupola.__file__, "manifest": manifest}))
"""


class Place:
    """A copy of the checkout, an environment of its own, and an empty folder beside them."""

    def __init__(self, folder, objects=True):
        self.source, self.elsewhere = folder / "source", folder / "elsewhere"
        self.elsewhere.mkdir(parents=True)
        copy_checkout(self.source, objects)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CUPOLA_", "PYTHON", "VIRTUAL_ENV")) or name == "CUPOLA_WERROR"
        }
        # Byte code is half of the time that an installation takes.
        self.environment = {**kept, "CUPOLA_DRIVER": "cpu", "PIP_NO_COMPILE": "1"}
        self.fresh(folder)

    def fresh(self, folder):
        """An empty environment there, which this one's pip fills."""
        command = [sys.executable, "-m", "venv", "--without-pip", folder / "venv"]
        call(command, folder, self.environment)
        self.bin = folder / "venv" / "bin"

    def beside(self, name):
        """Another environment, in an empty folder: without the sources."""
        other = copy.copy(self)
        other.source = other.elsewhere = folder = self.elsewhere / name
        folder.mkdir()
        other.environment = dict(self.environment)
        other.fresh(folder)
        return other

    def hide_nvcc(self):
        """Take the machine's nvcc away from everything that is called after this, and its code."""
        shutil.rmtree(self.source / "build" / "kernels", ignore_errors=True)
        for variable in TOOLKIT_VARIABLES:
            self.environment.pop(variable, None)
        folders = self.environment["PATH"].split(os.pathsep)
        kept = [folder for folder in folders if not (Path(folder) / "nvcc").exists()]
        self.environment["PATH"] = os.pathsep.join(kept)
        assert shutil.which("nvcc", path=self.environment["PATH"]) is None

    def pip(self, *arguments, command="install"):
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        whole = [*pip, "--python", self.bin / "python", command, *arguments]
        return call(whole, self.source, self.environment)

    def python(self, *arguments):
        return call([self.bin / "python", *arguments], self.source, self.environment)

    def extend_and_run(self):
        """Build a foreign module against what is installed, and run it; what it tells."""
        (self.elsewhere / "foreign.pyx").write_text(FOREIGN)
        (self.elsewhere / "check.py").write_text(CHECK)
        self.pip("Cython>=3.1", "setuptools>=77")
        build = [self.bin / "cythonize", "-3", "-i", "foreign.pyx"]
        call(build, self.elsewhere, self.environment)
        check = [self.bin / "python", "check.py"]
        return json.loads(call(check, self.elsewhere, self.environment).splitlines()[-1])


GENERATED = ("build", "dist", ".venv", ".git", "package/cupola/lib", "package/cupola/include")
GENERATED += (".hypothesis", ".pytest_cache")  # another process of the tests writes there


def copy_checkout(target, objects):
    """The sources, and this checkout's compiled files, which save minutes.

    Libraries and modules are always linked again. Images are compiled again where the compiler
    (Place.hide_nvcc) or the architectures differ.
    """

    def ignore(folder, names):
        inside = Path(folder).relative_to(ROOT)
        return [
            name
            for name in names
            if (inside / name).as_posix() in GENERATED
            or name.endswith((".so", ".egg-info", "_cache", "__pycache__"))
            or (inside.parts[:2] == ("package", "cupola") and name.endswith(".pxd"))
        ]

    shutil.copytree(ROOT, target, ignore=ignore)
    for name in ("kernels", "native/release", "cython", "python/release") if objects else ():
        made = ROOT / "build" / name
        if made.is_dir():
            unwanted = shutil.ignore_patterns("lib", "*.so", "*.so.made")
            shutil.copytree(made, target / "build" / name, ignore=unwanted)


@pytest.fixture
def place(tmp_path):
    if os.environ.get("CUPOLA_OFFLINE") == "1":
        pytest.skip("CUPOLA_OFFLINE=1: clean environments need a package index")
    return Place(tmp_path)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """A wheel of this checkout, once for all: what the build has made is only put together."""
    if os.environ.get("CUPOLA_OFFLINE") == "1":
        pytest.skip("CUPOLA_OFFLINE=1: clean environments need a package index")
    folder = tmp_path_factory.mktemp("wheel")
    # Metadata beside the sources would be found by tests that run meanwhile.
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", folder]
    command += ["bdist_wheel", "--dist-dir", folder, "--bdist-dir", folder / "unpacked"]
    with open(ROOT / "build" / "wheel.lock", "w") as lock:  # other workers build here, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        call(command, ROOT, dict(os.environ))
    (made,) = folder.glob("cupola-*.whl")
    return made
