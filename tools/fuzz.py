# tools/fuzz.py - run each fuzzer of tests/fuzz for a while; `make fuzz`, and a slice in the tests.
"""Fuzzers (tests/fuzz/*.cpp, each with LLVMFuzzerTestOneInput) against the CPU device's code.

They are linked with what reads untrusted bytes, under libFuzzer, AddressSanitizer and UBSan, and
start from the seeds in tests/fuzz/seeds/NAME where there are any.  What they find that is new stays
in build/fuzz/NAME; an input that broke something is named in the output, and the exit status is 1.

With ``--slice``, for a machine without libFuzzer: by the C++ compiler of the build, under the same
sanitizers, with seeds that are mutated the same way every time (tests/fuzz/standalone).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ("-O1", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
LONG = (*FLAGS, "-O2")  # what runs for longer than it is compiled
LANES = "csrc/cpu/exec/isa/"
READERS = ("csrc/ptx/", "csrc/image/", "csrc/cpu/exec/", "csrc/cpu/watch/")
# Comparisons are not traced: it would be a third of the time, and seeds have the words.
UNTRACED = ("-fno-sanitize-coverage=trace-cmp",)


def setup_module() -> ModuleType:
    """setup.py, which knows how to load the build's parts."""
    spec = importlib.util.spec_from_file_location("cupola_setup", ROOT / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_libfuzzer(setup: ModuleType) -> tuple[object, list[object], list[str]]:
    """The compiler, further objects for every program, and flags for the link."""
    environment = {"CXX": "clang++", **os.environ, "CUPOLA_SANITIZE": "address,undefined"}
    found = setup.build.native.Compiler.find(environment)
    compiler = dataclasses.replace(
        found, flags=(*found.flags, "-fsanitize=fuzzer-no-link", *UNTRACED), variant="fuzz"
    )
    # On another machine than this the programs run by themselves.
    return compiler, [], ["-fsanitize=fuzzer", "-static-libstdc++", "-static-libgcc"]


def of_the_build(setup: ModuleType) -> tuple[object, list[object], list[str]]:
    """The same with the build's compiler. Objects of the CPU device are those of sanitize.py."""
    environment = {**os.environ, "CUPOLA_SANITIZE": "address,undefined"}
    compiler = setup.build.native.Compiler.find(environment)
    main = Path("tests/fuzz/standalone/main.cpp")
    target = Path("build/native", compiler.variant, "fuzz/main.o")
    return compiler, [compiler.object(main, target, FLAGS)], []


def only_runs(step: object) -> bool:
    """Whether it compiles lane functions, which take longest."""
    return step.inputs[0].as_posix().startswith(LANES)


def reads(step: object) -> bool:
    """Whether it compiles what reads untrusted bytes, or runs what was read."""
    return step.inputs[0].as_posix().startswith(READERS) and not only_runs(step)


def readers(setup: ModuleType, compiler: object, flags: tuple[str, ...]) -> list[object]:
    """Objects of what reads untrusted bytes, and of the lane functions as the build has them.

    These only run kernels.  With counters of their own they would be most of what libFuzzer looks
    at after each input.
    """
    toolkit = setup.build.toolkit.find()
    watched = setup.recipe.Recipe(setup.build, ROOT, setup.VERSION, compiler)
    plain = setup.recipe.Recipe(setup.build, ROOT, setup.VERSION)
    return [
        *filter(reads, watched.device_objects(toolkit, flags)),
        *filter(only_runs, plain.device_objects(toolkit)),
    ]


def archive(setup: ModuleType, target: Path, objects: list[object]) -> object:
    """Of which each fuzzer takes what it calls: the less it has, the more inputs it runs.

    Of the instructions' functions that is the oldest level's table: others are weak references.
    """
    files = [str(step.target) for step in objects]

    def write() -> None:
        target.unlink(missing_ok=True)
        subprocess.run(["ar", "qcs", str(target), *files], check=True)

    return setup.build.step.Step(
        target=target,
        inputs=tuple(step.target for step in objects),
        action=write,
        key=("archive 1", *files),
        label=f"archive {target.name}",
    )


def fuzzers(setup: ModuleType, short: bool) -> list[Path]:
    """Build them all; their programs."""
    compiler, more, flags = of_the_build(setup) if short else of_libfuzzer(setup)
    folder = Path("build") / "native" / compiler.variant / "fuzz"
    effort = FLAGS if short else LONG
    device = readers(setup, compiler, effort)
    # A driver's caller may pass any int where the ABI has an enum.
    system = [f"-isystem{path}" for path in setup.build.toolkit.find().include]
    options = (*effort, "-fno-sanitize=enum", "-Icsrc", "-Icsrc/include", *system)
    library = archive(setup, folder / "device.a", device)
    steps, programs = [*more, *device, library], []
    for source in sorted((ROOT / "tests" / "fuzz").glob("*.cpp")):
        target = folder / source.stem
        own = compiler.object(source.relative_to(ROOT), target.with_suffix(".o"), options)
        link = [*compiler.command, *compiler.link_flags, *flags, "-o", str(target)]
        program = setup.build.step.Step(
            target=target,
            inputs=(own.target, library.target, *(step.target for step in more)),
            command=(
                *(*link, str(own.target), *(str(step.target) for step in more)),
                *(str(library.target), "-ldl"),
            ),
            label=f"link {target.name}",
        )
        steps += [own, program]
        programs.append(target)
    with setup.build.step.locked(ROOT / setup.recipe.BUILD):
        setup.build.step.run(steps, ROOT)
    return programs


def run(program: Path, seconds: int) -> bool:
    """One fuzzer, for so many seconds; whether it found nothing."""
    corpus = ROOT / "build" / "fuzz" / program.name
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = ROOT / "tests" / "fuzz" / "seeds" / program.name
    command = [
        str(ROOT / program),
        str(corpus),
        *([str(seeds)] if seeds.is_dir() else []),
        f"-max_total_time={seconds}",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        "-verbosity=0",
        f"-artifact_prefix={corpus}-",
    ]
    # Of where memory came from a few frames will do: each allocation pays for the others.
    environment = {"ASAN_OPTIONS": "malloc_context_size=4", **os.environ}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def run_slice(program: Path, seconds: int) -> bool:
    """The same, with seeds that are mutated the same way every time."""
    seeds = sorted((ROOT / "tests" / "fuzz" / "seeds" / program.name).iterdir())
    command = [str(ROOT / program), str(seconds), "1", *map(str, seeds)]
    answer = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    print(answer.stdout + answer.stderr, end="", flush=True)
    return answer.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each fuzzer")
    parser.add_argument("--slice", action="store_true", help="without libFuzzer")
    options = parser.parse_args()
    os.chdir(ROOT)
    setup = setup_module()
    try:
        programs = fuzzers(setup, options.slice)
    except setup.build.error.BuildError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1
    if not programs:
        print("fuzz: tests/fuzz has no fuzzer", file=sys.stderr)
        return 1
    go, jobs = (run_slice, len(os.sched_getaffinity(0))) if options.slice else (run, 1)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        clean = list(pool.map(lambda program: go(program, options.seconds), programs))
    failed = [program.name for program, ok in zip(programs, clean, strict=True) if not ok]
    print(f"fuzz: {len(programs)} fuzzers ran, {len(failed)} found something {failed or ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
