"""Records what a device's textures give, for test_texture_recorded.py.

    CUPOLA_TEST_DRIVER=libcuda.so.1 python -m ptx.record_texture FILE.npz

Run in the folder tests. The file holds results alone: what is fetched comes from texture_cases.py.
"""

import argparse

import numpy as np

from .driver import Driver
from .texture import fetch, module_text
from .texture_cases import cases


def record(driver):
    """Of each case the channels that a result has, one case after the other."""
    all_cases = cases()
    text, names = module_text(all_cases)
    module = driver.load(text)
    return {
        case.name: fetch(driver, module, names, case)[:, : channels(case)] for case in all_cases
    }


def channels(case):
    """Of the words that a fetch gives, those that say something."""
    if case.opcode.startswith("tld4"):
        return 4
    return 2 if ".f16x2." in case.opcode else case.levels[0].shape[-1]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("file")
    where = arguments.parse_args().file
    driver = Driver()
    results = record(driver)
    counts = np.array([r.size for r in results.values()], np.uint32)
    words = np.concatenate([r.reshape(-1) for r in results.values()]).astype(np.uint32)
    # The bytes of equal position stand beside each other, which compresses better.
    planes = words.view(np.uint8).reshape(-1, 4).T.copy()
    np.savez_compressed(where, device=driver.name(), counts=counts, planes=planes)
    print(f"{len(results)} cases, {words.size} words of {driver.name()}")


if __name__ == "__main__":
    main()
