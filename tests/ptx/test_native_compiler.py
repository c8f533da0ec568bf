"""The compiler's process, and the folder of what it made: what others may do to them."""

import os
import pathlib
import platform
import re
import stat
import subprocess
import textwrap
import time

import pytest

import cupola.paths
from cupola.build import processors

from . import test_native
from .compiler_process import TESTS, files_in, real_compiler, run, script

pytestmark = test_native.pytestmark


def is_running(process):
    try:
        text = pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def test_other_files_in_the_cache_are_kept(tmp_path):
    folder = tmp_path / "cpu"
    folder.mkdir(mode=0o700)
    others = ["notes.txt", "n" * 80 + ".so", "a" * 64 + "-" + "g" * 64 + ".so", "7.cpp", "7.1.c"]
    others += ["7.1.made.o", "7.1.made.1.so"]
    passing = ["7.1.cpp", "7.1.made", "7.1.made.log", "7.1.made.0.o", "7.1.made.12.o.log"]
    passing += ["a" * 64 + ".lock", "a" * 64 + ".txt.7"]
    for name in [*others, *passing, "8.1.cpp"]:
        (folder / name).write_text("")
        if name != "8.1.cpp":
            os.utime(folder / name, (time.time() - 10000,) * 2)
    assert run("print(refusal())", "compile", tmp_path) == ["compiled"]
    left = {file.name for file in files_in(tmp_path)} | {"notes.txt"}
    assert (folder / "notes.txt").exists()
    assert {*others, "8.1.cpp"} <= left and not left & set(passing)
    assert len(left) == len(others) + 2


def test_files_of_an_earlier_process_cause_no_error(tmp_path):
    (tmp_path / "cpu").mkdir(mode=0o700)
    program = """
        for suffix in ("cpp", "made"):
            open(f"{os.environ['CUPOLA_CACHE_DIR']}/cpu/{os.getpid()}.0.{suffix}", "w").close()
        print(refusal())
    """
    assert run(program, "compile", tmp_path) == ["compiled"]


LARGE = """
        WORK = "mul.lo.u32 %r5, %r5, %r0; xor.b32 %r5, %r5, %r0;" * 200
        TEXT = text_of({"endure": "mov.u32 %r5, %r3; setp.lt.u32 %p0, %r3, 7; @%p0 bra ON;"
                                  f"{WORK} ON: {WORK} st.global.u32 [%rd5], %r5;"})
        def result():
            out = np.zeros(4096, np.uint32)
            driver.load(TEXT).run("endure", 5, 96, [out, out, np.uint32(12345)])
            return out.tobytes().hex()
"""


def test_a_large_kernel_is_compiled_as_several_files_in_parallel(tmp_path):
    compiler = script(
        tmp_path / "c++",
        f"""
        case "$*" in --version | *c++-header*) ;; *) echo "$@" >> {tmp_path}/said ;; esac
        exec {real_compiler()} "$@"
        """,
    )
    results, commands = [], []
    for mode, threads in ("interpret", 1), ("compile", 1), ("compile", 2), ("compile", 2):
        cache = tmp_path / f"{mode}{threads}"
        (tmp_path / "said").write_text("")
        settings = {"CUPOLA_CPU_THREADS": threads, "CXX": compiler}
        results += run(LARGE + "        print(result())", mode, cache, **settings)
        commands.append((tmp_path / "said").read_text().splitlines())
        assert not cache.exists() or [file.suffix for file in files_in(cache)] == [".so"]
    assert len(set(results)) == 1
    interpreted, one, several, again = commands
    assert not interpreted and not again
    assert len(one) == 1 and "CUPOLA_FILE" not in one[0] and " -shared " in one[0]
    *files, last = several
    assert sorted(re.findall(r"CUPOLA_FILE=\d", " ".join(files))) == [
        "CUPOLA_FILE=0",
        "CUPOLA_FILE=1",
    ]
    assert len(files) == 2 and " -shared " in last and last.count(".o") == 2


def test_an_error_in_one_of_several_files_is_reported(tmp_path):
    failing = script(
        tmp_path / "c++",
        f"""case "$*" in *CUPOLA_FILE=1*) echo no room >&2; exit 1;; esac
        exec {real_compiler()} "$@"
        """,
    )
    settings = {"CUPOLA_CPU_THREADS": 2, "CXX": failing}
    said = run(LARGE + "        print(refusal())", "compile", tmp_path, **settings)
    assert "c++ failed: no room" in said[0]
    assert not files_in(tmp_path)


