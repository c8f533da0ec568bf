# tests/test_release.py - the parts of `make release`; tests/install makes a wheel of one.
import json
import os
import re
import sys
import tarfile
import types
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))  # before the package `wheel`
sys.path.append(str(ROOT / "benchmarks"))
import bench_wheel  # noqa: E402
import interpreters  # noqa: E402
import rehearsal  # noqa: E402
import release  # noqa: E402
import sbom  # noqa: E402
import wheel  # noqa: E402

WHEN = 1_700_000_000


def test_sums_find_truncated_and_missing_files(tmp_path):
    names = ("cupola-1-cp312.whl", "cupola-1.tar.gz")
    for name in names:
        (tmp_path / name).write_bytes(name.encode() * 100)
    assert release.check_sums(tmp_path) == [
        f"{tmp_path / 'SHA256SUMS'} is missing: it comes with the files of a release"
    ]
    release.write_sums(tmp_path, [tmp_path / name for name in names])
    assert release.check_sums(tmp_path) == []
    content = (tmp_path / names[0]).read_bytes()
    (tmp_path / names[0]).write_bytes(content[:700])
    (tmp_path / names[1]).unlink()
    truncated, missing = release.check_sums(tmp_path)
    assert re.fullmatch(
        r"cupola-1-cp312.whl has 700 bytes with SHA-256 \w{64}, expected \w{64}: "
        r"it is truncated or of another build; download it again",
        truncated,
    )
    assert missing == "cupola-1.tar.gz is missing"


def test_members_that_differ_are_named(tmp_path):
    for name, text in (("one", b"1"), ("two", b"2")):
        with zipfile.ZipFile(tmp_path / f"{name}.whl", "w") as file:
            file.writestr("cupola/same.py", b"")
            file.writestr("cupola/lib/libcupola.so", text)
            file.writestr(f"cupola/{name}.py", b"")
    found = release.differences(tmp_path / "one.whl", tmp_path / "two.whl")
    assert found == ["cupola/lib/libcupola.so", "cupola/one.py", "cupola/two.py"]


def test_this_python_is_found_and_a_failing_one_is_not(tmp_path, monkeypatch):
    gil = "" if sys.version_info < (3, 13) or sys._is_gil_enabled() else "t"
    tag = f"cp3{sys.version_info.minor}{gil}"
    name = interpreters.file_name(tag)
    shim = tmp_path / "shims" / name
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).symlink_to(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}{os.pathsep}{tmp_path / 'bin'}")
    found = interpreters.found([tag, "cp399"])
    assert list(found) == [tag]
    assert interpreters.executable(tmp_path / "bin" / name, "cp399") is None
    assert interpreters.file_name("cp313t") == "python3.13t"
    with pytest.raises(SystemExit, match="py3: expected a tag such as cp312"):
        interpreters.file_name("py3")


def test_the_rehearsal_runs_the_first_program():
    program = rehearsal.first_program((ROOT / "README.md").read_text())
    assert "import cupola" in program and "```" not in program
    with pytest.raises(SystemExit, match="no program in Python"):
        rehearsal.first_program("```sh\nmake\n```\n")


def test_a_rehearsal_has_no_index_and_nothing_of_this_checkout(tmp_path, monkeypatch):
    monkeypatch.setenv("CUPOLA_LIBRARY", "elsewhere")
    monkeypatch.setenv("PIP_FIND_LINKS", "elsewhere")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    environment = rehearsal.environment_of(tmp_path, [tmp_path / "dist"])
    assert environment["PIP_NO_INDEX"] == "1"
    assert environment["PIP_FIND_LINKS"] == (tmp_path / "dist").as_uri()
    assert "elsewhere" not in environment.values()
    assert environment["PATH"].startswith(str(tmp_path / "venv" / "bin"))


def bill(tmp_path):
    archive = tmp_path / "zstandard.tar.gz"
    header = tmp_path / "zstd.h"
    header.write_text(
        "#define ZSTD_VERSION_MAJOR 1\n#define ZSTD_VERSION_MINOR    5\n"
        "#define ZSTD_VERSION_RELEASE  7\n"
    )
    with tarfile.open(archive, "w:gz") as file:
        file.add(header, "zstandard-0.25.0/zstd/zstd.h")
    codec = types.SimpleNamespace(
        PACKAGE="zstandard", VERSION="0.25.0", SHA256="0" * 64, present=lambda root: archive
    )
    with zipfile.ZipFile(tmp_path / "cupola-1-cp312.whl", "w") as file:
        file.writestr("cupola/lib/kernels.json", '{"toolkit": "13.0.88"}')
        file.writestr("cupola/_shared.so", b"\0_cython_3_1_2.generator\0")
    (wheel_file,) = tmp_path.glob("*.whl")
    include = tmp_path / "include" / "cccl" / "cuda" / "std" / "__cccl"
    include.mkdir(parents=True, exist_ok=True)
    (include / "version.h").write_text("#define CCCL_VERSION 3000001\n")
    toolkit = types.SimpleNamespace(release="13.0.88", include=[tmp_path / "include"])
    wheels = [wheel_file]
    inside = [sbom.zstd(codec), *sbom.cython(wheels), *sbom.toolkit_components(wheels, toolkit)]
    return sbom.bill("1.2.3", [wheel_file], inside, WHEN)


