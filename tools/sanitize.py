# tools/sanitize.py - run tests on libraries that are built under sanitizers; `make sanitize`.
"""AddressSanitizer and UndefinedBehaviorSanitizer in libcupola.so, libcudart and the CPU device.

The libraries are built in a folder of their own, and pytest runs with them in place of the
package's (CUPOLA_LIBRARY) and with the sanitizers' run time preloaded into Python.  The Cython
modules are the package's own, except with ``--modules``.  An error ends its process with a report.
Leaks are reported when a process exits, except those that tests/sanitizer/leaks.txt suppresses.

With ``--slice`` the lane functions, which take longest to build, are those of the package. With
``--thread`` it is ThreadSanitizer, and the lane functions are those of the package: what they do to
memory is the kernels' own affair. With ``--runtime`` the whole CPU device is the package's. With
``--modules`` the Cython modules are under ThreadSanitizer, too, in a copy of the package. This
needs a free-threaded Python that was itself built with ``--with-thread-sanitizer``, in whose
environment this tool runs: with a GIL no two threads run code of the modules at the same time.
tests/sanitizer/races.txt suppresses races inside of Python.
Arguments after ``--`` are for pytest.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

from fuzz import FLAGS, ROOT, compiles_lane_functions, reads, setup_module

# A driver's caller may pass any int where the ABI has an enum, and gets an error code. An enum
# without -fstrict-enums holds every value of its type. Compiling takes longer than the tests,
# and checks of pointers take much of it: a null pointer faults without them, too.
CODE = (*FLAGS, "-O0", "-fno-sanitize=enum,null,alignment,object-size,vptr")
# Tests that fail with the run time preloaded, whatever the library does; each group has its reason.
LEFT_OUT = [
    # A child that is forked while another thread allocates waits for AddressSanitizer's own lock
    # for ever, or ends with its status (GCC 12).
    "tests/cpu/test_lifetime.py::test_a_forked_child_is_told_and_does_not_hang",
    "tests/test_callback.py::test_exit_of_a_forked_child_while_a_call_runs",
    # The sanitizer reserves address space, and does not use the address of freed memory again.
    "tests/cpu/test_memory.py::test_more_pieces_than_the_system_maps",
    "tests/test_spare.py::test_nor_does_another_librarys",
    # An emulator has no room for the address space that the sanitizer reserves.
    "tests/cpu/test_device.py::test_a_processor_below_the_lowest_level_is_refused",
    "tests/soak/test_soak.py::test_the_smallest_leak_is_seen",
    "tests/soak/test_soak.py::test_launches",
    # pip, git and NVIDIA's compilers leak, and their status says so.
    "tests/install",
    # Tests that build the libraries in use with other options, in the same place.
    "tests/sanitizer/test_sanitizers.py",
    # Its dlopen ignores the caller's RUNPATH, by which NVIDIA's wheels find their libraries.
    "tests/programs",
    "tests/test_cli_images.py::test_compile_to_a_cubin",
    # Tests of the package's own library, which a sanitized library replaces.
    "tests/test_driver.py::test_cpu_is_taken_when_asked_for",
    "tests/test_driver.py::test_report_names_each_place",
    "tests/test_library.py::test_packaged_by_default",
    "tests/test_library.py::test_a_truncated_cpu_device",
    "tests/test_library.py::test_another_python",
    "tests/test_library.py::test_two_libraries_in_a_process",
    "tests/build/test_ahead.py::test_shipped_kernels_are_machine_code_from_the_start",
    "tests/build/test_recipe.py::test_libraries_show_their_interface_and_no_more",
    # The linker warns of functions in the run time.
    "tests/test_examples.py::test_nvrtc_saxpy_beside_cpp",
    # Tests with a limit of seconds that a sanitized library exceeds.
    "tests/ptx/test_native_source.py::test_the_source_of_many_calls_stays_small",
]
# ThreadSanitizer sees no end of a process whose threads were forked away or killed.
LEFT_OUT_OF_THREADS = [
    "tests/cpu/test_lifetime.py",
    "tests/cpu/test_ipc.py",
    "tests/cpu/test_ipc_events.py",
]
# Of --interpreter, where no tests are named.
FREE_THREADED = [f"tests/test_{name}.py" for name in ("free_threading", "threads", "graph_threads")]
# Races inside of Python that Python's own list lacks.
SUPPRESSED_RACES = ROOT / "tests" / "sanitizer" / "races.txt"
# Frames of each allocation: the allocator and its caller. LeakSanitizer compares a suppression with
# every frame, and Python calls libcupola.so: of more frames, one would be Python's.
FRAMES = 2
# LeakSanitizer writes this line where it could not stop a thread. By itself it is no report.
REMARK = re.compile(r"(?m)^==\d+==Running thread \d+ was not suspended\. False leaks .*\n")
COMPILERS = ("nvcc", "ptxas", "nvlink", "fatbinary", "cc", "gcc", "c++", "g++", "clang", "clang++")
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:verify_asan_link_order=0",
    "LSAN_OPTIONS": f"suppressions={ROOT}/tests/sanitizer/leaks.txt:print_suppressions=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    # The GIL guards Python's own memory, and a program may read what a kernel writes at the same
    # time.
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:report_signal_unsafe=0",
}


def libraries(setup: ModuleType, parts: str, kind: str) -> tuple[list[object], Path]:
    """The steps that build them, and libcupola.so.

    `parts`: what is built so: "all", or "most", without lane functions, or "runtime", libcupola.so
    alone. The rest has the package's objects.
    """
    toolkit = setup.build.toolkit.find()
    environment = {**os.environ, "CUPOLA_SANITIZE": kind}
    compiler = setup.build.native.Compiler.find(environment)
    work = setup.recipe.Recipe(setup.build, ROOT, setup.VERSION, compiler)
    if kind == "thread":
        objects = work.device_objects(toolkit, ("-O1", "-g"))
    else:  # strict flags for readers of bytes from outside
        strict, lenient = (work.device_objects(toolkit, flags) for flags in (FLAGS, CODE))
        objects = [one if reads(one) else other for one, other in zip(strict, lenient, strict=True)]
    if parts != "all":
        plain = setup.recipe.Recipe(setup.build, ROOT, setup.VERSION).device_objects(toolkit)
        keeps = compiles_lane_functions if parts == "most" else lambda step: True
        objects = [step for step in objects if not keeps(step)]
        objects += filter(keeps, plain)
    steps = [*work.codec_steps(), *work.device_steps(toolkit, objects)]
    runtime = ("-O1", "-g") if kind == "thread" else CODE
    steps += [*work.runtime_steps(toolkit, runtime), *work.cudart_steps(toolkit, runtime)]
    return steps, ROOT / work.products()["libcupola.so"]


def describe(library: Path) -> None:
    """The package's own manifest of the shipped kernels, beside the library as there."""
    shutil.copy(ROOT / "package" / "cupola" / "lib" / "kernels.json", library.parent)


