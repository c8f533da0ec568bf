# tools/fuzz.py - run each fuzzer of tests/fuzz for a while; `make fuzz`.
"""Fuzzers (tests/fuzz/*.cpp, each with LLVMFuzzerTestOneInput) against the CPU device's code.

They are linked with all of its objects, under libFuzzer, AddressSanitizer and UBSan, and start
from the seeds in tests/fuzz/seeds/NAME where there are any.  What they find that is new stays in
build/fuzz/NAME; an input that broke something is named in the output, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ("-O1", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")


def setup_module() -> ModuleType:
    """setup.py, which knows how to load the build's parts."""
    spec = importlib.util.spec_from_file_location("cupola_setup", ROOT / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fuzzers(setup: ModuleType) -> list[Path]:
    """Build them all; their programs."""
    environment = {**os.environ, "CUPOLA_SANITIZE": "address,undefined"}
    environment.setdefault("CXX", "clang++")
    found = setup.build.native.Compiler.find(environment)
    compiler = dataclasses.replace(
        found, flags=(*found.flags, "-fsanitize=fuzzer-no-link"), variant="fuzz"
    )
    work = setup.recipe.Recipe(setup.build, ROOT, setup.VERSION, compiler)
    toolkit = setup.build.toolkit.find()
    objects = work.device_objects(toolkit, FLAGS)
    steps, programs = list(objects), []
    for source in sorted((ROOT / "tests" / "fuzz").glob("*.cpp")):
        target = work.native / "fuzz" / source.stem
        files = [str(step.target) for step in objects]
        own = compiler.object(
            source.relative_to(ROOT), target.with_suffix(".o"), (*FLAGS, "-Icsrc")
        )
        link = [*compiler.command, *compiler.link_flags, "-fsanitize=fuzzer", "-o", str(target)]
        program = setup.build.step.Step(
            target=target,
            inputs=(own.target, *(step.target for step in objects)),
            command=(*link, str(own.target), *files, "-ldl"),
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
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each fuzzer")
    seconds = parser.parse_args().seconds
    os.chdir(ROOT)
    setup = setup_module()
    try:
        programs = fuzzers(setup)
    except setup.build.error.BuildError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1
    if not programs:
        print("fuzz: tests/fuzz has no fuzzer", file=sys.stderr)
        return 1
    failed = [program.name for program in programs if not run(program, seconds)]
    print(f"fuzz: {len(programs)} fuzzers ran, {len(failed)} found something {failed or ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
