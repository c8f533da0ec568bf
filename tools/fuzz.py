# tools/fuzz.py - run each fuzzer of tests/fuzz for a while; `make fuzz`, and a slice in the tests.
"""Fuzzers (tests/fuzz/*.cpp, each with LLVMFuzzerTestOneInput) against the CPU device's code.

They are linked with the code that reads untrusted bytes, under libFuzzer, AddressSanitizer and
UBSan. They start from tests/fuzz/seeds/NAME and tests/fuzz/corpus/NAME. New inputs stay in
build/fuzz/NAME. If an input fails, the output names it and the exit status is 1. The number of
inputs is added to benchmarks/results/fuzz.json.

With ``--slice``, for a machine without libFuzzer: by the C++ compiler of the build, under the same
sanitizers, with seeds that are mutated the same way every time (tests/fuzz/standalone).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import fuzz_record

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ("-O1", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
LONG = (*FLAGS, "-O2")  # for targets that run longer than their compilation takes
LANES = "csrc/cpu/isa/"
READERS = ("csrc/ptx/", "csrc/image/")
READERS += ("csrc/cpu/debugger/", "csrc/cpu/interpreter/", "csrc/cpu/sanitizer/")
READERS += (
    "csrc/cpu/coverage/",
    "csrc/cpu/observe/",
    "csrc/cpu/base/sha256",
    "csrc/cpu/base/seeded_order",
    "csrc/cpu/base/tensor_map",
)
# Comparisons are not traced: tracing would take a third of the time, and seeds have the words.
ALSO = {"run_fuzz": "ptx_fuzz"}  # whose inputs are this one's, too
CORPUS = 150  # inputs of each fuzzer that are committed, at most
UNTRACED = ("-fno-sanitize-coverage=trace-cmp",)


def setup_module() -> ModuleType:
    """setup.py, which knows how to load the build's parts."""
    spec = importlib.util.spec_from_file_location("cupola_setup", ROOT / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def libfuzzer_setup(setup: ModuleType) -> tuple[object, object, list[object], list[str]]:
    """The compiler, that of the lane functions, further objects for every program, and flags for
    the link.
    """
    environment = {"CXX": "clang++", **os.environ, "CUPOLA_SANITIZE": "address,undefined"}
    found = setup.build.native.Compiler.find(environment)
    compiler = dataclasses.replace(
        found, flags=(*found.flags, "-fsanitize=fuzzer-no-link", *UNTRACED), variant="fuzz"
    )
    lanes = dataclasses.replace(found, variant="fuzz-lanes")
    # The programs need no library of the compiler, so that they run on other machines, too.
    return compiler, lanes, [], ["-fsanitize=fuzzer", "-static-libstdc++", "-static-libgcc"]


def build_setup(setup: ModuleType) -> tuple[object, object, list[object], list[str]]:
    """The same with the build's compiler. Objects of the CPU device are those of sanitize.py, and
    lane functions, which take longest to compile, those of the package.
    """
    environment = {**os.environ, "CUPOLA_SANITIZE": "address,undefined"}
    compiler = setup.build.native.Compiler.find(environment)
    main = Path("tests/fuzz/standalone/main.cpp")
    target = Path("build/native", compiler.variant, "fuzz/main.o")
    return compiler, None, [compiler.object(main, target, FLAGS)], []


def compiles_lane_functions(step: object) -> bool:
    """Whether it compiles lane functions, which take longest."""
    return step.inputs[0].as_posix().startswith(LANES)


def reads(step: object) -> bool:
    """Whether it compiles what reads untrusted bytes, or runs what was read."""
    return step.inputs[0].as_posix().startswith(READERS) and not compiles_lane_functions(step)


def readers(
    setup: ModuleType, compiler: object, lanes: object, flags: tuple[str, ...]
) -> list[object]:
    """Objects of what reads untrusted bytes, and of the lane functions, which only run kernels.

    The latter have no counters: these would be most of what libFuzzer looks at after each input.
    Under the sanitizers they are of the oldest level alone, which a fuzzer takes.
    """
    toolkit = setup.build.toolkit.find()
    watched = setup.recipe.Recipe(setup.build, ROOT, setup.VERSION, compiler)
    plain = setup.recipe.Recipe(setup.build, ROOT, setup.VERSION, lanes)
    runs = filter(
        compiles_lane_functions, plain.device_objects(toolkit, *([FLAGS] if lanes else []))
    )
    if lanes:
        oldest = next(setup.build.processors.instruction_sets(False))[0]
        runs = (step for step in runs if oldest in step.target.parts)
    return [*filter(reads, watched.device_objects(toolkit, flags)), *runs]


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
    compiler, lanes, more, flags = build_setup(setup) if short else libfuzzer_setup(setup)
    folder = Path("build") / "native" / compiler.variant / "fuzz"
    effort = FLAGS if short else LONG
    device = readers(setup, compiler, lanes, effort)
    work = setup.recipe.Recipe(setup.build, ROOT, setup.VERSION, compiler)
    zstd = work.codec()
    # A driver's caller may pass any int where the ABI has an enum.
    system = [f"-isystem{path}" for path in setup.build.toolkit.find().include]
    types = work.element_types()
    named = setup.build.native.define("CUPOLA_ELEMENT_TYPES", f"../{types.target.as_posix()}")
    options = (*effort, "-fno-sanitize=enum", "-Icsrc", "-Icsrc/include", named, *system)
    library = archive(setup, folder / "device.a", device)
    steps, programs = [types, *more, *work.codec_steps(), *device, library], []
    for source in sorted((ROOT / "tests" / "fuzz").glob("*.cpp")):
        target = folder / source.stem
        own = compiler.object(
            source.relative_to(ROOT), target.with_suffix(".o"), options, inputs=[types.target]
        )
        link = [*compiler.command, *compiler.link_flags, *flags, "-o", str(target)]
        program = setup.build.step.Step(
            target=target,
            inputs=(own.target, library.target, *zstd.objects, *(step.target for step in more)),
            command=(
                *(*link, str(own.target), *(str(step.target) for step in more)),
                *(str(library.target), *zstd.linked, "-ldl"),
            ),
            label=f"link {target.name}",
        )
        steps += [own, program]
        programs.append(target)
    with setup.build.executor.locked(ROOT / setup.recipe.BUILD):
        setup.build.executor.run(steps, ROOT)
    return programs


def places(program: Path) -> list[str]:
    """Where inputs to start from are committed: written by hand, and found by fuzzing."""
    names = [program.name, *([] if program.name not in ALSO else [ALSO[program.name]])]
    folders = [ROOT / "tests/fuzz" / kind / name for name in names for kind in ("seeds", "corpus")]
    return [str(folder) for folder in folders if folder.is_dir()]


def run(program: Path, seconds: int) -> bool:
    """Run one fuzzer for so many seconds and record it; False where it found a fault."""
    corpus = ROOT / "build" / "fuzz" / program.name
    corpus.mkdir(parents=True, exist_ok=True)
    command = [
        str(ROOT / program),
        str(corpus),
        *places(program),
        f"-max_total_time={seconds}",
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-max_len=16384",
        "-print_final_stats=1",
        f"-artifact_prefix={corpus}-",
    ]
    # A few frames show where memory came from. Each further frame slows every allocation.
    environment = {"ASAN_OPTIONS": "malloc_context_size=4", **os.environ}
    log = corpus.with_suffix(".log")
    with log.open("wb") as out:
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False, stderr=out)
    text = log.read_text(errors="replace")
    clean = done.returncode == 0
    print(f"{program.name}: {text[-300:] if clean else text[-6000:]}", flush=True)
    if inputs := re.search(r"number_of_executed_units: (\d+)", text):
        edges = max(map(int, re.findall(r" cov: (\d+)", text)), default=0)
        fuzz_record.add(program.name, int(inputs[1]), edges)
    return clean


