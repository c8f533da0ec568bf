# tests/build/test_toolkit.py - which nvcc is taken, and what is said of those that are not.
import stat
from pathlib import Path

import pytest

from cupola.build import backend, executor, image, toolkit
from cupola.build.error import BuildError
from cupola.build.targets import Target, names
from cupola.image import reader


@pytest.fixture
def fake(tmp_path):
    """Makes a folder with an nvcc that answers as one of that release and PTX version does."""

    def make(name, release="13.0.88", ptx="9.0", headers=True, mode=0o755):
        home = tmp_path / name
        (home / "bin").mkdir(parents=True)
        (home / "include").mkdir()
        if headers:
            (home / "include" / "cuda.h").touch()
        nvcc = home / "bin" / "nvcc"
        nvcc.write_text(
            "#!/bin/sh\n"
            'case "$*" in\n'
            f"*--version*) echo 'Cuda compilation tools, release 0.0, V{release}' ;;\n"
            f"""*--dryrun*) echo '#$ INCLUDES="-I{home}/include"' >&2 ;;\n"""
            "*--help*) echo \"--gpu-architecture: 'compute_75','compute_90','compute_90a'\" ;;\n"
            f"*--ptx*) printf '//\\n.version {ptx}\\n.target sm_75\\n' ;;\n"
            "esac\n"
        )
        nvcc.chmod(mode)
        return home

    return make


@pytest.fixture
def bare(monkeypatch):
    """Hides the wheels and the distribution's own headers."""
    monkeypatch.setattr(toolkit, "_wheel_compilers", lambda: iter(()))
    toolkit._examine.cache_clear()


def verdicts(environment):
    return {place.origin: place.verdict for place in toolkit.places(environment)}


def test_order_is_home_path_root_then_the_search_path(fake, bare):
    homes = {name: str(fake(name)) for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")}
    homes["PATH"] = str(fake("elsewhere") / "bin")
    for expected in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "PATH"):
        found = toolkit.find(homes)
        assert found.origin == expected
        assert found.nvcc.is_relative_to(Path(homes[expected]).parent)
        del homes[expected]


def test_what_is_known_of_a_toolkit(fake, bare):
    home = fake("cuda")
    found = toolkit.find({"CUDA_HOME": str(home)})
    assert (found.release, found.version, found.ptx) == ("13.0.88", (13, 0), (9, 0))
    assert found.include == (home / "include",)
    assert names(found.architectures()) == "sm_75, sm_90, sm_90a"


@pytest.mark.parametrize(
    ("release", "ptx", "reason"),
    [
        ("12.3.107", "8.3", "too old"),
        ("11.8.89", "7.8", "too old"),
    ],
)
def test_unsuitable_versions_are_passed_over_with_the_reason(fake, bare, release, ptx, reason):
    old, good = fake("unsuitable", release, ptx), fake("good")
    environment = {"CUDA_HOME": str(old), "CUDA_PATH": str(good)}
    assert toolkit.find(environment).origin == "CUDA_PATH"
    assert reason in verdicts(environment)["CUDA_HOME"]
    with pytest.raises(BuildError, match=reason):
        toolkit.find({"CUDA_HOME": str(old)})


@pytest.mark.parametrize("release", ["12.4.131", "12.8.93", "12.9.86", "13.0.48", "13.5.37"])
def test_suitable_versions(fake, bare, release):
    ptx = {"12.4": "8.4", "12.8": "8.7", "12.9": "8.8", "13.0": "9.0", "13.5": "9.5"}[release[:4]]
    assert toolkit.find({"CUDA_HOME": str(fake("a", release, ptx))}).release == release


def test_each_place_says_what_was_wrong_with_it(fake, bare, monkeypatch):
    monkeypatch.setattr(toolkit, "_includes", lambda plan: ())
    environment = {
        "CUDA_HOME": "/nowhere",
        "CUDA_PATH": str(fake("plain", mode=0o644)),
        "CUDA_ROOT": str(fake("headless", headers=False)),
    }
    found = verdicts(environment)
    assert found["CUDA_HOME"] == "no such file"
    assert found["CUDA_PATH"] == "not executable"
    assert "no cuda.h" in found["CUDA_ROOT"]
    assert found["PATH"] == "no nvcc on it"


