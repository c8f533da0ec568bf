# tests/build/test_compile_cache.py - what was compiled elsewhere is not compiled again.
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from project import TABLE, Project

from cupola.build import compile_cache, executor, image, native, nvcc, toolkit
from cupola.build.architectures import Architectures
from cupola.build.error import BuildError
from cupola.build.targets import Target

pytestmark = pytest.mark.campaign("builds of packages")

SOURCE = '#include "value.cuh"\nextern "C" __global__ void set(int* x) { *x = VALUE; }\n'


class Compiler:
    """A folder with a source and its header; compiled by a program that counts its runs."""

    def __init__(self, folder, log):
        self.folder, self.log = folder, log
        folder.mkdir(parents=True)
        self.write("set.cu", SOURCE)
        self.write("value.cuh", "#define VALUE 1\n")
        found = toolkit.find()
        wrapper = folder / "nvcc"
        wrapper.write_text(f'#!/bin/sh\necho run >> {log}\nexec {found.nvcc} "$@"\n')
        wrapper.chmod(0o755)
        fields = {**vars(found), "nvcc": wrapper}
        self.toolkit = type(found)(**fields)

    def write(self, name, text):
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)
        old = time.time() - 60  # a file that changes as it is read is not to be remembered
        os.utime(self.folder / name, (old, old))

    def compile(self, *options):
        """How often the compiler ran, and what it made."""
        before = len(self.log.read_text().splitlines()) if self.log.exists() else 0
        arguments = ["-ptx", "-arch=compute_75", *options]
        made = nvcc.compile_source(self.toolkit, Path("set.cu"), Path("out/set.ptx"), arguments)
        executor.run([made], self.folder)
        assert executor.run([made], self.folder) == 0
        runs = len(self.log.read_text().splitlines()) - before
        return runs, (self.folder / "out/set.ptx").read_text()


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path / "cache"))
    log = tmp_path / "log"
    return Compiler(tmp_path / "one", log), Compiler(tmp_path / "two", log)


def test_another_folder_finds_what_was_compiled(places):
    one, two = places
    runs, text = one.compile()
    assert runs == 1
    assert two.compile() == (0, text)


def test_a_changed_header_source_or_option_is_compiled(places):
    one, two = places
    one.compile()
    two.write("value.cuh", "#define VALUE 2\n")
    runs, text = two.compile()
    assert runs == 1 and ", 2;" in text
    # The cache has the results of both headers now, whichever a folder has.
    one.write("value.cuh", "#define VALUE 2\n")
    assert one.compile() == (0, text)
    one.write("value.cuh", "#define VALUE 1\n")
    assert one.compile()[0] == 0
    assert one.compile("-DOTHER")[0] == 1
    one.write("set.cu", SOURCE + "// more\n")
    assert one.compile()[0] == 1


def test_what_names_its_folder_stays_there_and_hidden_names_do_not(places):
    one, two = places
    assert one.compile("-lineinfo")[0] == 1
    runs, text = two.compile("-lineinfo")
    assert runs == 1 and "/two/set.cu" in text
    hidden = "namespace { __global__ void hidden(int* x) { *x = 3; } }\n"
    hidden += "void* used() { return (void*)hidden; }\n"
    for place in places:  # nvcc's own names for these contain the folder
        place.write("set.cu", SOURCE + hidden)
    assert one.compile()[0] == 1
    assert two.compile()[0] == 0


def test_a_header_of_the_system_counts(places):
    one, two = places
    for place, value in ((one, 1), (two, 2)):
        place.write("set.cu", SOURCE.replace('"value.cuh"', "<lib.cuh>"))
        place.write("lib/lib.cuh", f"#define VALUE {value}\n")
        runs, text = place.compile("-isystem", "lib")
        assert runs == 1 and f", {value};" in text
    one.write("lib/lib.cuh", "#define VALUE 2\n")
    assert one.compile("-isystem", "lib") == (0, text)


def test_a_new_header_may_come_before_another(places):
    one, two = places
    for place in places:
        (place.folder / "value.cuh").unlink()
        place.write("inc/value.cuh", "#define VALUE 1\n")
        place.write("first/other.cuh", "")
    options = ["-Ifirst", "-Iinc"]
    assert one.compile(*options)[0] == 1
    two.write("value.cuh", "#define VALUE 2\n")
    runs, text = two.compile(*options)
    assert runs == 1 and ", 2;" in text
    one.write("first/value.cuh", "#define VALUE 3\n")
    runs, text = one.compile(*options)
    assert runs == 1 and ", 3;" in text


