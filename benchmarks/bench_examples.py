"""The examples' own figures on this machine: their tables, and the saxpy in turns with C++.

python benchmarks/bench_examples.py [--out FOLDER] [--pictures FOLDER] [--rounds 20]

Half a minute on a GPU, and a minute with --rounds 20. README.md's table is copied from the file
that --out gets, docs' pictures are those of --pictures.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import bench_nvrtc_saxpy
import run as benchmarks

import cupola

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def printed(path, *arguments):
    """What an example prints."""
    command = [sys.executable, EXAMPLES / path, *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def table_of(text):
    """The table in a text."""
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))


def saxpy(rounds, elements):
    """A table of kernel and application beside C++."""
    rows = bench_nvrtc_saxpy.run(rounds, elements)
    lines = [f"| saxpy of {elements:,} elements, {rounds} runs each | ms | ratio |"]
    lines += ["| --- | ---: | ---: |"]
    lines += [f"| {row['what']} | {row['ms']:.3f} | {row['ratio']:.3f} |" for row in rows]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for the result file")
    parser.add_argument("--pictures", type=Path, help="folder for the pictures")
    parser.add_argument("--rounds", type=int, default=10, help="runs of the saxpy (default 10)")
    options = parser.parse_args()
    about = benchmarks.machine()
    elements = 1 << 20 if cupola.driver.info().kind == "cpu" else bench_nvrtc_saxpy.ELEMENTS
    with tempfile.TemporaryDirectory() as folder:
        pictures = options.pictures or Path(folder)
        launcher = printed("ctypes_launcher.py", pictures / "mandelbrot-axes.png")
        convolution = printed("convolution.py", pictures / "convolution.jpg")
    sections = {
        "ptx_by_hand: one picture in five ways": table_of(printed("ptx_by_hand/ptx_by_hand.py")),
        "ctypes_launcher": f"```\n{launcher.rpartition('saved')[0]}```",
        "cython_hello: a call": table_of(printed("cython_hello/cython_hello.py")),
        "nvrtc_saxpy beside C++": saxpy(options.rounds, elements),
        "convolution": f"```\n{convolution.rpartition('saved')[0]}```",
    }
    text = [f"# Examples on {about['device']}", ""]
    text += [f"- {key}: {value}" for key, value in about.items()]
    for name, content in sections.items():
        text += ["", f"## {name}", content]
    print("\n".join(text))
    if options.out:
        name = re.sub(r"[^a-z0-9]+", "-", about["device"].lower()).strip("-")
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"examples-{name}.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
