"""tests/images.py - the tests' own kernels, compiled once a session, in each form an image has."""

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import build_cache
import pytest

import cupola
from cupola.build import manifest, toolkit
from cupola.build.error import BuildError
from cupola.toolkit import libraries

SOURCE = Path(__file__).with_name("kernels.cu")
NAMED = Path(__file__).with_name("named.cu")  # only test_names reads its kernels
SCALE = Path(__file__).with_name("scale.ptx")  # needs no compiler


@functools.cache
def folder():
    made = Path(tempfile.mkdtemp(prefix="cupola-tests-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@functools.cache
def found():
    try:
        return toolkit.find()
    except BuildError as error:
        return str(error).splitlines()[0]


def nvcc():
    """The toolkit; without one the test is skipped."""
    if isinstance(found(), str):
        pytest.skip(found())
    return found()


def nvrtc():
    """The run-time compiler; without one the test is skipped."""
    try:
        return libraries.load("nvrtc")
    except cupola.MissingFileError as error:
        pytest.skip(" ".join(str(error).split()))


def compile_with_nvcc(source, target, *options):
    command = [nvcc().nvcc, "-std=c++17", *options, "-o", target, source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def parts(source, *options):
    """The inputs of a compilation: the source, headers of its folder, the toolkit, the options.

    An option that is the path of a file stands for the file's contents.
    """
    headers = sorted([*source.parent.glob("*.h"), *source.parent.glob("*.cuh")])
    # Line information has the source's path.
    path = [str(source)] if {"-G", "-lineinfo"} & set(options) else []
    return [
        nvcc().release,
        nvcc().headers(),
        *map(str, options),
        source.read_text(),
        *headers,
        *path,
    ]


def compiled(name, source, *options):
    """Path of nvcc's output for the source, which this or an earlier session has made."""
    target = folder() / name
    if not target.exists():
        made = build_cache.entry(
            [name, *parts(source, *options)],
            lambda made: compile_with_nvcc(source, made / name, *options),
        )
        target.symlink_to(made / name)
    return target


def ptx(architecture=75):
    name = f"kernels.{architecture}.ptx"
    return compiled(name, SOURCE, "-ptx", f"-arch=compute_{architecture}")


def cubin(architecture):
    return compiled(f"kernels.{architecture}.cubin", ptx(), "-cubin", f"-arch=sm_{architecture}")


def compression():
    """The options for the smallest fatbin; nvcc before 12.8 has one compression alone."""
    return ["--compress-mode=size"] if nvcc().version >= (12, 8) else []


def fatbin(*codes, compress=False):
    """Of the codes asked for ("compute_75" is PTX, "sm_90" a cubin); by default PTX alone."""
    codes = codes or ("compute_75",)
    name = "-".join(codes) + (".compressed" if compress else "") + ".fatbin"
    generate = [f"-gencode=arch=compute_{code.partition('_')[2]},code={code}" for code in codes]
    how = compression() if compress else ["-no-compress"]
    return compiled(name, SOURCE, "-fatbin", *how, *generate)


def described(source=SOURCE):
    """A fatbin with its manifest beside it."""
    name = "described" if source == SOURCE else source.stem
    image = folder() / f"{name}.fatbin"

    def make(made):
        compile_with_nvcc(source, made / "debug.cubin", "-cubin", "-G", "-arch=sm_75",
                          "--keep", "--keep-dir", made)  # fmt: skip
        compile_with_nvcc(source, made / "reference.cubin", "-cubin", "-arch=sm_75")
        code = ("-fatbin", "-no-compress", "-gencode=arch=compute_75,code=compute_75")
        compile_with_nvcc(source, made / "image.fatbin", *code)

    if not image.exists():
        made = build_cache.entry(["described", *parts(source, "-G")], make)
        manifest.write_manifest(
            image.with_suffix(".json"),
            image=made / "image.fatbin",
            reference=made / "reference.cubin",
            debug=made / "debug.cubin",
            declarations=[made / f"{source.stem}.cudafe1.gpu"],
            toolkit=nvcc().release,
            package="tests",
        )
        shutil.copy(made / "image.fatbin", image)
    return image


def native():
    """A cubin for the device there is; the CPU device runs none."""
    major, minor = cupola.Device(0).compute_capability
    return cubin(10 * major + minor)


FORMS = {"ptx": ptx, "fatbin": fatbin, "described": described, "cubin": native}
# For parametrize: the forms that the tests' driver runs.
LOADABLE = [
    *(form for form in FORMS if form != "cubin"),
    pytest.param("cubin", marks=pytest.mark.cuda_only(reason="machine code runs on GPUs only")),
]
# For tests of arguments: forms from which cupola knows different things about a kernel's
# parameters. A cubin is left out on the CPU device, which refuses it (test_module checks that).
CHECKED = ["ptx", "described"]
if os.environ.get("CUPOLA_DRIVER") != "cpu":
    CHECKED.append("cubin")


@functools.cache
def module(form="ptx"):
    return cupola.load(FORMS[form]())
