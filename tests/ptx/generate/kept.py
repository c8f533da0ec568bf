"""Programs kept with what a device gave for them: they stay what they are when the generator or
the instruction table changes.
"""

import io
import json
import lzma

import numpy as np

from . import batch


def keep(results, count, file):
    """The first so many programs of a record (of ``ptx.fuzz record``), with their text."""
    texts, launches, digests, at = [], [], [], 0
    for first, checksum, size in zip(
        results["first"], results["checksums"], results["counts"], strict=True
    ):
        if len(digests) >= count:
            break
        text, programs = batch.of_seeds(range(int(first), int(first) + int(size)))
        if batch.checksum(text) != checksum:
            raise SystemExit(f"program {first} is another one than when it was recorded")
        texts.append(text)
        launches.append([(p.name, p.grid, p.block_shape) for p in programs])
        digests += results["digests"][at : at + size].tolist()
        at += size
    held = json.dumps({"texts": texts, "launches": launches}).encode()
    np.savez(
        file,
        device=results["device"],
        programs=np.frombuffer(lzma.compress(held, preset=9), np.uint8),
        digests=np.array(digests, np.uint64),
    )


def load(file):
    """(device, modules): of each module its text, launches and digests."""
    with np.load(file) as data:
        held = json.load(io.BytesIO(lzma.decompress(data["programs"].tobytes())))
        digests, device = data["digests"], str(data["device"])
    modules = []
    for text, launches in zip(held["texts"], held["launches"], strict=True):
        modules.append(
            (text, [batch.Launch(*launch) for launch in launches], digests[: len(launches)])
        )
        digests = digests[len(launches) :]
    return device, modules


def write_case(file, program, device, digest, why):
    """A program of its own, as text: what is found differing, made small."""
    shape = ",".join(map(str, program.block_shape))
    about = [f"// {line}" for line in why.splitlines()]
    about += [f"// launch {program.name} {program.grid} {shape}", f"// {device}: {digest:#018x}"]
    file.write_text("\n".join(about) + "\n" + batch.HEAD + program.text())


def read_case(file):
    """(text, launch, digest that the device gave)"""
    text = file.read_text()
    lines = [line[3:] for line in text.splitlines() if line.startswith("// ")]
    name, grid, shape = next(x for x in lines if x.startswith("launch ")).split()[1:]
    digest = int(lines[-1].rsplit(": ", 1)[1], 16)
    return text, batch.Launch(name, int(grid), tuple(map(int, shape.split(",")))), digest
