"""Kernels that are compiled beside the launches that interpret them, by compilers that outlive the
program.
"""

import os
import re
import subprocess
import sys
import textwrap
import time

import pytest

from . import test_native
from .compiler_process import PROLOGUE, environment, files_in, real_compiler, run, script

pytestmark = test_native.pytestmark

# Launches until a compiler runs. CXX is `waiting`.
STARTED = """
folder = os.path.dirname(os.environ["CXX"])
def started():
    try:
        return open(folder + "/processes").read().split()
    except OSError:
        return []
def launch_until(ready):
    until = time.monotonic() + 120
    while not ready():
        endure(module, 3000)
        assert time.monotonic() < until
module = driver.load(TEXT)
assert execution(module, "endure") == "interpreted"
"""


def waiting(folder):
    """A compiler that notes its process, and begins when the file `go` is there."""
    return script(
        folder / "c++",
        f"""
        case "$*" in --version | *c++-header*) exec {real_compiler()} "$@" ;; esac
        echo $$ >> {folder}/processes
        while ! test -e {folder}/go; do sleep 0.02; done
        exec {real_compiler()} "$@"
        """,
    )


def is_gnu():
    version = subprocess.run([real_compiler(), "--version"], capture_output=True, text=True)
    return "Free Software Foundation" in version.stdout


def program(text):
    return textwrap.dedent(STARTED) + textwrap.dedent(text)


def wait_for_library(cache):
    """Until the folder has a library, and nothing of a compilation."""
    until = time.monotonic() + 120
    while [file.suffix for file in files_in(cache)] != [".so"]:
        assert time.monotonic() < until, files_in(cache)
        time.sleep(0.02)
    (library,) = files_in(cache)
    return library


LOADED = """
module = driver.load(TEXT)
print(execution(module, "endure"))
"""
FIRST = LOADED + "endure(module, 30)"


def test_a_compilation_outlives_its_program(tmp_path):
    """In the default mode. The pipe of the program's output closes while the compiler runs."""
    compiler, cache = waiting(tmp_path), tmp_path / "cache"
    run(program("launch_until(started)"), "", cache, CXX=compiler)
    assert not [file for file in files_in(cache) if file.suffix == ".so"]
    (tmp_path / "go").write_text("")
    library = wait_for_library(cache)
    assert re.fullmatch(r"[0-9a-f]{64}\.so", library.name)
    assert run(FIRST, "", cache, CXX=compiler) == ["compiled"]
    (library,) = files_in(cache)
    assert re.fullmatch(r"[0-9a-f]{64}-[0-9a-f]{64}\.so", library.name)
    assert library.stat().st_mode & 0o777 == 0o600
    assert run(FIRST, "", cache, CXX=compiler) == ["compiled"]
    assert len((tmp_path / "processes").read_text().split()) == 1


def test_a_compiler_is_no_child_of_the_program(tmp_path):
    ending = """
        def no_child():
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
        launch_until(started)
        launch_until(no_child)
        session = os.getsid(int(started()[0]))
        assert session not in (os.getsid(0), os.getpgid(0))
        open(folder + "/go", "w").close()
        launch_until(lambda: execution(module, "endure") == "compiled")
        assert no_child()
        endure(module, 30)
        print("ended")
    """
    assert run(program(ending), "auto", tmp_path, CXX=waiting(tmp_path)) == ["ended"]


@pytest.mark.parametrize("whole", [False, True], ids=["the compiler", "its session"])
def test_a_killed_compiler_leaves_nothing(tmp_path, whole):
    ending = """
        launch_until(started)
        process = int(started()[0])
        WHOLE and os.killpg(os.getpgid(process), signal.SIGKILL)
        WHOLE or os.kill(process, signal.SIGKILL)
        launch_until(lambda: execution(module, "endure") != "interpreted")
        print(execution(module, "endure"))
    """
    cache, compiler = tmp_path / "cache", waiting(tmp_path)
    said = run(program(ending.replace("WHOLE", str(whole))), "auto", cache, CXX=compiler)
    assert " ".join(said).startswith(f"{compiler} {'was ended' if whole else 'failed: '}")
    assert not files_in(cache)
    (tmp_path / "go").write_text("")
    ending = 'launch_until(lambda: execution(module, "endure") == "compiled")'
    run(program(ending), "auto", cache, CXX=compiler)


