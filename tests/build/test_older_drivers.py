# tests/build/test_older_drivers.py - PTX gets the lowest version that it needs.
import struct
from pathlib import Path

import images
import pytest

from cupola.build import executor, older_drivers
from cupola.exceptions import ImageError
from cupola.image import ptx_version, reader
from cupola.image.reader import read_fatbin, read_image

PLAIN = """//
// made by a compiler
//
.version 9.5
.target sm_75
.address_size 64
.visible .entry plain(.param .u64 p) {
.reg .b64 %d<3>;
ld.param.u64 %d1, [p];
ret;
}
"""
NEWER = PLAIN.replace("sm_75", "sm_90").replace(
    "ret;", ".reg .b128 %q;\nlater.instruction.u32 %d1, %d2;\nret;"
)
CLUSTER = (
    PLAIN.replace("plain", "cluster")
    .replace("sm_75", "sm_90")
    .replace("ret;", "fence.acquire.gpu;\nret;")
)


def fatbin(*texts, flags=0):
    body = b""
    for text in texts:
        code = text.encode() + b"\0" * (8 - len(text) % 8)
        body += struct.pack("<HHIQIIIIIIQQQ", 1, 0x101, 64, len(code), 0, 0, 0x90005, 75, 64, 0,
                            flags, 0, 0) + code  # fmt: skip
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_the_version_of_a_text():
    text, [(level, found)] = ptx_version.lowered(PLAIN.encode())
    assert level == "PTX compute_75"
    assert text == PLAIN.replace("9.5", "6.3").encode()
    assert (found.written, found.needed, found.cuda) == (95, 63, "10.0")
    assert ptx_version.lowered(text)[0] == text


def test_what_needs_a_newer_driver_is_named():
    text, [(_, found)] = ptx_version.lowered(CLUSTER.encode())
    assert b".version 8.6\n" in text
    assert str(found) == (
        "needs a driver of CUDA 12.7 or newer (PTX 8.6), for kernel or function cluster, line 10: "
        "fence.acquire.gpu"
    )


def test_what_is_unknown_keeps_its_version():
    text, [(_, found)] = ptx_version.lowered(NEWER.encode())
    assert text == NEWER.encode()
    assert "CUDA 13.5 or newer (PTX 9.5)" in str(found)
    assert str(found).endswith("line 11: later.instruction.u32, which cupola does not know")


def test_a_fatbin():
    image, found = ptx_version.lowered(fatbin(PLAIN, CLUSTER))
    first, second = read_fatbin(image)
    assert (first.version, second.version) == ("6.3", "8.6")
    assert first.payload == PLAIN.replace("9.5", "6.3").encode()
    assert struct.unpack_from("<I", image, 16 + 24)[0] == 0x60003
    assert [level for level, _ in found] == ["PTX compute_75", "PTX compute_75"]


def test_images_that_cannot_be_read():
    whole = fatbin(PLAIN)
    for size in (3, 15, 40, 100, len(whole) - 1):
        with pytest.raises(ImageError):
            ptx_version.lowered(whole[:size])
    with pytest.raises(ImageError):
        ptx_version.lowered(fatbin("no ptx"))
    with pytest.raises(ImageError, match="compressed image: remove its options"):
        reader.lowered(fatbin(PLAIN, flags=0x8000))


def test_a_version_of_more_digits_keeps_the_size():
    longer = PLAIN.replace("9.5", "10.0").encode()
    text, [(_, found)] = ptx_version.lowered(longer)
    assert text == longer.replace(b"10.0", b"6.3 ") and found.written == 100


def test_comments_before_the_version():
    text = PLAIN.replace("//\n", "/* .version 9.5 */ // .version 9.5\n").encode()
    lower, _ = ptx_version.lowered(text)
    assert lower == text.replace(b"\n.version 9.5", b"\n.version 6.3")


KERNELS = """
__global__ void first(float* x) { *x += 1; }
__global__ void second(float* x) { asm volatile("fence.sc.cluster;"); *x += 1; }
void launch(float* x) { first<<<1, 1>>>(x); second<<<1, 1>>>(x); }
"""


@pytest.mark.parametrize("relocatable", [False, True])
def test_an_object_of_a_host_library(tmp_path, capfd, relocatable):
    (tmp_path / "k.cu").write_text(KERNELS)
    codes = [f"-gencode=arch=compute_{n},code=compute_{n}" for n in (75, 80)]
    options = ["-c", "-no-compress", f"-rdc={str(relocatable).lower()}", *codes]
    images.compile_with_nvcc(tmp_path / "k.cu", tmp_path / "k.compiled.o", *options)
    step = older_drivers.step(Path("k.compiled.o"), Path("k.o"), tmp_path, "waves.native")
    executor.run([step], tmp_path)
    made, lowered = ((tmp_path / name).read_bytes() for name in ("k.compiled.o", "k.o"))
    assert len(made) == len(lowered) and made != lowered
    found = read_image(lowered)
    assert found.kind == "library" and [one.version for one in found.entries] == ["7.8", "7.8"]
    output = capfd.readouterr().out
    for level in ("75", "80"):
        text = f"waves.native: PTX compute_{level} needs a driver of CUDA 11.8 or newer (PTX 7.8), "
        assert text + "for kernel or function second(float*)" in output


def test_a_build_says_what_needs_a_newer_driver(tmp_path, capfd):
    (tmp_path / "made.ptx").write_text(CLUSTER)
    step = older_drivers.step(Path("made.ptx"), Path("out/k.ptx"), tmp_path, "waves.kernels")
    executor.run([step], tmp_path)
    assert (
        "waves.kernels: PTX compute_90 needs a driver of CUDA 12.7 or newer"
        in capfd.readouterr().out
    )
    assert ".version 8.6" in (tmp_path / "out/k.ptx").read_text()
