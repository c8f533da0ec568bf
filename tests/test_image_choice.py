"""Which entry of an image a device takes, for the devices of eight years."""

import struct

import pytest

from cupola.exceptions import ImageError
from cupola.image.reader import Device, choose, read_image

DEVICES = (70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121)
KINDS = {"compute": 1, "sm": 2, "lto": 8}
FLAGS = {"": 0, "a": 0x100000, "f": 0x200000}


def number_of(target):
    return int(target.rstrip("af")), target[-1] if target[-1] in "af" else ""


def elf(number):
    """The least that is machine code: an ELF header of a CUDA device without sections."""
    head = b"\x7fELF\x02\x01\x01\x33\x08".ljust(16, b"\0")
    return head + struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 0, number << 8, 64, 56, 0, 64, 0, 0
    )


def text(target, version):
    return f".version {version}\n.target sm_{target}\n.address_size 64\n".encode()


def fatbin(*entries):
    """A fatbin of "sm_90a" (machine code), "compute_75" or "compute_75 8.0" (PTX), and "lto_90"
    (LTO-IR).
    """
    body = b""
    for entry in entries:
        name, _, version = entry.partition(" ")
        kind, _, target = name.partition("_")
        number, suffix = number_of(target)
        codes = {"sm": elf(number), "lto": b"\xedCN\x7f opaque"}
        code = codes.get(kind) or text(target, version or "8.0")
        code = code.ljust((len(code) + 8) // 8 * 8, b"\0")
        body += struct.pack("<HHIQIIIIIIQQQ", KINDS[kind], 0x101, 64, len(code), 0, 0,
                            0, number, 64, 0, FLAGS[suffix], 0, 0) + code  # fmt: skip
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def taken(entries, capability, **given):
    ((index, reason),) = choose(fatbin(*entries), [Device(capability, **given)])
    assert reason
    return None if index is None else entries[index].partition(" ")[0]


ALL = [f"sm_{n}" for n in ("75", "80", "86", "89", "90", "100", "120")] + ["compute_75"]
EXPECTED = {
    70: None, 72: None, 75: "sm_75", 80: "sm_80", 86: "sm_86", 87: "compute_75", 88: "sm_86",
    89: "sm_89", 90: "sm_90", 100: "sm_100", 101: "compute_75", 103: "sm_100", 110: "compute_75",
    120: "sm_120", 121: "sm_120",
}  # fmt: skip


@pytest.mark.parametrize("capability", DEVICES)
def test_the_full_list(capability):
    assert taken(ALL, capability) == EXPECTED[capability]
    assert taken(ALL[::-1], capability) == EXPECTED[capability]  # the order says nothing


# For each target the devices that run its code; all others need PTX.
TARGETS = {
    "70": (70, 75), "72": (72,), "75": (75,), "80": (80, 86, 88, 89),
    "86": (86, 88, 89), "87": (87,), "88": (88, 89), "89": (89,), "90": (90,),
    "90a": (90,), "100": (100, 103), "100a": (100,), "100f": (100, 103), "101": (101,),
    "101a": (101,), "101f": (101,), "103": (103,), "103a": (103,), "103f": (103,), "110": (110,),
    "110a": (110,), "110f": (110,), "120": (120, 121), "120a": (120,), "120f": (120, 121),
    "121": (121,), "121a": (121,), "121f": (121,),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_each_target(target):
    machine, ptx = f"sm_{target}", f"compute_{target}"
    number, suffix = number_of(target)
    for device in DEVICES:
        assert (taken([machine], device) == machine) is (device in TARGETS[target]), device
        fits = device in TARGETS[target] if suffix else device >= number
        assert (taken([ptx], device) == ptx) is fits, device
        assert (taken([ptx], device, machine_code=False) == ptx) is fits, device
        assert taken([machine], device, machine_code=False) is None


@pytest.mark.parametrize(
    ("entries", "capability", "expected"),
    [
        (["sm_90", "sm_90a", "compute_90a"], 90, "sm_90a"),
        (["sm_100", "sm_100f", "sm_100a"], 100, "sm_100a"),
        (["sm_100", "sm_100f", "sm_100a"], 103, "sm_100f"),
        (["sm_103", "sm_100f", "compute_90"], 103, "sm_100f"),
        (["sm_100a", "sm_100"], 103, "sm_100"),
        (["sm_90a", "compute_75"], 100, "compute_75"),
        (["compute_75", "compute_90", "compute_100"], 90, "compute_90"),
        (["compute_90", "compute_90a", "compute_75"], 90, "compute_90a"),
        (["compute_90a", "compute_75"], 120, "compute_75"),
        (["sm_80", "compute_90"], 90, "compute_90"),
    ],
)
def test_the_order(entries, capability, expected):
    assert taken(entries, capability) == expected
    assert taken(entries[::-1], capability) == expected


def test_what_a_driver_is_too_old_for():
    entries = ["compute_90 9.0", "compute_75 8.4"]
    assert taken(entries, 90) == taken(entries, 90, ptx=90) == "compute_90"
    assert taken(entries, 90, ptx=87) == "compute_75"
    ((index, reason),) = choose(fatbin(*entries), [Device(90, ptx=80)])
    assert index is None
    assert "PTX 9.0 needs a driver of CUDA 13.0 or newer" in reason
    assert "PTX 8.4 needs a driver of CUDA 12.4 or newer" in reason


@pytest.mark.parametrize("target", ["90", "90a", "100f", "120"])
def test_targets_are_read_with_their_suffix(target):
    entries = read_image(fatbin(f"sm_{target}", f"compute_{target}")).entries
    assert [(one.kind, one.target) for one in entries] == [("cubin", target), ("ptx", target)]
    assert read_image(text(target, "8.8")).entries[0].target == target


def test_reasons_name_the_devices():
    ((_, reason),) = choose(fatbin("sm_100f", "sm_90a", "sm_80"), [Device(75)])
    assert "sm_100f is for compute capability 10.0 and 10.3 alone" in reason
    assert "sm_90a is for compute capability 9.0 alone" in reason
    assert "sm_80 needs compute capability 8.0 or newer" in reason


LTO = ["lto_75", "sm_90", "lto_90", "lto_90a", "lto_100f", "compute_75", "lto_100"]


@pytest.mark.parametrize(
    ("capability", "expected"),
    [(70, None), (75, "lto_75"), (90, "lto_90a"), (89, "lto_75"), (103, "lto_100"),
     (100, "lto_100f"), (120, "lto_100")],
)  # fmt: skip
def test_a_linker_takes_lto_ir_first(capability, expected):
    entries = [one for one in LTO if capability != 103 or one != "lto_100f"]
    assert taken(entries, capability, links=True) == expected
    assert taken(entries[::-1], capability, links=True) == expected


def test_no_driver_gets_lto_ir():
    for capability in DEVICES:
        for machine_code in (True, False):
            given = taken(LTO, capability, machine_code=machine_code)
            assert given is None or not given.startswith("lto")
    ((index, reason),) = choose(fatbin("lto_75"), [Device(90)])
    assert index is None and reason == "lto_75 is for cupola.link alone"
    assert taken(["sm_80", "compute_75"], 90, links=True) == "compute_75"


def test_a_truncated_image_is_refused():
    whole = fatbin("sm_90a", "compute_75")
    for size in range(4, len(whole) - 1, 7):
        with pytest.raises(ImageError):
            choose(whole[:size], [Device(90)])
