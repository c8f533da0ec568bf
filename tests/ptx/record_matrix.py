"""Records what a device makes of the instructions on matrices, for test_matrix.py.

    CUPOLA_TEST_DRIVER=libcuda.so.1 python -m ptx.record_matrix FILE.npz [--cases N] [--seed S]

Run in the folder tests. Inputs come from the seed; of most results the file holds digests.
"""

import argparse
import hashlib

import numpy as np

from . import matrix
from .driver import Driver


def run_one(module, form, cases, seed):
    """Fragments of D of a mma.sync or mma.sp."""
    out = matrix.output(form, cases)
    module.run("k", cases, 32, [*matrix.inputs(form, cases, seed), out])
    return out


def empty_fragment(form, operand, cases):
    dtype = np.uint64 if form.width(operand) == 8 else np.uint32
    return np.zeros((cases, form.registers(operand), 32), dtype)


def run_whole(module, form, matrices):
    """D, and the fragments of a, b, c and d, of a wmma.mma over [case, word] matrices."""
    cases = len(matrices[0])
    width = form.width("d")
    words = form.count("d") * matrix.BITS[form.d] // (8 * width)
    d = np.zeros((cases, words), np.uint64 if width == 8 else np.uint32)
    fragments = [empty_fragment(form, o, cases) for o in "abcd"]
    module.run("k", cases, 32, [*matrices, d, *fragments])
    return d, fragments


