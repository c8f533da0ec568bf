"""Numerical kernels in PTX of nvcc and NVRTC with default flags, their inputs, and how to run them.

    python -m ptx.contraction_corpus

Run in the folder tests, with nvcc and NVRTC at hand; compiles contraction/*.cu into texts.npz.
"""

import pathlib
import re
import subprocess
import zlib

import numpy as np

FOLDER = pathlib.Path(__file__).with_name("contraction")
TEXTS = FOLDER / "texts.npz"
THREADS, BLOCK, ROWS = 2048, 128, 16
CHUNK = 64  # elements whose bits have one digest
TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.uint16,
    "f16x2": np.float16,
    "bf16x2": np.uint16,
}
NVRTC_SOURCES = ("scalar.cu", "picture.cu")


def compile_texts():
    """PTX by the name of its compiler and source."""
    import images  # which needs cupola's build

    from cupola.toolkit import nvrtc
    from cupola.toolkit.program import Program

    texts = {}
    for source in sorted(FOLDER.glob("*.cu")):
        architecture = "compute_90" if source.stem == "half" else "compute_75"
        command = [images.nvcc().nvcc, "-ptx", f"-arch={architecture}", source, "-o", "-"]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
        texts[f"nvcc {source.name}"] = done.stdout
    for name in NVRTC_SOURCES:
        header = {"kernel.cuh": (FOLDER / "kernel.cuh").read_text()}
        source = (FOLDER / name).read_text()
        options = ["--gpu-architecture=compute_75"]
        made = nvrtc.nvrtc().compile(Program(source, name, name, options, header))
        texts[f"nvrtc {name}"] = made.ptx.decode().rstrip("\0")
    return texts


def save_texts(texts):
    packed = {
        name: np.frombuffer(zlib.compress(t.encode(), 9), np.uint8) for name, t in texts.items()
    }
    np.savez(TEXTS, **packed)


def load_texts():
    with np.load(TEXTS) as file:
        return {name: zlib.decompress(file[name].tobytes()).decode() for name in file.files}


def kernels_of(text):
    return re.findall(r"\.entry (\w+)\(", text)


def inputs_of(name):
    """Numbers of both signs, the same for every run of a kernel: 16 for each thread."""
    type_name = name.rpartition("_")[2]
    random = np.random.default_rng(zlib.crc32(name.encode()))
    count = ROWS * THREADS * (2 if type_name.endswith("x2") else 1)
    values = random.uniform(0.25, 1.75, count) * random.choice([-1, 1], count, p=[0.3, 0.7])
    if type_name.startswith("bf16"):
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(TYPES[type_name])


def run(module, name):
    """The results of a kernel: a row for each of its 16, as unsigned numbers."""
    given = inputs_of(name)
    made = np.zeros_like(given)
    module.run(name, THREADS // BLOCK, BLOCK, [given, made, np.int32(THREADS)])
    return made.view(f"u{made.itemsize}").reshape(ROWS, -1)


def digests(made):
    """A number for each chunk of elements; 0 where they are all 0."""
    chunks = made.reshape(-1, CHUNK)
    return np.array([zlib.crc32(c.tobytes()) if c.any() else 0 for c in chunks], np.uint32)


if __name__ == "__main__":
    save_texts(compile_texts())
    counts = {name: len(kernels_of(text)) for name, text in load_texts().items()}
    print(f"{sum(counts.values())} kernels: {counts}")
