"""A shipped sort with its user's comparison, linked by LTO: beside the same source compiled as one

python benchmarks/bench_link.py [--out FOLDER] [--quick]

The kernels are those of examples/sort. "one text by nvcc" has the comparison in its source, and is
compiled by nvcc for the device: what an author would write by hand. The others are links of the
package's image: with link-time optimisation, and without it. All of them sort the same numbers on
the device, in rounds that alternate. A time is the device's, between two events. Needs a GPU and
nvcc; --quick shows that it runs.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np
import records

import cupola
from cupola.build import executor, image, toolkit
from cupola.build.architectures import Architectures
from cupola.build.targets import Target

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "sort"
LESS = {
    "a < b": "a < b",
    "|a| < |b|": "fabsf(a) < fabsf(b)",
    "a mod 1 < b mod 1": "a - floorf(a) < b - floorf(b)",
}
ONE, LTO, CALLS = "one text by nvcc", "cupola.link", "cupola.link, lto=False"
GOALS = {LTO: "ratio <= 1.02"}


def less(expression):
    """The user's source."""
    return (
        'extern "C" __device__ bool less(const float& a, const float& b) '
        f"{{ return {expression}; }}\n"
    )


def built(folder, source, *, lto):
    """The image of a source in a folder, for this device, as the build of a package makes it."""
    major, minor = cupola.Device().compute_capability
    target = Target(10 * major + minor)
    Path(folder, "sort.cu").write_text(source)
    steps = image.steps(
        toolkit.find(), Architectures((target,)), [Path("sort.cu")], Path("kernels.fatbin"),
        Path("kernels.json"), Path(folder), packed=True, lto=lto,
    )  # fmt: skip
    executor.run(steps, Path(folder))
    return Path(folder) / "kernels.fatbin"


def sorter():
    """The function that launches the kernels of a module, of the example's package."""
    kernels = type(sys)("order_by.kernels")  # the example imports it, and is not installed
    sys.modules["order_by.kernels"] = kernels
    spec = importlib.util.spec_from_file_location(
        "order_by", EXAMPLE / "order_by" / "__init__.py", submodule_search_locations=[]
    )
    package = importlib.util.module_from_spec(spec)
    sys.modules["order_by"] = package
    package.kernels = kernels
    spec.loader.exec_module(package)
    return package.sort


def seconds(sort, x, module):
    """The device's time of one sort."""
    start, end = cupola.Event(), cupola.Event()
    start.record()
    sort(x, module)
    end.record()
    return end.elapsed_since(start)


def run(quick=False):
    """Milliseconds of a sort, medians of rounds, for each comparison."""
    n, rounds = (1 << 14, 3) if quick else (1 << 24, 41)
    source, sort = (EXAMPLE / "csrc" / "sort.cu").read_text(), sorter()
    x = cupola.to_device(np.random.default_rng(0).normal(size=n).astype(np.float32))
    found = []
    with tempfile.TemporaryDirectory(prefix="cupola-link-") as folder:
        shipped = Path(folder, "shipped")
        shipped.mkdir()
        package = built(shipped, source, lto=True)
        for number, (name, expression) in enumerate(LESS.items()):
            own = Path(folder, str(number))
            own.mkdir()
            text = less(expression)
            ways = {
                ONE: cupola.load(built(own, source + text, lto=False)),
                LTO: cupola.link([package, text]),
                CALLS: cupola.link([package, text], lto=False),
            }
            results = [sort(x, module).get() for module in ways.values()]
            assert all(np.array_equal(results[0], one) for one in results), "the sorts differ"
            times = {way: [] for way in ways}
            for _ in range(rounds):
                for way, module in ways.items():
                    times[way].append(seconds(sort, x, module))
            found += records.titled(name, records.medians(times, "ms", GOALS))
    return found


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="few numbers, few rounds")
    options = parser.parse_args()
    records.publish(options.out, __file__, __doc__, run(options.quick))


if __name__ == "__main__":
    main()
