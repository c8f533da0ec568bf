# tools/aarch64.py - build the wheel for aarch64, and run tests of it by emulation; `make aarch64`.
"""``aarch64.py [--no-build] [PYTEST ...]``: a cross build, an environment, and tests under qemu.

Below build/aarch64 lie Debian's Python and libraries for arm64 (``root``), and an environment with
the wheel and the packages of the tests (``environment``). Compilers run on this machine's
processor: nvcc, and the cross compiler that CC and CXX name.

The tests run in a user namespace in which the kernel starts programs for aarch64 by qemu. So
programs that tests start are emulated as well, and nothing else on the machine changes.

Without arguments, random programs then run on this machine and by emulation, and each result must
have the same bits.
"""

from __future__ import annotations

import compileall
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from requirements import arrays

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "build" / "aarch64"
SYSTEM, ENVIRONMENT = HERE / "root", HERE / "environment"
BUILT, WHEELS = HERE / "wheel", HERE / "dist"  # the second under the name of the oldest system
PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
SITE = ENVIRONMENT / "lib" / PYTHON / "site-packages"
# The release of Debian that has this version of Python: a wheel is for one version.
SUITES = {(3, 11): "bookworm", (3, 13): "trixie"}
PROGRAMS = {
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "qemu-aarch64-static": "qemu-user-static",
    "mmdebstrap": "mmdebstrap",
    "unshare": "util-linux",
}
PACKAGES = (PYTHON, f"lib{PYTHON}-dev", "libstdc++6", "libgomp1", "libasan8", "libubsan1")
# Of the extra `test`; the other packages are for tests that do not run here.
TESTED = {"pytest", "pytest-xdist", "hypothesis", "Cython", "setuptools", "pyelftools", "pillow"}
TESTED |= {"ml_dtypes", "scipy", "tqdm"}
PLATFORMS = [f"manylinux_2_{minor}" for minor in (28, 27, 24, 17)] + ["manylinux2014"]
# How the kernel recognises a program for aarch64: fields of its ELF header, and which bits count.
MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"
FORMATS = "/proc/sys/fs/binfmt_misc"
EMULATE = f'mount -t binfmt_misc binfmt_misc {FORMATS} && printf "%s" "$1" > {FORMATS}/register'
EMULATE += ' && shift && exec "$@"'

# Programs whose results have the same bits on both machines: how they are recorded here and
# compared there, their options, and CUPOLA_CPU_MODE.
FUZZ = (("-m", "ptx.fuzz", "record"), ("-m", "ptx.fuzz", "compare"), "--patience", "3600")
ARRAYS = (("differential.py", "--record"), ("differential.py", "--compare"))
AGREEMENT = (
    ("rows of the instruction table, interpreted", (*FUZZ, "--programs", "200"), "interpret"),
    ("their machine code", (*FUZZ, "--programs", "4"), "compile"),
    ("operations of arrays", (*ARRAYS, "--programs", "500"), "ahead"),
)


def check_machine() -> None:
    """Raise if this machine cannot build for aarch64 and emulate it."""
    if platform.machine() == "aarch64":
        raise SystemExit("this machine is an aarch64: run `make test`, which needs no emulation")
    if sys.version_info[:2] not in SUITES:
        known = " or ".join(f"{major}.{minor}" for major, minor in SUITES)
        raise SystemExit(f"no release of Debian has {PYTHON} for arm64: use Python {known}")
    missing = [package for name, package in PROGRAMS.items() if not shutil.which(name)]
    if missing:
        raise SystemExit(f"programs are missing: apt-get install {' '.join(missing)}")


def run(
    command: list[str | Path], environment: dict[str, str] | None = None, folder: Path = ROOT
) -> None:
    done = subprocess.run([*map(str, command)], cwd=folder, env=environment)
    if done.returncode:
        raise SystemExit(done.returncode)


def install_system() -> None:
    """Unpack Debian's packages. No program of them runs."""
    if (SYSTEM / "ready").exists():
        return
    shutil.rmtree(SYSTEM, ignore_errors=True)
    HERE.mkdir(parents=True, exist_ok=True)  # mmdebstrap makes only the last folder
    suite = SUITES[sys.version_info[:2]]
    print(f"unpacking {PYTHON} of Debian {suite} for arm64", flush=True)
    options = ("--quiet", "--architectures=arm64", "--variant=extract")
    run(["mmdebstrap", *options, f"--include={','.join(PACKAGES)}", suite, SYSTEM])
    # qemu takes an absolute path for one below this root where the file exists. Only libraries and
    # Python should be found in this way.
    for path in SYSTEM.iterdir():
        if path.name not in ("usr", "lib", "bin", "sbin"):
            shutil.rmtree(path)
    compileall.compile_dir(SYSTEM / "usr" / "lib" / PYTHON, quiet=2, workers=1)
    (SYSTEM / "ready").touch()