def test_a_header_may_be_asked_for(places):
    one, two = places
    asked = '#if __has_include("inc/mine.cuh")\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n'
    for place in places:
        place.write("value.cuh", asked)
        place.write("inc/other.cuh", "")
    one.compile("-Iinc")
    two.write("inc/mine.cuh", "")
    runs, text = two.compile("-Iinc")
    assert runs == 1 and ", 2;" in text


def test_a_source_that_changes_as_it_is_compiled_is_not_kept(places):
    one, two = places
    changed = SOURCE.replace("VALUE;", "VALUE + 5;")
    one.write("changed.cu", changed)  # with a time of before
    wrapper = one.folder / "nvcc"
    command = wrapper.read_text().replace("exec ", "")
    wrapper.write_text(f"{command}cp -p changed.cu set.cu\n")
    arguments = ["-ptx", "-arch=compute_75"]
    made = nvcc.compile_source(one.toolkit, Path("set.cu"), Path("out/set.ptx"), arguments)
    executor.run([made], one.folder)
    two.write("set.cu", changed)
    runs, text = two.compile()
    assert runs == 1 and ", 6;" in text


def test_a_header_that_is_gone_or_new_is_not_kept(places, tmp_path):
    one, _ = places
    arguments = ["-ptx", "-arch=compute_75"]
    made = nvcc.compile_source(one.toolkit, Path("set.cu"), Path("out/set.ptx"), arguments)
    one.write("out/set.ptx", "made")
    began = time.time_ns()
    for headers in (["gone.cuh"], ["value.cuh"]):
        if headers == ["value.cuh"]:
            time.sleep(0.02)
            one.write("value.cuh", "#define VALUE 2\n")  # with a time of before
        compile_cache.keep("0" * 64, made, one.folder, headers, "", began)
        assert not (tmp_path / "cache").exists()
    compile_cache.keep("0" * 64, made, one.folder, ["value.cuh"], "", time.time_ns())
    assert list((tmp_path / "cache").iterdir())


def test_other_settings(places, monkeypatch):
    one, two = places
    one.compile()
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DVALUE_TOO")
    assert [one.compile()[0], two.compile()[0]] == [1, 0]
    monkeypatch.delenv("NVCC_APPEND_FLAGS")
    assert one.compile()[0] == 0


@pytest.mark.parametrize("how", ["PATH", "name", "folder", "option", "flags"])
def test_another_compiler_of_the_host(places, tmp_path, monkeypatch, how):
    one, _two = places
    tools = tmp_path / "tools"
    tools.mkdir()
    # The compiler may be ccache, which runs the first gcc on PATH: that must not be this script.
    real = f"PATH='{os.environ['PATH']}' exec {shutil.which('gcc')}"
    fake = tools / ("my-gcc" if how == "name" else "gcc")

    def version(number):
        fake.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo "gcc {number}" && exit\n{real} "$@"\n'
        )
        fake.chmod(0o755)
        native.version.cache_clear()

    version("12.77")
    options = [f"-ccbin={fake}"] if how == "option" else []
    assert one.compile()[0] == 1  # with the usual one
    if how in ("PATH", "name"):
        monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    if how in ("name", "folder"):
        monkeypatch.setenv("NVCC_CCBIN", "my-gcc" if how == "name" else str(tools))
    if how == "flags":
        monkeypatch.setenv("NVCC_PREPEND_FLAGS", f"-ccbin {tools}")
    assert [place.compile(*options)[0] for place in places] == [1, 0]
    version("12.78")
    assert [place.compile(*options)[0] for place in places] == [1, 0]


def test_headers_of_a_toolkit_count_and_their_folder_does_not(tmp_path):
    keys = []
    for name, version in (("a", 1), ("b", 1), ("c", 2)):
        place = tmp_path / name / "cccl" / "cub" / "version.cuh"
        place.parent.mkdir(parents=True)
        place.write_text(f"#define CUB_VERSION {version}\n")
        (tmp_path / name / "cuda.h").write_text("")
        found = replace(toolkit.find(), include=(tmp_path / name,))
        keys.append(nvcc.compile_source(found, Path("a.cu"), Path("a.ptx"), ["-ptx"]).key)
    assert keys[0] == keys[1] != keys[2]
    (tmp_path / "b" / "nvtx.h").write_text("")
    found = replace(found, include=(tmp_path / "b", Path("/nowhere")))
    assert nvcc.compile_source(found, Path("a.cu"), Path("a.ptx"), ["-ptx"]).key != keys[0]


