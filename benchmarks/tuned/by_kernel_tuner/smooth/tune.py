# counted from here
import kernel_tuner

# counted up to here
import numpy as np

# counted from here
from kernel_tuner.integration import store_results

from smooth import BLOCK, DIVISORS, KERNEL, RESULTS, SOURCE, arguments_of

# counted up to here
from smooth.reference import SIZES, smoothed

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
