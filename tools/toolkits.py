# tools/toolkits.py - tests builds and compilations with several CUDA toolkits.
"""``toolkits.py [RELEASE...] [--slice K/N]``: tests with the compilers of these releases.

| release | nvcc | NVRTC, nvJitLink |
| --- | --- | --- |
| 12.4 | Debian's package, with the headers of NVIDIA's wheels | wheels |
| 12.8 | none: its wheel has ptxas alone | wheels |
| 13.0, 13.5 | wheels | wheels |

ptxas of 12.4 and 12.8 must take the PTX that these compilers wrote, after cupola has lowered it.
All toolkits lie below build/toolkits.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "toolkits"
RELEASES = ("12.4", "12.8", "13.0", "13.5")
ASSEMBLERS = ("12.4", "12.8")
# Debian's suite with nvcc 12.4, and the package's folders by the toolkit's.
DEBIAN = {"12.4": ("trixie", "nvidia-cuda-toolkit")}
PLACES = {
    "bin": ("usr/bin", "usr/lib/nvidia-cuda-toolkit/bin"),
    "nvvm/bin": ("usr/lib/nvidia-cuda-toolkit/bin",),
    "nvvm/libdevice": ("usr/lib/nvidia-cuda-toolkit/libdevice",),
}
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
PROFILE = """\
TOP = $(_HERE_)/..
CICC_PATH = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(CICC_PATH):$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib"
"""
OF_NVCC = (
    "tests/build/test_targets.py",
    "tests/build/test_manifest.py",
    "tests/build/test_host_library.py",
    "tests/build/test_older_drivers.py",
)
OF_NVRTC = ("tests/test_compile.py", "tests/test_link.py", "tests/test_newer_ptx.py")


def wheels(release: str) -> list[str]:
    """The requirements of a release's wheels."""
    major, minor = map(int, release.split("."))
    names = ["nvcc", "runtime", "cccl", "nvrtc", "nvtx", "nvjitlink"]
    if major > 12:
        names += ["nvvm", "crt"]
    found = []
    for name in names:
        product = "nvidia" if name in ("nvtx", "nvjitlink", "nvvm") else "nvidia-cuda"
        title = f"{product}-{name}" + ("-cu12" if major == 12 else "")
        # CCCL's wheels of CUDA 13 have other releases.
        newest = f"<{major}.{minor + 1}" if name == "cccl" else f"=={release}.*"
        found.append(title + newest)
    return found


def install(folder: Path, *requirements: str) -> Path:
    """The folder into which pip has installed wheels."""
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*pip, *requirements], check=True)
    return folder


def python(release: str) -> Path:
    """The interpreter of an environment with a release's wheels and this one's packages.
    cuda-pathfinder prefers libraries of wheels to those of the system.
    """
    folder = FOLDER / release / "python"
    made = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, clear=True, symlinks=True)
        install(packages(folder), *wheels(release))
        here = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
        (packages(folder) / "packages.pth").write_text(here)
        (folder / "complete").touch()
    return made


def packages(environment: Path) -> Path:
    """The folder of an environment's packages."""
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))


def toolkit(release: str) -> Path:
    """The folder of a toolkit, laid out as NVIDIA's own: bin, include, lib, nvvm."""
    folder = FOLDER / release / "toolkit"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    made = packages(python(release).parents[1])
    for part in sorted((made / "nvidia").iterdir()):
        for inner in ("bin", "include", "lib", "nvvm"):
            if (part / inner).is_dir():
                copy(part / inner, folder / inner)
    if release in DEBIAN:
        with tempfile.TemporaryDirectory(dir=FOLDER) as work:
            package = debian(*DEBIAN[release], Path(work))
            for inner, places in PLACES.items():
                for place in places:
                    copy(package / place, folder / inner)
        profile = folder / "bin" / "nvcc.profile"
        profile.unlink(missing_ok=True)
        profile.write_text(PROFILE)
    (folder / "complete").touch()
    return folder


