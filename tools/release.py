# tools/release.py - make everything that a release consists of, and rehearse it; `make release`.
"""``release.py --out dist``: a source distribution, wheels, a bill of materials, digests.

The files are made from the last commit, not from the working tree. Each Python that this machine
has gets a wheel, and a rehearsal in an empty environment. Wheels of this version that lie in the
folder already, such as those of another architecture, are checked and listed with the others.

``release.py --check dist`` compares the files of a folder with its SHA256SUMS.
``release.py --compare`` builds twice, in two folders, and fails where the bytes differ.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import archives
import interpreters
import rehearsal
import sbom
import wheel
from fuzz import setup_module
from requirements import arrays

ROOT = Path(__file__).resolve().parent.parent
SETUP = setup_module()
VERSION = SETUP.VERSION
SUMS = "SHA256SUMS"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def run(command: Iterable[object], folder: Path, **variables: str) -> None:
    """A command whose output is seen as it comes."""
    words = [str(word) for word in command]
    if subprocess.run(words, cwd=folder, env={**os.environ, **variables}).returncode:
        raise SystemExit(f"failed: {' '.join(words)}")


def exported(folder: Path) -> Path:
    """The files of the last commit, and the archive of zstd where this checkout has it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tree = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "HEAD"], check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=tree, check=True)
    codec = SETUP.recipe.codec
    if found := codec.present(ROOT):
        (folder / codec.FOLDER).mkdir(parents=True)
        shutil.copy(found, folder / codec.FOLDER)
    return folder


def sdist(work: Path, out: Path) -> Path:
    """The source distribution."""
    tree, made = exported(work / "tree"), work / "sdist"
    shutil.rmtree(made, ignore_errors=True)
    command = [sys.executable, "setup.py", "--quiet", "egg_info", "--egg-base", work]
    run([*command, "sdist", "--dist-dir", made], tree)
    (path,) = made.glob("*.tar.gz")
    archives.normalize(path, archives.moment())
    return Path(shutil.move(path, out / path.name))


def unpacked(archive: Path, work: Path) -> Path:
    """The sources of a distribution. Objects of an earlier run stay: the build compares them."""
    folder, kept = work / "source", work / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    for build in folder.glob("cupola-*/build"):
        build.rename(kept)
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(archive) as file:
        file.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (source,) = folder.glob("cupola-*")
    if kept.is_dir():
        kept.rename(source / "build")
    return source


def built(source: Path, python: Path, work: Path, out: Path) -> Path:
    """The wheel of a source tree for one Python, under the name of the oldest system."""
    environment, raw = work / "pythons" / python.name, work / "wheel"
    interpreter = environment / "bin" / "python"
    shutil.rmtree(raw, ignore_errors=True)
    for old in (*source.glob("build/lib.*"), *source.glob("build/bdist.*")):
        shutil.rmtree(old)
    run([python, "-m", "venv", "--clear", "--without-pip", environment], work)
    needs = arrays((ROOT / "pyproject.toml").read_text())["requires"]
    pip = [*PIP, "--python", interpreter]
    run([*pip, "install", "--quiet", *needs, *rehearsal.toolkit_requirements()], work)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", raw]
    when = str(archives.moment())
    run([*pip, "wheel", *options, source], work, CUPOLA_PORTABLE="1", SOURCE_DATE_EPOCH=when)
    (made,) = raw.glob("*.whl")
    done = wheel.repaired(made, out)
    print(wheel.sizes(done), flush=True)
    if found := wheel.problems(made, done):
        raise SystemExit("\n".join(f"{done.name}: {one}" for one in found))
    return done


def artifacts(out: Path) -> list[Path]:
    """The source distribution and the wheels of this version in a folder."""
    prefix = f"cupola-{VERSION}"
    return sorted([*out.glob(f"{prefix}.tar.gz"), *out.glob(f"{prefix}-*.whl")])


def check_contents(wheels: Iterable[Path]) -> None:
    """Run check-wheel-contents; pyproject.toml has the codes that it leaves out."""
    run([sys.executable, "-m", "check_wheel_contents", *wheels], ROOT)


def write_bill(out: Path) -> Path:
    """The bill of materials, checked against its schema."""
    toolkit, codec = SETUP.build.toolkit.find(), SETUP.recipe.codec
    wheels = [path for path in artifacts(out) if path.suffix == ".whl"]
    inside = [sbom.zstd(codec), *sbom.cython(wheels), *sbom.toolkit_components(wheels, toolkit)]
    text = sbom.text(sbom.bill(VERSION, artifacts(out), inside, archives.moment()))
    if found := sbom.problems(text):
        raise SystemExit(f"the bill of materials breaks CycloneDX's schema: {found[0]}")
    path = out / f"cupola-{VERSION}.cdx.json"
    path.write_text(text)
    return path


def write_sums(out: Path, files: Iterable[Path]) -> None:
    """SHA256SUMS, as `sha256sum --check` reads it."""
    lines = [f"{sbom.digest(path)}  {path.name}\n" for path in sorted(files)]
    (out / SUMS).write_text("".join(lines))


