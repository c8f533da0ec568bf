"""Programs kept with what a device gave for them: they stay what they are when the generator or
the instruction table changes.
"""

import json
import lzma

import numpy as np

from . import batch

MODULE = 50  # programs


def keep(device, results, file):
    """Programs of a record (of ``ptx.fuzz record``), with their text."""
    texts, launches = [], []
    for at in range(0, len(results), MODULE):
        part = results[at : at + MODULE]
        text, programs = batch.of_seeds(part["number"].tolist())
        if [batch.checksum(p.text()) for p in programs] != part["text"].tolist():
            raise SystemExit(f"programs from {part['number'][0]} on are not those recorded")
        texts.append(text)
        launches.append([(p.name, p.grid, p.block_shape) for p in programs])
    _save(file, device, _packed(texts, launches), results["digest"])


def collect(cases, file):
    """Programs that were made small, each a file of `write_case`, with what its device gave."""
    texts, launches, digests = [], [], []
    for at in range(0, len(cases), MODULE):
        part = [read_case(case) for case in cases[at : at + MODULE]]
        texts.append(batch.HEAD + "".join(text.partition(batch.HEAD)[2] for text, *_ in part))
        launches.append([tuple(launch) for _, launch, _ in part])
        digests += [digest for *_, digest in part]
    device = cases[0].read_text().split(batch.HEAD)[0].rpartition("// ")[2].rpartition(": ")[0]
    _save(file, device, _packed(texts, launches), np.array(digests, np.uint64))


def again(driver, file, into):
    """The same programs, with what they leave on this driver."""
    found = [batch.digests(batch.run(driver, text, of)) for text, of, _ in load(file)[1]]
    with np.load(file) as data:
        _save(
            into,
            f"{driver.name()}, driver {driver.version()}",
            data["programs"],
            np.concatenate(found),
        )
    return sum(map(len, found))


def _packed(texts, launches):
    held = json.dumps({"texts": texts, "launches": launches}).encode()
    return np.frombuffer(lzma.compress(held, preset=9), np.uint8)


def _save(file, device, programs, digests):
    np.savez(file, device=device, programs=programs, digests=digests)


def load(file):
    """(device, modules): of each module its text, launches and digests."""
    with np.load(file) as data:
        held = json.loads(lzma.decompress(data["programs"].tobytes()))
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
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(about) + "\n" + batch.HEAD + program.text())


def read_case(file):
    """(text, launch, digest that the device gave)"""
    text = file.read_text()
    lines = [line[3:] for line in text.splitlines() if line.startswith("// ")]
    name, grid, shape = next(x for x in lines if x.startswith("launch ")).split()[1:]
    digest = int(lines[-1].rsplit(": ", 1)[1], 16)
    return text, batch.Launch(name, int(grid), tuple(map(int, shape.split(",")))), digest
