# tests/build/test_recipe.py - what cupola's own build makes, and how the products hang together.
import functools
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import build_cache
import pytest

import cupola.build
from cupola import paths
from cupola.build import ahead, architectures, native, processors, step, toolkit  # noqa: F401 - attributes of cupola.build

ROOT = Path(__file__).resolve().parents[2]


def load(path):
    spec = importlib.util.spec_from_file_location(
        path.stem, path, submodule_search_locations=[str(path.parent)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recipe():
    return load(ROOT / "csrc" / "recipe.py")


def test_newer_processors_objects_come_last(recipe):
    work = recipe.Recipe(cupola.build, ROOT, "1")
    targets = [made.target.as_posix() for made in work.device_objects(toolkit.find())]
    order = [isa for isa, *_ in processors.instruction_sets(False)]
    ranks = [
        next((i + 1 for i, isa in enumerate(order) if f"/{isa}/" in target), 0)
        for target in targets
    ]
    assert ranks == sorted(ranks) and set(ranks) == set(range(len(order) + 1))
    every = [isa for isa, *_ in processors.instruction_sets(True)]
    if platform.machine() == "x86_64":
        assert every == ["x86_64_v2", "x86_64_v3", "x86_64_v4"]
    assert order[0] == every[0] and set(order) <= set(every) and len(order) <= 2


LEVEL_3 = "avx2 fma bmi1 bmi2 abm f16c movbe"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels of x86-64")
@pytest.mark.parametrize(
    ("features", "made"),
    [
        ("sse4_2", ["x86_64_v2"]),
        (LEVEL_3, ["x86_64_v2", "x86_64_v3"]),
        (LEVEL_3.replace(" movbe", ""), ["x86_64_v2"]),
        (
            LEVEL_3 + " avx512f avx512bw avx512cd avx512dq avx512vl",
            ["x86_64_v2", "x86_64_v4"],
        ),
        ("avx512f avx512bw avx512cd avx512dq avx512vl", ["x86_64_v2"]),
    ],
)
def test_a_build_for_this_machine_has_its_level_and_the_oldest(monkeypatch, features, made):
    monkeypatch.setattr(processors, "processor_features", lambda: set(features.split()))
    assert [isa for isa, *_ in processors.instruction_sets(False)] == made
    quick = [isa for isa, _, wanted in processors.instruction_sets(False) if wanted]
    assert quick == made[-1:]
    small = [isa for isa, _, wanted in processors.instruction_sets(True) if not wanted]
    assert small == ["x86_64_v2"]  # of a wheel; few processors need it


LONG = """
import hashlib, numpy as np, cupola
picture = cupola.mandelbrot(96, -2, 2, 20000, 2)
image = np.random.default_rng(1).random((64, 64), np.float32)
found = cupola.convolve(image, np.ones((5, 5), np.float32) / 25)
half = cupola.to_device(image).astype(np.float16)
small = (half * half + 1).astype(np.int8).get()
print(hashlib.sha256(picture.tobytes() + found.tobytes() + small.tobytes()).hexdigest())
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels of x86-64")
def test_the_oldest_level_gives_the_same_and_takes_no_stack(recipe, tmp_path):
    """A handler jumps to the next; one that calls it would be at the stack's end in no time."""
    work = recipe.Recipe(cupola.build, ROOT, "1")
    targets = [made.target for made in work.device_objects(toolkit.find())]
    oldest = [path for path in targets if not re.search("/x86_64_v[34]/", path.as_posix())]
    if not all((ROOT / path).is_file() for path in oldest):
        pytest.skip("cupola was not built here")
    library = tmp_path / "libcuda.so.1"
    compiler = native.Compiler.find()
    flags = [*work.codec().linked, "-ldl"]
    link = compiler.shared_library(library, oldest, soname="libcuda.so.1", flags=flags)
    subprocess.run(link.command, cwd=ROOT, check=True)
    digests = []
    for driver in (str(library), "cpu"):
        done = subprocess.run(
            [sys.executable, "-c", LONG],
            env={**os.environ, "CUPOLA_DRIVER": driver},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        digests.append(done.stdout)
    assert digests[0] == digests[1] != ""


def test_sources_are_compiled_together_and_tools_see_each(recipe):
    found = toolkit.find()
    sources = {"csrc/" + path.relative_to(ROOT / "csrc").as_posix()
               for folder in ("runtime", "image", "ptx", "cpu", "platform") for path in
               (ROOT / "csrc" / folder).rglob("*.cpp")}  # fmt: skip
    for apart in (False, True):
        work = recipe.Recipe(cupola.build, ROOT, "1", apart=apart)
        steps = [*work.runtime_steps(found), *work.device_objects(found)]
        objects = [made for made in steps if made.target.suffix == ".o"]
        made_of = [[str(path) for path in made.inputs if path.suffix == ".cpp"] for made in objects]
        wheels = set() if apart or recipe.PORTABLE else {"csrc/platform/oldest.cpp"}
        assert {path for of in made_of for path in of} == sources - wheels
        assert all(len(of) == 1 for of in made_of) is apart
        for made, of in zip(objects, made_of, strict=True):
            assert sorted(word for word in made.command if word.endswith(".cpp")) == sorted(of)
            assert len({path.rpartition("/")[0] for path in of}) == 1


FOLDERS = sorted(
    {
        path.parent.relative_to(ROOT / "csrc").as_posix()
        for part in ("runtime", "image", "platform", "ptx", "cpu", "dropin")
        for path in (ROOT / "csrc" / part).rglob("*.cpp")
    }
)


@functools.cache
def included():
    """A digest of what the sources may include: files of csrc, and the toolkit's headers."""
    files = [path for path in (ROOT / "csrc").rglob("*") if path.is_file()]
    headers = sorted(path for path in files if path.suffix not in {".cpp", ".pyc"})
    return build_cache.digest([toolkit.find().headers(), *headers])


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_two_sources_of_a_folder_have_names_in_common(recipe, folder):
    """Else which files may be compiled together would depend on how many there are.

    A folder that compiled with the same headers is not compiled again.
    """
    sources = [path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc" / folder).glob("*.cpp")]
    sources = sorted(set(sources) - recipe.APART)
    assert sources
    compiler = native.Compiler.find()
    defined = ("BUILD_ID", "VERSION", "KERNELS_FATBIN", "ARRAYS_IMAGE", "SEMANTICS")
    includes = [f"-isystem{path}" for path in toolkit.find().include]
    command = [*compiler.command, *compiler.flags, "-fsyntax-only", "-Icsrc", "-Icsrc/include"]
    zstd = recipe.Recipe(cupola.build, ROOT, "1").codec().include
    command += [*includes, *zstd, *(native.define(f"CUPOLA_{name}", "") for name in defined)]
    types = f"../{recipe.ELEMENT_TYPES.as_posix()}"  # from csrc
    command += [
        native.define("CUPOLA_ELEMENT_TYPES", types),
        "-DCUPOLA_CUDART_MAJOR=13",
        "-DCUPOLA_ISA=oldest",
        *(w for path in sources for w in ("-include", path)),
    ]

    def compile_together(_):
        done = subprocess.run(
            [*command, "-x", "c++", "/dev/null"], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    parts = [compiler.version, *command, included(), *(ROOT / path for path in sources)]
    build_cache.entry(parts, compile_together)


def test_the_semantics_end_with_their_hash(recipe, tmp_path):
    shutil.copytree(ROOT / "csrc", tmp_path / "csrc")
    first, *_ = recipe.Recipe(cupola.build, tmp_path, "1").device_objects(toolkit.find())
    first.action()
    text, hashed = (tmp_path / recipe.SEMANTICS).read_text()[:-1].rsplit("\n// ", 1)
    assert hashlib.sha256(f"{text}\n".encode()).hexdigest() == hashed


def test_arrays_are_packed_anew_by_another_packer(recipe):
    work = recipe.Recipe(cupola.build, ROOT, "1")
    *_, pack = work.array_steps(toolkit.find(), architectures.Architectures(()))
    assert {path.name for path in pack.inputs} >= {"ptx.py", "packing.py"}


def test_a_compiler_for_another_machine(recipe, tmp_path, monkeypatch):
    """Its products have folders of their own, and none of them runs in the build."""
    work = recipe.Recipe(cupola.build, ROOT, "1")
    here, before = work.native, work.products()
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\n[ "$1" = -dumpmachine ] && echo riscv64-linux-gnu\nexit 0\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert native.Compiler.find().machine == "riscv64"
    assert work.native == here.with_name("release-riscv64")
    assert list(processors.instruction_sets(True, "riscv64")) == [("generic", (), True)]
    made = {name for name in before if not name.startswith("cpu/kernels.")}
    assert set(work.products()) == made and work.levels() == ()
    targets = [made.target.as_posix() for made in work.device_objects(toolkit.find())]
    assert any("/release-riscv64/generic/" in target for target in targets)


def test_the_build_loads_readers_for_its_own_machine(recipe, monkeypatch):
    """Where the compiler makes code for another machine, or with sanitizers."""
    target = {"CXX": "c++ -march=other", "CXXFLAGS": "-DTARGET", "LDFLAGS": "-Lother"}
    for name, value in {**target, "CXX_FOR_BUILD": "c++", "CUPOLA_SANITIZE": "address"}.items():
        monkeypatch.setenv(name, value)
    steps = recipe.Recipe(cupola.build, ROOT, "1").reader_steps(toolkit.find())
    words = {word for made in steps for word in made.command}
    assert not words & {"-march=other", "-DTARGET", "-Lother", "-fsanitize=address"}
    assert steps[-1].target == recipe.READER_LIBRARY
    objects = [str(path) for path in steps[-1].inputs if path.suffix == ".o"]
    made_before = [str(made.target) for made in steps[:-1] if made.target.suffix == ".o"]
    assert sorted(objects) == sorted(made_before)


def test_the_build_id_follows_headers_declarations_and_version(recipe, tmp_path, monkeypatch):
    monkeypatch.delenv("CUPOLA_BUILD_ID", raising=False)
    for name in ("csrc/include", "pyx/cupola"):
        shutil.copytree(ROOT / name, tmp_path / name)
    before = recipe.Recipe(cupola.build, tmp_path, "1").build_id()
    assert before == recipe.Recipe(cupola.build, ROOT, "1").build_id()
    assert before != recipe.Recipe(cupola.build, ROOT, "2").build_id()
    ids = {before}
    for name in ("csrc/include/cupola/library.h", "pyx/cupola/kernel.pxd"):
        with (tmp_path / name).open("a") as file:
            file.write("\n")
        ids.add(recipe.Recipe(cupola.build, tmp_path, "1").build_id())
    assert len(ids) == 3
    with (tmp_path / "pyx/cupola/kernel.pyx").open("a") as file:
        file.write("\n")
    assert recipe.Recipe(cupola.build, tmp_path, "1").build_id() in ids
    monkeypatch.setenv("CUPOLA_BUILD_ID", "by-hand")
    assert recipe.Recipe(cupola.build, tmp_path, "1").build_id() == "by-hand"


def symbols(path):
    text = subprocess.run(
        ["nm", "-D", "--defined-only", str(path)], capture_output=True, text=True, check=True
    ).stdout
    return {line.split()[-1].partition("@")[0] for line in text.splitlines()}


def dynamic(path, tag):
    text = subprocess.run(
        ["readelf", "-d", str(path)], capture_output=True, text=True, check=True
    ).stdout
    return re.findall(rf"\({tag}\).*\[(.*)\]", text)


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs binutils")
def test_libraries_show_their_interface_and_no_more():
    library = Path(paths.library())
    device = library.parent / "cpu"
    assert {name[:6] for name in symbols(library) - {"CUPOLA_1"}} == {"cupola"}
    shown = symbols(device / "libcupola_cpu.so.1")
    assert "cuInit" in shown and "cuLaunchKernel" in shown
    assert not [name for name in shown if not re.match(r"cu[A-Z]|cupola_cpu_", name)]
    assert dynamic(library, "SONAME") == ["libcupola.so"]
    assert not [name for name in dynamic(library, "NEEDED") if "cuda" in name]
    # No other library asks for this name, so none is bound to the device by accident.
    assert dynamic(device / "libcupola_cpu.so.1", "SONAME") == ["libcupola_cpu.so.1"]
    # Another driver in the global scope does not replace its functions.
    text = subprocess.run(
        ["readelf", "-rW", device / "libcupola_cpu.so.1"], capture_output=True, text=True
    ).stdout
    assert "Relocation section" in text and not re.search(r" cu[A-Z]\w+ \+", text)
    # The driver's names are libraries of their own which lead to it.
    assert dynamic(device / "libcuda.so.1", "SONAME") == ["libcuda.so.1"]
    assert dynamic(device / "libcuda.so.1", "NEEDED") == ["libcupola_cpu.so.1"]
    assert dynamic(device / "libcuda.so.1", "RUNPATH") == ["$ORIGIN"]
    assert dynamic(device / "libcuda.so.1", "FILTER") == ["libcupola_cpu.so.1"]
    assert symbols(device / "libcuda.so.1") == {s for s in shown if not s.startswith("cupola_")}
    assert (device / "libcuda.so.1").stat().st_size < 1 << 17
    assert dynamic(device / "libcuda.so", "SONAME") == ["libcuda.so"]
    assert dynamic(device / "libcuda.so", "NEEDED") == ["libcuda.so.1"]
    assert dynamic(device / "libcuda.so", "RUNPATH") == ["$ORIGIN"]


def test_the_plain_name_of_the_driver_leads_to_the_driver():
    code = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).cuInit(0))"
    plain = Path(paths.library()).parent / "cpu" / "libcuda.so"
    assert subprocess.run([sys.executable, "-c", code, str(plain)]).returncode == 0


def test_requirements_are_those_of_the_project():
    requirements = load(ROOT / "tools" / "requirements.py")
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader of TOML")
    text = (ROOT / "pyproject.toml").read_text()
    project = tomllib.loads(text)
    known = requirements.arrays(text)
    assert known["requires"] == project["build-system"]["requires"]
    assert known["dependencies"] == project["project"]["dependencies"]
    for extra, wanted in project["project"]["optional-dependencies"].items():
        assert known[extra] == wanted