def test_a_program_that_is_no_compiler(fake, bare):
    home = fake("odd")
    for text in ("#!/bin/sh\necho hello\n", "#!/bin/sh\nexit 3\n", "no program\n"):
        (home / "bin" / "nvcc").write_text(text)
        toolkit._examine.cache_clear()
        with pytest.raises(BuildError, match="no suitable CUDA compiler"):
            toolkit.find({"CUDA_HOME": str(home)})


def test_the_error_names_every_place_and_both_remedies(bare):
    with pytest.raises(BuildError) as caught:
        toolkit.find({"CUDA_PATH": "/opt/missing", "PATH": "/nowhere"})
    text = str(caught.value)
    for part in (
        "CUDA_HOME: not set",
        "CUDA_PATH: /opt/missing/bin/nvcc: no such file",
        "PATH: no nvcc on it",
        "wheels: nvidia-cuda-nvcc is not installed",
        "install a CUDA toolkit",
        "pip install 'cuda-toolkit[nvcc,cudart,cccl,nvtx]==13.0.*'",
    ):
        assert part in text


def test_wheels_are_a_build_requirement_only_where_nothing_suits(fake, monkeypatch):
    for variable in toolkit.VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    assert toolkit.requirements() == [toolkit.REQUIREMENT]
    assert toolkit.REQUIREMENT in backend.get_requires_for_build_wheel()
    assert toolkit.REQUIREMENT in backend.get_requires_for_build_editable()
    monkeypatch.setenv("CUDA_HOME", str(fake("old", "12.3.107", "8.3")))
    assert toolkit.requirements() == [toolkit.REQUIREMENT]
    monkeypatch.setenv("CUDA_HOME", str(fake("good")))
    assert toolkit.requirements() == []


def test_wheel_compiler_is_found_by_its_metadata(fake, tmp_path, monkeypatch):
    home = fake("site/nvidia/cu13")
    record = tmp_path / "site" / "nvidia_cuda_nvcc-13.0.88.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Name: nvidia-cuda-nvcc\nVersion: 13.0.88\n")
    (record / "RECORD").write_text("nvidia/cu13/bin/nvcc,,\nnvidia/cu13/bin/ptxas,,\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    found = toolkit.find({"PATH": "/nowhere"})
    assert found.nvcc == home / "bin" / "nvcc"
    assert found.origin == "wheel nvidia-cuda-nvcc 13.0.88"
    with pytest.raises(BuildError):
        toolkit.find({"PATH": "/nowhere"}, wheels=False)


def test_the_toolkit_of_this_build():
    found = toolkit.find()
    assert (found.include[0] / "cuda.h").is_file()
    assert found.version >= toolkit.OLDEST
    assert Target(75) in found.architectures()
    assert found.nvcc.stat().st_mode & stat.S_IXUSR


def test_machine_code_of_several_architectures_is_packed_together(tmp_path):
    source = tmp_path / "k.cu"
    source.write_text('extern "C" __global__ void f(int* x) { x[threadIdx.x] += 1; }')
    targets = [Target(75), Target(80)]
    steps = image.compile_code(
        toolkit.find(), Path("k.cu"), Path("k.fatbin"), [], targets, tmp_path
    )
    executor.run(steps, tmp_path)
    packed = (tmp_path / "k.fatbin").read_bytes()
    assert reader.is_packed(packed)
    kinds = [(entry.kind, entry.architecture) for entry in reader.read_image(packed).entries]
    assert kinds == [("cubin", 75), ("cubin", 80)]
    plain = (tmp_path / "k.compiled.fatbin").read_bytes()
    assert not reader.is_packed(plain) and len(packed) < len(plain) / 3