def test_compilers_that_a_program_waits_for_end_with_it(tmp_path):
    compiler = script(
        tmp_path / "c++",
        f'test "$1" = --version && exit; echo $$ >> {tmp_path}/processes; exec sleep 100',
    )
    program = """
        count = int(os.environ["COMPILERS"])
        def work():
            driver.make_current()
            module = driver.load(TEXT)
            for n in range(400):
                endure(module, 3000)
        for _ in range(count):
            threading.Thread(target=work, daemon=True).start()
        listed = os.environ["CXX"][:-3] + "processes"
        while not os.path.exists(listed) or len(open(listed).read().split()) < count:
            time.sleep(0.01)
    """
    began = time.monotonic()
    count = 3
    run(program, "compile", tmp_path, CXX=compiler, COMPILERS=count)
    processes = (tmp_path / "processes").read_text().split()
    while any(map(is_running, processes)) and time.monotonic() - began < 60:
        time.sleep(0.01)
    assert len(processes) == count and not any(map(is_running, processes))


@pytest.mark.parametrize(
    "program",
    [
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        """
        def reap():
            while True:
                try:
                    os.waitpid(-1, 0)
                except ChildProcessError:
                    time.sleep(0.001)
        threading.Thread(target=reap, daemon=True).start()
        """,
    ],
    ids=["ignored", "reaped"],
)
def test_a_program_may_reap_the_compiler(tmp_path, program):
    ending = textwrap.dedent(program) + "\nprint(refusal())"
    assert run(ending, "compile", tmp_path / "good") == ["compiled"]
    failing = script(tmp_path / "c++", "echo no such flag >&2; exit 1")
    said = run(ending, "compile", tmp_path / "bad", CXX=failing)
    assert "c++ failed: no such flag" in said[0]


def test_the_compiler_inherits_no_file_of_the_program(tmp_path):
    compiler = script(
        tmp_path / "c++", f'ls -l /proc/$$/fd > {tmp_path}/open; exec {real_compiler()} "$@"'
    )
    program = """
        file = os.open(os.environ["CXX"] + ".mine", os.O_CREAT | os.O_RDWR)
        os.set_inheritable(file, True)
        print(refusal())
    """
    assert run(program, "compile", tmp_path, CXX=compiler) == ["compiled"]
    listed = (tmp_path / "open").read_text()
    assert "/dev/null" in listed and "c++.mine" not in listed


def test_a_kernel_is_interpreted_if_no_thread_starts(tmp_path):
    source = tmp_path / "refusing.c"
    source.write_text("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <pthread.h>
        int refuse = 0, allowed = 1;
        int pthread_create(pthread_t* a, const pthread_attr_t* b, void* (*c)(void*), void* d) {
            int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) =
                dlsym(RTLD_NEXT, "pthread_create");
            return refuse && --allowed < 0 ? EAGAIN : real(a, b, c, d);
        }
    """)
    library = tmp_path / "refusing.so"
    command = [real_compiler(), "-x", "c", "-w", "-shared", "-fPIC", source, "-o", library, "-ldl"]
    subprocess.run(command, check=True)
    program = """
        module = driver.load(TEXT)
        refusing = ctypes.CDLL(os.environ["LD_PRELOAD"].split(":")[0])
        ctypes.c_int.in_dll(refusing, "refuse").value = 1  # only the stream's thread exists
        while execution(module, "endure") == "interpreted":
            endure(module, 3000)
        print(execution(module, "endure"))
    """
    others = os.environ.get("LD_PRELOAD")  # the sanitizers' run time
    preload = f"{library}:{others}" if others else library
    settings = {"LD_PRELOAD": preload, "CUPOLA_CPU_THREADS": 1}
    (said,) = run(program, "auto", tmp_path, **settings)
    assert said == "no thread or memory is available to compile it"


def test_a_compiler_behind_a_wrapper_is_identified_by_its_version(tmp_path):
    """The wrapper's file does not change when the compiler behind it does."""
    version = tmp_path / "version"
    wrapper = script(
        tmp_path / "c++",
        f'test "$1" = --version && exec cat {version}; exec {real_compiler()} "$@"',
    )

    def libraries():
        assert run("print(refusal())", "compile", tmp_path, CXX=wrapper) == ["compiled"]
        return {file.name for file in files_in(tmp_path)}

    version.write_text("some compiler 1\n")
    first = libraries()
    assert len(first) == 1 and libraries() == first
    version.write_text("some compiler 2\n")
    assert len(libraries()) == 2