def minimise(program: Path) -> None:
    """Fills tests/fuzz/corpus with few and short inputs that reach what all that were found do."""
    found = ROOT / "build" / "fuzz" / program.name
    target = ROOT / "tests" / "fuzz" / "corpus" / program.name
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(ROOT / program),
            "-merge=1",
            "-max_len=2000",
            folder,
            str(found),
            *places(program),
        ]
        subprocess.run(command, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
        kept = sorted(Path(folder).iterdir(), key=lambda file: (file.stat().st_size, file.name))
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for file in kept[:CORPUS]:
            shutil.copy(file, target / file.name[:12])


def run_slice(program: Path, seconds: int) -> bool:
    """The same, with seeds that are mutated the same way every time."""
    seeds = sorted(file for folder in places(program) for file in Path(folder).iterdir())
    command = [str(ROOT / program), str(seconds), "1", *map(str, seeds)]
    answer = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    print(answer.stdout + answer.stderr, end="", flush=True)
    return answer.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each fuzzer")
    parser.add_argument("--slice", action="store_true", help="without libFuzzer")
    parser.add_argument("--only", metavar="NAME", help="one fuzzer: run_fuzz")
    parser.add_argument("--minimise", action="store_true", help="write tests/fuzz/corpus, run none")
    options = parser.parse_args()
    os.chdir(ROOT)
    setup = setup_module()
    try:
        programs = fuzzers(setup, options.slice)
    except setup.build.error.BuildError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1
    programs = [program for program in programs if options.only in (None, program.name)]
    if options.minimise:
        for program in programs:
            minimise(program)
        return 0
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