def test_the_bill_lists_what_is_inside_and_what_pip_installs(tmp_path):
    document = bill(tmp_path)
    versions = {one["name"]: one.get("version") for one in document["components"]}
    assert versions["zstd"] == "1.5.7" and versions["CCCL"] == "3.0.1"
    assert versions["Cython"] == "3.1.2"
    assert versions["libdevice"] == versions["NVTX"] == "13.0.88"
    requirements = [
        one["properties"][0]["value"] for one in document["components"] if "properties" in one
    ]
    assert requirements == release.arrays((ROOT / "pyproject.toml").read_text())["dependencies"]
    assert all(one.get("licenses") for one in document["components"] if "version" in one)
    references = {one["bom-ref"] for one in document["components"]}
    assert set(document["dependencies"][0]["dependsOn"]) == references
    about = document["metadata"]["component"]
    assert (about["name"], about["version"]) == ("cupola", "1.2.3")
    (distribution,) = about["externalReferences"]
    assert distribution["url"] == "cupola-1-cp312.whl"
    assert distribution["hashes"][0]["content"] == sbom.digest(tmp_path / "cupola-1-cp312.whl")
    assert sbom.text(document) == sbom.text(bill(tmp_path))


def test_the_bill_names_each_foreign_header(tmp_path):
    """A header of another project that csrc includes has a component, or is a declaration alone."""
    declarations = {"cuda.h", "cudaTypedefs.h", "cudaProfilerTypedefs.h", "cuda_runtime_api.h"}
    components = {"cub/": "CCCL", "cuda/": "CCCL", "nvtx3/": "NVTX", "zstd.h": "zstd"}
    listed = {one["name"] for one in bill(tmp_path)["components"]}
    used = set()
    for path in (ROOT / "csrc").rglob("*"):
        if path.suffix in (".h", ".hpp", ".cuh", ".cpp", ".cu"):
            used |= set(re.findall(r"#\s*include <([^>]+)>", path.read_text()))
    system = ("sys/", "linux/", "netinet/", "arpa/", "asm/")
    foreign = {
        name
        for name in used - declarations
        if name.startswith(("cu", "nv", "zstd")) or ("/" in name and not name.startswith(system))
    }
    assert {"zstd.h", "nvtx3/nvToolsExt.h"} <= foreign
    for name in foreign - {"cuda_fp16.h", "cuda_bf16.h", "cupola/makers.cuh"}:
        prefix = next((one for one in components if name.startswith(one)), None)
        assert prefix is not None and components[prefix] in listed, name


def test_a_wheel_of_another_toolkit_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as file:
        file.writestr("cupola/lib/kernels.json", '{"toolkit": "12.9.1"}')
        file.writestr("cupola/_shared.so", b"")
    toolkit = types.SimpleNamespace(release="13.0.88", include=[])
    with pytest.raises(
        SystemExit, match=r"several toolkits, \['12.9.1', '13.0.88'\]: expected one"
    ):
        sbom.toolkit_components([tmp_path / "a.whl"], toolkit)
    with pytest.raises(SystemExit, match=r"a\.whl: cupola/_shared.so names no version of Cython"):
        sbom.cython([tmp_path / "a.whl"])
    with pytest.raises(SystemExit, match="no folder of headers has CCCL"):
        sbom.cccl_version([tmp_path])


def test_a_wheel_that_names_a_folder_of_this_machine_is_refused(tmp_path):
    path = tmp_path / f"cupola-1-{wheel.OLDEST}.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("cupola/version.py", f"made in {ROOT}/csrc")
        file.writestr("cupola-1.dist-info/licenses/LICENSE", b"")
    found = wheel.problems(path, path)
    assert f"cupola/version.py names {ROOT}, a folder of this machine" in found
    assert "the licences ['cub.txt', 'zstd.txt'] are missing" in found


def test_the_tag_is_that_of_the_version():
    release.check_tag(f"v{release.VERSION}")
    with pytest.raises(SystemExit, match=r"the tag is 'v9.9', expected 'v0\..*version.py"):
        release.check_tag("v9.9")
    with pytest.raises(SystemExit, match="no Python of cp399: install one"):
        release.pythons_of(["cp399"])


@pytest.mark.parametrize(
    ("code", "goal"),
    [([75, 80, 86, 90, 100, 120], "value <= 6500000"), ([75, 80, 90, 100], None)],
)
def test_sizes_have_goals_where_a_wheel_has_all_architectures(tmp_path, code, goal):
    path = tmp_path / "cupola.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        manifest = json.dumps({"architectures": {"cubin": code, "ptx": [75]}})
        file.writestr("cupola/lib/kernels.json", manifest)
        file.writestr("cupola/lib/algorithms/sort.packed", bytes(1000))
        file.writestr("cupola/lib/cpu/libcupola_cpu.so.1", bytes(2000))
        file.writestr("cupola/kernel.so", bytes(500))
    rows = {row.what: row for row in bench_wheel.rows(path)}
    assert rows["the wheel"].value == path.stat().st_size and rows["the wheel"].goal == goal
    assert rows["its installation"].value == 3500 + len(manifest)
    assert rows["kernels of algorithms: installed"].value == 1000
    assert rows["the CPU device: installed"].value == 2000
    assert rows["Cython modules: installed"].value == 500
    assert rows["Cython modules: in the wheel"].value < 100