def package_of_modules(setup: ModuleType, library: Path) -> Path:
    """The folder of a copy of the package whose modules are under ThreadSanitizer."""
    from setuptools import Distribution

    environment = {**os.environ, "CUPOLA_SANITIZE": "thread"}
    compiler = setup.build.native.Compiler.find(environment)
    work = setup.recipe.Recipe(setup.build, ROOT, setup.VERSION, compiler)
    command = setup.BuildExt(Distribution({"ext_modules": setup.modules()}))
    command.ensure_finalized()
    with (
        setup.build.executor.locked(ROOT / setup.recipe.BUILD),
        setup.build.translator.Translator(ROOT) as translator,
    ):
        steps = work.declaration_steps()
        for extension in command.extensions:
            steps += command._module(work, extension, translator)
        setup.build.executor.run(steps, ROOT)
    folder = library.parent / "package"
    shutil.rmtree(folder, ignore_errors=True)
    left_out = shutil.ignore_patterns("*.cpython-*.so", "__pycache__", "lib")
    shutil.copytree(ROOT / "package", folder, ignore=left_out)
    (folder / "cupola" / "lib").symlink_to(ROOT / "package" / "cupola" / "lib")
    for extension in command.extensions:
        shutil.copy(ROOT / command._made(work, extension), folder / command._filename(extension))
    return folder