def zig_of(folder, said):
    """A command that takes zig's words, and runs the host's compiler."""
    return script(
        folder / "zig",
        f"""
        PATH=/usr/local/bin:/usr/bin:/bin
        echo "$@" >> {said}
        what=$1
        shift
        if test "$what" = version; then echo 9.9.9; exit; fi
        test "$what" = c++ && mkdir -p "$ZIG_LOCAL_CACHE_DIR" "$ZIG_GLOBAL_CACHE_DIR"
        test "$what" = c++ && touch "$ZIG_LOCAL_CACHE_DIR/object"
        for word; do
            shift
            case "$word" in
            -march=x86_64_v*) set -- "$@" "-march=x86-64-v${{word#-march=x86_64_v}}";;
            --eh-frame-hdr | -mcpu=baseline) ;;
            *) set -- "$@" "$word";;
            esac
        done
        exec {real_compiler()} "$@"
        """,
    )


@pytest.mark.parametrize("mode", ["auto", "compile"])
def test_zig_compiles_where_there_is_no_other_compiler(tmp_path, mode):
    said, cache = tmp_path / "said", tmp_path / "cache"
    hidden = {"CXX": "", "PATH": tmp_path / "none", "CUPOLA_CPU_ZIG": zig_of(tmp_path, said)}
    program = """
        module = driver.load(TEXT)
        while execution(module, "endure") == "interpreted":
            endure(module, 3000)
        endure(module, 30)
        print(execution(module, "endure"))
    """
    assert run(program, mode, cache, **hidden) == ["compiled"]
    assert [file.suffix for file in files_in(cache)] == [".so"]
    (note,) = (cache / "cpu").glob("*.txt")
    assert note.read_text().endswith("\nzig 9.9.9\n")
    version, compiled, linked = said.read_text().splitlines()
    assert version == "version"
    assert compiled.startswith("c++ ") and " -shared" not in compiled and " -g0 " in compiled
    assert linked.startswith("ld.lld -shared ") and "libm.so" in linked and "libc.so" in linked


def test_zig_is_not_taken_where_a_compiler_is_named_or_found(tmp_path):
    said = tmp_path / "said"
    said.write_text("")
    settings = {"CUPOLA_CPU_ZIG": zig_of(tmp_path, said)}
    assert run("print(refusal())", "compile", tmp_path, **settings, CXX="") == ["compiled"]
    (refused,) = run("print(refusal())", "compile", tmp_path, **settings, CXX="nope")
    assert "there is no C++ compiler CXX=nope" in refused and not said.read_text()


def test_without_any_compiler_the_error_names_the_extra(tmp_path):
    settings = {"CXX": "", "PATH": tmp_path / "none", "CUPOLA_CPU_ZIG": tmp_path / "zig"}
    (refused,) = run("print(refusal())", "compile", tmp_path, **settings)
    assert "there is no C++ compiler: none of CXX, c++, g++ and clang++" in refused
    assert "pip install 'cupola[jit]'" in refused


def test_code_made_ahead_follows_no_link(tmp_path):
    """Files that links of the former temporary names lead to are unchanged."""
    library = tmp_path / "kernels.so"
    for name in ("kernels.so", "kernels.so.cpp", "kernels.so.log"):
        (tmp_path / f"victim.{name}").write_text("as it was")
        (tmp_path / name).symlink_to(tmp_path / f"victim.{name}")
    program = """
        function, without = driver.load(TEXT).function("endure"), ctypes.c_char_p()
        make = driver.library.cupola_cpu_make_ahead
        made = os.environ["MADE"].encode()
        code = make(ctypes.byref(function), ctypes.c_size_t(1), LEVEL, made, ctypes.byref(without))
        print(code, without.value.decode())
    """
    level = processors.levels("native")[0]
    program = program.replace("LEVEL", repr(level.encode()))
    assert run(program, "interpret", "none", MADE=library) == ["0 "]
    assert not library.is_symlink() and library.read_bytes()[:4] == b"\x7fELF"
    assert {f.read_text() for f in tmp_path.glob("victim.*")} == {"as it was"}
    assert len(list(tmp_path.iterdir())) == 6  # no folder is left