def test_what_an_earlier_process_left_does_not_keep_others_from_compiling(tmp_path):
    """Its lock is gone with its processes, though the file is there."""
    cache, compiler = tmp_path / "cache", waiting(tmp_path)
    ending = """
        launch_until(started)
        os.killpg(os.getpgid(int(started()[0])), signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    command = [sys.executable, "-c", PROLOGUE + program(ending)]
    done = subprocess.run(command, env=environment("auto", cache, CXX=compiler))
    assert done.returncode == -9
    (process,) = (tmp_path / "processes").read_text().split()
    os.killpg(os.getpgid(int(process)), 9)
    assert {file.suffix for file in files_in(cache)} >= {".lock", ".cpp"}
    (tmp_path / "go").write_text("")
    ending = 'launch_until(lambda: execution(module, "endure") == "compiled")'
    run(program(ending), "auto", cache, CXX=compiler)


@pytest.mark.parametrize("changed", ["content", "mode", "cut"])
def test_a_library_that_was_changed_is_not_loaded(tmp_path, changed):
    """One with a hash in its name, or what a compiler left for the next process."""
    cache = tmp_path / "cache"
    ending = """
        launch_until(lambda: execution(module, "endure") == "compiled")
        print("compiled")
    """
    settings = {"CXX": real_compiler()}
    assert run(program(ending), "auto", cache, **settings) == ["compiled"]
    (library,) = files_in(cache)
    if changed == "content":
        library.write_bytes(library.read_bytes()[:-1] + b"?")
    else:
        left = library.with_name(library.name[:64] + ".so")
        library.rename(left)
        if changed == "mode":
            left.chmod(0o666)
        else:
            left.write_bytes(left.read_bytes()[:100])
    assert run(LOADED, "auto", cache, **settings) == ["interpreted"]
    assert not files_in(cache)
    assert run(program(ending), "auto", cache, **settings) == ["compiled"]


@pytest.mark.parametrize("size", [0, 1 << 20])
def test_a_truncated_header_is_made_again_where_a_load_waits(tmp_path, size):
    """The load that finds it damaged is compiled, too."""
    cache = tmp_path / "cache"
    assert run("print(refusal())", "compile", cache) == ["compiled"]
    if not is_gnu():
        return
    (library,) = files_in(cache)
    (header,) = (cache / "cpu").glob("*.gch")
    whole = header.stat().st_size
    header.write_bytes(header.read_bytes()[:size])
    library.unlink()
    for _ in range(2):  # without the header, and with a new one
        assert run("print(refusal())", "compile", cache) == ["compiled"]
        (library,) = files_in(cache)
        library.unlink()
    assert header.stat().st_size > whole // 2  # its size varies a little


@pytest.mark.parametrize("changed", ["", "mode", "content", "empty"])
def test_the_semantics_are_precompiled_once(tmp_path, changed):
    """The precompiled file is used, unless other users can write it or g++ cannot read it."""
    cache, log = tmp_path / "cache", tmp_path / "log"
    compiler = script(
        tmp_path / "c++", f'echo "$*" >> {log}; exec {real_compiler()} -Winvalid-pch "$@"'
    )
    ending = """
        launch_until(lambda: execution(module, "endure") != "interpreted")
        print(execution(module, "endure"))
    """
    compiled = ["compiled"]
    assert run(program(ending), "auto", cache, CXX=compiler) == compiled
    if not is_gnu():
        assert not list((cache / "cpu").glob("*.hpp*"))
        return
    assert log.read_text().count("c++-header") == 1
    (library,) = files_in(cache)
    (header,) = (cache / "cpu").glob("*.gch")
    assert header.stat().st_mode & 0o777 == 0o600
    library.unlink()
    if changed == "mode":
        header.chmod(0o666)
    elif changed == "content":
        header.write_bytes(header.read_bytes()[: 1 << 20])
        assert run(program(ending), "auto", cache, CXX=compiler) == compiled
        assert not header.exists()
        (library,) = files_in(cache)
        library.unlink()
    elif changed == "empty":  # g++ says nothing, and reads the header itself
        header.write_bytes(b"")
    assert run(program(ending), "auto", cache, CXX=compiler) == compiled
    assert log.read_text().count("c++-header") == (2 if changed else 1)


def test_two_processes_compile_a_kernel_once(tmp_path):
    cache, compiler = tmp_path / "cache", waiting(tmp_path)
    ending = """
        print("running", flush=True)
        launch_until(lambda: execution(module, "endure") != "interpreted")
        print(execution(module, "endure"))
    """
    command = [sys.executable, "-c", PROLOGUE + program(ending)]
    both = [
        subprocess.Popen(
            command, env=environment("auto", cache, CXX=compiler), stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for each in both:
        assert each.stdout.readline() == "running\n"
    time.sleep(1)  # both have launched long enough
    (tmp_path / "go").write_text("")
    assert [each.communicate(timeout=300)[0] for each in both] == ["compiled\n"] * 2
    assert len((tmp_path / "processes").read_text().split()) == 1


def test_a_kernel_that_is_not_compiled_stays_interpreted(tmp_path):
    ending = """
        launch_until(lambda: execution(module, "endure") != "interpreted")
        endure(module, 30)
        print(execution(module, "endure"))
    """
    said = []
    failing = script(tmp_path / "c++", "echo no such flag >&2; exit 1")
    said += run(program(ending), "auto", tmp_path / "cache", CXX=failing)
    assert not files_in(tmp_path / "cache")
    said += run(program(ending), "auto", tmp_path / "cache", CXX=tmp_path / "none/c++")
    (tmp_path / "file").write_text("")
    said += run(program(ending), "auto", tmp_path / "file", CXX=real_compiler())
    limited = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n"
    said += run(limited + program(ending), "auto", tmp_path / "cache", CXX=real_compiler())
    assert said[0] == f"{failing} failed: no such flag"
    assert said[-3] == f"there is no C++ compiler CXX={tmp_path}/none/c++"
    assert said[-2].startswith(f"CUPOLA_CACHE_DIR={tmp_path}/file: ")
    assert said[-1] == f"a source can't be written to {tmp_path}/cache/cpu: File too large"
    assert not files_in(tmp_path / "cache")


def test_a_cache_of_the_process_ends_with_it(tmp_path):
    ending = """
        launch_until(started)
        print(*started())
    """
    (process,) = run(program(ending), "auto", "none", CXX=waiting(tmp_path), TMPDIR=tmp_path)
    until = time.monotonic() + 60
    while os.path.exists(f"/proc/{process}"):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert {file.name for file in tmp_path.iterdir()} == {"c++", "processes"}


def test_libraries_that_were_used_least_lately_are_removed(tmp_path):
    cache = tmp_path / "cache"
    (cache / "cpu").mkdir(parents=True, mode=0o700)
    old = [cache / "cpu" / (f"{n}" * 64 + end) for n, end in enumerate((".so", f"-{'a' * 64}.so"))]
    new = cache / "cpu" / ("2" * 64 + ".so")
    for age, file in enumerate((new, *reversed(old))):
        with file.open("wb") as opened:
            opened.truncate(50 << 20)
        os.utime(file, (time.time() - 10000 * age,) * 2)
    ending = 'launch_until(lambda: execution(module, "endure") == "compiled")'
    run(program(ending), "auto", cache, CXX=real_compiler())
    assert not old[0].exists() and old[1].exists() and new.exists()


def test_a_launch_continues_as_machine_code(tmp_path):
    """Its later blocks do. The compiler takes no time here: it copies what it made before."""
    cache, made = tmp_path / "cache", tmp_path / "made.so"
    ending = 'launch_until(lambda: execution(module, "endure") == "compiled")'
    run(program(ending), "auto", cache, CXX=real_compiler())
    (library,) = files_in(cache)
    library.rename(made)
    compiler = script(
        tmp_path / "c++",
        f"""
        test "$1" = --version && exec {real_compiler()} --version
        for each; do test "$last" = -o && exec cp {made} "$each"; last=$each; done
        """,
    )
    ending = """
        out = np.zeros(4096, np.uint32)
        module = driver.load(TEXT)
        start = time.monotonic()
        module.run("endure", 128, 32, [out, out, np.uint32(1000000)])
        print(time.monotonic() - start)
        print(execution(module, "endure"))
    """
    settings = {"CXX": compiler, "CUPOLA_CPU_THREADS": 1}
    interpreted, _ = run(ending, "interpret", cache, **settings)
    switched, how = run(ending, "auto", cache, **settings)
    assert how == "compiled"
    assert float(switched) < float(interpreted) / 2


def test_a_lookup_does_not_wait_for_the_compilers_version(tmp_path):
    """It is unknown, so the kernel is interpreted at first."""
    cache, slow = tmp_path / "cache", tmp_path / "c++"
    ending = 'launch_until(lambda: execution(module, "endure") == "compiled")'
    run(program(ending), "auto", cache, CXX=real_compiler())
    (note,) = (cache / "cpu").glob("*.txt")
    note.unlink()
    script(slow, f'test "$1" = --version && sleep 2; exec {real_compiler()} "$@"')
    ending = """
        module = driver.load(TEXT)
        start = time.monotonic()
        while time.monotonic() < start + 1:
            endure(module, 3000)
            begin = time.monotonic()
            driver.load(TEXT).function("endure")
            assert time.monotonic() < begin + 1
    """
    run(ending, "auto", cache, CXX=slow)