def require_free_threads() -> None:
    """Refuse a Python whose own accesses ThreadSanitizer does not see."""
    arguments = sysconfig.get_config_var("CONFIG_ARGS") or ""
    if not sysconfig.get_config_var("Py_GIL_DISABLED") or "thread-sanitizer" not in arguments:
        raise SystemExit(
            f"sanitize: {sys.executable} was not built with --disable-gil and "
            "--with-thread-sanitizer: name such an interpreter with --interpreter"
        )


def in_interpreter(interpreter: Path, arguments: list[str]) -> int:
    """Run this tool in an environment of that interpreter."""
    import pythons

    pythons.FOLDER.mkdir(parents=True, exist_ok=True)
    log = pythons.FOLDER / "sanitize.log"
    os.environ["TSAN_OPTIONS"] = "report_bugs=0"  # of pip and the build
    inside = pythons.environment("sanitize", interpreter.resolve(), log)
    command = [inside, __file__, "--thread", "--modules", *arguments]
    return subprocess.run(command, check=False).returncode


def preloaded(setup: ModuleType, kind: str) -> str:
    """The sanitizers' run time, and libstdc++, whose exceptions it has to know from the start."""
    command = setup.build.native.Compiler.find().command
    # In this order the reports of AddressSanitizer and of leaks go where ASAN_OPTIONS says.
    names = ("libasan.so", "libubsan.so", "libstdc++.so.6")
    if kind == "thread":
        names = ("libtsan.so", "libstdc++.so.6")
    paths = [
        subprocess.run(
            [*command, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in names
    ]
    return ":".join(str(Path(path).resolve()) for path in paths)


def report_path(setup: ModuleType, folder: Path) -> str:
    """A library to preload after UBSan's run time, which sends its reports to files, too."""
    command, library = setup.build.native.Compiler.find().command, folder / "report_path.so"
    source = ROOT / "tests" / "sanitizer" / "report_path.cpp"
    flags = ("-std=c++17", "-O1", "-shared", "-fPIC")
    subprocess.run([*command, *flags, str(source), "-o", str(library), "-ldl"], check=True)
    return str(library)


def compilers_apart(setup: ModuleType, folder: Path) -> dict[str, str]:
    """Variables with which tests find compilers that run without the preloaded run time.

    Compilers leak by design, and parts of nvcc fail under the run time.
    """
    nvcc = setup.build.toolkit.find().nvcc
    path = os.environ.get("PATH", os.defpath)
    places = os.pathsep.join([str(nvcc.parent), str(nvcc.resolve().parent), path])
    real = {name: shutil.which(name, path=places) for name in COMPILERS}
    scripts = folder / "bin"
    variables = {"CUDA_HOME": str(folder), "PATH": f"{scripts}{os.pathsep}{path}"}
    for variable in ("CC", "CXX"):
        if words := shlex.split(os.environ.get(variable, "")):
            script = scripts / Path(words[0]).name
            real[script.name] = shutil.which(words[0])
            variables[variable] = shlex.join([str(script), *words[1:]])
    scripts.mkdir()
    for name, program in real.items():
        if program:
            script = scripts / name
            script.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {shlex.quote(program)} "$@"\n')
            script.chmod(0o755)
    return variables


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slice", action="store_true", help="lane functions of the package")
    parser.add_argument("--thread", action="store_true", help="ThreadSanitizer")
    parser.add_argument("--runtime", action="store_true", help="libcupola.so alone")
    parser.add_argument("--modules", action="store_true", help="also the Cython modules")
    parser.add_argument(
        "--interpreter", type=Path, help="--thread --modules in an environment of this Python"
    )
    parser.add_argument(
        "--suppressions", type=Path, help="of Python's own races: Tools/tsan of its sources"
    )
    parser.add_argument(
        "--frames",
        type=int,
        default=FRAMES,
        help="frames of each allocation in a report; more than 2 hide leaks (default 2)",
    )
    parser.add_argument("pytest", nargs="*", help="arguments for pytest")
    options = parser.parse_args()
    if options.interpreter:
        given = [f"--suppressions={options.suppressions.resolve()}"] if options.suppressions else []
        return in_interpreter(
            options.interpreter, [*given, "--", *(options.pytest or FREE_THREADED)]
        )
    if options.modules:
        if not options.thread:
            parser.error("--modules is for ThreadSanitizer: add --thread")
        require_free_threads()
    os.chdir(ROOT)
    setup = setup_module()
    kind = "thread" if options.thread else "address,undefined"
    try:
        parts = (
            "runtime" if options.runtime else "most" if options.slice or options.thread else "all"
        )
        steps, library = libraries(setup, parts, kind)
        with setup.build.executor.locked(ROOT / setup.recipe.BUILD):
            setup.build.executor.run(steps, ROOT)
        describe(library)
        package = package_of_modules(setup, library) if options.modules else None
    except setup.build.error.BuildError as error:
        print(f"sanitize: {error}", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--driver=cpu"]
    left_out = LEFT_OUT_OF_THREADS if options.thread else LEFT_OUT
    command += [f"--deselect={test}" for test in left_out]
    environment = {**os.environ, "LD_PRELOAD": preloaded(setup, kind)}
    environment["CUPOLA_LIBRARY"] = str(library)
    # Code that a compiler makes in the background is not instrumented.
    environment.setdefault("CUPOLA_CPU_MODE", "ahead")
    if package is not None:
        path = [str(package), os.environ.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        environment["PYTHON_GIL"] = "0"
    if options.thread:
        environment["CUPOLA_TEST_DRIVER"] = str(library.parent / "cpu" / "libcuda.so.1")
    else:
        # With this setting, the sanitizer sees Python's allocations, too.
        environment["PYTHONMALLOC"] = "malloc"
    # Reports go to files: pytest keeps what its own process prints, and of the processes that tests
    # start some are expected to fail.
    with (
        tempfile.TemporaryDirectory(prefix="cupola-sanitize-") as folder,
        tempfile.TemporaryDirectory(prefix="cupola-sanitize-") as home,
    ):
        environment.update(compilers_apart(setup, Path(home)))
        if not options.thread:
            environment["LD_PRELOAD"] += f":{report_path(setup, Path(home))}"
        for name, value in OPTIONS.items():
            environment[name] = f"{value}:log_path={folder}/report"
        environment["ASAN_OPTIONS"] += f":malloc_context_size={options.frames}"
        if options.modules:
            joined = Path(home) / "suppressions.txt"  # the run time takes one file
            files = [SUPPRESSED_RACES, *filter(None, [options.suppressions])]
            joined.write_text("\n".join(file.read_text() for file in files))
            environment["TSAN_OPTIONS"] += f":suppressions={joined}"
        status = subprocess.run(
            [*command, *options.pytest], env=environment, check=False
        ).returncode
        texts = [file.read_text(errors="replace") for file in sorted(Path(folder).iterdir())]
        reports = [report for text in texts if (report := REMARK.sub("", text).strip())]
        for report in reports:
            print(report)
    print(f"sanitizers: {len(reports)} processes reported")
    return status or len(reports) > 0


if __name__ == "__main__":
    sys.exit(main())
