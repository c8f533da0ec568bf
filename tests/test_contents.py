"""The contents of a device code file, read without a driver; the bytes are not trusted."""

import random
from pathlib import Path

import images
import pytest

import cupola
from cupola import paths
from cupola.image import contents
from cupola.toolkit import ptxas


def survives(path, data):
    """The bytes are read, or refused as an image."""
    path.write_bytes(data)
    try:
        found = contents.read(path)
    except cupola.ImageError as error:
        assert str(path) in str(error)
        return False
    for kernel in found.kernels:
        assert isinstance(kernel.signature, str)
    return True


@pytest.mark.parametrize("form", ["cubin", "fatbin", "ptx"])
def test_mutated_and_truncated_bytes(form, tmp_path):
    rng = random.Random(form)
    good = {
        "cubin": lambda: images.cubin(90),
        "fatbin": lambda: images.fatbin("compute_75", "sm_90"),
        "ptx": images.ptx,
    }[form]()
    data, path = good.read_bytes(), tmp_path / "image"
    assert survives(path, data)
    for size in range(0, len(data), max(1, len(data) // 25)):
        survives(path, data[:size])
    for _ in range(50):
        changed = bytearray(data)
        # Headers lie at the beginning, and a cubin's tables at the end.
        for _ in range(rng.randint(1, 4)):
            at = rng.choice(
                [rng.randrange(200), -1 - rng.randrange(2000), rng.randrange(len(data))]
            )
            changed[at] = rng.choice([0, 0xFF, rng.randrange(256)])
        survives(path, bytes(changed))


def test_forms_agree_on_what_they_tell(tmp_path):
    """Each tells the same kernels, with as many parameters; sizes and types as far as it knows."""
    found = {
        "ptx": contents.read(images.ptx()),
        "cubin": contents.read(images.cubin(90)),
        "fatbin": contents.read(images.fatbin("compute_75", "sm_90")),
        "described": contents.read(images.described()),
    }
    kernels = {
        name: {kernel.name: len(kernel.parameters) for kernel in one.kernels}
        for name, one in found.items()
    }
    assert kernels["ptx"] == kernels["cubin"] == kernels["fatbin"] == kernels["described"]
    module = images.module("described")
    assert set(kernels["ptx"]) == set(module)
    for kernel in found["described"].kernels:
        told = module[kernel.name].params
        assert [one.split()[-1].lstrip("*") for one in kernel.parameters if " " in one] == [
            one.name for one in told if one.name
        ]


def test_targets_keep_their_suffix(tmp_path):
    found = contents.read(images.fatbin("compute_90a", "sm_90a"))
    assert [part.architecture for part in found.parts] == ["sm_90a", "compute_90a"]
    assert {one.architecture for kernel in found.kernels for one in kernel.resources} == {"sm_90a"}


def test_a_program_with_images_inside(tmp_path):
    """Two fatbins and a PTX text among other bytes, as a linker leaves them."""
    first, second = images.fatbin("compute_75", "sm_90"), images.fatbin("compute_75")
    elf = Path(paths.cpu_library()).read_bytes()[:4096]
    # A magic number alone is no fatbin.
    noise = bytes(random.Random(1).randrange(256) for _ in range(64)) + b"\x50\xed\x55\xba"
    path = tmp_path / "program"
    path.write_bytes(
        b"".join([elf, noise, first.read_bytes(), noise, images.SCALE.read_bytes(), b"\0", noise,
                  second.read_bytes()])
    )  # fmt: skip
    found = contents.read(path)
    assert found.kind == "library with 2 fatbins and 1 PTX text"
    code = [(part.what.split()[0], part.architecture) for part in found.parts]
    assert sorted(code)[-1] == ("machine", "sm_90") and len(code) == 4
    names = {kernel.name for kernel in found.kernels}
    assert names == {"scale"} | {kernel.name for kernel in contents.read(first).kernels}


def test_what_ptxas_says():
    lines = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'one' for 'sm_90'
ptxas info    : Function properties for one
    64 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 64 bytes cumulative stack size, 128 bytes smem
ptxas info    : Function properties for called
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'two' for 'sm_90'
ptxas info    : Function properties for two
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
""".splitlines()
    assert ptxas.parse_report(lines, "sm_90") == [
        ("one", contents.Resources("sm_90", 255, 128, 64, 12, 20)),
        ("two", contents.Resources("sm_90", 8, 0, 0, 0, 0)),
    ]