def check_sums(folder: Path) -> list[str]:
    """The files that differ from SHA256SUMS: a truncated download, another build."""
    path = folder / SUMS
    if not path.is_file():
        return [f"{path} is missing: it comes with the files of a release"]
    found = []
    for line in path.read_text().splitlines():
        wanted, _, name = line.partition("  ")
        file = folder / name
        if not file.is_file():
            found.append(f"{name} is missing")
        elif (digest := sbom.digest(file)) != wanted:
            found.append(
                f"{name} has {file.stat().st_size} bytes with SHA-256 {digest}, expected {wanted}: "
                "it is truncated or of another build; download it again"
            )
    return found


def differences(one: Path, two: Path) -> list[str]:
    """The members of two archives of one name that differ."""
    first, second = members(one), members(two)
    return sorted(n for n in first.keys() | second.keys() if first.get(n) != second.get(n))


def members(path: Path) -> dict[str, bytes]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel_file:
            return {name: wheel_file.read(name) for name in wheel_file.namelist()}
    with tarfile.open(path) as file:
        opened = ((e.name, file.extractfile(e)) for e in file.getmembers())
        return {name: content.read() for name, content in opened if content is not None}


def compare(work: Path) -> int:
    """Two builds in folders of different lengths, with other seeds, jobs and umasks."""
    made = []
    for name, seed, jobs, mask in (("one", "1", "2", 0o022), ("the-second", "2", "3", 0o077)):
        out = work / name / "out"
        shutil.rmtree(work / name, ignore_errors=True)
        out.mkdir(parents=True)
        os.environ |= {"PYTHONHASHSEED": seed, "CUPOLA_BUILD_JOBS": jobs}
        os.umask(mask)
        archive = sdist(work / name, out)
        source = unpacked(archive, work / name)
        made.append((archive, built(source, Path(sys.executable), work / name, out)))
    status = 0
    for one, two in zip(*made, strict=True):
        if one.read_bytes() == two.read_bytes():
            print(f"{one.name}: equal bytes, SHA-256 {sbom.digest(one)}")
        else:
            differing = ", ".join(differences(one, two)) or "the archive itself"
            print(f"{one.name}: two builds differ in {differing}", file=sys.stderr)
            status = 1
    return status


def pythons_of(tags: list[str]) -> dict[str, Path]:
    """The interpreters of these tags; it is an error where there is none."""
    pythons = interpreters.found(tags)
    if not pythons:
        raise SystemExit(f"there is no Python of {', '.join(tags)}: install one, with its headers")
    return pythons


def make(out: Path, work: Path, tags: list[str]) -> int:
    """Everything, for the Pythons of `tags`."""
    source = unpacked(sdist(work, out), work)
    for python in pythons_of(tags).values():
        built(source, python, work, out)
    return finish(out, work, tags)


def check_tag(tag: str) -> None:
    """A tag is that of the version in package/cupola/version.py."""
    if tag != f"v{VERSION}":
        raise SystemExit(
            f"the tag is {tag!r}, expected 'v{VERSION}', after package/cupola/version.py"
        )


def finish(out: Path, work: Path, tags: list[str]) -> int:
    """The checks, the bill and the digests of the files in a folder, and the rehearsal of them."""
    pythons = pythons_of(tags)
    files = artifacts(out)
    check_contents(path for path in files if path.suffix == ".whl")
    write_sums(out, [*files, write_bill(out)])
    for tag, python in pythons.items():
        for line in rehearsal.rehearse(python, out, VERSION, work):
            print(f"{tag}: {line}", flush=True)
    missing = [tag for tag in tags if tag not in pythons]
    for line in (out / SUMS).read_text().splitlines():
        print(line)
    if missing:
        print(f"no wheels for {', '.join(missing)}: this machine lacks these Pythons")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the files")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="compare with SHA256SUMS")
    parser.add_argument("--compare", action="store_true", help="build twice, and compare")
    parser.add_argument("--sdist", action="store_true", help="make the source distribution alone")
    parser.add_argument("--collected", metavar="TAG", help="build nothing, for this tag of git")
    parser.add_argument("tags", nargs="*", metavar="TAG", help="Pythons, such as cp312 (all)")
    options = parser.parse_args()
    work = options.work.resolve()
    if options.check:
        problems = check_sums(options.check)
        print("\n".join(problems or [f"{options.check}: all files are those of {SUMS}"]))
        return 1 if problems else 0
    if options.compare:
        return compare(work / "compare")
    out, tags = options.out.resolve(), options.tags or list(interpreters.TAGS)
    for folder in (out, work):
        folder.mkdir(parents=True, exist_ok=True)
    if options.sdist:
        print(sdist(work, out))
        return 0
    if options.collected is None:
        return make(out, work, tags)
    check_tag(options.collected)
    return finish(out, work, tags)


if __name__ == "__main__":
    sys.exit(main())