def link(path: Path, target: Path | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def cross_settings() -> dict[str, str]:
    """The variables of a cross build: the compilers, and the Python that the wheel is for."""
    headers, about = HERE / "include", HERE / "sysconfig"
    for name in (PYTHON, "aarch64-linux-gnu"):
        link(headers / name, SYSTEM / "usr" / "include" / name)
    about.mkdir(exist_ok=True)
    name = "_sysconfigdata__aarch64-linux-gnu"
    shutil.copy(SYSTEM / "usr" / "lib" / PYTHON / f"{name}.py", about)
    return {
        "CXX": "aarch64-linux-gnu-g++",
        "CXX_FOR_BUILD": os.environ.get("CXX", "c++"),
        "CUPOLA_PORTABLE": "1",
        "CXXFLAGS": f"-isystem {headers / PYTHON} -isystem {headers}",
        "PYTHONPATH": str(about),
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "_PYTHON_SYSCONFIGDATA_NAME": name,
    }


def build_wheel() -> None:
    print("building the wheel for aarch64", flush=True)
    for folder in (BUILT, WHEELS):
        shutil.rmtree(folder, ignore_errors=True)
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation")
    run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", BUILT, "."],
        {**os.environ, **cross_settings()},
    )
    run([sys.executable, "tools/wheel.py", *BUILT.glob("*.whl"), "--out", WHEELS])


def install(*what: str | Path) -> None:
    """Install packages for aarch64, by the pip of this machine."""
    options = ["--quiet", "--disable-pip-version-check", "--upgrade", "--only-binary=:all:"]
    options += [f"--platform={name}_aarch64" for name in PLATFORMS]
    run([sys.executable, "-m", "pip", "install", *options, "--target", SITE, *what])


def requirements() -> list[str]:
    """The packages that cupola and the tests import."""
    known = arrays((ROOT / "pyproject.toml").read_text())
    tested = [each for each in known["test"] if re.split("[>=<]", each)[0] in TESTED]
    return [*known["dependencies"], *known["compile"], *tested]


def install_environment() -> None:
    """The virtual environment of the root's Python."""
    link(ENVIRONMENT / "bin" / "python", SYSTEM / "usr" / "bin" / PYTHON)
    (ENVIRONMENT / "pyvenv.cfg").write_text(f"home = {SYSTEM / 'usr' / 'bin'}\n")
    if not (ENVIRONMENT / "ready").exists():
        print("installing the packages of the tests", flush=True)
        install(*requirements())
        (ENVIRONMENT / "ready").touch()
    (wheel,) = WHEELS.glob("*.whl")
    print(f"installing {wheel.name}", flush=True)
    shutil.rmtree(SITE / "cupola", ignore_errors=True)
    install("--no-deps", wheel)


def emulate(
    command: list[str | Path], more: dict[str, str] | None = None, folder: Path = ROOT
) -> None:
    """Run a command for aarch64, in a user namespace of its own, with more variables."""
    rule = f":cupola-aarch64:M::{MAGIC}:{MASK}:{shutil.which('qemu-aarch64-static')}:F"
    environment = {
        **os.environ,
        "CXX": "aarch64-linux-gnu-g++",
        "CC": "aarch64-linux-gnu-gcc",
        "QEMU_LD_PREFIX": str(SYSTEM),
        **(more or {}),
    }
    namespace = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", EMULATE, "sh", rule)
    run([*namespace, *command], environment, folder)


def compare_bits() -> None:
    """Run random programs on both machines. A result with other bits fails."""
    python, tests = ENVIRONMENT / "bin" / "python", ROOT / "tests"
    for title, words, mode in AGREEMENT:
        print(f"comparing the bits of both machines: {title}", flush=True)
        record, compare, *options = words
        file = HERE / "bits.npz"
        more = {"CUPOLA_DRIVER": "cpu", "CUPOLA_CPU_MODE": mode}
        run([sys.executable, *record, file, *options], {**os.environ, **more}, tests)
        emulate([python, *compare, file, *options], more, tests)


def main(arguments: list[str]) -> None:
    check_machine()
    if arguments[:1] == ["--no-build"]:
        del arguments[0]
    else:
        install_system()
        build_wheel()
        install_environment()
    python = ENVIRONMENT / "bin" / "python"
    if arguments[:1] == ["--run"]:
        emulate(arguments[1:])
    else:
        tests = (ROOT / "tests" / "aarch64.txt").read_text().split()
        emulate([python, "-m", "pytest", "-q", "--driver=cpu", *(arguments or tests)])
        if not arguments:
            compare_bits()


if __name__ == "__main__":
    main(sys.argv[1:])