def test_threads_are_as_many_as_jobs(tmp_path, monkeypatch):
    steps = {}
    for jobs in "13":
        monkeypatch.setenv("CUPOLA_BUILD_JOBS", jobs)
        for names in ("a.cu", "a.cu b.cu"):
            steps[jobs, names] = image.steps(
                toolkit.find(), Architectures((Target(75), Target(80))),
                [Path(n) for n in names.split()],
                Path("k.fatbin"), Path("k.json"), tmp_path, relocatable=True
            )  # fmt: skip

    def threads(made):
        words = [word for one in made if one.cached for word in one.command]
        return {word for word in words if word.startswith("--threads")}

    assert threads(steps["3", "a.cu"]) == {"--threads=3"}
    assert threads(steps["3", "a.cu b.cu"]) == set()
    for names in ("a.cu", "a.cu b.cu"):
        one, three = steps["1", names], steps["3", names]
        assert [made.key for made in one] == [made.key for made in three]


def test_without_a_cache_each_compiles(places, monkeypatch):
    monkeypatch.setenv("CUPOLA_CACHE_DIR", "none")
    assert [place.compile()[0] for place in places] == [1, 1]


def test_a_damaged_entry_counts_as_none(places, tmp_path):
    one, two = places
    one.compile()
    for entry in (tmp_path / "cache").iterdir():
        entry.write_bytes(entry.read_bytes()[:-3])
    assert two.compile()[0] == 1


def test_a_wrong_size_of_the_cache_is_told(places, monkeypatch):
    monkeypatch.setenv("CUPOLA_CACHE_SIZE", "much")
    with pytest.raises(BuildError, match='CUPOLA_CACHE_SIZE is "much"; expected a number of bytes'):
        places[0].compile()


def test_errors_are_not_kept(places):
    one, _two = places
    for place in places:
        place.write("value.cuh", "#define VALUE nothing\n")
        with pytest.raises(BuildError, match=r"set.cu\(2\): error"):
            place.compile()
    assert len(one.log.read_text().splitlines()) == 2


def test_builds_at_once_share_it(tmp_path):
    log, tools = tmp_path / "log", tmp_path / "home" / "bin"
    tools.mkdir(parents=True)
    real = toolkit.find()
    for name in ("nvlink", "ptxas", "fatbinary"):
        (tools / name).symlink_to(real.tool(name))
    (tools / "nvcc").write_text(
        f'#!/bin/sh\ncase "$*" in *" -MD "*) echo run >> {log};; esac\nexec {real.nvcc} "$@"\n'
    )
    (tools / "nvcc").chmod(0o755)

    def project(name):
        made = Project(tmp_path / name, TABLE.replace('options = ["-lineinfo"]\n', ""))
        made.environment["CUPOLA_CACHE_DIR"] = str(tmp_path / "cache")
        made.environment["CUDA_HOME"] = str(tmp_path / "home")
        return made

    projects = [project(name) for name in "abc"]
    command = [sys.executable, "setup.py", "build_kernels", "--inplace"]
    running = [
        subprocess.Popen(command, cwd=p.folder, env=p.environment, stdout=subprocess.DEVNULL)
        for p in projects
    ]
    assert [one.wait(300) for one in running] == [0, 0, 0]
    runs = len(log.read_text().splitlines())
    assert 4 <= runs <= 12  # two sources, each twice; concurrent builds may repeat them
    last = project("d")
    last.setup("build_kernels", "--inplace")
    manifests = [json.loads((p.built() / "kernels.json").read_text()) for p in (*projects, last)]
    for manifest in manifests:  # nvcc puts the number of its process into relocatable code
        del manifest["image"]["sha256"], manifest["image"]["size"]
    assert all(manifest == manifests[0] for manifest in manifests)
    assert len(log.read_text().splitlines()) == runs


def test_a_toolkit_is_asked_once(places):
    one, _ = places
    environment = {"CUDA_HOME": str(one.folder / "home"), "PATH": os.environ["PATH"]}
    home = one.folder / "home" / "bin"
    home.mkdir(parents=True)
    (one.folder / "nvcc").rename(home / "nvcc")
    code = "from cupola.build import toolkit; import sys; print(toolkit.find())"
    said = set()
    for runs in (3, 4):  # --version is asked each time
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        said.add(done.stdout)
        assert len(one.log.read_text().splitlines()) == runs
    assert len(said) == 1 and "from CUDA_HOME" in said.pop()