def run_group(module, form, a, b, c, e=None, descriptors=None, offsets=(0, 0), add=1):
    """Fragments of D of a wgmma.mma_async; without descriptors the plainest layout."""
    d = np.zeros_like(c)
    if descriptors is None:
        descriptors = tuple(128 // 16 << 32 | rows * 16 // 16 << 16 for rows in (64, form.n))
    arguments = [*map(np.uint64, descriptors), *map(np.uint32, offsets), np.uint32(add)]
    module.run("k", len(a), 128, [a, b, c, d, *arguments, *([] if e is None else [e])])
    return d


def group_inputs(form, cases, seed):
    shapes = (cases, 512), (cases, 2048), (cases, form.registers("d"), 128)
    types = form.a, form.b, form.d
    inputs = [
        matrix.packed(t, shape, seed * 8 + salt, salt == 4)
        for t, shape, salt in zip(types, shapes, (1, 2, 4), strict=True)
    ]
    return inputs if form.selector is None else [*inputs, matrix.metadata(form, (cases, 128), seed)]


# Launches that show the layouts of shared memory: with a descriptor without address, with a
# transposed matrix, with an offset.
def _probes():
    for swizzle in range(4):
        for transposed in (0, 1):
            for lbo, sbo in ((128, 256), (512, 128), (1024, 2048), (16, 1024), (2048, 512)):
                yield (swizzle << 62 | sbo // 16 << 32 | lbo // 16 << 16, transposed, 0)
            yield (swizzle << 62 | 1024 // 16 << 32 | 1024 // 16 << 16, transposed, 32)
            yield (swizzle << 62 | 1 << 49 | 1024 // 16 << 32 | 512 // 16 << 16, transposed, 128)


PROBES = list(_probes())
PROBE_BYTES = 16384


def probe_group(driver, operand):
    """Which 16-bit element of shared memory is [k, n] of B, or [m, k] of A: [probe, 16, 64].

    The other operand picks a column of the product; elements hold their number in two parts.
    """
    numbers = np.arange(PROBE_BYTES // 2)
    planes = [(numbers >> 11 * p & 2047).astype(np.float16).view(np.uint32) for p in range(2)]
    out = []
    for descriptor, transposed, offset in PROBES:
        got = np.zeros((16, 64), np.int64)
        if operand == "b":
            form = matrix.Group(64, 16, "f32", "f16", "f16", False, transpose=(0, transposed))
            # A[m, k] is 1 where m % 16 == k, by the registers' layout.
            one = np.zeros((64, 16), np.float16)
            one[np.arange(64), np.arange(64) % 16] = 1
            lane = np.arange(128)
            row = lane // 32 * 16 + lane % 32 // 4
            column = lane % 4 * 2
            a = [one[row + 8 * (i & 1)][lane, column + 8 * (i >> 1)] for i in range(4)]
            b = [one[row + 8 * (i & 1)][lane, column + 1 + 8 * (i >> 1)] for i in range(4)]
            registers = np.stack([np.array(a), np.array(b)], -1).view(np.uint32)[..., 0]
        else:
            form = matrix.Group(16, 16, "f32", "f16", "f16", True, transpose=(transposed, 0))
            # B[k, n] is 1 where k == n: core matrices of 8 columns by 8 elements of k.
            one = np.zeros((2, 2, 8, 8), np.float16)  # chunk of k, group of n, n, k
            for k in range(16):
                one[k // 8, k // 8, k % 8, k % 8] = 1
            plain = np.zeros(2048, np.uint32)
            plain[:128] = one.reshape(-1).view(np.uint32)
        sizes = {"a_bytes": PROBE_BYTES} if operand == "a" else {"b_bytes": PROBE_BYTES}
        text = matrix.header() + matrix.group_kernel(form, **sizes)
        module = driver.load(text)
        for p, plane in enumerate(planes):
            c = np.zeros((1, form.registers("d"), 128), np.uint32)
            if operand == "b":
                d = run_group(module, form, registers.reshape(1, -1), plane[None], c, None,
                              (0, descriptor), (0, offset), 0)  # fmt: skip
            else:
                own = 128 // 16 << 32 | 256 // 16 << 16
                d = run_group(module, form, plane[None], plain[None], c, None, (descriptor, own),
                              (offset, 0), 0)  # fmt: skip
            d = d.view(np.float32)[0]
            for i in range(form.registers("d")):
                for t in range(128):
                    m = t // 32 * 16 + t % 32 // 4 + 8 * (i >> 1 & 1)
                    n = 8 * (i >> 2) + 2 * (t % 4) + (i & 1)
                    if operand == "b" and m < 16:
                        got[m, n] += int(d[i, t]) << 11 * p
                    elif operand == "a":
                        got[n, m] += int(d[i, t]) << 11 * p
        module.unload()
        out.append(got)
    return np.array(out).astype(np.uint16)


def digests(words):
    """Eight bytes for each case's words."""
    out = [hashlib.blake2b(case.tobytes(), digest_size=8).digest() for case in words]
    return np.frombuffer(b"".join(out), np.uint64)


def named(form):
    """A form's name in a recording."""
    if isinstance(form, matrix.Form):
        return form.opcode + ("" if form.selector is None else f" {form.selector}")
    if isinstance(form, matrix.Whole):
        return f"{form.opcode} {form.result}"
    selector = "" if form.selector is None else f" {form.selector}"
    return f"{form.opcode} {'shared' if form.shared else 'registers'}{selector}"


def results(form, load, seed, cases):
    """The results of a form: words [case, ...]."""
    if isinstance(form, matrix.Form):
        module = load(matrix.header() + matrix.kernel(form))
        return run_one(module, form, cases if form.d != "s32" else min(cases, 12), seed)
    if isinstance(form, matrix.Whole):
        module = load(matrix.header() + matrix.whole_kernel(form))
        inputs = [matrix.matrix_words(form, o, 10, seed) for o in "abc"]
        return run_whole(module, form, inputs)[0]
    module = load(matrix.header() + matrix.group_kernel(form))
    cases = {8: cases, 24: 10}.get(form.n, 2) if form.d != "s32" else min(cases, 4)
    return run_group(module, form, *group_inputs(form, cases, seed))


def layouts(form, load):
    """The fragments of A, B and C whose elements are numbered: {operand: words}."""
    module = load(matrix.header() + matrix.whole_kernel(form))
    out = {}
    for o in "abc":
        planes = matrix.numbered(form, o)
        words = [np.zeros_like(matrix.matrix_words(form, x, len(planes), 0)) for x in "abc"]
        words["abc".index(o)] = planes
        out[o] = run_whole(module, form, words)[1]["abc".index(o)]
    return out


# Results whose words are kept, so that a difference can be examined.
KEPT = (
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 shared",
)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    driver = Driver()
    loaded = []

    def load(text):
        while loaded:
            loaded.pop().unload()
        loaded.append(driver.load(text))
        return loaded[-1]

    out = {
        "device": np.array(driver.name()),
        "seed": np.array(options.seed),
        "cases": np.array(options.cases),
    }
    forms = (*matrix.DENSE, *matrix.SPARSE, *matrix.WHOLE, *matrix.GROUP, *matrix.GROUP_SPARSE)
    for form in forms:
        name = named(form)
        words = results(form, load, options.seed, options.cases)
        out[name] = digests(words)
        if name in KEPT:
            out[f"words {name}"] = words[:10]
        if isinstance(form, matrix.Whole):
            for o, held in layouts(form, load).items():
                out[f"{name} {o}"] = digests(held)
    for operand in "ab":
        out[f"probes {operand}"] = digests(probe_group(driver, operand))
    # Joins all digests into one array: in a file of small arrays, most bytes are headers.
    small = [n for n in out if out[n].dtype == np.uint64 and not n.startswith("words")]
    kept = {n: x for n, x in out.items() if n not in small}
    counts = np.array([len(out[n]) for n in small])
    names = np.frombuffer("\n".join(small).encode(), np.uint8)
    together = np.concatenate([out[n] for n in small])
    np.savez_compressed(options.file, names=names, counts=counts, digests=together, **kept)


def recorded(path):
    """A recording: (its file's arrays, {name: digests})."""
    file = np.load(path)
    names = file["names"].tobytes().decode().split("\n")
    ends = np.cumsum(file["counts"])
    return file, dict(zip(names, np.split(file["digests"], ends[:-1]), strict=True))


if __name__ == "__main__":
    main()