PROCESSOR = """
#include "cpu/interpreter/processor.hpp"
using cupola::cpu::interpreter::Processor;
constexpr std::uint32_t bits(std::initializer_list<unsigned> list) {
    std::uint32_t word = 0;
    for (const unsigned bit : list) word |= 1u << bit;
    return word;
}
// As cpuid has it on an AMD EPYC of the third generation, and on one with AVX-512.
constexpr Processor v3{bits({0, 1, 9, 12, 13, 19, 20, 22, 23, 25, 26, 27, 28, 29, 30}),
                       bits({0, 5, 6, 7, 8}), bits({0, 3, 5, 7, 8, 18, 19, 29}), 0x207};
constexpr Processor v4{v3.basic, v3.extended, v3.more | bits({16, 17, 21, 28, 30, 31}), 0x2e7};
constexpr Processor without(Processor p, std::uint32_t Processor::*word, unsigned bit) {
    p.*word &= ~(1u << bit);
    return p;
}
constexpr Processor saving(Processor p, std::uint64_t saved) {
    p.saved = saved;
    return p;
}
static_assert(v3.runs_v3() && !v3.runs_v4() && v4.runs_v4());
static_assert(!without(v3, &Processor::extended, 5).runs_v3(), "LZCNT");
static_assert(!without(v3, &Processor::basic, 29).runs_v3(), "F16C");
static_assert(!without(v3, &Processor::basic, 22).runs_v3(), "MOVBE");
static_assert(!without(v3, &Processor::basic, 13).runs_v3(), "CMPXCHG16B");
static_assert(!without(v3, &Processor::basic, 27).runs_v3(), "OSXSAVE");
static_assert(!saving(v3, 0x3).runs_v3(), "ymm");
static_assert(saving(v4, 0x7).runs_v3() && !saving(v4, 0x7).runs_v4(), "zmm");
int main() { return cupola::cpu::interpreter::this_processor().runs_v2() ? 0 : 1; }
"""


@pytest.mark.skipif(platform.machine() not in processors.X86, reason="levels are of x86-64")
def test_a_level_of_x86_64_needs_its_instructions(tmp_path):
    command = [real_compiler(), "-std=c++17", f"-I{TESTS.parent / 'csrc'}", "-x", "c++", "-"]
    source = "#include <initializer_list>\n" + PROCESSOR
    subprocess.run([*command, "-o", tmp_path / "asks"], input=source, text=True, check=True)
    assert subprocess.run([tmp_path / "asks"], check=False).returncode == 0


def test_a_cache_that_other_users_can_replace_is_refused(tmp_path):
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o777)
    (said,) = run("print(refusal())", "compile", above / "cache")
    assert f"CUPOLA_CACHE_DIR={above}/cache: other users can replace files in {above}" in said
    above.chmod(0o1777)
    assert run("print(refusal())", "compile", above / "cache") == ["compiled"]


def test_a_wrong_compiler_or_cache_is_not_replaced_by_a_default(tmp_path):
    (said,) = run("print(refusal())", "compile", tmp_path, CXX="no-such-c++ -pipe")
    assert "there is no C++ compiler CXX=no-such-c++ -pipe" in said
    (tmp_path / "file").write_text("")
    (said,) = run("print(refusal())", "compile", tmp_path / "file")
    assert f"CUPOLA_CACHE_DIR={tmp_path}/file: " in said
    assert run("print(refusal())", "compile", "none", TMPDIR=tmp_path) == ["compiled"]
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_program_with_more_rights_than_its_user_compiles_nothing(tmp_path):
    groups = [group for group in [*os.getgroups(), 65534] if group != os.getgid()]
    source, program = tmp_path / "more.c", tmp_path / "more"
    source.write_text("""
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/auxv.h>
        int main(int count, char** words) {
            void *driver = dlopen(words[1], RTLD_NOW), *context, *module, *function;
            int (*init)(int) = dlsym(driver, "cuInit");
            int (*retain)(void**, int) = dlsym(driver, "cuDevicePrimaryCtxRetain");
            int (*current)(void*) = dlsym(driver, "cuCtxSetCurrent");
            int (*load)(void**, const char*) = dlsym(driver, "cuModuleLoadData");
            int (*get)(void**, void*, const char*) = dlsym(driver, "cuModuleGetFunction");
            const char* (*why)() = dlsym(driver, "cupola_cpu_last_refusal");
            if (init(0) || retain(&context, 0) || current(context)) return 1;
            if (load(&module, ".version 8.0\\n.target sm_90\\n.address_size 64\\n"
                              ".visible .entry none() { ret; }")) return 2;
            int code = get(&function, module, "none");
            printf("%d %d %s\\n", (int)getauxval(AT_SECURE), code, code ? why() : "");
            return 0;
        }
    """)
    subprocess.run([real_compiler(), "-x", "c", "-w", source, "-o", program, "-ldl"], check=True)
    environment = {**os.environ, "CUPOLA_CPU_MODE": "compile", "CUPOLA_CACHE_DIR": str(tmp_path)}
    command = [program, cupola.paths.cpu_driver()]
    usual = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert usual.stdout == "0 0 \n"
    try:
        os.chown(program, -1, groups[0])
        program.chmod(0o755 | stat.S_ISGID)
    except PermissionError:
        pytest.skip("no other group")
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.stdout.startswith("0"):
        pytest.skip("a file system without set-group-ID")
    assert done.stdout.startswith("1 221 ") and "with more rights than its user's" in done.stdout
