"""Records what a GPU computes in the numerical kernels, for test_contraction_recorded.py.

    CUPOLA_TEST_DRIVER=libcuda.so.1 python -m ptx.record_contraction FILE.npz

Run in the folder tests, on a machine with a GPU, NumPy and pytest (neither nvcc nor cupola is
needed). The file belongs into ptx/recorded, as contraction.npz.
"""

import argparse

import numpy as np

from . import contraction_corpus as corpus
from .driver import Driver


def record(driver):
    """Digests by text and kernel."""
    made = {}
    for title, text in corpus.load_texts().items():
        module = driver.load(text)
        for name in corpus.kernels_of(text):
            once, again = (corpus.digests(corpus.run(module, name)) for _ in range(2))
            if (once != again).any():
                raise SystemExit(f"{title}, {name}: two runs differ")
            made[f"{title} {name}"] = once
        module.unload()
    return made


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("file")
    where = arguments.parse_args().file
    driver = Driver()
    made = record(driver)
    names, digests = sorted(made), [made[name] for name in sorted(made)]
    np.savez_compressed(
        where,
        device=np.array(driver.name()),
        driver=np.array(driver.version()),
        names=np.array(names),
        sizes=np.array([len(d) for d in digests], np.uint32),
        digests=np.concatenate(digests),
    )
    print(f"{len(names)} kernels of {driver.name()}, driver {driver.version()}")


if __name__ == "__main__":
    main()
