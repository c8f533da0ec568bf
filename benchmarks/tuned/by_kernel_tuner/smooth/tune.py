# counted from here
import kernel_tuner

# counted up to here
import numpy as np

# counted from here
from kernel_tuner.integration import store_results

from smooth import BLOCK, DIVISORS, KERNEL, RESULTS, SOURCE, arguments_of

# counted up to here


def smoothed(x):
    result = x.copy()
    around = (x[:-2, 1:-1] + x[2:, 1:-1]) + (x[1:-1, :-2] + x[1:-1, 2:])
    result[1:-1, 1:-1] = np.float32(0.25) * around
    return result


SIZES = [(256, 256), (1024, 1024), (4096, 4096), (64, 16384), (16384, 64)]

# counted from here
TUNABLES = {"TX": [32, 64, 128], "TY": [1, 2, 4, 8], "ROWS": [1, 2]}


def tune():
    for shape in SIZES:
        x = np.random.default_rng(1).random(shape, np.float32)
        size = shape[::-1]
        results, environment = kernel_tuner.tune_kernel(
            KERNEL,
            SOURCE,
            size,
            arguments_of(np.zeros_like(x), x),
            TUNABLES,
            answer=[smoothed(x), None, None, None],
            atol=0,
            block_size_names=BLOCK,
            compiler_options=["--fmad=false"],
            lang="CUPY",
            **DIVISORS,
        )
        store_results(RESULTS, KERNEL, SOURCE, TUNABLES, size, results, environment)