def copy(source: Path, target: Path) -> None:
    """Add the files of a folder to another one, by links; they replace those of the same name."""

    def link(old: str, new: str) -> None:
        Path(new).unlink(missing_ok=True)
        os.link(old, new)

    shutil.copytree(source, target, dirs_exist_ok=True, ignore=wrappers, copy_function=link)


def wrappers(_folder: str, names: list[str]) -> list[str]:
    """Files that no toolkit has: those of Python, and Debian's scripts of host compilers."""
    return [name for name in names if name in ("gcc", "g++", "__init__.py", "__pycache__")]


def debian(suite: str, name: str, folder: Path) -> Path:
    """The unpacked package of a suite of Debian, from the mirror that this machine uses. What apt
    keeps lies in the folder.
    """
    form = ["--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)", "Created-By: Packages"]
    listed = subprocess.run(
        ["apt-get", "indextargets", *form], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    own = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    mirrors = [line.split()[2] for line in listed if line.startswith(f"{own} main ")]
    if not mirrors:
        raise SystemExit(f"{name} of Debian {suite}: apt lists no mirror of Debian {own}")
    for inner in ("lists/partial", "cache/archives/partial"):
        (folder / inner).mkdir(parents=True)
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={KEYS}] {mirrors[0]} {suite} non-free\n")
    settings = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",  # another user can't write into the folder
    }
    apt = ["apt-get", "-qq", *(f"-o{key}={value}" for key, value in settings.items())]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "download", name], check=True, cwd=folder)
    (archive,) = folder.glob(f"{name}_*.deb")
    subprocess.run(["dpkg-deb", "-x", archive, folder / "content"], check=True)
    return folder / "content"


def assembler(release: str) -> Path:
    """ptxas of a release, from one wheel where its toolkit is not installed."""
    folder = FOLDER / release / "toolkit"
    if not (folder / "complete").exists():
        folder = FOLDER / release / "ptxas"
    found = [*folder.rglob("bin/ptxas")]
    return (found or [*install(folder, wheels(release)[0]).rglob("bin/ptxas")])[0]


def require(release: str, command: Path, environment: dict[str, str], nvcc: bool) -> None:
    """Raise unless tests use the compilers of a release."""
    code = "from cupola.toolkit.nvrtc import nvrtc; print(*nvrtc().version, sep='.')\n"
    code += "from cupola.build import toolkit; print(toolkit.find().release)" if nvcc else ""
    said = subprocess.run(
        [command, "-c", code], check=True, env=environment, capture_output=True, text=True
    ).stdout
    if not all(line.startswith(release) for line in said.split()):
        raise SystemExit(f"expected the compilers of CUDA {release}, found {said.split()}")
    print(f"CUDA {release}: NVRTC and nvJitLink{' and nvcc' if nvcc else ''}", flush=True)


def test(release: str) -> int:
    """The status of the tests of a toolkit."""
    folder, command = toolkit(release), python(release)
    has_nvcc = (folder / "bin" / "nvcc").exists()
    environment = {
        **os.environ,
        **({"CUDA_HOME": str(folder)} if has_nvcc else {}),
        "CUPOLA_TEST_ASSEMBLERS": os.pathsep.join(str(assembler(one)) for one in ASSEMBLERS),
    }
    require(release, command, environment, has_nvcc)
    tests = [*OF_NVRTC, *(OF_NVCC if has_nvcc else ())]
    pytest = [command, "-m", "pytest", "-q", "--driver=cpu", "-n", "auto", "--dist", "loadfile"]
    return subprocess.run([*pytest, *tests], cwd=ROOT, env=environment, check=False).returncode


def main() -> int:
    """Test each toolkit; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("releases", nargs="*", choices=[[], *RELEASES], default=[])
    parser.add_argument("--slice", default="0/1", metavar="K/N", help="each N-th, from the K-th on")
    given = parser.parse_args()
    first, step = map(int, given.slice.split("/"))
    FOLDER.mkdir(parents=True, exist_ok=True)
    return max([test(one) for one in (given.releases or RELEASES)[first::step]], default=0)


if __name__ == "__main__":
    sys.exit(main())
